"""`python -m crashes [--every N] [--faults NAME,…] [VERB …]`: sweep, and print a line for each verb and fault.

    update kill points=103 crashes=103 old=71 new=32 losses=0 seconds=41.2

`points` were swept, at `crashes` of them the fault struck (a run may end before it comes to a point), after which the
`old` or the `new` version was there (of `gc`, which changes none, all are old). Exit 1 where anything was lost; each
loss is printed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from crashes.scenes import SCENES, Scene, Stage
from crashes.sweep import FAULTS, Found, Sweep

# Memory instead of a disk where there is one: the sweeps are about order, and `power` keeps its own books.
_MEMORY = "/dev/shm"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m crashes", description=__doc__.splitlines()[0])
    parser.add_argument("verbs", nargs="*", help="verbs to sweep; all by default")
    parser.add_argument("--every", type=int, default=1, help="take every Nth point only")
    parser.add_argument("--faults", default=",".join(FAULTS), help="kinds of faults, joined by commas")
    options = parser.parse_args()
    chosen = [scene for scene in SCENES if not options.verbs or scene.name in options.verbs]
    place = tempfile.mkdtemp(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None)
    try:
        lines = swept(Path(place), chosen, options.faults.split(","), options.every)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return 1 if any(lines) else 0


def swept(place: Path, scenes: list[Scene], faults: list[str], every: int) -> list[list[Found]]:
    """The losses of each sweep, each line printed as soon as it is known."""
    stage = Stage(place)
    losses = []
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork")) as pool:
        for scene in scenes:
            sweep = Sweep(stage, scene)
            for fault in faults:
                begin = time.monotonic()
                found = list(pool.map(sweep.at, sweep.points(fault, every)))
                print(f"{line(scene, fault, found)} seconds={time.monotonic() - begin:.1f}", flush=True)
                lost = [one for one in found if one.losses]
                for one in lost:
                    print(f"  at {one.point}: " + "; ".join(one.losses), flush=True)
                losses.append(lost)
    return losses


def line(scene: Scene, fault: str, found: list[Found]) -> str:
    """The counts of one sweep."""
    struck = [one for one in found if one.struck]
    old = sum(one.version == scene.before for one in struck)
    new = sum(one.version == scene.after != scene.before for one in struck)
    lost = sum(bool(one.losses) for one in found)
    return f"{scene.name} {fault} points={len(found)} crashes={len(struck)} old={old} new={new} losses={lost}"


if __name__ == "__main__":
    sys.exit(main())
