"""The loop in this process, its client's ends in the hands of the test: threads, descriptors, and whose turn it is."""

from __future__ import annotations

import _thread
import gc
import os
import select
import signal
import threading
import weakref
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from rukh.contract.names import tool_name
from rukh.mcp import serve
from rukh.mcp.adapter import Adapter
from rukh.mcp.ports import Outcome, View
from rukh.mcp.serve import serve_stdio
from tests.support.mcp_client import PATIENCE
from tests.support.mcp_messages import line, request, sent
from tests.support.mcp_port import BINDING, NAMESPACE, REVISION, FakePort

if TYPE_CHECKING:
    from rukh.mcp.ports import Cancel

DISCOVER = request("server/discover", "d")


def echo(id: int) -> dict[str, Any]:
    """A call that is over at once."""
    return request("tools/call", id, name=tool_name(NAMESPACE, REVISION, "acme.notes/echo"), arguments={})


class Client:
    """A client's ends of two pipes; the server's ends are closed by the server. A context that closes its own."""

    def __init__(self) -> None:
        self._stdin, self._out = os.pipe()
        self.input, self._stdout = os.pipe()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.end()
        self.leave()

    def send(self, *messages: dict[str, Any]) -> None:
        os.write(self._out, b"".join(map(line, messages)))

    def end(self) -> None:
        """End the server's input; a second time does nothing."""
        if self._out >= 0:
            os.close(self._out)
        self._out = -1

    def leave(self) -> None:
        """Read no more; a second time does nothing."""
        if self.input >= 0:
            os.close(self.input)
        self.input = -1

    def receive(self, method: str) -> dict[str, Any]:
        return sent(os.read(self.input, 1 << 16), method)

    def served(self, port: FakePort | None = None, **more: Any) -> int:
        """Have the loop serve these pipes in this thread; its status."""
        adapter = Adapter(port or FakePort(), BINDING, name="rukh", version="0.1.0")
        try:
            return serve_stdio(adapter, self._stdin, self._stdout, **more)
        finally:
            gc.unfreeze()


@pytest.mark.requirement("RK-MCP-038")
def test_serving_gives_back_every_descriptor_and_the_signals() -> None:
    def held() -> tuple[list[str], list[Any]]:
        handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
        return os.listdir("/proc/self/fd"), handlers

    before = held()
    with Client() as client:
        client.send(DISCOVER)
        client.end()
        assert client.served() == 0
        assert client.receive("server/discover")["id"] == "d"
    assert held() == before


class Telling(FakePort):
    """Notes in which order names are resolved, calls are launched and calls end; only some are ever launched."""

    def __init__(self, *, launches: bool) -> None:
        super().__init__()
        self.launches = launches
        self.order: list[str] = []

    def view(self, endpoint: str, deadline_at: float) -> View:
        self.order.append("resolved")
        return super().view(endpoint, deadline_at)

    def invoke(self, view: View, identity: str, arguments: dict[str, Any], cancel: Cancel) -> Outcome:
        if self.launches:
            self.order.append("launched")
            cancel.launched()
        else:
            self.order.append("ended")
        return super().invoke(view, identity, arguments, cancel)


class Lock:
    """A lock that notes whether each wait for it ended by itself."""

    waits: ClassVar[list[bool]] = []

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.release, self.locked = self._lock.release, self._lock.locked

    def acquire(self, timeout: float = -1) -> bool:
        got = self._lock.acquire(timeout=timeout)
        self.waits.append(got)
        return got


@pytest.mark.parametrize("launches", [True, False], ids=["launched", "ended at once"])
def test_a_call_has_a_head_start_over_the_lines_behind_it(
    launches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "_HEAD_START", 20)
    monkeypatch.setattr(_thread, "allocate_lock", Lock)
    monkeypatch.setattr(Lock, "waits", [])
    port = Telling(launches=launches)
    with Client() as client:
        client.send(*map(echo, range(3)))
        client.end()
        assert client.served(port) == 0
    assert port.order == ["resolved", "launched" if launches else "ended"] * 3
    assert Lock.waits == [True] * 6  # to hold it, and for the head start


