"""The table of CONFORMANCE.md, written from what the trace knows, so that it cannot say more than is so. RK-PROC-018"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

BEGIN = "<!-- written by tools/trace.py --update -->"
END = "<!-- end -->"


@dataclass(frozen=True, slots=True)
class Row:
    """One page of the specification: its requirement ids, and the tests that are evidence for them."""

    page: str
    ids: tuple[str, ...]
    tests: int
    open: tuple[str, ...]

    def line(self) -> str:
        areas = " ".join(sorted({name.rpartition("-")[0] for name in self.ids}))
        status = f"open: {' '.join(self.open)}" if self.open else "evidence for all"
        return f"| [{self.page}](spec/{self.page}) | {areas} | {len(self.ids)} | {self.tests} | {status} |"


def rows(places: Iterable[tuple[str, str]], evidence: Mapping[str, Sequence[str]]) -> list[Row]:
    """One row a page, in order of name. `places` are (requirement id, `spec/page.md:line`)."""
    pages: dict[str, list[str]] = {}
    for name, place in places:
        pages.setdefault(Path(place.partition(":")[0]).name, []).append(name)
    return [
        Row(
            page,
            tuple(names),
            len({test for name in names for test in evidence.get(name, ())}),
            tuple(sorted(name for name in names if name not in evidence)),
        )
        for page, names in sorted(pages.items())
    ]


def table(found: Sequence[Row]) -> str:
    """The rows as Markdown between the two marks."""
    head = "| page | areas | requirements | tests | status |\n|---|---|---|---|---|"
    return "\n".join([BEGIN, head, *(row.line() for row in found), END])


def with_table(text: str, found: Sequence[Row]) -> str:
    """`text` with what stands between its marks replaced; as it is where it has none."""
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{table(found)}{after}" if mark and end else text
