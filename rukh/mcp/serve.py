"""The serving process: one loop over input, output and a wake-up, one thread per call.

The loop owns every descriptor and all state; a call's thread, one of a crew, runs the call and hands its line back
through the wake-up. Nothing else may write to the protocol's output: `claim_stdio` moves it to a private descriptor
before anything runs, and descriptor 1 leads to standard error from then on. {M03}

How a connection ends, and the status of the process:

    end of input           what has arrived is finished, for at most 30 s                         0
    … not finished then    the rest is cancelled, for at most the stop budget                     125
    SIGTERM, SIGHUP, SIGINT  calls are cancelled and their outcomes delivered within the budget   125, 125, 130
    nobody reads           calls are cancelled, nothing is delivered                              125
    a deadline passed      the transport is closed, calls are cancelled                           124

Within one turn: signals, then finished calls, then output, then the end of the connection, then input, then deadlines.
The output is looked at even when nothing is to be written, so that a client that went away is noticed while calls run.
"""

from __future__ import annotations

import _thread
import fcntl
import gc
import os
import select
import signal
import time
from functools import partial

from rukh.mcp.crew import Crew
from rukh.mcp.session import Session
from rukh.values.errors import RukhError
from rukh.values.registry import (
    EXIT_CALLER_CANCELLED,
    EXIT_DEADLINE,
    EXIT_SCOPE_CANCELLED,
    EXIT_SUCCEEDED,
    LIMIT_CONCURRENCY,
    LIMIT_DRAIN_MILLISECONDS,
    LIMIT_STOP_MILLISECONDS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rukh.mcp.adapter import Adapter
    from rukh.mcp.session import Call

# The capacity of a pipe: more is not to be had in one read.
_CHUNK = 65536
# Seconds for which the loop lets a call's thread have the interpreter, so that its child starts before the next line is
# looked at: two threads that work at the same time take turns of 5 ms.
_HEAD_START = 0.003
_GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL
_SIGNALS: dict[int, int] = {
    signal.SIGTERM: EXIT_SCOPE_CANCELLED,
    signal.SIGHUP: EXIT_SCOPE_CANCELLED,
    signal.SIGINT: EXIT_CALLER_CANCELLED,
}


def claim_stdio() -> tuple[int, int]:
    """Private descriptors of input and output, which no child inherits; 0 and 1 then lead to nothing and to 2.

    Called before anything that may print, start a process or fork. Raises RukhError RKM014.
    """
    try:
        stdin = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
        stdout = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    except OSError:
        mend = "start it from an MCP client, with pipes as its standard input and output"
        raise RukhError("RKM014", "standard input or standard output is not open", mend=mend) from None
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(null, 1)
    os.close(null)
    return stdin, stdout


def serve_stdio(
    adapter: Adapter,
    stdin: int,
    stdout: int,
    *,
    concurrency: int = LIMIT_CONCURRENCY,
    clock: Callable[[], float] = time.monotonic,
    behind: Callable[[], None] | None = None,
) -> int:
    """Serve one client on two descriptors until its connection ends; the exit status of the process.

    `behind` is what no call should wait for: each call's thread does it once its line was handed over.
    Belongs to the main thread: it takes SIGTERM, SIGHUP and SIGINT while it runs, unless they are ignored. Both
    descriptors are closed on return.
    """
    loop = _Loop(adapter, stdin, stdout, concurrency, clock, behind)
    heeded = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, loop.signalled) for number in heeded}
    wakeup = signal.set_wakeup_fd(loop.wake.writer, warn_on_full_buffer=False)
    # Everything that lives now lives for ever: collections need not look at it, and none shows up as a late answer.
    gc.freeze()
    try:
        return loop.run()
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        loop.release()


class _Wake:
    """What threads and signals wake the loop by. Closed with the last reference and not before.

    A thread hands its line over and then wakes the loop, which may have found the line and ended in between: the number
    of a descriptor that was closed by then could be somebody else's.
    """

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def nudge(self) -> None:
        """Wake the loop."""
        try:
            os.write(self.writer, b"\0")
        except BlockingIOError:
            pass  # it is full: the loop wakes up anyway

    def drain(self) -> None:
        """Take what woke the loop."""
        try:
            while os.read(self.reader, _CHUNK):
                pass
        except BlockingIOError:
            pass  # it is empty

    def __del__(self) -> None:
        os.close(self.reader)
        os.close(self.writer)


