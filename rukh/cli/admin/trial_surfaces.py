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
from rukh.cli.output import output_form
from rukh.contract.cases import Case, command_of
from rukh.contract.expectation import Difference, Seen
from rukh.contract.names import tool_name
from rukh.mcp.protocol import CALL, VERSION
from rukh.store.database import utc_ms
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError
from rukh.values.reader import read
from rukh.values.registry import LIMIT_MESSAGE_DEPTH, LIMIT_MESSAGE_MEMBERS, LIMIT_MESSAGE_OUT_BYTES

# How the canonical form of an envelope begins, whatever it has to say.
_ENVELOPE = re.compile(rb'\{"(?:commandResult|effects|invocationId)":')
_META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


# The call that a server was ended in: whoever has asked for it was not told its id.
_LAST_CALL = (
    "SELECT id FROM invocation WHERE surface = 'mcp' AND captured_ms >= ? ORDER BY captured_ms DESC LIMIT 1"
)


class NoOutcome(Exception):
    """A call that has shown no outcome. `found` says what stood in its way, `stderr` is what was said until then."""

    def __init__(self, place: str, expected: str, actual: str, stderr: bytes = b"") -> None:
        super().__init__(actual)
        self.found = Difference(place, expected, actual)
        self.stderr = stderr


class Terminal:
    """Calls from a terminal: one process of this application a case."""

    def __init__(self, program: list[str], home: TrialHome, descriptor: dict[str, Any]) -> None:
        self._program = [*program, "--home", home.path]
        self._home = home
        self._descriptor = descriptor
        self._owner = _owner_directory(home, "terminal")

    def call(self, case: Case) -> Seen:
        """What the process showed; raises NoOutcome."""
        processes, pipe = self._home.processes, subprocess.PIPE
        argv, environment = [*self._program, *self._words(case)], {**os.environ, "HOME": self._owner}
        try:
            process = processes.start(
                argv, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=self._owner
            )
        except OSError as error:  # too many words, or one that is too long
            raise NoOutcome("call", "a process for its words", os.strerror(error.errno or 0)) from error
        try:
            stdout, stderr = process.communicate(case.stdin.encode(), timeout=case.seconds)
        except subprocess.TimeoutExpired:
            raise _late(case.seconds, _parted(processes.last_words(process))[0]) from None
        finally:
            processes.end(process)
        shown = self._home.as_written(stderr)
        return Seen(_outcome(case, stdout, stderr), process.returncode, stdout, shown)

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
        asks = case.managed and output_form(case.argv[used:]) != "envelope"
        return [*case.argv[:used], *(["--envelope"] if asks else []), *case.argv[used:]]


class Agent:
    """Calls over MCP: one server process of this application for all cases, started with the first."""

    def __init__(self, program: list[str], home: TrialHome, descriptor: dict[str, Any]) -> None:
        self._argv = [*program, "--home", home.path, "mcp", "serve", "--endpoint", ENDPOINT]
        self._home = home
        self._descriptor = descriptor
        self._owner = _owner_directory(home, "agent")
        self._said = home.at("server.stderr")
        self._server: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._id = 0

    def can_say(self, case: Case) -> bool:
        """Whether an agent can make this call at all."""
        try:
            self._inputs(case)
        except NoOutcome:
            return False
        return True

    def _inputs(self, case: Case) -> dict[str, Any]:
        """The arguments that say what the case says; raises NoOutcome where only a terminal can say it."""
        if case.command is None or case.command["id"] not in self._home.exported:
            raise NoOutcome("call", "a command that can be a tool", "none")
        if case.argv is None:
            return case.inputs
        used = command_of(case.argv, self._descriptor)[1]
        try:
            lexed = lex(self._home.records[case.command["id"]], case.argv[used:], used)
        except RukhError as refusal:
            raise NoOutcome("argv", "words that give inputs", refusal.message) from refusal
        if lexed.core.help:
            raise NoOutcome("argv", "words that give inputs", "they ask for help")
        return supplied(lexed)

    def call(self, case: Case) -> Seen:
        """The outcome of the tool call; raises NoOutcome."""
        identity = f"{self._descriptor['package']}/{(case.command or {})['id']}"
        name = tool_name(NAMESPACE, self._home.revision, identity)
        answer = self._asked(CALL, {"name": name, "arguments": self._inputs(case)}, case.seconds)
        if "result" not in answer:
            raise NoOutcome(CALL, "an outcome", f"refused: {answer['error']['message']}")
        return Seen(answer["result"]["structuredContent"])

    def said(self, seen: Seen) -> bytes:
        """What the command wrote to its standard error, of which an agent sees nothing and the owner's home keeps."""
        return self._kept(seen.outcome["invocationId"]) if seen.outcome else b""

    def _kept(self, invocation: str | None = None, since_ms: int = 0) -> bytes:
        """The standard error of a call: of the one with this id, else of the last one since then."""
        store = Store(open_home(self._home.path, create=False))
        try:
            found = (invocation,) if invocation else store.database.row(_LAST_CALL, (since_ms,))
            kept = store.calls.diagnostics(found[0]) if found else None
        finally:
            store.close()
        return kept.stderr if kept is not None else b""

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            self._home.processes.end(self._server)
            self._server = None

    def _asked(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        if self._server is None:
            self._server = self._serve()
        self._id += 1
        message = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": {"_meta": _META, **params}}
        writer = self._server.stdin
        assert writer is not None
        begun_ms = utc_ms()
        try:
            writer.write(json.dumps(message).encode() + b"\n")
            writer.flush()
            return self._answer(self._server, time.monotonic() + seconds)
        except TimeoutError:
            self.close()
            raise _late(seconds, self._kept(since_ms=begun_ms)) from None
        except (EOFError, OSError):
            self.close()
            with open(self._said, "rb") as said:
                raise NoOutcome("mcp serve", "an answer", "the server has gone", said.read()) from None

    def _serve(self) -> subprocess.Popen[bytes]:
        self._unread = b""
        pipe, environment = subprocess.PIPE, {**os.environ, "HOME": self._owner}
        with open(self._said, "wb") as said:
            return self._home.processes.start(
                self._argv, stdin=pipe, stdout=pipe, stderr=said, env=environment, cwd=self._owner
            )

    def _answer(self, server: subprocess.Popen[bytes], end: float) -> dict[str, Any]:
        """The next line of the server, which speaks of nothing but what it is asked; raises TimeoutError, EOFError."""
        assert server.stdout is not None
        waiting = select.poll()
        waiting.register(server.stdout, select.POLLIN)
        while b"\n" not in self._unread:
            if not waiting.poll(max(0.0, end - time.monotonic()) * 1000):
                raise TimeoutError
            data = os.read(server.stdout.fileno(), 65536)
            if not data:
                raise EOFError
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = _read(line)
        return answer


def _late(seconds: float, stderr: bytes) -> NoOutcome:
    return NoOutcome("time", f"an end within {seconds:g} s", "none", stderr)


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
