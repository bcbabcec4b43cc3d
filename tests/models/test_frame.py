"""What every model is judged by, shown with a model that is small enough to count by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple, cast

import pytest

from models import __main__ as program
from models import mutants
from models.enumerate import Step, enumerate_states, in_order, steps
from models.lockstep import PATHS, Adapter, Walked
from models.subject import NAMES, Guard, Subject, Table, subject_of


class Lamps(NamedTuple):
    """One lamp an actor, and how often one was lit."""

    lit: tuple[bool | None, ...]
    times: int


class Bound(NamedTuple):
    actors: int
    most: int


def light(state: Lamps, actor: int, _none: object) -> tuple[Lamps, str] | None:
    lamps = tuple(True if place == actor else lit for place, lit in enumerate(state.lit))
    return None if state.lit[actor] else (Lamps(lamps, state.times + 1), "lit")


def all_out(state: Lamps, _actor: int, _none: object) -> tuple[Lamps, str]:
    return Lamps((None,) * len(state.lit), state.times), "dark"


def within(state: Lamps, bound: Bound) -> list[object]:
    return [None] if state.times < bound.most else []


def always(state: Lamps, bound: Bound) -> list[object]:
    return [None]


def never(state: Lamps, bound: Bound) -> list[object]:
    return []


def no_more_lamps_than_were_lit(state: Lamps) -> bool:
    return sum(1 for lit in state.lit if lit) <= state.times


def it_counts_up(before: Lamps, step: Step) -> bool:
    return bool(step.behind.times >= before.times)


def lamps(**changed: Any) -> ModuleType:
    """The model; `changed` replaces what is in it."""
    made = ModuleType("lamps")
    made.__dict__.update(
        start=lambda bound: Lamps((None,) * bound.actors, 0),
        RULES={"light": (light, within), "all out": (all_out, always)},
        ANYBODY=("all out",),
        PER_ACTOR=("lit",),
        INVARIANTS=(no_more_lamps_than_were_lit,),
        STEP_INVARIANTS=(it_counts_up,),
    )
    made.__dict__.update(changed)
    return made


def broken(*_seen: object) -> bool:
    return False


BOUND = Bound(2, 2)


@pytest.mark.requirement("RK-MODEL-001")
def test_every_state_is_reached_with_every_rule_and_alike_actors_are_one() -> None:
    counted = enumerate_states(lamps(), BOUND)
    # none lit at 0, 1, 2; one at 1, 2; two at 2: a state with the lamps changed round is the same one
    assert (counted.states, counted.edges, counted.violations) == (6, 6 + 2 * 2 + 1, ())
    assert dict(counted.fired) == {("light", "lit"): 5, ("all out", "dark"): 6}
    mirrored = Lamps((None, True), 1)
    assert in_order(lamps(), mirrored) == (Lamps((True, None), 1), (1, 0))


@pytest.mark.requirement("RK-MODEL-001")
def test_who_asks_for_what_anybody_may_ask_makes_no_difference() -> None:
    asked = [(step.rule, step.actor) for step in steps(lamps(), Lamps((None, None), 0), BOUND)]
    assert asked == [("light", 0), ("light", 1), ("all out", 0)]


# what breaks, and the first word of what is said
VIOLATIONS: dict[str, dict[str, Any]] = {
    "of a state": {"INVARIANTS": (broken,)},
    "of a step": {"STEP_INVARIANTS": (broken,)},
}


@pytest.mark.requirement("RK-MODEL-002")
@pytest.mark.parametrize("name", VIOLATIONS)
def test_what_must_hold_and_does_not_is_said(name: str) -> None:
    counted = enumerate_states(lamps(**VIOLATIONS[name]), BOUND, most_violations=1)
    assert counted.violations
    assert counted.violations[0].startswith("broken: no")


ROWS = {("out", "light"): "lit"}
GUARD = Guard("a lamp is lit twice", "tests.models.test_frame", "None if state.lit[actor] else ", "")


def subject(model: ModuleType, *, rows: dict[Any, str] | None = None) -> Subject:
    """The lamps as a subject, without a guard: one would be judged in a process that does not know them."""
    table = dict(ROWS) if rows is None else rows
    return Subject(
        name="lamps",
        adapter=cast("type[Adapter]", type("Lamplighter", (Adapter,), {"model": model})),
        large=(BOUND,),
        lockstep=(BOUND,),
        bounds={"small": (1, BOUND)},
        tables=(Table("row", table, (("out", "light"), ("lit", "light")), ("lit", "out")),),
        table_faults=lambda: [] if table == ROWS else [f"it says {table}"],
        guards=(),
        model_guards=(),
    )


def went_along(*violations: str) -> Callable[[Subject], list[Walked]]:
    return lambda _subject: [Walked(3, 4, 8, 2, violations), Walked(1, 1, 2, 1, ())]


@pytest.mark.requirement("RK-MODEL-001", "RK-MODEL-005")
def test_a_model_has_its_line_and_production_the_line_behind_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.judge(subject(lamps()), verbose=False, walks=went_along())
    line, behind = re.sub("seconds=[0-9]+", "seconds=S", capsys.readouterr().out).splitlines()
    # of the one row: deleted, led elsewhere; of the other: added with either value
    assert line == "lamps states=6 edges=11 violations=0 mutants=4/4 seconds=S"
    assert behind == f"  in lockstep with production: states=4 edges=5 done=10 left-by-{PATHS}-paths=3"


@pytest.mark.requirement("RK-MODEL-005")
def test_on_demand_each_mutant_and_each_rule_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.judge(subject(lamps()), verbose=True, walks=went_along())
    listed = capsys.readouterr().out.splitlines()[2:]
    assert listed == [
        "  rule all out: dark 6",
        "  rule light: lit 5",
        "  mutant killed: row ('out', 'light') deleted: it says {}",
        "  mutant killed: row ('out', 'light') led to out: it says {('out', 'light'): 'out'}",
        *(
            f"  mutant killed: row ('lit', 'light') added, to {value}: it says "
            f"{{('out', 'light'): 'lit', ('lit', 'light'): '{value}'}}"
            for value in ("lit", "out")
        ),
    ]


# Each fails the run, and is said: the subject, what production did, the line that says it.
NEVER = {**lamps().RULES, "dim": (light, never)}
FAILING: dict[str, tuple[Callable[[], Subject], tuple[str, ...], str]] = {
    "a rule that never fires": (lambda: subject(lamps(RULES=NEVER)), (), "rule dim never fires"),
    "a violation of the model": (lambda: subject(lamps(INVARIANTS=(broken,))), (), "broken: no"),
    "another way of production": (lambda: subject(lamps()), ("light by 0",), "light by 0"),
    "a table that says something else": (
        lambda: subject(lamps(), rows={}),
        (),
        "table: it says {}",
    ),
    "a mutant that lives": (
        lambda: subject(lamps())._replace(table_faults=list),
        (),
        "mutant lives: row ('out', 'light') deleted",
    ),
    "a guard that is stale": (
        lambda: subject(lamps())._replace(guards=(GUARD._replace(old="it stands nowhere, " * 2),)),
        (),
        f"stale guard: {GUARD.module}: {GUARD.name}",
    ),
}


@pytest.mark.requirement("RK-MODEL-005", "RK-MODEL-006", "RK-MODEL-002", "RK-MODEL-003")
@pytest.mark.parametrize("name", FAILING)
def test_whatever_is_wrong_fails_the_run(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "judge_guards", lambda _subject: [])
    make, violations, said = FAILING[name]
    assert not program.judge(make(), verbose=False, walks=went_along(*violations))
    assert any(line.startswith(said) for line in capsys.readouterr().out.splitlines())


@pytest.mark.requirement("RK-MODEL-006")
@pytest.mark.parametrize(("well", "status"), [(True, 0), (False, 1)], ids=["well", "not well"])
def test_the_program_judges_every_model_and_its_status_says_how_it_went(
    well: bool, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[tuple[str, bool]] = []

    def judge(one: Subject, *, verbose: bool) -> bool:
        judged.append((one.name, verbose))
        return well

    monkeypatch.setattr(program, "judge", judge)
    monkeypatch.setattr("sys.argv", ["models", "--verbose"])
    assert program.main() == status
    assert judged == [(name, True) for name in NAMES]


@pytest.mark.requirement("RK-MODEL-005")
def test_a_row_is_changed_in_every_single_way_and_ordered_ones_change_places() -> None:
    rows = {"a": "x", "b": "y"}
    table = Table("tie", rows, ("a", "b", "c"), ("x", "y"), ordered=True)
    seen: list[list[tuple[str, str]]] = []

    def looked() -> list[str]:
        seen.append(list(rows.items()))
        return []

    judged = mutants.table_mutants(subject(lamps())._replace(tables=(table,), table_faults=looked))
    assert [one.name for one in judged] == [
        "tie a deleted",
        "tie a led to y",
        "tie a last",
        "tie b deleted",
        "tie b led to x",
        "tie c added, to x",
        "tie c added, to y",
    ]
    assert seen == [
        [("b", "y")],
        [("a", "y"), ("b", "y")],
        [("b", "y"), ("a", "x")],
        [("a", "x")],
        [("a", "x"), ("b", "x")],
        [("a", "x"), ("b", "y"), ("c", "x")],
        [("a", "x"), ("b", "y"), ("c", "y")],
    ]
    assert rows == {"a": "x", "b": "y"}


@pytest.mark.requirement("RK-MODEL-005")
@pytest.mark.parametrize("name", NAMES)
def test_every_model_is_found_by_its_name_and_has_a_mutant_of_each_kind(name: str) -> None:
    found = subject_of(name)
    assert found.name == name
    assert found.guards and found.model_guards and found.tables
    assert {guard.module for guard in found.model_guards} == {f"models.{name}"}
    assert set(found.adapter.rules) == set(found.adapter.model.RULES)
    assert {guard.first for guard in found.all_guards} <= {"", *found.bounds}
