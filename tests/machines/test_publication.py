"""Every state × every event of an operation, and what each tie makes of a release."""

from __future__ import annotations

import itertools

import pytest

from rukh.machines import publication

EVENTS = ("stage", "validate", "flip", "conflict", "refuse", "abort")
# The whole table once more, in the order of the events; - is no move.
EXPECTED = {
    "begun": ("staged", "-", "-", "-", "refused", "aborted"),
    "staged": ("-", "validated", "-", "-", "refused", "aborted"),
    "validated": ("-", "-", "committed", "conflicted", "refused", "aborted"),
    "committed": ("-",) * 6,
    "conflicted": ("-",) * 6,
    "refused": ("-",) * 6,
    "aborted": ("-",) * 6,
}
CELLS = [(state, event, EXPECTED[state][EVENTS.index(event)]) for state in EXPECTED for event in EVENTS]


@pytest.mark.requirement("RK-PUB-005", "RK-PUB-008")
@pytest.mark.parametrize(("state", "event", "behind"), CELLS)
def test_an_event_moves_an_operation_or_does_not(state: str, event: str, behind: str) -> None:
    assert publication.takes(state, event) == (behind != "-")
    if behind != "-":
        assert publication.after(state, event) == behind
        return
    with pytest.raises(ValueError, match=f"an operation that is {state} takes no {event}"):
        publication.after(state, event)


# expected, active, barred: the event
DECISIONS = {
    "nothing came between": ("r1", "r1", False, "flip"),
    "another one is active": ("r1", "r2", False, "conflict"),
    "what it binds is barred": ("r1", "r1", True, "refuse"),
    "both: the conflict is answered first": ("r1", "r2", True, "conflict"),
    "the first publication": ("", "", False, "flip"),
}


@pytest.mark.requirement("RK-PUB-003", "RK-PUB-012")
@pytest.mark.parametrize("case", DECISIONS)
def test_the_commit_is_decided_by_comparing(case: str) -> None:
    expected, active, barred, event = DECISIONS[case]
    assert publication.decide(expected, active, barred) == event


ORDER = ("active", "reference", "effect", "staging", "kept")
STATES = ("active", "referenced", "uncertain", "staged", "kept")


@pytest.mark.requirement("RK-PUB-020")
def test_a_release_is_what_its_first_tie_says_and_collectable_without_one() -> None:
    for count in range(len(ORDER) + 1):
        for ties in itertools.combinations(ORDER, count):
            expected = STATES[ORDER.index(ties[0])] if ties else "collectable"
            assert (ties, publication.life(frozenset(ties))) == (ties, expected)
