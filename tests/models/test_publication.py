"""The publication model: enumerated, in lockstep with production, its mutants. `make models` goes further."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from models import draw, mutants, publication_production
from models import publication as model
from models.enumerate import enumerate_states
from models.lockstep import walk
from models.publication_production import Production
from models.publication_subject import SUBJECT
from tools.modules import read_modules

ROOT = Path(__file__).resolve().parents[2]
ALONE = model.Bound(1, 4, 1)
TOGETHER = model.Bound(2, 2, 1)


@pytest.mark.requirement("RK-MODEL-001", "RK-MODEL-002", "RK-MODEL-006")
@pytest.mark.parametrize(("bound", "states"), [(ALONE, 6566), (TOGETHER, 6143)])
def test_every_reachable_state_holds_what_must_hold(bound: model.Bound, states: int) -> None:
    """The number is part of the test: a model that reaches less, or more, has become another one."""
    counted = enumerate_states(model, bound)
    assert (counted.violations, counted.states, counted.never_fired(model)) == ((), states, [])


# What the clauses ask for -> who looks for it: an invariant of the model, or what is read back of production.
SAID: dict[str, Any] = {
    "one active revision": model.one_active_revision,
    "active and referenced releases exist": model.active_and_referenced_releases_exist,
    "and are unchanged": publication_production._NEVER["a release is another one than it was"],
    "a revision is never reused": model.a_revision_is_never_reused,
    "an operation has one outcome for ever": model.an_operation_has_one_outcome_for_ever,
    "every outcome stays, also when nobody owes it": publication_production._outcomes_that_changed,
    "a conflict never merges": model.a_conflict_never_merges,
    "a captured call sees one revision": model.a_captured_call_sees_one_revision,
    "nothing live is collected": model.nothing_live_is_collected,
    "nothing but a commit publishes": model.only_a_commit_publishes,
    "nothing of a revoked key": model.nothing_of_a_revoked_key_is_bound_anew_or_called,
    "a name of an old revision resolves nowhere": publication_production._what_resolves_wrongly,
}


@pytest.mark.requirement("RK-MODEL-002", "RK-MODEL-004")
def test_what_the_clauses_ask_for_is_looked_at_and_each_invariant_is_one_of_them() -> None:
    judged = {*model.INVARIANTS, *model.STEP_INVARIANTS}
    read_back = {
        *publication_production._NEVER.values(),
        publication_production._outcomes_that_changed,
        publication_production._what_resolves_wrongly,
    }
    assert judged <= set(SAID.values()) <= judged | read_back


@pytest.mark.requirement("RK-MODEL-006")
def test_a_rule_that_no_state_takes_is_found() -> None:
    counted = enumerate_states(model, model.Bound(1, 1, 1))
    assert "commit" in counted.never_fired(model)


@pytest.mark.requirement(
    "RK-MODEL-003", "RK-MODEL-004", "RK-PUB-009", "RK-PUB-013", "RK-PUB-021", "RK-PUB-008"
)
def test_one_process_and_production_go_the_same_ways() -> None:
    walked = walk(Production, model.Bound(1, 3, 1, keeps=(2,)))
    assert (walked.violations, walked.states, walked.twice) == ((), 686, 686)


@pytest.mark.requirement("RK-MODEL-003", "RK-MODEL-004", "RK-PUB-003", "RK-PUB-015", "RK-PUB-036")
def test_two_processes_and_production_go_the_same_ways_as_far_as_time_allows() -> None:
    walked = walk(Production, TOGETHER, paths=1, most_edges=6000)
    assert walked.violations == ()
    assert walked.done >= 6000


@pytest.mark.requirement("RK-MODEL-005")
def test_every_change_of_a_row_is_noticed_and_the_tables_are_themselves_behind_it() -> None:
    judged = list(mutants.table_mutants(SUBJECT))
    assert [one.name for one in judged if not one.killed] == []
    assert len(judged) == len({one.name for one in judged}) > 300
    assert SUBJECT.table_faults() == []


@pytest.mark.requirement("RK-MODEL-005")
def test_every_guard_stands_in_its_source_exactly_once() -> None:
    assert mutants.stale(SUBJECT) == []
    names = [guard.name for guard in SUBJECT.all_guards]
    assert len(names) == len(set(names)) + 1  # a sequence that is used again is broken on both sides


# One of each kind, which die quickly; all of them die in `make models`.
SAMPLE = (
    "a revoked signer is bound",
    "other content under a used id",
    "unconfirmed cleanup lets go",
    "commit merges",
)


@pytest.mark.requirement("RK-MODEL-005")
@pytest.mark.parametrize("name", SAMPLE)
def test_a_guard_that_is_taken_out_is_noticed(name: str) -> None:
    names = [guard.name for guard in SUBJECT.all_guards]
    assert mutants.judge(SUBJECT, names.index(name)).killed


@pytest.mark.requirement("RK-MODEL-007")
def test_the_diagram_is_fresh() -> None:
    assert draw.DIAGRAM.read_text(encoding="utf-8") == draw.publication()


@pytest.mark.requirement("RK-MODEL-008")
def test_the_model_knows_nothing_of_what_it_judges() -> None:
    modules = read_modules(ROOT, "models")
    knowing = {
        name
        for name, module in modules.items()
        if any(one.target.startswith("rukh") for one in module.imports)
    }
    assert knowing == {
        "models.draw",
        "models.lockstep",
        "models.publication_production",
        "models.publication_subject",
    }
    frame = [one.target for one in modules["models.publication"].imports if one.target.startswith("models")]
    assert set(frame) <= {"models.enumerate", "models.enumerate.Step"}
