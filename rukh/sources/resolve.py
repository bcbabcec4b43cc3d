"""Resolution: which of the offered releases a request means. Pure.

1. A request is `PACKAGE` or `PACKAGE@VERSION`.
2. With a version, exactly that one is meant, pre-release or not. Without, the highest by SemVer precedence; a
   pre-release only when the caller asks for pre-releases.
3. Sources that offer one version must offer the same bytes; then the first source, in the owner's order, is used.
   RK-TRUST-026, RK-TRUST-027
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rukh.contract.grammar import version_key
from rukh.sources.catalog import Offer
from rukh.sources.forms import is_package, is_version
from rukh.sources.ports import Source
from rukh.values.errors import RukhError
from rukh.values.nearest import alike


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for; `version` is None for the highest."""

    package: str
    version: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """An offer, and the source that made it."""

    source: Source
    offer: Offer


def parse_request(text: str) -> Request:
    """Read `PACKAGE` or `PACKAGE@VERSION`; raises RukhError RKT054."""
    package, separator, version = text.partition("@")
    if not is_package(package) or (separator and not is_version(version)):
        raise RukhError(
            "RKT054", f"{text!r} names no package", place=text, mend="write PACKAGE or PACKAGE@1.2.0"
        )
    return Request(package, version if separator else None)


def resolve(request: Request, found: Sequence[Found], *, prereleases: bool) -> Found:
    """The release that `request` means among all that is offered.

    Raises RukhError RKT051 (no offer), RKT052 (not this version), RKT053 (sources disagree).
    """
    offered = {item.offer.package for item in found}
    if request.package not in offered:
        near = alike(request.package, offered, ".")
        raise RukhError(
            "RKT051",
            f"no source offers {request.package}",
            place=request.package,
            mend=f"did you mean {near}?" if near else "add a source that has it",
        )
    found = [item for item in found if item.offer.package == request.package]
    if request.version is not None:
        wanted = [item for item in found if item.offer.version == request.version]
    else:
        wanted = [item for item in found if prereleases or "-" not in item.offer.version]
    if not wanted:
        raise _no_version(request, found)
    highest = max(version_key(item.offer.version) for item in wanted)
    return _agreed([item for item in wanted if version_key(item.offer.version) == highest])


def _agreed(same: Sequence[Found]) -> Found:
    first = same[0]
    for other in same[1:]:
        if other.offer.sha256 != first.offer.sha256:
            raise RukhError(
                "RKT053",
                f"{first.source.name} and {other.source.name} offer different bytes for {first.offer.version}",
                place=first.offer.package,
                mend="ask the publisher which is right, and remove the other source",
            )
    return first


def _no_version(request: Request, found: Sequence[Found]) -> RukhError:
    offered = ", ".join(sorted({item.offer.version for item in found}, key=version_key))
    wanted = request.version or "a release that is no pre-release"
    return RukhError(
        "RKT052", f"{wanted} is not offered; {offered} is", place=request.package, mend="ask for one of these"
    )
