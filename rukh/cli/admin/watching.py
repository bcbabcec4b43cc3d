"""Looking on while a verb makes a change: what a terminal is shown, and the signals that stop it.

    the signal comes                           what becomes of the change
    in a step where nothing is written         it stops at once
    in another step before the commit          it stops at the next point where nothing is half done
    once the commit is asked for, or the       nothing: the verb goes on to its answer
    verb has been refused
    again                                      nothing: the first one decided, and taking back is not interrupted

SIGINT is the caller's word (exit 130), SIGTERM and SIGHUP are the end of its session (125), as with a call; a signal
that the process was started to ignore stays ignored. A stopped change is refused by a rule of its own, once it took
back what it had written. All that holds until the answer or the refusal has been shown. RK-PUB-040 … RK-PUB-045
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

from rukh.cli.admin.progress import StatusLine, wanted
from rukh.cli.context import Context
from rukh.cli.output import write_err
from rukh.machines.steps import ASK, AT_ONCE, COMMIT
from rukh.values.errors import RukhError

_RULES = {signal.SIGINT: "RKO006", signal.SIGTERM: "RKO007", signal.SIGHUP: "RKO007"}


class Stopped(KeyboardInterrupt):
    """A change that a signal stops. No `except Exception` on its way takes it for a fault."""


class Watch:
    """An observer of `rukh.machines.steps` for the time of one verb; a context, outside of the home's.

    `publishes` says whether the verb makes a revision; one that does not is done with what it did so far. Raises
    RukhError RKO006 or RKO007 behind a change that was stopped.
    """

    def __init__(self, context: Context, as_json: bool, *, publishes: bool = True) -> None:
        self._context = context
        self._json = as_json
        self._publishes = publishes
        self._line = StatusLine(context.name, time.monotonic) if wanted(as_json) else None
        self._step = ""
        self._signal: signal.Signals | None = None
        self._published = False
        self._before: dict[signal.Signals, Any] = {}

    def __call__(self, step: str, done: int = 0, total: int = 0) -> None:
        """Show the step; raises `Stopped` where a signal came before, or, in a step of `AT_ONCE`, when it comes."""
        self._step = step
        if self._signal is not None:
            raise Stopped
        if self._line is not None:
            self._line(step, done, total)

    def __enter__(self) -> Watch:
        self._context.ends.append(self._end)
        if threading.current_thread() is threading.main_thread():
            for number in _RULES:
                before = signal.getsignal(number)
                if before != signal.SIG_IGN:
                    self._before[number] = before
                    signal.signal(number, self._struck)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._line is not None:
            self._line.erase()
        step, self._step = self._step, ""  # the verb is over: whatever comes now stops nothing
        self._published = error is None and self._publishes and step == COMMIT
        if isinstance(error, Stopped) and self._signal is not None:
            if step == ASK and not self._json:
                write_err(b"\n")  # the question has no line end of its own
            raise self._stopped(self._signal) from None

    def _end(self) -> None:
        """The answer was given: other signals than those that came are somebody else's again."""
        for number, before in self._before.items():
            signal.signal(number, before)
        if self._signal is not None and self._published and not self._json:
            said = f"{self._context.name}: {self._signal.name} came too late to stop it: it is published\n"
            write_err(said.encode())

    def _struck(self, number: int, _frame: FrameType | None) -> None:
        """A signal came; the first one decides."""
        if self._signal is None:
            self._signal = signal.Signals(number)
            if self._step in AT_ONCE:
                raise Stopped

    def _stopped(self, number: signal.Signals) -> RukhError:
        became = "nothing was published" if self._publishes else "what it did so far stays"
        return RukhError(
            _RULES[number],
            f"{number.name} stopped it, and {became}",
            mend="run the same command again",
        )
