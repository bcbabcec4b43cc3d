"""The processes of a test, and the signals that end it before its time.

    a signal comes                                     what becomes of the test
    while it runs                                      it unwinds at once
    while a process or the home is just being made     it unwinds once that is known, so that it is taken away too
    while it unwinds, or behind the last case          nothing: what was made is taken away in peace

A signal that the process was started to ignore stays ignored. RK-AUTHOR-054 RK-AUTHOR-067
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import IO, Any

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GRACE_SECONDS = 15  # what a host that is asked to end may take: its own budget, and a slow machine


class Processes:
    """What a test has started. From `watch` to `release` the signals are its own."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []
        self._before: dict[signal.Signals, Any] = {}
        self._waits = False
        self._over = False

    def watch(self) -> None:
        """Have a signal that ends this process unwind it."""
        for number in _ENDING:
            before = signal.getsignal(number)
            if before != signal.SIG_IGN:
                self._before[number] = before
                signal.signal(number, self._struck)

    def release(self) -> None:
        """Leave the signals as they were found."""
        for number, before in self._before.items():
            signal.signal(number, before)

    def _struck(self, _number: int, _frame: FrameType | None) -> None:
        if not self._over:
            self._over = True
            if not self._waits:
                raise KeyboardInterrupt

    @contextmanager
    def whole(self) -> Iterator[None]:
        """What is made inside is made wholly: a signal waits for it. Raises KeyboardInterrupt where one came."""
        self._waits = True
        try:
            yield
        finally:
            self._waits = False
            if self._over:
                raise KeyboardInterrupt

    def start(self, argv: list[str], **streams: Any) -> subprocess.Popen[bytes]:
        """A process of this test; raises OSError where the system does not start it."""
        with self.whole():
            process = subprocess.Popen(argv, **streams)
            self._running.append(process)
        return process

    def last_words(self, process: subprocess.Popen[bytes]) -> bytes:
        """What a process that is asked to end has said on its standard error."""
        process.terminate()
        try:
            return process.communicate(timeout=_GRACE_SECONDS)[1]
        except subprocess.TimeoutExpired as late:
            return late.stderr or b""

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Have it end, and what it runs with it: by asking, then by force; nothing is left to be waited for."""
        _end(process)
        self._running.remove(process)

    def end_all(self) -> None:
        """The test is over: end what still runs. No signal disturbs that."""
        self._over = True
        while self._running:
            self.end(self._running[-1])


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()  # which says nothing to one that has ended
    _close(process.stdin)
    try:
        process.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _close(process.stdout)
    _close(process.stderr)


def _close(stream: IO[bytes] | None) -> None:
    try:
        if stream is not None:
            stream.close()
    except OSError:
        pass  # what was to be written is for nobody any more
