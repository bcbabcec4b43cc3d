"""Who is alive: a lock that is held, and nothing else."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from rukh.store.holders import Holder, is_alive, sweep
from rukh.store.home import Home, open_home
from rukh.values.errors import RukhError

# A process that holds, says so, and waits for the end of its input.
HOLDING = """
import sys
from rukh.store.holders import Holder
from rukh.store.home import Home
print(Holder(Home(sys.argv[1])).id, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(str(tmp_path / "home"), create=True)


def files(home: Home) -> list[str]:
    return sorted(os.listdir(home.at("locks")))


@pytest.mark.requirement("RK-PUB-010")
def test_a_holder_lives_until_it_leaves_and_has_no_file_then(home: Home) -> None:
    holder = Holder(home)
    assert files(home) == []
    name = holder.id
    assert (holder.id, files(home), is_alive(home, name), sweep(home)) == (name, [name], True, [])
    holder.leave()
    assert (files(home), is_alive(home, name)) == ([], False)
    assert holder.id != name
    holder.leave()


@pytest.mark.requirement("RK-PUB-010")
def test_a_process_that_is_killed_is_dead_though_its_file_is_there(home: Home) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, home.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        assert (is_alive(home, name), sweep(home)) == (True, [])
        process.kill()
    assert (files(home), is_alive(home, name)) == ([name], False)
    assert (sweep(home), sweep(home), files(home)) == ([name], [], [])


@pytest.mark.requirement("RK-PUB-010")
def test_a_stale_file_with_the_number_of_a_living_process_holds_nothing(home: Home) -> None:
    stale = Path(home.at("locks", "hold_stale"))
    stale.write_text(str(os.getpid()))
    assert is_alive(home, "hold_stale") is False
    assert sweep(home) == ["hold_stale"]


def test_the_locks_of_the_turnstile_are_no_holders(home: Home) -> None:
    Path(home.at("locks", "gate")).touch()
    assert (sweep(home), files(home)) == ([], ["gate"])


@pytest.mark.requirement("RK-PUB-010")
def test_who_asks_is_not_taken_for_the_holder(home: Home) -> None:
    Path(home.at("locks", "hold_x")).touch()
    asking = os.open(home.at("locks", "hold_x"), os.O_RDWR)
    fcntl.flock(asking, fcntl.LOCK_SH)
    assert is_alive(home, "hold_x") is False
    os.close(asking)


@pytest.mark.requirement("RK-PUB-010")
def test_a_holder_whose_file_was_swept_before_it_was_locked_makes_another(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock
    swept: list[str] = []

    def late(descriptor: int, operation: int) -> None:
        if operation == fcntl.LOCK_EX and not swept:
            swept.extend(files(home))
            os.unlink(home.at("locks", swept[0]))
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    holder = Holder(home)
    name = holder.id
    assert (len(swept), name in swept, is_alive(home, name)) == (1, False, True)
    holder.leave()


@pytest.mark.requirement("RK-PUB-011")
def test_a_holder_lives_on_in_whoever_was_handed_its_descriptor(home: Home) -> None:
    holder = Holder(home)
    name = holder.id
    supervisor = os.dup(holder.descriptor)
    holder.leave()
    assert (is_alive(home, name), files(home)) == (True, [name])
    os.close(supervisor)
    assert is_alive(home, name) is False


@pytest.mark.requirement("RK-STORE-016")
def test_a_lock_that_cannot_be_made_is_a_refusal(home: Home) -> None:
    os.rmdir(home.at("locks"))
    with pytest.raises(RukhError) as refused:
        _ = Holder(home).id
    assert refused.value.rule == "RKS007"


def failing(_path: str, *_: int) -> int:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.requirement("RK-PUB-038")
def test_a_file_that_the_storage_does_not_let_go_of_is_left_for_the_next_sweep(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = Holder(home)
    name = holder.id
    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", failing)
        holder.leave()
        assert ([], [name], False) == (sweep(home), files(home), is_alive(home, name))
    assert ([name], []) == (sweep(home), files(home))


@pytest.mark.requirement("RK-PUB-015")
def test_a_holder_whose_file_cannot_be_opened_counts_as_alive(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = Holder(home)
    name = holder.id
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", failing)
        assert (True, []) == (is_alive(home, name), sweep(home))
    holder.leave()


@pytest.mark.requirement("RK-PUB-010")
def test_threads_that_ask_at_the_same_time_share_one_holder(home: Home) -> None:
    for _ in range(20):
        holder, together = Holder(home), Barrier(16)

        def ask(holder: Holder = holder, together: Barrier = together) -> tuple[str, int]:
            together.wait()
            return holder.id, holder.descriptor

        with ThreadPoolExecutor(16) as pool:
            told = set(pool.map(lambda _: ask(), range(16)))

        assert {(holder.id, holder.descriptor)} == told
        assert [holder.id] == files(home)
        holder.leave()
