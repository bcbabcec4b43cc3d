"""How a child comes to be: descriptors made by the host, a process made by someone who holds nothing else.

The spawner is forked before the host has threads or a database, and stays single-threaded. It keeps one supervisor
(`supervisor.py`) standing by, which takes the next order from the host itself; on the command line, where there is one
call, the forked process is the supervisor. It gets ready while the host still looks the command up. RK-EXEC-010

For one child the host makes a channel (descriptor 3 there), a pipe with a one-time token that ends behind it
(descriptor 4), a pipe each for stdout and stderr, and a control socket to the supervisor. The child's ends travel with
the order as ancillary data; neither channel nor token stands in arguments or environment. RK-CHAN-030 RK-EXEC-020

`_socket` is the compiled half of `socket`: the other half costs 3.5 ms on the path of every call and adds nothing
that is used here.
"""

from __future__ import annotations

import _socket
import fcntl
import os
import select

from rukh.host.supervisor import isolate, load_prctl, receive, rights, stand_by
from rukh.values.errors import RukhError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from rukh.host.supervisor import Prctl

_RANDOM_BYTES = 16  # 128 bits: a token or a session is not guessed
_KILL = 9
_REAP_MS = 1000  # how long `close` waits for a process that has been told to go


class Launch:
    """What is started: `argv` (the first an absolute path), `env`, working directory and stdin (-1: /dev/null)."""

    __slots__ = ("argv", "cwd", "env", "stdin")

    def __init__(self, argv: list[str], env: dict[str, str], cwd: str, stdin: int = -1) -> None:
        self.argv = argv
        self.env = env
        self.cwd = cwd
        self.stdin = stdin

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
            self._control.sendmsg([order], rights(ends.theirs), _socket.MSG_NOSIGNAL)
            return ends.session()
        except OSError as error:
            raise _not_started(error.strerror or str(error)) from error
        finally:
            ends.close()

    def close(self) -> None:
        """Let the process go and wait, within a bound, until it has gone."""
        self._control.close()
        try:
            if not self._used:
                os.kill(self.process, _KILL)  # it may still be loading, and nobody needs it any more
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
    """In the forked process: be the supervisor of the one call, or keep one standing by, until the host is gone."""
    try:
        # Above the three streams, which are replaced: a host without them may have got one of their numbers.
        control = _socket.socket(fileno=fcntl.fcntl(control.detach(), fcntl.F_DUPFD_CLOEXEC, 3))
        isolate(control.fileno())
        prctl = load_prctl()
        if one_call:
            stand_by(control, -1, prctl)
        while _keep_one(control, prctl):
            pass
    finally:
        os._exit(0)


def _keep_one(orders: _socket.socket, prctl: Prctl) -> bool:
    """Fork a supervisor and wait until it has an order; false when the host is gone."""
    import signal

    reader, writer = os.pipe2(os.O_CLOEXEC)
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the supervisors
        if os.fork() == 0:
            os.close(reader)
            stand_by(orders, writer, prctl)
    except OSError:
        return _refuse_one(orders)
    finally:
        os.close(writer)
    taken = os.read(reader, 1)
    os.close(reader)
    return taken != b""


def _refuse_one(orders: _socket.socket) -> bool:
    """No process can be made: let go of the next order's descriptors, by which the host sees that none was started."""
    order, descriptors = receive(orders)
    for descriptor in descriptors:
        os.close(descriptor)
    return order != b""


def _not_started(message: str) -> RukhError:
    return RukhError("RKH003", message, mend="see the limits on processes and open files of this user")
