"""Extensions in Python as their authors write them, run by the host's own path."""

from __future__ import annotations

import json
import os
import py_compile
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rukh.host.launch import bootstrap_path
from rukh.sdk.rukh_sdk import Failed, _json, _session, command
from rukh.sdk.rukh_sdk._session import Link
from tests.support.children import (
    PATIENCE,
    PYTHON,
    Meeting,
    called,
    cancelled_once_there,
    execute,
    released,
    verdict,
)
from tests.support.languages import DECLARED, TEXT


def extension(body: str, result: str = "", before: str = "") -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"import rukh_sdk, sys, os\n{before}\n@rukh_sdk.command('add'{result})\ndef add(inputs, context):\n{lines}\n"


@pytest.mark.requirement("RK-SDK-002")
def test_inputs_arrive_by_id_and_the_data_comes_back_as_it_is(tmp_path: Path) -> None:
    body = "return {'text': inputs['title'], 'number': inputs['n'], 'list': inputs['tags']}"
    inputs = {"title": 'e\u0301\u2028𝄞"\\', "n": -0.5, "tags": ["", "--x", "{}"]}
    report = called(released(tmp_path, extension(body)), request=execute(inputs), declared=DECLARED)

    data = {"text": inputs["title"], "number": -0.5, "list": inputs["tags"]}
    assert {"kind": "structured", "data": data} == report.command_result
    assert (("succeeded", ""), 0, False) == (verdict(report), report.exit_status, report.wrote_stdout)


# name: (source of the function, its result argument, declared, the command result)
RESULTS: dict[str, tuple[str, str, dict[str, Any] | None, Any]] = {
    "text": ("return 'milk'", ", result='text'", TEXT, {"kind": "text", "text": "milk"}),
    "no result": ("return None", "", None, None),
    "what is returned is not asked for": ("return 5", ", result=None", None, None),
    "a large number": (
        "return {'number': 1e300}",
        "",
        DECLARED,
        {"kind": "structured", "data": {"number": 1e300}},
    ),
}


@pytest.mark.requirement("RK-SDK-002")
@pytest.mark.parametrize("name", RESULTS)
def test_the_kind_of_the_result_is_the_decorators(tmp_path: Path, name: str) -> None:
    body, argument, declared, expected = RESULTS[name]
    report = called(released(tmp_path, extension(body, argument)), declared=declared)

    assert (("succeeded", ""), expected) == (verdict(report), report.command_result)


@pytest.mark.requirement("RK-SDK-001")
def test_a_banner_at_import_goes_to_stdout_and_the_session_stands_before_it(tmp_path: Path) -> None:
    before = "print('** banner **'); os.write(1, b'raw\\n'); print('noise', file=sys.stderr)"
    report = called(released(tmp_path, extension("return {}", before=before)), declared=DECLARED)

    assert ("succeeded", "") == verdict(report)
    assert [b"** banner **", b"raw"] == sorted(report.diagnostics["stdout"][0].splitlines())
    assert b"noise\n" == report.diagnostics["stderr"][0]


@pytest.mark.requirement("RK-SDK-001")
def test_no_line_of_an_extension_runs_in_a_session_that_is_cancelled_before_the_request(
    tmp_path: Path,
) -> None:
    """The host is played: it greets, takes the confirmation, and says cancel instead of execute."""
    launch = released(tmp_path, extension("return {}", before=f"open({str(tmp_path / 'ran')!r}, 'w')"))
    host, child = socket.socketpair()
    reader, writer = os.pipe()
    os.write(writer, b"t")
    os.close(writer)
    place = f"import os; os.dup2({child.fileno()}, 3); os.dup2({reader}, 4)"
    prepare = f"{place}; os.execv({launch.argv[0]!r}, {launch.argv!r})"
    with subprocess.Popen([PYTHON, "-c", prepare], pass_fds=[child.fileno(), reader]) as process:
        child.close()
        os.close(reader)
        host.sendall(b'{"type":"hello","protocol":"rukh.channel/1","session":"s"}\n')
        confirmation = json.loads(host.recv(4096))
        host.sendall(b'{"type":"cancel","cause":"caller"}\n')

        assert 0 == process.wait()
    assert {"type": "confirm", "session": "s", "token": "t", "sdk": "rukh-sdk-python/1"} == confirmation
    assert not (tmp_path / "ran").exists()
    host.close()


