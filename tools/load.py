"""Calls at a real server, sixteen at once, and what the server holds meanwhile. RK-MCP-046

    python -m tools.load N

A home is built by the program itself, its one command a script of the shell that answers with what it was given. Every
call must be answered once and by its own answer. First sixteen calls meet, so that each of them has a thread and a
supervisor; these are kept, and one more supervisor is always free. After each tenth of the calls nothing is in flight,
and the server must hold as many threads and processes as after that, its own and its descendants', no more descriptors
than ever before, no more memory than after the first tenth but for what caches take, and a log of bounded length.
Nothing is timed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

IN_FLIGHT = 16
# Pages of the database and of the heap that fill up over the first thousands of calls.
MORE_BYTES = 8 << 20
# The log of the database: what it is folded at, and what is written before that is done.
MOST_LOG_BYTES = 2 * 4 << 20
# The server, its spawner, a supervisor for each call that was in flight, and a free one.
_PROCESSES = IN_FLIGHT + 3
# Each process has one, and the server one for each call that was in flight.
_THREADS = _PROCESSES + IN_FLIGHT
# A call's supervisor may outlive its answer by a moment; so many round trips are more than a moment.
_ROUND_TRIPS = 5_000
# Seconds without any answer: more than any call takes, for a call that never is answered.
_PATIENCE = 60
_RUKH = os.path.join(os.path.dirname(sys.executable), "rukh")
_PACKAGE = "load.echo"
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}

CHILD = r"""#!/bin/sh
# The channel as a script speaks it whose one input holds no quotes: nothing else is looked for in what the host says.
read -r token <&4
read -r line <&3
session=${line##*'"session":"'}
printf '{"type":"confirm","session":"%s","token":"%s","sdk":"load/1"}\n' "${session%%'"'*}" "$token" >&3
read -r line <&3
words=${line##*'"words":"'}
words=${words%%'"'*}
[ ! -p "$words" ] || read -r never <"$words"
printf '{"type":"completion","status":"succeeded","commandResult":{"kind":"text","text":"%s"}}\n' "$words" >&3
"""

DESCRIPTOR: dict[str, Any] = {
    "format": "rukh.extension/2",
    "package": _PACKAGE,
    "version": "1.0.0",
    "runtime": {"kind": "native"},
    "commands": [
        {
            "id": "say",
            "path": ["load", "say"],
            "summary": "Say it again",
            "parameters": [
                {"id": "words", "form": "positional", "required": True, "type": {"kind": "string"}}
            ],
            "execute": {
                "mapping": {"kind": "managed", "entry": ["bin/say"]},
                "result": {"kind": "text"},
            },
            "machine": {"eligible": True, "interaction": "none", "requiredFeatures": ["command-result/1"]},
        }
    ],
}

PROFILE = f"""\
format = "rukh.profile/1"

[presets.load]
deadline = "60s"
budget = {{ calls = 1000000 }}

[endpoints.load]
transport = "stdio"
namespace = "load.desk"
preset = "load"
actor = "agent:load"
packages = ["{_PACKAGE}"]

[[rules]]
action = "run"
actors = ["user:local", "agent:load"]
commands = ["{_PACKAGE}/*"]
decision = "allow"

[[rules]]
action = "install"
actors = ["user:local"]
packages = ["{_PACKAGE}"]
decision = "allow"
"""


class Fault(AssertionError):
    """A call went wrong, or the server holds what it did not hold before."""


Judge = Callable[[bytes], dict[str, Any]]


class Held(NamedTuple):
    """What a server and its descendants hold."""

    descriptors: int
    threads: int
    processes: int
    bytes: int


def held(pid: int) -> Held:
    """What the process and its descendants hold now. Raises ProcessLookupError or FileNotFoundError where one ends."""
    processes = [pid]
    for one in processes:
        for task in os.listdir(f"/proc/{one}/task"):
            text = Path(f"/proc/{one}/task/{task}/children").read_text(encoding="ascii")
            processes.extend(int(word) for word in text.split())
    descriptors = sum(len(os.listdir(f"/proc/{one}/fd")) for one in processes)
    threads = sum(len(os.listdir(f"/proc/{one}/task")) for one in processes)
    pages = sum(int(Path(f"/proc/{one}/statm").read_text(encoding="ascii").split()[1]) for one in processes)
    return Held(descriptors, threads, len(processes), pages * os.sysconf("SC_PAGE_SIZE"))


def build_home(place: Path) -> dict[str, str]:
    """A home in `place` with the extension installed and exposed; the environment to use it with."""
    env = {"RUKH_HOME": os.fspath(place / "home"), "PATH": os.defpath, "LANG": "C.UTF-8"}
    for folder in ("extension/bin", "keys", "releases"):
        (place / folder).mkdir(parents=True)
    (place / "extension" / "rukh-extension.json").write_text(json.dumps(DESCRIPTOR), encoding="utf-8")
    (place / "extension" / "bin" / "say").write_text(CHILD, encoding="utf-8")
    (place / "extension" / "bin" / "say").chmod(0o755)
    (place / "profile.toml").write_text(PROFILE, encoding="utf-8")
    for words in (
        "keygen --out keys",
        f"pack extension --out releases/{_PACKAGE}-1.0.0.tar.gz",
        f"sign releases/{_PACKAGE}-1.0.0.tar.gz --key keys/publisher.key",
        "catalog releases",
        f"trust add {_PACKAGE} --key keys/publisher.pub",
        "source add local releases",
        f"install {_PACKAGE}",
        "profile apply profile.toml",
        "task issue --endpoint load",
    ):
        subprocess.run([_RUKH, *words.split()], cwd=place, env=env, stdout=subprocess.DEVNULL, check=True)
    return env


class Client:
    """One server, and the calls that wait for their answers. `judge` is given each line that the server says."""

    def __init__(self, env: dict[str, str], judge: Judge = json.loads) -> None:
        self._judge = judge
        self._process = subprocess.Popen(
            [_RUKH, "mcp", "serve", "--endpoint", "load"],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.pid = self._process.pid
        self._number = 0
        self._rest = b""
        self._waiting: dict[int, str] = {}
        self._name = self._asked("tools/list")["tools"][0]["name"]

    def close(self) -> int:
        """End its input; the exit status. It is killed where an error brought us here."""
        if self._waiting:
            self._process.kill()
        self._process.communicate(timeout=60)
        return self._process.returncode

    def call(self, count: int) -> None:
        """`count` calls, as many at once as may be, until each is answered."""
        for _ in range(count):
            if len(self._waiting) == IN_FLIGHT:
                self._take()
            words = str(self._number + 1)
            self._waiting[self._send("tools/call", name=self._name, arguments={"words": words})] = words
        while self._waiting:
            self._take()

    def meet(self, place: Path) -> None:
        """As many calls as may be are in flight at the same moment: each waits at a pipe of its own for the last."""
        pipes = [os.fspath(place / f"pipe{number}") for number in range(IN_FLIGHT)]
        for pipe in pipes:
            os.mkfifo(pipe)
            self._waiting[self._send("tools/call", name=self._name, arguments={"words": pipe})] = pipe
        # A pipe can be opened here once the call has opened it there.
        writers = [os.open(pipe, os.O_WRONLY) for pipe in pipes]
        self._until(
            lambda now: now.processes == _PROCESSES + IN_FLIGHT
        )  # the free supervisor is there as well
        for writer in writers:
            os.close(writer)
        self.call(0)

    def rest(self, descriptors: float) -> Held:
        """What the server holds once no call's child is left, and at most so many descriptors."""
        return self._until(
            lambda now: now.descriptors <= descriptors and now[1:3] == (_THREADS, _PROCESSES),
        )

    def _until(self, wanted: Callable[[Held], bool]) -> Held:
        """What the server holds once that is what is wanted; it is served meanwhile. Raises Fault where it never is."""
        now = None
        for _ in range(_ROUND_TRIPS):
            self._asked("server/discover")
            try:
                now = held(self.pid)
            except (FileNotFoundError, ProcessLookupError):
                continue  # a child ended while it was looked at
            if wanted(now):
                return now
        raise Fault(f"the server does not come to rest; at last it held {now}")

    def _send(self, method: str, **params: Any) -> int:
        self._number += 1
        message = {
            "jsonrpc": "2.0",
            "id": self._number,
            "method": method,
            "params": {"_meta": _META, **params},
        }
        assert self._process.stdin is not None
        os.write(self._process.stdin.fileno(), json.dumps(message).encode() + b"\n")
        return self._number

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._rest:
            if not select.select([descriptor], [], [], _PATIENCE)[0]:
                raise Fault(f"no answer for {_PATIENCE} seconds; {len(self._waiting)} calls wait")
            data = os.read(descriptor, 1 << 16)
            if not data:
                raise Fault(f"the server has ended; {len(self._waiting)} calls were not answered")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return self._judge(line + b"\n")

    def _asked(self, method: str) -> dict[str, Any]:
        number, message = self._send(method), self._read()
        if message.get("id") != number or "result" not in message:
            raise Fault(f"{method}: {message}")
        result: dict[str, Any] = message["result"]
        return result

    def _take(self) -> None:
        message = self._read()
        words = self._waiting.pop(message.get("id", 0), None)
        envelope = message.get("result", {}).get("structuredContent", {})
        if words is None or envelope.get("commandResult") != {"kind": "text", "text": words}:
            raise Fault(f"not the answer of a call that waits: {message}")


def run(calls: int, place: Path, judge: Judge = json.loads) -> tuple[Held, Held]:
    """`calls` calls at one server, in a home made in `place`; what it held after a tenth and at the end."""
    client = Client(build_home(place), judge)
    try:
        client.meet(place)
        descriptors, held_then = client.rest(math.inf).descriptors, []
        for part in range(10):
            client.call(calls * (part + 1) // 10 - calls * part // 10)
            held_then.append(client.rest(descriptors))
            descriptors = held_then[-1].descriptors
            grown = held_then[-1].bytes - held_then[0].bytes
            if grown > MORE_BYTES:
                raise Fault(f"memory grew by {grown} bytes in {part} tenths of the calls")
            log = (place / "home" / "db" / "rukh.sqlite3-wal").stat().st_size
            if log > MOST_LOG_BYTES:
                raise Fault(f"the log of the database grew to {log} bytes in {part + 1} tenths of the calls")
    finally:
        status = client.close()
    if status:
        raise Fault(f"the server left with {status}")
    return held_then[0], held_then[-1]


def main(arguments: list[str] | None = None) -> int:
    """Run and print one line; 1 for a fault."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.load", description="Calls at a real server, 16 at once."
    )
    parser.add_argument("calls", type=int)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        try:
            first, last = run(options.calls, Path(directory))
        except Fault as fault:
            print(f"fault: {fault}")
            return 1
    grown = (last.bytes - first.bytes) >> 10
    print(
        f"{options.calls} calls, {IN_FLIGHT} at once, each answered once; {last}, {grown} KiB more than after a tenth"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
