"""How a child comes to be: descriptors made by the host, a process made by someone who holds nothing else.

The spawner is forked before the host has threads or a database, and stays single-threaded. It keeps supervisors
(`supervisor.py`), each for one call at a time; one of them is always free, and takes the next order from the host
itself. All of that gets ready while the host still looks the command up. RK-EXEC-010

For one child the host makes a channel (descriptor 3 there), a pipe with a one-time token that ends behind it
(descriptor 4), a pipe each for stdout and stderr, and a control socket to the supervisor. The child's ends travel with
the order as ancillary data; neither channel nor token stands in arguments or environment. RK-CHAN-030 RK-EXEC-020

`_socket` is the compiled half of `socket`: the other half costs 3.5 ms on the path of every call and adds nothing
that is used here.
"""

from __future__ import annotations

import _socket
import errno
import os
import select

from rukh.host.supervisor import (
    KILL,
    WATCH,
    Signals,
    become_subreaper,
    isolate,
    kill_each,
    load_prctl,
    receive,
    rights,
    serve_orders,
    tell,
)
from rukh.values.errors import RukhError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from rukh.host.supervisor import Prctl
    from rukh.host.watcher import Watch

_RANDOM_BYTES = 16  # 128 bits: a token or a session is not guessed
_NOTICE_BYTES = 64  # more than a word and a process number
_REAP_MS = 1000  # how long `close` waits for a process that has been told to go


class Launch:
    """What is started: `argv` (the first an absolute path), `env`, working directory and stdin (-1: /dev/null).

    `holder` is the descriptor whose lock says that the host lives; the supervisor keeps it to its own end, so that a
    call is not known as left behind while something of it may still run. -1: none. RK-PUB-011
    """

    __slots__ = ("argv", "cwd", "env", "holder", "stdin")

    def __init__(self, argv: list[str], env: dict[str, str], cwd: str, stdin: int = -1) -> None:
        self.argv = argv
        self.env = env
        self.cwd = cwd
        self.stdin = stdin
        self.holder = -1

    def order(self) -> bytes:
        """The launch as fields divided by NUL: directory, count of arguments, arguments, NAME=VALUE.

        Raises RKH003 where an argument or a variable holds NUL: it would be read as two.
        """
        fields = [self.cwd, str(len(self.argv)), *self.argv]
        fields += [f"{name}={value}" for name, value in self.env.items()]
        if any("\0" in field for field in fields):
            raise _not_started("an argument or a variable holds NUL")
        return b"\0".join(os.fsencode(field) for field in fields)


class Session:
    """The host's ends of one child: `channel` and `control` sockets, `stdout` and `stderr` descriptors to read.

    All but `control` are non-blocking. `session` and `token` are what the child must confirm.
    """

    __slots__ = ("channel", "control", "session", "stderr", "stdout", "token")

    def __init__(
        self, channel: _socket.socket, control: _socket.socket, stdout: int, stderr: int, token: str
    ) -> None:
        self.channel = channel
        self.control = control
        self.stdout = stdout
        self.stderr = stderr
        self.session = os.urandom(_RANDOM_BYTES).hex()
        self.token = token

    def close(self) -> None:
        """Let go of the child. The supervisor takes the end of `control` as the order to end what is left."""
        self.control.close()
        self.channel.close()
        self.let_go(self.stdout)
        self.let_go(self.stderr)

    def let_go(self, stream: int) -> None:
        """Close one of the two streams; a child that goes on writing to it learns that nobody reads."""
        if stream == self.stdout:
            self.stdout = -1
        elif stream == self.stderr:
            self.stderr = -1
        if stream >= 0:
            os.close(stream)


class Spawner:
    """The process that makes supervisors. `launch` may be called from many threads."""

    __slots__ = ("_control", "_used", "process")

    def __init__(self, process: int, control: _socket.socket) -> None:
        self.process = process
        self._control = control
        self._used = False

    @classmethod
    def start(cls, *, one_call: bool) -> Spawner:
        """Fork it: before the first thread, before the database is opened. With `one_call` it serves one launch."""
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        process = os.fork()
        if process == 0:
            serve(theirs, one_call)
        theirs.close()
        return cls(process, ours)

    def launch(self, launch: Launch) -> Session:
        """Have the child started and give the host's ends; raises RKH003 when it cannot even be asked for.

        Whether it was started is said on the session's control socket.
        """
        order = launch.order()
        ends = _Ends()
        try:
            ends.make(launch.stdin)
            self._used = True
            theirs = ends.theirs if launch.holder < 0 else [*ends.theirs, launch.holder]
            self._control.sendmsg([order], rights(theirs), _socket.MSG_NOSIGNAL)
            return ends.session()
        except OSError as error:
            raise _not_started(error.strerror or str(error)) from error
        finally:
            ends.close()

    def watch(self, holder: int) -> Watch:
        """Have a process keep the lock of `holder` for a program that the host starts by itself; the last order.

        It outlives this spawner. Raises RKH003 when there is none to be had. RK-PUB-050
        """
        from rukh.host.watcher import Watch

        ours, theirs = _pair(_socket.SOCK_SEQPACKET)
        control = _socket.socket(fileno=ours)
        self._used = True
        try:
            order = WATCH + str(os.getpgrp()).encode()
            self._control.sendmsg([order], rights([theirs, holder]), _socket.MSG_NOSIGNAL)
        except OSError as error:
            control.close()
            raise _not_started(error.strerror or str(error)) from error
        finally:
            os.close(theirs)
        watch = Watch(control)
        watch.until_ready()
        return watch

    def close(self) -> None:
        """Let the process go and wait, within a bound, until it has gone; a second time does nothing."""
        if self._control.fileno() < 0:
            return  # its number may be another process's by now
        self._control.close()
        try:
            if not self._used:
                os.kill(self.process, KILL)  # it may still be loading, and nobody needs it any more
            waiting = select.poll()
            descriptor = os.pidfd_open(self.process)
            waiting.register(descriptor, select.POLLIN)
            waiting.poll(_REAP_MS)
            os.close(descriptor)
            os.waitpid(self.process, os.WNOHANG)
        except (ChildProcessError, ProcessLookupError):
            pass  # somebody else has reaped it


