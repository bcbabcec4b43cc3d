"""`python -m models [--verbose]`: every model enumerated, walked in lockstep with production, and its mutants judged.

Prints a line a model: `NAME states=N edges=N violations=0 mutants=K/K seconds=S`, where states and edges are those that
the model reaches in its larger bounds; what production was walked through stands on the line behind it. Exits 1 for a
violation, a mutant that lives, a guard whose text is stale, or a rule that never fires. RK-MODEL-001 … RK-MODEL-006
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from models import mutants
from models.enumerate import Counted, all_of, enumerate_states
from models.lockstep import PATHS, Walked, walk
from models.mutants import Judged
from models.subject import NAMES, Subject, subject_of


def main() -> int:
    """Judge every model; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m models", description=__doc__)
    parser.add_argument("--verbose", action="store_true", help="list mutants, and how often each rule fired")
    options = parser.parse_args()
    judged = [judge(subject_of(name), verbose=options.verbose) for name in NAMES]
    return 0 if all(judged) else 1


def judge(subject: Subject, *, verbose: bool, walks: Callable[[Subject], list[Walked]] | None = None) -> bool:
    """Judge one model and print what was found; whether all is well. `walks` walks production."""
    begun = time.monotonic()
    walked = (walks or walk_all)(subject)
    counted = all_of([enumerate_states(subject.adapter.model, bound) for bound in subject.large])
    judged = [*mutants.table_mutants(subject), *mutants.judge_guards(subject)]
    killed = sum(one.killed for one in judged)
    violations = [*counted.violations, *(violation for one in walked for violation in one.violations)]
    faults = [*violations, *_faults(subject, counted, judged)]
    print(
        f"{subject.name} states={counted.states} edges={counted.edges} violations={len(violations)} "
        f"mutants={killed}/{len(judged)} seconds={time.monotonic() - begun:.0f}"
    )
    _print_walks(walked)
    if verbose:
        _print_each(counted, judged)
    print(*faults, sep="\n", end="\n" if faults else "")
    return not faults


def walk_all(subject: Subject) -> list[Walked]:
    """Production beside the model, in each of the bounds for that, at the same time."""
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(partial(walk, subject.adapter), subject.lockstep))


def _faults(subject: Subject, counted: Counted, judged: Iterable[Judged]) -> list[str]:
    return [
        *(f"rule {rule} never fires" for rule in counted.never_fired(subject.adapter.model)),
        *(f"stale guard: {name}" for name in mutants.stale(subject)),
        *(f"table: {fault}" for fault in subject.table_faults()),
        *(f"mutant lives: {one.name}" for one in judged if not one.killed),
    ]


def _print_walks(walks: list[Walked]) -> None:
    states, edges = sum(one.states for one in walks), sum(one.edges for one in walks)
    done, twice = sum(one.done for one in walks), sum(one.twice for one in walks)
    print(
        f"  in lockstep with production: states={states} edges={edges} done={done} left-by-{PATHS}-paths={twice}"
    )


def _print_each(counted: Counted, judged: list[Judged]) -> None:
    for (rule, answer), count in sorted(counted.fired.items()):
        print(f"  rule {rule}: {answer} {count}")
    for one in judged:
        print(f"  mutant {'killed' if one.killed else 'LIVES'}: {one.name}: {one.by}")


if __name__ == "__main__":
    sys.exit(main())
