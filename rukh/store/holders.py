"""Who is alive: a process holds an `flock` on a file of its own below `locks/`, and on nothing else.

What is under way names its holder: a begun operation, a captured call. A holder whose file is gone or can be locked is
dead, whatever number its process had, and its id is never used again, so that dead is for ever. The descriptor may be
handed to the supervisors of the process's calls: the holder then lives as long as any of them. RK-PUB-010

A file is made and only then locked; whoever sweeps in between takes it away, and its maker sees that it has no name any
more and makes another.
"""

from __future__ import annotations

import _thread
import fcntl
import os

from rukh.values.errors import RukhError
from rukh.values.ids import new_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.store.home import Home

_PREFIX = "hold"
_GONE = -1


class Holder:
    """This process's own holder in one home; taken when it is first asked for."""

    def __init__(self, home: Home, name: str = "") -> None:
        self._home = home
        self._name = name
        self._descriptor = -1
        # The calls of a serving process begin in threads of their own, and must all name one holder.
        self._taking = _thread.allocate_lock()

    @property
    def id(self) -> str:
        """The id that a row names; the lock is held from now on. Raises RKS007."""
        self._take()
        return self._name

    @property
    def descriptor(self) -> int:
        """The descriptor that holds the lock, for handing it to a supervisor."""
        self._take()
        return self._descriptor

    def leave(self) -> None:
        """Give the lock up; what is still under way is then known as left behind, once no supervisor holds it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            _swept(self._home.at("locks", self._name))
            self._name = ""

    def _take(self) -> None:
        if self._descriptor >= 0:
            return
        with self._taking:
            while self._descriptor < 0:
                self._try()

    def _try(self) -> None:
        name = self._name or new_id(_PREFIX)
        descriptor = _made(self._home.at("locks", name))
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            self._name, self._descriptor = name, descriptor
        else:
            os.close(descriptor)


def _made(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise RukhError(
            "RKS007",
            f"a lock of the home cannot be made: {error.strerror}",
            place=path,
            mend="look at the free space and the permissions of the home",
        ) from error


def is_alive(home: Home, holder: str) -> bool:
    """Whether somebody still holds the lock of `holder`."""
    found = _probe(home.at("locks", holder))
    if found is not None and found != _GONE:
        os.close(found)
    return found is None


def sweep(home: Home) -> list[str]:
    """Take away the files of dead holders; their ids. They are unlinked under their lock: see the module's head."""
    return [name for name in _names(home) if _swept(home.at("locks", name))]


def dead(home: Home) -> list[str]:
    """The ids of dead holders whose files are there still."""
    return [name for name in _names(home) if not is_alive(home, name)]


def _names(home: Home) -> list[str]:
    return [name for name in home.names("locks") if name.startswith(f"{_PREFIX}_")]


def _swept(path: str) -> bool:
    found = _probe(path)
    if found is None or found == _GONE:
        return False
    gone = _unlinked(path)
    os.close(found)
    return gone


def _probe(path: str) -> int | None:
    """A descriptor with a shared lock on a file that nobody holds; None where somebody does, `_GONE` without a file.

    Shared, so that two who ask at the same time do not take each other for the holder. A file that cannot be opened
    says nothing, and its holder counts as alive. Reading is enough, so that it can be asked where nothing can be
    written, and neither a link nor a pipe that somebody put there is waited for. RK-DOC-002
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return _GONE
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _unlinked(path: str) -> bool:
    """Whether the file has gone. Where the storage keeps it, the next sweep finds it: what was done stays done."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return True  # somebody else swept
    except OSError:
        return False
    return True
