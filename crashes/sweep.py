"""One verb, one kind of fault, all points: run, break, look."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from crashes.oracle import look
from crashes.points import Point, disturbed, points
from crashes.power import CUT, cut, syncs
from crashes.program import Ended, forked
from crashes.scenes import Scene, Stage, remove

# A signal at a system call, an error from it, or the power cut at a sync of the database.
FAULTS = ("kill", "interrupt", "ENOSPC", "EIO", "EPERM", "power")


@dataclass(frozen=True)
class Spot:
    """A fault at a point."""

    fault: str
    point: Point

    def __str__(self) -> str:
        return f"{self.fault} {self.point.call} {self.point.nth}"


@dataclass(frozen=True)
class Found:
    """What one spot came to: whether the fault struck, the version behind it, and what was lost."""

    point: str
    struck: bool
    version: str
    losses: tuple[str, ...]


class Sweep:
    """The sweeps of one scene."""

    def __init__(self, stage: Stage, scene: Scene) -> None:
        self._stage = stage
        self._scene = scene
        self._words = stage.words(scene)
        self._counted: list[Point] = []

    def points(self, fault: str, every: int = 1) -> list[Spot]:
        """Every Nth spot of this fault."""
        found = self._syncs() if fault == "power" else self._calls()
        return [Spot(fault, point) for point in found[::every]]

    def at(self, spot: Spot) -> Found:
        """Run the verb in a fresh copy with the fault at the spot, and look at what is left."""
        place = Path(mkdtemp(dir=self._stage.place))
        try:
            home = self._stage.copy(self._scene, place / "home")
            ended, struck = self._run(home, spot, place / "log")
            version, lost = look(self._scene, self._words, home, ended)
            return Found(str(spot), struck, version, tuple(lost))
        finally:
            remove(place)

    def _run(self, home: Path, spot: Spot, log: Path) -> tuple[Ended, bool]:
        """How the run ended, and whether the fault struck it."""
        words, point = self._words, spot.point
        if spot.fault != "power":
            return disturbed(home, words, point, spot.fault, log)
        ended = forked(os.fspath(home), words, cut(point.nth))
        return ended, ended.status == CUT or point.nth == 0

    def _calls(self) -> list[Point]:
        """The points of system calls, counted once: in a second run, as the first one may write byte code of Rukh."""
        for _ in range(0 if self._counted else 2):
            place = Path(mkdtemp(dir=self._stage.place))
            home = self._stage.copy(self._scene, place / "home")
            self._counted, ended = points(home, self._words, place / "log")
            self._whole(ended)
            remove(place)
        return self._counted

    def _syncs(self) -> list[Point]:
        """The syncs of the database, and the end of the run."""
        place = Path(mkdtemp(dir=self._stage.place))
        home = self._stage.copy(self._scene, place / "home")
        ended = forked(os.fspath(home), self._words, cut(0))
        self._whole(ended)
        remove(place)
        return [Point("sync", nth) for nth in range(syncs(ended.err) + 1)]

    def _whole(self, ended: Ended) -> None:
        """A sweep counts on a run that goes through."""
        if ended.status:
            raise SystemExit(f"rukh {' '.join(self._words)}: {ended.status} {ended.err}")
