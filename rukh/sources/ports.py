"""The ports of an installation: what it needs from the store, from the owner's sources, and from the home.

Production hands in the store, directories and the clock; tests hand in records that count. A port raises RukhError,
never another exception that a person should see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rukh.contract.candidate import Candidate
from rukh.contract.difference import Compiled
from rukh.sources.catalog import Offer


class Active(Protocol):
    """The active revision as one snapshot; `profile` is the whole `rukh.profile/1`, packages included."""

    @property
    def revision(self) -> str: ...

    @property
    def profile(self) -> Mapping[str, Any]: ...

    @property
    def generation(self) -> str: ...

    @property
    def projection(self) -> str: ...


class Published(Protocol):
    """The state of a publication: `committed` or `conflicted`, and the revision that is active behind it."""

    @property
    def state(self) -> str: ...

    @property
    def revision(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Installed:
    """The release that a publication brings in; digests in hexadecimal, `highest` the highest version seen with it."""

    package: str
    version: str
    signer: str
    tree: str
    artifact: str
    descriptor: str
    highest: str


class Ledger(Protocol):
    """The store, as an installation sees it."""

    def active(self) -> Active:
        """The active revision; a home always has one."""
        ...

    def sources(self) -> Sequence[tuple[str, str]]:
        """(name, location) of the owner's sources, in the order in which they are asked."""
        ...

    def trusted_keys(self, package: str) -> Sequence[tuple[str, str]]:
        """(key id, SPKI PEM) of the keys that the owner trusts for `package` and has not revoked."""
        ...

    def highest_seen(self, package: str, signer: str) -> str | None:
        """The highest version of `package` by `signer` that was ever published here."""
        ...

    def record_admission(
        self, admitted: bool, package: str, version: str, detail: str, *, subject: str
    ) -> None:
        """One audit row about the decision on an installation's effects, durable when this returns."""
        ...

    def compiled(self, generation: str, projection: str, package: str) -> Compiled:
        """What a revision has compiled of `package`, and what its endpoints export."""
        ...

    def record_consent(self, given: bool, about: str, detail: str, *, subject: str) -> None:
        """One audit row about the owner's consent to an update, durable when this returns."""
        ...

    def publish(
        self,
        operation: str,
        expected: str,
        profile: dict[str, Any],
        candidate: Candidate,
        installed: Installed | None,
    ) -> Published:
        """Publish if `expected` is still active, and record `installed` (release and highest version) in the same
        transaction: a conflict or failure leaves neither."""
        ...

    def operation(self, operation: str) -> Published | None:
        """The recorded state of an operation; None where it never began."""
        ...


class Catalog(Protocol):
    """Where releases are discovered."""

    @property
    def name(self) -> str: ...

    def catalog(self) -> bytes:
        """The catalog document; raises RKT049 where it cannot be had."""
        ...


class Artifacts(Protocol):
    """Where the bytes of a release are fetched; reading is bounded."""

    def artifact(self, offer: Offer) -> bytes:
        """The artifact's bytes; raises RKT049 or RKT050."""
        ...

    def signature(self, offer: Offer) -> bytes:
        """The signature file's bytes; raises RKT004 where there is none, or RKT050."""
        ...


class Source(Catalog, Artifacts, Protocol):
    """Both at one place, as a static directory is."""


class HomePlace(Protocol):
    """The home: `at("staging", …)` is an absolute path below it."""

    def at(self, *parts: str) -> str: ...
