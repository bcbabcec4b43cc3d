"""Restoring: a release whose files are missing or were changed gets the very bytes back that were installed.

No decision is made here. The artifact is the one whose digest was verified when the release was installed, wherever a
source offers it; what comes out of it must have the digest that the release is bound by. The tree that lies there is
moved aside first, into the staging directory of the operation, and goes with it: a death in between leaves a release
that is missing, and restored by the next try. RK-DOC-012 RK-DOC-013
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rukh.sources.catalog import Offer, read_catalog
from rukh.sources.declared import check_descriptor
from rukh.sources.directory import DirectorySource
from rukh.sources.ports import HomePlace, Source
from rukh.sources.release import tree_digest
from rukh.sources.staging import Stage, releases_turn
from rukh.sources.tree import list_tree, rows_of
from rukh.sources.ustar import entries
from rukh.values.errors import RukhError
from rukh.values.ids import new_id, sha256_hex


@dataclass(frozen=True, slots=True)
class Wanted:
    """An installed release: digests in hexadecimal, of the artifact it came from ("" for unknown) and of its tree."""

    package: str
    version: str
    artifact: str
    tree: str


def restore(
    home: HomePlace,
    wanted: Wanted,
    sources: Iterable[tuple[str, str]],
    open_source: Callable[[str, str], Source] = DirectorySource,
) -> None:
    """Put the release back from the first source that offers its bytes.

    Raises RukhError RKT052 (no source has them) and as staging does; what lay there is then as it was, or missing.
    """
    artifact = _artifact(wanted, [open_source(name, location) for name, location in sources])
    with Stage(home, new_id("op")) as stage:
        rows = stage.extract(artifact)
        if tree_digest(rows) != wanted.tree:
            raise _nowhere(wanted)
        if check_descriptor(stage.descriptor()).is_python:
            stage.compile(rows, wanted.tree)
        with releases_turn(home):
            stage.set_aside(wanted.tree)
            stage.settle(wanted.tree)


def first_difference(
    home: HomePlace,
    wanted: Wanted,
    sources: Iterable[tuple[str, str]],
    open_source: Callable[[str, str], Source] = DirectorySource,
) -> str:
    """The first path at which the release on the disk is not what was installed; "" where no source can tell."""
    root = home.at("releases", wanted.tree)
    try:
        artifact = _artifact(wanted, [open_source(name, location) for name, location in sources])
        right = {entry.path: (entry.mode, sha256_hex(b"".join(entry.chunks))) for entry in entries(artifact)}
        listing = list_tree(root)
        there = {path: (mode, digest) for path, mode, _size, digest in rows_of(root, listing.files)}
    except RukhError:
        return ""
    there |= {f"{path}/": ("", "") for path in listing.empty}
    differ = [path for path in right.keys() | there.keys() if right.get(path) != there.get(path)]
    return min(differ, key=str.encode, default="")


def _artifact(wanted: Wanted, sources: list[Source]) -> bytes:
    """The bytes that were installed: a source that cannot be read, or has others, is passed over."""
    for source in sources:
        try:
            for offer in read_catalog(source.catalog()):
                if _is_it(offer, wanted):
                    data = source.artifact(offer)
                    if sha256_hex(data) == wanted.artifact:
                        return data
        except RukhError:
            continue
    raise _nowhere(wanted)


def _is_it(offer: Offer, wanted: Wanted) -> bool:
    return (offer.package, offer.version, offer.sha256) == (wanted.package, wanted.version, wanted.artifact)


def _nowhere(wanted: Wanted) -> RukhError:
    return RukhError(
        "RKT052",
        f"no source offers the bytes of {wanted.package} {wanted.version} that were installed",
        place=os.path.join("releases", wanted.tree),
        mend="put them back into a source, or update to another version",
    )
