"""The life of a publication operation, and what a release is to a home. Pure: no clock, no storage.

An operation is begun, writes its contents ahead, is validated as a whole, and is then decided in one transaction:

    begun ─stage─▶ staged ─validate─▶ validated ─flip──────▶ committed    the candidate is the active profile
                                                ─conflict──▶ conflicted   another was active; the winner stays
      any of the three ───────────────refuse───────────────▶ refused      a check said no
      any of the three ───────────────abort────────────────▶ aborted      given up, or its process died

The last four are final: an operation has one outcome for ever, and no event moves it. The same id may be asked again,
and gets the same answer, only with the same content; other content under a used id is refused. In the journal the
first three are one state, `begun`, with the step beside it. A death between commit and answer changes nothing: what is
recorded is the outcome, and a missing acknowledgement is no proof of failure. RK-PUB-004 RK-PUB-005 RK-PUB-009

A release is what its ties say, the first one in the order of `LIFE`; without a tie it is collectable. RK-PUB-020

All that decides about an operation or a release is in this file.
"""

from __future__ import annotations

BEGUN = "begun"
STAGED = "staged"
VALIDATED = "validated"
COMMITTED = "committed"
CONFLICTED = "conflicted"
REFUSED = "refused"
ABORTED = "aborted"

# (state, event) -> state; what is not in the table cannot happen.
TRANSITIONS = {
    (BEGUN, "stage"): STAGED,
    (BEGUN, "refuse"): REFUSED,
    (BEGUN, "abort"): ABORTED,
    (STAGED, "validate"): VALIDATED,
    (STAGED, "refuse"): REFUSED,
    (STAGED, "abort"): ABORTED,
    (VALIDATED, "flip"): COMMITTED,
    (VALIDATED, "conflict"): CONFLICTED,
    (VALIDATED, "refuse"): REFUSED,
    (VALIDATED, "abort"): ABORTED,
}
FINAL = frozenset({COMMITTED, CONFLICTED, REFUSED, ABORTED})

# tie -> what a release is by it; of several ties the first in this order speaks.
LIFE = {
    "active": "active",  # the active revision binds it
    "reference": "referenced",  # a call was captured with it, or left something behind that nobody saw end
    "effect": "uncertain",  # an effect of it is not known to have been applied or not
    "staging": "staged",  # an operation that is not over binds it
    "kept": "kept",  # a revision of the kept history binds it
}
COLLECTABLE = "collectable"


def after(state: str, event: str) -> str:
    """The state behind `event`; raises ValueError for a move that is not in the table."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise ValueError(f"an operation that is {state} takes no {event}") from None


def takes(state: str, event: str) -> bool:
    """Whether an operation in `state` takes `event`; a final one takes none."""
    return (state, event) in TRANSITIONS


def decide(expected: str, active: str, barred: bool) -> str:
    """The event of the commit: `conflict`, `refuse` or `flip`.

    A conflict is answered before a refusal: whether the candidate may be bound is judged only from where it started.
    """
    if expected != active:
        return "conflict"
    return "refuse" if barred else "flip"


def life(ties: frozenset[str]) -> str:
    """What a release with these ties is; `collectable` without one."""
    for tie, state in LIFE.items():
        if tie in ties:
            return state
    return COLLECTABLE
