"""What capture, outcome and recovery cost does not grow with the journal: no scan, and the same steps at any length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from rukh.store import calls, recovery
from rukh.store.calls import Caller, Kept, Pinned
from rukh.store.database import PROCESS
from rukh.store.home import open_home
from rukh.store.profiles import NO_REVISION, Staged
from rukh.store.store import Store
from tests.support.stores import contents, profile

CLI = Caller("cli", "user:local", "user:local")
SHORT, LONG = 10, 100_000
# Journals of `count` rows each, made at once.
_COUNTED = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
_JOURNALS = (
    "INSERT INTO operation (id, digest, expected, state, step, revision, detail, begun_ms) "
    + _COUNTED
    + "SELECT printf('op_old%08d', i), 'd', 'r0', 'conflicted', 'validated', 'r1', '', i FROM n",
    "INSERT INTO invocation (id, surface, subject, actor, revision, identity, tree, outcome, captured_ms, holder) "
    + _COUNTED
    + "SELECT printf('inv_old%08d', i), 'cli', 'u', 'u', 'r1', 'x/y', 't', 'succeeded', i, 'hold_x' FROM n",
    "INSERT INTO audit (at_ms, event, surface, subject, about, detail) "
    + _COUNTED
    + "SELECT i, 'invocation.finished', 'cli', 'u', 'a', 'd' FROM n",
)


def home_with(tmp_path: Path, count: int) -> Store:
    store = Store(open_home(str(tmp_path / f"home{count}"), create=True), lambda: 1)
    store.publications.publish(
        "op_1",
        NO_REVISION,
        {**profile("one"), "packages": {"acme.x": {"tree": "t", "signer": "k"}}},
        contents("g1", "notes add"),
        subject="user:local",
        surface="cli",
        staged=Staged("acme.x", "1.0.0", "k", "t", "a", "d", "1.0.0"),
    )
    with store.database.write(PROCESS) as tx:
        for sql in _JOURNALS:
            tx.run(sql, (count,))
    return store


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Store]]:
    found = {count: home_with(tmp_path_factory.mktemp("cost"), count) for count in (SHORT, LONG)}
    yield found
    for store in found.values():
        store.close()


def steps(store: Store, act: Callable[[], object]) -> list[tuple[str, int]]:
    """Each statement that `act` runs, with the steps of SQLite's machine that it took."""
    taken: list[tuple[str, int]] = []

    def noted(event: dict[str, Any]) -> None:
        status = event["stmt_status"]
        taken.append((event["sql"], status["SQLITE_STMTSTATUS_VM_STEP"]))

    connection = store.database._connection
    connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, noted)
    try:
        act()
    finally:
        connection.trace_v2(0, None)
    return taken


def pinned(store: Store) -> Pinned:
    active = store.profiles.active()
    assert active is not None
    return Pinned(active.sequence, active.revision, "acme.x/notes_add", "t")


# What is done, in this order, in the home of a short and of a long journal.
ACTS: dict[str, Callable[[Store, Pinned], object]] = {
    "capture": lambda store, pin: store.calls.capture("inv_1", CLI, pin),
    "commit": lambda store, pin: store.calls.commit("inv_1", CLI, "succeeded", "{}", Kept(), release=True),
    "nothing to recover": lambda store, pin: (store.recovery.operations(), store.recovery.calls(str)),
    "capture before a death": lambda store, pin: store.calls.capture("inv_2", CLI, pin),
    "death": lambda store, pin: store.holder.leave(),
    "recover": lambda store, pin: (store.recovery.operations(), store.recovery.calls(str)),
}


def steps_of_acts(store: Store) -> dict[str, list[tuple[str, int]]]:
    pin = pinned(store)
    return {name: steps(store, partial(act, store, pin)) for name, act in ACTS.items()}


@pytest.mark.requirement("RK-PUB-017")
def test_capture_outcome_and_recovery_take_the_same_steps_at_any_length_of_the_journal(
    stores: dict[int, Store],
) -> None:
    taken = {count: steps_of_acts(store) for count, store in stores.items()}
    assert taken[SHORT] == taken[LONG]
    assert [len(taken[LONG][name]) > 0 for name in ACTS] == [True, True, True, True, False, True]
    assert any("SET outcome" in sql for sql, _ in taken[LONG]["recover"])


# What may be walked from end to end: one row, or what the index of the condition holds.
_FEW = {"SCAN a", "SCAN CONSTANT ROW"}
QUERIES = {
    "capture": (calls._ACTIVE, ("acme.x",)),
    "owed operations": (recovery.OWED, ()),
    "open calls": (recovery.OPEN_CALLS, ()),
    "operations of a holder": (recovery.OWED_BY, ("hold",)),
    "calls of a holder": (recovery.OPEN_OF, ("hold",)),
}


@pytest.mark.requirement("RK-PUB-017")
@pytest.mark.parametrize("name", QUERIES)
def test_nothing_is_read_from_end_to_end(stores: dict[int, Store], name: str) -> None:
    sql, values = QUERIES[name]
    plan = [row[3] for row in stores[LONG].database.rows(f"EXPLAIN QUERY PLAN {sql}", values)]
    assert [line for line in plan if line.startswith("SCAN") and line not in _FEW] == []
    assert any(line.startswith("SEARCH") for line in plan)


@pytest.mark.requirement("RK-PUB-017")
def test_no_statement_of_capture_outcome_and_recovery_reads_a_journal_from_end_to_end(tmp_path: Path) -> None:
    """Every statement that they run, whatever it is: what is walked is one row, or what a holder left."""
    store = home_with(tmp_path, SHORT)
    ran = {sql for taken in steps_of_acts(store).values() for sql, _ in taken}
    explained = {sql for sql in ran if sql.split()[0] in ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")}
    scanned = {line for sql in explained for line in plan_of(store, sql) if line.startswith("SCAN")}
    assert scanned <= _FEW
    tables = ("operation", "invocation", "reference")
    assert [any(table in sql for sql in explained) for table in tables] == [True] * len(tables)
    assert plan_of(store, "SELECT * FROM operation WHERE detail = ?") == ["SCAN operation"]
    store.close()


def plan_of(store: Store, sql: str) -> list[str]:
    """The plan's lines, whatever the values are."""
    values = (None,) * sql.count("?")
    return [row[3] for row in store.database.rows(f"EXPLAIN QUERY PLAN {sql}", values)]


@pytest.mark.requirement("RK-PUB-018")
def test_contents_are_written_ahead_in_transactions_of_bounded_size(tmp_path: Path) -> None:
    from rukh.store.publications import Intent
    from rukh.values.registry import LIMIT_WRITE_AHEAD_ROWS

    store = Store(open_home(str(tmp_path / "home"), create=True))
    many = contents("g1", *(f"c{number}" for number in range(2 * LIMIT_WRITE_AHEAD_ROWS + 1)))
    asked = Intent("op_1", NO_REVISION, profile("one"), many, subject="u", surface="cli")
    store.publications.begin(asked)
    rows: list[int] = []
    for sql, _ in steps(store, lambda: store.publications.stage(asked)):
        if sql.startswith("BEGIN"):
            rows.append(0)
        rows[-1] += sql.startswith("INSERT OR IGNORE")
    assert (max(rows), sum(rows)) == (LIMIT_WRITE_AHEAD_ROWS, 4 * (2 * LIMIT_WRITE_AHEAD_ROWS + 1))
    assert store.publications.validate(asked) is None
    assert store.publications.commit(asked).state == "committed"
    store.close()
