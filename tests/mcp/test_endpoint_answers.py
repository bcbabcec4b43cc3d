"""The host behind one endpoint: what it sees, what it hands on, and the words in which it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rukh.host.invocation import CommitFailed
from rukh.host.invocation import Moved as RevisionMoved
from rukh.host.streams import Streams
from rukh.mcp.endpoint import _RECORDS, EndpointHost, attach, binding_of
from rukh.mcp.ports import Busy, Moved, Uncommitted, View, VisibilityUnavailable
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_DIAGNOSTIC_BYTES
from tests.support import echo
from tests.support.homes import InstalledHome
from tests.support.stubs import apply, owner_text


class OneHost:
    """Answers every call alike, or raises; `calls` holds what it was asked."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.fault: Exception | None = None
        self.calls: list[tuple[Any, Any]] = []

    def invoke(self, call: Any, streams: Any, cancel: Any) -> Any:
        self.calls.append((call, streams))
        if self.fault is not None:
            raise self.fault
        return SimpleNamespace(envelope={"outcome": "succeeded"})


@pytest.fixture
def home(tmp_path: Path) -> InstalledHome:
    return echo.exposed_home(tmp_path)


@pytest.fixture
def store(home: InstalledHome) -> Iterator[Store]:
    opened = Store(open_home(home.path, create=False))
    yield opened
    opened.close()


@pytest.fixture
def host(store: Store) -> OneHost:
    return OneHost(store)


@pytest.fixture
def endpoint(store: Store, host: OneHost) -> EndpointHost:
    return EndpointHost(host, attach(store, "desk", "rukh"))  # type: ignore[arg-type]


def seen(endpoint: EndpointHost) -> View:
    return endpoint.view("desk", 0.0)


@pytest.mark.requirement("RK-TASK-004")
def test_attaching_needs_the_endpoint_and_a_task_of_it(store: Store) -> None:
    with pytest.raises(RukhError) as unknown:
        attach(store, "laptop", "rukh")
    assert unknown.value.rule == "RKA005"
    with store.database.write("FULL") as tx:
        tx.run("UPDATE task SET state = 'replaced'")
    with pytest.raises(RukhError) as bare:
        attach(store, "desk", "rukh")
    assert bare.value.rule == "RKA002"


@pytest.mark.requirement("RK-TASK-005")
def test_a_call_has_the_deadline_and_the_caller_of_the_start(
    endpoint: EndpointHost, host: OneHost, store: Store
) -> None:
    task = store.tasks.of_endpoint("desk")
    assert task is not None
    active = store.profiles.active()
    assert active is not None
    view = seen(endpoint)
    active.profile["presets"]["assistant"]["deadline"] = 1000  # what the profile says later changes nothing
    endpoint._attached.deadline_ms = 12_345
    endpoint.invoke(view, "acme.echo/speak", {"words": "x"}, endpoint.new_cancel())
    call, _ = host.calls[0]
    assert (call.deadline_ms, call.stdin, call.supplied) == (12_345, -1, {"words": "x"})
    assert (call.caller.surface, call.caller.subject, call.caller.actor) == (
        "mcp",
        "user:local",
        "agent:desk",
    )
    assert call.caller.task == task.id


