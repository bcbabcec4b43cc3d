"""Passthrough programs in a terminal: signals, keys, stops and job control, as the program alone would have them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import probe
from tests.support.families import children
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.jobs import Shell, heeding
from tests.support.probe import recorded, rows_of
from tests.support.stubs import apply

LAST = int(signal.SIGRTMAX)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    """A home with the probing programs, shared by the tests that change nothing in it but its records."""
    return probe.probing_home(tmp_path_factory.mktemp("probing"))


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    with heeding():
        yield


@pytest.fixture
def shell(home: InstalledHome, tmp_path: Path) -> Iterator[Shell]:
    with Shell(home.environment(), tmp_path) as made:
        yield made


def listening(shell: Shell, *heard: int, **more: Any) -> tuple[int, int]:
    """A program that says which signals it hears: its number, and the host's."""
    shell.start([PROGRAM, "tools", "probe", "listen", *map(str, heard)], **more)
    _, program, host = shell.until(b">").rpartition(b"<")[2].strip(b">").split()
    return int(program), int(host)


@contextmanager
def held_up(host: int) -> Iterator[None]:
    """The host sees what happens meanwhile only afterwards: two signals of one kind cannot fall together."""
    os.kill(host, signal.SIGSTOP)
    yield
    os.kill(host, signal.SIGCONT)


def until_heard(shell: Shell, host: int) -> bytes:
    """What the terminal shows of all signals up to the last one of all, which is sent to the host now.

    The host takes those that wait by their numbers: behind the last one it has none of the others left. Several that
    arrive together are heard by the program in any order, but all of them before the next line is obeyed.
    """
    os.kill(host, LAST)
    shown = shell.until(b"<got %d>" % LAST)
    shell.type(b"border\n")
    return shown + shell.until(b"<border done>")


@pytest.mark.requirement("RK-PASS-010", "RK-PASS-020", "RK-PASS-033")
def test_a_running_program_is_a_child_of_the_host_in_its_group_and_the_call_is_captured(
    home: InstalledHome, shell: Shell
) -> None:
    program, host = listening(shell)
    assert host == shell.job
    assert [program] == children(host)
    assert (os.getpgid(host), os.getsid(host)) == (os.getpgid(program), os.getsid(program))
    assert shell.job == os.getpgid(program)
    assert os.readlink(f"/proc/{program}/cwd") == os.readlink(f"/proc/{host}/cwd")
    assert (None, None) == recorded(home)[0]
    shell.type(b"exit 6\n")
    assert {"exited": 6} == shell.wait()
    assert ("command_failed", "command") == recorded(home)[0]


@pytest.mark.requirement("RK-PASS-021", "RK-PASS-031", "RK-PASS-032")
@pytest.mark.parametrize(("key", "number"), [(b"\x03", 2), (b"\x1c", 3)], ids=["interrupt", "quit"])
def test_a_key_ends_the_program_and_the_shell_sees_the_signal(
    home: InstalledHome, shell: Shell, key: bytes, number: int
) -> None:
    listening(shell, 10)
    shell.type(key)
    assert {"signalled": number} == shell.wait()
    assert ("cancelled", "caller") == recorded(home)[0]


@pytest.mark.requirement("RK-PASS-021")
@pytest.mark.parametrize(("key", "number"), [(b"\x03", 2), (b"\x1c", 3), (b"\x1a", 20)], ids=str)
def test_a_key_that_the_program_handles_reaches_it_once_and_does_nothing_to_the_host(
    home: InstalledHome, shell: Shell, key: bytes, number: int
) -> None:
    _, host = listening(shell, number, LAST)
    with held_up(host):
        shell.type(key)
        shell.until(b"<got %d>" % number)
    assert b"<got %d>" % number not in until_heard(shell, host)
    shell.type(b"exit 130\n")
    assert {"exited": 130} == shell.wait()
    assert ("command_failed", "command") == recorded(home)[0]


@pytest.mark.requirement("RK-PASS-022")
@pytest.mark.parametrize("number", [1, 2, 3, 12, 14, 15, 28, 30, 34, 63])
def test_a_signal_that_is_sent_to_the_host_reaches_the_program_once(
    home: InstalledHome, shell: Shell, number: int
) -> None:
    _, host = listening(shell, number, LAST)
    os.kill(host, number)
    shell.until(b"<got %d>" % number)
    assert b"<got %d>" % number not in until_heard(shell, host)
    shell.type(b"exit 0\n")
    assert {"exited": 0} == shell.wait()