class _Ends:
    """All ends of one child while the launch is under way; whatever fails, none of them is left open."""

    def __init__(self) -> None:
        self.token = os.urandom(_RANDOM_BYTES).hex()
        self._open: list[int] = []
        self._ours: list[int] = []
        self.theirs: list[int] = []

    def make(self, stdin: int) -> None:
        """Make all pairs. The child's ends stand in the order in which they are taken: control, then 0 to 4."""
        control, control_end = self._note(*_pair(_socket.SOCK_SEQPACKET))
        channel, channel_end = self._note(*_pair(_socket.SOCK_STREAM))
        (stdin,) = self._note(os.open(os.devnull, os.O_RDONLY) if stdin < 0 else os.dup(stdin))
        stdout, stdout_end = self._note(*os.pipe2(os.O_CLOEXEC))
        stderr, stderr_end = self._note(*os.pipe2(os.O_CLOEXEC))
        token, token_end = self._note(*os.pipe2(os.O_CLOEXEC))
        os.write(token_end, self.token.encode())
        for descriptor in (channel, stdout, stderr):
            os.set_blocking(descriptor, False)
        self._ours = [channel, control, stdout, stderr]
        self.theirs = [control_end, stdin, stdout_end, stderr_end, channel_end, token]

    def _note(self, *descriptors: int) -> tuple[int, ...]:
        self._open += descriptors
        return descriptors

    def session(self) -> Session:
        """The host's ends, which are no longer closed here."""
        channel, control, stdout, stderr = self._ours
        self._open = [descriptor for descriptor in self._open if descriptor not in self._ours]
        sockets = (_socket.socket(fileno=channel), _socket.socket(fileno=control))
        return Session(*sockets, stdout, stderr, self.token)

    def close(self) -> None:
        for descriptor in self._open:
            os.close(descriptor)


def _pair(kind: int) -> tuple[int, int]:
    one, other = _socket.socketpair(_socket.AF_UNIX, kind)
    return one.detach(), other.detach()


def serve(control: _socket.socket, one_call: bool) -> NoReturn:
    """In the forked process: keep supervisors until the host is gone."""
    try:
        Nursery(isolate(control), load_prctl(), one_call).run()
    finally:
        os._exit(0)


class Nursery:
    """The supervisors of one host. One of them is always free to take the next order, which it takes by itself.

    It is a subreaper as well: what a supervisor leaves behind that died before its time comes here, and only that
    does. So every child that is no supervisor is ended. RK-EXEC-016
    """

    def __init__(self, orders: _socket.socket, prctl: Prctl, one_call: bool) -> None:
        self._orders = orders
        self._prctl = prctl
        self._one_call = one_call
        self._failure = become_subreaper(prctl)
        self._signals = Signals()
        self._notices, self._tell = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        self._all: set[int] = set()
        self._free: set[int] = set()

    def run(self) -> None:
        """Returns when the host is gone, or, with one call, when its supervisor is."""
        waiting = select.poll()
        waiting.register(self._signals, select.POLLIN)
        waiting.register(self._notices, select.POLLIN)
        while True:
            wanted = not self._free and not (self._one_call and self._all)
            refusing = wanted and not self._make_one()
            # With a mask of 0 the end of the socket is reported, and an order is left to whoever is free.
            waiting.register(self._orders, select.POLLIN if refusing else 0)
            ready = dict(waiting.poll())
            if self._orders.fileno() in ready and not (refusing and self._make_one_or_refuse()):
                return
            if self._notices.fileno() in ready:
                self._note(*self._notices.recv(_NOTICE_BYTES).split())
            if self._signals.fileno() in ready and not self._bury():
                return

    def _make_one(self) -> bool:
        """Fork a supervisor; false when no process can be made."""
        try:
            process = os.fork()
        except OSError:
            return False
        if process == 0:
            self._notices.close()
            serve_orders(self._orders, self._tell, self._failure, self._prctl)
        self._all.add(process)
        self._free.add(process)
        return True

    def _make_one_or_refuse(self) -> bool:
        """What is done about an order that nobody can take; false without a host.

        The host is told that nothing was started.
        """
        if self._make_one():
            return True
        order, descriptors = receive(self._orders)
        if descriptors:
            control = _socket.socket(fileno=descriptors.pop(0))
            tell(control, f"failed fork {errno.EAGAIN}")
            control.close()
        for descriptor in descriptors:
            os.close(descriptor)
        return order != b""

    def _note(self, what: bytes, process: bytes) -> None:
        if what == b"taken":
            self._free.discard(int(process))
        elif int(process) in self._all:
            self._free.add(int(process))

    def _bury(self) -> bool:
        """Take the exits of children, and end what a supervisor left; false when the one supervisor is gone."""
        self._signals.arrived()
        before = len(self._all)
        while exited := _exited():
            self._all.discard(exited)
            self._free.discard(exited)
        lost = len(self._all) < before
        if lost:
            kill_each(frozenset(self._all))
        return not (lost and self._one_call)


def _exited() -> int:
    """The number of a child that has ended; 0 when there is none."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError:
        return 0


def _not_started(message: str) -> RukhError:
    return RukhError("RKH003", message, mend="see the limits on processes and open files of this user")
