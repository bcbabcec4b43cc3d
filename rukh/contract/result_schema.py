"""Result schemas: the subset of JSON Schema that a publisher may declare, parsed into a tree.

A schema is parsed once into an immutable tree; every problem is reported, none is repaired. RK-RES-001

- It names one of seven types; every other keyword belongs to that type, and an unknown one is refused.
- An object has explicit `properties` and says `additionalProperties: false`; `required` names some.
- An array has one `items` schema and a finite `maxItems`.
- `enum` holds different values which the rest of the schema admits; a lower bound never exceeds its upper
  one.
- There is nothing else: no references, no patterns, no composition, no defaults, no code.
"""

from __future__ import annotations

from rukh.contract.result_tree import (
    BOUND_NAMES,
    DEFAULT_LIMITS,
    JSON_TYPES,
    Schema,
    Work,
    check,
    children,
    shown,
)
from rukh.values.canonical import canonical, canonical_bytes
from rukh.values.errors import RukhError
from rukh.values.nearest import nearest
from rukh.values.pointer import join
from rukh.values.registry import (
    LIMIT_DESCRIPTION_LENGTH,
    LIMIT_RESULT_DEPTH,
    LIMIT_RESULT_MEMBERS,
    LIMIT_SCHEMA_BYTES,
    LIMIT_TITLE_LENGTH,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Value = Any

# The keywords of each type; the four below belong to every type.
_COMMON = ("type", "enum", "title", "description")
_KEYWORDS: dict[str, tuple[str, ...]] = {
    "object": ("properties", "required", "additionalProperties"),
    "array": (*BOUND_NAMES["array"], "items"),
    "string": BOUND_NAMES["string"],
    "boolean": (),
    "integer": BOUND_NAMES["integer"],
    "number": BOUND_NAMES["number"],
    "null": (),
}
_ALL_KEYWORDS = frozenset(_COMMON).union(*_KEYWORDS.values())
_TEXT_LIMITS = (("title", LIMIT_TITLE_LENGTH), ("description", LIMIT_DESCRIPTION_LENGTH))


class Problem:
    """What is wrong with a schema: `rule`, JSON Pointer `pointer`, `message` and `mend`."""

    __slots__ = ("mend", "message", "pointer", "rule")

    def __init__(self, rule: str, pointer: str, message: str, mend: str) -> None:
        self.rule = rule
        self.pointer = pointer
        self.message = message
        self.mend = mend


def parse_schema(value: Value, pointer: str = "") -> tuple[Schema | None, list[Problem]]:
    """The tree of a declared schema, or None, and every problem of it.

    `value` is what the strict reader gave, `pointer` the place of the schema in its document. RK-RES-001
    """
    parse = _Parse()
    parse.whole(value, pointer)
    if not parse.too_deep:
        parse.schema(value, pointer)
    return (None if parse.problems else Schema(value)), parse.problems


class _Parse:
    """One pass over one schema, collecting problems."""

    __slots__ = ("members", "problems", "too_deep")

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.members = 0
        self.too_deep = False

    def report(self, rule: str, pointer: str, message: str, mend: str) -> None:
        self.problems.append(Problem(rule, pointer, message, mend))

    def whole(self, value: Value, pointer: str) -> None:
        """The three limits of the schema as a document. RK-RES-009"""
        self.measure(value, pointer, 1)
        if self.too_deep:
            return
        if self.members > LIMIT_RESULT_MEMBERS:
            self.report(
                "RKR020",
                pointer,
                f"{self.members} members and elements, the limit is {LIMIT_RESULT_MEMBERS}",
                "declare fewer properties",
            )
        size = len(canonical_bytes(value))
        if size > LIMIT_SCHEMA_BYTES:
            self.report(
                "RKR018",
                pointer,
                f"{size} canonical bytes, the limit is {LIMIT_SCHEMA_BYTES}",
                "shorten the descriptions or the enum",
            )

    def measure(self, value: Value, pointer: str, depth: int) -> None:
        if depth > LIMIT_RESULT_DEPTH:
            if not self.too_deep:
                self.report(
                    "RKR019", pointer, f"nested deeper than {LIMIT_RESULT_DEPTH}", "declare a flatter result"
                )
            self.too_deep = True
            return
        for name, child in children(value):
            self.members += 1
            self.measure(child, join(pointer, name), depth + 1)

    def schema(self, value: Value, pointer: str) -> None:
        """The node at `pointer` and what is below it."""
        if type(value) is not dict:
            self.report("RKR001", pointer, "a schema is an object", 'write {"type": …}')
            return
        before = len(self.problems)
        self.texts(value, pointer)
        kind = value.get("type")
        if type(kind) is not str or kind not in _KEYWORDS:
            self.no_type(value, pointer)
            return
        self.keywords(value, kind, pointer)
        {"object": self.object, "array": self.array}.get(kind, self.scalar)(value, kind, pointer)
        if "enum" in value:
            sound = len(self.problems) == before
            rest = {name: each for name, each in value.items() if name != "enum"}
            self.enum(value["enum"], Schema(rest) if sound else None, join(pointer, "enum"))

    def no_type(self, value: dict[str, Value], pointer: str) -> None:
        known = ", ".join(_KEYWORDS)
        if "type" not in value:
            self.report("RKR002", pointer, "the schema names no type", f"add one of {known}")
            return
        found = value["type"]
        meant = nearest(found, _KEYWORDS) if type(found) is str else None
        mend = f"did you mean {meant}?" if meant else f"name one of {known}"
        self.report("RKR002", join(pointer, "type"), f"{shown(found)} is none of the seven types", mend)

    def keywords(self, value: dict[str, Value], kind: str, pointer: str) -> None:
        allowed = (*_COMMON, *_KEYWORDS[kind])
        for name in value:
            if name in allowed:
                continue
            if name in _ALL_KEYWORDS:
                mend = f"leave it out, or choose another type than {kind}"
                self.report("RKR004", join(pointer, name), f"{name} does not apply to {kind}", mend)
            else:
                meant = nearest(name, allowed)
                mend = f"did you mean {meant}?" if meant else f"the keywords are {', '.join(allowed)}"
                self.report("RKR003", join(pointer, name), f"{shown(name)} is no keyword here", mend)

    def texts(self, value: dict[str, Value], pointer: str) -> None:
        for name, limit in _TEXT_LIMITS:
            if name in value and not (type(value[name]) is str and len(value[name]) <= limit):
                self.report(
                    "RKR017",
                    join(pointer, name),
                    f"{name} is a text of at most {limit} code points",
                    "shorten it",
                )

    def object(self, value: dict[str, Value], kind: str, pointer: str) -> None:
        if value.get("additionalProperties") is not False:
            place = join(pointer, "additionalProperties") if "additionalProperties" in value else pointer
            self.report("RKR006", place, "the object is open", 'say "additionalProperties": false')
        place = join(pointer, "properties")
        declared = value.get("properties")
        if type(declared) is not dict:
            self.report(
                "RKR005", place if "properties" in value else pointer, "no properties", "declare each one"
            )
            return
        for name, child in declared.items():
            self.schema(child, join(place, name))
        self.required(value.get("required", []), declared, join(pointer, "required"))

    def required(self, names: Value, declared: dict[str, Value], pointer: str) -> None:
        if type(names) is not list:
            self.report("RKR012", pointer, "required is no list", "list the names of properties")
            return
        seen: set[str] = set()
        for index, name in enumerate(names):
            if type(name) is not str or name not in declared:
                meant = nearest(name, declared) if type(name) is str else None
                mend = f"did you mean {meant}?" if meant else "declare it under properties"
                self.report("RKR012", join(pointer, index), f"{shown(name)} is not declared", mend)
            elif name in seen:
                self.report("RKR013", join(pointer, index), f"{shown(name)} stands twice", "keep one of them")
            else:
                seen.add(name)

    def array(self, value: dict[str, Value], kind: str, pointer: str) -> None:
        self.scalar(value, kind, pointer)
        if "maxItems" not in value:
            self.report("RKR008", pointer, "the array has no maxItems", "say how many items it may have")
        if "items" not in value:
            self.report("RKR007", pointer, "the array has no items", "give the schema of its items")
            return
        self.schema(value["items"], join(pointer, "items"))

    def scalar(self, value: dict[str, Value], kind: str, pointer: str) -> None:
        """The pair of bounds that the type has. RK-RES-007"""
        bounds = [name for name in BOUND_NAMES.get(kind, ()) if name in value]
        if [self.bound(value[name], kind, join(pointer, name)) for name in bounds] != [True, True]:
            return
        lower, upper = bounds
        if value[lower] > value[upper]:
            mend = f"use at most {value[upper]}"
            self.report("RKR011", join(pointer, lower), f"{lower} exceeds {upper}", mend)

    def bound(self, value: Value, kind: str, pointer: str) -> bool:
        found = JSON_TYPES.get(type(value))
        if kind in ("integer", "number"):
            if found in ("integer", "number"):
                return True
            self.report("RKR010", pointer, f"{shown(value)} is no number", "write a number")
        else:
            if found == "integer" and value >= 0:
                return True
            self.report("RKR009", pointer, f"{shown(value)} is no counter", "write a whole number from 0")
        return False

    def enum(self, values: Value, rest: Schema | None, pointer: str) -> None:
        """Different values; whether the rest of the schema admits them is asked where the rest is sound."""
        if type(values) is not list or not values:
            self.report("RKR014", pointer, "enum is no list with values", "list the values, or leave it out")
            return
        seen: set[str] = set()
        for index, value in enumerate(values):
            text = canonical(value)
            if text in seen:
                self.report(
                    "RKR015", join(pointer, index), f"{shown(value)} stands twice", "keep one of them"
                )
            seen.add(text)
            if rest is not None:
                self.admitted(value, rest, join(pointer, index))

    def admitted(self, value: Value, rest: Schema, pointer: str) -> None:
        try:
            check(rest, value, pointer, Work(DEFAULT_LIMITS, None))
        except RukhError as error:
            self.report("RKR016", error.place, error.message, "leave it out, or loosen the schema")
