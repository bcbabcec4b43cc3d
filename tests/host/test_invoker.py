"""The loop of one call: what each kind of child comes to."""

from __future__ import annotations

import json
import os
import signal
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rukh.host.cancel import Cancel
from rukh.host.spawner import Launch
from rukh.host.streams import Streams
from tests.support.children import (
    Meeting,
    Running,
    called,
    gone,
    scripted,
    spawning,
    verdict,
)

DONE = "complete(commandResult=text('x'))"


@pytest.fixture
def meeting(tmp_path: Path) -> Any:
    fifo = Meeting(tmp_path / "fifo")
    yield fifo
    fifo.close()


@pytest.mark.requirement("RK-LIFE-002")
def test_the_child_gets_the_request_as_it_was_bound(tmp_path: Path) -> None:
    inputs = {"b": ["\u2028", "é", "𝄞"], "a": -4, "c": "1.50"}
    request = {"command": "add", "inputs": inputs, "supplied": ["b", "a"]}
    body = "sys.stdout.buffer.write(json.dumps(confirm()).encode()); " + DONE
    report = called(scripted(body, tmp_path), request=request)

    assert (("succeeded", ""), {"kind": "text", "text": "x"}) == (verdict(report), report.command_result)
    assert {"type": "execute", **request} == json.loads(report.diagnostics["stdout"][0])


# name: (what the child does, outcome, reason, exit status)
ENDS: dict[str, tuple[str, str, str, int | None]] = {
    "a result": (DONE, "succeeded", "", 0),
    "a result and exit 1": (DONE + "; sys.exit(1)", "execution_failed", "exit_mismatch", 1),
    "a result and a signal": (DONE + "; os.kill(os.getpid(), 9)", "execution_failed", "exit_mismatch", -9),
    "a failure": (
        "complete('command_failed', exitCode=3, message='no milk'); sys.exit(3)",
        "command_failed",
        "command",
        3,
    ),
    "a failure of any status": ("complete('command_failed'); sys.exit(63)", "command_failed", "command", 63),
    "a failure with exit 64": (
        "complete('command_failed'); sys.exit(64)",
        "execution_failed",
        "exit_mismatch",
        64,
    ),
    "another status": (
        "complete('command_failed', exitCode=3); sys.exit(4)",
        "execution_failed",
        "exit_mismatch",
        4,
    ),
    "a failure with exit 0": ("complete('command_failed')", "execution_failed", "exit_mismatch", 0),
    "a failure with a result": (
        "complete('command_failed', commandResult=text('why')); sys.exit(1)",
        "command_failed",
        "command",
        1,
    ),
    "a failure with an invalid result": (
        "complete('command_failed', commandResult={}); sys.exit(1)",
        "execution_failed",
        "result_invalid",
        1,
    ),
    "no result": ("complete()", "execution_failed", "result_missing", 0),
    "null for a result": ("complete(commandResult=None)", "execution_failed", "result_invalid", 0),
    "another kind": (
        "complete(commandResult={'kind': 'structured', 'data': 1})",
        "execution_failed",
        "result_invalid",
        0,
    ),
    "too much": ("complete(commandResult=text('x' * 131073))", "execution_failed", "result_too_large", 0),
    "a frame too large": (
        "complete(commandResult=text('x' * 270000)); forever()",
        "execution_failed",
        "protocol_violation",
        -15,
    ),
    "an invocation id": (
        "complete(commandResult=text('x'), invocationId='inv_x'); forever()",
        "execution_failed",
        "protocol_violation",
        -15,
    ),
    "a word behind the report": (
        DONE + "; raw(b'x\\n'); forever()",
        "execution_failed",
        "protocol_violation",
        -15,
    ),
    "no JSON": ("raw(b'hello\\n'); forever()", "execution_failed", "protocol_violation", -15),
    "a cut frame": ("raw(b'{'); os.close(3); forever()", "execution_failed", "protocol_violation", -15),
    "exit 0 without a report": ("sys.exit(0)", "execution_failed", "exited_early", 0),
    "exit 3 without a report": ("sys.exit(3)", "execution_failed", "exited_early", 3),
    "a crash": ("os.kill(os.getpid(), 11)", "execution_failed", "exited_early", -11),
    "SIGKILL": ("os.kill(os.getpid(), 9)", "execution_failed", "exited_early", -9),
    "a closed channel, then exit": ("os.close(3)", "execution_failed", "exited_early", 0),
    "a report and a closed channel": (DONE + "; os.close(3)", "succeeded", "", 0),
    "a report on stdout": (
        "print(json.dumps({'type': 'completion', 'status': 'succeeded'}))",
        "execution_failed",
        "exited_early",
        0,
    ),
}


