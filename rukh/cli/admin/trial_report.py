"""What a test says of its cases: one row a case and surface, as a member of the document and as lines for a person.

Where a case failed, the row holds what its author needs to mend it: the differences, the reason that the host gave, and
the end of what the command wrote to its standard error. RK-AUTHOR-056 RK-AUTHOR-060
"""

from __future__ import annotations

from typing import Any

from rukh.cli.admin.progress import foreground_columns, wanted
from rukh.cli.output import write_err
from rukh.cli.text import columns, printable
from rukh.contract.cases import Case
from rukh.contract.expectation import ABSENT, Difference, Seen
from rukh.values.canonical import canonical

FORMAT = "rukh.trial/1"
_SHOWN = 400  # characters of a value in a difference
_LINES, _CHARACTERS = 20, 4000  # of a standard error: a traceback fits, a flood does not
_CUT = "…"
_BEGIN, _REST_GONE = b"\r", b"\x1b[K"


def row(case: Case, surface: str, found: list[Difference], seen: Seen, stderr: bytes) -> dict[str, Any]:
    """The member of `cases` for one call: `found` are its differences, `stderr` is what a failed one said."""
    shown = [_difference(each) for each in found]
    made: dict[str, Any] = {
        "name": case.name,
        "surface": surface,
        "passed": not shown,
        "differences": shown,
    }
    reason = (seen.outcome or {}).get("reason")
    if shown and reason:
        made["reason"] = reason
    said = ending(stderr)
    return made | ({"stderr": said} if said else {})


def ending(data: bytes) -> str:
    """The last lines of `data` as text; an ellipsis in front says that something stood before them."""
    text = data.decode(errors="backslashreplace").rstrip()
    lines = text.split("\n")
    kept = "\n".join(lines[-_LINES:])[-_CHARACTERS:]
    return kept if kept == text else f"{_CUT}\n{kept}"


def _difference(found: Difference) -> dict[str, Any]:
    sides = (("expected", found.expected), ("actual", found.actual))
    return {"place": found.place, **{name: value for name, value in sides if value is not ABSENT}}


def document(descriptor: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The closed object `rukh.trial/1`. RK-AUTHOR-059"""
    failed = sum(not each["passed"] for each in rows)
    return {
        "format": FORMAT,
        "package": descriptor["package"],
        "version": descriptor["version"],
        "passed": len(rows) - failed,
        "failed": failed,
        "cases": rows,
    }


def row_text(made: dict[str, Any]) -> str:
    """One row as lines."""
    mark = "ok  " if made["passed"] else "FAIL"
    lines = [f"{mark}  {made['surface']:<8}  {printable(made['name'])}"]
    for found in made["differences"]:
        lines.append(f"        {printable(found['place'])}")
        lines += [f"            {name}: {_value(found, name)}" for name in ("expected", "actual")]
    reason = made.get("reason", {})
    lines += [f"        {name}: {printable(reason[name])}" for name in ("place", "mend") if name in reason]
    if "stderr" in made:
        lines.append("        standard error")
        lines += [
            f"            {printable(line.expandtabs())}".rstrip() for line in made["stderr"].split("\n")
        ]
    return "\n".join(lines) + "\n"


def summary_text(made: dict[str, Any]) -> str:
    """The last line: how many passed, how many failed."""
    return f"{made['package']} {made['version']}: {made['passed']} passed, {made['failed']} failed\n"


def _value(found: dict[str, Any], name: str) -> str:
    if name not in found:
        return "nothing"
    text = canonical(found[name])
    return printable(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}{_CUT}")


def _fitting(text: str, width: int) -> str:
    """As much of a text as fits into one line: a line that breaks could not be taken away again."""
    text = printable(text)
    while columns(text) > width and text:
        text = text[:-1]
    return text


class Running:
    """On a terminal, a line that says which case runs; it goes before anything else is written. RK-AUTHOR-063"""

    def __init__(self, as_json: bool) -> None:
        self._wanted = wanted(as_json)

    def show(self, text: str) -> None:
        """Say that the case runs; with "" take the line away."""
        width = foreground_columns() if self._wanted else None
        if width is not None:
            write_err(_BEGIN + _fitting(text, width - 1).encode() + _REST_GONE)
