"""Files that the caller names, read with the caller's rights and within a bound."""

from __future__ import annotations

import os

from rukh.values.errors import RukhError

STDIN = "-"


def read_named(path: str, limit: int) -> bytes:
    """At most `limit` bytes of a file, or of standard input for `-`; raises RKL023 (unreadable) or RKV009 (larger)."""
    data = read_some(path, limit + 1)
    if len(data) > limit:
        raise RukhError("RKV009", f"{path} is larger than {limit} bytes", place=path, mend="give less")
    return data


def read_some(path: str, count: int) -> bytes:
    """The first `count` bytes of a file, for a reader that judges the size itself; raises RKL023."""
    try:
        with open(0 if path == STDIN else path, "rb", closefd=path != STDIN) as source:
            return source.read(count)
    except (OSError, ValueError) as error:
        said = os.strerror(error.errno or 0) if isinstance(error, OSError) else str(error)
        raise RukhError(
            "RKL023", f"{path} cannot be read: {said}", place=path, mend="name a readable file"
        ) from error
