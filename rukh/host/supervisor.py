"""The process that stands between one child and the rest of the machine: it starts it, and ends all that came of it.

It is a process of its own because only a subreaper hears of a daemon's orphans, and a subreaper in the host could
not tell the orphans of two calls apart. It is forked, holds no thread and no database, and does five things:

1. **Set up.** Own session, subreaper, null streams and no descriptor but its own.
2. **Hold.** It forks the child before there is an order. The held child takes its own session and a parent-death
   signal, and waits: nothing of a publisher is in it. Both are made before the call comes, so that the call does not
   pay for two forks.
3. **Release.** An order comes with the child's descriptors. Only now, when channel, inheritance and supervision
   stand, the child goes to its directory, takes descriptors 0 to 4, and becomes the program. A step that fails is
   reported, and nothing runs. RK-EXEC-010
4. **Wait** for the child, for the host's commands, and for the host's end, which is the end of the control socket.
5. **Clean up.** When the child has left, or the host says so, or is gone, every descendant is killed until none is
   there; only then the exit is reported. RK-EXEC-011 RK-EXEC-012

Descendants are found by a walk over /proc from parent to child; orphans come to the subreaper, so that nobody
escapes by `setsid`, a second fork or a cleared environment. The usual child leaves none: `waitpid` says so, and /proc
is not read. A process is signalled through a descriptor of itself, so that a number that was used again is never hit.
The parent-death signal takes the direct child along when the supervisor itself is killed; its daemons then stay, and
the host reports the cleanup as unconfirmed. RK-EXEC-016

Messages are one a datagram. Orders: fields divided by NUL (`spawner.Launch.order`), with the call's control socket
and the child's descriptors. On the control socket, from the host: `T` TERM to all, `K` KILL to all, `R` report now.
To the host, once: `ended STATUS KILLED SURVIVORS` (STATUS `-` while the child is still there; signals negative), or
`failed STEP ERRNO`.
"""

from __future__ import annotations

import _socket
import errno
import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    Prctl = Callable[[int, int], None]

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
# The child's descriptors in the order in which they are sent: stdin, stdout, stderr, channel, token.
CHILD_DESCRIPTORS = 5
_SENT = 1 + CHILD_DESCRIPTORS  # the call's control socket in front of them
_INTEGER = 4  # bytes of a descriptor number in ancillary data
_ORDER_BYTES = 256 * 1024  # more than a datagram of Linux holds by default
_FAR = 64  # descriptors are moved here first, so that none is overwritten before it is placed
_KILL, _TERM = 9, 15  # the same on every architecture of Linux; `signal` is only loaded in the forked process
_MESSAGE = 64  # bytes: more than any command or answer
_FAILED = 127  # what a shell says of a program that could not be run


def isolate(keep: int) -> None:
    """Make a forked process independent of the host it came from: own session, null streams, only `keep` open."""
    import gc

    gc.disable()  # a collection would touch, and so copy, every page shared with the host
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.closerange(3, keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))


def load_prctl() -> Prctl:
    """The system call by which a process becomes a subreaper, and with it all that forked processes use later.

    `ctypes` costs 2 ms: only the forked side loads it, while the host does something else.
    """
    import ctypes
    import fcntl  # noqa: F401
    import signal  # noqa: F401

    call = ctypes.CDLL(None, use_errno=True).prctl

    def prctl(option: int, value: int) -> None:
        if call(option, *(ctypes.c_ulong(word) for word in (value, 0, 0, 0))) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    return prctl


def rights(descriptors: list[int]) -> list[tuple[int, int, bytes]]:
    """`descriptors` as ancillary data."""
    numbers = b"".join(number.to_bytes(_INTEGER, sys.byteorder) for number in descriptors)
    return [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)]


def receive(orders: _socket.socket) -> tuple[bytes, list[int]]:
    """The next order and its descriptors; an empty order when nobody is left to give one."""
    space = _socket.CMSG_SPACE(_SENT * _INTEGER)
    try:
        order, ancillary, _, _ = orders.recvmsg(_ORDER_BYTES, space, _socket.MSG_CMSG_CLOEXEC)
    except ConnectionError:
        return b"", []
    numbers = ancillary[0][2] if ancillary else b""
    places = range(0, len(numbers), _INTEGER)
    return order, [int.from_bytes(numbers[place : place + _INTEGER], sys.byteorder) for place in places]


