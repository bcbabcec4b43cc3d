"""The process that stands between one child and the rest of the machine: it starts it, and ends all that came of it.

It is a process of its own because only a subreaper hears of a daemon's orphans, and a subreaper in the host could
not tell the orphans of two calls apart. It serves one call at a time, holds no thread and no database, and is used
again once nothing of its call is left.

1. **Set up.** Own session, null streams, no descriptor but its own, subreaper: before there is an order.
2. **Start.** An order comes with the child's descriptors. Channel, inheritance and supervision stand; in the order's
   directory the program is spawned, in a session of its own, with the descriptors 0 to 4 and nothing else. A step
   that fails is reported, and nothing runs. RK-EXEC-010
3. **Wait** for the child, for the host's commands, and for the host's end, which is the end of the control socket.
4. **Clean up.** When the child has left, or the host says so, or is gone, every descendant is killed until none is
   there; only then the exit is reported. RK-EXEC-011 RK-EXEC-012

Descendants are found by a walk over /proc from parent to child; orphans come to the subreaper, so that nobody
escapes by `setsid`, a second fork or a cleared environment. The usual child leaves none: `waitpid` says so, and /proc
is not read. A process is signalled through a descriptor of itself, so that a number that was used again is never hit.

The child is spawned by `posix_spawn`, which costs a tenth of a fork of an interpreter; what that cannot do is not
needed here: this process has one thread and may change its directory, and all its descriptors close with an exec.

Messages are one a datagram. Orders: fields divided by NUL (`spawner.Launch.order`), with the call's control socket
and the child's descriptors. On the control socket, from the host: `T` TERM to all, `K` KILL to all, `R` report now.
To the host, once: `ended STATUS KILLED SURVIVORS` (STATUS `-` while the child is still there; signals negative), or
`failed STEP ERRNO`.
"""

from __future__ import annotations

import _socket
import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    Prctl = Callable[[int, int], None]

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h
# The child's descriptors in the order in which they are sent: stdin, stdout, stderr, channel, token.
CHILD_DESCRIPTORS = 5
_SENT = 1 + CHILD_DESCRIPTORS  # the call's control socket in front of them
_INTEGER = 4  # bytes of a descriptor number in ancillary data
_ORDER_BYTES = 256 * 1024  # more than a datagram of Linux holds by default
KILL, TERM = 9, 15  # the same on every architecture of Linux; `signal` is only loaded in the forked process
_MESSAGE = 64  # bytes: more than any command or answer
# In place of an order: keep the lock of a passthrough program's host; the number of its process group follows.
WATCH = b"watch "


def isolate(keep: _socket.socket) -> _socket.socket:
    """Make a forked process independent of the host it came from; only the socket `keep` is left, at a new place.

    Own session, and the descriptors that a child gets (0 to 4) are taken by /dev/null: none of them is ever the
    number of something else.
    """
    import fcntl
    import gc

    gc.disable()  # a collection would touch, and so copy, every page shared with the host
    os.setsid()
    kept = fcntl.fcntl(keep.detach(), fcntl.F_DUPFD_CLOEXEC, CHILD_DESCRIPTORS)
    null = os.open(os.devnull, os.O_RDWR)
    for place in range(CHILD_DESCRIPTORS):
        os.dup2(null, place)
    os.closerange(CHILD_DESCRIPTORS, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
    os.chdir("/")
    return _socket.socket(fileno=kept)


def load_prctl() -> Prctl:
    """The system call by which a process becomes a subreaper.

    `ctypes` costs 2 ms: only the forked side loads it, while the host does something else.
    """
    import ctypes

    call = ctypes.CDLL(None, use_errno=True).prctl

    def prctl(option: int, value: int) -> None:
        if call(option, *(ctypes.c_ulong(word) for word in (value, 0, 0, 0))) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    return prctl


def become_subreaper(prctl: Prctl) -> str:
    """Have orphans of descendants come to this process; what is to be told when that cannot be had, else ""."""
    try:
        prctl(_SUBREAPER, 1)
    except OSError as error:
        return f"failed subreaper {error.errno}"
    return ""


def rights(descriptors: list[int]) -> list[tuple[int, int, bytes]]:
    """`descriptors` as ancillary data."""
    numbers = b"".join(number.to_bytes(_INTEGER, sys.byteorder) for number in descriptors)
    return [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)]


