"""Mutants: what is broken on purpose, and must be noticed. One that lives shows a rule that nothing checks.

    table     each row of the machine's tables deleted, led to another state, and each missing row added; judged by the
              model's own words about every state × every event and every set of ties
    guard     one condition of production taken out of its source; judged in lockstep
    model     one condition of the model taken out; judged by its own invariants, which are thereby seen to bite

A guard is named by the text that goes and the text that comes. A text that does not stand in its file exactly once is
a fault of this list, and fails the run. Each guard is judged in a process of its own, which loads the broken source.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from models.subject import Guard, Subject, Table, subject_of

ROOT = Path(__file__).resolve().parent.parent
# Exit statuses that no traceback has.
LIVES, KILLED = 10, 11


class Judged(NamedTuple):
    name: str
    killed: bool
    by: str


def table_mutants(subject: Subject) -> Iterator[Judged]:
    """Every single change of a row; the tables are as they were behind each."""
    for table in subject.tables:
        before = dict(table.rows)
        for name, changed in _changes(table):
            _become(table.rows, changed)
            faults = subject.table_faults()
            _become(table.rows, before)
            yield Judged(name, bool(faults), faults[0] if faults else "")


def _become(rows: dict[Any, str], others: dict[Any, str]) -> None:
    rows.clear()
    rows.update(others)


def _changes(table: Table) -> Iterator[tuple[str, dict[Any, str]]]:
    """Each row deleted, led elsewhere, added where there is none, and behind all others."""
    word, rows = table.word, dict(table.rows)
    for key, value in rows.items():
        left = {one: to for one, to in rows.items() if one != key}
        yield f"{word} {key} deleted", left
        for other in table.values:
            if other != value:
                yield f"{word} {key} led to {other}", {**rows, key: other}
        if table.ordered and key != next(reversed(rows)):
            yield f"{word} {key} last", {**left, key: value}
    for key in table.keys:
        if key not in rows:
            for value in table.values:
                yield f"{word} {key} added, to {value}", {**rows, key: value}


def stale(subject: Subject) -> list[str]:
    """Guards whose text does not stand in its file exactly once, or changes nothing."""
    return [
        f"{guard.module}: {guard.name}"
        for guard in subject.all_guards
        if source_of(guard.module).count(guard.old) != 1 or guard.old == guard.new
    ]


def source_of(module: str) -> str:
    return (ROOT / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8")


def judge_guards(subject: Subject) -> list[Judged]:
    """Each guard in a process of its own, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(partial(judge, subject), range(len(subject.all_guards))))


def judge(subject: Subject, number: int) -> Judged:
    guard = subject.all_guards[number]
    done = subprocess.run(
        [sys.executable, "-m", "models.mutants", subject.name, str(number)],
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


def main(name: str, number: int) -> int:
    """In the process of its own: the verdict about one mutant, as an exit status."""
    texts = importlib.import_module(f"models.{name}_guards")
    guard = (*texts.GUARDS, *texts.MODEL_GUARDS)[number]
    sys.meta_path.insert(0, Broken(guard))
    subject = subject_of(name)
    for bound in sorted(subject.bounds, key=guard.first.__ne__):
        violations = _violations(subject, number, *subject.bounds[bound])
        if violations:
            print(violations[0])
            return KILLED
    return LIVES


def _violations(subject: Subject, number: int, paths: int, bound: object) -> tuple[str, ...]:
    from models.enumerate import enumerate_states
    from models.lockstep import walk

    try:
        if number >= len(subject.guards):
            return enumerate_states(subject.adapter.model, bound, most_violations=1).violations
        return walk(subject.adapter, bound, paths=paths).violations
    except AssertionError as found:  # the home, or the model, is in a state that nothing can be asked of
        return (f"nothing can be asked any more: {found!r}",)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
