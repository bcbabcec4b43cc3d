"""Files written by the publisher's tools: under their name they are whole, or not there. RK-TRUST-051"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from rukh.values.errors import RukhError
from rukh.values.ids import new_id


def write_new(path: str, data: bytes, mode: int, rule: str) -> None:
    """Write the file `path`, durably and in one step; raises RukhError `rule` where it exists, else RKT064.

    RK-TRUST-051
    """
    if os.path.lexists(path):
        raise _exists(path, rule)
    with _fresh(path, data, mode) as fresh:
        try:
            _name_new(fresh, path)
        except FileExistsError as error:
            raise _exists(path, rule) from error


def replace_file(path: str, data: bytes) -> None:
    """Put `data` at `path` in one step: a reader sees the old bytes or the new ones."""
    with _fresh(path, data, 0o644) as fresh:
        os.replace(fresh, path)


@contextmanager
def _fresh(path: str, data: bytes, mode: int) -> Iterator[str]:
    """All of `data` in a file beside `path`, to be given that name inside; raises RukhError RKT064, and goes with it.

    Its own name is nobody else's, so that what a killed process leaves is in nobody's way.
    """
    directory = os.path.dirname(path) or "."
    fresh = os.path.join(directory, f".{new_id('new')}")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            with open(descriptor, "wb") as file:
                os.fchmod(file.fileno(), mode)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            yield fresh
        finally:
            _forget(fresh)
        sync(directory)
    except OSError as error:
        raise RukhError("RKT064", f"it cannot be written: {error.strerror}", place=path) from error


def _name_new(fresh: str, path: str) -> None:
    """Name it `path` unless that exists: by a second name, or on a file system without those by a look before."""
    try:
        os.link(fresh, path)
    except FileExistsError:
        raise
    except OSError:
        if os.path.lexists(path):
            raise FileExistsError(path) from None
        os.rename(fresh, path)


def _forget(fresh: str) -> None:
    try:
        os.unlink(fresh)
    except OSError:
        pass  # it bears its right name now, or the disk does not even let go


def _exists(path: str, rule: str) -> RukhError:
    return RukhError(rule, "it exists and is not overwritten", place=path, mend="name another file")


def sync(path: str) -> None:
    """Make a file's bytes, or a directory's names, durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
