"""The life of one publication operation. Pure: no clock, no storage.

    begun ──compare and flip──▶ committed      the candidate is the active profile
      ├──another was active───▶ conflicted     nothing changed; the winner stays
      ├──the check refused────▶ refused        nothing changed
      └──given up─────────────▶ aborted        nothing changed

The other four are final: an operation has one outcome for ever. The same id may be asked again, and gets the same
answer, only with the same content; other content under a used id is refused. RK-PUB-004 RK-PUB-005
"""

from __future__ import annotations

BEGUN = "begun"
COMMITTED = "committed"
CONFLICTED = "conflicted"
REFUSED = "refused"
ABORTED = "aborted"

# (state, event) -> state; what is not in the table cannot happen.
TRANSITIONS = {
    (BEGUN, "flip"): COMMITTED,
    (BEGUN, "conflict"): CONFLICTED,
    (BEGUN, "refuse"): REFUSED,
    (BEGUN, "abort"): ABORTED,
}
FINAL = frozenset(TRANSITIONS.values())


def after(state: str, event: str) -> str:
    """The state behind `event`; raises ValueError for a move that is not in the table."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise ValueError(f"an operation that is {state} takes no {event}") from None


def decide(state: str, expected: str, active: str) -> str:
    """The event of a begun operation that compares and publishes: `flip`, or `conflict` when another is active."""
    if state != BEGUN:
        raise ValueError(f"an operation that is {state} is not decided again")
    return "flip" if expected == active else "conflict"
