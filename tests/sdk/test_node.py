"""Extensions in JavaScript as authors write them, by the host's own path, and their module against played hosts."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.children import Meeting, called, cancelled_once_there, execute, verdict
from tests.support.languages import (
    DECLARED,
    EXECUTE,
    HELLO,
    LARGEST,
    SDK,
    TEXT,
    node_function,
    node_script,
    played,
)


@pytest.mark.requirement("RK-AUTHOR-002")
def test_inputs_arrive_by_id_and_the_data_comes_back_as_it_is(tmp_path: Path) -> None:
    inputs = {
        "title": 'e\u0301\u2028\u0085𝄞"\\',
        "n": -0.5,
        "big": 1e20,
        "whole": -LARGEST,
        "tags": ["", "--x", "{}"],
        "on": True,
    }
    body = """
const { title, n, big, whole, tags, on } = inputs;
if (big !== 1e20 || !Number.isSafeInteger(whole) || on !== true) throw new Error("another value");
return { text: title, number: n, integer: whole, list: tags, flag: on };
"""
    report = called(node_function(tmp_path, body), request=execute(inputs), declared=DECLARED)

    data = {
        "text": inputs["title"],
        "number": -0.5,
        "integer": -LARGEST,
        "list": inputs["tags"],
        "flag": True,
    }
    assert (("succeeded", ""), 0, False) == (verdict(report), report.exit_status, report.wrote_stdout)
    assert {"kind": "structured", "data": data} == report.command_result


# name: (the functions given to `serve`, declared, the command result)
RESULTS: dict[str, tuple[str, dict[str, Any] | None, Any]] = {
    "text": ("add: text(() => 'milk')", TEXT, {"kind": "text", "text": "milk"}),
    "a promise of text": ("add: text(async () => 'milk')", TEXT, {"kind": "text", "text": "milk"}),
    "nothing": ("add() {}", None, None),
    "null": ("add: () => null", None, None),
    "a large number": (
        "add: () => ({number: 1e300})",
        DECLARED,
        {"kind": "structured", "data": {"number": 1e300}},
    ),
    "beyond 2^53": (
        "add: () => ({number: 1e20})",
        DECLARED,
        {"kind": "structured", "data": {"number": 1e20}},
    ),
    "zero": ("add: () => ({number: -0})", DECLARED, {"kind": "structured", "data": {"number": 0}}),
    "a big integer": (
        f"add: () => ({{integer: {LARGEST}n}})",
        DECLARED,
        {"kind": "structured", "data": {"integer": LARGEST}},
    ),
    "the one of two": (
        "remove: text(() => 'x'), add: text(() => 'milk')",
        TEXT,
        {"kind": "text", "text": "milk"},
    ),
}


@pytest.mark.requirement("RK-AUTHOR-002", "RK-AUTHOR-005")
@pytest.mark.parametrize("name", RESULTS)
def test_what_the_function_returns_is_reported_in_the_declared_kind(tmp_path: Path, name: str) -> None:
    functions, declared, expected = RESULTS[name]
    source = f'import {{ serve, text }} from "./rukh_sdk.mjs";\nserve({{ {functions} }});\n'
    report = called(node_script(tmp_path, source), declared=declared)

    assert (("succeeded", ""), expected) == (verdict(report), report.command_result)


# name: (body of the function, its message, exit status)
FAILURES: dict[str, tuple[str, str, int]] = {
    "Failed": ("throw new Failed('no milk');", "no milk", 1),
    "Failed with a code": ("throw new Failed('no milk', 63);", "no milk", 63),
    "Failed with another code": ("throw new Failed('x', 64);", "RangeError: an exit code is 1 to 63, not 64", 1),
    "an error": ("throw new TypeError('milk');", "TypeError: milk", 1),
    "no error": ("throw 'milk';", "thrown: milk", 1),
    "half a character": ("throw new Error('\\ud800');", "Error: \ufffd", 1),
    "exit 5": ("process.exit(5);", "exit status 5", 5),
    "exit 64": ("process.exit(64);", "exit status 64", 1),
    "exit 255": ("process.exit(255);", "exit status 255", 1),
    "an exit code that was left": ("process.exitCode = 7; return {};", "exit status 7", 7),
    "a promise that nobody keeps": ("await new Promise(() => {});", "the function never settled", 1),
    "a rejection that nobody takes": ("Promise.reject(new Error('loose')); return {};", "Error: loose", 1),
    "an error behind the result": ("setTimeout(() => { throw new Error('late'); }); return {};", "Error: late", 1),
    "not finite": ("return { number: NaN };", "TypeError: NaN is no JSON number at /commandResult/data/number", 1),
    "infinite": ("return { number: 1 / 0 };", "TypeError: Infinity is no JSON number", 1),
    "undefined": ("return { text: undefined };", "TypeError: undefined is not a JSON value", 1),
    "a hole": ("return { list: [, 'x'] };", "TypeError: undefined is not a JSON value at /", 1),
    "an instance": ("return { text: new Date() };", "TypeError: Date is not a JSON value", 1),
    "a function": ("return { text() {} };", "TypeError: function is not a JSON value", 1),
    "half a character in a result": ("return { text: '\\udc00' };", "TypeError: half a character stands in a text", 1),
    "half a character in a name": ("return { '\\udc00': 1 };", "TypeError: half a character stands in a text", 1),
    "a big integer beyond": ("return { integer: 2n ** 53n };", "TypeError: 9007199254740992 lies beyond 2^53-1", 1),
}  # fmt: skip


@pytest.mark.requirement("RK-AUTHOR-004", "RK-AUTHOR-005")
@pytest.mark.parametrize("name", FAILURES)
def test_whatever_ends_the_function_is_reported(tmp_path: Path, name: str) -> None:
    body, message, status = FAILURES[name]
    report = called(node_function(tmp_path, body), declared=DECLARED)

    assert (("command_failed", "command"), status) == (verdict(report), report.exit_status)
    assert (report.reason or {})["message"].startswith(message)
    own = body.startswith(("throw new Failed('no", "process."))
    assert own is (report.diagnostics["stderr"][0] == b"")


# name: (whole script, its message)
SCRIPTS = {
    "no call of serve": ('import "./rukh_sdk.mjs";', "the script has ended without a call of serve"),
    "an error in front of serve": (
        'import { serve } from "./rukh_sdk.mjs";\nthrow new Error("top");',
        "Error: top",
    ),
    "no such function": (
        'import { serve } from "./rukh_sdk.mjs";\nserve({ remove() {} });',
        "Error: no function is given for the command add",
    ),
    "a function of Object": (
        'import { serve } from "./rukh_sdk.mjs";\nserve({ __proto__: { add: () => ({}) } });',
        "Error: no function is given for the command add",
    ),
    "an exit at once": ('import "./rukh_sdk.mjs";\nprocess.exit(9);', "exit status 9"),
}


@pytest.mark.requirement("RK-AUTHOR-004")
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_that_never_calls_the_function_says_why(tmp_path: Path, name: str) -> None:
    source, message = SCRIPTS[name]
    report = called(node_script(tmp_path, source), declared=DECLARED)

    assert ("command_failed", "command") == verdict(report)
    assert message == (report.reason or {})["message"]


@pytest.mark.requirement("RK-AUTHOR-002")
def test_serve_is_called_once(tmp_path: Path) -> None:
    body = "try { await serve({}); } catch (error) { return { text: error.message }; }"
    report = called(node_function(tmp_path, body), declared=DECLARED)

    assert {"text": "serve is called once, with all functions of the file"} == (report.command_result or {})[
        "data"
    ]


@pytest.mark.requirement("RK-AUTHOR-004")
def test_an_exit_without_error_is_success_with_what_was_returned_before(tmp_path: Path) -> None:
    report = called(node_function(tmp_path, "process.exit(0);"), declared=None)
    assert (("succeeded", ""), None) == (verdict(report), report.command_result)
    body = "setTimeout(() => process.exit(0)); return { text: 'milk' };"
    report = called(node_function(tmp_path, body), declared=DECLARED)

    assert {"text": "milk"} == (report.command_result or {})["data"]


@pytest.mark.requirement("RK-AUTHOR-004")
def test_a_failure_may_carry_the_declared_result(tmp_path: Path) -> None:
    report = called(
        node_function(tmp_path, "throw new Failed('partly', 4, { number: 2 });"), declared=DECLARED
    )

    assert (("command_failed", "command"), 4) == (verdict(report), report.exit_status)
    assert {"kind": "structured", "data": {"number": 2}} == report.command_result


@pytest.mark.requirement("RK-AUTHOR-003")
def test_the_report_comes_when_nothing_is_left_to_do_and_behind_the_exit_handlers(tmp_path: Path) -> None:
    body = """
