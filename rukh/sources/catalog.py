"""The static catalog `rukh.catalog/1`: which releases lie beside it.

A catalog is a claim: it says where artifacts and signatures are and how large the artifacts are, and nothing in it is
trusted. It lists a version of a package once, and names files by plain names, so that it cannot point out of its place.
RK-TRUST-011, RK-TRUST-012
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from rukh.contract.grammar import version_key
from rukh.sources import dsse
from rukh.sources.forms import (
    is_count,
    is_digest,
    is_package,
    is_plain_name,
    is_text,
    is_version,
    members,
    read_document,
    read_file,
)
from rukh.sources.pack import SIGNATURE_SUFFIX
from rukh.sources.release import parse
from rukh.sources.writing import replace_file
from rukh.values.canonical import canonical_bytes
from rukh.values.errors import RukhError
from rukh.values.ids import sha256_hex
from rukh.values.registry import LIMIT_ARTIFACT_BYTES, LIMIT_CATALOG_BYTES, LIMIT_SIGNATURE_BYTES

FORMAT = "rukh.catalog/1"
CATALOG_FILE = "catalog.json"
ARTIFACT_SUFFIX = ".tar.gz"
_FORM = "RKT046"


@dataclass(frozen=True, slots=True)
class Offer:
    """One listed release, not yet believed; `size` is bytes, `sha256` that of the artifact."""

    package: str
    version: str
    artifact: str
    size: int
    sha256: str
    signature: str


@dataclass(frozen=True, slots=True)
class Catalogued:
    """What `build_catalog` wrote: the offers, and the artifacts that no signature lies beside."""

    offers: tuple[Offer, ...]
    unsigned: tuple[str, ...]


def read_catalog(data: bytes) -> list[Offer]:
    """The offers of a catalog; raises RukhError RKT046 (form), RKT047 (a version twice), RKT048 (file names)."""
    document = members(
        read_document(data, LIMIT_CATALOG_BYTES, _FORM, "the catalog"),
        {"format": lambda value: value == FORMAT, "releases": lambda value: isinstance(value, list)},
        _FORM,
        "",
    )
    offers = [_offer(item, f"/releases/{number}") for number, item in enumerate(document["releases"])]
    _check_once(offers)
    return offers


def build_catalog(directory: str) -> Catalogued:
    """Write `catalog.json` from the artifacts in `directory` that have a signature beside them.

    Only names, digests and the signed statements are read; whose signature it is is the owner's question.
    Raises RukhError RKT047 (one version twice), RKT048 (file name), RKT013 (signature of another file), RKT049, and as
    `dsse.parse` and `release.parse`.
    """
    signed, unsigned = _artifacts(directory)
    offers = sorted(
        (_offered(directory, name) for name in signed),
        key=lambda offer: (offer.package, version_key(offer.version)),
    )
    _check_once(offers)
    releases = [{name: getattr(offer, name) for name in Offer.__slots__} for offer in offers]
    data = canonical_bytes({"format": FORMAT, "releases": releases})
    read_catalog(data)
    replace_file(os.path.join(directory, CATALOG_FILE), data)
    return Catalogued(tuple(offers), tuple(unsigned))


def _offer(item: Any, place: str) -> Offer:
    checks = {
        "package": is_package,
        "version": is_version,
        "artifact": is_text,
        "size": is_count,
        "sha256": is_digest,
    }
    entry = members(item, {**checks, "signature": is_text}, _FORM, place)
    for name in ("artifact", "signature"):
        if not is_plain_name(entry[name]):
            raise RukhError(
                "RKT048",
                f"{entry[name]!r} is not a plain file name",
                place=f"{place}/{name}",
                mend="name a file beside it",
            )
    return Offer(**entry)


def _check_once(offers: list[Offer]) -> None:
    seen: dict[tuple[str, str], Offer] = {}
    for offer in offers:
        first = seen.setdefault((offer.package, offer.version), offer)
        if first is not offer:
            raise RukhError(
                "RKT047",
                f"{offer.package} {offer.version} is in {first.artifact} and in {offer.artifact}",
                place=offer.artifact,
                mend="give each release its own version",
            )


def _artifacts(directory: str) -> tuple[list[str], list[str]]:
    """Names of the artifacts with and without a signature beside them."""
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        raise RukhError(
            "RKT049", f"it cannot be read: {error.strerror}", place=directory, mend="name a directory"
        ) from error
    artifacts = [name for name in names if name.endswith(ARTIFACT_SUFFIX)]
    signed = [name for name in artifacts if name + SIGNATURE_SUFFIX in names]
    return signed, [name for name in artifacts if name not in signed]


def _offered(directory: str, name: str) -> Offer:
    artifact = read_file(os.path.join(directory, name), LIMIT_ARTIFACT_BYTES, "RKT049")
    signature = read_file(os.path.join(directory, name + SIGNATURE_SUFFIX), LIMIT_SIGNATURE_BYTES, "RKT049")
    release = parse(dsse.parse(signature).payload)
    if (release.artifact_size, release.artifact) != (len(artifact), sha256_hex(artifact)):
        raise RukhError(
            "RKT013",
            "the signature beside it is for another file",
            place=name,
            mend="sign the artifact again",
        )
    return Offer(
        release.package, release.version, name, len(artifact), release.artifact, name + SIGNATURE_SUFFIX
    )