# name: (source of the function, reason's message, exit status, a line of stderr)
FAILURES: dict[str, tuple[str, str, int, bytes]] = {
    "Failed": ("raise rukh_sdk.Failed('no milk')", "no milk", 1, b""),
    "Failed with a code": ("raise rukh_sdk.Failed('no milk', exit_code=63)", "no milk", 63, b""),
    "an exception": ("return {}['x']", "KeyError: 'x'", 1, b"KeyError: 'x'"),
    "half a character": ("raise ValueError('\\ud800')", "ValueError: ?", 1, b"ValueError: \\ud800"),
    "an interrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt: ", 1, b"KeyboardInterrupt"),
    "exit 5": ("sys.exit(5)", "exit status 5", 5, b""),
    "exit 64": ("sys.exit(64)", "exit status 64", 1, b""),
    "exit with a text": ("sys.exit('that is that')", "that is that", 1, b"that is that"),
    "no JSON": (
        "return {'text': {1, 2}}",
        "TypeError: set is not a JSON value: {1, 2}",
        1,
        b"TypeError: set is not",
    ),
    "infinity": (
        "return {'number': float('inf')}",
        "ValueError: Out of range float",
        1,
        b"ValueError: Out of",
    ),
    "a lone surrogate": ("return {'text': '\\ud800'}", "UnicodeEncodeError: ", 1, b"UnicodeEncodeError"),
}


@pytest.mark.requirement("RK-SDK-004")
@pytest.mark.parametrize("name", FAILURES)
def test_whatever_is_raised_is_reported(tmp_path: Path, name: str) -> None:
    body, message, status, line = FAILURES[name]
    report = called(released(tmp_path, extension(body)), declared=DECLARED)

    assert (("command_failed", "command"), status) == (verdict(report), report.exit_status)
    assert (report.reason or {})["message"].startswith(message)
    assert line in report.diagnostics["stderr"][0]
    assert b"_session.py" not in report.diagnostics["stderr"][0]


@pytest.mark.requirement("RK-SDK-004")
def test_an_exit_without_error_is_success_without_result(tmp_path: Path) -> None:
    for body in ("sys.exit()", "sys.exit(0)"):
        assert ("succeeded", "") == verdict(called(released(tmp_path, extension(body)), declared=None))


# name: (whole source, a line of stderr)
BROKEN = {
    "a syntax error": ("def add(:\n", b"SyntaxError"),
    "a missing module": ("import nowhere\n", b"No module named 'nowhere'"),
    "no such function": ("x = 1\n", b"has no attribute 'add'"),
    "no decorator": ("def add(inputs, context): return {}\n", b"is not bound to the command add"),
    "another command": (
        extension("return {}").replace("'add'", "'remove'"),
        b"is not bound to the command add",
    ),
}


@pytest.mark.requirement("RK-SDK-002", "RK-SDK-004")
@pytest.mark.parametrize("name", BROKEN)
def test_an_extension_that_cannot_be_called_says_why(tmp_path: Path, name: str) -> None:
    source, line = BROKEN[name]
    report = called(released(tmp_path, source), declared=DECLARED)

    assert (("command_failed", "command"), 1) == (verdict(report), report.exit_status)
    assert line in report.diagnostics["stderr"][0]


@pytest.mark.requirement("RK-SDK-002")
def test_a_command_is_known_by_its_id_or_its_identity(tmp_path: Path) -> None:
    for name in ("add", "acme.notes/add"):
        launch = released(tmp_path, extension("return {'text': context.command}"))
        report = called(launch, request=execute(command=name), declared=DECLARED)

        assert {"kind": "structured", "data": {"text": name}} == report.command_result


@pytest.mark.requirement("RK-SDK-004")
def test_a_failure_may_carry_the_declared_result(tmp_path: Path) -> None:
    body = "raise rukh_sdk.Failed('partly', 4, result={'number': 2})"
    report = called(released(tmp_path, extension(body)), declared=DECLARED)

    assert (("command_failed", "command"), 4) == (verdict(report), report.exit_status)
    assert {"kind": "structured", "data": {"number": 2}} == report.command_result


