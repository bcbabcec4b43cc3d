"""Inputs: the one semantic validator, whichever surface the values come from.

The terminal's lexer and the MCP adapter hand over the same thing: JSON values by parameter id, as the strict
reader gives them. What is bound here is what the child receives.

- Every supplied id names a parameter; an unknown one is refused with the nearest id. RK-INP-001
- A supplied value has the JSON type of its parameter; nothing is converted, `null` is no value. RK-INP-003
- A value is put into its one form: `-0` is 0, a decimal loses idle zeros; text stays as it is. RK-INP-006
- An omitted parameter takes its default; without one it is refused if required, and else absent. RK-INP-002
- A supplied list has at least one item; only an omission or a default says "empty". RK-INP-010
- The whole has at most 1,024 elements and 64 KiB of canonical bytes. RK-INP-012

Order: unknown ids as supplied, then the parameters as declared, then the whole; the first refusal decides.
"""

from __future__ import annotations

from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.nearest import nearest
from rukh.values.numbers import compare_decimals, normalize_decimal
from rukh.values.pointer import join
from rukh.values.registry import LIMIT_INPUT_BYTES, LIMIT_INPUT_ELEMENTS, LIMIT_INTEGER
from rukh.values.unicode import check_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Value = Any
    Parameter = dict[str, Any]
    Type = dict[str, Any]

_JSON_TYPES = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}
_INFINITY = float("inf")


class Bound:
    """What one call is given: immutable by use, complete, and the same on every surface."""

    __slots__ = ("canonical", "inputs", "supplied")

    def __init__(self, inputs: dict[str, Value], supplied: list[str], canonical: bytes) -> None:
        self.inputs = inputs
        self.supplied = supplied
        self.canonical = canonical


def bind(parameters: list[Parameter], supplied: dict[str, Value]) -> Bound:
    """Inputs in declaration order with defaults, the ids that were supplied, the canonical bytes of the
    inputs.

    `parameters` are those of a compiled command, `supplied` values by parameter id. Raises RukhError RKI001
    to RKI019 whose `place` is a JSON Pointer into the supplied object. RK-INP-001 RK-INP-002 RK-INP-012
    """
    _refuse_unknown(parameters, supplied)
    inputs: dict[str, Value] = {}
    explicit: list[str] = []
    for parameter in parameters:
        name = parameter["id"]
        if name in supplied:
            inputs[name] = admit(parameter["type"], supplied[name], f"/{name}")
            explicit.append(name)
        elif "default" in parameter:
            inputs[name] = admit_default(parameter["type"], parameter["default"], f"/{name}")
        elif parameter.get("required"):
            raise RukhError("RKI002", f"{name} is missing", place=f"/{name}", mend=f"give a value for {name}")
    return Bound(inputs, explicit, _within_limits(inputs))


def admit(declared: Type, value: Value, place: str) -> Value:
    """One supplied value in its one form; raises RKI003–RKI017 at `place`. RK-INP-003"""
    if value is None:
        raise RukhError("RKI003", "null is no value", place=place, mend="leave the parameter out instead")
    return _ADMIT[declared["kind"]](declared, value, place)


def admit_default(declared: Type, value: Value, place: str) -> Value:
    """A declared default in its one form: as `admit`, and an empty list is one. RK-INP-010"""
    return [] if declared["kind"] == "list" and value == [] else admit(declared, value, place)


def _refuse_unknown(parameters: list[Parameter], supplied: dict[str, Value]) -> None:
    known = {parameter["id"] for parameter in parameters}
    for name in supplied:
        if name not in known:
            meant = nearest(name, known)
            mend = (
                f"did you mean {meant}?"
                if meant
                else f"the command takes {', '.join(sorted(known)) or 'none'}"
            )
            raise RukhError("RKI001", f"{name!r} is no parameter", place=join("", name), mend=mend)


def _within_limits(inputs: dict[str, Value]) -> bytes:
    """The canonical bytes of inputs within both limits. RK-INP-012"""
    elements = len(inputs)
    for value in inputs.values():
        if type(value) is list:
            elements += len(value)
    if elements > LIMIT_INPUT_ELEMENTS:
        raise RukhError(
            "RKI018",
            f"{elements} elements, the limit is {LIMIT_INPUT_ELEMENTS}",
            mend="send fewer list items",
        )
    data = canonical(inputs).encode()
    if len(data) > LIMIT_INPUT_BYTES:
        raise RukhError(
            "RKI019",
            f"{len(data)} canonical bytes, the limit is {LIMIT_INPUT_BYTES}",
            mend="send less, or the name of a file where the command takes one",
        )
    return data


def _string(declared: Type, value: Value, place: str) -> str:
    text = _text(value, place)
    least, most = declared.get("minLength"), declared.get("maxLength")
    if least is not None and len(text) < least:
        raise _beyond("RKI011", place, _length(len(text)), "at least", least, "shorter than", "character")
    if most is not None and len(text) > most:
        raise _beyond("RKI012", place, _length(len(text)), "at most", most, "longer than", "character")
    return text


def _text(value: Value, place: str) -> str:
    if type(value) is not str:
        raise _other_type(value, "a string", place)
    try:
        return check_text(value)
    except RukhError as error:
        raise RukhError("RKI013", error.message, place=place, mend=error.mend) from None


