"""Diagnostics: what `rukh check` says about a file, as text and as JSON.

A diagnostic names a rule of the registry, the place (JSON Pointer, line, column), what is wrong there, and
how to mend it. All diagnostics of a file come from one run and stand in order of place. A place that is
missing is the object it is missing from. Text has two lines a diagnostic, JSON one closed object for the
file. RK-DESC-002 RK-DESC-003
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rukh.values.rules import RULES


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: `rule` of the registry, `pointer` into the document, `line` and `column` from 1."""

    rule: str
    pointer: str
    line: int
    column: int
    message: str
    mend: str

    @property
    def severity(self) -> str:
        """`error` or `warning`, as the registry says for the rule."""
        return RULES[self.rule][0]

    def document(self) -> dict[str, Any]:
        """The diagnostic as a closed JSON object."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "pointer": self.pointer,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "mend": self.mend,
        }


def in_order(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """By place, then by rule, so that two runs never differ."""
    return sorted(diagnostics, key=lambda found: (found.line, found.column, found.pointer, found.rule))


def has_errors(diagnostics: list[Diagnostic]) -> bool:
    """Whether one of them is an error."""
    return any(found.severity == "error" for found in diagnostics)


def render_text(file: str, diagnostics: list[Diagnostic]) -> str:
    """Two lines a diagnostic, `FILE:LINE:COLUMN: SEVERITY RULE MESSAGE` and the mend; "" for a clean file."""
    lines = []
    for found in diagnostics:
        where = f" at {found.pointer}" if found.pointer else ""
        lines.append(
            f"{file}:{found.line}:{found.column}: {found.severity} {found.rule} {found.message}{where}"
        )
        lines.append(f"    mend: {found.mend}")
    return "".join(_printable(line) + "\n" for line in lines)


def render_json(file: str, diagnostics: list[Diagnostic]) -> dict[str, Any]:
    """The closed object `{format, file, clean, diagnostics}`."""
    return {
        "format": "rukh.diagnostics/1",
        "file": file,
        "clean": not diagnostics,
        "diagnostics": [found.document() for found in diagnostics],
    }


def _printable(line: str) -> str:
    """A hostile name in a file must not steer the terminal of whoever checks it."""
    return "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in line)
