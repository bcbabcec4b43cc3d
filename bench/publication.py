"""Publication of ten thousand commands against a thousand, for each command. RK-PROC-017

What is measured is the store alone, from begin to acknowledgement: compiled contents go in, a revision comes out. Each
sample publishes contents of its own, so that nothing of them is there already.
"""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

from bench.measure import Figure, interleaved
from rukh.store.home import open_home
from rukh.store.profiles import NO_REVISION, Contents
from rukh.store.store import Store

MANY, FEW = 10_000, 1_000
_PACKAGE = "bench.suite"
# What a note-taking command compiles to is about this long.
_RECORD = {"package": _PACKAGE, "parameters": "p" * 900, "result": "r" * 300}


def publication(base: Path, rounds: int) -> Figure:
    """Seconds for each command: ours is the large profile, the baseline the small one."""
    publishers = [_Publisher(base / f"home-{count}", count) for count in (MANY, FEW)]
    samples = interleaved(publishers[0].sample, publishers[1].sample, rounds, warm_up=1)
    for one in publishers:
        one.store.close()
    return Figure("publication", "1,000 commands published, each command of 10,000", 1.2, *samples)


class _Publisher:
    """One home, in which profiles of `count` commands are published one after another."""

    def __init__(self, path: Path, count: int) -> None:
        self.store = Store(open_home(str(path), create=True))
        self._count = count
        self._numbers = itertools.count(1)

    def sample(self) -> float:
        """Publish once; seconds for each command. The log is folded back outside of the time that is taken."""
        number = next(self._numbers)
        parts = _contents(number, self._count)
        active = self.store.profiles.active()
        profile: dict[str, Any] = {"mark": number, "packages": {}, "endpoints": {}}
        begun = time.perf_counter()
        done = self.store.publications.publish(
            f"op_{number}",
            active.revision if active else NO_REVISION,
            profile,
            parts,
            subject="user:local",
            surface="cli",
        )
        taken = time.perf_counter() - begun
        assert done.state == "committed", done.state
        self.store.database.fold()
        return taken / self._count


def _contents(number: int, count: int) -> Contents:
    """Contents that no other publication has: every record and tail names the publication."""
    names = [f"c{place:05}" for place in range(count)]
    commands: list[tuple[str, Any]] = [
        (f"{_PACKAGE}/{name}", {**_RECORD, "identity": f"{_PACKAGE}/{name}", "mark": number})
        for name in names
    ]
    return Contents(
        f"g{number}",
        commands,
        [(("bench", name), "command", f"{_PACKAGE}/{name}", "Does it") for name in names],
        {"desk": [(f"{_PACKAGE}/{name}", f"t{number}-{name}") for name in names]},
        {f"t{number}-{name}": "d" * 700 for name in names},
    )
