"""The loop of one call, woken by a played child and supervisor: what comes together, in which order, and how much."""

from __future__ import annotations

import _socket
import json
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from rukh.host import invoker
from rukh.host.cancel import Cancel
from rukh.host.invoker import Report
from rukh.host.spawner import Launch, Session
from rukh.host.streams import Streams
from tests.support.children import (
    PATIENCE,
    execute,
    verdict,
)


class Clock:
    """A scripted `time.monotonic`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


class HeldPoll:
    """A `select` whose poll can be held until the test has made everything ready, and can overlook a descriptor."""

    POLLIN, POLLOUT = select.POLLIN, select.POLLOUT

    def __init__(self) -> None:
        self._holds: list[tuple[threading.Event, threading.Event]] = []
        self.overlooked = -1

    def poll(self) -> Any:
        real = select.poll()
        return SimpleNamespace(
            register=real.register, unregister=real.unregister, poll=lambda timeout: self._look(real, timeout)
        )

    def _look(self, real: Any, timeout: int) -> list[tuple[int, int]]:
        if not self._holds:
            found: list[tuple[int, int]] = real.poll(timeout)
            return found
        entered, go = self._holds.pop()
        entered.set()
        go.wait(PATIENCE)
        return [row for row in real.poll(0) if row[0] != self.overlooked]

    def together(self, stage: Stage, make_ready: Callable[[], object]) -> None:
        """Have the loop look once everything that `make_ready` does is there."""
        entered, go = threading.Event(), threading.Event()
        self._holds.append((entered, go))
        os.write(stage.stderr, b"look")
        entered.wait(PATIENCE)
        make_ready()
        go.set()


class Stage:
    """A session whose child and supervisor are played by the test; takes the place of a spawner."""

    def __init__(self) -> None:
        channel, self.channel = socket.socketpair()
        control, self.control = socket.socketpair(type=socket.SOCK_SEQPACKET)
        stdout, self.stdout = os.pipe()
        stderr, self.stderr = os.pipe()
        for descriptor in (channel.fileno(), stdout, stderr):
            os.set_blocking(descriptor, False)
        self.session = Session(
            _socket.socket(fileno=channel.detach()),
            _socket.socket(fileno=control.detach()),
            stdout,
            stderr,
            "t",
        )

    def launch(self, launch: Launch) -> Session:
        return self.session

    def say(self, frame: dict[str, Any]) -> None:
        self.channel.sendall(json.dumps(frame).encode() + b"\n")

    def execute(self) -> None:
        """Take the session, up to the request."""
        self.channel.recv(4096)
        self.confirm()
        self.channel.recv(4096)

    def confirm(self) -> None:
        """Prove to be the child that was started."""
        session, token = self.session.session, self.session.token
        self.say({"type": "confirm", "session": session, "token": token, "sdk": "stage"})

    def close(self) -> None:
        self.channel.close()
        self.control.close()
        os.close(self.stdout)
        os.close(self.stderr)


REPORT = {"type": "completion", "status": "succeeded", "commandResult": {"kind": "text", "text": "x"}}
# name: (what is ready in one wake-up, outcome, reason); the clock's stand is in seconds behind the start.
TOGETHER: dict[str, tuple[tuple[str, ...], str, str]] = {
    "report, exit": (("report", "exit"), "succeeded", ""),
    "exit, report": (("exit", "report"), "succeeded", ""),
    "exit": (("exit",), "execution_failed", "exited_early"),
    "report, exit, cancel": (("report", "exit", "cancel"), "cancelled", "caller"),
    "report, exit, deadline": (("report", "exit", "deadline"), "cancelled", "deadline"),
    "deadline, cancel": (("exit", "deadline", "cancel"), "cancelled", "caller"),
    "violation, exit": (("violation", "exit"), "execution_failed", "protocol_violation"),
    "violation, cancel, exit": (("violation", "exit", "cancel"), "cancelled", "caller"),
    "report, violation, exit": (("report", "violation", "exit"), "execution_failed", "protocol_violation"),
    "the supervisor's end": (("report", "loss"), "execution_failed", "cleanup_unconfirmed"),
}


@pytest.mark.requirement("RK-LIFE-012", "RK-LIFE-010", "RK-LIFE-013", "RK-EXEC-016")
@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("overlooked", [False, True])
def test_what_is_ready_together_is_taken_in_its_order(
    monkeypatch: pytest.MonkeyPatch, name: str, overlooked: bool
) -> None:
    """Whatever the order in which it was made ready, and even if poll had looked at the channel too early."""
    ready, outcome, reason = TOGETHER[name]
    clock, poll, stage, cancel = Clock(), HeldPoll(), Stage(), Cancel()
    monkeypatch.setattr(invoker, "time", clock)
    monkeypatch.setattr(invoker, "select", poll)
    poll.overlooked = stage.session.channel.fileno() if overlooked else -1
    steps: dict[str, Callable[[], object]] = {
        "report": lambda: stage.say(REPORT),
        "violation": lambda: stage.channel.sendall(b"oops\n"),
        "exit": lambda: stage.control.send(b"ended 0 0 0"),
        "loss": stage.control.close,
        "cancel": lambda: cancel.request("caller"),
        "deadline": lambda: setattr(clock, "now", 2000.0),
    }

    def play() -> None:
        stage.execute()
        poll.together(stage, lambda: [os.write(stage.stdout, b"last"), *(steps[step]() for step in ready)])

    with playing(play):
        report = invoked(stage, Streams.drained(100), cancel, clock.now + 500)
    stage.close()

    assert (outcome, reason) == verdict(report)
    assert (b"last", 0) == report.diagnostics["stdout"]


@contextmanager
def playing(play: Callable[[], object]) -> Iterator[None]:
    """Play a child and its supervisor beside the call."""
    player = threading.Thread(target=play)
    player.start()
    yield
    player.join()


def invoked(
    stage: Stage, streams: Streams, cancel: Cancel, deadline_at: float, request: dict[str, Any] | None = None
) -> Report:
    return invoker.run(
        stage,  # type: ignore[arg-type]
        Launch([], {}, ""),
        execute=request or execute(),
        declared={"kind": "text"},
        deadline_at=deadline_at,
        streams=streams,
        cancel=cancel,
    )


@pytest.mark.requirement("RK-LIFE-012", "RK-LIFE-022")
def test_who_left_in_time_is_not_judged_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop looks in vain, then the time of TERM passes and the exit comes, and only then it goes on."""
    clock, poll, stage = Clock(), HeldPoll(), Stage()
    poll.overlooked = stage.session.control.fileno()
    monkeypatch.setattr(invoker, "time", clock)
    monkeypatch.setattr(invoker, "select", poll)

    def late() -> None:
        clock.now += 4
        stage.control.send(b"ended 0 0 0")

    def play() -> None:
        stage.execute()
        poll.together(stage, lambda: stage.say(REPORT))
        poll.together(stage, late)

    with playing(play):
        report = invoked(stage, Streams.drained(100), Cancel(), clock.now + 500)
    stage.close()

    assert ("succeeded", "") == verdict(report)


