"""Closed shapes: a document's form as a literal table, and one walk that reports everything wrong with it.

A shape is a function `(report, pointer, value)`. Tables compose them: `closed` names every member of an
object, `variants` chooses a table by a tag, `listed` bounds a list, `mapped` gives the form of free keys. The
walk never stops at the first fault: what is well formed is checked on, what is not is left alone, so that one
mistake gives one finding.

A shape says only *which kind* of fault it saw (`unknown`, `missing`, `type`, or the name of a grammar); the
report turns the kind into the rule of its document: descriptor and profile share the walk and keep their own
rule ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rukh.contract.diagnostics import Diagnostic, in_order
from rukh.contract.grammar import Form
from rukh.values.canonical import canonical
from rukh.values.nearest import nearest
from rukh.values.pointer import join
from rukh.values.reader import Positions
from rukh.values.registry import LIMIT_FINDINGS

Value = Any
Shape = Callable[["Report", str, Value], None]

_SHORTENED = 3  # a shorter beginning says nothing
_TYPE_NAMES: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}


class Report:
    """The findings about one document. `rules` maps the kind of a fault to the rule of this document."""

    def __init__(self, rules: Mapping[str, str]) -> None:
        self.rules = rules
        self.found: list[Diagnostic] = []
        self._named: set[int] = set()
        self._dirty: set[str] = set()
        self._unseen: set[str] = set()

    def add(self, kind: str, pointer: str, message: str, mend: str, *, at_name: bool = False) -> None:
        """Record a fault of `kind` (or of a rule id); `at_name` places it at the member's name."""
        if not self.full:
            if at_name:
                self._named.add(len(self.found))
            self.found.append(Diagnostic(self.rules.get(kind, kind), pointer, 0, 0, message, mend))
        while pointer not in self._dirty:
            self._dirty.add(pointer)
            pointer = pointer.rpartition("/")[0]

    @property
    def full(self) -> bool:
        """Whether no more is kept: a hostile file must not cost more than it teaches. RK-DESC-002"""
        return len(self.found) >= LIMIT_FINDINGS

    @property
    def spotless(self) -> bool:
        """Whether every place is clean: nothing was found, and the walk saw everything."""
        return not self._dirty and not self._unseen

    def stop(self, pointer: str) -> None:
        """Say that the walk could not look below `pointer`: nothing there counts as clean."""
        self._unseen.add(pointer)

    def clean(self, pointer: str) -> bool:
        """Whether the walk saw `pointer`, and found nothing there or below it."""
        if pointer in self._dirty:
            return False
        while self._unseen and pointer:
            if pointer in self._unseen:
                return False
            pointer = pointer.rpartition("/")[0]
        return True

    def located(self, positions: Positions) -> list[Diagnostic]:
        """All findings with their places, in order of place."""
        placed = []
        for index, found in enumerate(self.found):
            find = positions.key if index in self._named else positions.at
            line, column = find(found.pointer)
            placed.append(replace(found, line=line, column=column))
        return in_order(placed)


def closed(
    required: Mapping[str, Shape],
    optional: Mapping[str, Shape] | None = None,
    what: str = "",
    elsewhere: Mapping[str, str] | None = None,
) -> Shape:
    """An object with exactly these members; `what` names it in messages.

    `elsewhere` holds the mend for an unknown member that another form of the document has.
    """
    members = {**required, **(optional or {})}
    mends = elsewhere or {}

    def check(report: Report, pointer: str, value: Value) -> None:
        if not is_type(report, pointer, value, dict):
            return
        for name in required:
            if name not in value:
                report.add("missing", pointer, f"the member {name!r} is missing", f'add "{name}"')
        for name, member in value.items():
            if name in members:
                members[name](report, join(pointer, name), member)
            else:
                message = f"{_shown(name)} is no member of {what or 'this object'}"
                mend = mends.get(name) or _nearest_member(report, name, members)
                report.add("unknown", join(pointer, name), message, mend, at_name=True)
                report.stop(join(pointer, name))

    return check


def _nearest_member(report: Report, name: str, known: Mapping[str, Shape]) -> str:
    near = None if report.full else nearest(name, known)
    return f'did you mean "{near}"?' if near else f"remove it; known here: {', '.join(known)}"


def variants(tag: str, tables: Mapping[str, Shape], kind: str = "choice") -> Shape:
    """An object whose member `tag` chooses its table; an unknown tag is a fault of `kind`.

    Each table names the tag itself as a member.
    """
    words = choice(*tables, kind=kind)

    def check(report: Report, pointer: str, value: Value) -> None:
        if not is_type(report, pointer, value, dict):
            return
        if tag not in value:
            mend = f'add "{tag}": one of {", ".join(tables)}'
            report.add("missing", pointer, f"the member {tag!r} is missing", mend)
            report.stop(pointer)
            return
        words(report, join(pointer, tag), value[tag])
        if report.clean(join(pointer, tag)):
            tables[value[tag]](report, pointer, value)
        else:
            report.stop(pointer)

    return check


