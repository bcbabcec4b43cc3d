"""`python -m crashes.loops [ROUNDS]`: a writer that is killed at any moment, among readers that never stop.

The writer goes from one version to the other and back, and gets a SIGKILL somewhere on its way; two readers call the
command all the time. Every call runs one of the two versions to its end, whatever happens beside it; after each kill
recovery goes through, the reported version is the one that runs, and a writer that had answered is believed.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from crashes.oracle import version
from crashes.program import KILLED, Running, forked
from crashes.scenes import NEW, OLD, PACKAGE, SCENES, Stage, remove

READERS = 2
# A writer takes some 150 ms; later kills find it done.
_LONGEST_MS = 200


class Reader:
    """A process that calls the command until it is told to stop, and then says how often it did and what was wrong."""

    def __init__(self, home: str) -> None:
        self._stop_read, self._stop = os.pipe()
        self._said, said = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(self._stop)
            self._call(home, said)
        os.close(self._stop_read)
        os.close(said)

    def end(self) -> tuple[int, list[str]]:
        """Stop it; the number of its calls, and its complaints."""
        os.write(self._stop, b".")  # closing would not do: later readers hold copies of this end
        os.close(self._stop)
        with os.fdopen(self._said, encoding="utf-8") as stream:
            count, *wrong = stream.read().splitlines()
        os.waitpid(self._child, 0)
        return int(count), wrong

    def _call(self, home: str, said: int) -> None:
        calls, wrong = 0, []
        while not select.select([self._stop_read], [], [], 0)[0]:
            ended = forked(home, ["run", f"{PACKAGE}/say"])
            calls += 1
            if ended.status or ended.out.strip() not in (OLD, NEW):
                wrong.append(f"a reader got {ended.status} {ended.out!r} {ended.err!r}".replace("\n", " "))
        os.write(said, "\n".join([str(calls), *wrong[:20]]).encode())
        os._exit(0)


@dataclass
class Counts:
    """What a loop came to: kills that struck, versions found behind them, calls of the readers, and every loss."""

    rounds: int
    killed: int = 0
    old: int = 0
    new: int = 0
    calls: int = 0
    wrong: list[str] = field(default_factory=list)


def loop(home: str, rounds: int, seed: int) -> Counts:
    """Run the writer `rounds` times among the readers."""
    chance, counts = random.Random(seed), Counts(rounds)
    readers = [Reader(home) for _ in range(READERS)]
    for _ in range(rounds):
        _round(home, chance.randrange(_LONGEST_MS), counts)
    for reader in readers:
        calls, complaints = reader.end()
        counts.calls += calls
        counts.wrong += complaints
    return counts


def _round(home: str, milliseconds: int, counts: Counts) -> None:
    before = version(Path(home))
    target = OLD if before == NEW else NEW
    writer = Running(home, ["update", f"{PACKAGE}@{target}", "--allow-downgrade"])
    writer.kill_after(milliseconds)
    ended = writer.end()
    counts.killed += ended.status == KILLED
    if ended.status not in (0, KILLED):
        counts.wrong.append(f"update: {ended.status} {ended.err}")
    recovered = forked(home, ["recover"])
    if recovered.status:
        counts.wrong.append(f"recover: {recovered.status} {recovered.err}")
    after = version(Path(home))
    counts.new += after == target
    counts.old += after == before
    if after not in (before, target):
        counts.wrong.append(f"{after} is neither {before} nor {target}")
    if ended.status == 0 and after != target:
        counts.wrong.append(f"acknowledged {target}, found {after}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m crashes.loops", description=__doc__.splitlines()[0])
    parser.add_argument("rounds", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        update = next(scene for scene in SCENES if scene.name == "update")
        home = Stage(Path(place)).home(update)
        counts = loop(os.fspath(home), options.rounds, options.seed)
        remove(home)
    shown = f"killed={counts.killed} old={counts.old} new={counts.new} calls={counts.calls}"
    lost = len(counts.wrong)
    print(f"loops rounds={counts.rounds} {shown} losses={lost} seconds={time.monotonic() - begin:.1f}")
    print("".join(f"  {each}\n" for each in counts.wrong), end="")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
