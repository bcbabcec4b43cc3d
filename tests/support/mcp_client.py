"""Two ways to talk to a server: a session in memory under a scripted clock, and a real process over pipes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from rukh.mcp.adapter import Adapter
from rukh.mcp.session import Call, Session
from tests.support.mcp_messages import line, request, sent
from tests.support.mcp_port import BINDING, FakePort

SERVER = Path(__file__).with_name("mcp_fake_server.py")
# Nothing waits as long as this unless it is broken; a loaded machine needs room.
PATIENCE = 30.0


class Talk:
    """A session without descriptors: calls are started by the test, output is taken when the test says so."""

    def __init__(self, port: FakePort | None = None, *, concurrency: int = 16, threads: bool = True) -> None:
        self.port = port or FakePort()
        self.now = 0.0
        self.started: list[Call] = []
        self.threads = threads
        self.adapter = Adapter(self.port, BINDING, name="rukh", version="0.1.0", clock=lambda: self.now)
        self.session = Session(self.adapter, self._start, concurrency=concurrency)

    def _start(self, call: Call) -> bool:
        self.started.append(call)
        return self.threads

    def send(self, *messages: Any) -> None:
        """Messages, or lines as bytes, arrive in one read."""
        data = b"".join(message if isinstance(message, bytes) else line(message) for message in messages)
        self.session.receive(data, self.now)

    def taken(self) -> list[dict[str, Any]]:
        """The client reads everything that waits; what it read, judged."""
        found = []
        while len(self.session.queue):
            data = bytes(self.session.queue.head(self.now))
            self.session.queue.wrote(len(data))
            found.append(sent(data))
            self.session.pump(self.now)
        return found

    def ask(self, *messages: Any) -> list[dict[str, Any]]:
        """What the client reads after `messages`."""
        self.send(*messages)
        return self.taken()

    def finish(self, call: Call) -> list[dict[str, Any]]:
        """The call's thread runs to its end; what the client reads then."""
        call.line = self.adapter.invoke(call.resolved, call.cancel)
        self.session.finished(call, self.now)
        return self.taken()

    def name(self, command: str) -> str:
        """The present name of a command."""
        return names(self.ask(request("tools/list", "names"))[0])[command]


def names(listed: dict[str, Any]) -> dict[str, str]:
    """Title to name, of a list's response."""
    return {tool["title"]: tool["name"] for tool in listed["result"]["tools"]}


class Pipes:
    """A server process; a context manager that leaves nothing running."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(SERVER), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.stdin, self.stdout, self.stderr = self.process.stdin, self.process.stdout, self.process.stderr
        self._rest: dict[int, bytes] = {}

    def __enter__(self) -> Pipes:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        for stream in (self.stdin, self.stdout, self.stderr):
            stream.close()

    def send(self, *messages: Any) -> None:
        """Write messages, or bytes as they are."""
        data = b"".join(message if isinstance(message, bytes) else line(message) for message in messages)
        while data:
            data = data[os.write(self.stdin.fileno(), data) :]

    def receive(self, method: str | None = None) -> dict[str, Any]:
        """The next message on the protocol's output, judged."""
        return sent(self._line(self.stdout.fileno()), method)

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """One request and its answer."""
        self.send(message)
        return self.receive(message["method"])

    def event(self, wanted: str) -> list[str]:
        """What the server told on standard error up to the event `wanted`."""
        told: list[str] = []
        while wanted not in told:
            told.append(self._line(self.stderr.fileno()).decode().rstrip("\n"))
        return told

    def names(self) -> dict[str, str]:
        """Title to name of every tool on the first page."""
        return names(self.ask(request("tools/list", "names")))

    def ended(self) -> int:
        """The exit status, once the process has ended."""
        return self.process.wait(PATIENCE)

    def rest(self) -> bytes:
        """Everything else on the protocol's output, to its end."""
        descriptor = self.stdout.fileno()
        data = self._rest.pop(descriptor, b"")
        while chunk := self._read(descriptor):
            data += chunk
        return data

    def _line(self, descriptor: int) -> bytes:
        data = self._rest.get(descriptor, b"")
        while b"\n" not in data:
            chunk = self._read(descriptor)
            assert chunk, f"the stream ended after {data!r}"
            data += chunk
        found, _, self._rest[descriptor] = data.partition(b"\n")
        return found + b"\n"

    def _read(self, descriptor: int) -> bytes:
        ready, _, _ = select.select([descriptor], [], [], PATIENCE)
        assert ready, "nothing came in time"
        return os.read(descriptor, 65536)
