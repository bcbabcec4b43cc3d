"""One connection to the one database, and write transactions behind the turnstile.

WAL, `BEGIN IMMEDIATE`, no checkpoint on a call's path. A transaction has a durability class:

- `POWER` (synchronous FULL): survives a power cut once acknowledged — publication, trust, tasks.
- `PROCESS` (synchronous NORMAL): survives the death of any process — capture and outcome of a call; a power cut may
  take the last of them.

A connection never crosses a fork, and no other SQLite copy opens the file. RK-STORE-013 … RK-STORE-016
"""

from __future__ import annotations

import _thread
import os
import time

import apsw

from rukh.store.home import check_records, holds, lost_records
from rukh.store.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION
from rukh.store.turnstile import Turnstile
from rukh.values.errors import RukhError
from rukh.values.registry import AUDIT_EVENTS, LIMIT_TURNSTILE_MILLISECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Any

    from rukh.store.home import Home

POWER = "FULL"
PROCESS = "NORMAL"
FILE = "rukh.sqlite3"
_EVENTS = frozenset(AUDIT_EVENTS)
_TABLES = "SELECT name FROM sqlite_schema LIMIT 1"
# Beyond this the write-ahead log is folded back into the database, after an answer was given. RK-STORE-020
_LOG_BYTES = 4 * 1024 * 1024
# Steps of the database's machine between two looks at a deadline: some microseconds.
_STEPS = 1000


def utc_ms() -> int:
    """Now, in milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000


class Database:
    """The connection of this process; every method may be called from any thread."""

    def __init__(self, home: Home, clock: Callable[[], int] = utc_ms) -> None:
        self.path = home.at("db", FILE)
        self._home = home
        self.pid = os.getpid()
        self._clock = clock
        self._lock = _thread.RLock()
        self._until: dict[int, float] = {}
        self._turnstile = Turnstile(home.at("locks"), LIMIT_TURNSTILE_MILLISECONDS)
        # SQLite takes the log beside an empty database for remains, and unlinks it.
        check_records(home)
        try:
            self._connection = apsw.Connection(self.path)
            self._prepare()
        except apsw.Error as error:
            raise storage_error(error) from error
        except RukhError:
            self._connection.close()  # with what SQLite put beside a file that is not worked with
            raise

    def _prepare(self) -> None:
        connection = self._connection
        connection.set_busy_timeout(LIMIT_TURNSTILE_MILLISECONDS)
        connection.execute("PRAGMA wal_autocheckpoint=0")
        # A log that starts again is cut to this, so that its length tells how much of it is in use.
        connection.execute(f"PRAGMA journal_size_limit={_LOG_BYTES}")
        connection.execute("PRAGMA foreign_keys=ON")
        self._synchronous = ""
        if self._version() != SCHEMA_VERSION:
            self._migrate()

    def _version(self) -> int:
        """The schema version of the file; raises RKS005 for a newer one, RKS006 for a foreign or a lost one."""
        application, version, fresh = self._marks()
        if fresh and holds(self._home):
            # Whoever made a home meanwhile wrote its records before its releases.
            application, version, fresh = self._marks()
            if fresh:
                raise lost_records(self._home)
        if application != APPLICATION_ID and not fresh:
            raise RukhError(
                "RKS006", "the database is not Rukh's", place=self.path, mend="name another --home"
            )
        if version > SCHEMA_VERSION:
            raise RukhError(
                "RKS005",
                f"the database has schema {version}, this program knows {SCHEMA_VERSION}",
                place=self.path,
                mend="use the newer program",
            )
        return version

    def _marks(self) -> tuple[int, int, bool]:
        """Application id, schema version, and whether nothing was ever written."""
        application = int(self._connection.pragma("application_id"))
        version = int(self._connection.pragma("user_version"))
        fresh = not version and not application and not self._connection.execute(_TABLES).fetchall()
        return application, version, fresh

    def _migrate(self) -> None:
        self._connection.pragma("journal_mode", "wal")
        self._turnstile.enter()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for step in range(self._version(), SCHEMA_VERSION):
                self._connection.execute(MIGRATIONS[step])
            self._connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            self._connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            self._connection.execute("COMMIT")
        finally:
            self._turnstile.leave()

    def rows(self, sql: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of one query; inside `within` it ends with its deadline, by RKS004 or RKS007."""
        until = self._until.get(_thread.get_ident())
        if until is not None:
            return self._rows_until(until, sql, values)
        with self._lock:
            try:
                return self._connection.execute(sql, tuple(values)).fetchall()
            except apsw.Error as error:
                raise storage_error(error) from error

    def within(self, deadline_at: float) -> Within:
        """`with database.within(t):` the queries of this thread end at `t` of the monotonic clock. RK-MCP-048"""
        return Within(self._until, deadline_at)

    def _rows_until(self, until: float, sql: str, values: Iterable[Any]) -> list[tuple[Any, ...]]:
        left = min(max(0.0, until - time.monotonic()), _thread.TIMEOUT_MAX)
        if not self._lock.acquire(timeout=left):
            raise RukhError("RKS004", "another thread holds the database", mend="try again")
        connection = self._connection
        try:
            connection.set_busy_timeout(min(LIMIT_TURNSTILE_MILLISECONDS, int(left * 1000)))
            connection.set_progress_handler(lambda: time.monotonic() >= until, _STEPS)
            return connection.execute(sql, tuple(values)).fetchall()
        except apsw.Error as error:
            raise storage_error(error) from error
        finally:
            connection.set_progress_handler(None)
            connection.set_busy_timeout(LIMIT_TURNSTILE_MILLISECONDS)
            self._lock.release()

    def row(self, sql: str, values: Iterable[Any] = ()) -> tuple[Any, ...] | None:
        """The first row of one query, or None."""
        found = self.rows(sql, values)
        return found[0] if found else None

    def write(self, durability: str) -> Transaction:
        """A write transaction: `with database.write(POWER) as tx: tx.run(…)`; an exception rolls it back."""
        return Transaction(self, durability)

    def fold(self) -> None:
        """Fold a long write-ahead log back; called once an answer has been given. RK-STORE-020"""
        try:
            if os.stat(f"{self.path}-wal").st_size > _LOG_BYTES:
                with self._lock:
                    self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except (OSError, apsw.Error):
            return  # the next call tries again; nothing is lost by a long log

    def close(self) -> None:
        """Let go of the file; the last of all connections folds the log back and removes it. RK-STORE-021"""
        with self._lock:
            self._connection.close()


