"""Clients that die, stop reading or come back: what ends with them, what stays, and what is not done again."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from rukh.host import invocation
from rukh.host.invocation import Host
from rukh.host.supervisor import descendants
from rukh.mcp.endpoint import EndpointHost, attach
from rukh.store.home import open_home
from rukh.store.store import Store
from tests.support.children import gone
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.mcp_client import Talk
from tests.support.mcp_messages import cancel, line, request
from tests.support.mcp_wide import wide_home
from tests.support.rawmcp import RawClient
from tests.support.stubs import rows, succeeded

# A client that writes one line, reads one byte if it is told to, says who its server is, and lives until it is killed.
CLIENT = """
import os, signal, subprocess, sys
server = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
os.write(server.stdin.fileno(), sys.argv[1].encode() + b"\\n")
if sys.argv[2] == "reads":
    os.read(server.stdout.fileno(), 1)
print(server.pid, flush=True)
signal.pause()
"""
OUTCOMES = (
    "SELECT identity, outcome, json_extract(envelope, '$.reason.code') FROM invocation ORDER BY captured_ms"
)
SOON = (
    20  # seconds: more than a stop may take, and less than the drain that would follow the end of input alone
)
LONG = 100_000  # characters of an answer that no pipe holds


@pytest.fixture
def home(tmp_path: Path) -> InstalledHome:
    made = wide_home(tmp_path)
    for pipe in ("told", "gate"):
        os.mkfifo(tmp_path / pipe)
    return made


@contextmanager
def client(home: InstalledHome, message: Any, *, reads: bool = False) -> Iterator[tuple[int, int]]:
    """A client process that has sent `message`; its process number and that of its server."""
    program = [PROGRAM, "mcp", "serve", "--endpoint", "desk"]
    words = [sys.executable, "-c", CLIENT, json.dumps(message), "reads" if reads else "-", *program]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=home.environment()
    ) as process:
        assert process.stdout is not None
        try:
            yield process.pid, int(process.stdout.readline())
        finally:
            process.kill()


def names(home: InstalledHome) -> dict[str, str]:
    with RawClient(home) as one:
        return one.names()


def holding(home: InstalledHome, identifier: Any = 7) -> dict[str, Any]:
    """A call that tells its process, and goes on when it is let through."""
    pipes = {pipe: str(home.place / pipe) for pipe in ("told", "gate")}
    return request("tools/call", identifier, name=names(home)["acme-wide-hold"], arguments=pipes)


def filling(home: InstalledHome, identifier: Any = 7) -> dict[str, Any]:
    """A call whose answer does not go out at once."""
    return request("tools/call", identifier, name=names(home)["acme-wide-fill"], arguments={"length": LONG})


def all_gone(server: int, below: list[int]) -> bool:
    return all(gone(process, SOON) for process in [server, *below])


def family(server: int) -> list[int]:
    return [process for process, _ in descendants(server)]


@pytest.mark.requirement("RK-MCP-049")
def test_a_client_that_is_killed_takes_its_idle_server_with_it(home: InstalledHome) -> None:
    with client(home, request("server/discover"), reads=True) as (process, server):
        below = family(server)
        os.kill(process, signal.SIGKILL)
        assert below != []
        assert all_gone(server, below)


@pytest.mark.requirement("RK-MCP-049", "RK-MCP-039")
def test_a_client_that_is_killed_takes_its_server_and_every_child_of_a_call_with_it(
    home: InstalledHome,
) -> None:
    with client(home, holding(home)) as (process, server):
        child = int((home.place / "told").read_text())
        below = family(server)
        os.kill(process, signal.SIGKILL)
        assert child in below
        assert all_gone(server, below)
    assert rows(home, OUTCOMES) == [("acme.wide/hold", "cancelled", "scope_closed")]


@pytest.mark.requirement("RK-MCP-049", "RK-MCP-051")
def test_an_outcome_of_which_nobody_read_the_end_stays_committed(home: InstalledHome) -> None:
    with client(home, filling(home), reads=True) as (process, server):
        below = family(server)
        os.kill(process, signal.SIGKILL)
        assert all_gone(server, below)
    assert rows(home, OUTCOMES) == [("acme.wide/fill", "succeeded", None)]


@pytest.mark.requirement("RK-MCP-050")
def test_a_client_that_comes_back_is_told_and_made_nothing_of_what_it_asked_before(
    home: InstalledHome,
) -> None:
    with client(home, holding(home, 7)) as (process, server):
        child = int((home.place / "told").read_text())
        os.kill(process, signal.SIGKILL)
        assert all_gone(server, [child])
    before = rows(home, OUTCOMES)
    with RawClient(home) as again:
        again.send(line(cancel(7)).rstrip())  # of another connection: it names nothing here
        again.send(line(request("server/discover", 7)).rstrip())
        first = again.receive()
        assert (first["id"], "supportedVersions" in first["result"]) == (7, True)
        assert again.call("acme-wide-repeat", {"words": "new"})["outcome"] == "succeeded"
        assert family(again.pid) != []
    assert (again.status, again.errors) == (0, b"")
    assert before == [("acme.wide/hold", "cancelled", "scope_closed")]
    assert rows(home, OUTCOMES) == [*before, ("acme.wide/repeat", "succeeded", None)]


@pytest.mark.requirement("RK-MCP-051", "RK-MCP-033")
@pytest.mark.parametrize("late", [False, True], ids=["before its response waits", "while its response waits"])
def test_an_outcome_whose_response_is_withdrawn_stays_committed(
    wide: InstalledHome, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invocation, "run", lambda *_given, **_more: succeeded())
    store = Store(open_home(wide.path, create=False))
    endpoint = EndpointHost(Host(store, cast(Any, object())), attach(store, "desk", "rukh"))
    talk = Talk(cast(Any, endpoint))
    talk.send(request("tools/call", name=named(talk, "acme-wide-repeat"), arguments={"words": "x"}))
    call = talk.started[0]
    before = store.database.rows(OUTCOMES)
    call.line = talk.adapter.invoke(call.resolved, call.cancel)
    if late:
        talk.session.finished(call, talk.now)
    talk.send(cancel(1))
    if not late:
        talk.session.finished(call, talk.now)
    assert (talk.taken(), talk.session.idle) == ([], True)
    assert store.database.rows(OUTCOMES) == [*before, ("acme.wide/repeat", "succeeded", None)]
    store.close()


def named(talk: Talk, slug: str) -> str:
    """The name of a tool of either page."""
    page = talk.ask(request("tools/list", "names"))[0]["result"]
    tools = (
        page["tools"]
        + talk.ask(request("tools/list", "names", cursor=page["nextCursor"]))[0]["result"]["tools"]
    )
    return next(str(tool["name"]) for tool in tools if tool["name"].startswith(f"{slug}__"))


@pytest.mark.requirement("RK-MCP-036", "RK-MCP-033")
def test_a_command_that_blocks_freezes_neither_lists_nor_calls_nor_its_own_cancellation(
    home: InstalledHome,
) -> None:
    with RawClient(home) as one:
        listed = one.names()
        one.send(line(holding(home, "blocks")).rstrip())
        child = int((home.place / "told").read_text())
        assert one.names() == listed
        assert one.call("acme-wide-repeat", {"words": "x"})["outcome"] == "succeeded"
        one.send(line(cancel("blocks")).rstrip())
        assert gone(child, PATIENCE)
        assert "result" in one.request("server/discover")
    assert (one.status, one.errors) == (0, b"")
    assert [row[1:] for row in rows(home, OUTCOMES)] == [("cancelled", "caller"), ("succeeded", None)]


# Memory.

LIST = line(request("tools/list", "i" * 1000))
# The queue, what is held unanswered, one read and one page in the making; the rest is what an allocator keeps.
BOUND_KB = 12 * 1024


def peak(pid: int) -> int:
    """The most memory that the process ever had, in KiB."""
    found = re.search(rb"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_bytes(), re.MULTILINE)
    return int(found.group(1)) if found else 0


def watched(pid: int, waiting: select.poll) -> int:
    """The peak of the process, looked at until it reads again or has closed its input."""
    most = 0
    for _ in range(PATIENCE * 100):
        most = max(most, peak(pid))
        if waiting.poll(10):
            return most
    raise AssertionError("the server neither reads nor ends")


@pytest.mark.requirement("RK-MCP-008", "RK-MCP-009", "RK-MCP-039")
def test_a_client_that_writes_and_never_reads_costs_bounded_memory_and_then_its_connection(
    wide: InstalledHome,
) -> None:
    with RawClient(wide) as one:
        one.names()
        before, most, written = peak(one.pid), 0, 0
        stdin, _ = one.streams
        os.set_blocking(stdin, False)
        waiting = select.poll()
        waiting.register(stdin, select.POLLOUT)
        try:
            while True:
                try:
                    written += os.write(stdin, LIST * 50)
                except BlockingIOError:
                    most = max(most, watched(one.pid, waiting))
        except BrokenPipeError:
            pass
        os.set_blocking(stdin, True)
    assert one.status == 124
    assert b"2 seconds" in one.errors
    assert 100_000 < written < 4 << 20
    assert 0 < most - before < BOUND_KB
