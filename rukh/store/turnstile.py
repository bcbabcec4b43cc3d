"""The turnstile: writers of one home queue on two locks instead of racing for one.

gate → lock → let go of the gate: whoever waits for the lock holds the gate, so that nobody overtakes, and a writer that
has just finished queues behind those who waited. The wait is bounded; past it the writer answers busy (RKS004).
A lock belongs to a file opened for this one turn, so that it ends with the process however it ends, and a lock that
comes too late is let go without touching the next turn's. RK-STORE-012
"""

from __future__ import annotations

import _thread
import fcntl
import os

from rukh.values.errors import RukhError


class Turnstile:
    """The two locks of one home, for one process; `enter` and `leave` are called in pairs."""

    def __init__(self, directory: str, wait_ms: int) -> None:
        self._gate = os.path.join(directory, "gate")
        self._lock = os.path.join(directory, "lock")
        self._wait = wait_ms / 1000
        self._held = -1
        # Keeps the threads of this process in a row before they queue with other processes.
        self._threads = _thread.allocate_lock()

    def enter(self) -> None:
        """Wait for the turn; raises RKS004 when the bound has passed, RKS007 where a lock cannot be opened."""
        if not self._threads.acquire(timeout=self._wait):
            raise _busy()
        try:
            gate = self._take(self._gate)
            try:
                self._held = self._take(self._lock)
            finally:
                os.close(gate)
        except BaseException:
            self._threads.release()
            raise

    def leave(self) -> None:
        """Give the turn to the next."""
        os.close(self._held)
        self._threads.release()

    def _take(self, path: str) -> int:
        """The descriptor that holds the lock of `path`; closing it lets go."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise RukhError(
                "RKS007",
                f"a lock of the home cannot be opened: {error.strerror}",
                place=path,
                mend="look at the free space and the permissions of the home",
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _Waiting(descriptor).take(self._wait)
        return descriptor


class _Waiting:
    """A blocking flock in a thread of its own, so that the wait can be bounded; a lock that comes late is let go."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._decision = _thread.allocate_lock()
        self._taken = _thread.allocate_lock()
        self._given_up = False

    def take(self, seconds: float) -> None:
        """Return with the lock held, or raise RKS004 after `seconds`, or what a signal raises meanwhile."""
        self._taken.acquire()
        _thread.start_new_thread(self._block, ())
        try:
            if self._taken.acquire(timeout=seconds):
                return
        except BaseException:
            if self._came():
                os.close(self._descriptor)
            raise
        if not self._came():
            raise _busy()

    def _came(self) -> bool:
        """Whether the lock is there after all; where it is not, it is let go as soon as it comes."""
        with self._decision:
            self._given_up = not self._taken.acquire(blocking=False)
        return not self._given_up

    def _block(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        with self._decision:
            if self._given_up:
                os.close(self._descriptor)
            else:
                self._taken.release()


def _busy() -> RukhError:
    return RukhError(
        "RKS004", "another writer holds the home", mend="try again when the other command has ended"
    )
