"""What came of a child ends with its call, and with nobody else's."""

from __future__ import annotations

import _socket
import fcntl
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from rukh.host import supervisor
from rukh.host.spawner import Launch, Spawner
from rukh.host.supervisor import descendants, read_order, signal_each
from tests.support.children import (
    Meeting,
    Running,
    called,
    gone,
    readable,
    scripted,
    spawning,
    verdict,
)

LEAVES_DAEMONS = "confirm(); print(daemon(), daemon(), flush=True); complete(commandResult=text(''))"


@pytest.fixture
def meeting(tmp_path: Path) -> Any:
    fifo = Meeting(tmp_path / "fifo")
    yield fifo
    fifo.close()


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split()]


@pytest.mark.requirement("RK-EXEC-011", "RK-LIFE-024")
def test_daemons_that_a_child_leaves_behind_are_ended_and_do_not_change_the_outcome(tmp_path: Path) -> None:
    """Double fork, twice a session of their own, no environment, no inherited descriptor."""
    report = called(scripted(LEAVES_DAEMONS, tmp_path))

    left = numbers(report.diagnostics["stdout"][0].decode())
    assert (2, 2, 0) == (len(left), report.killed, report.survivors)
    assert [] == [process for process in left if Path(f"/proc/{process}").exists()]
    assert ("succeeded", "") == verdict(report)


@pytest.mark.requirement("RK-EXEC-012")
def test_of_two_calls_at_once_each_supervisor_ends_its_own_daemons(tmp_path: Path, meeting: Meeting) -> None:
    """One call leaves, and its daemons are gone, while the other one's daemon still lives."""
    body = f"confirm(); open({meeting.path!r}, 'w').write(f'{{os.getpid()}} {{daemon()}}\\n'); forever()"
    with spawning() as spawner:
        staying = Running(scripted(body, tmp_path), spawner, seconds=60)
        child, daemon = numbers(meeting.told())
        leaving = called(scripted(LEAVES_DAEMONS, tmp_path), spawner=spawner)

        assert (("succeeded", ""), 2) == (verdict(leaving), leaving.killed)
        assert _lives(child) and _lives(daemon)
        os.kill(child, signal.SIGKILL)
        assert (("execution_failed", "exited_early"), 1) == (
            verdict(staying.report()),
            staying.report().killed,
        )
        assert not _lives(daemon)


def _lives(process: int) -> bool:
    """Whether a process is there that has not ended; its arguments would not tell, as it has none while it executes."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")


@pytest.mark.requirement("RK-EXEC-013")
@pytest.mark.parametrize("one_call", [True, False])
def test_when_the_host_dies_every_process_of_its_calls_ends(
    tmp_path: Path, meeting: Meeting, one_call: bool
) -> None:
    body = f"confirm(); open({meeting.path!r}, 'w').write(f'{{os.getpid()}} {{daemon()}}\\n'); forever()"
    host = os.fork()
    if host == 0:
        called(scripted(body, tmp_path), spawner=Spawner.start(one_call=one_call), seconds=60)
    processes = numbers(meeting.told())
    assert all(_lives(process) for process in processes)

    os.kill(host, signal.SIGKILL)
    os.waitpid(host, 0)

    assert [True, True] == [gone(process) for process in processes]


@pytest.mark.requirement("RK-EXEC-016")
@pytest.mark.parametrize("one_call", [True, False])
def test_what_a_killed_supervisor_leaves_behind_is_ended_and_reported_as_unconfirmed(
    tmp_path: Path, meeting: Meeting, one_call: bool
) -> None:
    tells = f"open({meeting.path!r}, 'w').write(f'{{os.getppid()}} {{os.getpid()}} {{daemon()}}\\n')"
    spawner = Spawner.start(one_call=one_call)
    running = Running(scripted(f"confirm(); {tells}; forever()", tmp_path), spawner, seconds=60)
    above, *below = numbers(meeting.told())
    os.kill(above, signal.SIGKILL)

    assert ("execution_failed", "cleanup_unconfirmed") == verdict(running.report())
    assert [True, True] == [gone(process) for process in below]
    spawner.close()


@pytest.mark.requirement("RK-EXEC-016", "RK-EXEC-012")
def test_a_killed_supervisor_touches_no_other_call(tmp_path: Path, meeting: Meeting) -> None:
    tells = f"open({meeting.path!r}, 'w').write(f'{{os.getppid()}} {{os.getpid()}} {{daemon()}}\\n')"
    with spawning() as spawner:
        staying = Running(scripted(f"confirm(); {tells}; forever()", tmp_path), spawner, seconds=60)
        _, child, daemon = numbers(meeting.told())
        killed = Running(scripted(f"confirm(); {tells}; forever()", tmp_path), spawner, seconds=60)
        supervisor_of_other, *below = numbers(meeting.told())
        os.kill(supervisor_of_other, signal.SIGKILL)
        assert ("execution_failed", "cleanup_unconfirmed") == verdict(killed.report())
        assert [True, True] == [gone(process) for process in below]

        assert _lives(child) and _lives(daemon)
        assert ("succeeded", "") == verdict(called(scripted(LEAVES_DAEMONS, tmp_path), spawner=spawner))
        os.kill(child, signal.SIGKILL)
        assert (("execution_failed", "exited_early"), 1) == (
            verdict(staying.report()),
            staying.report().killed,
        )


def test_a_supervisor_that_is_told_to_end_ends_its_child_first(tmp_path: Path, meeting: Meeting) -> None:
    body = f"confirm(); open({meeting.path!r}, 'w').write(f'{{os.getppid()}}\\n'); forever()"
    with spawning() as spawner:
        running = Running(scripted(body, tmp_path), spawner, seconds=60)
        os.kill(int(meeting.told()), signal.SIGTERM)
        report = running.report()

        assert ("execution_failed", "exited_early") == verdict(report)
        assert -signal.SIGKILL == report.exit_status


GROWS = """
confirm()
if os.fork() == 0:
    os.closerange(0, 16)
    for _ in range(60):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.pause()
            os._exit(0)
    signal.pause()
