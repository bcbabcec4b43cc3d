"""What every verb is told: which application this is, and which home it works in."""

from __future__ import annotations

import os

from rukh.store.home import default_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Context:
    """The application's name and version, its words for a shell, and the path of the home.

    `program` is the argument vector that starts this application again, for configurations that others paste; `exits`
    gives the application's own exit status for the registry's number of a class; `ends` are called once the command
    line is answered, a refusal included.
    """

    __slots__ = ("ends", "exits", "home", "name", "program", "version")

    def __init__(
        self, name: str, version: str, home: str, program: list[str], exits: Mapping[int, int] | None = None
    ) -> None:
        self.name = name
        self.version = version
        self.home = home
        self.program = program
        self.exits = exits or {}
        self.ends: list[Callable[[], None]] = []

    def status(self, number: int) -> int:
        """The exit status of this application for a class, given by its number in the registry. RK-CLI-080"""
        return self.exits.get(number, number)


def home_of(name: str, option: str | None, environ: Mapping[str, str]) -> str:
    """The home: the option, else the environment, else the user data directory."""
    return os.path.abspath(option) if option is not None else default_home(name, environ)
