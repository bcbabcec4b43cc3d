"""Threads kept for the next call: how many there are, what they do when something fails, and when they end."""

from __future__ import annotations

import _thread
import threading
import weakref
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from rukh.mcp.crew import Crew

PATIENCE = 30


class Idle(list[None]):
    """The list of a crew's idle threads, which tells of each that comes to it."""

    def __init__(self) -> None:
        self._told: SimpleQueue[None] = SimpleQueue()

    def append(self, one: None) -> None:
        super().append(one)
        self._told.put(one)

    def wait(self, count: int) -> None:
        for _ in range(count):
            self._told.get(timeout=PATIENCE)


class Work:
    """Says which thread does it, and goes on when it is let; `ended` names each such thread that is no more."""

    def __init__(self) -> None:
        self._began: SimpleQueue[int] = SimpleQueue()
        self._let = threading.Semaphore(0)
        self._local = threading.local()
        self.ended: SimpleQueue[int] = SimpleQueue()

    def __call__(self) -> None:
        if not hasattr(self._local, "mark"):
            self._local.mark = Work()  # lives as long as this thread
            weakref.finalize(self._local.mark, self.ended.put, threading.get_ident())
        self._began.put(threading.get_ident())
        assert self._let.acquire(timeout=PATIENCE)

    def begun(self, count: int = 1) -> list[int]:
        return [self._began.get(timeout=PATIENCE) for _ in range(count)]

    def let(self, count: int = 1) -> None:
        self._let.release(count)


def _crew(most: int) -> tuple[Crew, Idle]:
    crew, idle = Crew(most), Idle()
    crew._idle = idle
    return crew, idle


def test_work_that_meets_has_a_thread_each_and_the_next_work_takes_an_idle_one() -> None:
    crew, idle = _crew(16)
    work = Work()
    assert crew.start(work)
    first = work.begun()
    work.let()
    idle.wait(1)
    assert [crew.start(work) for _ in range(3)] == [True] * 3
    made = work.begun(3)
    assert len({*made, threading.get_ident()}) == 4
    assert set(first) < set(made)
    for count in (2, 3, 1):
        work.let(3)
        idle.wait(3)
        for _ in range(3):
            crew.start(work)
        assert sorted(work.begun(3)) == sorted(made), count
    work.let(3)
    crew.dismiss()


def test_where_no_more_may_be_made_the_first_that_comes_free_goes_on() -> None:
    crew, idle = _crew(2)
    work = Work()
    assert [crew.start(work) for _ in range(5)] == [True] * 5
    made = work.begun(2)
    with pytest.raises(Empty):
        work._began.get_nowait()
    work.let(3)
    assert {*made, *work.begun(3)} == set(made)
    work.let(2)
    idle.wait(5)
    # More was promised than there are threads; they do what comes all the same, and no third one is made.
    assert [crew.start(work) for _ in range(7)] == [True] * 7
    work.let(7)
    assert set(work.begun(7)) <= set(made)
    crew.dismiss()
    assert sorted(work.ended.get(timeout=PATIENCE) for _ in range(2)) == sorted(made)


@pytest.mark.parametrize("fault", [ValueError, SystemExit, KeyboardInterrupt])
def test_what_fails_is_told_and_its_thread_does_the_next(
    fault: type[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    crew, idle = _crew(1)
    work = Work()

    def failing() -> None:
        work.let()
        work()
        raise fault("spilt milk")

    crew.start(failing)
    idle.wait(1)
    crew.start(work)
    first, then = work.begun(2)
    assert first == then
    assert f"{fault.__name__}: spilt milk" in capsys.readouterr().err
    work.let()
    crew.dismiss()


def test_a_dismissed_thread_ends_an_idle_one_at_once_and_a_busy_one_behind_its_work() -> None:
    crew, idle = _crew(2)
    work, busy = Work(), Work()
    crew.start(work)
    crew.start(busy)
    had, has = work.begun(), busy.begun()
    work.let()
    idle.wait(1)
    crew.dismiss()
    assert [work.ended.get(timeout=PATIENCE)] == had
    assert busy.ended.empty()
    busy.let()
    assert [busy.ended.get(timeout=PATIENCE)] == has


def test_an_idle_thread_keeps_nothing_that_it_worked_with() -> None:
    crew = Crew(1)
    gone = threading.Event()

    class Once:
        def __call__(self) -> None:
            raise ValueError(self)

    once = Once()
    weakref.finalize(once, gone.set)
    crew.start(once)
    del once
    assert gone.wait(PATIENCE)
    crew.dismiss()


def test_where_no_thread_is_to_be_had_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    crew, idle = _crew(2)
    work = Work()

    def none(*_: Any) -> int:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(_thread, "start_new_thread", none)
        assert not crew.start(work)
    assert [crew.start(work), crew.start(work)] == [True, True]
    assert len(set(work.begun(2))) == 2
    work.let(2)
    idle.wait(2)
    with pytest.raises(Empty):
        work._began.get_nowait()
    crew.dismiss()
