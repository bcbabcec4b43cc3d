"""The two ways in which a test calls a command, as a person and as an agent would: real processes, real lines.

Each surface has a directory of its own, which its processes take for the owner's home directory (`~`), so that both
meet the same state when they run the same cases in the same order. RK-AUTHOR-053 RK-AUTHOR-057
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import time
from typing import Any

from rukh.cli.admin.trial_home import ENDPOINT, NAMESPACE, TrialHome
from rukh.cli.call import supplied
from rukh.cli.lexer import lex
from rukh.contract.cases import Case, command_of
from rukh.contract.expectation import Seen
from rukh.contract.names import tool_name
from rukh.mcp.protocol import CALL, VERSION
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError
from rukh.values.reader import read
from rukh.values.registry import LIMIT_MESSAGE_DEPTH, LIMIT_MESSAGE_MEMBERS, LIMIT_MESSAGE_OUT_BYTES

_GRACE_SECONDS = 15  # what a host that is asked to end may take: its own budget, and a slow machine
# How the canonical form of an envelope begins, whatever it has to say.
_ENVELOPE = re.compile(rb'\{"(?:commandResult|effects|invocationId)":')
_META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class TimedOut(Exception):
    """The call has not ended within the time of its case; `stderr` is what was said there until then."""

    def __init__(self, stderr: bytes = b"") -> None:
        super().__init__()
        self.stderr = stderr


class Terminal:
    """Calls from a terminal: one process of this application a case."""

    def __init__(self, program: list[str], home: TrialHome, descriptor: dict[str, Any]) -> None:
        self._program = [*program, "--home", home.path]
        self._home = home
        self._descriptor = descriptor
        self._owner = _owner_directory(home, "terminal")

    def call(self, case: Case) -> Seen:
        """What the process showed; raises TimedOut."""
        process = subprocess.Popen(
            [*self._program, *self._words(case)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "HOME": self._owner},
            cwd=self._owner,
        )
        try:
            stdout, stderr = process.communicate(case.stdin.encode(), timeout=case.seconds)
        except subprocess.TimeoutExpired:
            raise TimedOut(_last_words(process)) from None
        finally:
            _end(process)
        return Seen(_outcome(case, stdout, stderr), process.returncode, stdout, stderr)

    def said(self, seen: Seen) -> bytes:
        """What the command wrote to its standard error: without the envelope that the host has put behind it."""
        return _parted(seen.stderr or b"")[0]

    def close(self) -> None:
        """Nothing stays open between two calls."""

    def _words(self, case: Case) -> list[str]:
        """The case's words, asking for the envelope where there will be one."""
        if case.argv is None:
            path = self._home.at("inputs.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(case.inputs, file)
            identity = f"{self._descriptor['package']}/{(case.command or {})['id']}"
            return ["run", identity, "--inputs", path, "--envelope"]
        used = command_of(case.argv, self._descriptor)[1]
        return [*case.argv[:used], *(["--envelope"] if case.managed else []), *case.argv[used:]]


class Agent:
    """Calls over MCP: one server process of this application for all cases, started with the first."""

    def __init__(self, program: list[str], home: TrialHome, descriptor: dict[str, Any]) -> None:
        self._argv = [*program, "--home", home.path, "mcp", "serve", "--endpoint", ENDPOINT]
        self._home = home
        self._descriptor = descriptor
        self._owner = _owner_directory(home, "agent")
        self._server: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._id = 0

    def inputs(self, case: Case) -> dict[str, Any] | None:
        """The arguments that say what the case says; None where an agent cannot make this call."""
        if case.command is None or case.command["id"] not in self._home.exported:
            return None
        if case.argv is None:
            return case.inputs
        used = command_of(case.argv, self._descriptor)[1]
        try:
            lexed = lex(self._home.records[case.command["id"]], case.argv[used:], used)
            return None if lexed.core.help else supplied(lexed)
        except RukhError:
            return None  # the words are no inputs at all, which only a terminal can say

    def call(self, case: Case) -> Seen:
        """The outcome of the tool call; raises TimedOut, and RKX020 where the server gives none."""
        identity = f"{self._descriptor['package']}/{(case.command or {})['id']}"
        name = tool_name(NAMESPACE, self._home.revision, identity)
        answer = self._asked(CALL, {"name": name, "arguments": self.inputs(case)}, case.seconds)
        if "result" not in answer:
            raise RukhError("RKX020", f"the tool call was refused: {answer['error']['message']}", place=name)
        return Seen(answer["result"]["structuredContent"])

    def said(self, seen: Seen) -> bytes:
        """What the command wrote to its standard error, of which an agent sees nothing and the owner's home keeps."""
        if seen.outcome is None:
            return b""
        store = Store(open_home(self._home.path, create=False))
        try:
            kept = store.calls.diagnostics(seen.outcome["invocationId"])
        finally:
            store.close()
        return kept.stderr if kept is not None else b""

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            _end(self._server)
            self._server = None

    def _asked(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        if self._server is None:
            self._server = self._serve()
        self._id += 1
        message = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": {"_meta": _META, **params}}
        writer = self._server.stdin
        assert writer is not None
        try:
            writer.write(json.dumps(message).encode() + b"\n")
            writer.flush()
            return self._answer(self._server, time.monotonic() + seconds)
        except (TimedOut, OSError) as error:
            self.close()
            if isinstance(error, TimedOut):
                raise
            raise _gone() from error

    def _serve(self) -> subprocess.Popen[bytes]:
        self._unread = b""
        environment = {**os.environ, "HOME": self._owner}
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        return subprocess.Popen(
            self._argv, stdin=pipe, stdout=pipe, stderr=null, env=environment, cwd=self._owner
        )

    def _answer(self, server: subprocess.Popen[bytes], end: float) -> dict[str, Any]:
        """The next line of the server, which speaks of nothing but what it is asked."""
        assert server.stdout is not None
        waiting = select.poll()
        waiting.register(server.stdout, select.POLLIN)
        while b"\n" not in self._unread:
            if not waiting.poll(max(0.0, end - time.monotonic()) * 1000):
                raise TimedOut
            data = os.read(server.stdout.fileno(), 65536)
            if not data:
                raise _gone()
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = _read(line)
        return answer


def _gone() -> RukhError:
    return RukhError("RKX020", "the server has gone", place="mcp serve", mend="run it by hand to see why")


def _owner_directory(home: TrialHome, name: str) -> str:
    path = home.at(name)
    os.makedirs(path, exist_ok=True)
    return path


def _outcome(case: Case, stdout: bytes, stderr: bytes) -> dict[str, Any] | None:
    """The envelope on stdout after a success, or at the end of stderr; None where there is none."""
    if not case.managed:
        return None
    found = _envelope(stdout)
    return found if found is not None else _parted(stderr)[1]


def _parted(stderr: bytes) -> tuple[bytes, dict[str, Any] | None]:
    """What a command wrote to standard error, and the envelope behind it, in the last line but not alone there."""
    last = stderr.rstrip(b"\n").rfind(b"\n") + 1
    for begins in _ENVELOPE.finditer(stderr, last):
        found = _envelope(stderr[begins.start() :])
        if found is not None:
            return stderr[: begins.start()], found
    return stderr, None


def _envelope(data: bytes) -> dict[str, Any] | None:
    try:
        found = _read(data)
    except RukhError:
        return None
    return found if isinstance(found, dict) and "outcome" in found else None


def _read(data: bytes) -> Any:
    return read(
        data,
        max_bytes=LIMIT_MESSAGE_OUT_BYTES,
        max_depth=LIMIT_MESSAGE_DEPTH,
        max_members=LIMIT_MESSAGE_MEMBERS,
    )


def _last_words(process: subprocess.Popen[bytes]) -> bytes:
    """What a process that is asked to end has said on its standard error."""
    process.terminate()
    try:
        return process.communicate(timeout=_GRACE_SECONDS)[1]
    except subprocess.TimeoutExpired as late:
        return late.stderr or b""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Have the process end, and what it runs with it: by asking, then by force; nothing is left to be waited for."""
    if process.stdin is not None and process.poll() is None:
        try:
            process.stdin.close()
        except OSError:
            pass
        process.terminate()
    try:
        process.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            try:
                stream.close()
            except OSError:
                pass