@pytest.mark.requirement("RK-SDK-003")
def test_threads_exit_handlers_and_streams_come_before_the_report(tmp_path: Path) -> None:
    before = """
import atexit, threading
def late():
    go.wait()
    print('thread')
go = threading.Event()
atexit.register(lambda: print('handler', end=''))
"""
    body = "threading.Thread(target=late).start()\ngo.set()\nprint('function')\nreturn {}"
    report = called(released(tmp_path, extension(body, before=before)), declared=DECLARED)

    assert (("succeeded", ""), 0) == (verdict(report), report.exit_status)
    assert [b"function", b"handler", b"thread"] == sorted(report.diagnostics["stdout"][0].split())
    assert report.diagnostics["stdout"][0].endswith(b"handler")


@pytest.mark.requirement("RK-SDK-003")
def test_output_that_is_lost_is_no_success(tmp_path: Path) -> None:
    body = "sys.stdout.write('unflushed')\nos.dup2(os.open('/dev/full', os.O_WRONLY), 1)\nreturn {}"
    report = called(released(tmp_path, extension(body)), declared=DECLARED)

    assert ("command_failed", "command") == verdict(report)
    assert b"No space left on device" in report.diagnostics["stderr"][0]


@pytest.mark.requirement("RK-SDK-005")
def test_what_an_extension_starts_has_no_channel(tmp_path: Path) -> None:
    body = """
look = ['/bin/sh', '-c', 'for d in 1 3 4; do readlink /proc/self/fd/$d || echo none; done']
return {'list': subprocess.run(look, stdout=subprocess.PIPE, text=True, close_fds=False).stdout.split()}
"""
    report = called(released(tmp_path, extension(body, before="import subprocess")), declared=DECLARED)
    stdout, *private = (report.command_result or {})["data"]["list"]

    assert ("pipe:", ["none", "none"]) == (stdout[:5], private)


@pytest.mark.requirement("RK-SDK-006")
def test_imports_come_from_the_release_first_and_leave_nothing_in_it(tmp_path: Path) -> None:
    release = tmp_path / "release"
    (release / "parts").mkdir(parents=True)
    (release / "parts" / "__init__.py").write_text("from .inner import WORD\n")
    (release / "parts" / "inner.py").write_text("WORD = 'of the release'\n")
    (release / "colorsys.py").write_text("WORD = 'not of the library'\n")
    body = "return {'list': [parts.WORD, colorsys.WORD, sys.argv[0]]}"
    launch = released(tmp_path, extension(body, before="import parts, colorsys"))
    files = sorted(path for path in release.rglob("*"))
    report = called(launch, declared=DECLARED)

    assert {"list": ["of the release", "not of the library", "notes:add"]} == (report.command_result or {})[
        "data"
    ]
    assert files == sorted(path for path in release.rglob("*"))
    assert not (tmp_path / "cache").exists()


def cached(tmp_path: Path, source: str, mode: py_compile.PycInvalidationMode) -> Path:
    """Byte code of `source` where that of the module `notes` belongs."""
    other = tmp_path / "other.py"
    other.write_text(source)
    target = tmp_path / "cache" / f"notes.{sys.implementation.cache_tag}.pyc"
    py_compile.compile(str(other), str(target), invalidation_mode=mode, doraise=True)
    return target


UNCHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH


@pytest.mark.requirement("RK-SDK-006")
def test_cached_byte_code_is_used_where_it_fits_and_else_the_source(tmp_path: Path) -> None:
    """Byte code that differs from its source shows which of them ran."""
    launch = released(tmp_path, extension("return {'text': 'source'}"))
    code = cached(tmp_path, extension("return {'text': add.__code__.co_filename}"), UNCHECKED)

    def ran() -> str:
        text: str = (called(launch, declared=DECLARED).command_result or {})["data"]["text"]
        return text

    assert str(tmp_path / "release" / "notes.py") == ran()
    code.write_bytes(b"\0\0\0\0" + code.read_bytes()[4:])
    assert "source" == ran()
    cached(tmp_path, extension("return {'text': 'checked'}"), py_compile.PycInvalidationMode.TIMESTAMP)
    assert "source" == ran()
    code.unlink()
    assert "source" == ran()


