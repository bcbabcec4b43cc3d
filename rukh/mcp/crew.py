"""Threads for calls, each kept for the next one: to make one costs more than to hand it what is to be done."""

from __future__ import annotations

import _thread
import sys
from _queue import SimpleQueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Crew:
    """At most `most` threads, made when they are needed. One party starts and dismisses; it is not locked for more.

    RK-MCP-046
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._threads = 0
        self._work: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        # One entry for each thread that has nothing to do. More of them than such threads only where no thread may be
        # made any more, and what they promised had to wait for one: then nobody needs to know.
        self._idle: list[None] = []

    def start(self, work: Callable[[], object]) -> bool:
        """Have `work` done by a thread of its own, and what fails there told on standard error.

        Where all threads are busy and no more may be made, the first that comes free does it. False where the system
        has no thread to give.
        """
        if self._idle:
            self._idle.pop()
        elif self._threads < self._most:
            try:
                _thread.start_new_thread(_serve, (self._work, self._idle))
            except RuntimeError:
                return False
            self._threads += 1
        self._work.put(work)
        return True

    def dismiss(self) -> None:
        """End each thread as soon as it has done its work. Nothing may be started afterwards."""
        for _ in range(self._threads):
            self._work.put(None)


def _serve(queue: SimpleQueue[Callable[[], object] | None], idle: list[None]) -> None:
    """The body of a thread. While it has nothing to do it keeps nothing alive that it did."""
    while (work := queue.get()) is not None:
        try:
            work()
        except BaseException:
            sys.excepthook(*sys.exc_info())
        work = None
        idle.append(None)
