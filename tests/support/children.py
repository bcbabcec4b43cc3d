"""Children that do what a test says, and the proof that none of them is left.

A scripted child is a bare interpreter with the few functions of `PRELUDE` and the body of the test; it has no SDK, so
that it can break every rule. `released` writes an extension that uses the SDK.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rukh.host.cancel import Cancel
from rukh.host.invoker import Report, run
from rukh.host.launch import BASE_ENVIRONMENT, plan_launch
from rukh.host.spawner import Launch, Spawner
from rukh.host.streams import Streams
from rukh.host.supervisor import descendants
from rukh.machines.channel import _Channel
from tests.support.families import children

PYTHON = getattr(sys, "_base_executable", "") or sys.executable
PATIENCE = 10.0  # seconds: a bound for what must happen, never how long it takes
TEXT = {"kind": "text"}

PRELUDE = r"""
import json, os, select, signal, sys

buffer = b""
def frame():
    "The next frame of the host."
    global buffer
    while b"\n" not in buffer:
        data = os.read(3, 65536)
        if not data:
            sys.exit(9)
        buffer += data
    line, _, buffer = buffer.partition(b"\n")
    return json.loads(line)

def say(kind, **members):
    raw(json.dumps({"type": kind, **members}).encode() + b"\n")

def raw(data):
    while data:
        data = data[os.write(3, data):]

def confirm(**members):
    "Take the session, and give the request."
    token = b""
    while data := os.read(4, 4096):
        token += data
    hello = frame()
    say("confirm", **{"session": hello["session"], "token": token.decode(), "sdk": "scripted/1", **members})
    return frame()

def complete(status="succeeded", **members):
    say("completion", status=status, **members)

def text(value):
    return {"kind": "text", "text": value}

def forever():
    while True:
        signal.pause()

def daemon(then=forever, hold=()):
    "A process that nothing finds by its session, its parent or its environment; its number."
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            number = str(os.getpid()).encode()
            os.closerange(0, writer)
            os.closerange(writer + 1, 4096)
            os.write(writer, number)
            os.close(writer)
            os.execve(sys.executable, ["daemon", "-I", "-S", "-c", "import signal\nwhile True: signal.pause()"], {})
        os._exit(0)
    os.close(writer)
    number = int(os.read(reader, 64))
    os.read(reader, 1)
    return number
"""


def scripted(body: str, cwd: Path | str, **environment: str) -> Launch:
    """The launch of a child that runs `PRELUDE` and `body`."""
    argv = [PYTHON, "-I", "-S", "-c", PRELUDE + body]
    return Launch(argv, {**BASE_ENVIRONMENT, **environment}, str(cwd))


def released(directory: Path, source: str, entry: str = "notes:add", **more: Any) -> Launch:
    """The launch of a Python extension whose module `notes` is `source`; its release lies below `directory`."""
    release, work = directory / "release", directory / "work"
    for path in (release, work):
        path.mkdir(exist_ok=True)
    (release / "notes.py").write_text(source, encoding="utf-8")
    record = {"runtime": {"kind": "python"}, "mapping": {"kind": "managed", "entry": entry}}
    return plan_launch(record, str(release), str(directory / "cache"), str(work), {}, **more)


def execute(inputs: dict[str, Any] | None = None, command: str = "add") -> dict[str, Any]:
    """The members of an execute frame."""
    return {"command": command, "inputs": inputs or {}, "supplied": sorted(inputs or {})}


def called(
    launch: Launch,
    *,
    request: dict[str, Any] | None = None,
    declared: dict[str, Any] | None = TEXT,
    seconds: float = PATIENCE,
    streams: Streams | None = None,
    cancel: Cancel | None = None,
    spawner: Spawner | None = None,
    **limits: int,
) -> Report:
    """Run one call to its proposal, by a spawner of its own unless one is given."""
    given: AbstractContextManager[Spawner] = (
        closing(Spawner.start(one_call=True)) if spawner is None else nullcontext(spawner)
    )
    with given as serving:
        return run(
            serving,
            launch,
            execute=request or execute(),
            declared=declared,
            deadline_at=time.monotonic() + seconds,
            streams=streams or Streams.drained(65536),
            cancel=cancel or Cancel(),
            **limits,
        )


def verdict(report: Report) -> tuple[str, str]:
    """Outcome and code of its reason ("" without one)."""
    return report.outcome, "" if report.reason is None else report.reason["code"]


class Running:
    """A call in a thread of its own; `report` waits for it."""

    def __init__(self, launch: Launch, spawner: Spawner, **more: Any) -> None:
        self._reports: list[Report] = []
        self._thread = threading.Thread(
            target=lambda: self._reports.append(called(launch, spawner=spawner, **more))
        )
        self._thread.start()

    def ended(self, seconds: float) -> bool:
        """Whether it ends within so many seconds."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def report(self) -> Report:
        assert self.ended(PATIENCE), "the call has not ended"
        return self._reports[0]


def cancelled_once_there(launch: Launch, meeting: Meeting, declared: dict[str, Any]) -> Report:
    """A call that the owner cancels as soon as its child has said `here` at the meeting, which is then over."""
    cancel = Cancel()
    with spawning() as spawner:
        running = Running(launch, spawner, declared=declared, cancel=cancel, seconds=PATIENCE)
        assert meeting.told() == "here"
        cancel.request("owner")
        report = running.report()
    meeting.close()
    return report


@contextmanager
def spawning() -> Iterator[Spawner]:
    """A spawner for many calls, started before the test has threads."""
    spawner = Spawner.start(one_call=False)
    try:
        yield spawner
    finally:
        spawner.close()


@contextmanager
def nothing_left() -> Iterator[None]:
    """Fails when a process that was started inside, or anything that came of it, is still there afterwards.

    This process becomes a subreaper, so that nobody is lost sight of.
    """
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    before = {process for process, _ in descendants(os.getpid())}
    known = set(children(os.getpid()))
    yield
    left = [process for process, _ in descendants(os.getpid()) if process not in before]
    stayed = [process for process in left if not gone(process)]
    for process in stayed:
        os.kill(process, signal.SIGKILL)
    _reap(set(children(os.getpid())) - known)
    assert stayed == []


def gone(process: int, seconds: float = PATIENCE) -> bool:
    """Wait until `process` has ended; false when it has not within the bound."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return readable(descriptor, seconds)
    finally:
        os.close(descriptor)


def readable(descriptor: int, seconds: float = PATIENCE) -> bool:
    """Wait until `descriptor` can be read or has ended."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


def _reap(processes: set[int]) -> None:
    """Take the exits of `processes`; those of others' children belong to whoever started them."""
    for process in processes:
        with suppress(ChildProcessError):
            os.waitpid(process, os.WNOHANG)


class Meeting:
    """A named pipe by which a child tells the test something: how far it is, or a number."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        os.mkfifo(path)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def told(self) -> str:
        """The next line that the child wrote there."""
        assert readable(self._descriptor), "the child told nothing"
        return os.read(self._descriptor, 4096).decode().strip()

    def close(self) -> None:
        os.close(self._descriptor)


SCHEMA = Path(__file__).parents[2] / "spec" / "schemas" / "channel-1.schema.json"


@contextmanager
def every_frame_judged() -> Iterator[None]:
    """Every frame that a channel of this process accepts or sends meanwhile is valid by the published schema."""
    judge = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    advance = _Channel._advance

    def judged(channel: _Channel, frame: dict[str, Any], sender: str) -> None:
        advance(channel, frame, sender)
        judge.validate(frame)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Channel, "_advance", judged)
        yield