process.on("exit", () => context.progress(2, 2, "handler"));
setTimeout(() => context.progress(1, 2, "timer"), 10);
return {};
"""
    done = played(node_function(tmp_path, body), [HELLO, EXECUTE])

    assert 0 == done.status
    assert ["timer", "handler", None] == [frame.get("message") for frame in done.frames[1:]]
    assert {"type": "completion", "status": "succeeded"} == {
        name: done.frames[-1][name] for name in ("type", "status")
    }


@pytest.mark.requirement("RK-AUTHOR-004")
def test_a_command_that_a_signal_ends_reports_nothing(tmp_path: Path) -> None:
    report = called(
        node_function(tmp_path, "process.kill(process.pid, 'SIGKILL'); await 1;"), declared=DECLARED
    )

    assert (("execution_failed", "exited_early"), -9) == (verdict(report), report.exit_status)


@pytest.mark.requirement("RK-AUTHOR-001")
def test_no_statement_of_the_script_runs_in_a_session_that_is_cancelled_before_the_request(
    tmp_path: Path,
) -> None:
    launch = node_script(tmp_path, 'import "./rukh_sdk.mjs";\nconsole.log("ran");\n')
    done = played(launch, [HELLO, b'{"type":"cancel","cause":"caller"}'])

    assert (0, b"", b"") == (done.status, done.stdout, done.stderr)
    assert [{"type": "confirm", "session": "s", "token": "t", "sdk": "rukh-sdk-node/1"}] == done.frames


@pytest.mark.requirement("RK-AUTHOR-001")
def test_a_description_is_answered_without_running_the_script(tmp_path: Path) -> None:
    launch = node_script(tmp_path, 'import "./rukh_sdk.mjs";\nconsole.log("ran");\n')
    done = played(launch, [HELLO, b'{"type":"describe","command":"add","path":["add"]}'])

    assert (1, b"") == (done.status, done.stdout)
    assert ("completion", "command_failed") == (done.frames[1]["type"], done.frames[1]["status"])


MANY = ",".join(f'"p{number}":1' for number in range(4096))
# name: (lines of the host, what the module says of them)
BROKEN: dict[str, tuple[list[bytes], str]] = {
    "another protocol": ([b'{"type":"hello","protocol":"rukh.channel/2","session":"s"}'], 'no such "protocol"'),
    "no greeting": ([EXECUTE], "execute stands where hello belongs"),
    "two greetings": ([HELLO, HELLO], "hello stands where execute or describe or cancel belongs"),
    "an empty session": ([HELLO.replace(b'"s"', b'""')], 'no such "session"'),
    "a member twice": ([HELLO, EXECUTE.replace(b"{}", b'{"a":1,"a":1}')], '"a" twice'),
    "a member more": ([HELLO, EXECUTE[:-1] + b',"outcome":"succeeded"}'], 'no such "outcome"'),
    "a member less": ([HELLO, EXECUTE.replace(b',"supplied":[]', b"")], "lacks supplied"),
    "inputs that are a list": ([HELLO, EXECUTE.replace(b"{}", b"[]")], 'no such "inputs"'),
    "supplied numbers": ([HELLO, EXECUTE.replace(b"[]", b"[1]")], 'no such "supplied"'),
    "an unknown type": ([HELLO, b'{"type":"execution"}'], "no frame of a known type"),
    "a type of Object": ([HELLO, b'{"type":"toString"}'], "no frame of a known type"),
    "no object": ([HELLO, b"[]"], "no frame of a known type"),
    "no JSON": ([HELLO, b"{"], "text is missing"),
    "two values": ([HELLO, EXECUTE + b"{}"], "more behind the value"),
    "a byte order mark": ([b"\xef\xbb\xbf" + HELLO], "a value is missing"),
    "no UTF-8": ([HELLO, EXECUTE.replace(b"{}", b'{"a":"\xff"}')], "not valid"),
    "half a character": ([HELLO, EXECUTE.replace(b"{}", b'{"a":"\\ud800"}')], "a half character or NUL"),
    "NUL": ([HELLO, EXECUTE.replace(b"{}", b'{"a":"\\u0000"}')], "a half character or NUL"),
    "a rounded integer": ([HELLO, EXECUTE.replace(b"{}", b'{"a":9007199254740993}')], "a number that is not exact"),
    "an infinite number": ([HELLO, EXECUTE.replace(b"{}", b'{"a":1e999}')], "a number that is not exact"),
    "a number that vanishes": ([HELLO, EXECUTE.replace(b"{}", b'{"a":1e-999}')], "a number that is not exact"),
    "a leading zero": ([HELLO, EXECUTE.replace(b"{}", b'{"a":01}')], "} is missing"),
    "NaN": ([HELLO, EXECUTE.replace(b"{}", b'{"a":NaN}')], "a value is missing"),
    "a raw tab": ([HELLO, EXECUTE.replace(b"{}", b'{"a":"\t"}')], "text is missing"),
    "too deep": ([HELLO, EXECUTE.replace(b"{}", b'{"a":' + b"[" * 23 + b"]" * 23 + b"}")], "too many levels"),
    "too many": ([HELLO, EXECUTE.replace(b"{}", f"{{{MANY}}}".encode())], "too many members"),
    "too large": ([HELLO, EXECUTE.replace(b"{}", b'{"a":"' + b"x" * 262_144 + b'"}')], "too large"),
}  # fmt: skip


@pytest.mark.requirement("RK-AUTHOR-006")
@pytest.mark.parametrize("name", BROKEN)
def test_a_host_that_breaks_the_protocol_gets_no_report(tmp_path: Path, name: str) -> None:
    lines, said = BROKEN[name]
    launch = node_script(tmp_path, 'import "./rukh_sdk.mjs";\nconsole.log("ran");\n')
    done = played(launch, lines, ended=True)

    assert (1, b"") == (done.status, done.stdout)
    assert said in done.stderr.decode()
    assert [] == [frame for frame in done.frames if frame["type"] == "completion"]


# Siblings of the lines above that differ in one thing and are served.
SERVED = {
    "escapes and spaces": (b' {"a" : "\\u00e9\\ud834\\udd1e\\n" }\t', {"a": "é𝄞\n"}),
    "the largest integers": (b'{"a":9007199254740991,"b":-9007199254740991}', {"a": LARGEST, "b": -LARGEST}),
    "an integer with a point": (b'{"a":1.0,"b":1e2,"c":-0}', {"a": 1, "b": 100, "c": 0}),
    "a canonical large number": (b'{"a":100000000000000000000}', {"a": 1e20}),
    "names of Object": (
        b'{"__proto__":{"x":1},"constructor":2,"hasOwnProperty":3}',
        {"__proto__": {"x": 1}, "constructor": 2, "hasOwnProperty": 3},
    ),
    "separators of lines": ('{"a":"\u2028\u2029\u0085"}'.encode(), {"a": "\u2028\u2029\u0085"}),
    "just deep enough": (b'{"a":' + b"[" * 22 + b"]" * 22 + b"}", None),
    "just large enough": (b'{"a":"' + b"x" * 200_000 + b'"}', {"a": "x" * 200_000}),
}


@pytest.mark.requirement("RK-AUTHOR-006", "RK-AUTHOR-002")
@pytest.mark.parametrize("name", SERVED)
def test_whatever_is_within_the_protocol_is_read(tmp_path: Path, name: str) -> None:
    inputs, expected = SERVED[name]
    source = 'import { serve } from "./rukh_sdk.mjs";\nserve({ add: (inputs) => inputs });\n'
    done = played(node_script(tmp_path, source), [HELLO, EXECUTE.replace(b"{}", inputs)])

    assert (0, b"") == (done.status, done.stderr)
    if expected is not None:
        assert expected == done.frames[-1]["commandResult"]["data"]


WAITING = "const first = await context.operation('x/1', 'r', {}); return { text: first.status };"
# What may not come while an operation is awaited, and what may.
ANSWERS = {
    "of another number": (b'{"type":"operation_result","n":2,"status":"done"}', "operation_result was not to come now"),
    "of no known status": (b'{"type":"operation_result","n":1,"status":"fine"}', 'no such "status"'),
    "a second request": (EXECUTE, "execute was not to come now"),
    "a second cancel": (b'{"type":"cancel","cause":"owner"}\n{"type":"cancel","cause":"owner"}', "cancel was not to"),
    "of no known cause": (b'{"type":"cancel","cause":"boredom"}', 'no such "cause"'),
}  # fmt: skip


@pytest.mark.requirement("RK-AUTHOR-006")
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_does_not_belong_there_ends_the_process(tmp_path: Path, name: str) -> None:
    line, said = ANSWERS[name]
    done = played(node_function(tmp_path, WAITING), [HELLO, EXECUTE], answers=[line], ended=True)

    assert (1, "operation") == (done.status, done.frames[-1]["type"])
    assert said in done.stderr.decode()


@pytest.mark.requirement("RK-AUTHOR-006")
def test_a_host_that_goes_while_an_operation_waits_ends_the_process(tmp_path: Path) -> None:
    done = played(node_function(tmp_path, WAITING), [HELLO, EXECUTE], ended=True)

    assert (1, "operation") == (done.status, done.frames[-1]["type"])
    assert b"the host has gone" in done.stderr


@pytest.mark.requirement("RK-AUTHOR-007")
def test_a_cancellation_that_comes_while_an_operation_waits_is_not_lost(tmp_path: Path) -> None:
    asked = WAITING.partition(" return")[0]
    body = f"{asked} return {{ list: [first.status, String(first.data), String(context.cancelled)] }};"
    lines = [
        b'{"type":"cancel","cause":"owner"}',
        b'{"type":"operation_result","n":1,"status":"done","data":4}',
    ]
    done = played(node_function(tmp_path, body), [HELLO, EXECUTE], answers=lines)

    assert ["done", "4", "true"] == done.frames[-1]["commandResult"]["data"]["list"]


@pytest.mark.requirement("RK-AUTHOR-007")
def test_a_cancellation_that_comes_with_the_request_is_not_lost(tmp_path: Path) -> None:
    launch = node_function(
        tmp_path, "return { list: [context.cancelled, context.signal.aborted].map(String) };"
    )
    done = played(launch, [HELLO, EXECUTE, b'{"type":"cancel","cause":"owner"}'])

    assert ["true", "true"] == done.frames[-1]["commandResult"]["data"]["list"]


@pytest.mark.requirement("RK-AUTHOR-007")
def test_the_context_tells_what_was_supplied_and_operations_go_one_at_a_time(tmp_path: Path) -> None:
    body = """