def stand_by(orders: _socket.socket, taken: int, prctl: Prctl) -> NoReturn:
    """Hold a child ready, take the next order, run it to its confirmed end; never returns.

    A byte is written to `taken` (-1: nobody wants to know) when the order is there.
    """
    try:
        supervisor = Supervisor(Signals(), prctl)
        supervisor.hold([orders.fileno(), taken])
        order, descriptors = receive(orders)
        orders.close()
        complete = len(descriptors) == _SENT
        if complete:
            supervisor.release(_socket.socket(fileno=descriptors[0]), order, descriptors[1:])
        if order and taken >= 0:
            # Behind the release: making the next one must not compete with the start of this one's program.
            os.write(taken, b"\0")
            os.close(taken)
        if complete:
            supervisor.run()
    finally:
        # Nothing of the host's that was copied by the fork may run here: no handlers, no flush, no traceback.
        os._exit(0)


class Signals:
    """A descriptor that becomes readable with the numbers of the signals that arrived."""

    def __init__(self) -> None:
        import signal

        self._reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, lambda received, frame: None)

    def fileno(self) -> int:
        return self._reader

    def arrived(self) -> bytes:
        """The numbers since the last time."""
        try:
            return os.read(self._reader, 4096)
        except BlockingIOError:
            return b""


class Supervisor:
    """One child and its descendants. `signals` wakes it for SIGCHLD and SIGTERM."""

    def __init__(self, signals: Signals, prctl: Prctl) -> None:
        self._signals = signals
        self._prctl = prctl
        self._setup = ""
        self._child = 0
        self._status: int | None = None
        self._host = True
        self._told = False
        self._killed: set[int] = set()
        self._refused: set[int] = set()

    def hold(self, foreign: list[int]) -> None:
        """Become a subreaper and fork the child, which lets go of `foreign`; a failure is told with the order."""
        supervisor = os.getpid()
        step = "subreaper"
        try:
            self._prctl(_SUBREAPER, 1)
            step = "fork"
            self._held, held = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
            self._child = os.fork()
        except OSError as error:
            self._setup = f"failed {step} {error.errno}"
            return
        if self._child == 0:
            self._held.close()
            be_held(held, foreign, supervisor, self._prctl)
        held.close()

    def release(self, control: _socket.socket, order: bytes, descriptors: list[int]) -> None:
        """Let the child become the program of `order`, unless the set-up failed or the host has gone meanwhile."""
        self._control = control
        if self._setup:
            _tell(control, self._setup)
            return
        try:
            if self._host_is_gone():
                self._kill_all()
            else:
                self._held.sendmsg([order], rights(descriptors), _socket.MSG_NOSIGNAL)
        except ConnectionError:
            pass  # it has died, and its exit is on the way
        for descriptor in descriptors:
            os.close(descriptor)

    def run(self) -> None:
        """Wait, obey, clean up and report; returns when nothing of the child is left."""
        if self._setup:
            return
        waiting = select.poll()
        waiting.register(self._signals, select.POLLIN)
        waiting.register(self._control, select.POLLIN)
        while True:
            ready = dict(waiting.poll())
            if self._signals.fileno() in ready:
                self._heed(self._signals.arrived())
            alone = self._reap()
            if self._control.fileno() in ready and not self._obey():
                waiting.unregister(self._control)
            if self._status is not None and self._stop(alone):
                return

    def _stop(self, alone: bool) -> bool:
        """Clean up behind the child, once it has left; true when nothing is left."""
        if not alone:
            self._kill_all()
            alone = self._reap()
        if alone or self._only_refused():
            self._report()
        return alone

    def _heed(self, numbers: bytes) -> None:
        """SIGTERM to the supervisor is an order to end the child."""
        if _TERM in numbers:
            self._kill_all()

    def _obey(self) -> bool:
        """Take the host's next command; false when the host is gone, and everything is killed. RK-EXEC-013"""
        try:
            command = self._control.recv(_MESSAGE)
        except ConnectionError:
            command = b""
        if command == b"T":
            signal_each(descendants(os.getpid()), _TERM)
        elif command == b"R":
            self._report()
        else:
            self._host = command != b""
            self._kill_all()
        return self._host

    def _host_is_gone(self) -> bool:
        try:
            return self._control.recv(_MESSAGE, _socket.MSG_PEEK | _socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False

    def _reap(self) -> bool:
        """Take the exit of every child that has one; true when there is no child left, not even a living one.

        The kernel hands a dead child's children on before it tells of the death: no child means no descendant.
        """
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if process == 0:
                return False
            if process == self._child:
                self._status = os.waitstatus_to_exitcode(status)

    def _kill_all(self) -> None:
        """KILL every descendant, and whoever they made meanwhile, until a walk finds none that was not killed."""
        tried: set[int] = set()
        while fresh := [row for row in descendants(os.getpid()) if row[0] not in tried]:
            tried |= {process for process, _ in fresh}
            refused = signal_each(fresh, _KILL)
            self._refused |= refused
            self._killed |= {process for process, _ in fresh} - refused - {self._child}

    def _only_refused(self) -> bool:
        """Whether all that is left may not be signalled by this user: waiting for it would be in vain."""
        left = {process for process, _ in descendants(os.getpid())}
        return bool(left) and left <= self._refused

    def _report(self) -> None:
        """Say once how it ended."""
        if self._told:
            return
        self._told = True
        failure = self._failure() if self._status is not None else ""
        if failure:
            _tell(self._control, f"failed {failure}")
            return
        left = 0 if self._reap() else len(descendants(os.getpid()))
        status = "-" if self._status is None else str(self._status)
        _tell(self._control, f"ended {status} {len(self._killed)} {left}")

    def _failure(self) -> str:
        """What the child said when it could not become its program; its end of the pair closes with the exec."""
        try:
            return self._held.recv(_MESSAGE).decode()
        except ConnectionError:
            # It ended without taking the order; this error comes before what it said, if it said anything.
            return self._held.recv(_MESSAGE).decode() or f"release {errno.ECHILD}"


def be_held(orders: _socket.socket, foreign: list[int], supervisor: int, prctl: Prctl) -> NoReturn:
    """In the forked child: be ready, wait, become the program; a failing step is told. RK-EXEC-010"""
    step = "session"
    try:
        for descriptor in foreign:
            if descriptor >= 0:
                os.close(descriptor)
        os.setsid()
        _default_signals()
        step = "death-signal"
        prctl(_DEATH_SIGNAL, _KILL)
        if os.getppid() != supervisor:
            os._exit(_FAILED)
        order, descriptors = receive(orders)
        step = "directory"
        directory, argv, env = read_order(order)
        os.chdir(directory)
        step = "descriptors"
        _place(descriptors)
        step = "exec"
        os.execve(argv[0], argv, env)
    except OSError as error:
        orders.send(f"{step} {error.errno}".encode(), _socket.MSG_NOSIGNAL)
    finally:
        os._exit(_FAILED)


def read_order(order: bytes) -> tuple[bytes, list[bytes], dict[bytes, bytes]]:
    """Directory, argument vector and environment from the fields that NUL divides (see `spawner.Launch.order`)."""
    directory, count, *fields = order.split(b"\0")
    argv, pairs = fields[: int(count)], fields[int(count) :]
    return directory, argv, dict(pair.split(b"=", 1) for pair in pairs)


def _place(descriptors: list[int]) -> None:
    """Put the child's descriptors at 0 to 4. All others close with the exec."""
    import fcntl

    far = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FAR) for descriptor in descriptors]
    for place, descriptor in enumerate(far):
        os.dup2(descriptor, place)


