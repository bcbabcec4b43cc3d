"""The thirty seconds of a list, inside the host's own look as well; no test waits for them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from rukh.host.invocation import Host
from rukh.mcp.adapter import Adapter
from rukh.mcp.endpoint import EndpointHost, attach
from rukh.mcp.ports import View, VisibilityUnavailable
from rukh.mcp.wire import Request
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_TURNSTILE_MILLISECONDS
from tests.support import echo
from tests.support.mcp_messages import META, sent
from tests.support.mcp_port import BINDING, FakePort, tail, view

COUNT = "SELECT count(*) FROM n"
ENDLESS = f"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) {COUNT}"


class Slow(FakePort):
    """A host in memory whose steps take scripted seconds."""

    def __init__(self, *commands: str, **seconds: float) -> None:
        super().__init__(view(*commands))
        self.now = 0.0
        self.seconds = seconds
        self.fault: Exception | None = None
        self.adapter = Adapter(self, BINDING, name="rukh", version="0", clock=lambda: self.now)

    def view(self, endpoint: str, deadline_at: float) -> View:
        self.now += self.seconds.get("view", 0.0)
        if self.fault is not None:
            raise self.fault
        return super().view(endpoint, deadline_at)

    def cursor_key(self) -> bytes:
        self.now += self.seconds.get("key", 0.0)
        if "key_fault" in self.seconds:
            raise RukhError("RKS004", "another writer holds the home")
        return super().cursor_key()

    def ask(self, method: str = "tools/list", **params: Any) -> Any:
        """The stable code of the error that answers; None for a result or a call that is to be run."""
        answer = self.adapter.answer(Request(1, method, {"_meta": META, **params}))
        return sent(answer, method).get("error", {}).get("data") if isinstance(answer, bytes) else None

    def first_name(self) -> str:
        answer = self.adapter.answer(Request(1, "tools/list", {"_meta": META}))
        assert isinstance(answer, bytes)
        return str(sent(answer)["result"]["tools"][0]["name"])


MANY = [f"t{number:02d}" for number in range(40)]
LATE = {"code": "deadline"}
UNAVAILABLE = {"code": "visibility_unavailable"}


@pytest.mark.requirement("RK-MCP-029")
@pytest.mark.parametrize(
    ("seconds", "answer"),
    [
        ({"view": 29.9}, None),
        ({"view": 30.0}, None),
        ({"view": 30.1}, LATE),
        ({"view": 20.0, "key": 10.0}, None),
        ({"view": 20.0, "key": 10.1}, LATE),
    ],
)
def test_everything_that_a_list_waits_for_counts(seconds: dict[str, float], answer: Any) -> None:
    assert Slow(*MANY, **seconds).ask() == answer


@pytest.mark.requirement("RK-MCP-029")
def test_the_resolution_of_a_name_has_the_same_time() -> None:
    name = Slow("echo").first_name()
    assert Slow("echo", view=30.0).ask("tools/call", name=name) is None
    assert Slow("echo", view=30.1).ask("tools/call", name=name) == LATE
    assert Slow("echo", view=30.1).ask("tools/call", name="unknown") == LATE


@pytest.mark.requirement("RK-MCP-029")
def test_the_names_of_a_new_view_are_made_within_the_same_time() -> None:
    port = Slow()

    class Long(list[tuple[str, str]]):
        def __iter__(self) -> Iterator[tuple[str, str]]:
            port.now += 30.1
            return super().__iter__()

    fine = [("acme.notes/a", tail("a"))]
    port.seen = View("r1", "acme.desktop", fine, "v1")
    assert port.ask() is None
    port.seen = View("r2", "acme.desktop", Long(fine), "v1")
    assert port.ask() == LATE
    assert port.ask() is None  # they are made, and kept


@pytest.mark.requirement("RK-MCP-025", "RK-MCP-029")
@pytest.mark.parametrize(
    "fault", [VisibilityUnavailable("no"), RukhError("RKS007", "no")], ids=["said", "store"]
)
def test_what_cannot_be_had_is_late_once_the_time_is_over_and_unavailable_before(fault: Exception) -> None:
    for seconds, answer in ((30.0, UNAVAILABLE), (30.1, LATE)):
        port = Slow("echo", view=seconds)
        port.fault = fault
        assert port.ask() == answer
        assert port.ask("server/discover") is None


@pytest.mark.requirement("RK-MCP-025")
def test_a_key_of_the_cursors_that_cannot_be_had_is_answered_and_ends_nothing() -> None:
    broken = Slow(*MANY, key_fault=1.0)
    assert broken.ask() == UNAVAILABLE
    assert broken.ask(cursor="made up") == UNAVAILABLE
    del broken.seconds["key_fault"]
    assert broken.ask() is None
    assert Slow("echo", key_fault=1.0).ask() is None  # one page needs no key


# The host's own look, over a real home.


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(echo.exposed_home(tmp_path_factory.mktemp("slow")).path)


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    opened = Store(open_home(str(home), create=False))
    yield opened
    opened.close()


@pytest.fixture
def endpoint(store: Store) -> EndpointHost:
    return EndpointHost(Host(store, cast(Any, object())), attach(store, "desk", "rukh"))  # it starts nothing


def passed() -> float:
    return time.monotonic()


class Taken:
    """A lock that another thread holds for ever; how long it is waited for."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def acquire(self, *, timeout: float) -> bool:
        self.waits.append(timeout)
        return False


