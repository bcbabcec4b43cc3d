"""A directory as a source: `catalog.json`, artifacts and signatures beside each other.

Every file is read as `forms.read_file` does: regular, no link followed, bounded. Plain names keep the reader inside.
RK-TRUST-012, RK-TRUST-025
"""

from __future__ import annotations

import os

from rukh.contract.grammar import NAME
from rukh.machines.steps import Observe, unobserved
from rukh.sources.catalog import CATALOG_FILE, Offer
from rukh.sources.forms import read_file
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_ARTIFACT_BYTES, LIMIT_CATALOG_BYTES, LIMIT_SIGNATURE_BYTES


class DirectorySource:
    """The source `name` in the directory `location`; `observe` is told of the bytes of artifacts."""

    __slots__ = ("_observe", "location", "name")

    def __init__(self, name: str, location: str, observe: Observe = unobserved) -> None:
        self.name = name
        self.location = location
        self._observe = observe

    def catalog(self) -> bytes:
        """The bytes of `catalog.json`; raises RukhError RKT049 or RKT050."""
        return read_file(os.path.join(self.location, CATALOG_FILE), LIMIT_CATALOG_BYTES, "RKT049")

    def artifact(self, offer: Offer) -> bytes:
        """The bytes of the artifact; raises RukhError RKT049 or RKT050."""
        path = os.path.join(self.location, offer.artifact)
        return read_file(path, LIMIT_ARTIFACT_BYTES, "RKT049", self._observe)

    def signature(self, offer: Offer) -> bytes:
        """The bytes of the signature; raises RukhError RKT004 where there is none, or RKT050."""
        return read_file(os.path.join(self.location, offer.signature), LIMIT_SIGNATURE_BYTES, "RKT004")


def check_source(name: str, location: str) -> tuple[str, str]:
    """`name` and the absolute `location` of a source to add; raises RukhError RKT065."""
    if not NAME.matches(name):
        raise RukhError("RKT065", f"{name!r} is no name of a source", place=name, mend=NAME.says)
    path = os.path.abspath(location)
    if not os.path.isdir(path):
        raise RukhError(
            "RKT065", "there is no such directory", place=path, mend="name the directory of a catalog"
        )
    return name, path
