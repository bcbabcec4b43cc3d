"""What children do that other tools came to grief over: floods, bytes that are no text, results that are none.

One native child without our SDK writes exactly what a test asks for, on either surface.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import echo
from tests.support.children import Meeting, readable
from tests.support.families import family
from tests.support.frames import PYTHON
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.rawmcp import RawClient
from tests.support.stubs import apply, owner_text, rows

MIB = 1024 * 1024

CHILD = (
    f"#!{PYTHON} -IS\n"
    + r"""
import json, os, signal, sys

token = b""
while data := os.read(4, 4096):
    token += data
lines = os.fdopen(os.dup(3), "rb")
hello = json.loads(lines.readline())
confirm = {"type": "confirm", "session": hello["session"], "token": token.decode(), "sdk": "raw/1"}

def everything(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]

everything(3, json.dumps(confirm).encode() + b"\n")
given = json.loads(lines.readline())["inputs"]

def flood(descriptor, told):
    "Sixteen MiB at a time, for ever; after each piece the sum of them to whoever listens."
    count = 0
    while True:
        for _ in range(256):
            everything(descriptor, b"x" * 65536)
        count += 16
        everything(told, b"%d\n" % count)

if "out" in given:
    everything(1, bytes.fromhex(given["out"]))
if "err" in given:
    everything(2, bytes.fromhex(given["err"]) * given["times"])
if "flood" in given:
    flood(given["stream"], os.open(given["flood"], os.O_WRONLY))
for line in given["lines"]:
    everything(3, line.encode() + b"\n")
if given["stay"]:
    signal.pause()  # a host that refuses what was written ends this process
