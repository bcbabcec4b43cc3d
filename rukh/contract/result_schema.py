"""Results: the schema subset that a publisher may declare, and the check of what a child brings back.

A schema is parsed once into an immutable tree; every problem is reported, none is repaired. RK-RES-001

- It names one of seven types; every other keyword belongs to that type, and an unknown one is refused.
- An object has explicit `properties` and says `additionalProperties: false`; `required` names some.
- An array has one `items` schema and a finite `maxItems`.
- `enum` holds different values which the rest of the schema admits; a lower bound never exceeds its upper
  one.
- There is nothing else: no references, no patterns, no composition, no defaults, no code.

A result is `{kind: text, text}` or `{kind: structured, data}`, exactly as declared. It is judged in this
order, and the first refusal is the answer: shape, then depth, members, Unicode and numbers in one walk, then
canonical bytes, then the schema. What is too much fails; nothing is cut. RK-RES-010

Validation runs no code of a publisher, and each step of it is counted. The elapsed time is a backstop behind
the counter, read from the clock that the caller gives. RK-RES-014
"""

from __future__ import annotations

from rukh.values.canonical import canonical, canonical_bytes
from rukh.values.errors import RukhError
from rukh.values.nearest import nearest
from rukh.values.pointer import join
from rukh.values.registry import (
    LIMIT_DESCRIPTION_LENGTH,
    LIMIT_INTEGER,
    LIMIT_RESULT_BYTES,
    LIMIT_RESULT_DEPTH,
    LIMIT_RESULT_MEMBERS,
    LIMIT_RESULT_MILLISECONDS,
    LIMIT_RESULT_WORK,
    LIMIT_SCHEMA_BYTES,
    LIMIT_TITLE_LENGTH,
)
from rukh.values.unicode import check_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Value = Any
    Clock = Callable[[], float]

_JSON_TYPES = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
# The keywords of each type, its pair of bounds first; the four below belong to every type.
_COMMON = ("type", "enum", "title", "description")
_KEYWORDS = {
    "object": ("properties", "required", "additionalProperties"),
    "array": ("minItems", "maxItems", "items"),
    "string": ("minLength", "maxLength"),
    "boolean": (),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "null": (),
}
_ALL_KEYWORDS = frozenset(_COMMON).union(*_KEYWORDS.values())
# What a bound counts, with the rules of a value below and above it.
_BOUNDS = {
    "array": ("items", "RKR030", "RKR031"),
    "string": ("code points", "RKR028", "RKR029"),
    "integer": ("", "RKR026", "RKR027"),
    "number": ("", "RKR026", "RKR027"),
}
_TEXT_LIMITS = (("title", LIMIT_TITLE_LENGTH), ("description", LIMIT_DESCRIPTION_LENGTH))
# The outcome reason of each refusal of a result; every other one is `result_invalid`.
_REASONS = {
    "RKR021": "result_missing",
    "RKR035": "result_too_large",
    "RKR036": "result_too_large",
    "RKR037": "result_too_large",
    "RKR038": "result_timeout",
    "RKR039": "result_timeout",
}
_INFINITY = float("inf")
# Steps between two looks at the clock: often enough to notice 100 ms, seldom enough to cost nothing.
_STEPS_A_LOOK = 256


class Schema:
    """One node of a parsed result schema; the whole tree is immutable.

    `type` is one of seven, `lower` and `upper` are the bounds of that type, `properties` pairs of name and
    schema in the order of the descriptor, `enum` the canonical forms of the admitted values or None.
    """

    __slots__ = ("_by_name", "enum", "items", "lower", "properties", "required", "type", "upper")

    type: str
    lower: int | float | None
    upper: int | float | None
    properties: tuple[tuple[str, Schema], ...]
    required: tuple[str, ...]
    items: Schema | None
    enum: frozenset[str] | None

    def __init__(self, kind: str, parts: dict[str, Any]) -> None:
        put = object.__setattr__
        put(self, "type", kind)
        put(self, "lower", parts.get("lower"))
        put(self, "upper", parts.get("upper"))
        put(self, "properties", parts.get("properties", ()))
        put(self, "required", parts.get("required", ()))
        put(self, "items", parts.get("items"))
        put(self, "enum", parts.get("enum"))
        put(self, "_by_name", dict(self.properties))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a schema is immutable: {name}")

    def property(self, name: str) -> Schema | None:
        """The schema of the property of that name, or None."""
        found: Schema | None = self._by_name.get(name)  # type: ignore[attr-defined]
        return found


