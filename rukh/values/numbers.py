"""Exact numbers: the JSON number grammar, integers by exact value, exact decimals.

- A token is an integer when its exact value is one within ±(2^53−1): `1.0` and `1e2` are, and `-0` is 0.
- Every other token is a finite binary64 `float`; overflow is refused, and so is a value other than zero that
  would become zero.
- An integer token (neither fraction nor exponent) beyond ±(2^53−1) is never rounded: it is a number where it is the
  canonical form of that number (RFC 8785 writes 1e16 as 10000000000000000), never an integer, and else refused.
- A decimal is a string, compared and kept exactly, of at most 34 digits.

RK-VAL-020 RK-VAL-021 RK-VAL-022 RK-VAL-023 RK-VAL-024 RK-VAL-025
"""

from __future__ import annotations

import re

from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_DECIMAL_DIGITS, LIMIT_INTEGER

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:(\.[0-9]+)?([eE][+-]?[0-9]+)?)")
_DECIMAL = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?")
# The longest run of digits whose value can lie within ±(2^53−1); a longer one is never converted.
_INTEGER_DIGITS = 16
# No document is long enough for an integer whose exponent has more digits than this, leading zeros aside.
_EXPONENT_DIGITS = 8
# Canonical form writes a number of up to this many digits, and its sign, without an exponent.
_PLAIN_LENGTH = 22


def is_number_token(text: str) -> bool:
    """Whether `text` as a whole is a number of the JSON grammar, in range or not."""
    return NUMBER.fullmatch(text) is not None


def parse_number(text: str) -> int | float:
    """The value of one JSON number token; raises RKV006, RKV007, RKV008 (range) or RKV012 (grammar)."""
    match = NUMBER.fullmatch(text)
    if match is None:
        raise RukhError(
            "RKV012",
            f"{text!r} is not a number",
            mend="write it as JSON does: digits on both sides of a point, no leading zero or plus sign",
        )
    return token_value(text, match.group(1), match.group(2))


def token_value(token: str, fraction: str | None, exponent: str | None) -> int | float:
    """The value of a token that matched `NUMBER`, given its fraction and exponent parts."""
    if fraction is None and exponent is None:
        return _integer_token(token)
    scaled = _scaled(token, fraction or "", exponent or "")
    return scaled if scaled is not None else _binary64(token)


def _integer_token(token: str) -> int | float:
    if len(token) <= _INTEGER_DIGITS + 1:
        value = int(token)
        if -LIMIT_INTEGER <= value <= LIMIT_INTEGER:
            return value
    if len(token) <= _PLAIN_LENGTH:
        number = float(token)
        if canonical(number) == token:
            return number
    raise RukhError(
        "RKV006",
        f"the integer {_shown(token)} lies beyond 2^53-1 in magnitude",
        mend="send a decimal string where every digit counts",
    )


def _scaled(token: str, fraction: str, exponent: str) -> int | None:
    """The exact integer that the token denotes, or None where it denotes none within the limit."""
    mantissa = token[: len(token) - len(fraction) - len(exponent)]
    digits = (mantissa.lstrip("-") + fraction[1:]).lstrip("0")
    if not digits:
        return 0
    magnitude = exponent.lstrip("eE+-").lstrip("0")
    if len(magnitude) > _EXPONENT_DIGITS:
        return None
    power = int(magnitude or "0") * (-1 if "-" in exponent else 1) - len(fraction[1:])
    significant = digits.rstrip("0")
    power += len(digits) - len(significant)
    if power < 0 or len(significant) + power > _INTEGER_DIGITS:
        return None
    value: int = int(significant) * 10**power
    if value > LIMIT_INTEGER:
        return None
    return -value if token.startswith("-") else value


def _binary64(token: str) -> float:
    value = float(token)
    if value in (float("inf"), float("-inf")):
        raise RukhError("RKV007", f"{_shown(token)} is not finite in binary64", mend="use a smaller number")
    if value == 0:
        raise RukhError(
            "RKV008", f"{_shown(token)} becomes zero in binary64", mend="write 0 or a decimal string"
        )
    return value


def _shown(token: str) -> str:
    return token if len(token) <= 40 else f"{token[:37]}..."


def normalize_decimal(text: str) -> str:
    """The one form of an exact decimal: `007.50` is `7.5`, `-0.0` is `0`; raises RKV013."""
    match = _DECIMAL.fullmatch(text)
    if match is None:
        raise RukhError(
            "RKV013",
            f"{_shown(repr(text))} is not an exact decimal",
            mend="write digits with an optional minus sign and point, such as -12.50; no exponent",
        )
    sign, whole, fraction = match.group(1), match.group(2).lstrip("0"), (match.group(3) or "").rstrip("0")
    if len((whole + fraction).lstrip("0")) > LIMIT_DECIMAL_DIGITS or len(fraction) > LIMIT_DECIMAL_DIGITS:
        raise RukhError(
            "RKV013",
            f"{_shown(text)} has more than {LIMIT_DECIMAL_DIGITS} digits",
            mend="round it to 34 digits",
        )
    if not whole and not fraction:
        return "0"
    return sign + (whole or "0") + ("." + fraction if fraction else "")


def compare_decimals(left: str, right: str) -> int:
    """-1, 0 or 1 for two normalized decimals; exact, without rounding."""
    a, b = _aligned(left, right)
    return (a > b) - (a < b)


def _aligned(left: str, right: str) -> tuple[int, int]:
    places = max(_places(left), _places(right))
    return _unscaled(left, places), _unscaled(right, places)


def _places(decimal: str) -> int:
    return len(decimal.partition(".")[2])


def _unscaled(decimal: str, places: int) -> int:
    whole, _, fraction = decimal.partition(".")
    return int(whole + fraction.ljust(places, "0"))