context.progress(1, 2, "half");
context.progress(0.5);
const asked = [1, 2, 3].map(() => context.operation("files.read/1", "notes", { path: "x" }));
const answers = await Promise.all(asked);
const seen = [context.cancelled, context.signal.aborted, context.command];
return { list: [...[...context.supplied].sort(), ...answers.map((answer) => answer.status), ...seen.map(String)] };
"""
    report = called(node_function(tmp_path, body), request=execute({"b": 1, "a": 2}), declared=DECLARED)

    assert ("succeeded", "") == verdict(report)
    expected = ["a", "b", "unavailable", "unavailable", "unavailable", "false", "false", "add"]
    assert expected == (report.command_result or {})["data"]["list"]


# How a command looks for the cancellation: each ends well when it has come.
LOOKS = {
    "by looking": "while (!context.cancelled) Atomics.wait(cell, 0, 0, 5);",
    "by its signal": "await new Promise((end) => context.signal.addEventListener('abort', end, { once: true }));",
    "by a timer with the signal": "await sleep(60000, null, { signal: context.signal }).catch(() => undefined);",
}


@pytest.mark.requirement("RK-AUTHOR-007")
@pytest.mark.parametrize("name", LOOKS)
def test_a_command_that_looks_for_the_cancellation_ends_well(tmp_path: Path, name: str) -> None:
    meeting = Meeting(tmp_path / "fifo")
    source = f"""