@pytest.mark.requirement("RK-LIFE-011", "RK-LIFE-014", "RK-LIFE-015", "RK-LIFE-016", "RK-LIFE-017")
@pytest.mark.requirement("RK-CHAN-005", "RK-CHAN-012", "RK-CHAN-020", "RK-CHAN-021")
@pytest.mark.parametrize("name", ENDS)
def test_report_result_and_exit_give_one_outcome(tmp_path: Path, name: str) -> None:
    body, outcome, reason, status = ENDS[name]
    report = called(scripted("confirm()\n" + body, tmp_path))

    assert (outcome, reason, status) == (*verdict(report), report.exit_status)
    assert (outcome == "succeeded" or "with a result" in name) is (report.command_result is not None)


@pytest.mark.requirement("RK-CHAN-016")
def test_an_operation_without_a_facility_is_answered_unavailable(tmp_path: Path) -> None:
    body = """
confirm()
answers = []
for n in (1, 2):
    say("operation", n=n, operation="files.read/1", resource="notes", input={})
    answers.append(frame())
complete(commandResult=text(json.dumps(answers)))
"""
    report = called(scripted(body, tmp_path))

    assert report.command_result is not None
    assert [{"type": "operation_result", "n": n, "status": "unavailable"} for n in (1, 2)] == json.loads(
        report.command_result["text"]
    )


@pytest.mark.requirement("RK-CHAN-011")
@pytest.mark.parametrize("members", ["token='0' * 32", "session='x'"])
def test_a_child_that_does_not_prove_itself_is_refused(tmp_path: Path, members: str) -> None:
    report = called(scripted(f"confirm({members}); forever()", tmp_path))

    assert ("execution_failed", "protocol_violation") == verdict(report)
    assert "[RKC008]" in (report.reason or {})["message"]


@pytest.mark.requirement("RK-CHAN-030", "RK-CHAN-031", "RK-EXEC-020")
def test_channel_and_token_are_in_two_descriptors_alone_and_new_each_time(tmp_path: Path) -> None:
    body = """
tokens, hello = [], []
token = os.read(4, 4096).decode()
again = os.read(4, 1)
hello = frame()
say("confirm", session=hello["session"], token=token, sdk="s")
frame()
seen = open("/proc/self/cmdline").read() + open("/proc/self/environ").read()
secret = [hello["session"], token]
complete(commandResult=text(json.dumps([secret, len(again), any(s in seen for s in secret), dict(os.environ)])))
"""
    reports = [called(scripted(body, tmp_path, NOTES="1")) for _ in range(2)]
    first, second = (json.loads((report.command_result or {})["text"]) for report in reports)

    assert [0, False] == first[1:3]
    assert {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "NOTES": "1"} == {
        name: value for name, value in first[3].items() if name != "LC_CTYPE"
    }
    assert {len(word) for word in first[0] + second[0]} == {32}
    assert 4 == len({*first[0], *second[0]})


@pytest.mark.requirement("RK-LIFE-021", "RK-LIFE-013")
def test_a_child_that_hears_the_cancel_ends_by_itself(tmp_path: Path, meeting: Meeting) -> None:
    body = (
        f"confirm(); open({meeting.path!r}, 'w').write('here\\n'); heard = frame(); print(heard['cause']); "
        + DONE
    )
    cancel = Cancel()
    launched = threading.Event()
    cancel.launched = launched.set
    with spawning() as spawner:
        running = Running(scripted(body, tmp_path), spawner, seconds=60, cancel=cancel)
        assert "here" == meeting.told()
        assert launched.is_set()  # whoever waits for the launch does not wait for the child
        assert cancel.request("owner")
        report = running.report()

    assert (("cancelled", "owner"), 0, b"owner\n") == (
        verdict(report),
        report.exit_status,
        report.diagnostics["stdout"][0],
    )
    assert report.command_result is None


# name: (what the child does about it, what ends it)
STUBBORN = {
    "a child that does not look": ("forever()", -signal.SIGTERM),
    "a child that leaves at TERM": ("signal.signal(15, lambda *_: sys.exit(7)); forever()", 7),
    "a child that ignores TERM": ("signal.signal(15, signal.SIG_IGN); forever()", -signal.SIGKILL),
    "a stopped child": ("os.kill(os.getpid(), 19)", -signal.SIGKILL),
}


@pytest.mark.requirement("RK-LIFE-021", "RK-EXEC-015")
@pytest.mark.parametrize("name", STUBBORN)
def test_at_the_deadline_the_ladder_is_climbed_until_the_child_is_gone(tmp_path: Path, name: str) -> None:
    """Times are short, and long enough for a busy machine; what is asserted is who ended the child, not when."""
    body, status = STUBBORN[name]
    report = called(scripted("confirm()\n" + body, tmp_path), seconds=0.5, stop_ms=1500)

    assert (("cancelled", "deadline"), status) == (verdict(report), report.exit_status)