complete(commandResult=text(''))
"""


@pytest.mark.requirement("RK-EXEC-011")
def test_processes_that_are_made_while_others_are_killed_are_found(tmp_path: Path) -> None:
    """The child leaves while what it started is still forking."""
    report = called(scripted(GROWS, tmp_path))

    assert (("succeeded", ""), 0) == (verdict(report), report.survivors)
    assert report.killed >= 1


@pytest.mark.requirement("RK-EXEC-010")
def test_the_child_stands_alone_before_its_program_runs(tmp_path: Path) -> None:
    """Session, directory, signals and descriptors, as the program finds them."""
    body = r"""
fds = sorted(int(name) for name in os.listdir("/proc/self/fd"))[:-1]
status = dict(line.split(":\t") for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
me = os.getpid()
confirm()
complete(commandResult=text(json.dumps({
    "session": os.getsid(0) == me, "group": os.getpgid(0) == me, "cwd": os.getcwd(), "fds": fds,
    "blocked": int(status["SigBlk"], 16), "stdin": os.readlink("/proc/self/fd/0"),
})))
"""
    report = called(scripted(body, tmp_path))

    assert report.command_result is not None
    assert {
        "session": True,
        "group": True,
        "cwd": str(tmp_path),
        "fds": [0, 1, 2, 3, 4],
        "blocked": 0,
        "stdin": "/dev/null",
    } == json.loads(report.command_result["text"])


@pytest.mark.requirement("RK-EXEC-010")
def test_ignored_signals_of_the_host_are_not_inherited(tmp_path: Path) -> None:
    """Python ignores SIGPIPE and SIGXFSZ; 32 and 33 belong to the C library, which spawns with them ignored."""
    launch = Launch(["/bin/sh", "-c", "grep SigIgn /proc/self/status"], {}, str(tmp_path))
    ignored = int(called(launch).diagnostics["stdout"][0].split()[1], 16)

    assert set() == {number for number in range(1, 65) if ignored >> (number - 1) & 1} - {32, 33}


# name: (program or the bytes of one with their mode, directory below the test's, the step that is named, what mends it)
Program = str | tuple[bytes, int]
BROKEN_STARTS: dict[str, tuple[Program, str, str, str]] = {
    "no such program": ("/nonexistent/program", "", "exec", "install the interpreter"),
    "no interpreter": ((b"#!/nonexistent/sh\n", 0o755), "", "exec", "install the interpreter"),
    "not executable": ((b"#!/bin/sh\n", 0o644), "", "exec", "that may be executed"),
    "no program": ((b"\0\1\2", 0o755), "", "exec", "a build for this machine"),
    "no such directory": ("/bin/true", "gone", "directory", "the home's storage"),
}


@pytest.mark.requirement("RK-EXEC-010", "RK-EXEC-036")
@pytest.mark.parametrize("name", BROKEN_STARTS)
def test_a_step_that_fails_is_named_and_nothing_runs(tmp_path: Path, name: str) -> None:
    program, directory, step, mend = BROKEN_STARTS[name]
    if isinstance(program, tuple):
        content, mode = program
        (tmp_path / "program").write_bytes(content)
        (tmp_path / "program").chmod(mode)
        program = str(tmp_path / "program")
    report = called(Launch([program], {}, str(tmp_path / directory)))

    assert ("execution_failed", "spawn_failed") == verdict(report)
    assert report.reason is not None
    assert step == report.reason["message"].partition(":")[0]
    assert mend in report.reason["mend"]
    assert ("/execute/mapping/entry/0" if step == "exec" else None) == report.reason.get("place")
    assert (None, False) == (report.exit_status, report.wrote_stdout)


def failing_prctl(option: int, value: int) -> None:
    raise OSError(1, "Operation not permitted")


@pytest.mark.requirement("RK-EXEC-010")
def test_without_supervision_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "ran"
    monkeypatch.setattr("rukh.host.spawner.load_prctl", lambda: failing_prctl)
    report = called(Launch(["/usr/bin/touch", str(marker)], {}, str(tmp_path)))

    assert ("execution_failed", "spawn_failed") == verdict(report)
    assert "subreaper: Operation not permitted [RKH003]" == (report.reason or {})["message"]
    assert not marker.exists()


@pytest.mark.requirement("RK-EXEC-010", "RK-EXEC-013")
def test_an_order_whose_host_has_gone_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[bytes] = []

    def note(argv: list[bytes], env: dict[bytes, bytes], descriptors: list[int]) -> int:
        started.append(argv[0])
        return 1

    monkeypatch.setattr(supervisor, "spawn", note)
    monkeypatch.chdir("/")
    order = Launch(["/bin/true"], {}, "/").order()
    here, gone_end = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    standing = supervisor.Supervisor(here, None)  # type: ignore[arg-type]

    assert ("", [b"/bin/true"]) == (standing.start(order, []), started)
    gone_end.close()
    assert ("failed host 0", [b"/bin/true"]) == (standing.start(order, []), started)
    here.close()


@pytest.mark.requirement("RK-CHAN-030")
def test_descriptors_of_the_host_are_held_by_nobody_else(tmp_path: Path) -> None:
    """A pipe whose end only the host has ends when the host lets go, though its spawner and a child are there."""
    reader, low = os.pipe()
    high = fcntl.fcntl(low, fcntl.F_DUPFD, 400)
    with spawning() as spawner:
        called(scripted("confirm(); complete(commandResult=text(''))", tmp_path), spawner=spawner)
        os.close(low)
        os.close(high)

        assert readable(reader, 1)
        assert b"" == os.read(reader, 1)
    os.close(reader)


def test_the_walk_finds_a_tree_by_its_parents_and_passes_zombies_over() -> None:
    reader, writer = os.pipe()
    before = descendants(os.getpid())
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            os.write(writer, b"x")
            signal.pause()
        signal.pause()
    assert readable(reader)
    rows = [row for row in descendants(os.getpid()) if row not in before]
    assert (child, 2) == (rows[0][0], len(rows))

    assert set() == signal_each(rows, signal.SIGKILL)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert child not in [process for process, _ in descendants(os.getpid())]
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)


@pytest.mark.requirement("RK-EXEC-017")
def test_a_number_that_was_used_again_is_not_signalled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process is the one that was found when its start time is the same."""
    sent: list[int] = []
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda descriptor, number: sent.append(number))
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    (row,) = [row for row in descendants(os.getpid()) if row[0] == child]

    assert (set(), []) == (signal_each([(child, b"1")], signal.SIGTERM), sent)
    assert (set(), [signal.SIGTERM]) == (signal_each([row], signal.SIGTERM), sent)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert (set(), [signal.SIGTERM]) == (signal_each([row], signal.SIGTERM), sent)