@pytest.mark.requirement("RK-SDK-007")
def test_the_context_tells_what_was_supplied_and_what_became_of_an_operation(tmp_path: Path) -> None:
    body = """
context.progress(1, total=2, message='half')
context.progress(0.5)
answers = [context.operation('files.read/1', 'notes', {'path': 'x'}) for _ in range(2)]
seen = [str(bool(answers[0])), str(context.cancelled)]
return {'list': [*sorted(context.supplied), *(answer.status for answer in answers), *seen]}
"""
    report = called(released(tmp_path, extension(body)), request=execute({"b": 1, "a": 2}), declared=DECLARED)

    assert ("succeeded", "") == verdict(report)
    expected = ["a", "b", "unavailable", "unavailable", "False", "False"]
    assert expected == (report.command_result or {})["data"]["list"]


@pytest.mark.requirement("RK-SDK-007")
def test_a_command_that_looks_for_the_cancellation_ends_well(tmp_path: Path) -> None:
    meeting = Meeting(tmp_path / "fifo")
    body = f"""
print(context.cancelled)
with open({meeting.path!r}, 'w') as fifo:
    fifo.write('here\\n')
select.select([3], [], [], {PATIENCE})
print(context.cancelled, context.cancelled)
return {{}}
"""
    launch = released(tmp_path, extension(body, before="import select"))
    report = cancelled_once_there(launch, meeting, DECLARED)

    assert (("cancelled", "owner"), 0) == (verdict(report), report.exit_status)
    assert b"False\nTrue True\n" == report.diagnostics["stdout"][0]


@pytest.mark.requirement("RK-SDK-007")
def test_a_cancellation_that_comes_while_an_operation_waits_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The frames of the host are played into the link."""
    ours, theirs = socket.socketpair()
    monkeypatch.setattr(_session, "_CHANNEL", theirs.fileno())
    ours.sendall(
        b'{"type":"cancel","cause":"owner"}\n{"type":"operation_result","n":1,"status":"done","data":4}\n'
    )
    link = Link()

    assert {"type": "operation_result", "n": 1, "status": "done", "data": 4} == link.operation("x/1", "", {})
    assert link.cancelled()
    ours.close()
    theirs.close()


def test_a_result_beyond_the_channel_is_told_on_stderr_and_is_no_success(tmp_path: Path) -> None:
    report = called(released(tmp_path, extension("return 'x' * 300000", ", result='text'")))

    assert ("execution_failed", "protocol_violation") == verdict(report)
    assert b"the result makes a frame of 300" in report.diagnostics["stderr"][0]


def test_a_program_without_a_host_says_so() -> None:
    run = subprocess.run(
        [PYTHON, "-I", "-S", bootstrap_path(), "/r", "/c", "a:b"],
        capture_output=True,
        close_fds=True,
        check=False,
    )

    assert (1, b"") == (run.returncode, run.stdout)
    assert b"is started by a host" in run.stderr


def test_declarations_that_cannot_be_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="1 to 63, not 64"):
        Failed("x", 64)
    with pytest.raises(ValueError, match="'json'"):
        command("add", result="json")
    assert (1, 63) == (Failed("x").exit_code, Failed("x", 63).exit_code)


def test_the_compiled_json_and_the_whole_one_write_and_read_alike() -> None:
    value: dict[str, list[object]] = {"a": [1, -0.5, 1e300, True, None, 'é\u2028"\\\x7f𝄞', {}], "": []}
    (decode, encode), (whole_decode, whole_encode) = _json._compiled(), _json._whole()

    assert whole_encode(value) == encode(value)
    assert value == decode(encode(value)) == whole_decode(encode(value))


def test_the_session_starts_without_heavy_modules(tmp_path: Path) -> None:
    """A start costs what it imports: the list is short, and `json` is not in it."""
    body = "return {'list': sorted(set(sys.modules) & {'json', 're', 'enum', 'typing', 'socket', 'threading', 'site'})}"
    report = called(released(tmp_path, extension(body)), declared=DECLARED)

    assert {"list": []} == (report.command_result or {})["data"]


def test_signals_reach_an_extension_as_in_any_program(tmp_path: Path) -> None:
    body = "os.kill(os.getpid(), 15)"
    report = called(released(tmp_path, extension(body)), declared=DECLARED)

    assert (("execution_failed", "exited_early"), -signal.SIGTERM) == (verdict(report), report.exit_status)
