"""A small job-controlling parent on a terminal of its own, as a shell is one: it starts jobs in process groups, hands
them the terminal, and sees them stop, go on and end.

It runs as the leader of a session, apart from the tests, and is told what to do by lines of JSON. Nobody waits for a
time here: the parent waits for its job, the tests for its answers and for bytes of the terminal.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.homes import PATIENCE

PARENT = r"""
import fcntl, json, os, signal, sys, termios

control = int(sys.argv[1])
asked, answers = os.fdopen(control, "r"), os.fdopen(os.dup(control), "w")
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
    signal.signal(number, signal.SIG_IGN)
job = 0

def start(argv, foreground, ignored):
    global job
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        if foreground:
            os.tcsetpgrp(0, os.getpid())
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            signal.signal(number, signal.SIG_DFL)
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        os.execv(argv[0], [os.fsencode(word) for word in argv])
    try:
        os.setpgid(job, job)
    except OSError:
        pass  # it has executed already, and did it itself
    return {"job": job}

def wait():
    process, status = os.waitpid(job, os.WUNTRACED)
    os.tcsetpgrp(0, os.getpgid(0))
    if os.WIFSTOPPED(status):
        return {"stopped": os.WSTOPSIG(status)}
    if os.WIFSIGNALED(status):
        return {"signalled": os.WTERMSIG(status)}
    return {"exited": os.WEXITSTATUS(status)}

def resume(foreground, leader_alone):
    if foreground:
        os.tcsetpgrp(0, job)
    (os.kill if leader_alone else os.killpg)(job, signal.SIGCONT)
    return {}

for line in asked:
    verb, arguments = json.loads(line)
    answers.write(json.dumps(globals()[verb](*arguments)) + "\n")
    answers.flush()
"""


@contextmanager
def heeding() -> Iterator[None]:
    """Start children with the default action of every signal, whoever started the tests and ignored one (`nohup`)."""
    own = (signal.SIGPIPE, signal.SIGXFSZ)  # of the interpreter, which resets them in its children itself
    ignored = [
        number
        for number in signal.valid_signals()
        if signal.getsignal(number) == signal.SIG_IGN and number not in own
    ]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


class Shell:
    """The parent, and the other end of its terminal; `kept` descriptors are inherited by all of its jobs."""

    def __init__(self, environment: Mapping[str, str], directory: Path, kept: Sequence[int] = ()) -> None:
        self.job = 0
        self.seen = b""
        self.master, terminal = os.openpty()
        ours, theirs = socket.socketpair()
        ours.settimeout(PATIENCE)
        self._process = subprocess.Popen(
            [sys.executable, "-IS", "-c", PARENT, str(theirs.fileno())],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=dict(environment),
            cwd=directory,
            pass_fds=[theirs.fileno(), *kept],
            start_new_session=True,
        )
        os.close(terminal)
        theirs.close()
        self._control = ours.makefile("rw")
        ours.close()

    def __enter__(self) -> Shell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the parent, whose terminal hangs up with it; a job that a failed test left behind is killed."""
        if kind is not None and self.job:
            for number in (signal.SIGKILL, signal.SIGCONT):
                try:
                    os.killpg(self.job, number)
                except ProcessLookupError:
                    break
        self._control.close()
        os.close(self.master)
        self._process.kill()
        self._process.wait(PATIENCE)

    def hang_up(self) -> None:
        """Take the terminal away from everybody, as a closed window does."""
        self._process.kill()
        self._process.wait(PATIENCE)

    def _ask(self, verb: str, *arguments: Any) -> dict[str, int]:
        self._control.write(json.dumps([verb, arguments]) + "\n")
        self._control.flush()
        answer: dict[str, int] = json.loads(self._control.readline())
        return answer

    def start(self, argv: Sequence[str], *, foreground: bool = True, ignored: Sequence[int] = ()) -> int:
        """Start a job; the number of its leader, which is its process group."""
        self.job = self._ask("start", list(argv), foreground, [int(number) for number in ignored])["job"]
        return self.job

    def wait(self) -> dict[str, int]:
        """`{"stopped": S}`, `{"signalled": S}` or `{"exited": N}`, once the job's leader is that."""
        return self._ask("wait")

    def foreground(self) -> None:
        """`fg`: the terminal to the job, and go on."""
        self._ask("resume", True, False)

    def background(self, *, leader_alone: bool = False) -> None:
        """`bg`: go on without the terminal; the whole job, or by its leader alone."""
        self._ask("resume", False, leader_alone)

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.master, keys)

    def until(self, text: bytes) -> bytes:
        """What the terminal showed up to and with `text`; what comes behind it is kept for the next time."""
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], PATIENCE)
            assert ready, f"the terminal never showed {text!r}, but {self.seen!r}"
            self.seen += os.read(self.master, 65536)
        shown, _, self.seen = self.seen.partition(text)
        return shown + text