def test_a_command_is_read_once_and_the_last_called_are_kept(
    endpoint: EndpointHost, host: OneHost, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def command(generation: str, identity: str) -> Any:
        asked.append((generation, identity))
        return None if identity == "acme.echo/none" else identity

    monkeypatch.setattr(store.profiles, "command", command)
    view, active = seen(endpoint), store.profiles.active()
    assert active is not None

    def call(identity: str) -> None:
        endpoint.invoke(view, identity, {}, endpoint.new_cancel())
        assert host.calls[-1][0].record == identity

    call("acme.echo/c0")
    call("acme.echo/c0")
    assert asked == [(active.generation, "acme.echo/c0")]
    for number in range(1, _RECORDS + 1):
        call(f"acme.echo/c{number}")
    call("acme.echo/c0")
    assert len(asked) == _RECORDS + 2  # the one that was called longest ago was read again
    for _ in range(2):  # what is not there may be mended, and is asked for each time
        with pytest.raises(RukhError) as refused:
            endpoint.invoke(view, "acme.echo/none", {}, endpoint.new_cancel())
        assert refused.value.rule == "RKS006"
    assert len(asked) == _RECORDS + 4


@pytest.mark.requirement("RK-TASK-006")
def test_a_store_that_cannot_be_read_is_no_empty_list(
    endpoint: EndpointHost, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RukhError("RKS007", "the storage failed")

    monkeypatch.setattr(store.profiles, "exports", broken)
    with pytest.raises(VisibilityUnavailable):
        seen(endpoint)
    monkeypatch.setattr(store.profiles, "active", broken)
    with pytest.raises(VisibilityUnavailable):
        seen(endpoint)


@pytest.mark.requirement("RK-EXPL-021")
def test_a_command_that_its_own_revision_does_not_have_is_damage_and_no_unknown_name(
    endpoint: EndpointHost, host: OneHost, store: Store
) -> None:
    view = seen(endpoint)
    with store.database.write("FULL") as tx:
        tx.run("DELETE FROM command WHERE identity = 'acme.echo/speak'")
    with pytest.raises(RukhError) as damaged:
        endpoint.invoke(view, "acme.echo/speak", {"words": "x"}, endpoint.new_cancel())
    assert damaged.value.rule == "RKS006"
    assert host.calls == []
    endpoint.invoke(view, "acme.echo/say", {}, endpoint.new_cancel())
    assert len(host.calls) == 1


@pytest.mark.requirement("RK-CAPT-002")
def test_a_view_of_another_revision_has_moved(
    home: InstalledHome, endpoint: EndpointHost, host: OneHost
) -> None:
    old = seen(endpoint)
    home.expose(more="[limits]\nconcurrency = 5")
    with pytest.raises(Moved):
        endpoint.invoke(old, "acme.echo/speak", {}, endpoint.new_cancel())
    assert host.calls == []
    assert seen(endpoint).revision != old.revision


@pytest.mark.requirement("RK-CAPT-002", "RK-CAPT-007", "RK-STORE-012")
@pytest.mark.parametrize(
    ("fault", "raised"),
    [
        (RevisionMoved(), Moved),
        (RukhError("RKS004", "busy"), Busy),
        (RukhError("RKS007", "full"), RukhError),
        (CommitFailed("inv_x", RukhError("RKS004", "busy")), Uncommitted),
    ],
)
def test_each_end_without_an_outcome_has_its_own_word(
    endpoint: EndpointHost, host: OneHost, fault: Exception, raised: type[Exception]
) -> None:
    host.fault = fault
    with pytest.raises(raised) as told:
        endpoint.invoke(seen(endpoint), "acme.echo/speak", {}, endpoint.new_cancel())
    assert type(told.value) is raised


@pytest.mark.requirement("RK-TASK-003")
def test_a_task_binds_the_numbers_of_its_preset(store: Store) -> None:
    active = store.profiles.active()
    assert active is not None
    active.profile["presets"]["assistant"]["budget"] = {"calls": 3, "per": 1000}
    assert binding_of(active, "desk") == {
        "actor": "agent:desk",
        "namespace": "acme.desk",
        "preset": "assistant",
        "deadlineMs": 30_000,
        "calls": 3,
        "windowMs": 1000,
    }


@pytest.mark.requirement("RK-ADMIT-002")
def test_what_is_seen_is_the_digest_of_a_view_whatever_the_revision(
    home: InstalledHome, endpoint: EndpointHost
) -> None:
    first = seen(endpoint)
    apply(home, owner_text(home, deadline="40s"))
    alike = seen(endpoint)
    one = owner_text(home).replace('packages = ["acme.echo"]', 'commands = ["acme.echo/say"]')
    apply(home, one)
    fewer = seen(endpoint)
    assert first.revision != alike.revision != fewer.revision
    assert first.visibility == alike.visibility != fewer.visibility


@pytest.mark.requirement("RK-TASK-006")
def test_cursors_of_one_home_have_one_key(endpoint: EndpointHost, store: Store) -> None:
    assert endpoint.cursor_key() == endpoint.cursor_key() == store.secret("cursor")


@pytest.mark.requirement("RK-RES-013")
@pytest.mark.parametrize("size", [7, 10**9])
def test_the_owners_smaller_limit_on_diagnostics_wins(
    endpoint: EndpointHost, host: OneHost, store: Store, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    limits: list[int] = []
    monkeypatch.setattr(Streams, "drained", staticmethod(limits.append))
    active = store.profiles.active()
    assert active is not None
    view = seen(endpoint)
    active.profile["limits"]["diagnosticBytes"] = size
    endpoint.invoke(view, "acme.echo/speak", {}, endpoint.new_cancel())
    assert limits == [min(size, LIMIT_DIAGNOSTIC_BYTES)]
