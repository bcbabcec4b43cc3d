"""A home for the tests of doctor: whole, and with what it takes to break it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from crashes.scenes import remove
from rukh.host.doctor import Finding, examine
from rukh.store.home import Home, open_home
from rukh.store.store import Store
from tests.support.homes import InstalledHome

CODE = """import rukh_sdk


@rukh_sdk.command("add", result="text")
def add(inputs, context):
    return "{version}"
"""


def files(version: str) -> dict[str, str]:
    return {"acme_echo.py": CODE.format(version=version)}


class Sick:
    """A home with one package in two versions, the newer one active, and an endpoint with a task."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.path = str(base / "home")
        self.home = Home(self.path)
        self.old, self.tree = sorted_trees(self)

    def at(self, *parts: str) -> Path:
        return Path(self.home.at(*parts))

    def execute(self, *statements: str) -> None:
        connection = apsw.Connection(self.home.at("db", "rukh.sqlite3"))
        for statement in statements:
            connection.execute(statement)
        connection.close()

    def rules(self, **named: Any) -> list[str]:
        return [finding.rule for finding in examine(self.path, **named)]

    def look(self) -> list[Finding]:
        return examine(self.path)


def sorted_trees(home: Sick) -> tuple[str, str]:
    connection = apsw.Connection(home.home.at("db", "rukh.sqlite3"))
    old, new = (str(tree) for (tree,) in connection.execute("SELECT tree FROM release ORDER BY version"))
    connection.close()
    return old, new


def write_in(sick: Sick, *parts: str) -> None:
    """Add a byte to a file of a release that is read-only."""
    path = sick.at(*parts)
    path.chmod(0o644)
    with path.open("ab") as file:
        file.write(b"#")
    path.chmod(0o444)


def lose(sick: Sick, tree: str) -> None:
    remove(sick.at("releases", tree))


def instead(path: Path, make: Callable[[Path], object]) -> None:
    """Something else in the place of a file."""
    path.unlink()
    make(path)


@contextmanager
def opened(sick: Sick) -> Iterator[Store]:
    store = Store(open_home(sick.path, create=False))
    yield store
    store.close()


def snapshot(home: Path) -> dict[str, Any]:
    """Every name below the home with its mode and contents; of SQLite's shared memory the name alone."""
    found: dict[str, Any] = {}
    for path in [home, *home.rglob("*")] if home.exists() else []:
        shared = path.name.endswith("-shm")
        mode = path.lstat().st_mode
        found[str(path)] = (mode, path.read_bytes() if path.is_file() and not shared else None)
    return found


def make(base: Path) -> None:
    """Install both versions and expose them, by the production path."""
    base.mkdir()
    made = InstalledHome(base)
    made.install(files("1.0.0"), version="1.0.0")
    made.install(files("1.1.0"), version="1.1.0")
    made.expose()


@contextmanager
def copy(made: Path, base: Path) -> Iterator[Sick]:
    """A copy of the home, in which the test does the damage; its source is that of the copy."""
    shutil.copytree(made, base, symlinks=True)
    copied = Sick(base)
    copied.execute(f"UPDATE source SET location = '{base / 'releases'}'")
    yield copied
    if os.path.lexists(copied.path) and not os.path.islink(copied.path):
        os.chmod(copied.path, 0o700)
    remove(base)
