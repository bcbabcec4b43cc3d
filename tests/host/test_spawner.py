"""The process that makes supervisors: what it is asked, and what happens when it cannot."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rukh.host.spawner import Launch, Nursery, Spawner
from rukh.host.supervisor import descendants, signal_each
from rukh.values.errors import RukhError
from tests.support.children import Running, called, gone, readable, scripted, spawning, verdict

DONE = "confirm(); complete(commandResult=text('x'))"


def test_one_spawner_serves_call_after_call_and_many_at_once(tmp_path: Path) -> None:
    with spawning() as spawner:
        one_by_one = [called(scripted(DONE, tmp_path), spawner=spawner) for _ in range(3)]
        at_once = [Running(scripted(DONE, tmp_path), spawner) for _ in range(6)]

        assert [("succeeded", "")] * 9 == [verdict(report) for report in one_by_one] + [
            verdict(running.report()) for running in at_once
        ]


def test_a_spawner_that_was_never_used_is_gone_when_it_is_closed() -> None:
    for one_call in (True, False):
        spawner = Spawner.start(one_call=one_call)
        spawner.close()

        assert gone(spawner.process, 0)


def test_a_supervisor_is_used_again_when_nothing_of_its_call_is_left(tmp_path: Path) -> None:
    """One serves, one is free; a third is made when the next order is faster than the word that one is free again."""
    tells = "confirm(); complete(commandResult=text(str(os.getppid())))"
    with spawning() as spawner:
        reports = [called(scripted(tells, tmp_path), spawner=spawner) for _ in range(16)]

    assert len({(report.command_result or {})["text"] for report in reports}) <= 4


def kill_all(spawner: Spawner, *, workers: bool) -> None:
    """Kill the spawner, and with `workers` every supervisor that it had made, and nobody else's process."""
    others = frozenset(process for process, _ in descendants(os.getpid(), frozenset({spawner.process})))
    os.kill(spawner.process, signal.SIGKILL)
    os.waitpid(spawner.process, 0)
    while workers and (rows := descendants(os.getpid(), others)):
        signal_each(rows, signal.SIGKILL)
        for process, _ in rows:
            os.waitpid(process, 0)


def test_without_spawner_and_supervisors_the_attempt_fails_and_nothing_stays_open(tmp_path: Path) -> None:
    with spawning() as spawner:
        called(scripted(DONE, tmp_path), spawner=spawner)
        kill_all(spawner, workers=True)
        before = len(os.listdir("/proc/self/fd"))
        report = called(scripted(DONE, tmp_path), spawner=spawner)

        assert ("execution_failed", "spawn_failed") == verdict(report)
        assert before == len(os.listdir("/proc/self/fd"))


def test_supervisors_without_their_spawner_serve_once_more_at_most(tmp_path: Path) -> None:
    with spawning() as spawner:
        called(scripted(DONE, tmp_path), spawner=spawner)
        kill_all(spawner, workers=False)
        served = [verdict(called(scripted(DONE, tmp_path), spawner=spawner)) for _ in range(4)]

        assert {("succeeded", ""), ("execution_failed", "spawn_failed")} >= set(served)
        assert ("execution_failed", "spawn_failed") == served[-1]


def test_while_no_process_can_be_made_orders_are_refused_and_later_they_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exhausted = tmp_path / "exhausted"
    exhausted.touch()
    make_one = Nursery._make_one
    monkeypatch.setattr(Nursery, "_make_one", lambda nursery: not exhausted.exists() and make_one(nursery))
    with spawning() as spawner:
        refused = [called(scripted(DONE, tmp_path), spawner=spawner) for _ in range(2)]
        exhausted.unlink()
        served = [verdict(called(scripted(DONE, tmp_path), spawner=spawner)) for _ in range(2)]

    assert [("execution_failed", "spawn_failed")] * 2 == [verdict(report) for report in refused]
    assert "fork: Resource temporarily unavailable [RKH003]" == (refused[0].reason or {})["message"]
    assert [0, 0] == [report.survivors for report in refused]
    assert [("succeeded", "")] * 2 == served


def test_a_host_without_streams_starts_children_like_any_other(tmp_path: Path) -> None:
    """The numbers 0 to 2 are then given to what it opens first."""
    told, tell = os.pipe()
    host = os.fork()
    if host == 0:
        os.closerange(0, 3)
        os.write(tell, repr(verdict(called(scripted(DONE, tmp_path)))).encode())
        os._exit(0)
    os.waitpid(host, 0)

    assert b"('succeeded', '')" == os.read(told, 100)
    os.close(told)
    os.close(tell)


# name: (arguments, environment)
UNSAYABLE = {
    "NUL in an argument": (["/bin/true", "a\0b"], {}),
    "NUL in a variable": (["/bin/true"], {"A": "a\0b"}),
    "more than a datagram": (["/bin/true"], {"A": "x" * 400_000}),
}


@pytest.mark.requirement("RK-EXEC-010")
@pytest.mark.parametrize("name", UNSAYABLE)
def test_an_order_that_cannot_be_given_starts_nothing(tmp_path: Path, name: str) -> None:
    argv, env = UNSAYABLE[name]
    report = called(Launch(argv, env, str(tmp_path)))

    assert ("execution_failed", "spawn_failed") == verdict(report)


@contextmanager
def few_descriptors(more: int) -> Iterator[None]:
    """So many descriptors can still be opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    probe = os.dup(0)
    os.close(probe)
    resource.setrlimit(resource.RLIMIT_NOFILE, (probe + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("more", range(11))
def test_without_descriptors_nothing_is_started_and_none_is_lost(tmp_path: Path, more: int) -> None:
    """Whichever of the pairs is the one that cannot be made."""
    with spawning() as spawner:
        before = sorted(os.listdir("/proc/self/fd"))
        with few_descriptors(more), pytest.raises(RukhError) as refusal:
            spawner.launch(scripted(DONE, tmp_path))

        assert "RKH003" == refusal.value.rule
        assert before == sorted(os.listdir("/proc/self/fd"))
        assert ("succeeded", "") == verdict(called(scripted(DONE, tmp_path), spawner=spawner))


def test_given_input_reaches_the_child(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"milk")
    os.close(writer)
    launch = scripted("confirm(); complete(commandResult=text(sys.stdin.read()))", tmp_path)
    launch.stdin = reader
    report = called(launch)
    os.close(reader)

    assert {"kind": "text", "text": "milk"} == report.command_result


def test_the_token_can_be_read_once(tmp_path: Path) -> None:
    spawner = Spawner.start(one_call=True)
    session = spawner.launch(Launch(["/bin/sh", "-c", "cat <&4; cat <&4"], {"PATH": "/bin:/usr/bin"}, "/"))
    assert readable(session.control.fileno())

    assert (session.token.encode(), b"ended 0 0 0") == (
        os.read(session.stdout, 100),
        session.control.recv(100),
    )
    session.close()
    spawner.close()


@pytest.mark.requirement("RK-PUB-011")
def test_a_supervisor_holds_the_lock_of_its_host_until_its_call_is_gone_and_no_longer(tmp_path: Path) -> None:
    """A pipe stands for the lock: it ends when nobody holds its other end."""
    ended, holder = os.pipe()
    launch = scripted("confirm()\ncomplete()\n", tmp_path)
    launch.holder = holder
    with spawning() as spawner:
        called(launch, declared=None, spawner=spawner)
        os.close(holder)
        assert readable(ended)
        assert os.read(ended, 1) == b""
    os.close(ended)