import {{ writeFileSync }} from "node:fs";
import {{ setTimeout as sleep }} from "node:timers/promises";
import {{ serve }} from "./rukh_sdk.mjs";
const cell = new Int32Array(new SharedArrayBuffer(4));
await serve({{ add: async (inputs, context) => {{
  console.log(context.cancelled);
  writeFileSync({meeting.path!r}, "here\\n");
  const alive = setInterval(() => undefined, 1000);
  {LOOKS[name]}
  clearInterval(alive);
  console.log(context.cancelled, context.signal.aborted);
  return {{}};
}} }});
"""
    launch = node_script(tmp_path, source)
    report = cancelled_once_there(launch, meeting, DECLARED)

    assert (("cancelled", "owner"), 0) == (verdict(report), report.exit_status)
    assert b"false\ntrue true\n" == report.diagnostics["stdout"][0]


@pytest.mark.requirement("RK-AUTHOR-007")
def test_progress_that_the_host_is_slow_to_read_is_not_lost(tmp_path: Path) -> None:
    """The channel holds far less than this, and does not block once the command has looked for a cancellation."""
    body = """
context.cancelled;
for (let n = 1; n <= 2000; n += 1) context.progress(n, 2000, "x".repeat(500));
return {};
"""
    done = played(node_function(tmp_path, body), [HELLO, EXECUTE])

    assert list(range(1, 2001)) == [frame["progress"] for frame in done.frames[1:-1]]
    assert "succeeded" == done.frames[-1]["status"]


@pytest.mark.requirement("RK-AUTHOR-008")
def test_what_an_extension_starts_has_no_channel(tmp_path: Path) -> None:
    body = """
