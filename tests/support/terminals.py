"""A program on a terminal of its own: what is typed, and what it shows. Nobody waits for a time, only for bytes."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from types import TracebackType

from tests.support.homes import PATIENCE


def _as_from_a_shell() -> None:
    """The terminal is the session's own, and no signal is ignored, whatever this test was started from."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Terminal:
    """`argv` on a new terminal of `columns` columns as all three streams, and as its session's own.

    The keys `ahead` were pressed before the program was started.
    """

    def __init__(
        self, argv: Sequence[str], environment: Mapping[str, str], *, columns: int = 80, ahead: bytes = b""
    ) -> None:
        self.master, terminal = os.openpty()
        os.write(self.master, ahead)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self.process = subprocess.Popen(
            argv,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=dict(environment),
            start_new_session=True,
            preexec_fn=_as_from_a_shell,  # noqa: PLW1509
        )
        os.close(terminal)
        self.seen = b""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        self.close()

    def close(self) -> None:
        """The terminal goes away."""
        if self.master >= 0:
            os.close(self.master)
        self.master = -1

    def ended(self) -> tuple[int, bytes]:
        """The status of the program, once it has ended, and what it had shown since."""
        try:
            while more := self._read():
                self.seen += more
        except OSError as error:
            assert error.errno == errno.EIO  # nobody has the other side open any more
        return self.process.wait(PATIENCE), self.seen

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.master, keys)

    def until(self, text: bytes) -> bytes:
        """What was shown up to and with `text`; what comes behind it is kept for the next time."""
        while text not in self.seen:
            self.seen += self._read()
        shown, _, self.seen = self.seen.partition(text)
        return shown + text

    def _read(self) -> bytes:
        ready, _, _ = select.select([self.master], [], [], PATIENCE)
        assert ready, f"the terminal shows nothing more behind {self.seen!r}"
        return os.read(self.master, 65536)