def _default_signals() -> None:
    """A new program inherits what is ignored, and Python ignores two; a held child heeds nobody's handler."""
    import signal

    signal.set_wakeup_fd(-1)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)


def descendants(root: int) -> list[tuple[int, bytes]]:
    """Every living process below `root`: pairs of process number and start time (ticks, as /proc writes them)."""
    below: dict[int, list[tuple[int, bytes]]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (row := _stat(int(name))) is not None:
            parent, start, alive = row
            below.setdefault(parent, []).append((int(name), start if alive else b""))
    found: list[tuple[int, bytes]] = []
    parents = [root]
    while parents:
        children = below.get(parents.pop(), [])
        parents += [process for process, _ in children]
        found += [row for row in children if row[1]]
    return found


def _stat(process: int) -> tuple[int, bytes, bool] | None:
    """Parent, start time and whether it lives; None when there is no such process any more."""
    try:
        with open(f"/proc/{process}/stat", "rb", buffering=0) as file:
            # The name in brackets may hold anything, brackets too: what counts stands behind the last one.
            fields = file.read(4096).rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(fields[1]), fields[19], fields[0] not in (b"Z", b"X")


def signal_each(rows: list[tuple[int, bytes]], number: int) -> set[int]:
    """Send signal `number` to the processes of `rows` that are still the same; gives those that refused it."""
    return {process for process, start in rows if not _signal_one(process, start, number)}


def _signal_one(process: int, start: bytes, number: int) -> bool:
    import signal

    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        row = _stat(process)
        if row is not None and row[1] == start:
            signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    finally:
        os.close(descriptor)
    return True


def _tell(control: _socket.socket, message: str) -> None:
    try:
        control.send(message.encode(), _socket.MSG_NOSIGNAL)
    except ConnectionError:
        pass  # the host is gone, and there is nobody to tell
