"""Verification: from fetched bytes to a release that a trusted publisher stands for. Pure.

The order, each step on what the one before it has shown:

1. size and digest of the artifact are those of the offer;
2. a key that the owner trusts *for this package* made the signature;
3. the signed statement is for this package, this version and these bytes, and has not expired;
4. only then is the artifact opened: descriptor and tree are those of the statement, and the descriptor gives itself the
   signed name and version.

The catalog is believed in nothing: step 1 only tells a damaged download from a forgery.
RK-TRUST-013, RK-TRUST-028 … RK-TRUST-031
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rukh.sources import dsse
from rukh.sources.catalog import Offer
from rukh.sources.declared import Declared, check_descriptor
from rukh.sources.keys import PublicKey, parse_public
from rukh.sources.release import Release, Row, parse, tree_digest
from rukh.values.errors import RukhError
from rukh.values.ids import sha256_hex

_AGAIN = "get the release again from its publisher"


@dataclass(frozen=True, slots=True)
class Verified:
    """A statement, and the id of the trusted key that signed it."""

    release: Release
    signer: str


def trusted(package: str, keys: Sequence[tuple[str, str]]) -> list[PublicKey]:
    """The owner's keys for `package`, from (key id, PEM); raises RukhError RKT008 where there is none."""
    if not keys:
        raise RukhError(
            "RKT008",
            f"no key is trusted for {package}",
            place=package,
            mend="add the publisher's key with trust add",
        )
    return [parse_public(pem.encode(), place=key_id) for key_id, pem in keys]


def verify_delivery(
    offer: Offer, artifact: bytes, signature: bytes, keys: Sequence[PublicKey], now: int
) -> Verified:
    """Steps 1 to 3; `now` is UTC milliseconds. Raises RukhError RKT015, RKT004 … RKT014."""
    check_artifact(offer, artifact)
    envelope = dsse.parse(signature)
    signer = dsse.signer_of(envelope, keys)
    release = parse(envelope.payload)
    _check_statement(release, offer)
    check_expiry(release, now)
    return Verified(release, signer.key_id)


def check_artifact(offer: Offer, artifact: bytes) -> None:
    """Raises RukhError RKT015 where the bytes are not those that the catalog lists."""
    if len(artifact) != offer.size or sha256_hex(artifact) != offer.sha256:
        raise RukhError("RKT015", "it was changed or damaged on its way", place=offer.artifact, mend=_AGAIN)


def check_expiry(release: Release, now: int) -> None:
    """Raises RukhError RKT014 from the millisecond of expiry on."""
    if release.expires is not None and release.expires <= now:
        raise RukhError(
            "RKT014",
            f"the signature of {release.version} has expired",
            place=release.package,
            mend="ask for a renewed signature",
        )


def verify_files(release: Release, descriptor: bytes, rows: Sequence[Row]) -> Declared:
    """Step 4; raises RukhError RKT016, RKT017, RKT018, RKT043, RKT044, RKT061, RKT062."""
    if sha256_hex(descriptor) != release.descriptor:
        raise RukhError("RKT016", "it is not the signed descriptor", place=release.package, mend=_AGAIN)
    if tree_digest(rows) != release.tree:
        raise RukhError("RKT017", "they are not the signed files", place=release.package, mend=_AGAIN)
    declared = check_descriptor(descriptor)
    if (declared.package, declared.version) != (release.package, release.version):
        raise RukhError(
            "RKT018", f"it is {declared.package} {declared.version}", place=release.package, mend=_AGAIN
        )
    declared.check_programs(rows)
    declared.check_runtime()
    return declared


def _check_statement(release: Release, offer: Offer) -> None:
    """What was signed is what was asked for. RK-TRUST-029"""
    if release.package != offer.package:
        raise RukhError("RKT011", f"it is for {release.package}", place=offer.package, mend=_AGAIN)
    if release.version != offer.version:
        raise RukhError("RKT012", f"it is for version {release.version}", place=offer.version, mend=_AGAIN)
    if (release.artifact_size, release.artifact) != (offer.size, offer.sha256):
        raise RukhError("RKT013", "it is for other bytes", place=offer.artifact, mend=_AGAIN)
