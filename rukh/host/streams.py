"""What becomes of the bytes that a child writes to stdout and stderr. They are never read as a result. RK-LIFE-017

Drained (machine surfaces): the head of each stream is kept up to a limit, everything behind it is read and counted.
Nothing of it reaches a protocol stream or an agent. RK-EXEC-031

Live (a terminal or a pipeline): each stream is handed on as it comes. One piece is held at a time; while its reader is
slow, the child's stream is not read, so that the child waits as it would without us, and nothing is dropped. A reader
that has gone closes the child's stream, as a pipe does. RK-EXEC-032

A sink's descriptor belongs to the caller and may be shared with other processes: its flags are not touched. To write
without waiting it is opened again where the kernel allows that; where not, it gets small pieces after the kernel said
that it can take some.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rukh.host.spawner import Session

READ_BYTES = 64 * 1024  # one read of a stream; what a pipe of Linux holds
_CAUTIOUS_BYTES = 4096  # PIPE_BUF: what a writable pipe takes without waiting


class Drain:
    """Keeps the first `limit` bytes and counts the others."""

    blocked = False
    broken = False
    fault: OSError | None = None

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self.dropped = 0

    def take(self, data: bytes) -> None:
        """Keep what there is room for, and count the rest."""
        room = self._limit - len(self._kept)
        self._kept += data[:room]
        self.dropped += max(0, len(data) - room)

    def kept(self) -> tuple[bytes, int]:
        """The head of the stream, and the number of bytes behind it."""
        return bytes(self._kept), self.dropped

    def fileno(self) -> int:
        """No descriptor: it is never waited for."""
        return -1

    def flush(self) -> None:
        """Nothing is ever held."""

    def close(self) -> None:
        """Nothing to let go of."""


class Relay:
    """Hands bytes on to a descriptor of the caller. `blocked` while some are held, `broken` once nobody reads.

    `fault` is why it could not be written to, where that was not a reader that went away.
    """

    def __init__(self, sink: int) -> None:
        self.fault: OSError | None = None
        self._held = b""
        self._own = -1
        try:
            # A file never waits, and a second opening of it would have an offset of its own.
            waits = not stat.S_ISREG(os.fstat(sink).st_mode)
            self.broken = False
        except OSError:
            waits, self.broken = False, True  # whoever started us closed it
        if waits:
            self._own = _open_again(sink)
        self._sink = sink if self._own < 0 else self._own
        # Only a descriptor that may make us wait gets one small piece each time the kernel says that there is room.
        self._cautious = waits and self._own < 0

    @property
    def blocked(self) -> bool:
        """Whether bytes are held until the reader takes them."""
        return self._held != b""

    def take(self, data: bytes) -> None:
        """Hold the bytes, and write what can be written now."""
        self._held += data
        if not self._cautious:
            self.flush()

    def flush(self) -> None:
        """Write what can be written without waiting."""
        try:
            while self._held:
                piece = self._held[:_CAUTIOUS_BYTES] if self._cautious else self._held
                self._held = self._held[os.write(self._sink, piece) :]
                if self._cautious:
                    return
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.broken, self._held = True, b""
        except OSError as error:
            self.broken, self._held, self.fault = True, b"", error

    def kept(self) -> tuple[bytes, int]:
        """What was handed on is not kept."""
        return b"", 0

    def fileno(self) -> int:
        """Writable when the reader takes more."""
        return self._sink

    def close(self) -> None:
        if self._own >= 0:
            os.close(self._own)
            self._own = -1


class Streams:
    """The two sinks of one call, made by `live` or `drained`; used for one call."""

    def __init__(self, stdout: Drain | Relay, stderr: Drain | Relay, *, person: bool) -> None:
        self.stdout = stdout
        self.stderr = stderr
        self._person = person

    @classmethod
    def live(cls, stdout_fd: int, stderr_fd: int) -> Streams:
        """Hand on to these descriptors; progress is shown where `stderr_fd` is a terminal."""
        return cls(Relay(stdout_fd), Relay(stderr_fd), person=os.isatty(stderr_fd))

    @classmethod
    def drained(cls, limit_bytes: int) -> Streams:
        """Keep the first `limit_bytes` of each for the owner."""
        return cls(Drain(limit_bytes), Drain(limit_bytes), person=False)

    def progress(self, frame: dict[str, Any]) -> None:
        """Show a progress frame to a person, or to nobody; it never waits for the reader. RK-EXEC-034"""
        if self._person and not self.stderr.blocked:
            self.stderr.take(_spoken(frame))

    def close(self) -> None:
        """Let go of what was opened here; the caller's descriptors stay open."""
        self.stdout.close()
        self.stderr.close()


class Source:
    """One stream of the child, and the sink that its bytes go to."""

    __slots__ = ("_session", "descriptor", "open", "sink", "wrote")

    def __init__(self, session: Session, descriptor: int, sink: Drain | Relay) -> None:
        self._session = session
        self.descriptor = descriptor
        self.sink = sink
        self.open = True
        self.wrote = False

    def read(self) -> bool:
        """Move one piece on; false when there is none now, or none may be taken."""
        if not self.open or self.sink.blocked:
            return False
        try:
            data = os.read(self.descriptor, READ_BYTES)
        except BlockingIOError:
            return False
        if data:
            self.wrote = True
            self.sink.take(data)
        self.open = data != b""
        self.notice()
        return self.open

    def notice(self) -> None:
        """When nobody reads the sink any more, nobody reads the child: it learns of it by its next write."""
        if self.open and self.sink.broken:
            self.open = False
            self._session.let_go(self.descriptor)


def _open_again(sink: int) -> int:
    """A non-blocking descriptor of our own for the same pipe or terminal, or -1."""
    try:
        return os.open(f"/proc/self/fd/{sink}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return -1  # a socket, or a file of another user


def _spoken(frame: dict[str, Any]) -> bytes:
    total = f"/{frame['total']}" if "total" in frame else ""
    line = f"{frame.get('message', '')} ({frame['progress']}{total})".strip()
    # Publisher text on a terminal: control characters would steer it.
    return "".join(character if character.isprintable() else "\ufffd" for character in line).encode() + b"\n"
