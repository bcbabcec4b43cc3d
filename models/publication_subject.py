"""What the frame needs to judge publication: its bounds, its tables in the words of the clauses, its adapter."""

from __future__ import annotations

import itertools

from models import publication as model
from models.publication_guards import GUARDS, MODEL_GUARDS
from models.publication_production import Production
from models.subject import Subject, Table
from rukh.machines import publication as machine

Bound = model.Bound
# Where a mutant is looked for: sequences and collection need many revisions, races two actors.
# What the abstraction does not see shows itself only where a state is left from a second clone.
BOUNDS: dict[str, tuple[int, Bound]] = {
    "small": (2, Bound(1, 2, 1)),
    "releases": (1, Bound(1, 3, 2)),
    "many": (1, Bound(1, 4, 1)),
    "actors": (1, Bound(2, 2, 1, (2,))),
}
_EVENTS = ("stage", "validate", "flip", "conflict", "refuse", "abort")
_FINAL = ("committed", "conflicted", "refused", "aborted")
# What the clauses say of each open state and event; of final states they say that nothing moves them.
_MOVES = {
    ("begun", "stage"): "staged", ("staged", "validate"): "validated", ("validated", "flip"): "committed",
    ("validated", "conflict"): "conflicted",
    **{(state, "refuse"): "refused" for state in ("begun", "staged", "validated")},
    **{(state, "abort"): "aborted" for state in ("begun", "staged", "validated")},
}  # fmt: skip
_SPARED = {
    "active": "active", "reference": "referenced", "effect": "uncertain", "staging": "staged", "kept": "kept",
}  # fmt: skip


_STATES = ("begun", "staged", "validated", *_FINAL)


def table_faults() -> list[str]:
    """Where the machine's tables say something else than the clauses."""
    found = [
        f"{state} {event}: {machine.TRANSITIONS.get((state, event))}"
        for state in _STATES
        for event in _EVENTS
        if machine.TRANSITIONS.get((state, event)) != _MOVES.get((state, event))
    ]
    for count in range(len(_SPARED) + 1):
        for ties in itertools.combinations(_SPARED, count):
            expected = _SPARED[ties[0]] if ties else "collectable"
            if machine.life(frozenset(ties)) != expected:
                found.append(f"{ties}: {machine.life(frozenset(ties))}")
    return found


SUBJECT = Subject(
    name="publication",
    adapter=Production,
    # Alone the model reaches much more than production can be walked through in about a minute.
    large=(Bound(2, 3, 1, keeps=(2,)), Bound(3, 2, 1, keeps=(2,))),
    lockstep=(Bound(1, 4, 1), Bound(2, 2, 1, keeps=(2,))),
    bounds=BOUNDS,
    tables=(
        Table("row", machine.TRANSITIONS, tuple(itertools.product(_STATES, _EVENTS)), _STATES),
        Table("tie", machine.LIFE, tuple(_SPARED), (*_SPARED.values(), "collectable"), ordered=True),
    ),
    table_faults=table_faults,
    guards=GUARDS,
    model_guards=MODEL_GUARDS,
)