@pytest.mark.requirement("RK-EXEC-015")
def test_progress_does_not_move_the_deadline(tmp_path: Path) -> None:
    body = "confirm()\nwhile True: say('progress', progress=1); select.select([], [], [], 0.01)"
    report = called(scripted(body, tmp_path), seconds=0.2, stop_ms=300)

    assert ("cancelled", "deadline") == verdict(report)


@pytest.mark.requirement("RK-LIFE-022")
@pytest.mark.parametrize(("ignoring", "stop_ms"), [("", 3000), ("signal.signal(15, signal.SIG_IGN); ", 2000)])
def test_a_child_that_stays_behind_its_report_has_lingered(
    tmp_path: Path, ignoring: str, stop_ms: int
) -> None:
    """Both budgets leave a busy machine time between the signal that ends the child and the report."""
    report = called(scripted(f"confirm(); {ignoring}{DONE}; forever()", tmp_path), stop_ms=stop_ms)

    assert ("execution_failed", "cleanup_unconfirmed") == verdict(report)
    assert (-signal.SIGKILL if ignoring else -signal.SIGTERM) == report.exit_status


@pytest.mark.requirement("RK-LIFE-013")
def test_the_deadline_counts_behind_a_valid_report(tmp_path: Path) -> None:
    report = called(scripted(f"confirm(); {DONE}; forever()", tmp_path), seconds=0.3)

    assert (("cancelled", "deadline"), -signal.SIGTERM) == (verdict(report), report.exit_status)


@pytest.mark.requirement("RK-EXEC-014")
def test_a_child_that_does_not_confirm_in_time_is_stopped(tmp_path: Path) -> None:
    report = called(scripted("forever()", tmp_path), start_ms=100)

    assert ("execution_failed", "spawn_failed") == verdict(report)


@pytest.mark.requirement("RK-LIFE-018")
@pytest.mark.parametrize("cause", ["deadline", "caller"])
def test_what_is_stopped_before_its_start_is_not_started(tmp_path: Path, cause: str) -> None:
    marker = tmp_path / "ran"
    cancel = Cancel()
    launched = threading.Event()
    cancel.launched = launched.set
    if cause == "caller":
        cancel.request("caller")
    seconds = -1.0 if cause == "deadline" else 60.0
    report = called(scripted(f"open({str(marker)!r}, 'w')", tmp_path), seconds=seconds, cancel=cancel)

    assert ("cancelled", cause) == verdict(report)
    assert not marker.exists()
    assert not launched.is_set()


@pytest.mark.requirement("RK-EXEC-033")
@pytest.mark.parametrize("flood", ["os.write(1, b'x' * 65536)", "say('progress', progress=1)"])
def test_a_flood_does_not_keep_the_deadline_from_being_taken(tmp_path: Path, flood: str) -> None:
    report = called(scripted(f"confirm()\nwhile True: {flood}", tmp_path), seconds=0.3, stop_ms=300)

    assert ("cancelled", "deadline") == verdict(report)


@pytest.mark.requirement("RK-EXEC-033")
def test_a_report_is_taken_while_another_process_floods_the_output(tmp_path: Path) -> None:
    body = f"""
confirm()
if os.fork() == 0:
    while True:
        os.write(1, b"x" * 65536)
{DONE}
os._exit(0)
"""
    report = called(scripted(body, tmp_path))

    assert (("succeeded", ""), 1) == (verdict(report), report.killed)


@pytest.mark.requirement("RK-EXEC-031")
def test_diagnostics_are_kept_apart_up_to_their_limit_and_counted_beyond_it(tmp_path: Path) -> None:
    """1 MiB on stderr without a line end, beside a little on stdout."""
    body = (
        "confirm(); os.write(1, b'out'); sys.stderr.buffer.write(b'e' * 1048576); sys.stderr.flush(); " + DONE
    )
    report = called(scripted(body, tmp_path), streams=Streams.drained(1000))

    assert {"stdout": (b"out", 0), "stderr": (b"e" * 1000, 1048576 - 1000)} == report.diagnostics
    assert (("succeeded", ""), True) == (verdict(report), report.wrote_stdout)