class Recorded:
    """A socket whose sent bytes are noted with the clock's stand, from `start` on."""

    def __init__(self, real: Any, clock: Clock, notes: list[tuple[float, bytes]]) -> None:
        self._real, self._clock, self._notes = real, clock, notes
        self.then: Callable[[], object] = bool

    def send(self, data: bytes, flags: int = 0) -> int:
        self._notes.append((self._clock.now, data))
        if data == b"T" and len(self._notes) == 1:
            self.then()
        sent: int = self._real.send(data, flags)
        return sent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def jumping(clock: Clock, cancel: Cancel) -> SimpleNamespace:
    """A `select` whose poll lets the clock jump instead of waiting, once the call is cancelled."""

    class Poll:
        def __init__(self) -> None:
            self._real = select.poll()
            self.register, self.unregister = self._real.register, self._real.unregister

        def poll(self, timeout: int) -> list[tuple[int, int]]:
            if cancel.cause is None:
                return self._real.poll(timeout)
            ready = self._real.poll(0)
            clock.now += 0.01 if ready else timeout / 1000
            return ready

    return SimpleNamespace(poll=Poll, POLLIN=select.POLLIN, POLLOUT=select.POLLOUT)


# name: (what the child does at TERM, the commands and when they come)
LADDERS_CLIMBED = {
    "nothing": (b"", [(1001, b"T"), (1003, b"K"), (1004.5, b"R")]),
    "a violation": (b"oops\n", [(1001, b"T"), (1001, b"T"), (1001.8, b"K"), (1004.6, b"R")]),
}


