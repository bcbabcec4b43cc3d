"""Samples in turn, medians, ratios, and the table they are shown in. RK-PROC-017"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

Sample = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured comparison: seconds of ours and of the baseline, in the order in which they were taken."""

    id: str
    against: str
    goal: float
    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    with_p99: bool = False

    @property
    def ratio(self) -> float:
        """Median of ours over median of theirs."""
        return median(self.ours) / median(self.theirs)

    @property
    def met(self) -> bool:
        return self.ratio <= self.goal


def interleaved(
    ours: Sample, theirs: Sample, rounds: int, warm_up: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """`rounds` samples of each, in seconds, taken in turn; who goes first changes each round. Warm-up samples are lost.

    What disturbs the machine for a while falls on both alike, and whoever runs second gains nothing by it.
    """
    kept: tuple[list[float], list[float]] = ([], [])
    for turn in range(warm_up + rounds):
        order = (0, 1) if turn % 2 else (1, 0)
        taken = {which: (ours, theirs)[which]() for which in order}
        if turn >= warm_up:
            kept[0].append(taken[0])
            kept[1].append(taken[1])
    return tuple(kept[0]), tuple(kept[1])


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least `share` (0 to 1) of all samples do not exceed."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def table(figures: Sequence[Figure]) -> str:
    """The figures for a person: medians in milliseconds, the ratio, the goal, and whether it is met."""
    rows = [("id", "ours ms", "baseline ms", "ratio", "goal", "", "against")]
    for one in figures:
        ours, theirs = (f"{median(samples) * 1000:.3f}" for samples in (one.ours, one.theirs))
        verdict = "met" if one.met else "MISSED"
        rows.append((one.id, ours, theirs, f"{one.ratio:.2f}", f"{one.goal:.2f}", verdict, one.against))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    for one in figures:
        if one.with_p99:
            ours, theirs = (f"{percentile(samples, 0.99) * 1000:.3f}" for samples in (one.ours, one.theirs))
            lines.append(f"{one.id}: p99 ours {ours} ms, baseline {theirs} ms")
    return "\n".join(lines)


def write_json(figures: Sequence[Figure], path: Path) -> None:
    """`[{id, against, ratio, goal}]`, figures that miss their goal among them."""
    rows = [
        {"id": one.id, "against": one.against, "ratio": round(one.ratio, 4), "goal": one.goal}
        for one in figures
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