@pytest.mark.requirement("RK-PASS-022", "RK-PASS-032")
@pytest.mark.parametrize(("number", "code"), [(15, "scope_closed"), (1, "scope_closed"), (2, "caller")])
def test_a_signal_to_the_host_that_ends_the_program_ends_both_and_is_recorded(
    home: InstalledHome, shell: Shell, number: int, code: str
) -> None:
    _, host = listening(shell, 10)
    os.kill(host, number)
    assert {"signalled": number} == shell.wait()
    assert ("cancelled", code) == recorded(home)[0]


@pytest.mark.requirement("RK-PASS-032")
def test_a_signal_to_the_program_alone_is_no_cancellation(home: InstalledHome, shell: Shell) -> None:
    program, _ = listening(shell, 10)
    os.kill(program, signal.SIGTERM)
    assert {"signalled": 15} == shell.wait()
    assert ("execution_failed", "exited_early") == recorded(home)[0]


@pytest.mark.requirement("RK-PASS-022")
def test_a_signal_that_the_program_sends_to_its_group_is_not_sent_back_to_it(shell: Shell) -> None:
    _, host = listening(shell, 12, LAST)
    with held_up(host):
        shell.type(b"group 12\n")
        shell.until(b"<got 12>")
    assert b"<got 12>" not in until_heard(shell, host)
    os.kill(host, 12)
    shell.until(b"<got 12>")
    shell.type(b"exit 0\n")
    assert {"exited": 0} == shell.wait()


@pytest.mark.requirement("RK-PASS-013", "RK-PASS-022")
def test_what_the_caller_ignores_is_not_passed_on(shell: Shell) -> None:
    _, host = listening(shell, 1, LAST, ignored=[1])
    os.kill(host, signal.SIGHUP)
    assert b"<got 1>" not in until_heard(shell, host)
    shell.type(b"exit 0\n")
    assert {"exited": 0} == shell.wait()


@pytest.mark.requirement("RK-PASS-023", "RK-PASS-010")
def test_the_stop_key_stops_both_and_the_foreground_resumes_both(shell: Shell) -> None:
    listening(shell, 10)
    for _ in range(3):
        shell.type(b"\x1a")
        assert {"stopped": 20} == shell.wait()
        shell.foreground()
        shell.type(b"hi\n")
        shell.until(b"<hi done>")
    shell.type(b"exit 5\n")
    assert {"exited": 5} == shell.wait()


@pytest.mark.requirement("RK-PASS-023", "RK-PASS-010")
def test_reading_in_the_background_stops_both_until_they_are_in_the_foreground(shell: Shell) -> None:
    shell.start([PROGRAM, "tools", "probe", "read"], foreground=False)
    assert {"stopped": 21} == shell.wait()
    shell.background()
    assert {"stopped": 21} == shell.wait()
    shell.foreground()
    shell.type(b"hello\n")
    shell.until(b"<read hello>")
    assert {"exited": 0} == shell.wait()


@pytest.mark.requirement("RK-PASS-023")
@pytest.mark.parametrize("number", [19, 20, 21, 22])
def test_a_stop_of_the_program_alone_stops_the_host_by_the_same_signal(shell: Shell, number: int) -> None:
    program, _ = listening(shell, 10)
    os.kill(program, number)
    assert {"stopped": number} == shell.wait()
    shell.foreground()
    shell.type(b"exit 5\n")
    assert {"exited": 5} == shell.wait()


@pytest.mark.requirement("RK-PASS-022", "RK-PASS-023")
def test_a_stop_that_is_sent_to_the_host_alone_stops_the_program_first(shell: Shell) -> None:
    program, host = listening(shell, LAST)
    for _ in range(3):
        os.kill(host, signal.SIGTSTP)
        assert {"stopped": 20} == shell.wait()
        assert "T" == Path(f"/proc/{program}/stat").read_text().rpartition(")")[2].split()[0]
        shell.foreground()
        until_heard(shell, host)  # it holds its signals again
    shell.type(b"exit 5\n")
    assert {"exited": 5} == shell.wait()


