"""A page of help: blocks apart by one empty line, sections of two columns, no wider than the sheet where words allow.

What stands in a block was made printable by who wrote it down; here it is only laid out. RK-CLI-053
"""

from __future__ import annotations

from rukh.cli.paint import plain
from rukh.cli.text import NARROWEST, columns, pad, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rukh.cli.paint import Paint

    Row = tuple[str, str]

# Columns: a page narrower than this cannot hold two columns; a wider label starts its text on the next line.
_NARROWEST = 40
_WIDEST_LABEL = 30
_USAGE = "Usage: "


class Sheet:
    """A page of `width` columns, whose headings are shown by `heading`."""

    def __init__(self, width: int, heading: Paint = plain) -> None:
        self.width = max(width, _NARROWEST)
        self._heading = heading

    def usage(self, words: str) -> str:
        """The usage line, its further lines below its first word."""
        lines = wrap(words, self.width - len(_USAGE))
        return f"{self._heading(_USAGE[:-1])} " + f"\n{' ' * len(_USAGE)}".join(lines)

    def paragraph(self, text: str) -> str:
        """A text, wrapped to the width."""
        return "\n".join(wrap(text, self.width))

    def section(self, title: str, rows: Sequence[Row]) -> str:
        """Labels and what each means, under a title; nothing where there are none."""
        return "\n".join([self.title(title), *self.rows(rows)]) if rows else ""

    def title(self, title: str) -> str:
        """The line above a section."""
        return self._heading(f"{title}:")

    def rows(self, rows: Sequence[Row]) -> list[str]:
        """Two columns; a label that is too wide for the first one has a line of its own."""
        widest = max(columns(label) for label, _ in rows)
        column = min(widest, _WIDEST_LABEL, self.width - NARROWEST - 4) + 4
        lines: list[str] = []
        for label, text in rows:
            parts = wrap(text, self.width - column) if text else []
            if not parts or columns(label) + 4 > column:
                lines.append(f"  {label}")
            else:
                lines.append(pad(f"  {label}", column) + parts.pop(0))
            lines += [" " * column + part for part in parts]
        return lines

    @staticmethod
    def page(blocks: Sequence[str]) -> str:
        """The blocks that say something, as one text."""
        return "\n\n".join(block for block in blocks if block) + "\n"
