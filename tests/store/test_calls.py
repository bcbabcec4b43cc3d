"""Capture and outcome: one transaction each, all or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rukh.store.calls import Caller, Kept, Moved, Pinned, new_invocation
from rukh.store.home import open_home
from rukh.store.profiles import NO_REVISION
from rukh.store.store import Store
from rukh.store.tasks import Task
from rukh.values.errors import RukhError
from tests.support.stores import Clock, contents, profile

CLI = Caller("cli", "user:local", "user:local")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    opened = Store(open_home(str(tmp_path / "home"), create=True), clock)
    opened.publications.publish(
        "op_1", NO_REVISION, profile("one"), contents("g1", "notes add"), subject="user:local", surface="cli"
    )
    yield opened
    opened.close()


def pinned(store: Store, sequence: int = 1) -> Pinned:
    active = store.profiles.active()
    assert active is not None
    return Pinned(sequence, active.revision, "acme.x/notes_add", "t" * 64)


def republish(store: Store) -> None:
    active = store.profiles.active()
    assert active is not None
    store.publications.publish(
        "op_2",
        active.revision,
        profile("two"),
        contents("g2", "notes add"),
        subject="user:local",
        surface="cli",
    )


def issue(store: Store, calls: int | None, window_ms: int | None = None) -> Task:
    return store.tasks.issue("desk", {"endpoint": "desk"}, calls, window_ms, subject="user:local")


def agent(task: Task) -> Caller:
    return Caller("mcp", "user:local", "agent:desk", task.id)


@pytest.mark.requirement("RK-CAPT-001", "RK-CAPT-005", "RK-CAPT-009")
def test_a_call_is_captured_with_its_reference_and_finished_without_it(store: Store) -> None:
    invocation = new_invocation()
    store.calls.capture(invocation, CLI, pinned(store))
    assert store.database.rows("SELECT invocation, tree FROM reference") == [(invocation, "t" * 64)]
    store.calls.commit(invocation, CLI, "succeeded", '{"outcome":"succeeded"}', Kept(b"out", 2), release=True)
    assert store.database.rows("SELECT * FROM reference") == []
    assert store.calls.envelope(invocation) == '{"outcome":"succeeded"}'
    kept = store.calls.diagnostics(invocation)
    assert kept is not None
    assert (kept.stdout, kept.stdout_dropped) == (b"out", 2)
    events = store.database.rows(
        "SELECT event, surface FROM audit WHERE about = ? ORDER BY sequence", (invocation,)
    )
    assert events == [("invocation.captured", "cli"), ("invocation.finished", "cli")]


@pytest.mark.requirement("RK-CAPT-002")
def test_a_capture_under_a_revision_that_was_replaced_changes_nothing(store: Store) -> None:
    task = issue(store, 5)
    resolved = pinned(store)
    republish(store)
    with pytest.raises(Moved):
        store.calls.capture(new_invocation(), agent(task), resolved)
    assert store.database.rows("SELECT * FROM invocation") == []
    assert store.database.rows("SELECT * FROM reference") == []
    assert store.database.rows("SELECT calls_used FROM task") == [(0,)]
    store.calls.capture(new_invocation(), agent(task), pinned(store, sequence=2))
    assert store.database.rows("SELECT calls_used FROM task") == [(1,)]


@pytest.mark.requirement("RK-CAPT-003")
def test_a_captured_call_keeps_its_release_when_another_revision_is_published(store: Store) -> None:
    invocation = new_invocation()
    store.calls.capture(invocation, CLI, pinned(store))
    republish(store)
    assert store.database.rows("SELECT tree FROM reference") == [("t" * 64,)]
    store.calls.commit(invocation, CLI, "succeeded", "{}", Kept(), release=True)
    assert store.database.rows("SELECT revision FROM invocation")[0][0].startswith("r1-")


@pytest.mark.requirement("RK-CAPT-004")
def test_a_rejected_call_is_recorded_and_costs_nothing(store: Store) -> None:
    task = issue(store, 5)
    invocation = new_invocation()
    store.calls.reject(invocation, agent(task), pinned(store), '{"outcome":"rejected"}')
    assert store.calls.envelope(invocation) == '{"outcome":"rejected"}'
    assert store.database.rows("SELECT calls_used FROM task") == [(0,)]
    assert store.database.rows("SELECT * FROM reference") == []


@pytest.mark.requirement("RK-CAPT-006")
def test_a_second_outcome_is_refused_and_the_first_stays(store: Store) -> None:
    invocation = new_invocation()
    store.calls.capture(invocation, CLI, pinned(store))
    store.calls.commit(invocation, CLI, "succeeded", "first", Kept(), release=True)
    with pytest.raises(RukhError) as refused:
        store.calls.commit(invocation, CLI, "cancelled", "second", Kept(), release=True)
    assert refused.value.rule == "RKS006"
    assert store.calls.envelope(invocation) == "first"


@pytest.mark.requirement("RK-CAPT-008")
def test_unconfirmed_cleanup_keeps_the_reference(store: Store) -> None:
    invocation = new_invocation()
    store.calls.capture(invocation, CLI, pinned(store))
    store.calls.commit(invocation, CLI, "execution_failed", "{}", Kept(), release=False)
    assert store.database.rows("SELECT invocation FROM reference") == [(invocation,)]


@pytest.mark.requirement("RK-TASK-001")
def test_a_new_task_replaces_the_old_one_which_admits_nothing_more(store: Store) -> None:
    old = issue(store, 5)
    new = issue(store, 5)
    found = store.tasks.of_endpoint("desk")
    assert found is not None
    assert found.id == new.id
    with pytest.raises(RukhError) as refused:
        store.calls.capture(new_invocation(), agent(old), pinned(store))
    assert refused.value.rule == "RKA003"
    store.calls.capture(new_invocation(), agent(new), pinned(store))


@pytest.mark.requirement("RK-TASK-002")
def test_the_call_beyond_the_budget_is_refused_and_not_counted(store: Store) -> None:
    task = issue(store, 2)
    for _ in range(2):
        store.calls.capture(new_invocation(), agent(task), pinned(store))
    with pytest.raises(RukhError) as refused:
        store.calls.capture(new_invocation(), agent(task), pinned(store))
    assert refused.value.rule == "RKA004"
    assert store.database.rows("SELECT count(*) FROM invocation") == [(2,)]


@pytest.mark.requirement("RK-TASK-003", "RK-STORE-015")
def test_a_window_refills_the_budget_and_a_clock_turned_back_does_not(store: Store, clock: Clock) -> None:
    task = issue(store, 1, window_ms=1000)
    store.calls.capture(new_invocation(), agent(task), pinned(store))
    clock.now -= 500_000
    with pytest.raises(RukhError) as refused:
        store.calls.capture(new_invocation(), agent(task), pinned(store))
    assert refused.value.rule == "RKA004"
    clock.now += 501_000
    store.calls.capture(new_invocation(), agent(task), pinned(store))


@pytest.mark.requirement("RK-TASK-003")
def test_opening_the_home_again_does_not_refill_a_budget(store: Store, clock: Clock) -> None:
    task = issue(store, 1)
    store.calls.capture(new_invocation(), agent(task), pinned(store))
    again = Store(store.home, clock)
    with pytest.raises(RukhError) as refused:
        again.calls.capture(new_invocation(), agent(task), pinned(again))
    again.close()
    assert refused.value.rule == "RKA004"
