"""A power cut: an SQLite VFS that remembers what of each file was synced, and puts only that back.

The files are real ones, read and written by SQLite's own VFS below; a copy of each is kept as of its last sync. At the
chosen sync the process ends, and the database's directory is made of the copies alone. A file that was never synced
comes back empty, one that was removed stays removed. The shared memory of the log is no storage and is left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import apsw

from crashes.program import Around

NAME = "synced-only"
# The VFS that does the work.
_BELOW = "unix"
# What the sweep takes this ending for; no verb ends with it.
CUT = 99
SYNCS = "syncs="


class _File(apsw.VFSFile):
    """A file whose content is copied at each sync."""

    def __init__(self, base: str, name: Any, flags: list[int], cuts: SyncedOnly) -> None:
        self._path = str(name.filename()) if isinstance(name, apsw.URIFilename) else str(name)
        self._cuts = cuts
        cuts.synced.setdefault(self._path, _content(self._path))
        super().__init__(base, name, flags)

    def xSync(self, flags: int) -> None:
        self._cuts.passing()
        super().xSync(flags)
        self._cuts.synced[self._path] = _content(self._path)


class SyncedOnly(apsw.VFS):
    """The VFS; `cut` (from 1) is the sync at which the power goes, 0 for the end of the run."""

    def __init__(self, cut: int) -> None:
        self.synced: dict[str, bytes] = {}
        self.count = 0
        self._cut = cut
        super().__init__(NAME, _BELOW, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> _File:
        return _File(_BELOW, name, flags, self)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self.synced.pop(filename, None)

    def passing(self) -> None:
        """Called before each sync."""
        self.count += 1
        if self.count == self._cut:
            self.leave(CUT)

    def leave(self, status: int) -> NoReturn:
        """Put back what was synced, and end the process."""
        for path, content in self.synced.items():
            Path(path).write_bytes(content)
            Path(f"{path}-shm").unlink(missing_ok=True)
        os._exit(status)


def cut(sync: int) -> Around:
    """A run that loses its power at its `sync`th sync, counted from 1; for 0 at its end, after it has answered."""

    def around(act: Callable[[], int]) -> int:
        vfs = SyncedOnly(sync)
        status = act()
        os.write(2, f"{SYNCS}{vfs.count}".encode())
        vfs.leave(status)

    return around


def syncs(text: str) -> int:
    """How many syncs a whole run had, from what it wrote to standard error."""
    return int(text.rpartition(SYNCS)[2])


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return b""
