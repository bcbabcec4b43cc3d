"""Publication: profiles, releases, operations and calls of one home, as the clauses describe them.

Two or more actors are processes of the same home. What one of them does is a *rule*; a rule gives the state behind it
and the answer that the actor gets, or None where it cannot be asked for. A process may die between any two steps (its
rule is `crash`), and another one takes its place.

    begin stage validate commit acknowledge abort repeat     one publication an actor at a time
    capture release leave                                    one call an actor at a time; `leave`: cleanup unconfirmed
    collect recover crash revoke                             at any time

A revision binds a release (0 is none) and a policy; a policy change is a publication like any other, and a rollback
publishes anew what a kept revision bound. Release n is signed by key n.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from models.enumerate import Step

BEGUN, STAGED, VALIDATED = OPEN = ("begun", "staged", "validated")
COMMITTED, CONFLICTED, REFUSED, ABORTED = "committed", "conflicted", "refused", "aborted"


class Content(NamedTuple):
    release: int
    policy: int


class Operation(NamedTuple):
    """An operation whose outcome nobody has been told yet; `held` while its process lives."""

    expected: int
    content: Content
    brings: int
    place: str
    revision: int = 0
    held: bool = True


class Call(NamedTuple):
    """A call with a reference; not `open` when it has an outcome and its cleanup is unconfirmed."""

    revision: int
    release: int
    open: bool = True
    held: bool = True


class State(NamedTuple):
    revisions: tuple[Content | None, ...]  # by sequence, from 1; None for one that was collected
    active: int
    present: frozenset[int]
    revoked: frozenset[int]
    operations: tuple[Operation | None, ...]  # by actor
    calls: tuple[Call | None, ...]  # by actor

    def bound(self, sequence: int) -> Content:
        found = self.revisions[sequence - 1]
        assert found is not None, f"revision {sequence} is gone"
        return found


class Bound(NamedTuple):
    """How far an enumeration goes: actors, revisions that are ever published, releases that can be installed, and how
    many revisions a collection may be told to keep."""

    actors: int
    revisions: int
    releases: int
    keeps: tuple[int, ...] = (1, 2)


Result = tuple[State, str] | None


def start(bound: Bound) -> State:
    """A fresh home: one revision, nothing installed."""
    nobody = (None,) * bound.actors
    return State((Content(0, 0),), 1, frozenset(), frozenset(), nobody, nobody)


def settled(state: State) -> State:
    """Before anything else is changed, what the dead began gets its outcome: without a flip it is aborted. (L09)"""
    return state._replace(
        operations=tuple(one if one is None or one.held else None for one in state.operations)
    )


def barred(state: State, operation: Operation) -> bool:
    """Whether it would bind anew what a revoked key signed, or what is not there any more."""
    release = operation.content.release
    if release in (0, state.bound(state.active).release):
        return False
    return release in state.revoked or (release not in state.present and release != operation.brings)


def begin(state: State, actor: int, asked: tuple[str, int]) -> Result:
    own = state.operations[actor]
    if own is not None and own.held:
        return None
    state, now, (kind, number) = settled(state), state.bound(state.active), asked
    if kind == "install":
        content, brings = Content(number, now.policy), number
    elif kind == "reuse":  # what was read of an older profile is bound without being brought
        content, brings = Content(number, now.policy), 0
    elif kind == "policy":
        content, brings = Content(now.release, 1 - now.policy), 0
    else:
        found = state.revisions[number - 1] if number < state.active else None
        if found is None:
            return None
        content, brings = found, 0
    return _with(state, actor, Operation(state.active, content, brings, BEGUN)), BEGUN


def stage(state: State, actor: int, _none: object) -> Result:
    return _moved(state, actor, BEGUN, lambda one: STAGED)


def validate(state: State, actor: int, _none: object) -> Result:
    return _moved(state, actor, STAGED, lambda one: REFUSED if barred(state, one) else VALIDATED)


def commit(state: State, actor: int, _none: object) -> Result:
    """One transaction: compare with what was expected, judge once more, flip; asked again, the same answer. (L07)"""
    own = state.operations[actor]
    if own is None or not own.held or own.place in (BEGUN, STAGED):
        return None
    if own.place not in OPEN:
        return state, own.place
    if own.expected != state.active:
        return _with(state, actor, own._replace(place=CONFLICTED)), CONFLICTED
    if barred(state, own):
        return _with(state, actor, own._replace(place=REFUSED)), REFUSED
    sequence = len(state.revisions) + 1
    present = state.present | {own.brings} - {0}
    state = state._replace(revisions=(*state.revisions, own.content), active=sequence, present=present)
    return _with(state, actor, own._replace(place=COMMITTED, revision=sequence)), COMMITTED


def abort(state: State, actor: int, _none: object) -> Result:
    """An accepted cancellation stops it before the flip, or finds it committed. (L11)"""
    own = state.operations[actor]
    if own is None or not own.held:
        return None
    place = ABORTED if own.place in OPEN else own.place
    return _with(state, actor, own._replace(place=place)), place


def acknowledge(state: State, actor: int, _none: object) -> Result:
    own = state.operations[actor]
    if own is None or not own.held:
        return None
    return (state, "under way") if own.place in OPEN else (_with(state, actor, None), own.place)


def repeat(state: State, actor: int, content: str) -> Result:
    """The same operation again: the recorded outcome for the same content, and a refusal for any other. (L05)"""
    own = state.operations[actor]
    if own is None or not own.held:
        return None
    under_way = "under way" if own.place in OPEN else own.place
    return settled(state), under_way if content == "same" else "other content"


def capture(state: State, actor: int, resolved: int) -> Result:
    """A call that was resolved under a revision sees that one or none; its release is pinned with it. (L06)"""
    if state.calls[actor] is not None or resolved > state.active:
        return None
    content = state.revisions[resolved - 1]
    if content is None or not content.release:
        return None
    if resolved != state.active:
        return state, "moved"
    if content.release in state.revoked:
        return state, "denied"
    return _calling(state, actor, Call(resolved, content.release)), "captured"


def release(state: State, actor: int, _none: object) -> Result:
    return _ended(state, actor, None)


def leave(state: State, actor: int, _none: object) -> Result:
    own = state.calls[actor]
    return _ended(state, actor, own and own._replace(open=False))


def crash(state: State, actor: int, _none: object) -> Result:
    operation, call = state.operations[actor], state.calls[actor]
    running = call is not None and call.open and call.held
    if not running and not (operation is not None and operation.held):
        return None
    state = _with(state, actor, operation and operation._replace(held=False))
    return _calling(state, actor, call._replace(held=False) if running and call else call), "dead"


def recover(state: State, actor: int, _none: object) -> Result:
    """Every outcome of the dead is on record; nothing of them is repeated. (L05 L09 X06)"""
    calls = tuple(one if one is None or one.held or not one.open else None for one in state.calls)
    return settled(state)._replace(calls=calls), "recovered"


def collect(state: State, actor: int, keep: int) -> Result:
    """What is active, kept, referenced, or bound by an operation that is not over stays. (L05)"""
    state = settled(state)
    calls = [one for one in state.calls if one is not None]
    there = [sequence for sequence, content in enumerate(state.revisions, 1) if content is not None]
    spared = {one.revision for one in calls} | set(there[-keep:])
    revisions = tuple(
        content if sequence in spared else None for sequence, content in enumerate(state.revisions, 1)
    )
    tied = {one.release for one in calls} | {one.release for one in revisions if one is not None}
    tied |= {one.content.release for one in state.operations if one is not None and one.place in OPEN}
    return state._replace(revisions=revisions, present=state.present & tied), "collected"


def standing(state: State, release: int) -> str:
    """What a release is to the home: the first of these that is so. (L05)"""
    if release == state.bound(state.active).release:
        return "active"
    if any(one is not None and one.release == release for one in state.calls):
        return "referenced"
    if any(
        one is not None and one.place in OPEN and one.content.release == release for one in state.operations
    ):
        return "staged"
    return (
        "kept"
        if any(one is not None and one.release == release for one in state.revisions)
        else "collectable"
    )


def revoke(state: State, actor: int, key: int) -> Result:
    """The trust is taken back for good; nothing is published by it. (L08)"""
    return state._replace(revoked=state.revoked | {key}), "revoked"


def nothing(state: State, bound: Bound) -> list[object]:
    return [None]


def publications(state: State, bound: Bound) -> list[object]:
    if len(state.revisions) >= bound.revisions:
        return []
    brought = [(kind, number) for number in range(1, bound.releases + 1) for kind in ("install", "reuse")]
    return [*brought, ("policy", 0), *(("rollback", number) for number in range(1, state.active))]


def kept(state: State, bound: Bound) -> list[object]:
    return list(bound.keeps)


def ways(state: State, bound: Bound) -> list[object]:
    return ["same", "other"]


def revisions(state: State, bound: Bound) -> list[object]:
    return [*range(1, state.active + 1)]


def keys(state: State, bound: Bound) -> list[object]:
    return [number for number in range(1, bound.releases + 1) if number not in state.revoked]


# rule -> what it does, and what it may be asked with
RULES: dict[str, tuple[Callable[..., Result], Callable[[State, Bound], list[object]]]] = {
    "begin": (begin, publications),
    "stage": (stage, nothing),
    "validate": (validate, nothing),
    "commit": (commit, nothing),
    "acknowledge": (acknowledge, nothing),
    "abort": (abort, nothing),
    "repeat": (repeat, ways),
    "capture": (capture, revisions),
    "release": (release, nothing),
    "leave": (leave, nothing),
    "crash": (crash, nothing),
    "recover": (recover, nothing),
    "collect": (collect, kept),
    "revoke": (revoke, keys),
}
# Rules that are the same whoever asks: the first actor does.
ANYBODY = ("recover", "collect", "revoke")
# What a state holds of each actor.
PER_ACTOR = ("operations", "calls")


def _with(state: State, actor: int, operation: Operation | None) -> State:
    found = list(state.operations)
    found[actor] = operation
    return state._replace(operations=tuple(found))


def _calling(state: State, actor: int, call: Call | None) -> State:
    found = list(state.calls)
    found[actor] = call
    return state._replace(calls=tuple(found))


def _moved(state: State, actor: int, place: str, decide: Callable[[Operation], str]) -> Result:
    own = state.operations[actor]
    if own is None or not own.held or own.place != place:
        return None
    behind = decide(own)
    return _with(state, actor, own._replace(place=behind)), behind


def _ended(state: State, actor: int, behind: Call | None) -> Result:
    own = state.calls[actor]
    if own is None or not own.held or not own.open:
        return None
    return _calling(state, actor, behind), "left" if behind else "ended"


# --- what must hold, in the words of the clauses ---------------------------------------------------------------------


def one_active_revision(state: State) -> bool:
    return state.active == len(state.revisions) and state.revisions[state.active - 1] is not None


def active_and_referenced_releases_exist(state: State) -> bool:
    calls = {one.release for one in state.calls if one is not None}
    return (calls | {state.bound(state.active).release}) - {0} <= state.present


def a_captured_call_sees_one_revision(state: State) -> bool:
    return all(
        one is None or (one.revision <= state.active and state.bound(one.revision).release == one.release)
        for one in state.calls
    )


def a_conflict_never_merges(state: State) -> bool:
    """What is committed is exactly what was asked for, on top of exactly what was expected."""
    return all(
        one is None or ((one.revision == 0) == (one.place != COMMITTED)
        and (one.place != COMMITTED or (one.expected == one.revision - 1
             and state.revisions[one.revision - 1] in (None, one.content))))
        for one in state.operations
    )  # fmt: skip


def a_revision_is_never_reused(before: State, step: Step) -> bool:
    old, new = before.revisions, step.behind.revisions
    return len(new) in (len(old), len(old) + 1) and all(
        b in (a, None) for a, b in zip(old, new, strict=False)
    )


def an_operation_has_one_outcome_for_ever(before: State, step: Step) -> bool:
    pairs = zip(before.operations, step.behind.operations, strict=True)
    return all(
        one is None or one.place in OPEN or other is None or other.place == one.place or other.held != one.held
        or (step.rule == "begin" and not one.held)
        for one, other in pairs
    )  # fmt: skip


def nothing_live_is_collected(before: State, step: Step) -> bool:
    """What a living operation would bind is there behind a collection as it was before. (L05)"""
    living = {
        one.content.release for one in before.operations if one is not None and one.held and one.place in OPEN
    }
    return step.rule != "collect" or living & before.present <= step.behind.present


def only_a_commit_publishes(before: State, step: Step) -> bool:
    """Failure, refusal, revocation, death and recovery leave the committed profile as it was. (L08)"""
    return before.active == step.behind.active or (step.rule == "commit" and step.answer == COMMITTED)


def nothing_of_a_revoked_key_is_bound_anew_or_called(before: State, step: Step) -> bool:
    release = step.behind.bound(step.behind.active).release
    if step.rule == "commit" and step.answer == COMMITTED:
        return release not in before.revoked or release == before.bound(before.active).release
    return step.answer != "captured" or release not in before.revoked


INVARIANTS: tuple[Callable[[State], bool], ...] = (
    one_active_revision,
    active_and_referenced_releases_exist,
    a_captured_call_sees_one_revision,
    a_conflict_never_merges,
)
STEP_INVARIANTS: tuple[Callable[[State, Step], bool], ...] = (
    a_revision_is_never_reused,
    an_operation_has_one_outcome_for_ever,
    nothing_live_is_collected,
    only_a_commit_publishes,
    nothing_of_a_revoked_key_is_bound_anew_or_called,
)
