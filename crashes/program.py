"""The program under test as a forked child of the sweep: a process of its own, without the price of a start."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from rukh import __version__
from rukh.cli.main import run
from rukh.values import registry, rules

# Loaded here once, so that each forked child has them; none of them opens anything.
PRELOADED = (registry, rules)
# The status that a shell gives to a process that was killed.
KILLED = 128 + signal.SIGKILL
PROGRAM = os.path.join(os.path.dirname(sys.executable), "rukh")


@dataclass(frozen=True)
class Ended:
    """How a run ended: the exit status (128 + the number of a signal) and what it wrote."""

    status: int
    out: str
    err: str


def environment(home: str) -> dict[str, str]:
    """The environment of the program: nothing of the caller's but where things are."""
    return {"RUKH_HOME": home, "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}


# Runs the program inside of something: it is given the run, which gives the exit status, and gives one itself.
Around = Callable[[Callable[[], int]], int]


class Running:
    """`rukh WORDS` in a forked child, inside of `around`; `end` gives how it ended, and has to be called."""

    def __init__(self, home: str, words: list[str], around: Around | None = None) -> None:
        out, err = os.pipe(), os.pipe()
        self._ends = (out[0], err[0])
        self.process = os.fork()
        if self.process == 0:
            _become(home, words, around, out[1], err[1])
        os.close(out[1])
        os.close(err[1])

    def kill_after(self, milliseconds: int) -> None:
        """Kill it, unless it ends before the time is over."""
        watched = os.pidfd_open(self.process)
        if not select.select([watched], [], [], milliseconds / 1000)[0]:
            os.kill(self.process, signal.SIGKILL)
        os.close(watched)

    def end(self) -> Ended:
        """Wait for the end."""
        texts = [_drained(descriptor) for descriptor in self._ends]
        _, status = os.waitpid(self.process, 0)
        return Ended(_spoken(status), *texts)


def forked(home: str, words: list[str], around: Around | None = None) -> Ended:
    """`rukh WORDS` in a forked child from its start to its end."""
    return Running(home, words, around).end()


def _become(home: str, words: list[str], around: Around | None, out: int, err: int) -> None:
    status = 70
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        os.closerange(3, 256)
        os.environ.clear()
        os.environ.update(environment(home))
        argv = [os.fsencode(word) for word in words]
        act = partial(run, "rukh", __version__, [PROGRAM], argv, os.environ)
        status = act() if around is None else around(act)
    finally:
        os._exit(status)


def _drained(descriptor: int) -> str:
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read().decode(errors="replace")


def _spoken(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code
