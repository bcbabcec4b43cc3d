"""Closed forms: how every document and file of this room is read.

1. A file is a regular file, opened without following a link, and read up to its limit and not one byte further.
2. A document is read by the strict reader of `rukh.values`; what the reader refuses is refused under the rule of the
   document, with the reader's place, so that a broken signature is "not trusted" and a broken catalog "rejected".
3. An object has its required members, perhaps its optional ones, and no other; each member has one check.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from typing import Any

from rukh.contract.grammar import PACKAGE, VERSION, Form
from rukh.machines.steps import FETCH, Observe, unobserved
from rukh.values.errors import RukhError
from rukh.values.pointer import join
from rukh.values.reader import read
from rukh.values.registry import LIMIT_INTEGER

Check = Callable[[Any], bool]

_DIGEST = Form("digest", "[0-9a-f]{64}", 64, "a SHA-256 in 64 lower-case hexadecimal digits")
_FILE_NAME = Form(
    "file name", r"[A-Za-z0-9][A-Za-z0-9._+-]*", 200, "a file name of letters, digits and . _ + -"
)
_CHUNK = 1 << 20  # bytes between two looks at whether to go on
_DEPTH = 8  # levels: twice what any document of this room needs


def is_package(value: Any) -> bool:
    """The name of a package."""
    return isinstance(value, str) and PACKAGE.matches(value)


def is_version(value: Any) -> bool:
    """A version: SemVer 2.0.0 without build metadata."""
    return isinstance(value, str) and VERSION.matches(value)


def is_digest(value: Any) -> bool:
    """A SHA-256 in 64 lowercase hexadecimal digits."""
    return isinstance(value, str) and _DIGEST.matches(value)


def is_plain_name(value: Any) -> bool:
    """A file name that stays in its directory on every system: no separator, no leading dot."""
    return isinstance(value, str) and _FILE_NAME.matches(value)


def is_count(value: Any) -> bool:
    """An exact whole number of bytes or milliseconds, at least 0; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LIMIT_INTEGER


def is_text(value: Any) -> bool:
    """Any string."""
    return isinstance(value, str)


def read_document(data: bytes, max_bytes: int, rule: str, what: str) -> Any:
    """The JSON document in `data`; raises RukhError `rule` with line and column where the strict reader refuses."""
    try:
        return read(data, max_bytes=max_bytes, max_depth=_DEPTH, max_members=max_bytes)
    except RukhError as error:
        raise RukhError(
            rule,
            f"{what}: {error.message}",
            place=error.place,
            mend=error.mend,
            line=error.line,
            column=error.column,
        ) from error


def members(
    value: Any,
    required: Mapping[str, Check],
    rule: str,
    place: str,
    optional: Mapping[str, Check] | None = None,
) -> dict[str, Any]:
    """`value` as a closed object; raises RukhError `rule` naming the first member that is missing, unknown or wrong."""
    allowed = {**required, **(optional or {})}
    if not isinstance(value, dict):
        raise RukhError(rule, "an object is needed", place=place or "/")
    for name in required:
        if name not in value:
            raise RukhError(rule, f"the member {name!r} is missing", place=place or "/")
    for name, member in value.items():
        if name not in allowed:
            raise RukhError(rule, f"the member {name!r} is not known", place=join(place, name))
        if not allowed[name](member):
            raise RukhError(rule, f"the member {name!r} has a wrong value", place=join(place, name))
    return value


def read_file(path: str, limit: int, rule: str, observe: Observe = unobserved) -> bytes:
    """The bytes of the regular file `path`, at most `limit`; `observe` is told how far the reading came.

    Raises RukhError `rule` where there is no such file, and RKT050 where it is larger. A link is not followed, and a
    pipe does not make the reader wait.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise RukhError(rule, "it is not a regular file", place=path)
            data = bytearray()
            while chunk := file.read(min(_CHUNK, limit + 1 - len(data))):
                data += chunk
                observe(FETCH, len(data), found.st_size)
    except OSError as error:
        raise RukhError(rule, f"it cannot be read: {error.strerror}", place=path) from error
    if len(data) > limit:
        raise RukhError("RKT050", f"it has more than {limit} bytes", place=path, mend="make it smaller")
    return bytes(data)