class _Loop:
    """The descriptors, the poll and the way to the end of one connection."""

    def __init__(
        self,
        adapter: Adapter,
        stdin: int,
        stdout: int,
        concurrency: int,
        clock: Callable[[], float],
        behind: Callable[[], None] | None,
    ) -> None:
        self._adapter = adapter
        self._behind = behind
        self._stdin = stdin
        self._stdout = stdout
        self._clock = clock
        self._crew = Crew(concurrency)
        self._session = Session(adapter, self._start, concurrency=concurrency)
        self._done: list[Call] = []
        self._signals: list[int] = []
        self._status: int | None = None
        self._ends_at: float | None = None
        self.wake = _Wake()
        # A terminal's description is shared with the shell and with standard error: its mode is not ours to change.
        self._was_blocking = os.get_blocking(stdout)
        os.set_blocking(stdout, os.isatty(stdout))
        self._poll = select.poll()
        self._poll.register(self.wake.reader, select.POLLIN)

    def run(self) -> int:
        """Turn until the connection has ended."""
        while True:
            now = self._clock()
            self._take_signals(now)
            self._collect(now)
            self._write(now)
            if self._over(now):
                return EXIT_SUCCEEDED if self._status is None else self._status
            ready = dict(self._poll_once(now))
            now = self._clock()
            self._take(ready, now)
            self._enforce(now)

    def signalled(self, number: int, _frame: Any) -> None:
        """Note a signal; the loop acts on it."""
        self._signals.append(number)

    def release(self) -> None:
        """Give the descriptors back; those of the wake-up go with the last thread that may still use them."""
        if self._stdout >= 0:
            os.set_blocking(self._stdout, self._was_blocking)
        self._close_transport()
        self._crew.dismiss()
        del self.wake

    def _start(self, call: Call) -> bool:
        under_way = _thread.allocate_lock()
        under_way.acquire()
        call.cancel.launched = under_way.release
        if not self._crew.start(partial(self._work, call, under_way, self.wake)):
            return False  # no thread to be had: the same as no room
        under_way.acquire(timeout=_HEAD_START)
        return True

    def _work(self, call: Call, under_way: _thread.LockType, wake: _Wake) -> None:
        """What a call's thread does. What it did not foresee goes to standard error and still frees its place."""
        try:
            call.line = self._adapter.invoke(call.resolved, call.cancel)
        finally:
            if under_way.locked():
                under_way.release()
            self._done.append(call)
            wake.nudge()
        if self._behind is not None:
            self._behind()

    def _collect(self, now: float) -> None:
        while self._done:
            self._session.finished(self._done.pop(0), now)

    def _write(self, now: float) -> None:
        queue = self._session.queue
        while len(queue):
            try:
                queue.wrote(os.write(self._stdout, queue.head(now)))
            except BlockingIOError:
                break
            except OSError:
                self._lose(EXIT_SCOPE_CANCELLED, now)
                break
            self._session.pump(now)

    def _over(self, now: float) -> bool:
        """Whether this was the last turn; a drain that took too long becomes a stop."""
        if self._ends_at is None:
            return False
        if self._session.idle:
            return True
        if now < self._ends_at:
            return False
        if self._status is not None:
            return True
        self._stop(EXIT_SCOPE_CANCELLED, now)
        return False

    def _poll_once(self, now: float) -> list[tuple[int, int]]:
        if self._stdin >= 0:
            self._watch(self._stdin, select.POLLIN if self._session.reads else None)
        if self._stdout >= 0:
            self._watch(self._stdout, select.POLLOUT if len(self._session.queue) else 0)
        times = [time for time in (self._session.deadline, self._ends_at) if time is not None]
        return self._poll.poll(max(0.0, min(times) - now) * 1000 if times else None)

    def _watch(self, descriptor: int, events: int | None) -> None:
        """Look for `events`; with 0 only for a reader that went away, with None for nothing."""
        if events is not None:
            self._poll.register(descriptor, events)
            return
        try:
            self._poll.unregister(descriptor)
        except KeyError:
            pass  # it was not looked at

    def _take(self, ready: dict[int, int], now: float) -> None:
        if self.wake.reader in ready:
            self.wake.drain()
        if self._stdout >= 0 and ready.get(self._stdout, 0) & _GONE:
            self._lose(EXIT_SCOPE_CANCELLED, now)
        elif self._stdin >= 0 and self._stdin in ready:
            self._read(now)

    def _read(self, now: float) -> None:
        try:
            data = os.read(self._stdin, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""  # a reset is an end
        if data:
            self._session.receive(data, now)
            return
        self._end_of_input(now)

    def _end_of_input(self, now: float) -> None:
        self._session.end_of_input(now)
        if self._ends_at is None:
            self._ends_at = now + LIMIT_DRAIN_MILLISECONDS / 1000

    def _enforce(self, now: float) -> None:
        if self._session.overdue(now) is not None:
            self._lose(EXIT_DEADLINE, now)

    def _take_signals(self, now: float) -> None:
        while self._signals:
            self._stop(_SIGNALS[self._signals.pop(0)], now)

    def _stop(self, status: int, now: float) -> None:
        """Cancel what is in flight; the first cause names the status, and its budget is never renewed. {M20}"""
        self._session.close("scope_closed")
        if self._status is None:
            self._status = status
            self._ends_at = now + LIMIT_STOP_MILLISECONDS / 1000

    def _lose(self, status: int, now: float) -> None:
        """Close the transport and finalize what it owned. {M19 M30}"""
        self._stop(status, now)
        self._session.lose()
        self._close_transport()

    def _close_transport(self) -> None:
        for descriptor in (self._stdin, self._stdout):
            if descriptor >= 0:
                self._watch(descriptor, None)
                os.close(descriptor)
        self._stdin = self._stdout = -1
