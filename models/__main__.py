"""`python -m models [--verbose]`: every model enumerated, walked in lockstep with production, and its mutants judged.

Prints a line a model: `NAME states=N edges=N violations=0 mutants=K/K seconds=S`, where states and edges are those that
the model reaches in its larger bound; what production was walked through stands on the line behind it. Exits 1 for a
violation, a mutant that lives, a guard whose text is stale, or a rule that never fires. RK-MODEL-001 … RK-MODEL-006
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from models import mutants, publication
from models.enumerate import enumerate_states
from models.lockstep import PATHS, Walked, walk
from rukh.machines import publication as machine

# Alone with two actors the model reaches much more than production can be walked through in about a minute.
LARGE = publication.Bound(actors=2, revisions=3, releases=1, keeps=(2,))
LOCKSTEP = (publication.Bound(1, 4, 1), publication.Bound(2, 2, 1, keeps=(2,)))


def main() -> int:
    """Judge every model; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m models", description=__doc__)
    parser.add_argument("--verbose", action="store_true", help="list mutants, and how often each rule fired")
    options = parser.parse_args()
    return 0 if judge_publication(verbose=options.verbose) else 1


def judge_publication(*, verbose: bool) -> bool:
    """The publication model; whether all is well."""
    begun = time.monotonic()
    with ProcessPoolExecutor(2) as pool:
        walks = list(pool.map(walk, LOCKSTEP))
    counted = enumerate_states(publication, LARGE)
    judged = [*mutants.table_mutants(machine), *mutants.judge_guards()]
    killed = sum(one.killed for one in judged)
    faults = [
        *counted.violations,
        *(violation for one in walks for violation in one.violations),
        *(f"rule {rule} never fires" for rule in counted.never_fired(publication)),
        *(f"stale guard: {name}" for name in mutants.stale()),
        *(f"table: {fault}" for fault in mutants.table_faults(machine)),
        *(f"mutant lives: {one.name}" for one in judged if not one.killed),
    ]
    violations = len(counted.violations) + sum(len(one.violations) for one in walks)
    print(
        f"publication states={counted.states} edges={counted.edges} violations={violations} "
        f"mutants={killed}/{len(judged)} seconds={time.monotonic() - begun:.0f}"
    )
    _print_walks(walks)
    if verbose:
        for (rule, answer), count in sorted(counted.fired.items()):
            print(f"  rule {rule}: {answer} {count}")
        for one in judged:
            print(f"  mutant {'killed' if one.killed else 'LIVES'}: {one.name}: {one.by}")
    print(*faults, sep="\n", end="\n" if faults else "")
    return not faults


def _print_walks(walks: list[Walked]) -> None:
    states, edges = sum(one.states for one in walks), sum(one.edges for one in walks)
    done, twice = sum(one.done for one in walks), sum(one.twice for one in walks)
    print(
        f"  in lockstep with production: states={states} edges={edges} done={done} left-by-{PATHS}-paths={twice}"
    )


if __name__ == "__main__":
    sys.exit(main())