@pytest.mark.requirement("RK-MCP-048")
def test_a_look_waits_for_another_thread_as_long_as_it_has_time(
    store: Store, endpoint: EndpointHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = Taken()
    with monkeypatch.context() as patched:
        patched.setattr(store.database, "_lock", taken)
        for deadline in (passed(), passed() + 30):
            with pytest.raises(VisibilityUnavailable, match="another thread"):
                endpoint.view("desk", deadline)
    assert taken.waits[0] == 0.0
    assert 20 < taken.waits[1] <= 30
    assert len(endpoint.view("desk", math.inf).tools) == 3


class Heard:
    """A connection that remembers how long it was to wait for other writers, in milliseconds."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.waits: list[int] = []

    def set_busy_timeout(self, milliseconds: int) -> None:
        self.waits.append(milliseconds)
        self._connection.set_busy_timeout(milliseconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@pytest.mark.requirement("RK-MCP-048")
def test_a_query_waits_for_another_writer_as_long_as_it_has_time_and_never_longer_than_any(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Heard(store.database._connection)
    monkeypatch.setattr(store.database, "_connection", heard)
    for seconds in (0, 2, 30):
        with store.database.within(passed() + seconds):
            assert store.database.rows("SELECT 1") == [(1,)]
    waits, afterwards = heard.waits[::2], heard.waits[1::2]
    assert (waits[0], waits[2]) == (0, LIMIT_TURNSTILE_MILLISECONDS)
    assert 0 < waits[1] <= 2000
    assert afterwards == [LIMIT_TURNSTILE_MILLISECONDS] * 3


@pytest.mark.requirement("RK-MCP-048")
def test_a_query_that_never_ends_is_cut_at_its_time(store: Store) -> None:
    database = store.database
    with database.within(passed()), pytest.raises(RukhError) as cut:
        database.rows(ENDLESS)
    assert (cut.value.rule, "interrupted" in cut.value.message) == ("RKS007", True)
    counted = f"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 9999) {COUNT}"
    assert database.rows(counted) == [(9999,)]  # nothing is left of that time
    with database.within(math.inf):
        assert database.rows(counted) == [(9999,)]


@pytest.mark.requirement("RK-MCP-048")
def test_the_time_of_one_thread_is_not_that_of_another(store: Store) -> None:
    database = store.database
    found: list[Any] = []
    with database.within(passed()):
        thread = threading.Thread(target=lambda: found.extend(database.rows("SELECT count(*) FROM tail")))
        thread.start()
        thread.join()
    assert found == [(3,)]


@pytest.mark.requirement("RK-MCP-048")
def test_a_look_that_was_cut_leaves_nothing_behind(endpoint: EndpointHost, store: Store) -> None:
    database = store.database
    with pytest.raises(RukhError), database.within(passed()):
        database.rows(ENDLESS)
    assert database._until == {}
    with database.write("NORMAL") as tx:
        assert tx.run("SELECT 1") == [(1,)]
    assert len(endpoint.view("desk", math.inf).tools) == 3
