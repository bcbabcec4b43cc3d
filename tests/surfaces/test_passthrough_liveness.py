"""A passthrough program keeps its call alive when its host was killed: real programs, hosts, kills and collections."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rukh.host.invocation import Call as host_call
from rukh.host.invocation import Host
from rukh.host.ledger import StoreLedger
from rukh.host.spawner import Spawner
from rukh.host.upkeep import collect, recover
from rukh.store import collection
from rukh.store.calls import Caller
from rukh.store.holders import is_alive
from rukh.store.home import open_home
from rukh.store.store import Store
from tests.support import probe
from tests.support.children import gone
from tests.support.families import children
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.jobs import heeding


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InstalledHome:
    """A home of its own, whose collections keep the active revision alone."""
    monkeypatch.setattr(collection.Collection.collect, "__kwdefaults__", {"keep": 1})
    return probe.probing_home(tmp_path)


@pytest.fixture
def store(home: InstalledHome) -> Iterator[Store]:
    opened = Store(open_home(home.path, create=False))
    yield opened
    opened.close()


WORDS = ("tools", "probe", "listen", "10")
# A host that is killed by its own hand in the instant of the start: what it would tell is not told any more.
STRUCK = f"""
import os, runpy, sys
from rukh.host.watcher import Watch

Watch.started = lambda self, process: os.kill(os.getpid(), 9)
sys.argv = [{PROGRAM!r}, *{WORDS!r}]
runpy.run_path({PROGRAM!r}, run_name="__main__")
"""


class Call:
    """A host whose program listens: `tell` it a line, and it answers behind what it did."""

    def __init__(self, home: InstalledHome, *host: str) -> None:
        self.host = subprocess.Popen(
            host or [PROGRAM, *WORDS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=home.environment(),
            start_new_session=True,
        )
        assert self.host.stdout is not None
        self.program, _ = map(int, self.host.stdout.readline().strip(b"<>\n").split()[1:])

    def tell(self, line: bytes) -> None:
        assert self.host.stdin is not None
        self.host.stdin.write(line)
        self.host.stdin.flush()


@contextmanager
def called(home: InstalledHome, *host: str) -> Iterator[Call]:
    call = Call(home, *host)
    try:
        yield call
    finally:
        call.host.kill()
        call.host.communicate()
        assert gone(call.program)


def holder_of(store: Store) -> str:
    (holder,) = store.database.rows("SELECT holder FROM invocation WHERE outcome IS NULL")[0]
    assert isinstance(holder, str)
    return holder


def watcher_of(store: Store, host: int) -> int:
    """The process, other than the host, that has the lock's file open."""
    lock = store.home.at("locks", holder_of(store))
    for name in filter(str.isdigit, os.listdir("/proc")):
        if int(name) not in (host, os.getpid()) and lock in targets(int(name)).values():
            return int(name)
    raise AssertionError("nobody keeps the lock")


def targets(process: int) -> dict[str, str]:
    """Where the descriptors of `process` lead; nothing of one that is not ours, or has ended."""
    found = {}
    try:
        for name in os.listdir(f"/proc/{process}/fd"):
            found[name] = os.readlink(f"/proc/{process}/fd/{name}")
    except OSError:
        pass
    return found


def let_go(store: Store, holder: str) -> None:
    """Wait until nobody holds the lock of `holder`."""
    lock = os.open(store.home.at("locks", holder), os.O_RDWR)
    signal.alarm(PATIENCE)
    fcntl.flock(lock, fcntl.LOCK_EX)
    signal.alarm(0)
    os.close(lock)


