"""Every reachable state × every rule, breadth first; what must hold is looked at in each state and on each edge."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple


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
        for step in model.steps(state, bound):
            edges += 1
            fired[step.rule, step.answer] += 1
            violations += _broken(model.STEP_INVARIANTS, state, step)
            behind, _order = model.in_order(step.behind)
            if behind not in known:
                known.add(behind)
                violations += _broken(model.INVARIANTS, behind)
                queue.append(behind)
    return Counted(len(known), edges, tuple(violations), fired)


def _broken(rules: tuple[Callable[..., bool], ...], *seen: Any) -> Iterator[str]:
    for rule in rules:
        try:
            why = "" if rule(*seen) else "no"
        except (AssertionError, LookupError) as missing:
            why = repr(missing)
        if why:
            yield f"{rule.__name__.replace('_', ' ')}: {why}: {seen}"
