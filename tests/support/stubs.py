"""Small stand-ins around the production path: a report without a process, a program with one thing changed in it."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rukh.contract.candidate import build_candidate
from rukh.contract.profile import read_owner_profile
from rukh.host.ledger import StoreLedger, apply_owner_part
from rukh.sources.install import installed_descriptors
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.ids import new_id
from tests.support.homes import OWNER_FILE, InstalledHome


def succeeded(*, survivors: int = 0) -> Any:
    """What `run` reports of a call that succeeded; `survivors` of its processes could not be ended."""
    return SimpleNamespace(
        outcome="succeeded",
        reason=None,
        command_result={"kind": "text", "text": "done"},
        exit_status=0,
        killed=0,
        survivors=survivors,
        wrote_stdout=False,
        diagnostics={"stdout": (b"", 0), "stderr": (b"", 0)},
    )


def program(path: Path, change: str) -> str:
    """The reference command line as an executable of its own, in which the statements of `change` ran first."""
    path.write_text(f"#!{sys.executable}\n{change}\nfrom rukh.reference import main\n\nmain()\n")
    path.chmod(0o700)
    return str(path)


def owner_text(home: InstalledHome, **replaced: str) -> str:
    """The owner's file of `home` with one deadline, actor or namespace replaced."""
    text = OWNER_FILE.format(package=home.package, calls=1_000_000, allowed="*", more="")
    present = {"deadline": "30s", "actor": "agent:desk", "namespace": "acme.desk"}
    for name, value in replaced.items():
        line = f'{name} = "{present[name]}"'
        assert text.count(line) == 1
        text = text.replace(line, f'{name} = "{value}"')
    return text


def apply(home: InstalledHome, text: str) -> None:
    """Publish an owner's file, issuing nothing."""
    store = Store(open_home(home.path, create=False))
    try:
        apply_owner_part(StoreLedger(store), store.home, read_owner_profile(text))
    finally:
        store.close()


def publish_unjudged(home: InstalledHome, text: str) -> None:
    """Publish an owner's file as `apply` does, without asking whether it fits what was published before it."""
    store = Store(open_home(home.path, create=False))
    try:
        ledger = StoreLedger(store)
        active = ledger.active()
        profile = {**read_owner_profile(text), "packages": active.profile["packages"]}
        candidate = build_candidate(profile, installed_descriptors(store.home, profile["packages"]))
        published = ledger.publish(new_id("op"), active.revision, profile, candidate, None)
        assert published.state == "committed"
    finally:
        store.close()


@contextmanager
def held(home: InstalledHome, name: str) -> Iterator[None]:
    """Another writer has one of the two locks of the turnstile, `gate` or `lock`."""
    descriptor = os.open(os.path.join(home.path, "locks", name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def rows(home: InstalledHome, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """What the database of `home` answers to one query."""
    store = Store(open_home(home.path, create=False))
    try:
        return store.database.rows(sql, values)
    finally:
        store.close()
