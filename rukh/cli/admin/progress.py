"""Progress: one line on a terminal that says what long work is at, drawn anew in place and gone at the end.

1. It is for a person who waits: standard error must be a terminal that is not `dumb`, in the foreground, neither in
   `CI` nor under `--json`. Everybody else gets not one byte of it.
2. A step is shown where it begins; within a step a line is drawn at most every `_PAUSE_S`, so that the work is never
   slowed down by being shown.
3. It never wraps: it is cut to the columns that the terminal has at that moment, less one. It has no colour.
4. Whatever ends the work, the line goes before anything else is written. RK-PROG-001 … RK-PROG-006
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from rukh.cli.output import STDERR, write_err
from rukh.machines import steps

_BEGIN, _REST_GONE = b"\r", b"\x1b[K"
_PAUSE_S = 0.1  # between two drawings of one step: ten a second are as smooth as an eye needs
_COLUMNS = 80  # of a terminal that does not say
_BYTES = ""  # the unit whose numbers are shown by size

# step -> (words, unit, or None where nothing is counted); a step that is not here takes the line away.
_SHOWN: dict[str, tuple[str, str | None]] = {
    steps.DISCOVER: ("asking the sources", None),
    steps.ADMIT: ("asking the rules", None),
    steps.FETCH: ("fetching", _BYTES),
    steps.UNPACK: ("unpacking", "files"),
    steps.COMPILE: ("compiling", "files"),
    steps.CHECK: ("checking", None),
    steps.WAIT: ("waiting for another change to end", None),
    steps.VERIFY: ("reading installed files again", "packages"),
    steps.SETTLE: ("moving the release in", None),
    steps.STAGE: ("writing the revision", "rows"),
    steps.COMMIT: ("publishing", None),
    steps.COLLECT: ("removing", "releases"),
    steps.SWEEP: ("looking for what was left behind", None),
}
_SIZES = ((1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes"))


def wanted(as_json: bool, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether somebody may be there to read it. RK-PROG-001"""
    dumb = environ.get("TERM", "") in ("", "dumb")
    return not as_json and not dumb and not environ.get("CI") and os.isatty(STDERR)


def said(step: str, done: int, total: int) -> str:
    """The step in words, with how far it came; "" for one that is not shown."""
    words, unit = _SHOWN.get(step, ("", None))
    if unit is None or not (done or total):
        return words
    size, unit = next(row for row in _SIZES if max(done, total) >= row[0]) if unit == _BYTES else (1, unit)
    numbers = [_number(one, size) for one in (done, total) if one or total]
    return f"{words} {' of '.join(numbers[: 2 if total else 1])} {unit}"


def _number(value: int, size: int) -> str:
    return f"{value / size:.1f}" if size > 1 else str(value)


class StatusLine:
    """The line of one verb of the application `name`; an observer of `rukh.machines.steps`.

    `clock` gives seconds; `terminal` is asked anew at each drawing.
    """

    def __init__(
        self, name: str, clock: Callable[[], float], terminal: Callable[[], int | None] | None = None
    ) -> None:
        self._name = name
        self._clock = clock
        self._terminal = terminal or foreground_columns
        self._step = ""
        self._next = 0.0
        self._drawn = False

    def __call__(self, step: str, done: int, total: int) -> None:
        """Show the step, unless it was shown a moment ago."""
        if step == self._step and self._clock() < self._next:
            return
        self._step, self._next = step, self._clock() + _PAUSE_S
        text = said(step, done, total)
        columns = self._terminal()
        if not text:
            self.erase()
        elif columns is not None:
            write_err(_BEGIN + f"{self._name}: {text}"[: max(columns - 1, 0)].encode() + _REST_GONE)
            self._drawn = True

    def erase(self) -> None:
        """Leave the line as it was found."""
        if self._drawn and self._terminal() is not None:
            write_err(_BEGIN + _REST_GONE)
        self._drawn = False


def foreground_columns(descriptor: int = STDERR) -> int | None:
    """The columns of the terminal, as it is now; None where another job has it, whose screen this is not."""
    try:
        if os.tcgetpgrp(descriptor) != os.getpgrp():
            return None
    except OSError:
        pass  # a terminal of no session of ours: nobody else has it
    try:
        return os.get_terminal_size(descriptor).columns or _COLUMNS
    except OSError:
        return _COLUMNS
