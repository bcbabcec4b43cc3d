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
_ASTRAL_OR_HIGH = re.compile("[\ue000-\U0010ffff]")
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
    parts: list[str] = []
    _write(value, parts.append)
    return "".join(parts)


def _write(value: Any, put: Any) -> None:
    kind = type(value)
    if kind is str:
        put(_string(value))
    elif kind is dict:
        _write_object(value, put)
    elif kind is list or kind is tuple:
        _write_array(value, put)
    else:
        put(_scalar(value))


def _write_object(value: dict[str, Any], put: Any) -> None:
    names = sorted(value)
    if any(_ASTRAL_OR_HIGH.search(name) for name in names):
        names.sort(key=lambda name: name.encode("utf-16-be"))
    separator = "{"
    for name in names:
        put(separator + _string(name) + ":")
        _write(value[name], put)
        separator = ","
    put("{}" if separator == "{" else "}")


def _write_array(value: list[Any] | tuple[Any, ...], put: Any) -> None:
    separator = "["
    for item in value:
        put(separator)
        _write(item, put)
        separator = ","
    put("[]" if separator == "[" else "]")


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        if not -LIMIT_INTEGER <= value <= LIMIT_INTEGER:
            raise RukhError(
                "RKV006", f"the integer {value} lies beyond 2^53-1 in magnitude", mend="use a string"
            )
        return str(value)
    return _number(value)


def _string(text: str) -> str:
    if _ESCAPED.search(text) is None:
        return f'"{text}"'
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