class Problem:
    """What is wrong with a schema: `rule`, JSON Pointer `pointer`, `message` and `mend`."""

    __slots__ = ("mend", "message", "pointer", "rule")

    def __init__(self, rule: str, pointer: str, message: str, mend: str) -> None:
        self.rule = rule
        self.pointer = pointer
        self.message = message
        self.mend = mend


class Limits:
    """How much one result may be and cost; a smaller limit of an owner or executor wins, a larger one never.

    `bytes` counts canonical UTF-8, `depth` levels with the root as 1, `members` members and elements, `work`
    steps of validation, `milliseconds` elapsed time. RK-RES-013
    """

    __slots__ = ("bytes", "depth", "members", "milliseconds", "work")

    def __init__(
        self,
        *,
        bytes: int = LIMIT_RESULT_BYTES,
        depth: int = LIMIT_RESULT_DEPTH,
        members: int = LIMIT_RESULT_MEMBERS,
        work: int = LIMIT_RESULT_WORK,
        milliseconds: int = LIMIT_RESULT_MILLISECONDS,
    ) -> None:
        self.bytes = min(bytes, LIMIT_RESULT_BYTES)
        self.depth = min(depth, LIMIT_RESULT_DEPTH)
        self.members = min(members, LIMIT_RESULT_MEMBERS)
        self.work = min(work, LIMIT_RESULT_WORK)
        self.milliseconds = min(milliseconds, LIMIT_RESULT_MILLISECONDS)


_DEFAULT_LIMITS = Limits()


def reason_of(error: RukhError) -> str:
    """The outcome reason of what `validate_result` raised: one of the four `result_…` codes. RK-RES-015"""
    return _REASONS.get(error.rule, "result_invalid")


# --- the schema ---