def receive(orders: _socket.socket) -> tuple[bytes, list[int]]:
    """The next order and its descriptors; an empty order when nobody is left to give one."""
    space = _socket.CMSG_SPACE((_SENT + 1) * _INTEGER)
    try:
        order, ancillary, _, _ = orders.recvmsg(_ORDER_BYTES, space, _socket.MSG_CMSG_CLOEXEC)
    except ConnectionError:
        return b"", []
    numbers = ancillary[0][2] if ancillary else b""
    places = range(0, len(numbers), _INTEGER)
    return order, [int.from_bytes(numbers[place : place + _INTEGER], sys.byteorder) for place in places]


def serve_orders(orders: _socket.socket, notices: _socket.socket, failure: str, prctl: Prctl) -> NoReturn:
    """Be a supervisor for one order after another, until the host or the spawner is gone; never returns.

    `notices` tells the spawner `taken` and `free`. With a `failure` to set up, every order is answered by it.
    """
    try:
        signals = Signals()
        failure = failure or become_subreaper(prctl)
        while _serve_next(orders, notices, failure, signals):
            pass
    finally:
        # Nothing of the host's that was copied by the fork may run here: no handlers, no flush, no traceback.
        os._exit(0)


def _serve_next(orders: _socket.socket, notices: _socket.socket, failure: str, signals: Signals) -> bool:
    """Take the next order to its confirmed end; false when there will be none."""
    order, descriptors = receive(orders)
    if not order:
        return False
    if order.startswith(WATCH):
        return _keep_watch(order, descriptors)
    supervisor = None
    # The lock of the host that ordered it, held until all of the call is gone. RK-PUB-011
    holder = descriptors.pop() if len(descriptors) > _SENT else -1
    if len(descriptors) == _SENT:
        supervisor = Supervisor(_socket.socket(fileno=descriptors.pop(0)), signals)
        failure = failure or supervisor.start(order, descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    # Behind the start: what the spawner does about it must not compete with the new program.
    alive = tell(notices, f"taken {os.getpid()}")
    if supervisor is not None:
        supervisor.finish(failure)
    if holder >= 0:
        os.close(holder)
    return tell(notices, f"free {os.getpid()}") and alive


def _keep_watch(order: bytes, descriptors: list[int]) -> bool:
    """Take the one order of a host that starts its program by itself; there is none behind it. RK-PUB-050"""
    from rukh.host.watcher import keep_watch

    control, holder = descriptors
    keep_watch(_socket.socket(fileno=control), holder, int(order[len(WATCH) :]))
    return False


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

    def __init__(self, control: _socket.socket, signals: Signals) -> None:
        self._control = control
        self._signals = signals
        self._child = 0
        self._status: int | None = None
        self._host = True
        self._told = False
        self._killed: set[int] = set()
        self._refused: set[int] = set()

    def start(self, order: bytes, descriptors: list[int]) -> str:
        """Spawn the program of `order`; what is to be told when that failed, and then nothing runs, else ""."""
        if self._host_is_gone():
            return "failed host 0"
        step = "directory"
        try:
            directory, argv, env = read_order(order)
            os.chdir(directory)
            step = "exec"
            self._child = spawn(argv, env, descriptors)
        except OSError as error:
            return f"failed {step} {error.errno}"
        finally:
            os.chdir("/")
        return ""

    def finish(self, failure: str) -> None:
        """Tell the `failure` to start, or supervise to the end; nothing of the child is left then."""
        if failure:
            tell(self._control, failure)
        else:
            self._run()
        self._control.close()

    def _run(self) -> None:
        """Wait, obey, clean up and report."""
        waiting = select.poll()
        waiting.register(self._signals, select.POLLIN)
        waiting.register(self._control, select.POLLIN)
        while True:
            ready = dict(waiting.poll())
            # SIGTERM to the supervisor is an order to end the child.
            if self._signals.fileno() in ready and TERM in self._signals.arrived():
                self._kill_all()
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

    def _obey(self) -> bool:
        """Take the host's next command; false when the host is gone, and everything is killed. RK-EXEC-013"""
        try:
            command = self._control.recv(_MESSAGE)
        except ConnectionError:
            command = b""
        if command == b"T":
            signal_each(descendants(os.getpid()), TERM)
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
        """KILL all that came of the child."""
        killed, refused = kill_each()
        self._killed |= killed - {self._child}
        self._refused |= refused

    def _only_refused(self) -> bool:
        """Whether all that is left may not be signalled by this user: waiting for it would be in vain."""
        left = {process for process, _ in descendants(os.getpid())}
        return bool(left) and left <= self._refused

    def _report(self) -> None:
        """Say once how it ended."""
        if self._told:
            return
        self._told = True
        left = 0 if self._reap() else len(descendants(os.getpid()))
        status = "-" if self._status is None else str(self._status)
        tell(self._control, f"ended {status} {len(self._killed)} {left}")


def spawn(argv: list[bytes], env: dict[bytes, bytes], descriptors: list[int]) -> int:
    """Start the program with `descriptors` at 0 to 4; its process number. Raises OSError when it cannot be run.

    Signals that are ignored here would stay ignored there, and Python ignores two. RK-EXEC-010
    """
    import signal

    return os.posix_spawn(
        argv[0],
        argv,
        env,
        file_actions=[(os.POSIX_SPAWN_DUP2, source, place) for place, source in enumerate(descriptors)],
        setsid=True,
        setsigmask=(),
        setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),
    )