@pytest.mark.requirement("RK-PUB-050", "RK-PUB-011", "RK-PUB-014", "RK-PUB-021")
def test_a_program_whose_host_was_killed_keeps_its_release_until_it_has_ended(
    home: InstalledHome, store: Store
) -> None:
    tree = StoreLedger(store).active().profile["packages"][home.package]["tree"]
    files = Path(store.home.at("releases", tree))
    with called(home) as call:
        assert home.run("remove", home.package).returncode == 0
        holder = holder_of(store)
        call.host.kill()
        assert call.host.wait(PATIENCE) == -signal.SIGKILL
        assert (recover(store).calls, collect(store, dry_run=False).releases) == ([], [])
        assert (is_alive(store.home, holder), store.collection.standing(tree)) == (True, "referenced")
        assert files.is_dir()
        call.tell(b"exit 0\n")
        let_go(store, holder)
    assert len(recover(store).calls) == 1
    assert [("execution_failed", "host_lost")] == probe.recorded(home)[:1]
    assert collect(store, dry_run=False).releases == [tree]
    assert not files.exists()


@pytest.mark.requirement("RK-PUB-051", "RK-PASS-020")
def test_who_keeps_the_lock_stands_aside_and_has_nothing_of_the_callers(
    home: InstalledHome, store: Store
) -> None:
    with called(home) as call:
        watcher = watcher_of(store, call.host.pid)
        lock = store.home.at("locks", holder_of(store))
        assert [call.program] == children(call.host.pid)
        assert lock not in targets(call.program).values()
        assert os.getsid(watcher) not in (os.getsid(call.host.pid), os.getsid(0))
        assert os.readlink(f"/proc/{watcher}/cwd") == "/"
        theirs, ours = targets(watcher), targets(call.host.pid)
        assert {theirs[number] for number in "012"} == {"/dev/null"}
        assert not {ours[number] for number in "012"} & set(theirs.values())
        call.tell(b"exit 3\n")
        assert call.host.wait(PATIENCE) == 3
        assert gone(watcher)
    assert [("command_failed", "command")] == probe.recorded(home)[:1]
    assert [name for name in os.listdir(store.home.at("locks")) if name.startswith("hold_")] == []


@pytest.mark.requirement("RK-PUB-051")
def test_a_kill_of_the_whole_group_lets_the_call_go(home: InstalledHome, store: Store) -> None:
    with called(home) as call:
        holder = holder_of(store)
        os.killpg(call.host.pid, signal.SIGKILL)
        assert call.host.wait(PATIENCE) == -signal.SIGKILL
        let_go(store, holder)
    assert len(recover(store).calls) == 1


@pytest.mark.requirement("RK-PUB-053")
def test_of_a_host_that_is_killed_in_the_instant_of_the_start_the_group_counts(
    home: InstalledHome, store: Store
) -> None:
    with called(home, sys.executable, "-c", STRUCK) as call:
        assert call.host.wait(PATIENCE) == -signal.SIGKILL
        watcher = watcher_of(store, call.host.pid)
        while "anon_inode:[pidfd]" not in targets(watcher).values():
            assert not gone(watcher, 0.01)
        holder = holder_of(store)
        assert (is_alive(store.home, holder), recover(store).calls) == (True, [])
        call.tell(b"exit 0\n")
        let_go(store, holder)
    assert len(recover(store).calls) == 1


@pytest.mark.requirement("RK-PUB-052")
def test_without_anybody_to_keep_its_lock_a_program_is_not_started(home: InstalledHome, store: Store) -> None:
    active = store.profiles.active()
    assert active is not None
    record = store.profiles.command(active.generation, "acme.tools/probe")
    assert record is not None
    call = host_call(active, record, {}, Caller("cli", "user:local", "user:local"), 0)
    spawner = Spawner.start(one_call=True)
    os.kill(spawner.process, signal.SIGKILL)
    os.waitpid(spawner.process, 0)
    with heeding():
        finished = Host(store, spawner).pass_through(call, [b"exit", b"0"])
    reason = finished.envelope["reason"]
    assert (finished.outcome, reason["code"], finished.exit_code) == (
        "execution_failed",
        "spawn_failed",
        None,
    )
    assert "[RKH003]" in reason["message"]
    assert [("execution_failed", "spawn_failed")] == probe.recorded(home)[:1]