def parse_schema(value: Value, pointer: str = "") -> tuple[Schema | None, list[Problem]]:
    """The tree of a declared schema, or None, and every problem of it.

    `value` is what the strict reader gave, `pointer` the place of the schema in its document. RK-RES-001
    """
    parse = _Parse()
    parse.whole(value, pointer)
    tree = None if parse.too_deep else parse.schema(value, pointer)
    return (None if parse.problems else tree), parse.problems


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
        for name, child in _children(value):
            self.members += 1
            self.measure(child, join(pointer, name), depth + 1)

    def schema(self, value: Value, pointer: str) -> Schema | None:
        """The node at `pointer`, or None where it or anything below it has a problem."""
        if type(value) is not dict:
            self.report("RKR001", pointer, "a schema is an object", 'write {"type": …}')
            return None
        before = len(self.problems)
        self.texts(value, pointer)
        kind = value.get("type")
        if type(kind) is not str or kind not in _KEYWORDS:
            self.no_type(value, pointer)
            return None
        self.keywords(value, kind, pointer)
        parts = {"object": self.object, "array": self.array}.get(kind, self.scalar)(value, kind, pointer)
        sound = len(self.problems) == before
        if "enum" in value:
            rest = Schema(kind, parts) if sound else None
            parts["enum"] = self.enum(value["enum"], rest, join(pointer, "enum"))
        return Schema(kind, parts) if sound else None

    def no_type(self, value: dict[str, Value], pointer: str) -> None:
        known = ", ".join(_KEYWORDS)
        if "type" not in value:
            self.report("RKR002", pointer, "the schema names no type", f"add one of {known}")
            return
        found = value["type"]
        meant = nearest(found, _KEYWORDS) if type(found) is str else None
        mend = f"did you mean {meant}?" if meant else f"name one of {known}"
        self.report("RKR002", join(pointer, "type"), f"{_shown(found)} is none of the seven types", mend)

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
                self.report("RKR003", join(pointer, name), f"{_shown(name)} is no keyword here", mend)

    def texts(self, value: dict[str, Value], pointer: str) -> None:
        for name, limit in _TEXT_LIMITS:
            if name in value and not (type(value[name]) is str and len(value[name]) <= limit):
                self.report(
                    "RKR017",
                    join(pointer, name),
                    f"{name} is a text of at most {limit} code points",
                    "shorten it",
                )

    def object(self, value: dict[str, Value], kind: str, pointer: str) -> dict[str, Any]:
        if value.get("additionalProperties") is not False:
            place = join(pointer, "additionalProperties") if "additionalProperties" in value else pointer
            self.report("RKR006", place, "the object is open", 'say "additionalProperties": false')
        place = join(pointer, "properties")
        declared = value.get("properties")
        if type(declared) is not dict:
            self.report(
                "RKR005", place if "properties" in value else pointer, "no properties", "declare each one"
            )
            return {}
        properties = [(name, self.schema(child, join(place, name))) for name, child in declared.items()]
        required = self.required(value.get("required", []), declared, join(pointer, "required"))
        return {"properties": tuple(properties), "required": required}

    def required(self, names: Value, declared: dict[str, Value], pointer: str) -> tuple[str, ...]:
        if type(names) is not list:
            self.report("RKR012", pointer, "required is no list", "list the names of properties")
            return ()
        seen: dict[str, None] = {}
        for index, name in enumerate(names):
            if type(name) is not str or name not in declared:
                meant = nearest(name, declared) if type(name) is str else None
                mend = f"did you mean {meant}?" if meant else "declare it under properties"
                self.report("RKR012", join(pointer, index), f"{_shown(name)} is not declared", mend)
            elif name in seen:
                self.report(
                    "RKR013", join(pointer, index), f"{_shown(name)} stands twice", "keep one of them"
                )
            else:
                seen[name] = None
        return tuple(seen)

    def array(self, value: dict[str, Value], kind: str, pointer: str) -> dict[str, Any]:
        parts = self.scalar(value, kind, pointer)
        if "maxItems" not in value:
            self.report("RKR008", pointer, "the array has no maxItems", "say how many items it may have")
        if "items" not in value:
            self.report("RKR007", pointer, "the array has no items", "give the schema of its items")
            return parts
        parts["items"] = self.schema(value["items"], join(pointer, "items"))
        return parts

    def scalar(self, value: dict[str, Value], kind: str, pointer: str) -> dict[str, Any]:
        """The pair of bounds that the type has. RK-RES-007"""
        parts: dict[str, Any] = {}
        for side, name in zip(("lower", "upper"), _KEYWORDS[kind][:2], strict=False):
            if name in value and self.bound(value[name], kind, join(pointer, name)):
                parts[side] = value[name]
        if len(parts) == 2 and parts["lower"] > parts["upper"]:
            lower, upper = _KEYWORDS[kind][:2]
            self.report(
                "RKR011", join(pointer, lower), f"{lower} exceeds {upper}", f"use at most {parts['upper']}"
            )
        return parts

    def bound(self, value: Value, kind: str, pointer: str) -> bool:
        found = _JSON_TYPES.get(type(value))
        if kind in ("integer", "number"):
            if found in ("integer", "number"):
                return True
            self.report("RKR010", pointer, f"{_shown(value)} is no number", "write a number")
        else:
            if found == "integer" and value >= 0:
                return True
            self.report("RKR009", pointer, f"{_shown(value)} is no counter", "write a whole number from 0")
        return False

    def enum(self, values: Value, rest: Schema | None, pointer: str) -> frozenset[str]:
        """The canonical forms; whether the rest of the schema admits them is asked where the rest is
        sound."""
        if type(values) is not list or not values:
            self.report("RKR014", pointer, "enum is no list with values", "list the values, or leave it out")
            return frozenset()
        seen: set[str] = set()
        for index, value in enumerate(values):
            text = canonical(value)
            if text in seen:
                self.report(
                    "RKR015", join(pointer, index), f"{_shown(value)} stands twice", "keep one of them"
                )
            seen.add(text)
            if rest is not None:
                self.admitted(value, rest, join(pointer, index))
        return frozenset(seen)

    def admitted(self, value: Value, rest: Schema, pointer: str) -> None:
        try:
            _check(rest, value, pointer, _Work(_DEFAULT_LIMITS, None))
        except RukhError as error:
            self.report("RKR016", error.place, error.message, "leave it out, or loosen the schema")


