"""Unicode: a string is a sequence of scalar values, never normalized; NUL is never in it."""

from __future__ import annotations

import re

from rukh.values.errors import RukhError

_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")


def check_text(text: str, place: str = "") -> str:
    """The text itself; raises RKV004 for a lone surrogate and RKV005 for NUL."""
    found = _FORBIDDEN.search(text)
    if found is None:
        return text
    if found.group() == "\x00":
        raise RukhError("RKV005", "a string holds NUL", place=place, mend="leave NUL out")
    raise RukhError(
        "RKV004",
        f"a string holds the lone surrogate U+{ord(found.group()):04X}",
        place=place,
        mend="write characters beyond U+FFFF as a surrogate pair or as UTF-8",
    )
