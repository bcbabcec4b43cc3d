"""The store as installation and profile changes see it: candidates become stored contents, a fresh home its profile.

Not on the path of a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rukh.contract.candidate import Candidate, build_candidate, check_namespaces_kept
from rukh.contract.difference import Standing
from rukh.contract.policy import LOCAL_USER
from rukh.contract.profile import DEFAULT_PROFILE
from rukh.machines.publication import COMMITTED, REFUSED
from rukh.machines.steps import CHECK, STAGE, Observe, unobserved
from rukh.sources.install import installed_descriptors
from rukh.sources.ports import Installed
from rukh.store.home import Home
from rukh.store.profiles import NO_REVISION, Active, Contents, Staged
from rukh.store.publications import Published
from rukh.store.store import Store
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.ids import new_id


class StoreLedger:
    """The ports of `sources` over a store; every call is durable when it returns.

    `observe` is told of the steps of each publication and may stop it before its commit. RK-PUB-040
    """

    def __init__(self, store: Store, observe: Observe = unobserved) -> None:
        self._store = store
        self._observe = observe

    def active(self) -> Active:
        """The active revision; a home without one gets the default profile first. RK-PUB-007"""
        active = self._store.profiles.active()
        if active is not None:
            return active
        self.publish(new_id("op"), NO_REVISION, DEFAULT_PROFILE, build_candidate(DEFAULT_PROFILE, {}), None)
        first = self._store.profiles.active()
        if first is None:
            raise RukhError("RKS006", "the first profile was not published", mend="look at the home")
        return first

    def namespaces(self) -> dict[str, str]:
        """The namespace of every endpoint that was ever published."""
        return self._store.profiles.namespaces()

    def sources(self) -> Sequence[tuple[str, str]]:
        """(name, location) of the owner's sources."""
        return self._store.trust.sources()

    def trusted_keys(self, package: str) -> Sequence[tuple[str, str]]:
        """(key id, SPKI PEM) of the keys trusted for `package`."""
        return self._store.trust.keys(package)

    def highest_seen(self, package: str, signer: str) -> str | None:
        """The highest version of `package` that `signer` published here."""
        return self._store.trust.highest_seen(package, signer)

    def record_admission(
        self, admitted: bool, package: str, version: str, detail: str, *, subject: str
    ) -> None:
        """One audit row about the decision on an installation's effects."""
        self._store.trust.record_admission(admitted, package, version, detail, subject=subject)

    def compiled(self, generation: str, projection: str, package: str) -> Standing:
        """What a revision has compiled of `package`: commands and exports as they are stored."""
        profiles = self._store.profiles
        return Standing(profiles.commands(generation, package), profiles.projected(projection))

    def record_consent(self, given: bool, about: str, detail: str, *, subject: str) -> None:
        """One audit row about the owner's consent to an update."""
        self._store.trust.record_consent(given, about, detail, subject=subject)

    def publish(
        self,
        operation: str,
        expected: str,
        profile: dict[str, Any],
        candidate: Candidate,
        installed: Installed | None,
    ) -> Published:
        """Publish a candidate, and record the release that it brings in, in one transaction.

        Raises RKO005 where what it would bind was barred meanwhile.
        """
        self._observe(STAGE, 0, 0)
        published = self._store.publications.publish(
            operation,
            expected,
            profile,
            contents_of(candidate),
            subject=LOCAL_USER,
            surface="cli",
            staged=_staged(installed),
            observe=self._observe,
        )
        if published.state == REFUSED:
            raise RukhError(
                "RKO005", published.detail, place=operation, mend="install a release signed by another key"
            )
        return published

    def operation(self, operation: str) -> Published | None:
        """The recorded state of an operation."""
        return self._store.publications.operation(operation)


def apply_owner_part(
    ledger: StoreLedger, home: Home, owner: dict[str, Any], observe: Observe = unobserved
) -> Published:
    """Publish the owner's part together with the packages that are installed; raises RKP… or RKO002.

    Packages never come from the owner's file: they are what install, update and remove made of them. What is active
    already is not published again: every tool would lose its name for nothing. RK-ADM-019
    """
    active = ledger.active()
    packages = active.profile["packages"]
    profile = {**owner, "packages": packages}
    check_namespaces_kept(ledger.namespaces(), profile)
    observe(CHECK, 0, 0)
    candidate = build_candidate(profile, installed_descriptors(home, packages))
    if _is_active(active, profile, contents_of(candidate)):
        return Published(COMMITTED, active.revision)
    return committed(ledger.publish(new_id("op"), active.revision, profile, candidate, None))


def _is_active(active: Active, profile: dict[str, Any], contents: Contents) -> bool:
    """Whether the revision binds just that; another version of this program may compile the same profile otherwise."""
    compiled = contents.generation, contents.projection
    return compiled == (active.generation, active.projection) and canonical(profile) == canonical(
        active.profile
    )


def committed(published: Published) -> Published:
    """The publication where it is the active one; raises RKO002 where another one won."""
    if published.state != COMMITTED:
        raise RukhError(
            "RKO002",
            f"{published.revision} was published meanwhile",
            place=published.revision,
            mend="try again",
        )
    return published


def contents_of(candidate: Candidate) -> Contents:
    """A compiled candidate as the store keeps it."""
    return Contents(
        candidate.generation,
        [(record["identity"], record) for record in candidate.commands],
        [(route.path, route.kind, route.identity, route.summary) for route in candidate.routes],
        candidate.exports,
        candidate.tails,
    )


def _staged(installed: Installed | None) -> Staged | None:
    if installed is None:
        return None
    return Staged(
        installed.package,
        installed.version,
        installed.signer,
        installed.tree,
        installed.artifact,
        installed.descriptor,
        installed.highest,
    )
