"""An accepted result schema as a tree, and the check of a value against it: types, members, bounds, enums.

Each step of a check is counted, and runs no code of a publisher; the elapsed time is a backstop behind the counter,
read from the clock that the caller gives. RK-RES-014

A place is carried as the pointer of the root or a pair `(parent, name)`, and written as a JSON Pointer only where
something is refused.
"""

from __future__ import annotations

from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.nearest import nearest
from rukh.values.pointer import join
from rukh.values.registry import (
    LIMIT_RESULT_BYTES,
    LIMIT_RESULT_DEPTH,
    LIMIT_RESULT_MEMBERS,
    LIMIT_RESULT_MILLISECONDS,
    LIMIT_RESULT_WORK,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Value = Any
    Clock = Callable[[], float]
    Place = str | tuple["Place", str | int]

JSON_TYPES = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
# What a value of each type may be. 1.0 has become 1 in the reader, so that a float is never whole and small.
_ADMITS: dict[str, tuple[type, ...]] = {
    name: (int, float) if name == "number" else (kind,) for kind, name in JSON_TYPES.items()
}
# The lower and the upper bound of the types that have some.
BOUND_NAMES = {
    "array": ("minItems", "maxItems"),
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
}
# What a bound counts, with the rules of a value below and above it.
_BOUNDS = {
    "array": ("items", "RKR030", "RKR031"),
    "string": ("code points", "RKR028", "RKR029"),
    "integer": ("", "RKR026", "RKR027"),
    "number": ("", "RKR026", "RKR027"),
}
_INFINITY = float("inf")
_CONTAINERS = (dict, list)
# Steps between two looks at the clock: often enough to notice 100 ms, seldom enough to cost nothing.
_STEPS_A_LOOK = 256


class Schema:
    """One node of an accepted result schema; the whole tree is immutable. Made of the schema's document.

    `type` is one of seven, `lower` and `upper` are the bounds of that type, infinite where none is set, `enum` the
    canonical forms of the admitted values or None.
    """

    __slots__ = (
        "admits",
        "bounded",
        "counted",
        "enum",
        "items",
        "lower",
        "properties",
        "required",
        "type",
        "upper",
    )

    type: str
    lower: int | float
    upper: int | float
    properties: dict[str, Schema]
    required: tuple[str, ...]
    items: Schema | None
    enum: frozenset[str] | None
    # Derived: the Python types of its values, whether a bound is set, and whether it bounds how many there are.
    admits: tuple[Any, ...]
    bounded: bool
    counted: bool

    def __init__(self, value: dict[str, Any]) -> None:
        put = object.__setattr__
        kind = value["type"]
        lower, upper = BOUND_NAMES.get(kind, ("", ""))
        put(self, "type", kind)
        put(self, "lower", value.get(lower, -_INFINITY))
        put(self, "upper", value.get(upper, _INFINITY))
        put(self, "properties", {name: Schema(child) for name, child in value.get("properties", {}).items()})
        put(self, "required", tuple(value.get("required", ())))
        put(self, "items", Schema(value["items"]) if "items" in value else None)
        put(self, "enum", frozenset(map(canonical, value["enum"])) if "enum" in value else None)
        put(self, "admits", _ADMITS[kind])
        put(self, "bounded", lower in value or upper in value)
        put(self, "counted", kind in ("array", "string"))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a schema is immutable: {name}")


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


DEFAULT_LIMITS = Limits()


class Work:
    """The steps of one validation, and the clock behind them. RK-RES-014"""

    __slots__ = ("clock", "end", "limits", "steps", "stop")

    def __init__(self, limits: Limits, clock: Clock | None) -> None:
        self.limits = limits
        self.clock = clock
        self.steps = 0
        self.stop = min(_STEPS_A_LOOK, limits.work + 1)  # the count at which something has to be looked at
        self.end = clock() + limits.milliseconds / 1000 if clock else 0.0

    def spend(self, steps: int, place: Place) -> None:
        """Count `steps`; raises RKR038 beyond the limit, RKR039 when the time is over."""
        self.steps += steps
        if self.steps >= self.stop:
            self.pause(place)

    def pause(self, place: Place) -> None:
        """What is due at `stop`."""
        if self.steps > self.limits.work:
            raise RukhError(
                "RKR038",
                f"more than {self.limits.work} steps",
                place=written(place),
                mend="answer with less at once",
            )
        self.stop = min(self.steps + _STEPS_A_LOOK, self.limits.work + 1)
        self.look(place)

    def look(self, place: Place) -> None:
        """Look at the clock; raises RKR039 when the time is over."""
        if self.clock and self.clock() > self.end:
            raise RukhError(
                "RKR039",
                f"longer than {self.limits.milliseconds} ms",
                place=written(place),
                mend="answer with less at once, or try where less is running",
            )


def written(place: Place) -> str:
    """The JSON Pointer of a place."""
    steps: list[str | int] = []
    while type(place) is tuple:
        place, step = place
        steps.append(step)
    for step in reversed(steps):
        place = join(place, step)  # type: ignore[arg-type]  # the innermost place is a text, and so is all that follows
    return place  # type: ignore[return-value]  # likewise


def check(schema: Schema, value: Value, place: Place, work: Work) -> None:
    """`value` against one node of the tree and what is below it; raises RKR023–RKR032, RKR038 or RKR039."""
    work.steps += 1
    if work.steps >= work.stop:
        work.pause(place)
    if type(value) not in schema.admits:
        raise _mistyped(schema, value, place)
    if schema.bounded:
        size = len(value) if schema.counted else value
        if not schema.lower <= size <= schema.upper:
            raise _beyond(schema, size, place)
    if schema.type == "object":
        _check_object(schema, value, place, work)
    elif schema.items is not None:
        for index, item in enumerate(value):
            check(schema.items, item, (place, index), work)
    if schema.enum is not None:
        _check_enum(schema.enum, value, place, work)


def _mistyped(schema: Schema, value: Value, place: Place) -> RukhError:
    found = JSON_TYPES.get(type(value), "no JSON value")
    return RukhError(
        "RKR023",
        f"{found} stands where {schema.type} is declared",
        place=written(place),
        mend=f"send {schema.type}",
    )


def _check_object(schema: Schema, value: dict[str, Value], place: Place, work: Work) -> None:
    work.spend(len(schema.required), place)
    for name in schema.required:
        if name not in value:
            raise RukhError(
                "RKR025", f"{shown(name)} is missing", place=join(written(place), name), mend="send it"
            )
    declares = schema.properties
    for name, child in value.items():
        declared = declares.get(name)
        if declared is None:
            raise _undeclared(schema, name, place)
        check(declared, child, (place, name), work)


def _undeclared(schema: Schema, name: str, place: Place) -> RukhError:
    meant = nearest(name, list(schema.properties))
    mend = f"did you mean {meant}?" if meant else "declare it, or leave it out"
    return RukhError("RKR024", f"{shown(name)} is not declared", place=join(written(place), name), mend=mend)


def _beyond(schema: Schema, size: int | float, place: Place) -> RukhError:
    unit, below, above = _BOUNDS[schema.type]
    if size < schema.lower:
        rule, relation, bound = below, "at least", schema.lower
    else:
        rule, relation, bound = above, "at most", schema.upper
    found = f"{size} {unit}".strip()
    return RukhError(
        rule, f"{found}, the bound is {bound}", place=written(place), mend=f"send {relation} {bound}"
    )


def _check_enum(admitted: frozenset[str], value: Value, place: Place, work: Work) -> None:
    """Equality of JSON values is equality of canonical forms: 1 and 1.0 are one value, 1 and true are two."""
    work.spend(_size(value) if type(value) in _CONTAINERS else 1, place)
    if canonical(value) not in admitted:
        raise RukhError(
            "RKR032",
            f"{shown(value)} is none of the enum",
            place=written(place),
            mend="send one of its values",
        )


def children(value: Value) -> Any:
    """Pairs of name or index and value; none for a scalar."""
    if type(value) is dict:
        return value.items()
    return enumerate(value) if type(value) is list else ()


def _size(value: Value) -> int:
    """How many values there are in `value`, itself included: what comparing it costs."""
    return 1 + sum(_size(child) for _, child in children(value))


def shown(value: Value) -> str:
    """A value of a publisher, in canonical form and short enough for one line."""
    text = canonical(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
