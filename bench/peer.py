"""A client of one stdio server that does as little as can be: lines out, lines in, blocking."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

PROTOCOL = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": PROTOCOL,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Peer:
    """A server process and its two pipes."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            argv, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._sent = 0

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send one request and wait for the next line; its `result`. Raises `ServerFailed` where there is none."""
        self._sent += 1
        message = {
            "jsonrpc": "2.0",
            "id": self._sent,
            "method": method,
            "params": {**(params or {}), "_meta": META},
        }
        assert self._process.stdin is not None and self._process.stdout is not None
        os.write(self._process.stdin.fileno(), json.dumps(message).encode() + b"\n")
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {}
        if answer.get("id") != self._sent or "result" not in answer:
            raise ServerFailed(f"{method}: {line.decode(errors='replace') or 'no answer'}")
        result: dict[str, Any] = answer["result"]
        return result

    def close(self) -> None:
        """End its input and wait until it has gone."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class ServerFailed(Exception):
    """The server gave no result where the measurement needs one."""