@pytest.mark.requirement("RK-STORE-020")
@pytest.mark.parametrize("calls", [0, 1, 3])
def test_what_no_call_should_wait_for_is_done_behind_the_answer_of_each(calls: int) -> None:
    done: SimpleQueue[bool] = SimpleQueue()
    with Client() as client:

        def behind() -> None:
            """Waits for an answer, which would never come if it waited for this."""
            done.put(bool(select.select([client.input], [], [], PATIENCE)[0]))

        if calls:
            client.send(*map(echo, range(calls)))
        client.end()
        assert client.served(behind=behind) == 0
        assert [done.get(timeout=PATIENCE) for _ in range(calls)] == [True] * calls
        assert done.empty()


@pytest.mark.requirement("RK-MCP-035")
@pytest.mark.parametrize("had", [True, False])
def test_a_call_for_which_no_thread_is_to_be_had_is_busy(had: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> int:
        raise RuntimeError("can't start new thread")

    if not had:
        monkeypatch.setattr(_thread, "start_new_thread", none)
    with Client() as client:
        client.send(echo(1))
        client.end()
        assert client.served() == 0
        answer = client.receive("tools/call")
    assert answer.get("error", {}).get("data") == (None if had else {"code": "busy"})


class Marking(FakePort):
    """Leaves a mark in each thread that invokes; `gone` says that one of these is no more."""

    def __init__(self) -> None:
        super().__init__()
        self.gone = threading.Event()
        self._local = threading.local()

    def invoke(self, view: View, identity: str, arguments: dict[str, Any], cancel: Cancel) -> Outcome:
        self._local.mark = FakePort()
        weakref.finalize(self._local.mark, self.gone.set)
        return super().invoke(view, identity, arguments, cancel)


@pytest.mark.requirement("RK-MCP-046")
def test_the_thread_of_a_call_ends_with_the_connection() -> None:
    port = Marking()
    with Client() as client:
        client.send(echo(1))
        client.end()
        assert client.served(port) == 0
        assert port.gone.wait(PATIENCE)


@pytest.mark.requirement("RK-MCP-038")
def test_a_thread_that_wakes_a_loop_that_has_ended_touches_nobody_elses_descriptor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    returned, gone = threading.Event(), threading.Event()

    class Late(list[Any]):
        """Of a thread that does not come to the wake-up before the loop, woken by something else, found its line."""

        def append(self, call: Any) -> None:
            super().append(call)
            loops[0].wake.nudge()
            returned.wait(PATIENCE)

    loops: list[serve._Loop] = []
    begin = serve._Loop.__init__

    def begun(loop: serve._Loop, *rest: Any) -> None:
        begin(loop, *rest)
        loops.append(loop)
        weakref.finalize(loop.wake, gone.set)
        loop._done = Late()

    monkeypatch.setattr(serve._Loop, "__init__", begun)
    with Client() as client:
        client.send(echo(1))
        client.end()
        assert client.served() == 0
        before = os.listdir("/proc/self/fd")
        others = [os.pipe2(os.O_NONBLOCK) for _ in range(4)]  # what has the numbers that are free now
        returned.set()
        assert gone.wait(PATIENCE)
        for reader, writer in others:
            with pytest.raises(BlockingIOError):
                os.read(reader, 1)
            os.close(reader)
            os.close(writer)
        assert len(os.listdir("/proc/self/fd")) == len(before) - 2  # the two of the wake-up


@pytest.mark.requirement("RK-MCP-039")
def test_an_answer_that_nobody_will_read_does_not_keep_the_server() -> None:
    turns: list[int] = []
    with Client() as client:

        def clock() -> float:
            """Seconds that pass by being read; at the third reading the answer waits, and its reader goes away."""
            turns.append(len(turns))
            if len(turns) == 3:
                client.leave()
            return float(len(turns))

        client.send(DISCOVER)
        assert client.served(clock=clock) == 125
    assert len(turns) == 3
