"""A program on a terminal of its own: what is typed, and what it shows. Nobody waits for a time, only for bytes."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from types import TracebackType

from tests.support.homes import PATIENCE


class Terminal:
    """`argv` on a new terminal of `columns` columns as all three streams, and as its session's own."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], *, columns: int = 80) -> None:
        self.master, terminal = os.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self.process = subprocess.Popen(
            argv,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=dict(environment),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
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
        os.close(self.master)

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.master, keys)

    def until(self, text: bytes) -> bytes:
        """What was shown up to and with `text`; what comes behind it is kept for the next time."""
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], PATIENCE)
            assert ready, f"the terminal never showed {text!r}, but {self.seen!r}"
            self.seen += os.read(self.master, 65536)
        shown, _, self.seen = self.seen.partition(text)
        return shown + text
