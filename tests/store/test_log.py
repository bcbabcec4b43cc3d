"""The write-ahead log: how long it becomes, who folds it back, and what is left of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from rukh.store.database import PROCESS
from rukh.store.home import open_home
from rukh.store.store import Store

MOST = 4 * 1024 * 1024
LONG = b"x" * (MOST + 1)


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "home")


@pytest.fixture
def store(home: str) -> Iterator[Store]:
    opened = Store(open_home(home, create=True))
    yield opened
    opened.close()


def put(store: Store, value: bytes) -> None:
    with store.database.write(PROCESS) as tx:
        tx.run("INSERT OR REPLACE INTO meta VALUES ('bulk', ?)", (value,))


def log(store: Store) -> int:
    """The length of the log in bytes."""
    return os.stat(store.database.path + "-wal").st_size


@pytest.mark.requirement("RK-STORE-020")
def test_a_long_log_is_not_folded_by_a_transaction_but_behind_the_answer(store: Store) -> None:
    put(store, LONG)
    size = log(store)
    store.tasks.issue("desk", {}, 1, None, subject="user:local")
    assert log(store) > size > MOST  # a folded log would have been written from its start again
    store.database.fold()
    store.tasks.issue("desk", {}, 1, None, subject="user:local")
    assert log(store) == MOST


@pytest.mark.requirement("RK-STORE-020")
def test_a_short_log_is_left_alone(store: Store) -> None:
    put(store, LONG[: MOST // 2])
    size = log(store)
    store.database.fold()
    store.tasks.issue("desk", {}, 1, None, subject="user:local")
    assert MOST > log(store) > size


@pytest.mark.requirement("RK-STORE-020")
def test_a_store_that_closes_folds_a_long_log_that_another_keeps_open(home: str, store: Store) -> None:
    other = Store(open_home(home, create=False))
    put(other, LONG)
    assert log(store) > MOST
    other.close()
    put(store, b"")
    assert log(store) == MOST


@pytest.mark.requirement("RK-STORE-021")
def test_the_last_store_that_closes_leaves_no_log(home: str, store: Store) -> None:
    other = Store(open_home(home, create=False))
    put(other, b"seen")
    other.close()
    assert log(store) > 0
    store.close()
    assert os.listdir(os.path.join(home, "db")) == ["rukh.sqlite3"]
    again = Store(open_home(home, create=False))
    assert again.database.rows("SELECT value FROM meta WHERE name = 'bulk'") == [(b"seen",)]
    again.close()


@pytest.mark.requirement("RK-STORE-020")
@pytest.mark.parametrize("error", [apsw.FullError, apsw.IOError, apsw.BusyError, apsw.ConnectionClosedError])
def test_a_log_that_cannot_be_folded_is_no_fault_of_the_call_that_was_answered(
    store: Store, error: type[apsw.Error], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, LONG)
    asked = []

    class Failing:
        def wal_checkpoint(self, **_options: int) -> None:
            asked.append(error)
            raise error("as if")

    with monkeypatch.context() as patched:
        patched.setattr(store.database, "_connection", Failing())
        store.database.fold()
    assert asked == [error]
    assert log(store) > MOST