# --- the result ---


def validate_result(
    declared: dict[str, Any] | None,
    command_result: Value,
    *,
    limits: Limits = _DEFAULT_LIMITS,
    clock: Clock | None = None,
) -> None:
    """Judge a `commandResult` by the result that the command declares; None for either: there is none.

    `clock` gives monotonic seconds, the system's by default. Raises RukhError RKR021–RKR039 whose `place` is
    a JSON Pointer into the commandResult; `reason_of` gives the outcome reason. RK-RES-010
    """
    if clock is None:
        from time import monotonic as clock
    work = _Work(limits, clock)
    if declared is None and command_result is None:
        return
    member = _shape(declared, command_result)
    _Walk(work).value(command_result, "", 1)
    size = len(canonical_bytes(command_result))
    if size > limits.bytes:
        raise RukhError(
            "RKR035", f"{size} canonical bytes, the limit is {limits.bytes}", mend="answer with less at once"
        )
    if declared is not None and member == "data":
        _check(_parsed(declared["schema"]), command_result["data"], "/data", work)
    work.look("")


def _shape(declared: dict[str, Any] | None, found: Value) -> str:
    """The name of the member that carries the result. RK-RES-010"""
    if declared is None:
        raise RukhError("RKR022", "the command declares no result", mend="declare one, or send none")
    if found is None:
        raise RukhError("RKR021", f"the declared {declared['kind']} result is missing", mend="send it")
    kind = declared["kind"]
    member = {"text": "text", "structured": "data"}[kind]
    if type(found) is not dict or set(found) != {"kind", member} or found["kind"] != kind:
        raise RukhError(
            "RKR022",
            f"not exactly {{kind: {kind}, {member}}}",
            mend=f"send kind {kind} and {member}, nothing else",
        )
    if kind == "text" and type(found["text"]) is not str:
        raise RukhError("RKR022", "text is no string", place="/text", mend="send a string")
    return member


def _parsed(value: Value) -> Schema:
    """The tree of a schema that its descriptor was accepted with."""
    tree, problems = parse_schema(value, "/schema")
    if tree is None:
        first = problems[0]
        raise RukhError(first.rule, first.message, place=first.pointer, mend=first.mend)
    return tree


class _Work:
    """The steps of one validation, and the clock behind them. RK-RES-014"""

    __slots__ = ("clock", "end", "limits", "next_look", "steps")

    def __init__(self, limits: Limits, clock: Clock | None) -> None:
        self.limits = limits
        self.clock = clock
        self.steps = 0
        self.next_look = _STEPS_A_LOOK
        self.end = clock() + limits.milliseconds / 1000 if clock else 0.0

    def spend(self, steps: int, place: str) -> None:
        self.steps += steps
        if self.steps > self.limits.work:
            raise RukhError(
                "RKR038", f"more than {self.limits.work} steps", place=place, mend="answer with less at once"
            )
        if self.steps >= self.next_look:
            self.next_look = self.steps + _STEPS_A_LOOK
            self.look(place)

    def look(self, place: str) -> None:
        if self.clock and self.clock() > self.end:
            raise RukhError(
                "RKR039",
                f"longer than {self.limits.milliseconds} ms",
                place=place,
                mend="answer with less at once, or try where less is running",
            )


class _Walk:
    """The limits and the value rules that hold whatever the schema says. RK-RES-012"""

    __slots__ = ("members", "work")

    def __init__(self, work: _Work) -> None:
        self.work = work
        self.members = 0

    def value(self, value: Value, place: str, depth: int) -> None:
        limits = self.work.limits
        if depth > limits.depth:
            raise RukhError(
                "RKR036", f"nested deeper than {limits.depth}", place=place, mend="answer flatter"
            )
        self.work.spend(1, place)
        _admitted(value, place)
        for name, child in _children(value):
            self.members += 1
            if self.members > limits.members:
                message = f"more than {limits.members} members and elements"
                raise RukhError("RKR037", message, place=place, mend="answer with less at once")
            inner = join(place, name)
            if type(name) is str:
                _admitted(name, inner)
            self.value(child, inner, depth + 1)