@pytest.mark.requirement("RK-LIFE-023")
def test_a_process_that_may_not_be_signalled_is_reported_as_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of another user would be: every signal to it is refused."""

    def refuse(rows: list[tuple[int, bytes]], number: int) -> set[int]:
        return {process for process, _ in rows}

    monkeypatch.setattr(supervisor, "signal_each", refuse)
    spawner = Spawner.start(one_call=True)
    report = called(scripted(LEAVES_DAEMONS, tmp_path), spawner=spawner)
    monkeypatch.undo()
    daemons = numbers(report.diagnostics["stdout"][0].decode())
    left = [row for row in descendants(os.getpid()) if row[0] in daemons]
    signal_each(left, signal.SIGKILL)
    spawner.close()

    assert ("execution_failed", "cleanup_unconfirmed") == verdict(report)
    assert "2 processes of the child could not be stopped" == (report.reason or {})["message"]
    assert (0, 2, 2) == (report.killed, report.survivors, len(left))


def test_an_order_says_what_is_to_be_started() -> None:
    launch = Launch(["/bin/x", "", "a b"], {"A": "", "B": "c=d\n"}, "/somewhere")

    assert (b"/somewhere", [b"/bin/x", b"", b"a b"], {b"A": b"", b"B": b"c=d\n"}) == read_order(
        launch.order()
    )
