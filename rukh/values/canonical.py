"""Canonical JSON (RFC 8785): members by UTF-16 code units, shortest strings, numbers as ECMAScript writes
them.

Written here and not taken from a package because it stands on the path of every call; the `rfc8785` package
judges it in the tests.
"""

from __future__ import annotations

from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_INTEGER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ESCAPES: dict[int, str] = {code: f"\\u{code:04x}" for code in range(0x20)} | {
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    ord("\b"): "\\b",
    ord("\t"): "\\t",
    ord("\n"): "\\n",
    ord("\f"): "\\f",
    ord("\r"): "\\r",
}
# From here on a code point stands elsewhere among UTF-16 code units: surrogates are below it.
_REORDERED = "\ue000"
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
    if kind is str:  # `_is_plain`, without its call: most values are texts
        if value.isprintable() and '"' not in value and "\\" not in value:
            return f'"{value}"'
        return f'"{value.translate(_ESCAPES)}"'
    if kind is dict:
        names = sorted(value)
        joined = "".join(names)
        if not (_is_plain(joined) and (joined.isascii() or max(joined) < _REORDERED)):
            return _with_special_names(value)
        return "{" + ",".join([f'"{name}":{canonical(value[name])}' for name in names]) + "}"
    if kind is list or kind is tuple:
        return "[" + ",".join([canonical(item) for item in value]) + "]"
    if kind is int:
        return _integer(value)
    if kind is float:
        return _number(value)
    return _CONSTANTS[value]


def _is_plain(text: str) -> bool:
    """Whether nothing in `text` is escaped; of what no terminal prints, this does not say."""
    return text.isprintable() and '"' not in text and "\\" not in text


def _with_special_names(value: dict[str, Any]) -> str:
    """An object whose names are ordered by UTF-16 code units, or escaped."""
    names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join([f"{canonical(name)}:{canonical(value[name])}" for name in names]) + "}"


def _integer(value: int) -> str:
    if not -LIMIT_INTEGER <= value <= LIMIT_INTEGER:
        raise RukhError("RKV006", f"the integer {value} lies beyond 2^53-1 in magnitude", mend="use a string")
    return str(value)


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
