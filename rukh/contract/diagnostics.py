"""Diagnostics: what `rukh check` says about files, as text and as JSON.

A diagnostic names a rule of the registry, the place (JSON Pointer, line, column), what is wrong there, and how to mend
it. All diagnostics of a file come from one run and stand in order of place. A place that is missing is the object it is
missing from. RK-DESC-002 RK-DESC-003

What is wrong in the code beside a descriptor is a finding about that descriptor too: its pointer leads to the entry,
and `file`, line and column to the code. Such findings come behind the descriptor's own. RK-CHECK-011

Text has two lines a diagnostic. JSON has one closed object a file, and one document of them for many. RK-CHECK-004
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rukh.values.errors import RukhError
from rukh.values.rules import RULES

FORMAT = "rukh.diagnostics/1"
LIST_FORMAT = "rukh.check/1"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: `rule` of the registry, `pointer` into the descriptor, `line` and `column` from 1.

    `file` is where line and column are where that is not the descriptor, else empty.
    """

    rule: str
    pointer: str
    line: int
    column: int
    message: str
    mend: str
    file: str = ""

    @property
    def severity(self) -> str:
        """`error` or `warning`, as the registry says for the rule."""
        return RULES[self.rule][0]

    def document(self) -> dict[str, Any]:
        """The diagnostic as a closed JSON object; `file` is absent where it is the descriptor."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "pointer": self.pointer,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "mend": self.mend,
        } | ({"file": self.file} if self.file else {})


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """By place, then by rule, so that two runs never differ; what lies in other files comes last."""
    return sorted(
        diagnostics, key=lambda found: (found.file, found.line, found.column, found.pointer, found.rule)
    )


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether one of them is an error."""
    return any(found.severity == "error" for found in diagnostics)


def counts(diagnostics: Iterable[Diagnostic]) -> tuple[int, int]:
    """How many errors and how many warnings there are."""
    errors = [found.severity == "error" for found in diagnostics]
    return errors.count(True), errors.count(False)


def render_text(file: str, diagnostics: Sequence[Diagnostic]) -> str:
    """Two lines a diagnostic, `FILE:LINE:COLUMN: SEVERITY RULE MESSAGE` and the mend; "" for a clean file."""
    lines = []
    for found in diagnostics:
        where = f" at {found.pointer}" if found.pointer else ""
        place = f"{found.file or file}:{found.line}:{found.column}"
        lines.append(f"{place}: {found.severity} {found.rule} {found.message}{where}")
        lines.append(f"    mend: {found.mend}")
    return "".join(one_line(line) + "\n" for line in lines)


def render_json(file: str, diagnostics: Sequence[Diagnostic]) -> dict[str, Any]:
    """The closed object `{format, file, clean, diagnostics}`."""
    return {
        "format": FORMAT,
        "file": file,
        "clean": not diagnostics,
        "diagnostics": [found.document() for found in diagnostics],
    }


def render_list(files: Sequence[tuple[str, Sequence[Diagnostic]]]) -> dict[str, Any]:
    """The closed object `{format, clean, errors, warnings, files}` over many files. RK-CHECK-004"""
    errors, warnings = counts(found for _file, diagnostics in files for found in diagnostics)
    return {
        "format": LIST_FORMAT,
        "clean": not errors + warnings,
        "errors": errors,
        "warnings": warnings,
        "files": [render_json(file, diagnostics) for file, diagnostics in files],
    }


def one_line(text: str) -> str:
    """`text` without anything that a terminal obeys: a hostile name in a file must not steer it. RK-CHECK-005"""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in text)


def first_fault(file: str, found: list[Diagnostic]) -> RukhError:
    """The first of the findings as a refusal: with file, place, line and column, and how many more there are."""
    first, more = found[0], f" (and {len(found) - 1} more; see check)" if len(found) > 1 else ""
    return RukhError(
        first.rule,
        first.message + more,
        place=f"{first.file or file}, {first.pointer}" if first.pointer else first.file or file,
        mend=first.mend,
        line=first.line,
        column=first.column,
    )
