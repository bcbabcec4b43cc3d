"""A publisher's catalog and an owner's home that trusts it, and the real program between them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crashes.program import Around, Ended, Running, forked
from crashes.scenes import remove
from rukh.store.home import open_home
from rukh.store.store import Store
from tests.support.releases import Publisher

PACKAGE = "acme.notes"
OLD, NEW = "1.0.0", "1.1.0"
_MODULE = """\
import rukh_sdk


@rukh_sdk.command("add", result="text")
def add(inputs, context):
    return "{version}"
"""


def files(version: str) -> dict[str, str]:
    """The files of a release whose command answers with its version."""
    return {"acme_notes.py": _MODULE.format(version=version)}


class Shop:
    """A catalog in `place` and a home that knows it."""

    def __init__(self, place: Path, publisher: Publisher) -> None:
        self.place = place
        self.publisher = publisher
        self.catalog = place / "catalog"
        self.home = place / "home"

    @classmethod
    def opened(cls, place: Path, publisher: Publisher, *, installed: bool) -> Shop:
        """A new one; the package is `installed` in its old version, or not at all."""
        shop = cls(place, publisher)
        shop.catalog.mkdir(parents=True)
        with shop.store(create=True) as store:
            store.trust.add_key(PACKAGE, publisher.key_id, publisher.pem, subject="user:local")
            store.trust.add_source("here", str(shop.catalog), subject="user:local")
        shop.must("profile", "show")
        if installed:
            shop.release(OLD)
            shop.must("install", PACKAGE)
        return shop

    def copied(self, place: Path) -> Shop:
        """Another one like it, whose home knows its own catalog."""
        shutil.copytree(self.place, place, symlinks=True)
        shop = Shop(place, self.publisher)
        with shop.store() as store:
            store.trust.add_source("here", str(shop.catalog), subject="user:local")
        return shop

    def store(self, *, create: bool = False) -> _Opened:
        """The store of the home, for the time of a `with`."""
        return _Opened(str(self.home), create)

    def release(self, version: str = NEW, **changes: Any) -> Path:
        """Pack and sign a release, and list it as the only one; its artifact."""
        shutil.rmtree(self.catalog, ignore_errors=True)
        return self.publisher.release(self.catalog, PACKAGE, version, **{"files": files(version), **changes})

    def run(self, *words: str, around: Around | None = None) -> Ended:
        """One command line, from its start to its end."""
        return forked(os.fspath(self.home), list(words), around)

    def start(self, *words: str, around: Around | None = None) -> Running:
        """One command line that goes on beside the test."""
        return Running(os.fspath(self.home), list(words), around)

    def must(self, *words: str) -> str:
        """What a command line that goes through answers."""
        ended = self.run(*words)
        assert (ended.status, ended.err) == (0, ""), ended
        return ended.out

    def seen(self) -> tuple[str, dict[str, Any], list[str], list[str], str]:
        """Revision, profile, what is listed as a release, every file but records and locks, and what runs."""
        with self.store() as store:
            active = store.profiles.active()
            assert active is not None
            releases = sorted(tree for (tree,) in store.database.rows("SELECT tree FROM release"))
        inside = sorted(str(path.relative_to(self.home)) for path in self.home.rglob("*"))
        kept = [name for name in inside if not name.startswith(("db", "locks"))]
        return active.revision, dict(active.profile), releases, kept, self.says()

    def listed(self) -> str:
        """The version that is reported; "" where none is."""
        packages = json.loads(self.must("list", "--json"))["packages"]
        return str(packages[0]["version"]) if packages else ""

    def says(self) -> str:
        """The version that runs; "" where none does."""
        return self.run("run", f"{PACKAGE}/add", "x").out.strip()

    def close(self) -> None:
        """Remove it all, read-only releases included."""
        remove(self.place)


class _Opened:
    def __init__(self, home: str, create: bool) -> None:
        self._home, self._create = home, create

    def __enter__(self) -> Store:
        self._store = Store(open_home(self._home, create=self._create))
        return self._store

    def __exit__(self, *_raised: object) -> None:
        self._store.close()


def patched(target: str, replacement: Callable[..., Any]) -> Around:
    """Run the program with one of its functions (`module.Class.name`) replaced."""

    def around(act: Callable[[], int]) -> int:
        from unittest.mock import patch

        with patch(target, replacement):
            return act()

    return around