os._exit(given["code"])
"""
)


def _option(identity: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"id": identity, "form": "option", "names": [f"--{identity}"], "type": {"kind": kind}, **more}


def _commands() -> list[dict[str, Any]]:
    lines = {"kind": "list", "items": {"kind": "string"}, "maxItems": 8}
    parameters = [
        _option("out", "string"),
        _option("err", "string"),
        _option("times", "integer", default=1),
        _option("flood", "string"),
        _option("stream", "integer", default=1),
        _option("code", "integer", default=0),
        {"id": "stay", "form": "flag", "names": ["--stay"], "type": {"kind": "boolean"}, "default": False},
        {"id": "lines", "form": "option", "names": ["--line"], "type": lines, "default": []},
    ]
    results = {"text": {"kind": "text"}, "data": echo.structured({"n": {"type": "integer"}})}
    return [
        {
            "id": name,
            "path": ["raw", name],
            "summary": f"Writes {name}",
            "parameters": parameters,
            "execute": {"mapping": {"kind": "managed", "entry": ["bin/raw"]}, "result": result},
            "machine": {"eligible": True, "requiredFeatures": ["command-result/1"]},
        }
        for name, result in results.items()
    ]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    made = InstalledHome(tmp_path_factory.mktemp("raw"), "acme.raw")
    made.install({"bin/raw": CHILD}, runtime={"kind": "native"}, commands=_commands())
    made.expose()
    return made


@pytest.fixture(scope="module")
def server(home: InstalledHome) -> Iterator[RawClient]:
    with RawClient(home) as client:
        yield client
    assert (client.status, client.errors) == (0, b"")


def agent(server: RawClient, command: str, inputs: dict[str, Any]) -> dict[str, Any]:
    return server.call(f"acme-raw-{command}", inputs)


def terminal(home: InstalledHome, command: str, inputs: dict[str, Any]) -> dict[str, Any]:
    words = ["run", f"acme.raw/{command}", "--inputs", "-", "--envelope"]
    done = home.run(*words, stdin=json.dumps(inputs).encode())
    envelope: dict[str, Any] = json.loads((done.stderr if done.returncode else done.stdout).splitlines()[-1])
    return envelope


def told(envelope: dict[str, Any]) -> tuple[str, str, Any]:
    """Outcome, code of the reason, and the result."""
    return envelope["outcome"], envelope.get("reason", {}).get("code", ""), envelope.get("commandResult")


def report(result: str) -> str:
    return '{"type":"completion","status":"succeeded","commandResult":' + result + "}"


def text(value: str) -> str:
    return report('{"kind":"text","text":' + value + "}")


def data(value: str) -> str:
    return report('{"kind":"structured","data":{"n":' + value + "}}")


def progress(message: str) -> str:
    return '{"type":"progress","progress":1,"message":' + message + "}"


DONE = text('"done"')
GOOD = ("succeeded", "", {"kind": "text", "text": "done"})
NUMBER = ("succeeded", "", {"kind": "structured", "data": {"n": 9007199254740991}})

# name: (the fault; command, lines and status of the child; outcome and code; what the message names),
#       and the sibling (command, lines, status, what is told) that is one step away and goes well.
Sibling = tuple[str, list[str], int, tuple[str, str, Any]]
FAULTS: dict[str, tuple[str, list[str], int, tuple[str, str], str, Sibling]] = {
    "not a number": (
        "data", [data("NaN")], 0, ("execution_failed", "protocol_violation"), "RKC002",
        ("data", [data("9007199254740991")], 0, NUMBER),
    ),
    "infinity": (
        "data", [data("-Infinity")], 0, ("execution_failed", "protocol_violation"), "RKC002",
        ("data", [data("9007199254740991")], 0, NUMBER),
    ),
    "an integer beyond 2^53": (
        "data", [data("9007199254740992")], 0, ("execution_failed", "result_invalid"), "RKR",
        ("data", [data("9007199254740991.0")], 0, NUMBER),
    ),
    "a number beyond binary64": (
        "data", [data("1e309")], 0, ("execution_failed", "protocol_violation"), "RKC002",
        ("data", [data("9.007199254740991e15")], 0, NUMBER),
    ),
    "a schema and no result": (
        "data", ['{"type":"completion","status":"succeeded"}'], 0, ("execution_failed", "result_missing"), "",
        ("data", [data("9007199254740991")], 0, NUMBER),
    ),
    "a schema and a text": (
        "data", [DONE], 0, ("execution_failed", "result_invalid"), "RKR",
        ("text", [DONE], 0, GOOD),
    ),
    "a schema and null": (
        "data", [report("null")], 0, ("execution_failed", "result_invalid"), "RKR022",
        ("data", [data("9007199254740991")], 0, NUMBER),
    ),
    "a lone surrogate in a result": (
        "text", [text(r'"a\ud800"')], 0, ("execution_failed", "protocol_violation"), "RKC002",
        ("text", [text(r'"\ud83d\ude00"')], 0, ("succeeded", "", {"kind": "text", "text": "\U0001f600"})),
    ),
    "a lone surrogate in the name of a member": (
        "data", [report(r'{"kind":"structured","data":{"n":1,"\udfff":1}}')], 0,
        ("execution_failed", "protocol_violation"), "RKC002",
        ("data", [data("9007199254740991")], 0, NUMBER),
    ),
    "a lone surrogate in progress": (
        "text", [progress(r'"\udc00"'), DONE], 0, ("execution_failed", "protocol_violation"), "RKC002",
        ("text", [progress(r'"\ud83d\ude00"'), DONE], 0, GOOD),
    ),
    "a lone surrogate in a failure's message": (
        "text", [r'{"type":"completion","status":"command_failed","exitCode":3,"message":"\ud800"}'], 3,
        ("execution_failed", "protocol_violation"), "RKC002",
        ("text", ['{"type":"completion","status":"command_failed","exitCode":3,"message":"x"}'], 3,
         ("command_failed", "command", None)),
    ),
    "no report at all": (
        "text", [], 0, ("execution_failed", "exited_early"), "",
        ("text", [DONE], 0, GOOD),
    ),
    "a success with another status": (
        "text", [DONE], 3, ("execution_failed", "exit_mismatch"), "",
        ("text", [DONE], 0, GOOD),
    ),
}  # fmt: skip


@pytest.mark.requirement("RK-PAR-011", "RK-RES-016", "RK-CHAN-003")
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_result_is_told_alike_on_both_surfaces_and_harms_nobody(
    home: InstalledHome, server: RawClient, name: str
) -> None:
    command, lines, code, expected, names, sibling = FAULTS[name]
    stays = expected[1] == "protocol_violation"
    inputs = {"lines": lines, "code": code, "stay": stays} if lines else {"code": code}
    for envelope in (agent(server, command, inputs), terminal(home, command, inputs)):
        assert told(envelope) == (*expected, None)
        assert names in envelope["reason"]["message"]
    good, its_lines, its_code, answer = sibling
    for envelope in (
        agent(server, good, {"lines": its_lines, "code": its_code}),
        terminal(home, good, {"lines": its_lines, "code": its_code}),
    ):
        assert told(envelope) == answer


@pytest.mark.requirement("RK-PAR-011", "RK-RES-012")
def test_a_failure_of_a_command_with_a_schema_keeps_its_message(
    home: InstalledHome, server: RawClient
) -> None:
    """A tool with an output schema that fails: the message is there, and the envelope is valid by that schema."""
    from jsonschema import Draft202012Validator

    line = '{"type":"completion","status":"command_failed","exitCode":4,"message":"the file is locked"}'
    (tool,) = (
        each
        for each in server.request("tools/list")["result"]["tools"]
        if each["name"].startswith("acme-raw-data")
    )
    response = server.request("tools/call", name=tool["name"], arguments={"lines": [line], "code": 4})[
        "result"
    ]
    for envelope in (response["structuredContent"], terminal(home, "data", {"lines": [line], "code": 4})):
        assert (envelope["outcome"], envelope["reason"]) == (
            "command_failed",
            {"code": "command", "message": "the file is locked"},
        )
    assert response["isError"] is True
    assert "the file is locked" in response["content"][0]["text"]
    Draft202012Validator(tool["outputSchema"]).validate(response["structuredContent"])


@pytest.mark.requirement("RK-PAR-011", "RK-PAR-007")
def test_output_that_is_not_utf8_is_relayed_as_it_is_and_breaks_no_document(
    home: InstalledHome, server: RawClient
) -> None:
    noise = b"\xff\xfe\x00\xed\xa0\x80\x9b2J\r\n"
    inputs = {"out": noise.hex(), "err": noise[::-1].hex(), "lines": [DONE]}
    envelope = agent(server, "text", inputs)
    assert told(envelope) == GOOD
    kept = rows(home, "SELECT stdout, stderr FROM invocation WHERE id = ?", envelope["invocationId"])
    assert kept == [(noise, noise[::-1])]
    plain = home.run("run", "acme.raw/text", "--inputs", "-", stdin=json.dumps(inputs).encode())
    assert (plain.returncode, plain.stdout, plain.stderr) == (0, noise, noise[::-1])
    document = home.run("run", "acme.raw/text", "--inputs", "-", "--json", stdin=json.dumps(inputs).encode())
    assert (document.returncode, document.stdout) == (0, b'"done"\n')
    assert sorted(document.stderr) == sorted(noise + noise[::-1])


@pytest.mark.requirement("RK-PAR-012")
def test_a_mebibyte_without_a_newline_on_stderr_is_taken_and_only_its_beginning_kept(
    home: InstalledHome, server: RawClient
) -> None:
    inputs = {"err": (b"e" * 1024).hex(), "times": 1024, "lines": [DONE]}
    envelope = agent(server, "text", inputs)
    assert told(envelope) == GOOD
    (row,) = rows(
        home,
        "SELECT length(stderr), stderr_dropped, length(stdout) FROM invocation WHERE id = ?",
        envelope["invocationId"],
    )
    assert row == (65536, MIB - 65536, 0)
    done = home.run("run", "acme.raw/text", "--inputs", "-", "--json", stdin=json.dumps(inputs).encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b'"done"\n', b"e" * MIB)


# Floods.


def peak(process: int) -> int:
    """The most bytes that a process ever had in memory."""
    (line,) = (
        each for each in Path(f"/proc/{process}/status").read_text().splitlines() if each.startswith("VmHWM")
    )
    return int(line.split()[1]) * 1024


@pytest.fixture
def meeting(tmp_path: Path) -> Iterator[Meeting]:
    made = Meeting(tmp_path / "flood")
    yield made
    made.close()


def until(meeting: Meeting, mebibytes: int) -> None:
    """Wait until the child has written so much."""
    while int(meeting.told().split("\n")[-1]) < mebibytes:
        pass


@pytest.mark.requirement("RK-PAR-012", "RK-EXEC-031")
@pytest.mark.parametrize("stream", [1, 2], ids=["stdout", "stderr"])
def test_endless_output_costs_an_agents_host_no_memory_and_ends_with_the_cancellation(
    home: InstalledHome, meeting: Meeting, stream: int
) -> None:
    """A child that never stops writing: 128 MiB go by, the host's own processes grow by less than 4."""
    with RawClient(home) as client:
        assert told(agent(client, "text", {"out": (b"x" * 30_000).hex(), "lines": [DONE]})) == GOOD
        hosts = family(client.pid)
        before = [peak(process) for process in hosts]
        name = client.names()["acme-raw-text"]
        request = client.start("tools/call", name=name, arguments={"flood": meeting.path, "stream": stream})
        until(meeting, 128)
        grown = [after - known for after, known in zip(map(peak, hosts), before, strict=True)]
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request}}
        client.send(json.dumps(note).encode())
        assert told(agent(client, "text", {"lines": [DONE]})) == GOOD  # the other call's answer never comes
    assert max(grown) < 4 * MIB
    (row,) = rows(
        home,
        "SELECT outcome, length(stdout) + length(stderr), stdout_dropped + stderr_dropped >= ? FROM invocation "
        "WHERE outcome = 'cancelled' ORDER BY captured_ms DESC LIMIT 1",
        127 * MIB,
    )
    assert row == ("cancelled", 65536, 1)


