"""What the dead leave under way gets its outcome once, and nothing of the living is touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rukh.store.calls import Caller, Kept, Pinned
from rukh.store.home import open_home
from rukh.store.profiles import NO_REVISION
from rukh.store.publications import Intent
from rukh.store.store import Store
from rukh.values.errors import RukhError
from tests.support.stores import contents, profile

CLI = Caller("cli", "user:local", "user:local")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(open_home(str(tmp_path / "home"), create=True))
    first = intent("op_1", NO_REVISION)
    opened.publications.publish(
        "op_1", NO_REVISION, profile("op_1"), first.contents, subject="user:local", surface="cli"
    )
    yield opened
    opened.close()


@pytest.fixture
def other(store: Store) -> Iterator[Store]:
    """Another process of the same home; its death is the end of its holder."""
    opened = Store(store.home)
    yield opened
    opened.close()


def intent(operation: str, expected: str) -> Intent:
    return Intent(
        operation,
        expected,
        profile(operation),
        contents(f"g_{operation}", operation),
        subject="user:local",
        surface="cli",
    )


def revision(store: Store) -> str:
    active = store.profiles.active()
    assert active is not None
    return active.revision


def reached(store: Store, asked: Intent, step: str) -> None:
    """Take the operation to `step`, as far as a process came that died there."""
    doing = store.publications
    doing.begin(asked)
    for name, act in {"stage": doing.stage, "validate": doing.validate, "commit": doing.commit}.items():
        if step == "begin":
            return
        act(asked)
        if name == step:
            return


def found(store: Store) -> list[tuple[str, str, bool]]:
    return [(one.operation, one.state, one.aborted) for one in store.recovery.operations()]


@pytest.mark.requirement("RK-PUB-009", "RK-PUB-013", "RK-PUB-016", "RK-PUB-019")
@pytest.mark.parametrize(
    ("step", "state", "aborted"),
    [
        ("begin", "aborted", True),
        ("stage", "aborted", True),
        ("validate", "aborted", True),
        ("commit", "committed", False),
    ],
)
def test_a_death_behind_each_step_is_settled_once(
    store: Store, other: Store, step: str, state: str, aborted: bool
) -> None:
    before = revision(store)
    reached(other, intent("op_2", before), step)
    assert found(store) == []
    other.holder.leave()
    assert found(store) == [("op_2", state, aborted)]
    assert found(store) == []
    assert (revision(store) == before) == aborted
    recorded = store.publications.operation("op_2")
    assert recorded is not None
    assert recorded.state == state


@pytest.mark.requirement("RK-PUB-004", "RK-PUB-009")
def test_whoever_asks_again_gets_what_recovery_found(store: Store, other: Store) -> None:
    asked = intent("op_2", revision(store))
    reached(other, asked, "commit")
    other.holder.leave()
    again = store.publications.begin(asked)
    assert again is not None
    assert (again.state, again.revision) == ("committed", revision(store))
    assert store.database.rows("SELECT count(*) FROM revision") == [(2,)]


@pytest.mark.requirement("RK-PUB-013")
def test_an_operation_begins_only_behind_the_outcomes_of_the_dead(store: Store, other: Store) -> None:
    reached(other, intent("op_2", revision(store)), "validate")
    other.holder.leave()
    store.publications.begin(intent("op_3", revision(store)))
    states = store.database.rows("SELECT id, state FROM operation ORDER BY id")
    assert states == [("op_1", "committed"), ("op_2", "aborted"), ("op_3", "begun")]


@pytest.mark.requirement("RK-PUB-035")
def test_an_operation_of_a_living_process_is_busy_and_one_with_an_outcome_is_answered(
    store: Store, other: Store
) -> None:
    asked = intent("op_2", revision(store))
    reached(other, asked, "validate")
    with pytest.raises(RukhError) as refused:
        store.publications.begin(asked)
    assert refused.value.rule == "RKO003"
    other.publications.commit(asked)
    answered = store.publications.begin(asked)
    assert answered is not None
    assert answered.state == "committed"


@pytest.mark.requirement("RK-PUB-019", "RK-PUB-009")
def test_what_fails_on_its_way_is_aborted_and_what_is_committed_stays(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    publications = store.publications

    def interrupted(_intent: Intent) -> None:
        raise KeyboardInterrupt

    def publish(operation: str) -> tuple[str, bool]:
        """What became of it, and whether somebody still owes its answer: what is raised tells of an abort alone."""
        with pytest.raises(KeyboardInterrupt):
            publications.publish(
                operation,
                revision(store),
                profile(operation),
                contents(operation, operation),
                subject="user:local",
                surface="cli",
            )
        recorded = publications.operation(operation)
        assert recorded is not None
        owed = store.database.row("SELECT holder IS NOT NULL FROM operation WHERE id = ?", (operation,))
        assert owed is not None
        return recorded.state, bool(owed[0])

    commit = publications.commit
    monkeypatch.setattr(publications, "commit", interrupted)
    assert publish("op_2") == ("aborted", False)
    monkeypatch.setattr(publications, "commit", lambda asked: interrupted(commit(asked)))  # type: ignore[arg-type]
    assert publish("op_3") == ("committed", True)


def capture(store: Store, invocation: str) -> None:
    active = store.profiles.active()
    assert active is not None
    store.calls.capture(invocation, CLI, Pinned(active.sequence, active.revision, "acme.x/run", "t"))


def ended(store: Store) -> list[str]:
    return store.recovery.calls(lambda invocation: f"lost {invocation}")


@pytest.mark.requirement("RK-PUB-014", "RK-PUB-015", "RK-PUB-016")
def test_a_call_whose_host_died_ends_once_and_one_of_a_living_host_goes_on(
    store: Store, other: Store
) -> None:
    capture(other, "inv_dead")
    capture(store, "inv_mine")
    assert ended(store) == []
    other.holder.leave()
    assert (ended(store), ended(store)) == (["inv_dead"], [])
    assert store.calls.envelope("inv_dead") == "lost inv_dead"
    assert store.database.rows("SELECT invocation FROM reference") == [("inv_mine",)]
    rows = store.database.rows("SELECT outcome FROM invocation ORDER BY id")
    assert rows == [("execution_failed",), (None,)]
    store.calls.commit("inv_mine", CLI, "succeeded", "{}", Kept(), release=True)
    with pytest.raises(RukhError) as refused:
        other.calls.commit("inv_dead", CLI, "succeeded", "{}", Kept(), release=True)
    assert refused.value.rule == "RKS006"


@pytest.mark.requirement("RK-PUB-014", "RK-CAPT-008")
def test_a_call_that_left_something_behind_keeps_its_reference_when_its_host_ends(
    store: Store, other: Store
) -> None:
    capture(other, "inv_left")
    other.calls.commit("inv_left", CLI, "execution_failed", "{}", Kept(), release=False)
    other.holder.leave()
    assert ended(store) == []
    assert store.database.rows("SELECT invocation FROM reference") == [("inv_left",)]
