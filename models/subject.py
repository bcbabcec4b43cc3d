"""What belongs to one model, for whoever judges it. A new one is three modules and a line in `NAMES`.

NAME              the model: see `enumerate`
NAME_production   its adapter, which drives production: see `lockstep`
NAME_subject      `SUBJECT`: bounds, tables with what the clauses say of them, and guards: see `mutants`
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from models.lockstep import Adapter

NAMES = ("publication",)


class Guard(NamedTuple):
    """A condition that a mutant goes without: its name, its module, the text that goes, the text that comes."""

    name: str
    module: str
    old: str
    new: str
    first: str = ""  # the name of the bound where it is looked for first; "" the first of all


class Table(NamedTuple):
    """A table of production as it lives: `word` calls its rows; every key and every value that there could be.

    Where it is `ordered`, the order of its rows says something too.
    """

    word: str
    rows: dict[Any, str]
    keys: tuple[Hashable, ...]
    values: tuple[str, ...]
    ordered: bool = False


class Subject(NamedTuple):
    """One model with all that it judges and is judged by.

    `large` are the bounds in which it is alone, `lockstep` those in which production goes along, `bounds` those in
    which a guard is looked for, with the number of clones that each state is left from. `table_faults` says where the
    tables say something else than the clauses.
    """

    name: str
    adapter: type[Adapter]
    large: tuple[Any, ...]
    lockstep: tuple[Any, ...]
    bounds: Mapping[str, tuple[int, Any]]
    tables: tuple[Table, ...]
    table_faults: Callable[[], list[str]]
    guards: tuple[Guard, ...]
    model_guards: tuple[Guard, ...]

    @property
    def all_guards(self) -> tuple[Guard, ...]:
        return (*self.guards, *self.model_guards)


def subject_of(name: str) -> Subject:
    """The subject of a model, loaded now."""
    found = importlib.import_module(f"models.{name}_subject").SUBJECT
    assert isinstance(found, Subject)
    return found
