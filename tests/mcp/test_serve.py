"""The process over real pipes: what only descriptors, threads and signals can show."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_client import PATIENCE, Pipes
from tests.support.mcp_messages import ROOT, cancel, line, request
from tests.support.mcp_port import envelope

DISCOVER = request("server/discover", "d")


def call(pipes: Pipes, id: Any, command: str, **arguments: Any) -> dict[str, Any]:
    """A call by its present name."""
    return request("tools/call", id, name=pipes.names()[command], arguments=arguments)


def outcome(answer: dict[str, Any]) -> Any:
    """The envelope of a result."""
    return answer["result"]["structuredContent"]


def memory(pipes: Pipes, what: str) -> int:
    """A figure of the process in KiB."""
    status = Path(f"/proc/{pipes.process.pid}/status").read_text(encoding="ascii")
    found = re.search(rf"^{what}:\s+(\d+) kB$", status, re.MULTILINE)
    assert found
    return int(found.group(1))


@pytest.mark.requirement("RK-MCP-001")
def test_a_client_discovers_lists_and_calls() -> None:
    with Pipes() as pipes:
        assert pipes.ask(DISCOVER)["result"]["capabilities"] == {"tools": {}}
        answer = pipes.ask(call(pipes, 1, "echo", text="\U0001f600\u2028"))
        assert outcome(answer) == envelope("succeeded", data={"arguments": {"text": "\U0001f600\u2028"}})


@pytest.mark.requirement("RK-MCP-002")
def test_a_banner_of_an_extension_never_reaches_the_protocol() -> None:
    with Pipes() as pipes:
        assert outcome(pipes.ask(call(pipes, 1, "print")))["outcome"] == "succeeded"
        told = pipes.event("finished print succeeded")
        assert told == ["print: a banner", "write: a banner", "invoked print", "finished print succeeded"]
        pipes.stdin.close()
        assert pipes.rest() == b""


@pytest.mark.requirement("RK-MCP-002")
def test_no_child_of_the_server_has_the_protocol_streams() -> None:
    program = (
        "import os, subprocess, sys\n"
        "from rukh.mcp.serve import claim_stdio\n"
        "streams = claim_stdio()\n"
        "here = [os.fstat(descriptor) for descriptor in streams]\n"
        "kinds = [(status.st_dev, status.st_ino) for status in here]\n"
        'child = \'import os, sys\\nfor name in os.listdir("/proc/self/fd"):\\n try: s = os.fstat(int(name))\\n'
        " except OSError: continue\\n print(s.st_dev, s.st_ino, file=sys.stderr)'\n"
        "done = subprocess.run(\n"
        " [sys.executable, '-c', child], stderr=subprocess.PIPE, text=True, check=True, close_fds=False)\n"
        "found = done.stderr\n"
        "seen = [tuple(map(int, line.split())) for line in found.splitlines()]\n"
        "os.write(streams[1], repr([kind in seen for kind in kinds]).encode())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, check=True
    )
    assert done.stdout == b"[False, False]"


@pytest.mark.requirement("RK-MCP-001")
@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_server_without_its_streams_says_so(closed: str) -> None:
    program = "from rukh.mcp.serve import claim_stdio; claim_stdio()"
    command = f'exec "$0" -c "$1" {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, program],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert "RKM014" in done.stderr.splitlines()[-1]


@pytest.mark.requirement("RK-MCP-036", "RK-MCP-033")
def test_a_call_that_waits_holds_up_neither_lists_nor_calls_nor_its_own_cancellation() -> None:
    with Pipes() as pipes:
        pipes.send(call(pipes, 1, "wait"))
        pipes.event("invoked wait")
        assert pipes.ask(DISCOVER)["id"] == "d"
        assert outcome(pipes.ask(call(pipes, 2, "echo")))["outcome"] == "succeeded"
        pipes.send(cancel(1))
        assert pipes.event("cancelled caller")
        assert pipes.ask(request("server/discover", "last"))["id"] == "last"


@pytest.mark.requirement("RK-MCP-035")
def test_the_seventeenth_call_is_busy_and_the_sixteen_go_on() -> None:
    with Pipes() as pipes:
        message = call(pipes, 0, "wait")
        for number in range(17):
            pipes.send({**message, "id": number})
        busy = pipes.receive("tools/call")
        assert (busy["id"], busy["error"]["data"]) == (16, {"code": "busy"})
        for number in range(16):
            pipes.send(cancel(number))
            pipes.event("cancelled caller")
        assert pipes.ask(DISCOVER)["id"] == "d"


@pytest.mark.requirement("RK-MCP-036")
def test_a_call_that_breaks_is_answered_and_tells_the_owner_alone() -> None:
    with Pipes() as pipes:
        answer = pipes.ask(call(pipes, 1, "crash"))
        assert answer["error"] == {
            "code": -32603,
            "data": {"code": "internal"},
            "message": "the host failed in this call",
        }
        assert pipes.event("ZeroDivisionError: crash")
        assert pipes.ask(DISCOVER)["id"] == "d"


@pytest.mark.requirement("RK-MCP-038")
def test_requests_right_before_the_end_of_input_are_all_answered() -> None:
    with Pipes() as pipes:
        message = call(pipes, 0, "echo")
        pipes.send(*({**message, "id": number} for number in range(10)), DISCOVER)
        pipes.stdin.close()
        answers = [pipes.receive() for _ in range(11)]
        assert sorted(str(answer["id"]) for answer in answers) == sorted([*map(str, range(10)), "d"])
        assert (pipes.rest(), pipes.ended()) == (b"", 0)


@pytest.mark.requirement("RK-MCP-038")
def test_a_last_line_without_lf_is_told_and_the_server_ends() -> None:
    with Pipes() as pipes:
        pipes.send(DISCOVER, b'{"jsonrpc":')
        pipes.stdin.close()
        assert pipes.receive()["id"] == "d"
        told = pipes.receive()
        assert ("id" in told, told["error"]["data"]["code"]) == (False, "RKM002")
        assert pipes.ended() == 0


def test_a_call_that_is_never_launched_does_not_keep_the_lines_behind_it() -> None:
    with Pipes() as pipes:
        pipes.send(call(pipes, 1, "wait"), call(pipes, 2, "echo"))
        assert pipes.receive()["id"] == 2


SIGNALS = {"SIGTERM": (signal.SIGTERM, 125), "SIGINT": (signal.SIGINT, 130)}


@pytest.mark.requirement("RK-MCP-039", "RK-MCP-040")
@pytest.mark.parametrize(("number", "status"), SIGNALS.values(), ids=SIGNALS)
def test_a_signal_stops_the_calls_delivers_their_outcomes_and_ends_the_server(
    number: int, status: int
) -> None:
    with Pipes() as pipes:
        pipes.send(call(pipes, 1, "wait"))
        pipes.event("invoked wait")
        pipes.process.send_signal(number)
        assert outcome(pipes.receive("tools/call")) == envelope("cancelled", code="scope_closed")
        assert (pipes.rest(), pipes.ended()) == (b"", status)


@pytest.mark.requirement("RK-MCP-039")
@pytest.mark.parametrize(("number", "status"), SIGNALS.values(), ids=SIGNALS)
def test_a_signal_ends_a_server_that_does_nothing(number: int, status: int) -> None:
    with Pipes() as pipes:
        pipes.ask(DISCOVER)
        pipes.process.send_signal(number)
        assert (pipes.rest(), pipes.ended()) == (b"", status)


@pytest.mark.requirement("RK-MCP-039", "RK-MCP-038")
def test_a_signal_ends_a_drain() -> None:
    with Pipes() as pipes:
        pipes.send(call(pipes, 1, "wait"))
        pipes.event("invoked wait")
        pipes.stdin.close()
        pipes.process.send_signal(signal.SIGTERM)
        assert outcome(pipes.receive("tools/call"))["reason"]["code"] == "scope_closed"
        assert pipes.ended() == 125


@pytest.mark.requirement("RK-MCP-039")
def test_a_client_that_goes_away_closes_the_scope_of_its_calls() -> None:
    with Pipes() as pipes:
        pipes.send(call(pipes, 1, "wait"))
        pipes.event("invoked wait")
        pipes.stdout.close()
        assert pipes.event("cancelled scope_closed")
        assert pipes.ended() == 125


@pytest.mark.requirement("RK-MCP-039")
def test_a_client_that_dies_ends_its_server() -> None:
    with Pipes() as pipes:
        pipes.send(call(pipes, 1, "wait"))
        pipes.event("invoked wait")
        pipes.stdin.close()
        pipes.stdout.close()
        assert pipes.event("cancelled scope_closed")
        assert pipes.ended() == 125


@pytest.mark.requirement("RK-MCP-004", "RK-MCP-039")
def test_half_a_line_closes_the_transport_after_its_deadline() -> None:
    with Pipes() as pipes:
        pipes.send(call(pipes, 1, "wait"))
        pipes.event("invoked wait")
        pipes.send(b'{"jsonrpc":"2.0",')
        assert pipes.rest() == b""
        assert pipes.event("cancelled scope_closed")
        assert pipes.ended() == 124


def _flood(pipes: Pipes, message: bytes) -> None:
    """Write until the server no longer reads and goes."""
    try:
        while True:
            pipes.send(message * 100)
    except OSError:
        return


@pytest.mark.requirement("RK-MCP-008", "RK-MCP-009", "RK-MCP-039")
def test_a_client_that_stops_reading_costs_bounded_memory_and_then_its_connection() -> None:
    with Pipes("2000") as pipes:
        pipes.ask(request("tools/list"))
        before = memory(pipes, "VmHWM")
        writer = threading.Thread(target=_flood, args=(pipes, line(request("tools/list", "i" * 1000))))
        writer.start()
        ended = os.pidfd_open(pipes.process.pid)
        readable, _, _ = select.select([ended], [], [], PATIENCE)
        assert readable
        os.close(ended)
        after = pipes.event("status 124")
        writer.join()
        assert pipes.ended() == 124
        peak = next(int(told.split()[1]) for told in after if told.startswith("VmHWM"))
        assert peak - before < 16 * 1024


@pytest.mark.requirement("RK-MCP-008")
def test_a_client_that_reads_slowly_gets_every_answer() -> None:
    with Pipes("2000") as pipes:
        messages = [line(request("tools/list", number)) for number in range(400)]
        writer = threading.Thread(target=lambda: pipes.send(*messages))
        writer.start()
        answers = [pipes.receive("tools/list")["id"] for _ in range(400)]
        writer.join()
        assert answers == list(range(400))


@pytest.mark.requirement("RK-MCP-036", "RK-MCP-012")
def test_two_thousand_calls_leave_descriptors_and_threads_as_they_were() -> None:
    with Pipes() as pipes:
        message = call(pipes, 0, "echo")
        own = Path(f"/proc/{pipes.process.pid}")
        before = len(list((own / "fd").iterdir()))
        for start in range(0, 2000, 16):
            pipes.send(*({**message, "id": start + number} for number in range(16)))
            assert len({pipes.receive()["id"] for _ in range(16)}) == 16
            for _ in range(16):
                pipes.event("finished echo succeeded")
        assert len(list((own / "fd").iterdir())) == before
        pipes.ask(DISCOVER)
        assert len(list((own / "task").iterdir())) <= 1 + 16  # those that were busy at once are kept
