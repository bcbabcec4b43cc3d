"""Every reachable state × every rule, breadth first; what must hold is looked at in each state and on each edge.

A model is a module of tables and of functions without a side effect:

    start(bound)      the first state, a NamedTuple
    RULES             rule -> (what it does: state, actor, argument -> the state behind it and the answer, or None where
                      it cannot be asked for; what it may be asked with: state, bound -> arguments)
    ANYBODY           rules that are the same whoever asks: the first actor does
    PER_ACTOR         the members of a state that hold one entry an actor; actors are alike
    INVARIANTS        what must hold in each state
    STEP_INVARIANTS   what must hold of a state and a step out of it
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple


class Step(NamedTuple):
    """One edge: who asked for what, the answer, and the state behind it."""

    rule: str
    actor: int
    argument: object
    answer: str
    behind: Any


class Counted(NamedTuple):
    """What an enumeration saw: `fired` counts the edges of each rule and answer."""

    states: int
    edges: int
    violations: tuple[str, ...]
    fired: Counter[tuple[str, str]]

    def never_fired(self, model: ModuleType) -> list[str]:
        """Rules that no reachable state takes: such a rule is not judged at all."""
        seen = {rule for rule, _ in self.fired}
        return [rule for rule in model.RULES if rule not in seen]


def enumerate_states(model: ModuleType, bound: Any, *, most_violations: int = 5) -> Counted:
    """Walk the whole model within `bound`."""
    first = model.start(bound)
    known, queue = {first}, deque([first])
    edges, fired, violations = 0, Counter[tuple[str, str]](), list(_broken(model.INVARIANTS, first))
    while queue and len(violations) < most_violations:
        state = queue.popleft()
        for step in steps(model, state, bound):
            edges += 1
            fired[step.rule, step.answer] += 1
            violations += _broken(model.STEP_INVARIANTS, state, step)
            behind, _order = in_order(model, step.behind)
            if behind not in known:
                known.add(behind)
                violations += _broken(model.INVARIANTS, behind)
                queue.append(behind)
    return Counted(len(known), edges, tuple(violations), fired)


def all_of(counts: Sequence[Counted]) -> Counted:
    """What the enumerations of several bounds saw; a state that two of them reach is counted in both."""
    return Counted(
        sum(one.states for one in counts),
        sum(one.edges for one in counts),
        tuple(violation for one in counts for violation in one.violations),
        sum((one.fired for one in counts), Counter[tuple[str, str]]()),
    )


def steps(model: ModuleType, state: Any, bound: Any) -> Iterator[Step]:
    """Everything that can be asked for in `state`."""
    for rule, (act, arguments) in model.RULES.items():
        asked = arguments(state, bound)
        for actor in range(1 if rule in model.ANYBODY else bound.actors):
            for argument in asked:
                found = act(state, actor, argument)
                if found is not None:
                    yield Step(rule, actor, argument, found[1], found[0])


def in_order(model: ModuleType, state: Any) -> tuple[Any, tuple[int, ...]]:
    """The state with its actors in one order, since they are alike, and who stood where."""
    members = {name: getattr(state, name) for name in model.PER_ACTOR}
    actors = range(len(next(iter(members.values()))))
    order = tuple(sorted(actors, key=lambda actor: [_rank(one[actor]) for one in members.values()]))
    if order == tuple(actors):
        return state, order
    moved = {name: tuple(one[actor] for actor in order) for name, one in members.items()}
    return state._replace(**moved), order


def _rank(entry: Any) -> tuple[bool, Any]:
    return entry is None, entry or ()


def _broken(rules: tuple[Callable[..., bool], ...], *seen: Any) -> Iterator[str]:
    for rule in rules:
        try:
            why = "" if rule(*seen) else "no"
        except (AssertionError, LookupError) as missing:
            why = repr(missing)
        if why:
            yield f"{rule.__name__.replace('_', ' ')}: {why}: {seen}"
