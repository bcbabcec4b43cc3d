"""Canonical JSON (RFC 8785): members by UTF-16 code units, shortest strings, numbers as ECMAScript writes
them.

Written here and not taken from a package because it stands on the path of every call; the `rfc8785` package
judges it in the tests.
"""

from __future__ import annotations

import re

from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_INTEGER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ESCAPED = re.compile('["\\\\\x00-\x1f]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
# What is escaped in a name, or stands elsewhere among code points than among UTF-16 code units.
_SPECIAL_NAME = re.compile('["\\\\\x00-\x1f\ue000-\U0010ffff]')
_CONSTANTS = {None: "null", True: "true", False: "false"}
# ECMAScript writes 10^21 and above with an exponent, and anything below 10^-6.
_PLAIN_DIGITS = 21
_PLAIN_ZEROS = -6


def canonical_bytes(value: Any) -> bytes:
    """The canonical form as UTF-8; raises RKV004 for a lone surrogate, RKV006 and RKV007 for numbers out of
    range."""
    try:
        return canonical(value).encode()
    except UnicodeEncodeError as error:
        raise RukhError(
            "RKV004", "a string holds a lone surrogate", mend="use whole characters only"
        ) from error


def canonical(value: Any) -> str:
    """The canonical form as text, of None, bool, int, float, str, list, tuple and dict with string names."""
    kind = type(value)
    if kind is str:
        return f'"{value}"' if _ESCAPED.search(value) is None else _escaped(value)
    if kind is dict:
        names = sorted(value)
        if _SPECIAL_NAME.search("".join(names)) is not None:
            return _with_special_names(value)
        return "{" + ",".join([f'"{name}":{canonical(value[name])}' for name in names]) + "}"
    if kind is list or kind is tuple:
        return "[" + ",".join([canonical(item) for item in value]) + "]"
    if kind is int:
        return _integer(value)
    if kind is float:
        return _number(value)
    return _CONSTANTS[value]


def _with_special_names(value: dict[str, Any]) -> str:
    """An object whose names are ordered by UTF-16 code units, or escaped."""
    names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join([f"{canonical(name)}:{canonical(value[name])}" for name in names]) + "}"


def _integer(value: int) -> str:
    if not -LIMIT_INTEGER <= value <= LIMIT_INTEGER:
        raise RukhError("RKV006", f"the integer {value} lies beyond 2^53-1 in magnitude", mend="use a string")
    return str(value)


def _escaped(text: str) -> str:
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _ESCAPES.get(character) or f"\\u{ord(character):04x}"


def _number(value: float) -> str:
    """ECMAScript Number::toString; Python's repr gives the same shortest digits in another notation."""
    if value != value or value in (float("inf"), float("-inf")):
        raise RukhError("RKV007", f"{value} is not finite", mend="send a finite number")
    if value == 0:
        return "0"
    text = repr(value)
    if "e" not in text:
        return text[:-2] if text.endswith(".0") else text
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return sign + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    """`digits` with the decimal point behind the first `point` of them."""
    if len(digits) <= point <= _PLAIN_DIGITS:
        return digits.ljust(point, "0")
    if 0 < point <= _PLAIN_DIGITS:
        return f"{digits[:point]}.{digits[point:]}"
    if _PLAIN_ZEROS < point <= 0:
        return "0." + "0" * -point + digits
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{tail}e{'+' if point > 0 else '-'}{abs(point - 1)}"
