"""A model and production in lockstep: each edge is done by production too, on a clone of a real database.

A clone is the database file and its write-ahead log as they lay there in the middle of things, put into a home on
memory-backed files and opened by a new connection, as behind a crash. The living are locks that are held; the dead are
locks that are not. What production answered, and the state that is read back from its tables, must be the model's.
Each state is left from two clones that were reached by different paths, where there are two: what the abstraction does
not see must make no difference.

What is here is the same for every model; what drives production for one of them is an `Adapter` of its own.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import ModuleType
from typing import Any, NamedTuple

import apsw

from models.enumerate import Step, in_order, steps
from rukh.store.database import FILE
from rukh.store.holders import Holder
from rukh.store.home import Home, open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError

PATHS = 2
# A small page makes a small clone.
_PAGE_BYTES = 512


class Clone(NamedTuple):
    """A database in the middle of things, and who is who in it; `ended` holds every outcome that was seen."""

    database: bytes
    log: bytes
    actors: tuple[Any, ...]
    ended: tuple[tuple[str, str], ...]
    made: int


class Walked(NamedTuple):
    states: int
    edges: int
    done: int  # edges as production did them, on all clones
    twice: int  # states that were left from two clones
    violations: tuple[str, ...]


def memory_directory() -> str | None:
    """Where files lie in memory; None where the system has no such place, and any temporary directory must do."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def walk(
    adapter: type[Adapter], bound: Any, *, paths: int = PATHS, most_violations: int = 1, most_edges: int = 0
) -> Walked:
    """Everything within `bound`, each state from `paths` clones; `most_edges` (0: all) ends it earlier, and then it has
    proved less."""
    model = adapter.model
    with tempfile.TemporaryDirectory(dir=memory_directory()) as directory:
        production = adapter(Home(os.path.join(directory, "home")))
        first = model.start(bound)
        left, queue = Counter({first: 1}), deque([(first, production.fresh(bound))])
        edges, done, visited, violations = 0, 0, set[Any](), list[str]()
        while queue and len(violations) < most_violations and not 0 < most_edges <= done:
            state, clone = queue.popleft()
            for step in steps(model, state, bound):
                answer, seen, behind = production.do(clone, step)
                done += 1
                edges += state not in visited
                if (answer, seen) != (step.answer, step.behind):
                    violations.append(_difference(state, step, answer, seen))
                    continue
                expected, order = in_order(model, step.behind)
                if left[expected] < paths and expected != state:
                    left[expected] += 1
                    actors = tuple(behind.actors[actor] for actor in order)
                    queue.append((expected, behind._replace(actors=actors)))
            visited.add(state)
        twice = sum(1 for count in left.values() if count > 1)
        return Walked(len(visited), edges, done, twice, tuple(violations))


def _difference(state: Any, step: Step, answer: str, seen: Any) -> str:
    return (
        f"{step.rule} {step.argument} by {step.actor} in {state}:\n  model      {step.answer} {step.behind}\n"
        f"  production {answer} {seen}"
    )


class Adapter:
    """One home on memory-backed files, in which one edge after another is done.

    An adapter of a model says which it is (`model`), and how its things stand in the tables:

        first       fill a new home with what the first state says; who the actors are, and the outcomes so far
        rules       rule -> the method that has production do it: its answer, and who the actor is behind it
        observed    the state that is found in the tables, or what is wrong with them that no state can say
        ended       every outcome so far, each as it was when it was first seen
    """

    model: ModuleType
    rules: Mapping[str, Callable[..., tuple[str, Any]]]

    def __init__(self, home: Home) -> None:
        self._home = open_home(home.path, create=True)
        self._path = self._home.at("db", FILE)

    def first(self, store: Store, bound: Any) -> tuple[tuple[Any, ...], tuple[tuple[str, str], ...]]:
        raise NotImplementedError

    def observed(self, store: Store, actors: tuple[Any, ...], ended: tuple[tuple[str, str], ...]) -> Any:
        raise NotImplementedError

    def ended(self, store: Store, known: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        raise NotImplementedError

    def fresh(self, bound: Any) -> Clone:
        """A home in the first state."""
        connection = apsw.Connection(self._path)
        connection.execute(f"PRAGMA page_size={_PAGE_BYTES}; PRAGMA journal_mode=wal")
        connection.close()
        store = Store(self._home, no_time)
        actors, ended = self.first(store, bound)
        clone = self._taken(store, actors, ended, bound.actors)
        store.close()
        return clone

    def do(self, clone: Clone, step: Step) -> tuple[str, Any, Clone]:
        """Do `step` on a copy of `clone`: production's answer, the state that is found, and what lies there then."""
        self._lay_out(clone)
        with ExitStack() as living:
            holders = [Holder(self._home, actor.holder) for actor in clone.actors]
            for holder in holders:
                assert holder.id
                living.callback(holder.leave)
            store = Store(self._home, no_time, holders[step.actor])
            living.callback(store.database.close)
            try:
                answer, actor = self.act(store, clone, step)
            except (RukhError, ValueError) as error:
                return f"{error}", "", clone
            if actor.holder != clone.actors[step.actor].holder:
                holders[step.actor].leave()
            actors = list(clone.actors)
            actors[step.actor] = actor
            ended = self.ended(store, clone.ended)
            seen = self.observed(store, tuple(actors), ended)
            return answer, seen, self._taken(store, tuple(actors), ended, clone.made + 1)

    def act(self, store: Store, clone: Clone, step: Step) -> tuple[str, Any]:
        """Have production do `step`; its answer, and who the actor is in the database behind it."""
        return self.rules[step.rule](self, store, clone, step)

    def _lay_out(self, clone: Clone) -> None:
        for end, data in (("", clone.database), ("-wal", clone.log)):
            with open(self._path + end, "wb") as file:
                file.write(data)
        if os.path.exists(f"{self._path}-shm"):
            os.unlink(f"{self._path}-shm")

    def _taken(
        self, store: Store, actors: tuple[Any, ...], ended: tuple[tuple[str, str], ...], made: int
    ) -> Clone:
        with open(self._path, "rb") as database, open(f"{self._path}-wal", "rb") as log:
            return Clone(database.read(), log.read(), actors, ended, made)


def no_time() -> int:
    """The clock of every store: no model knows of time."""
    return 1
