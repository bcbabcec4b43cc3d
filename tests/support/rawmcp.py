"""A client that writes exactly the lines a test wants, to a real `rukh mcp serve`, and judges what comes back."""

from __future__ import annotations

import json
import subprocess
from types import TracebackType
from typing import Any

from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.mcp_messages import sent

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class RawClient:
    """One server process over pipes; a context that ends it and keeps `errors`, its standard error."""

    def __init__(self, home: InstalledHome, endpoint: str = "desk") -> None:
        self._process = subprocess.Popen(
            [PROGRAM, "mcp", "serve", "--endpoint", endpoint],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=home.environment(),
        )
        self._next = 0
        self.errors = b""
        self.status: int | None = None

    def __enter__(self) -> RawClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            _, self.errors = self._process.communicate(timeout=PATIENCE)
        finally:
            self._process.kill()
        self.status = self._process.returncode

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def streams(self) -> tuple[int, int]:
        """The descriptors of the server's input and output, on this side."""
        assert self._process.stdin is not None and self._process.stdout is not None
        return self._process.stdin.fileno(), self._process.stdout.fileno()

    def send(self, line: bytes) -> None:
        """Write one line as it is."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise AssertionError(f"the server is gone: {self._last_words()}") from None

    def receive(self) -> dict[str, Any]:
        """The next message, judged by the package and by the published schema."""
        return self._judged()[0]

    def receive_line(self) -> bytes:
        """The bytes of the next message, its LF included; judged as well."""
        return self._judged()[1]

    def _judged(self) -> tuple[dict[str, Any], bytes]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.endswith(b"\n"), f"no message: {line!r}; {self._last_words()}"
        return sent(line), line

    def _last_words(self) -> str:
        """How a server ended that should not have, and what it said."""
        _, self.errors = self._process.communicate(timeout=PATIENCE)
        return f"status {self._process.returncode}, {self.errors!r}"

    def start(self, method: str, **params: Any) -> int:
        """Send one request and give its id."""
        self._next += 1
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": {"_meta": META, **params}}
        self.send(json.dumps(message).encode())
        return self._next

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one request and give the whole response."""
        identifier = self.start(method, **params)
        response = self.receive()
        assert response["id"] == identifier
        return response

    def names(self) -> dict[str, str]:
        """Tool names by slug, of every page."""
        names: dict[str, str] = {}
        page: dict[str, Any] = {}
        while not page or "nextCursor" in page:
            more = {"cursor": page["nextCursor"]} if page else {}
            page = self.request("tools/list", **more)["result"]
            names.update((tool["name"].rpartition("__")[0], tool["name"]) for tool in page["tools"])
        return names

    def call(self, slug: str, arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """The outcome envelope of a call of the current tool with this slug."""
        given = {} if arguments is None else {"arguments": arguments}
        response = self.request("tools/call", name=self.names()[slug], **given, **more)
        envelope: dict[str, Any] = response["result"]["structuredContent"]
        return envelope
