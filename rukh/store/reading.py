"""The database opened for reading only: no turnstile, no write, no migration, not even a schema version that fits.

An empty one beside a log is not opened at all: SQLite unlinks the log then, however it was opened. RK-STORE-019

Where nobody has it open there is no log beside it, and it is opened as it lies, so that not even SQLite's own
shared-memory file appears; a writer that comes meanwhile can at worst spoil one answer, and never the database.
RK-COMP-003 RK-DOC-002
"""

from __future__ import annotations

import os

import apsw

from rukh.store.home import check_records
from rukh.store.schema import APPLICATION_ID, SCHEMA_VERSION
from rukh.values.errors import RukhError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rukh.store.home import Home

# A reader waits for nobody, but for the moment in which a first opener takes a log over.
_BUSY_MILLISECONDS = 50


class Reading:
    """One connection of one home. Every method raises RKS006 where the database cannot be read, and RKS007 where it
    could be if its home could be written."""

    def __init__(self, home: Home) -> None:
        self.path = home.at("db", "rukh.sqlite3")
        check_records(home)
        try:
            self._connection = apsw.Connection(*_opening(self.path))
            self._connection.set_busy_timeout(_BUSY_MILLISECONDS)
            self.application = self._connection.pragma("application_id")
            self.version = self._connection.pragma("user_version")
        except (apsw.Error, UnicodeError) as error:
            raise _unreadable(error, self.path) from error

    @property
    def is_current(self) -> bool:
        """Whether it is Rukh's, with the schema of this program."""
        return (self.application, self.version) == (APPLICATION_ID, SCHEMA_VERSION)

    def rows(self, sql: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of one query."""
        try:
            return self._connection.execute(sql, tuple(values)).fetchall()
        except (apsw.Error, UnicodeError) as error:
            raise _unreadable(error, self.path) from error

    def row(self, sql: str, values: Iterable[Any] = ()) -> tuple[Any, ...] | None:
        """The first row of one query, if there is one."""
        return next(iter(self.rows(sql, values)), None)

    def close(self) -> None:
        """Let go of the file; closing twice is closing once."""
        self._connection.close()


def _opening(path: str) -> tuple[str, int]:
    """What to open and how: for reading, and where there is no log, as it lies."""
    if os.path.exists(path + "-wal"):
        return path, apsw.SQLITE_OPEN_READONLY
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file:{quoted}?immutable=1", apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


def _unreadable(error: Exception, path: str) -> RukhError:
    """A log without its shared memory is read by whoever can make that, and is no damage."""
    if (
        isinstance(error, apsw.CantOpenError)
        and os.path.exists(f"{path}-wal")
        and not os.path.exists(f"{path}-shm")
    ):
        return RukhError(
            "RKS007",
            f"the database has a log that cannot be read here: {error}",
            place=path,
            mend="look at it where the home can be written, or at a copy of the whole home",
        )
    return RukhError(
        "RKS006", f"the database cannot be read: {error}", place=path, mend="restore it from a copy"
    )