def listed(item: Shape, low: int, high: int, *, distinct: bool = False) -> Shape:
    """A list of `low` to `high` items; with `distinct` no item stands twice."""

    def check(report: Report, pointer: str, value: Value) -> None:
        if not is_type(report, pointer, value, list):
            return
        if not low <= len(value) <= high:
            report.add("count", pointer, f"{len(value)} items stand here", f"give {low} to {high}")
        for index, element in enumerate(value):
            item(report, f"{pointer}/{index}", element)
        if distinct:
            _distinct(report, pointer, value)

    return check


def _distinct(report: Report, pointer: str, value: list[Value]) -> None:
    seen: set[str] = set()
    for index, element in enumerate(value):
        if not report.clean(join(pointer, index)):
            continue
        key = canonical(element)
        if key in seen:
            report.add("repeat", join(pointer, index), f"{_shown(key)} stands here twice", "keep one of them")
        seen.add(key)


def mapped(key: Form, member: Shape) -> Shape:
    """An object with free member names of the form `key`."""

    def check(report: Report, pointer: str, value: Value) -> None:
        if not is_type(report, pointer, value, dict):
            return
        for name, element in value.items():
            if not key.matches(name):
                message, mend = f"{_shown(name)} is {no_form(key)}", f"write {key.says}"
                report.add(key.name, join(pointer, name), message, mend, at_name=True)
            member(report, join(pointer, name), element)

    return check


def no_form(form: Form) -> str:
    """What a text is not, for a message."""
    return f"not of the form of {'an' if form.name[0] in 'aeiou' else 'a'} {form.name}"


def spelled(form: Form) -> Shape:
    """Text of one grammar."""

    def check(report: Report, pointer: str, value: Value) -> None:
        if is_type(report, pointer, value, str) and not form.matches(value):
            report.add(form.name, pointer, f"{_shown(value)} is {no_form(form)}", f"write {form.says}")

    return check


def text(limit: int, *, low: int = 1, lines: bool = False) -> Shape:
    """Text of `low` to `limit` code points without control characters; `lines` admits line feeds and tabs."""
    admitted = "\n\t" if lines else ""

    def check(report: Report, pointer: str, value: Value) -> None:
        if not is_type(report, pointer, value, str):
            return
        if not low <= len(value) <= limit:
            report.add("text", pointer, f"{len(value)} characters stand here", f"write {low} to {limit}")
        elif not value.isprintable() and any(
            _controls(character) and character not in admitted for character in value
        ):
            report.add("text", pointer, "a control character stands in the text", "leave it out")

    return check


def _controls(character: str) -> bool:
    """C0, DEL and C1, and the two separators that break a line."""
    return character < " " or "\x7f" <= character <= "\x9f" or character in "\u2028\u2029"


def choice(*words: str, kind: str = "choice") -> Shape:
    """One word of a closed list; another one is a fault of `kind`."""
    known = ", ".join(words) or "nothing"

    def check(report: Report, pointer: str, value: Value) -> None:
        if is_type(report, pointer, value, str) and value not in words:
            near = None if report.full else nearest(value, words) or _begun(value, words)
            mend = f'did you mean "{near}"?' if near else f"known here: {known}"
            report.add(kind, pointer, f"{_shown(value)} is not one of those known here", mend)

    return check


def _begun(value: str, words: tuple[str, ...]) -> str | None:
    """The one word that `value` is the beginning of, as `bool` is of boolean."""
    longer = [word for word in words if len(value) >= _SHORTENED and word.startswith(value)]
    return longer[0] if len(longer) == 1 else None


def whole(low: int, high: int) -> Shape:
    """A whole number from `low` to `high`."""

    def check(report: Report, pointer: str, value: Value) -> None:
        if is_type(report, pointer, value, int) and not low <= value <= high:
            report.add("range", pointer, f"{value} is outside {low} to {high}", f"use {low} to {high}")

    return check


def boolean(report: Report, pointer: str, value: Value) -> None:
    """true or false."""
    is_type(report, pointer, value, bool)


def string(report: Report, pointer: str, value: Value) -> None:
    """Any text."""
    is_type(report, pointer, value, str)


def integer(report: Report, pointer: str, value: Value) -> None:
    """Any whole number."""
    is_type(report, pointer, value, int)


def number(report: Report, pointer: str, value: Value) -> None:
    """Any number."""
    is_type(report, pointer, value, float)


def anything(report: Report, pointer: str, value: Value) -> None:
    """A value whose check comes later."""


def is_type(report: Report, pointer: str, value: Value, wanted: type) -> bool:
    """Whether `value` is of the JSON type; a fault of kind `type` where it is not."""
    if wanted is float:
        right = isinstance(value, int | float) and not isinstance(value, bool)
    else:
        right = type(value) is wanted
    if not right:
        name = "null" if value is None else _TYPE_NAMES.get(type(value), type(value).__name__)
        needed = _TYPE_NAMES[wanted]
        report.add("type", pointer, f"{name} stands where {needed} belongs", f"write {needed}")
    return right


def _shown(value: str) -> str:
    """A value in a message, cut where it is long."""
    return repr(value if len(value) <= 80 else value[:79] + "…")
