"""How one call is asked to stop, and how the commit ends that: the two may race, and the first that comes stands.

A cause that was accepted before the commit was asked for decides the outcome; a later one changes nothing and its
asker is told so. RK-LIFE-013
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def _nobody() -> None:
    """Nobody waits for the launch."""


class Cancel:
    """The way to stop one call from another thread or a signal handler. The first cause stays. RK-LIFE-013

    Lock-free, because a signal handler may interrupt whoever would hold the lock: a dictionary's `setdefault` is one
    step of the interpreter.
    """

    def __init__(self) -> None:
        self._cell: dict[str, list[str]] = {}
        self._closed = False
        # Called once the child has been asked for: from then on the call's thread waits more than it works.
        self.launched: Callable[[], None] = _nobody
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def request(self, cause: str) -> bool:
        """Ask for a stop: `caller`, `owner`, `deadline` or `scope_closed`. False once the commit was asked for."""
        claim = [cause]
        first = self._cell.setdefault("first", claim)
        if first is claim:
            os.write(self._writer, b"\0")
        return first != [] and not self._closed

    def close(self) -> str | None:
        """Ask for the commit: nothing is accepted any more. The cause that was there first, or None."""
        first = self._cell.setdefault("first", [])
        self._closed = True
        return first[0] if first else None

    @property
    def cause(self) -> str | None:
        """The accepted cause, None without one."""
        first = self._cell.get("first")
        return first[0] if first else None

    def fileno(self) -> int:
        """Readable once a cause was accepted, and for ever after."""
        return self._reader

    def __del__(self) -> None:
        # Closed with the last reference and not before: a thread in `request` holds one.
        os.close(self._reader)
        os.close(self._writer)