@pytest.mark.requirement("RK-PASS-023")
def test_continuing_the_host_alone_continues_the_program(shell: Shell) -> None:
    listening(shell, 18, 10)
    shell.type(b"\x1a")
    assert {"stopped": 20} == shell.wait()
    shell.background(leader_alone=True)
    shell.until(b"<got 18>")
    shell.foreground()
    shell.type(b"exit 5\n")
    assert {"exited": 5} == shell.wait()


@pytest.mark.requirement("RK-PASS-023")
def test_a_program_in_a_group_of_its_own_is_continued_with_the_job(shell: Shell) -> None:
    shell.start([PROGRAM, "tools", "probe", "apart"])
    assert {"stopped": 19} == shell.wait()
    shell.foreground()
    shell.until(b"<back>")
    assert {"exited": 0} == shell.wait()


@pytest.mark.requirement("RK-PASS-021", "RK-PASS-032")
def test_a_terminal_that_hangs_up_ends_the_program_and_the_call_is_recorded(
    home: InstalledHome, tmp_path: Path
) -> None:
    reader, writer = os.pipe()
    with Shell(home.environment(), tmp_path, kept=[writer]) as shell:
        os.close(writer)
        listening(shell, 10)
        shell.hang_up()
        assert b"" == os.read(reader, 1)  # the last of shell, host and program is gone
    os.close(reader)
    assert ("cancelled", "scope_closed") == recorded(home)[0]


@pytest.mark.requirement("RK-PASS-013", "RK-PASS-025")
def test_a_program_under_nohup_survives_its_terminal(home: InstalledHome, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    script = f'"$0" tools probe listen 10 <{gate} >{tmp_path}/out 2>&1'
    with Shell(home.environment(), tmp_path, kept=[writer]) as shell:
        os.close(writer)
        shell.start(["/usr/bin/nohup", "/bin/sh", "-c", f"exec {script}", PROGRAM])
        with open(gate, "w") as orders:
            shell.hang_up()
            orders.write("still here\nexit 9\n")
        assert b"" == os.read(reader, 1)
    os.close(reader)
    assert "<still here done>" in (tmp_path / "out").read_text()
    assert ("command_failed", "command") == recorded(home)[0]


@pytest.mark.requirement("RK-PASS-026")
def test_what_a_program_leaves_behind_is_left_alone(home: InstalledHome) -> None:
    ours, theirs = os.pipe()
    reader, writer = os.pipe()
    call = subprocess.Popen(
        [PROGRAM, "tools", "probe", "leave"], stdin=ours, stdout=writer, env=home.environment()
    )
    os.close(ours)
    os.close(writer)
    assert 0 == call.wait(PATIENCE)
    os.write(theirs, b"x")
    assert b"<left x>\n" == os.read(reader, 100)
    os.close(theirs)
    os.close(reader)


@pytest.mark.requirement("RK-PASS-026")
def test_a_program_outlives_a_host_that_is_killed(home: InstalledHome) -> None:
    call = subprocess.Popen(
        [PROGRAM, "tools", "probe", "listen", "10"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=home.environment(),
    )
    assert call.stdin is not None
    assert call.stdout is not None
    call.stdout.readline()
    call.kill()
    assert -9 == call.wait(PATIENCE)
    call.stdin.write(b"on\nexit 0\n")
    call.stdin.close()
    assert b"<on done>\n" == call.stdout.read()
    call.stdout.close()
    assert (None, None) == recorded(home)[0]


@pytest.mark.requirement("RK-PASS-033")
def test_a_call_keeps_the_revision_that_it_was_captured_under(tmp_path: Path) -> None:
    home = probe.probing_home(tmp_path)
    with Shell(home.environment(), tmp_path) as shell:
        listening(shell, 10)
        apply(home, probe.OWNER)
        assert 77 == home.run("tools", "probe", "exit", "0").returncode
        shell.type(b"exit 5\n")
        assert {"exited": 5} == shell.wait()
    assert [("rejected", "denied"), ("command_failed", "command")] == recorded(home)
    later, earlier = (int(row[2][1:].partition("-")[0]) for row in rows_of(home))
    assert 1 == later - earlier
