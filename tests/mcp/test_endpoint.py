"""The host behind one endpoint over a real home: what it keeps from its start, and what it checks of each call."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rukh.host import invocation
from rukh.host.cancel import Cancel
from rukh.host.invocation import Call, Finished, Host
from rukh.host.streams import Streams
from rukh.mcp.endpoint import EndpointHost, attach
from rukh.mcp.ports import Moved, View, VisibilityUnavailable
from rukh.store.home import open_home
from rukh.store.store import Store
from tests.support import echo
from tests.support.homes import InstalledHome
from tests.support.mcp_client import Talk
from tests.support.mcp_messages import request
from tests.support.stubs import apply, owner_text, publish_unjudged, succeeded

SPEAK = "acme.echo/speak"
THIRTY_SECONDS = 30_000


class Watched(Host):
    """A host that starts nothing and remembers the calls it was given."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, cast(Any, object()))  # never asked: `run` is not the real one
        self.calls: list[Call] = []

    def invoke(self, call: Call, streams: Streams, cancel: Cancel) -> Finished:
        self.calls.append(call)
        return super().invoke(call, streams, cancel)


@pytest.fixture
def home(tmp_path: Path) -> InstalledHome:
    return echo.exposed_home(tmp_path)


@pytest.fixture
def host(home: InstalledHome, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setattr(invocation, "run", lambda *_given, **_more: succeeded())
    store = Store(open_home(home.path, create=False))
    yield Watched(store)
    store.close()


def attached(host: Host) -> EndpointHost:
    return EndpointHost(host, attach(host.store, "desk", "rukh"))


def seen(endpoint: EndpointHost) -> View:
    return endpoint.view("desk", math.inf)


def speak(endpoint: EndpointHost, view: View) -> dict[str, Any]:
    return endpoint.invoke(view, SPEAK, {"words": "x"}, endpoint.new_cancel()).envelope


@pytest.mark.requirement("RK-MCP-030", "RK-CAPT-002")
def test_a_call_under_an_earlier_view_has_moved_and_leaves_nothing(
    home: InstalledHome, host: Watched
) -> None:
    endpoint = attached(host)
    earlier = seen(endpoint)
    apply(home, owner_text(home, deadline="40s"))
    with pytest.raises(Moved):
        speak(endpoint, earlier)
    assert host.store.database.rows("SELECT id FROM invocation") == []
    assert host.store.database.rows("SELECT calls_used FROM task") == [(0,)]
    present = seen(endpoint)
    assert present.revision != earlier.revision
    assert speak(endpoint, present)["outcome"] == "succeeded"
    assert host.store.database.rows("SELECT revision FROM invocation") == [(present.revision,)]


@pytest.mark.requirement("RK-TASK-005")
def test_deadline_and_actor_are_those_of_the_task_whatever_the_profile_says_now(
    home: InstalledHome, host: Watched
) -> None:
    apply(home, owner_text(home, deadline="5s"))
    endpoint = attached(host)
    first = speak(endpoint, seen(endpoint))
    apply(home, owner_text(home, deadline="7s", actor="agent:other"))
    second = speak(endpoint, seen(endpoint))
    assert (first["outcome"], second["outcome"]) == ("succeeded", "succeeded")
    assert [call.deadline_ms for call in host.calls] == [THIRTY_SECONDS, THIRTY_SECONDS]
    assert host.store.database.rows("SELECT subject, actor FROM invocation") == [
        ("user:local", "agent:desk"),
        ("user:local", "agent:desk"),
    ]


@pytest.mark.requirement("RK-TASK-005")
def test_the_deadline_of_a_call_reaches_the_loop_that_runs_it(
    home: InstalledHome, host: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []

    def noting(*_given: Any, deadline_at: float, **_more: Any) -> Any:
        given.append(deadline_at)
        return succeeded()

    monkeypatch.setattr(invocation, "run", noting)
    monkeypatch.setattr(invocation, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    endpoint = attached(host)
    speak(endpoint, seen(endpoint))
    assert given == [1030.0]


@pytest.mark.requirement("RK-TASK-006")
def test_an_endpoint_with_another_namespace_is_not_the_one_that_is_served(
    home: InstalledHome, host: Watched
) -> None:
    endpoint = attached(host)
    assert seen(endpoint).namespace == "acme.desk"
    publish_unjudged(home, owner_text(home, deadline="40s"))
    assert seen(endpoint).namespace == "acme.desk"
    # No owner's file brings this about (RK-PROF-011); a serving host does not rely on it.
    publish_unjudged(home, owner_text(home, namespace="acme.other"))
    with pytest.raises(VisibilityUnavailable):
        seen(endpoint)


@pytest.mark.requirement("RK-CAPT-008")
@pytest.mark.parametrize("survivors", [0, 1])
def test_the_reference_of_a_call_is_kept_as_long_as_something_of_it_may_run(
    host: Watched, monkeypatch: pytest.MonkeyPatch, survivors: int
) -> None:
    monkeypatch.setattr(invocation, "run", lambda *_given, **_more: succeeded(survivors=survivors))
    endpoint = attached(host)
    call = speak(endpoint, seen(endpoint))["invocationId"]
    active = host.store.profiles.active()
    assert active is not None
    tree = active.profile["packages"]["acme.echo"]["tree"]
    left = host.store.database.rows("SELECT invocation, tree FROM reference")
    assert left == ([(call, tree)] if survivors else [])


OTHERS = ["notifications/progress", "notifications/initialized", "notifications/cancelled/all", "cancelled"]


@pytest.mark.requirement("RK-MCP-034", "RK-MCP-010")
@pytest.mark.parametrize("method", OTHERS)
def test_only_a_cancellation_cancels_whatever_else_names_a_request(method: str) -> None:
    talk = Talk()
    talk.send(request("tools/call", 1, name=talk.name("echo")), request("server/discover", 2))
    notification = {"jsonrpc": "2.0", "method": method, "params": {"requestId": 1, "progress": 1}}
    talk.send(notification, {**notification, "params": {"requestId": 2, "progress": 1}})
    assert talk.port.cancels[0].causes == []
    assert [answer["id"] for answer in talk.taken()] == [2]
    assert [answer["id"] for answer in talk.finish(talk.started[0])] == [1]
