"""Mutants: what is broken on purpose, and must be noticed. One that lives shows a rule that nothing checks.

    table     each row of the machine's tables deleted, led to another state, and each missing row added; judged by the
              model's own words about every state × every event and every set of ties
    guard     one condition of production taken out of its source; judged in lockstep
    model     one condition of the model taken out; judged by its own invariants, which are thereby seen to bite

A guard is named by the text that goes and the text that comes. A text that does not stand in its file exactly once is
a fault of this list, and fails the run. Each guard is judged in a process of its own, which loads the broken source.
"""

from __future__ import annotations

import importlib.util
import itertools
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from models.guards import GUARDS, MODEL, MODEL_GUARDS, Guard

ROOT = Path(__file__).resolve().parent.parent
# Where a mutant is looked for: sequences and collection need many revisions, races two actors.
# What the abstraction does not see shows itself only where a state is left from a second clone.
BOUNDS: dict[str, tuple[int, tuple[Any, ...]]] = {
    "small": (2, (1, 2, 1)),
    "releases": (1, (1, 3, 2)),
    "many": (1, (1, 4, 1)),
    "actors": (1, (2, 2, 1, (2,))),
}
# Exit statuses that no traceback has.
LIVES, KILLED = 10, 11
EVENTS = ("stage", "validate", "flip", "conflict", "refuse", "abort")
FINAL = ("committed", "conflicted", "refused", "aborted")
# What the clauses say of each open state and event; of final states they say that nothing moves them.
MOVES = {
    ("begun", "stage"): "staged", ("staged", "validate"): "validated", ("validated", "flip"): "committed",
    ("validated", "conflict"): "conflicted",
    **{(state, "refuse"): "refused" for state in ("begun", "staged", "validated")},
    **{(state, "abort"): "aborted" for state in ("begun", "staged", "validated")},
}  # fmt: skip
SPARED = {
    "active": "active", "reference": "referenced", "effect": "uncertain", "staging": "staged", "kept": "kept",
}  # fmt: skip


class Judged(NamedTuple):
    name: str
    killed: bool
    by: str


def table_faults(machine: ModuleType) -> list[str]:
    """Where the machine's tables say something else than the clauses."""
    states = ("begun", "staged", "validated", *FINAL)
    found = [
        f"{state} {event}: {machine.TRANSITIONS.get((state, event))}"
        for state in states
        for event in EVENTS
        if machine.TRANSITIONS.get((state, event)) != MOVES.get((state, event))
    ]
    for count in range(len(SPARED) + 1):
        for ties in itertools.combinations(SPARED, count):
            expected = SPARED[ties[0]] if ties else "collectable"
            if machine.life(frozenset(ties)) != expected:
                found.append(f"{ties}: {machine.life(frozenset(ties))}")
    return found


def table_mutants(machine: ModuleType) -> Iterator[Judged]:
    """Every single change of a row; the machine is as it was behind each."""
    for name, changed, table in _changes(machine):
        before = dict(table)
        table.clear()
        table.update(changed)
        faults = table_faults(machine)
        table.clear()
        table.update(before)
        yield Judged(name, bool(faults), faults[0] if faults else "")


def _changes(machine: ModuleType) -> Iterator[tuple[str, dict[object, str], dict[object, str]]]:
    states = ("begun", "staged", "validated", *FINAL)
    moves = machine.TRANSITIONS
    for row, target in moves.items():
        yield f"row {row} deleted", {one: to for one, to in moves.items() if one != row}, moves
        for other in states:
            if other != target:
                yield f"row {row} led to {other}", {**moves, row: other}, moves
    for row in itertools.product(states, EVENTS):
        if row not in moves:
            for target in states:
                yield f"row {row} added, to {target}", {**moves, row: target}, moves
    ties = machine.LIFE
    for tie, state in ties.items():
        yield f"tie {tie} deleted", {one: to for one, to in ties.items() if one != tie}, ties
        for other in {*ties.values(), "collectable"} - {state}:
            yield f"tie {tie} led to {other}", {**ties, tie: other}, ties
        if tie != next(reversed(ties)):
            yield f"tie {tie} last", {**{one: to for one, to in ties.items() if one != tie}, tie: state}, ties


def stale() -> list[str]:
    """Guards whose text does not stand in its file exactly once, or changes nothing."""
    return [
        f"{guard.module}: {guard.name}"
        for guard in (*GUARDS, *MODEL_GUARDS)
        if source_of(guard.module).count(guard.old) != 1 or guard.old == guard.new
    ]


def source_of(module: str) -> str:
    return (ROOT / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8")


def judge_guards() -> list[Judged]:
    """Each guard in a process of its own, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(judge, range(len(GUARDS) + len(MODEL_GUARDS))))


def judge(number: int) -> Judged:
    guard = (*GUARDS, *MODEL_GUARDS)[number]
    done = subprocess.run(
        [sys.executable, "-m", "models.mutants", str(number)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    # Anything but the two verdicts is a fault of the run, not a death of the mutant.
    verdict = {LIVES: False, KILLED: True}.get(done.returncode)
    if verdict is None:
        raise RuntimeError(f"{guard.name}: {done.stderr}")
    return Judged(f"{guard.module}: {guard.name}", verdict, done.stdout.strip().partition("\n")[0])


class Broken(MetaPathFinder, Loader):
    """Loads one module from its source with one guard taken out."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        return importlib.util.spec_from_loader(fullname, self) if fullname == self._guard.module else None

    def exec_module(self, module: ModuleType) -> None:
        source = source_of(self._guard.module).replace(self._guard.old, self._guard.new)
        exec(compile(source, self._guard.module, "exec"), module.__dict__)


def main(number: int) -> int:
    """In the process of its own: the verdict about one mutant, as an exit status."""
    guard = (*GUARDS, *MODEL_GUARDS)[number]
    sys.meta_path.insert(0, Broken(guard))
    from models import publication as model
    from models.enumerate import enumerate_states
    from models.lockstep import walk

    for name in sorted(BOUNDS, key=guard.first.__ne__):
        paths, numbers = BOUNDS[name]
        bound = model.Bound(*numbers)
        try:
            if guard.module == MODEL:
                violations = enumerate_states(model, bound, most_violations=1).violations
            else:
                violations = walk(bound, paths=paths).violations
        except AssertionError as found:  # the home, or the model, is in a state that nothing can be asked of
            violations = (f"nothing can be asked any more: {found!r}",)
        if violations:
            print(violations[0])
            return KILLED
    return LIVES


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
