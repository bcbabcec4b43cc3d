"""The process that keeps a home's lock for a passthrough program, since its host may be killed and the program goes on.

The program gets no descriptor of the host's (RK-PASS-011), nobody stands between the two, and the host has no other
child (RK-PASS-020): so the lock is kept from aside. The supervisor that a managed call would have had, which is there
already, in a session of its own and without a descriptor of the caller's, takes the lock in place of an order and is
then let go by its parent. It sees the end of the program through a descriptor of the process, not by its number.

    host                                   watcher
    the lock, the number of its group  ─▶
                                       ◀─  ready: it has the lock; the program may start
    a descriptor of the program        ─▶  lets the lock go when that has ended
    … or: none was started             ─▶  lets it go at once
    … or nothing, since it was killed      in the instant of the start, or had no descriptor to be had: every process
                                           that its group holds now may be the program, or come of it, and is waited for

RK-PUB-050 … RK-PUB-053
"""

from __future__ import annotations

import _socket
import os
import select

from rukh.host.supervisor import receive, rights, tell
from rukh.values.errors import RukhError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

_READY = "ready"
_PROGRAM = b"program"
_NONE = "none"
_ANSWER = 64  # bytes: more than any answer
_LEAVE_MS = 1000  # how long the host waits, behind the program's end, until the lock is its own again


class Watch:
    """The host's half: `with` it, once it is ready, around the program and the commit of its outcome."""

    __slots__ = ("_control", "_told")

    def __init__(self, control: _socket.socket) -> None:
        self._control = control
        self._told = False

    def until_ready(self) -> None:
        """Wait until the lock is kept; raises RKH003 where nobody can keep it."""
        answer = b""
        try:
            answer = self._control.recv(_ANSWER)
        except ConnectionError:
            pass
        if answer != _READY.encode():
            self._control.close()
            raise RukhError(
                "RKH003",
                f"no process can be had that keeps the lock of the call: {answer.decode()}",
                mend="see the limits on processes and open files of this user",
            )

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Behind the program: the watcher has gone, so that the lock's file can be taken away by its holder."""
        if not self._told:
            tell(self._control, _NONE)
        waiting = select.poll()
        waiting.register(self._control, 0)  # its end is reported, and nothing else is waited for
        waiting.poll(_LEAVE_MS)
        self._control.close()

    def started(self, process: int) -> None:
        """The program is `process`, a child that was not waited for yet."""
        self._told = True
        try:
            descriptor = os.pidfd_open(process)
        except OSError:
            self._control.close()  # no descriptor is to be had: the whole group is watched
            return
        try:
            self._control.sendmsg([_PROGRAM], rights([descriptor]), _socket.MSG_NOSIGNAL)
        except OSError:
            pass  # somebody killed the watcher
        os.close(descriptor)


def keep_watch(control: _socket.socket, holder: int, group: int) -> None:
    """The other half: keep the lock of `holder` until the program has ended; both descriptors are closed then.

    `group` is the process group of the host, which is the program's at its start.
    """
    tell(control, _READY)
    word, watched = receive(control)
    if not word:
        watched = _members(group)
    for process in watched:
        waiting = select.poll()
        waiting.register(process, select.POLLIN)
        waiting.poll()
        os.close(process)
    os.close(holder)
    control.close()


def _members(group: int) -> list[int]:
    """A descriptor of every process of `group`."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.getpgid(int(name)) == group:
                found.append(os.pidfd_open(int(name)))
        except OSError:
            pass  # it has ended meanwhile
    return found