@pytest.mark.requirement("RK-PAR-012")
def test_endless_output_ends_with_the_deadline(tmp_path: Path, meeting: Meeting) -> None:
    home = InstalledHome(tmp_path, "acme.raw")
    home.install({"bin/raw": CHILD}, runtime={"kind": "native"}, commands=_commands())
    home.expose()
    apply(home, owner_text(home, deadline="500ms"))
    assert home.run("task", "issue", "--endpoint", "desk").returncode == 0
    with RawClient(home) as client:
        envelope = agent(client, "text", {"flood": meeting.path})
        assert told(envelope) == ("cancelled", "deadline", None)
        assert told(agent(client, "text", {"lines": [DONE]})) == GOOD


@pytest.mark.requirement("RK-PAR-012")
def test_endless_output_waits_for_the_terminals_reader_and_costs_no_memory(
    home: InstalledHome, meeting: Meeting
) -> None:
    """Back-pressure: what nobody reads is not written, and what was read is not kept."""
    command = [PROGRAM, "run", "acme.raw/text", "--inputs", "-"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=home.environment()) as process:
        assert process.stdin and process.stdout and process.stderr
        try:
            process.stdin.write(json.dumps({"flood": meeting.path}).encode())
            process.stdin.close()
            output = process.stdout.fileno()
            first = os.read(output, 1)
            ahead = readable(
                meeting._descriptor, 0.3
            )  # a wait for what must not come: 16 MiB that nobody took
            before = peak(process.pid)
            left = 64 * MIB
            while left > 0:
                left -= len(os.read(output, min(left, MIB)))
            grown, written = peak(process.pid) - before, int(meeting.told().split("\n")[-1])
            process.send_signal(signal.SIGINT)
            while os.read(output, MIB):
                pass  # what it still writes until it is ended
            errors = process.stderr.read()
            status = process.wait(PATIENCE)
        finally:
            process.kill()
    assert (first, ahead, status) == (b"x", False, 130)
    assert grown < 4 * MIB
    assert written <= 64
    assert b"Traceback" not in errors