class Within:
    """The time in which the queries of one thread have a deadline."""

    __slots__ = ("_deadline_at", "_until")

    def __init__(self, until: dict[int, float], deadline_at: float) -> None:
        self._until = until
        self._deadline_at = deadline_at

    def __enter__(self) -> None:
        self._until[_thread.get_ident()] = self._deadline_at

    def __exit__(self, *_raised: object) -> None:
        del self._until[_thread.get_ident()]


class Transaction:
    """One `BEGIN IMMEDIATE … COMMIT`; `now` is the time of its rows, never before that of an earlier transaction."""

    def __init__(self, database: Database, durability: str) -> None:
        self._database = database
        self._durability = durability
        self.now = 0

    def __enter__(self) -> Transaction:
        database = self._database
        database._turnstile.enter()
        database._lock.acquire()
        try:
            self._begin(database)
        except BaseException as error:
            self._abandon()
            if isinstance(error, apsw.Error):
                raise storage_error(error) from error
            raise
        return self

    def _begin(self, database: Database) -> None:
        if database._synchronous != self._durability:
            database._connection.execute(f"PRAGMA synchronous={self._durability}")
            database._synchronous = self._durability
        database._connection.execute("BEGIN IMMEDIATE")
        database._version()
        high = self.run("SELECT value FROM meta WHERE name = 'high_water_ms'")
        before = high[0][0] if high else 0
        self.now = max(database._clock(), before)
        if self.now > before:
            self.run("INSERT OR REPLACE INTO meta VALUES ('high_water_ms', ?)", (self.now,))

    def run(self, sql: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of one statement inside the transaction."""
        return self._database._connection.execute(sql, tuple(values)).fetchall()

    def each(self, sql: str, many: Iterable[tuple[Any, ...]]) -> None:
        """One statement for each tuple of values."""
        self._database._connection.executemany(sql, many)

    def audit(self, event: str, surface: str, subject: str, about: str, detail: str = "") -> None:
        """One audit row, part of this transaction or not there at all. `event` is one of the registry. RK-CAPT-013"""
        if event not in _EVENTS:
            raise ValueError(f"{event} is no audit event of the registry")
        self.run(
            "INSERT INTO audit (at_ms, event, surface, subject, about, detail) VALUES (?, ?, ?, ?, ?, ?)",
            (self.now, event, surface, subject, about, detail),
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._abandon()
            if isinstance(error, apsw.Error):
                raise storage_error(error) from error
            return
        try:
            self._database._connection.execute("COMMIT")
        except apsw.Error as failure:
            self._abandon()
            raise storage_error(failure) from failure
        self._release()

    def _abandon(self) -> None:
        try:
            if not self._database._connection.get_autocommit():
                self._database._connection.execute("ROLLBACK")
        finally:
            self._release()

    def _release(self) -> None:
        self._database._lock.release()
        self._database._turnstile.leave()


def storage_error(error: apsw.Error) -> RukhError:
    """What SQLite said, as a refusal that a person can act upon."""
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return RukhError("RKS004", "another writer holds the database", mend="try again")
    if isinstance(error, (apsw.NotADBError, apsw.CorruptError)):
        return RukhError("RKS006", f"the database is damaged: {error}", mend="restore it from a copy")
    return RukhError(
        "RKS007",
        f"the storage failed: {error}",
        mend="look at the free space and the permissions of the home",
    )
