"""The program with a signal that strikes it at a chosen moment: it is sent by the process to itself, right there.

A moment is a call of one of our functions, counted from 1. The run is a forked child, a process of its own with one
thread, whose signals have their default action whatever the tests were started to ignore.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from crashes.program import Ended, forked
from rukh.cli.admin.watching import Watch
from rukh.store.turnstile import _Waiting

DEFAULTS: dict[int, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


@dataclass(frozen=True)
class Moment:
    """The `nth` call of `function` (`module.Class.name`), or the end of it; `number` is sent there."""

    function: str
    nth: int = 1
    number: signal.Signals = signal.SIGINT
    behind: bool = False


def struck(home: Path, words: Sequence[str], *moments: Moment, ignored: Sequence[int] = ()) -> Ended:
    """`rukh WORDS` with a signal at each of the moments."""

    def around(act: Callable[[], int]) -> int:
        for number, action in DEFAULTS.items():
            signal.signal(number, signal.SIG_IGN if number in ignored else action)
        with ExitStack() as stack:
            for moment in moments:
                stack.enter_context(patch(moment.function, Striking(moment).call))
            return act()

    return forked(os.fspath(home), list(words), around)


def insisting(number: signal.Signals, heard: threading.Event) -> None:
    """Send the signal until it is heard: one that comes right before a wait begins does not end that wait."""
    os.kill(os.getpid(), number)
    while not heard.wait(0.01):
        os.kill(os.getpid(), number)


def struck_waiting(home: Path, words: Sequence[str], number: signal.Signals = signal.SIGINT) -> Ended:
    """`rukh WORDS`, which has to wait for a turn, with a signal while it does."""
    heard = threading.Event()
    take, notice = _Waiting._block, Watch._struck

    def block(waiting: _Waiting) -> None:
        threading.Thread(target=insisting, args=(number, heard), daemon=True).start()
        take(waiting)

    def noticed(watch: Watch, number: int, frame: FrameType | None) -> None:
        heard.set()
        notice(watch, number, frame)

    def around(act: Callable[[], int]) -> int:
        for each, action in DEFAULTS.items():
            signal.signal(each, action)
        with patch.object(_Waiting, "_block", block), patch.object(Watch, "_struck", noticed):
            return act()

    return forked(os.fspath(home), list(words), around)


def steps_of(home: Path, words: Sequence[str]) -> list[str]:
    """The steps of an undisturbed run, in their order; a step that goes on is named once."""
    log = home.parent / f"{home.name}-steps"

    def around(act: Callable[[], int]) -> int:
        real = Watch.__call__

        def noted(watch: Watch, step: str, done: int = 0, total: int = 0) -> None:
            with open(log, "a", encoding="ascii") as file:
                file.write(f"{step}\n")
            real(watch, step, done, total)

        with patch.object(Watch, "__call__", noted):
            return act()

    ended = forked(os.fspath(home), list(words), around)
    assert (ended.status, ended.err) == (0, "")
    return log.read_text(encoding="ascii").split()


class Striking:
    """A function that strikes at one of its calls."""

    def __init__(self, moment: Moment) -> None:
        self._moment = moment
        self._left = moment.nth
        module, _, name = moment.function.rpartition(".")
        self._real = getattr(_found(module), name)

    @property
    def call(self) -> Callable[..., Any]:
        def strike(*arguments: Any, **named: Any) -> Any:
            self._left -= 1
            now = self._left == 0
            if now and not self._moment.behind:
                os.kill(os.getpid(), self._moment.number)
            found = self._real(*arguments, **named)
            if now and self._moment.behind:
                os.kill(os.getpid(), self._moment.number)
            return found

        return strike


def _found(name: str) -> Any:
    """The module, or the class in a module, of this name."""
    from pkgutil import resolve_name

    return resolve_name(name)