def _children(value: Value) -> Any:
    """Pairs of name or index and value; none for a scalar."""
    if type(value) is dict:
        return value.items()
    return enumerate(value) if type(value) is list else ()


def _admitted(value: Value, place: str) -> None:
    """The Unicode and number rules, equal to those of inputs. RK-RES-011"""
    kind = type(value)
    if kind is str:
        try:
            check_text(value)
        except RukhError as error:
            raise RukhError("RKR033", error.message, place=place, mend=error.mend) from None
    elif kind is int:
        if not -LIMIT_INTEGER <= value <= LIMIT_INTEGER:
            raise RukhError("RKR034", "an integer beyond 2^53-1", place=place, mend="send it as a string")
    elif kind is float and not -_INFINITY < value < _INFINITY:
        raise RukhError("RKR034", f"{value} is not finite", place=place, mend="send a finite number")


def _check(schema: Schema, value: Value, place: str, work: _Work) -> None:
    """`value` against one node of the tree and what is below it; raises RKR023–RKR032."""
    work.spend(1, place)
    found = _JSON_TYPES.get(type(value), "no JSON value")
    if found != schema.type and not (schema.type == "number" and found == "integer"):
        raise RukhError(
            "RKR023",
            f"{found} stands where {schema.type} is declared",
            place=place,
            mend=f"send {schema.type}",
        )
    if schema.type == "object":
        _check_object(schema, value, place, work)
    elif schema.type in _BOUNDS:
        _check_bounds(schema, value, place)
        if schema.items is not None:
            for index, item in enumerate(value):
                _check(schema.items, item, join(place, index), work)
    if schema.enum is not None:
        _check_enum(schema.enum, value, place, work)


def _check_object(schema: Schema, value: dict[str, Value], place: str, work: _Work) -> None:
    work.spend(len(schema.required), place)
    for name in schema.required:
        if name not in value:
            raise RukhError("RKR025", f"{_shown(name)} is missing", place=join(place, name), mend="send it")
    for name, child in value.items():
        declared = schema.property(name)
        if declared is None:
            meant = nearest(name, [known for known, _ in schema.properties])
            mend = f"did you mean {meant}?" if meant else "declare it, or leave it out"
            raise RukhError("RKR024", f"{_shown(name)} is not declared", place=join(place, name), mend=mend)
        _check(declared, child, join(place, name), work)


def _check_bounds(schema: Schema, value: Value, place: str) -> None:
    unit, below, above = _BOUNDS[schema.type]
    size = len(value) if unit else value
    if schema.lower is not None and size < schema.lower:
        raise _beyond(below, place, size, unit, "at least", schema.lower)
    if schema.upper is not None and size > schema.upper:
        raise _beyond(above, place, size, unit, "at most", schema.upper)


def _beyond(
    rule: str, place: str, size: int | float, unit: str, relation: str, bound: int | float
) -> RukhError:
    found = f"{size} {unit}".strip()
    return RukhError(rule, f"{found}, the bound is {bound}", place=place, mend=f"send {relation} {bound}")


def _check_enum(admitted: frozenset[str], value: Value, place: str, work: _Work) -> None:
    """Equality of JSON values is equality of canonical forms: 1 and 1.0 are one value, 1 and true are two."""
    work.spend(_size(value), place)
    if canonical(value) not in admitted:
        raise RukhError(
            "RKR032", f"{_shown(value)} is none of the enum", place=place, mend="send one of its values"
        )


def _size(value: Value) -> int:
    """How many values there are in `value`, itself included: what comparing it costs."""
    return 1 + sum(_size(child) for _, child in _children(value))


def _shown(value: Value) -> str:
    """A value of a publisher, in canonical form and short enough for one line."""
    text = canonical(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