@pytest.mark.requirement("RK-LIFE-020", "RK-LIFE-021", "RK-LIFE-023")
@pytest.mark.parametrize("name", LADDERS_CLIMBED)
def test_the_ladder_ends_with_the_budget_even_when_nobody_answers(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A child and a supervisor that do not end: cancel frame, TERM, KILL, report, and then the host goes on alone."""
    answer, expected = LADDERS_CLIMBED[name]
    clock, stage, cancel = Clock(), Stage(), Cancel()
    said: list[tuple[float, bytes]] = []
    asked: list[tuple[float, bytes]] = []
    monkeypatch.setattr(invoker, "time", clock)
    monkeypatch.setattr(invoker, "select", jumping(clock, cancel))
    stage.session.channel = Recorded(stage.session.channel, clock, said)  # type: ignore[assignment]
    stage.session.control = Recorded(stage.session.control, clock, asked)  # type: ignore[assignment]
    stage.session.control.then = lambda: stage.channel.sendall(answer)  # type: ignore[attr-defined]

    def play() -> None:
        stage.execute()
        cancel.request("owner")

    with playing(play):
        report = invoked(stage, Streams.drained(0), cancel, clock.now + 500)
    stage.close()

    assert ("cancelled", "owner") == verdict(report)
    assert (1000, {"type": "cancel", "cause": "owner"}) == (round(said[-1][0]), json.loads(said[-1][1]))
    assert expected == [(round(at, 1), command) for at, command in asked]
    assert 1005.0 == round(clock.now, 1)


class Flooding(Recorded):
    """A channel that always has another frame, and is cancelled while it is read."""

    reads = 0

    def recv(self, size: int) -> bytes:
        data: bytes = self._real.recv(size)
        self.reads += 1
        if self.reads == 10:
            self.then()
        return data or b'{"type":"progress","progress":1}\n'


@pytest.mark.requirement("RK-EXEC-033")
def test_a_wake_up_reads_a_bounded_part_of_the_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child's end is closed for writing, so that it is always readable, and the wrapper makes frames of that."""
    clock, stage, cancel = Clock(), Stage(), Cancel()
    monkeypatch.setattr(invoker, "time", clock)
    monkeypatch.setattr(invoker, "select", jumping(clock, cancel))
    channel = Flooding(stage.session.channel, clock, [])
    channel.then = lambda: cancel.request("owner")
    stage.session.channel = channel  # type: ignore[assignment]

    def play() -> None:
        stage.execute()
        stage.channel.shutdown(socket.SHUT_WR)

    clocked = Streams.drained(0)
    seen: list[int] = []
    monkeypatch.setattr(invoker._Call, "_take_cancel", noting(invoker._Call._take_cancel, channel, seen))
    with playing(play):
        report = invoked(stage, clocked, cancel, clock.now + 500)
    stage.close()

    assert ("cancelled", "owner") == verdict(report)
    assert max(after - before for before, after in pairwise(seen)) <= 4


def noting(method: Callable[[Any], None], channel: Flooding, seen: list[int]) -> Callable[[Any], None]:
    """`method`, which notes how often the channel was read before."""

    def noted(call: Any) -> None:
        seen.append(channel.reads)
        method(call)

    return noted


@pytest.mark.requirement("RK-EXEC-033")
def test_a_request_that_the_child_takes_piece_by_piece_arrives_whole() -> None:
    """The socket takes little at once; what is left is said as soon as it takes more, and not at the next event."""
    stage = Stage()
    stage.session.channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    stage.channel.settimeout(PATIENCE)
    request = execute({"text": "x" * 100_000})
    heard: list[dict[str, Any]] = []

    def play() -> None:
        lines = stage.channel.makefile("rb")
        lines.readline()
        stage.confirm()
        heard.append(json.loads(lines.readline()))
        stage.say(REPORT)
        stage.control.send(b"ended 0 0 0")

    with playing(play):
        report = invoked(stage, Streams.drained(0), Cancel(), time.monotonic() + PATIENCE, request)
    stage.close()

    assert ("succeeded", "") == verdict(report)
    assert [{"type": "execute", **request}] == heard