const { execFileSync } = await import("node:child_process");
const look = "for d in 2 3 4; do readlink /proc/self/fd/$d || echo none; done";
return { list: execFileSync("/bin/sh", ["-c", look], { encoding: "utf8" }).trim().split("\\n") };
"""
    report = called(node_function(tmp_path, body), declared=DECLARED)
    stderr, *private = (report.command_result or {})["data"]["list"]

    assert ("socket", ["none", "none"]) == (stderr[:6], private)


@pytest.mark.requirement("RK-AUTHOR-009")
def test_the_module_is_one_file_that_imports_nothing_but_node() -> None:
    source = (SDK / "node" / "rukh_sdk.mjs").read_text(encoding="utf-8")
    imported = re.findall(r'(?:from|import|require)\s*\(?\s*"([^"]+)"', re.sub(r"//[^\n]*", "", source))

    assert ["node:fs", "node:net"] == imported
    assert [SDK / "node" / "rukh_sdk.mjs"] == list((SDK / "node").iterdir())


def test_without_a_host_the_module_says_that_it_needs_one(tmp_path: Path) -> None:

    launch = node_script(tmp_path, 'import "./rukh_sdk.mjs";\nconsole.log("ran");\n')
    done = subprocess.run(launch.argv, capture_output=True, stdin=subprocess.DEVNULL, check=False)

    assert (1, b"") == (done.returncode, done.stdout)
    assert b"is started by a host" in done.stderr
