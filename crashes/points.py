"""Where a verb can be stopped: its system calls that write, rename, make, remove or sync, as `strace` saw them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from crashes.program import KILLED, PROGRAM, Ended, environment

# Calls that change something, or make a change last. `openat` counts only where it may make a file.
CHANGING = tuple(
    "write pwrite64 writev pwritev rename renameat renameat2 link linkat symlink mkdir mkdirat unlink unlinkat rmdir "
    "ftruncate fallocate chmod fchmod fsync fdatasync openat".split()
)
# Faults that are no errors of a call.
SIGNALS = {"kill": "SIGKILL", "interrupt": "SIGINT"}
_CALL = re.compile(r"^(\d+) +([a-z0-9_]+)\((.*)$")


@dataclass(frozen=True)
class Point:
    """The `nth` call of `call`, counted from 1 over the whole run."""

    call: str
    nth: int


def points(home: Path, words: list[str], log: Path) -> tuple[list[Point], Ended]:
    """All points of one undisturbed run in `home`, in the order in which they come, and how it ended."""
    ended = traced(home, words, ["-o", os.fspath(log), "-e", f"trace={','.join(CHANGING)}"])
    found, seen = [], Counter[str]()
    main = ""
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        match = _CALL.match(line)
        if match is None:
            continue
        process, call, arguments = match.groups()
        main = main or process
        if process != main:
            continue  # a task of its own counts for itself
        seen[call] += 1
        if call != "openat" or "O_CREAT" in arguments:
            found.append(Point(call, seen[call]))
    return found, ended


def disturbed(home: Path, words: list[str], point: Point, fault: str, log: Path) -> tuple[Ended, bool]:
    """The run with `fault` at `point`: a signal, or an error that the call then gives; and whether it came to that."""
    what = f"signal={SIGNALS[fault]}" if fault in SIGNALS else f"error={fault}"
    inject = f"inject={point.call}:{what}:when={point.nth}"
    ended = traced(home, words, ["-e", f"trace={point.call}", "-e", inject, "-o", os.fspath(log)])
    seen = log.read_text(encoding="utf-8", errors="replace")
    return ended, ended.status == KILLED or "(INJECTED)" in seen or "--- SIGINT" in seen


def traced(home: Path, words: list[str], options: list[str]) -> Ended:
    """One run of the program under strace."""
    done = subprocess.run(
        ["strace", "-f", "-qq", *options, PROGRAM, *words],
        env=environment(os.fspath(home)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        # Whoever was started in the background ignores the interrupt that is to be tried.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    )
    status = 128 - done.returncode if done.returncode < 0 else done.returncode
    return Ended(status, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
