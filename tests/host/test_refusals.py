"""One call in this process, with a run that the test makes up: what is checked, captured, started and committed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rukh.contract.profile import read_owner_profile
from rukh.host import invocation
from rukh.host.cancel import Cancel
from rukh.host.invocation import Call, Host, Moved, check
from rukh.host.ledger import StoreLedger, apply_owner_part
from rukh.host.streams import Streams
from rukh.store.calls import Caller
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError
from tests.support import echo
from tests.support.homes import OWNER_FILE, InstalledHome

CLI = Caller("cli", "user:local", "user:local")
# Never asked for anything: the run behind it is the test's.
SPAWNER: Any = object()


class Runs:
    """Stands for the child: `survivors` is what the supervisor says at the end."""

    def __init__(self) -> None:
        self.survivors = 0
        self.seen: list[tuple[Any, dict[str, Any]]] = []
        self.before: Callable[[], None] = lambda: None

    def __call__(self, _spawner: object, launch: Any, **asked: Any) -> Any:
        self.before()
        self.seen.append((launch, asked))
        return SimpleNamespace(
            outcome="succeeded",
            reason=None,
            command_result=None,
            survivors=self.survivors,
            exit_status=0,
            wrote_stdout=False,
            diagnostics={"stdout": (b"out", 1), "stderr": (b"err", 2)},
        )


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    made = Runs()
    monkeypatch.setattr(invocation, "run", made)
    return made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    home = InstalledHome(tmp_path)
    home.install(echo.FILES, commands=echo.commands())
    home.expose()
    opened = Store(open_home(home.path, create=False))
    yield opened
    opened.close()


def call(store: Store, caller: Caller = CLI, deadline_ms: int = 7000, **supplied: Any) -> Call:
    active = store.profiles.active()
    assert active is not None
    record = store.profiles.command(active.generation, "acme.echo/speak")
    assert record is not None
    return Call(active, record, supplied, caller, deadline_ms, stdin=5)


def invoke(store: Store, made: Call) -> Any:
    return Host(store, SPAWNER).invoke(made, Streams.drained(100), Cancel())


@pytest.mark.requirement("RK-EXEC-037")
@pytest.mark.parametrize("end", ["over", "something is left", "a fault of ours"])
def test_a_serving_host_keeps_a_directory_only_where_all_of_its_call_is_over(
    store: Store, runs: Runs, end: str
) -> None:
    def fault() -> None:
        raise MemoryError

    runs.survivors = int(end == "something is left")
    if end == "a fault of ours":
        runs.before = fault
    host = Host(store, SPAWNER, keep=True)
    try:
        host.invoke(call(store, words="x"), Streams.drained(100), Cancel())
    except MemoryError:
        assert end == "a fault of ours"
    assert len(os.listdir(store.home.at("run"))) == int(end == "over")
    host.close()
    assert os.listdir(store.home.at("run")) == []


@pytest.mark.requirement("RK-CAPT-005", "RK-CAPT-008")
@pytest.mark.parametrize("survivors", [0, 1])
def test_only_a_confirmed_cleanup_ends_the_reference_of_a_call(
    store: Store, runs: Runs, survivors: int
) -> None:
    runs.survivors = survivors
    finished = invoke(store, call(store, words="x"))
    kept = store.database.rows("SELECT invocation FROM reference")
    assert kept == ([(finished.invocation,)] if survivors else [])
    streams = store.calls.diagnostics(finished.invocation)
    assert streams is not None
    assert (streams.stdout, streams.stdout_dropped, streams.stderr, streams.stderr_dropped) == (
        b"out",
        1,
        b"err",
        2,
    )


@pytest.mark.requirement("RK-CAPT-001", "RK-CAPT-012", "RK-PROC-001")
def test_a_call_runs_after_its_capture_in_a_directory_that_is_gone_afterwards(
    store: Store, runs: Runs
) -> None:
    def captured() -> None:
        assert store.database.rows("SELECT count(*) FROM reference") == [(1,)]

    runs.before = captured
    import time

    before = time.monotonic()
    finished = invoke(store, call(store, words="x"))
    launch, asked = runs.seen[0]
    assert launch.cwd == store.home.at("run", finished.invocation)
    assert os.listdir(store.home.at("run")) == []
    assert launch.stdin == -1  # the command declares no standard input, whatever the caller has
    assert 6 < asked["deadline_at"] - before < 8


@pytest.mark.requirement("RK-CAPT-002")
def test_a_call_of_a_replaced_revision_is_moved_and_nothing_is_recorded(store: Store, runs: Runs) -> None:
    stale = call(store, words="x")
    apply_owner_part(
        StoreLedger(store),
        store.home,
        read_owner_profile(OWNER_FILE.format(package="acme.echo", calls=3, allowed="*", more="")),
    )
    with pytest.raises(Moved):
        invoke(store, stale)
    assert (runs.seen, store.database.rows("SELECT * FROM invocation")) == ([], [])


@pytest.mark.requirement("RK-STORE-012", "RK-CAPT-007")
@pytest.mark.parametrize("rule", ["RKS004", "RKS007"])
def test_a_home_that_cannot_be_written_makes_no_invocation(
    store: Store, runs: Runs, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    def full(*_: object) -> None:
        raise RukhError(rule, "it is full")

    monkeypatch.setattr(store.calls, "capture", full)
    with pytest.raises(RukhError) as refused:
        invoke(store, call(store, words="x"))
    assert refused.value.rule == rule
    assert (runs.seen, store.database.rows("SELECT * FROM invocation")) == ([], [])


@pytest.mark.requirement("RK-CAPT-004", "RK-CAPT-010", "RK-ADMIT-001")
def test_input_support_and_access_are_judged_in_this_order(store: Store) -> None:
    made = call(store, Caller("mcp", "user:local", "agent:other"))
    own = made.record["requires"]["confinement"]
    made.record = {**made.record, "requires": {**made.record["requires"], "confinement": "vault/9"}}
    rules = []
    repairs: tuple[Callable[[], None], ...] = (
        lambda: made.supplied.update(words="x"),
        lambda: made.record.update(mapping={**made.record["mapping"], "kind": "passthrough"}),
        lambda: made.record.update(
            mapping={**made.record["mapping"], "kind": "managed"},
            requires={**made.record["requires"], "confinement": own},
        ),
    )
    for repair in repairs:
        with pytest.raises(RukhError) as refused:
            check(made)
        rules.append(refused.value.rule)
        repair()
    with pytest.raises(RukhError) as denied:
        check(made)
    assert rules[0].startswith("RKI")
    assert [*rules[1:], denied.value.rule] == ["RKA008", "RKA007", "RKA001"]


@pytest.mark.requirement("RK-CAPT-004", "RK-CAPT-010")
@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("RKA001", "denied"),
        ("RKA003", "denied"),
        ("RKA004", "budget_exhausted"),
        ("RKA007", "unsupported"),
        ("RKA008", "unsupported"),
        ("RKA009", "unsupported"),
        ("RKH001", "environment_unavailable"),
        ("RKI001", "invalid_input"),
    ],
)
def test_a_refusal_is_recorded_with_the_reason_of_its_rule(store: Store, rule: str, code: str) -> None:
    finished = Host(store, None).reject(call(store), RukhError(rule, "no", place="/x"))
    assert (finished.outcome, finished.envelope["reason"]["code"]) == ("rejected", code)
    assert store.database.rows("SELECT outcome FROM invocation") == [("rejected",)]


@pytest.mark.requirement("RK-CAPT-004", "RK-TASK-002")
def test_an_environment_that_cannot_be_had_costs_nothing(
    store: Store, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise RukhError("RKH001", "no interpreter")

    monkeypatch.setattr(invocation, "plan_launch", missing)
    task = store.tasks.of_endpoint("desk")
    assert task is not None
    finished = invoke(store, call(store, Caller("mcp", "user:local", "agent:desk", task.id), words="x"))
    assert finished.envelope["reason"]["code"] == "environment_unavailable"
    assert store.database.rows("SELECT calls_used FROM task WHERE id = ?", (task.id,)) == [(0,)]
    assert store.database.rows("SELECT * FROM reference") == []


@pytest.mark.requirement("RK-CAPT-004")
def test_inputs_are_judged_before_the_environment(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise RukhError("RKH001", "no interpreter")

    monkeypatch.setattr(invocation, "plan_launch", missing)
    assert invoke(store, call(store, wrds="x")).envelope["reason"]["code"] == "invalid_input"