def read_order(order: bytes) -> tuple[bytes, list[bytes], dict[bytes, bytes]]:
    """Directory, argument vector and environment from the fields that NUL divides (see `spawner.Launch.order`)."""
    directory, count, *fields = order.split(b"\0")
    argv, pairs = fields[: int(count)], fields[int(count) :]
    return directory, argv, dict(pair.split(b"=", 1) for pair in pairs)


def descendants(root: int, spare: frozenset[int] = frozenset()) -> list[tuple[int, bytes]]:
    """Every living process below `root`, but `spare` and what is below them.

    Pairs of process number and start time (ticks, as /proc writes them).
    """
    below: dict[int, list[tuple[int, bytes]]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (row := _stat(int(name))) is not None:
            parent, start, alive = row
            below.setdefault(parent, []).append((int(name), start if alive else b""))
    found: list[tuple[int, bytes]] = []
    parents = [root]
    while parents:
        children = [row for row in below.get(parents.pop(), []) if row[0] not in spare]
        parents += [process for process, _ in children]
        found += [row for row in children if row[1]]
    return found


def kill_each(spare: frozenset[int] = frozenset()) -> tuple[set[int], set[int]]:
    """KILL every descendant of this process but `spare` and theirs, and whoever they made meanwhile.

    Walks until it finds none that it has not tried; gives the processes that were signalled and those that refused.
    """
    tried: set[int] = set()
    refused: set[int] = set()
    while fresh := [row for row in descendants(os.getpid(), spare) if row[0] not in tried]:
        tried |= {process for process, _ in fresh}
        refused |= signal_each(fresh, KILL)
    return tried - refused, refused


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


def tell(listener: _socket.socket, message: str) -> bool:
    """Say `message`; false when nobody is left to hear it."""
    try:
        listener.send(message.encode(), _socket.MSG_NOSIGNAL)
    except ConnectionError:
        return False
    return True