def _boolean(declared: Type, value: Value, place: str) -> bool:
    if type(value) is not bool:
        raise _other_type(value, "a boolean", place, "write true or false, without quotes")
    return value


def _integer(declared: Type, value: Value, place: str) -> int:
    if type(value) is float:
        raise _no_integer(value, place)
    if type(value) is not int:
        raise _other_type(value, "an integer", place, "write a number, without quotes")
    _within_binary64(value, place)
    _within_bounds(declared, value, place)
    return value


def _no_integer(value: float, place: str) -> RukhError:
    """The reader gives a float only where the exact value is no integer within ±(2^53−1). RK-VAL-020"""
    if abs(value) > LIMIT_INTEGER:
        return _too_great(place)
    return RukhError("RKI005", f"{value} is no integer", place=place, mend="write a whole number")


def _too_great(place: str) -> RukhError:
    return RukhError(
        "RKI006",
        "the integer lies beyond 2^53-1 in magnitude",
        place=place,
        mend=f"use one from {-LIMIT_INTEGER} to {LIMIT_INTEGER}",
    )


def _number(declared: Type, value: Value, place: str) -> int | float:
    if type(value) is not int and type(value) is not float:
        raise _other_type(value, "a number", place, "write a number, without quotes")
    _within_binary64(value, place)
    _within_bounds(declared, value, place)
    return value or 0  # -0.0 is 0: RK-INP-006


def _within_binary64(value: int | float, place: str) -> None:
    if type(value) is int:
        if not -LIMIT_INTEGER <= value <= LIMIT_INTEGER:
            raise _too_great(place)
    elif not -_INFINITY < value < _INFINITY:
        raise RukhError("RKI007", f"{value} is not finite", place=place, mend="use a finite number")


def _within_bounds(declared: Type, value: int | float, place: str) -> None:
    minimum, maximum = declared.get("minimum"), declared.get("maximum")
    if minimum is not None and value < minimum:
        raise _beyond("RKI009", place, value, "at least", minimum, "less than")
    if maximum is not None and value > maximum:
        raise _beyond("RKI010", place, value, "at most", maximum, "more than")


def _decimal(declared: Type, value: Value, place: str) -> str:
    if type(value) is not str:
        raise _other_type(
            value, "an exact decimal in a string", place, 'put it in double quotes, such as "12.50"'
        )
    try:
        decimal = normalize_decimal(value)
    except RukhError as error:
        raise RukhError("RKI008", error.message, place=place, mend=error.mend) from None
    minimum, maximum = declared.get("minimum"), declared.get("maximum")
    if minimum is not None and compare_decimals(decimal, normalize_decimal(minimum)) < 0:
        raise _beyond("RKI009", place, decimal, "at least", minimum, "less than")
    if maximum is not None and compare_decimals(decimal, normalize_decimal(maximum)) > 0:
        raise _beyond("RKI010", place, decimal, "at most", maximum, "more than")
    return decimal


def _choice(declared: Type, value: Value, place: str) -> str:
    if type(value) is not str:
        raise _other_type(value, "one of its choices as a string", place)
    if value not in declared["values"]:
        meant = nearest(value, declared["values"])
        mend = f"did you mean {meant}?" if meant else f"choose one of {', '.join(declared['values'])}"
        raise RukhError("RKI014", f"{_shown(value)} is no choice", place=place, mend=mend)
    return value


def _list(declared: Type, value: Value, place: str) -> list[Value]:
    if type(value) is not list:
        raise _other_type(value, "a list", place, "put the value in brackets")
    if not value:
        raise RukhError("RKI015", "the list has no item", place=place, mend="leave the parameter out instead")
    least, most = declared.get("minItems"), declared["maxItems"]
    if least is not None and len(value) < least:
        raise _beyond("RKI016", place, f"a list of {len(value)}", "at least", least, "shorter than", "item")
    if len(value) > most:
        raise _beyond("RKI017", place, f"a list of {len(value)}", "at most", most, "longer than", "item")
    items = declared["items"]
    return [admit(items, item, f"{place}/{index}") for index, item in enumerate(value)]


def _other_type(value: Value, wanted: str, place: str, mend: str = "") -> RukhError:
    found = _JSON_TYPES.get(type(value), "no JSON value")
    return RukhError(
        "RKI004",
        f"the value is {found}, the parameter takes {wanted}",
        place=place,
        mend=mend or f"send {wanted}",
    )


def _beyond(
    rule: str, place: str, found: object, relation: str, bound: object, beside: str, unit: str = ""
) -> RukhError:
    """`12 is more than 9`, or with a unit `text of length 0 is shorter than 1 character`."""
    counted = f"{bound} {unit}{'' if bound == 1 else 's'}" if unit else str(bound)
    return RukhError(rule, f"{found} is {beside} {counted}", place=place, mend=f"use {relation} {counted}")


def _length(count: int) -> str:
    return "empty text" if count == 0 else f"text of length {count}"


def _shown(text: str) -> str:
    """A caller's text, quoted and short enough for one line."""
    return repr(text) if len(text) <= 40 else f"{text[:37]!r}..."


_ADMIT: dict[str, Callable[[Type, Value, str], Value]] = {
    "string": _string,
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "decimal": _decimal,
    "choice": _choice,
    "list": _list,
}
