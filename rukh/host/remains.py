"""What lies in a home and belongs to nobody who lives: found by looking alone. Who removes it stands in `upkeep`.

Each list is made so that nothing of a living process comes onto it: a directory is tried by its lock, names are listed
before the records are asked, and what an installation has moved in without a record yet is in the hands of whoever
holds its staging directory. RK-PUB-015 RK-PUB-029 RK-DOC-004

What nobody of this program would have put there is nobody's remains: it is named, and stays. So does every release of
a home whose records tell of no installation, because its records are then not the ones it was filled under. RK-DOC-015
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable
from typing import Any

from rukh.machines.publication import COLLECTABLE
from rukh.store.collection import standing
from rukh.store.holders import is_alive
from rukh.store.home import Home

# A statement and its values give rows.
Rows = Callable[..., list[tuple[Any, ...]]]
_TREE = re.compile("[0-9a-f]{64}")
_INVOCATION = re.compile("inv_[0-9A-Za-z_]+", re.ASCII)
# directory: what a name in it begins with that this program gave, besides the trees and what the dead leave
_OWN = {
    "releases": (),
    "cache": ("node-version",),
    "run": ("inv_",),
    "locks": ("hold_", "gate", "lock", "releases"),
}
PARTS = tuple(_OWN)
_NOTHING = re.compile("(?!)")
_INSTALLED = (
    "SELECT 1 FROM release LIMIT 1",
    "SELECT 1 FROM audit WHERE event = 'install.admitted' LIMIT 1",
)


def stale_staging(home: Home) -> list[str]:
    """Staging directories whose lock nobody holds."""
    return [name for name in _staging(home) if not _is_held(home.at("staging", name))]


def stale_directories(home: Home, rows: Rows) -> list[str]:
    """Working directories of calls that are over and whose host is dead: a living one may keep them for later calls.

    A call has its record before it has its directory.
    """
    names = [name for name in home.names("run") if name.startswith("inv_")]
    return [name for name in names if not (_INVOCATION.fullmatch(name) and _is_in_use(home, rows, name))]


def stray_trees(home: Home, rows: Rows) -> list[str]:
    """Digests with files in the home that nothing ties, and that no record holds for a collection to come."""
    names = trees(home, rows)
    if any(_is_held(home.at("staging", name)) for name in _staging(home)):
        return []
    recorded = {tree for (tree,) in rows("SELECT tree FROM release WHERE collected_ms IS NULL")}
    return [name for name in names if name not in recorded and standing(rows, name) == COLLECTABLE]


def trees(home: Home, rows: Rows) -> list[str]:
    """Every digest that has files in the home, and may lose them: none where nothing was ever installed."""
    found = {name for part in ("releases", "cache") for name in home.names(part) if _TREE.fullmatch(name)}
    return sorted(found) if _installed(rows) else []


def oddities(home: Home, rows: Rows, part: str) -> list[str]:
    """What lies in a directory of the home, and was not put there by it."""
    known = _TREE if part in ("releases", "cache") and _installed(rows) else _NOTHING
    names = home.names(part)
    return [name for name in names if not name.startswith(_OWN[part]) and not known.fullmatch(name)]


def spelled(name: str) -> str:
    """A file's name as text; what is no UTF-8 in it is written with escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _installed(rows: Rows) -> bool:
    return any(rows(sql) for sql in _INSTALLED)


def _staging(home: Home) -> list[str]:
    return home.names("staging")


def _is_held(path: str) -> bool:
    """Whether somebody holds the directory's lock; one that went meanwhile, or is none, is nobody's."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _is_in_use(home: Home, rows: Rows, invocation: str) -> bool:
    found = rows(
        "SELECT outcome IS NULL OR EXISTS (SELECT 1 FROM reference WHERE invocation = id), holder "
        "FROM invocation WHERE id = ?",
        (invocation,),
    )
    return any(goes_on or (holder and is_alive(home, holder)) for goes_on, holder in found)
