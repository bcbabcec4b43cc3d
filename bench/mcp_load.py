"""Figures of a server under load: sixteen calls at once, a page of many tools, the memory of a thousand. RK-PROC-017"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.home import COMMANDS, ENDPOINT, PACKAGE, PROFILE, RUKH, BenchHome, descriptor
from bench.measure import Figure, interleaved
from bench.peer import META, Peer, ServerFailed

HERE = Path(__file__).resolve().parent
AT_ONCE = 16
MANY, SOME = 10_000, 1_000
_PAIRS = 5
_A_PACKAGE = 500  # commands; a package may have 512


class Burst(Peer):
    """A server that is asked for several calls before the first is answered."""

    def burst(self, calls: int, params: Mapping[str, Any]) -> None:
        """As many calls at once, all answered with a result. Raises ServerFailed where one is not."""
        first = self._sent + 1
        self._sent += calls
        waiting = set(range(first, first + calls))
        assert self._process.stdin is not None and self._process.stdout is not None
        lines = [
            {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {**params, "_meta": META}}
            for number in sorted(waiting)
        ]
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        os.write(self._process.stdin.fileno(), data)  # less than a pipe holds
        while waiting:
            answer = json.loads(self._process.stdout.readline() or b"{}")
            if answer.get("id") not in waiting or answer.get("result", {}).get(
                "isError", "result" not in answer
            ):
                raise ServerFailed(f"a call of {calls} at once: {answer}")
            waiting.remove(answer["id"])

    @property
    def pid(self) -> int:
        return self._process.pid

    def tools(self) -> list[dict[str, Any]]:
        """The tools of all pages."""
        found: list[dict[str, Any]] = []
        page: dict[str, Any] = {}
        while not page or page.get("nextCursor"):
            page = self.request("tools/list", {"cursor": page["nextCursor"]} if page else {})
            found += page["tools"]
        return found


class WideHome(BenchHome):
    """A home whose endpoint sees `count` tools, of as many packages as that takes."""

    def __init__(self, base: Path, count: int) -> None:
        self._count = count
        base.mkdir()
        super().__init__(base)

    def server(self) -> Burst:
        return Burst([RUKH, "mcp", "serve", "--endpoint", ENDPOINT], self.env)

    def _build(self, base: Path) -> None:
        """The whole of it by the program, as the small home; a script that is never started stands for the code."""
        keys, releases = base / "keys", base / "releases"
        keys.mkdir()
        releases.mkdir()
        self.rukh("keygen", "--out", os.fspath(keys))
        names = []
        for begin in range(0, self._count, _A_PACKAGE):
            names.append(f"{PACKAGE}{begin // _A_PACKAGE:02d}")
            self._release(base, names[-1], min(_A_PACKAGE, self._count - begin))
        self.rukh("catalog", os.fspath(releases))
        self.rukh("source", "add", "local", os.fspath(releases))
        for name in names:
            self.rukh("trust", "add", name, "--key", f"{keys}/publisher.pub")
            self.rukh("install", name)
        text = PROFILE.replace(f'"{PACKAGE}/*"', '"*"').replace(
            f'"{PACKAGE}"', ", ".join(map(json.dumps, names))
        )
        (base / "profile.toml").write_text(text, encoding="utf-8")
        self.rukh("profile", "apply", os.fspath(base / "profile.toml"))
        self.rukh("task", "issue", "--endpoint", ENDPOINT)

    def _release(self, base: Path, name: str, count: int) -> None:
        source, artifact = base / name, os.fspath(base / "releases" / f"{name}-1.0.0.tar.gz")
        source.mkdir()
        (source / "rukh-extension.json").write_text(json.dumps(_wide(name, count)), encoding="utf-8")
        (source / "say").write_text("#!/bin/sh\n", encoding="utf-8")
        (source / "say").chmod(0o755)
        self.rukh("pack", os.fspath(source), "--out", artifact)
        self.rukh("sign", artifact, "--key", f"{base}/keys/publisher.key")


def _wide(name: str, count: int) -> dict[str, Any]:
    """The descriptor of the small home, with as many of its command and a program for all of them."""
    document = descriptor()
    model = document["commands"][0]
    mapping = {"kind": "managed", "entry": ["say"]}
    commands = [
        {
            **model,
            "id": f"c{number:03d}",
            "path": [name.rpartition(".")[2], f"c{number:03d}"],
            "execute": {**model["execute"], "mapping": mapping},
        }
        for number in range(count)
    ]
    return {**document, "package": name, "runtime": {"kind": "native"}, "commands": commands}


def mcp_16(home: BenchHome, child: Mapping[str, Any], tools: Path, rounds: int) -> Figure:
    """Seconds until sixteen calls that were sent together are answered; `child` is what Rukh starts for `c00`.

    Two servers of one kind differ by some hundredths from their start to their end. So several pairs are measured, one
    pair after the other: servers of one home that take turns would read again what the others wrote.
    """
    words = tools.with_name("child.json")
    words.write_text(json.dumps({**child, "command": "c00"}), encoding="utf-8")
    stock = [sys.executable, os.fspath(HERE / "baseline_mcp_child.py"), os.fspath(tools), os.fspath(words)]
    name = next(tool["name"] for tool in json.loads(tools.read_bytes()) if "c00__" in tool["name"])
    given = {"name": name, "arguments": {"title": "Milk", "tags": ["shop", "now"]}}

    def sample(server: Burst) -> Callable[[], float]:
        return _timed(lambda: server.burst(AT_ONCE, given))

    ours: tuple[float, ...] = ()
    theirs: tuple[float, ...] = ()
    for _ in range(_PAIRS):
        pair = Burst([RUKH, "mcp", "serve", "--endpoint", ENDPOINT], home.env), Burst(stock, home.env)
        taken = interleaved(sample(pair[0]), sample(pair[1]), max(1, rounds // _PAIRS), warm_up=3)
        ours, theirs = ours + taken[0], theirs + taken[1]
        for server in pair:
            server.close()
    return Figure("mcp-16", "stock low-level mcp stdio server, same child, 16 calls at once", 1, ours, theirs)


def mcp_page(base: Path, rounds: int) -> Figure:
    """Seconds for a first page of 32 tools: ours where 10,000 can be seen, the baseline where 32 can."""
    servers = [WideHome(base / f"page-{count}", count).server() for count in (MANY, COMMANDS)]
    assert [len(server.tools()) for server in servers] == [MANY, COMMANDS]

    def page(server: Burst) -> Callable[[], None]:
        def ask() -> None:
            assert len(server.request("tools/list")["tools"]) == COMMANDS

        return ask

    samples = interleaved(_timed(page(servers[0])), _timed(page(servers[1])), rounds, warm_up=20)
    for server in servers:
        server.close()
    return Figure("mcp-page", "the same page where the endpoint sees 32 tools", 1.2, *samples)


def mcp_memory(base: Path, rounds: int) -> Figure:
    """Proportional memory once 1,000 tools are listed, all processes of a server together.

    In GiB, of which the table shows thousandths; each sample is a server of its own.
    """
    home = WideHome(base / "memory", SOME)
    asked = home.server()
    tools = base / "memory" / "tools.json"
    tools.write_text(json.dumps(asked.tools()), encoding="utf-8")
    asked.close()
    stock = [sys.executable, os.fspath(HERE / "baseline_mcp.py"), os.fspath(tools)]
    ours, theirs = _memory(home.server), _memory(lambda: Burst(stock, home.env))
    samples = interleaved(ours, theirs, rounds, warm_up=1)
    return Figure("mcp-memory", "stock low-level mcp stdio server, the same 1,000 tools", 0.7, *samples)


def _memory(start: Callable[[], Burst]) -> Callable[[], float]:
    def sample() -> float:
        server = start()
        assert len(server.tools()) == SOME
        size = proportional(server.pid)
        server.close()
        return size / 2**30

    return sample


def proportional(pid: int) -> int:
    """The PSS of a process and its descendants, in bytes."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    size = next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))
    for task in os.listdir(f"/proc/{pid}/task"):
        children = Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii")
        size += sum(proportional(int(child)) for child in children.split())
    return size


def _timed(act: Callable[[], object]) -> Callable[[], float]:
    def sample() -> float:
        begin = time.perf_counter()
        act()
        return time.perf_counter() - begin

    return sample
