"""The grammars of names, versions and quantities: one table, one row a form.

A form is matched whole, in ASCII, and says in words what it wants, so that a refusal can repeat it. Three
forms are also read: a duration is a whole number of milliseconds, a size a whole number of bytes, a cost an
exact decimal that is not negative. Versions are ordered by the rules of SemVer 2.0.0. RK-DESC-010 RK-PROF-004
"""

from __future__ import annotations

import re

from rukh.values.errors import RukhError
from rukh.values.numbers import normalize_decimal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The formats of a descriptor; the first one has no machine contract.
FORMAT = "rukh.extension/2"
FORMAT_1 = "rukh.extension/1"
# Where a release holds its descriptor: at its root, under this name alone.
DESCRIPTOR_FILE = "rukh-extension.json"


class Form:
    """One grammar: `name` is its key in tables of rules, `says` the grammar in words for a refusal."""

    __slots__ = ("limit", "name", "pattern", "says")

    def __init__(self, name: str, pattern: str, limit: int, says: str) -> None:
        self.name = name
        self.pattern = re.compile(pattern, re.ASCII)
        self.limit = limit
        self.says = says

    def matches(self, text: str) -> bool:
        """Whether the whole text, of at most `limit` characters, has this form."""
        return len(text) <= self.limit and self.pattern.fullmatch(text) is not None


_LABEL = "[a-z][a-z0-9-]*"
_PACKAGE = rf"{_LABEL}(?:\.{_LABEL}){{1,4}}"
_ID = "[a-z][a-z0-9_]*"
_NUMBER = "(?:0|[1-9][0-9]*)"
_MARK = f"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_CLAUSE = rf"(?:>=|<){_NUMBER}(?:\.{_NUMBER}){{0,2}}"
_STEP = r"(?!\.{1,2}(?:/|$))[^/\\\x00-\x1f\x7f]+"

PACKAGE = Form("package", _PACKAGE, 64, "2 to 5 labels of a-z, 0-9, - joined by dots, at most 64 characters")
ID = Form("id", _ID, 48, "a lower-case letter, then a-z, 0-9 and _, at most 48 characters")
IDENTITY = Form("identity", f"{_PACKAGE}/{_ID}", 113, "PACKAGE/COMMAND, such as acme.notes/add")
WORD = Form("word", _LABEL, 32, "a lower-case letter, then a-z, 0-9 and -, at most 32 characters")
OPTION = Form("option", rf"--{_LABEL}|-[A-Za-z]", 64, "--name of a-z, 0-9 and -, or - and one letter")
NAME = Form("name", _LABEL, 32, "a lower-case letter, then a-z, 0-9 and -, at most 32 characters")
VARIABLE = Form("variable", "[A-Z_][A-Z0-9_]*", 64, "A-Z or _, then A-Z, 0-9 and _, at most 64 characters")
ACTOR_PATTERN = Form("actor", rf"\*|(?:user|agent):{_LABEL}", 38, "user:NAME, agent:NAME, or *")
AGENT = Form("actor", rf"agent:{_LABEL}", 38, "agent:NAME")
DIRECTORY = Form(
    "directory", r"(?:/|~(?:/|$))[^\x00-\x1f\x7f]*", 4096, "an absolute path, or one that begins with ~/"
)
VERSION = Form(
    "version",
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_MARK}(?:\.{_MARK})*)?",
    64,
    "MAJOR.MINOR.PATCH of SemVer 2.0.0 without build metadata, at most 64 characters",
)
RUNTIME = Form("requirement", rf"{_CLAUSE}(?:,{_CLAUSE}){{0,3}}", 64, ">=N.N or <N.N, joined by commas")
PYTHON_ENTRY = Form("entry", rf"{_NAME}(?:\.{_NAME})*:{_NAME}", 256, "module:function")
PROGRAM_PATH = Form("program", rf"{_STEP}(?:/{_STEP})*", 255, "a relative path with /, without . or ..")
COMMAND_PATTERN = Form(
    "pattern", rf"\*|{_PACKAGE}/(?:\*|{_ID})", 113, "PACKAGE/COMMAND, PACKAGE/* for a whole package, or *"
)
PACKAGE_PATTERN = Form("pattern", rf"\*|{_PACKAGE}", 64, "a package name, or *")
DURATION = Form("duration", "[1-9][0-9]{0,7}(?:ms|s|m|h|d)", 10, "a number and ms, s, m, h or d: 20s")
SIZE = Form("size", "(?:0|[1-9][0-9]{0,8})(?:B|KiB|MiB)", 12, "a number and B, KiB or MiB: 10MiB")

# Largest unit last: what is written back uses the largest unit that divides.
_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_BYTES = {"B": 1, "KiB": 1024, "MiB": 1024 * 1024}


def milliseconds(text: str) -> int:
    """The duration `text` (form DURATION) in milliseconds."""
    return _quantity(text, _MILLISECONDS)


def byte_count(text: str) -> int:
    """The size `text` (form SIZE) in bytes."""
    return _quantity(text, _BYTES)


def duration_text(amount: int) -> str:
    """`amount` milliseconds as the shortest text of form DURATION."""
    return _spelled(amount, _MILLISECONDS)


def size_text(amount: int) -> str:
    """`amount` bytes as the shortest text of form SIZE."""
    return _spelled(amount, _BYTES)


def cost(text: str) -> str | None:
    """The cost `text` as a normalized decimal, or None where it is no exact decimal or below zero."""
    try:
        normal = normalize_decimal(text)
    except RukhError:
        return None
    return None if normal.startswith("-") else normal


def _quantity(text: str, units: dict[str, int]) -> int:
    unit = text.lstrip("0123456789")
    return int(text.removesuffix(unit)) * units[unit]


def _spelled(amount: int, units: dict[str, int]) -> str:
    dividing = [unit for unit, factor in units.items() if amount % factor == 0]
    unit = dividing[-1] if amount else dividing[0]
    return f"{amount // units[unit]}{unit}"


def version_key(version: str) -> tuple[Any, ...]:
    """A key that orders versions (form VERSION) by SemVer 2.0.0: a pre-release comes before its release."""
    release, _, marks = version.partition("-")
    numbers = tuple(int(number) for number in release.split("."))
    if not marks:
        return (*numbers, (1,))
    order = [(0, int(mark), "") if mark.isdigit() else (1, 0, mark) for mark in marks.split(".")]
    return (*numbers, (0, *order))