@pytest.mark.requirement("RK-EXEC-031")
def test_draining_takes_bounded_memory_however_much_comes(tmp_path: Path) -> None:
    body = "confirm()\nfor _ in range(512): os.write(1, b'x' * 65536)\n" + DONE
    tracemalloc.start()
    report = called(scripted(body, tmp_path), streams=Streams.drained(1000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (("succeeded", ""), 512 * 65536 - 1000) == (verdict(report), report.diagnostics["stdout"][1])
    assert peak < 2 * 1024 * 1024


@pytest.mark.requirement("RK-EXEC-030")
def test_stdin_is_empty_and_no_terminal(tmp_path: Path) -> None:
    body = "confirm(); complete(commandResult=text(f'{os.read(0, 10)} {os.isatty(0)}'))"
    report = called(scripted(body, tmp_path))

    assert {"kind": "text", "text": "b'' False"} == report.command_result


@pytest.mark.requirement("RK-EXEC-032")
def test_live_output_waits_for_a_slow_reader_and_loses_nothing(tmp_path: Path, meeting: Meeting) -> None:
    """1 MiB against a pipe that nobody reads: the child waits, and all of it arrives once somebody does."""
    tells = f"confirm(); open({meeting.path!r}, 'w').write('here\\n'); "
    body = tells + "os.write(1, b'x' * 1048576); os.write(2, b'e'); " + DONE
    with piped() as (stdout, sink), piped() as (stderr, other), spawning() as spawner:
        running = Running(scripted(body, tmp_path), spawner, streams=Streams.live(sink, other), seconds=60)
        assert "here" == meeting.told()
        received = read_exactly(stdout, 1048576)
        report = running.report()

        assert (1048576, {b"x"[0]}) == (len(received), set(received))
        assert b"e" == os.read(stderr, 10)
    assert (("succeeded", ""), True) == (verdict(report), report.wrote_stdout)
    assert {"stdout": (b"", 0), "stderr": (b"", 0)} == report.diagnostics


@pytest.mark.requirement("RK-EXEC-032")
def test_what_is_left_at_the_exit_waits_for_the_reader_beyond_the_stop_budget(
    tmp_path: Path, meeting: Meeting
) -> None:
    """The child has gone and the budget has long ended when the reader comes."""
    body = (
        f"confirm(); os.write(1, b'x' * 120000); print(os.getpid(), file=open({meeting.path!r}, 'w')); "
        + DONE
    )
    with piped() as (stdout, sink), piped() as (_, other), spawning() as spawner:
        streams = Streams.live(sink, other)
        running = Running(scripted(body, tmp_path), spawner, streams=streams, seconds=60, stop_ms=1000)
        assert gone(int(meeting.told()))
        assert not running.ended(0.1)

        assert b"x" * 120000 == read_exactly(stdout, 120000)
        assert ("succeeded", "") == verdict(running.report())


@pytest.mark.requirement("RK-EXEC-032", "RK-LIFE-013")
def test_who_cancels_does_not_wait_for_a_reader(tmp_path: Path, meeting: Meeting) -> None:
    body = (
        f"confirm(); os.write(1, b'x' * 120000); print(os.getpid(), file=open({meeting.path!r}, 'w')); "
        + DONE
    )
    cancel = Cancel()
    with piped() as (_, sink), piped() as (_, other), spawning() as spawner:
        streams = Streams.live(sink, other)
        running = Running(scripted(body, tmp_path), spawner, streams=streams, seconds=60, cancel=cancel)
        assert gone(int(meeting.told()))
        assert cancel.request("caller")

        assert ("cancelled", "caller") == verdict(running.report())


@pytest.mark.requirement("RK-EXEC-035")
def test_a_reader_that_has_gone_ends_the_childs_stream(tmp_path: Path) -> None:
    body = """
confirm()
try:
    while True:
        os.write(1, b"x" * 65536)
except BrokenPipeError:
    complete(commandResult=text("nobody reads"))
"""
    reader, sink = os.pipe()
    os.close(reader)
    with piped() as (_, other):
        report = called(scripted(body, tmp_path), streams=Streams.live(sink, other))
    os.close(sink)

    assert (("succeeded", ""), {"kind": "text", "text": "nobody reads"}) == (
        verdict(report),
        report.command_result,
    )


@contextmanager
def piped() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    try:
        yield reader, writer
    finally:
        os.close(reader)
        os.close(writer)


def read_exactly(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += os.read(descriptor, size - len(data))
    return data


def test_nothing_that_a_call_opens_stays_open(tmp_path: Path) -> None:
    with spawning() as spawner:
        before = len(os.listdir("/proc/self/fd"))
        for body in (f"confirm(); {DONE}", "sys.exit(3)", "confirm(); raw(b'oops\n'); forever()"):
            called(scripted(body, tmp_path), spawner=spawner)
        called(Launch(["/nonexistent"], {}, str(tmp_path)), spawner=spawner)

        assert before == len(os.listdir("/proc/self/fd"))
