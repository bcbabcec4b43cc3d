"""Installing, updating and removing: one path, and every step may stop it.

    discover   ask the owner's sources what they offer; one that cannot answer stops the path, because an answer without
               it could be an older release
    resolve    choose one offer
    admit      the owner's rules decide on the effects (source, bytes, change of version); nothing of the release has
               been read, and the decision is on record before anything is
    fetch      artifact and signature, bounded
    verify     digest, trusted key, statement, expiry, history (signer, highest version)
    stage      unpack, compare with the statement, compile
    recheck    expiry and trust once more, and the whole candidate: routes and exports of every package together
    consent    an update that changes what its owner consented to asks again, and is rechecked behind the answer
    publish    move the tree into the home, then compare and flip the active revision

Whoever looks on is told of each step, and may stop the path there by raising: `rukh.machines.steps`.

A step that refuses leaves the home as it was: staging is emptied, a tree that was moved is taken back, no release and
no revision is recorded. Whoever is interrupted while publishing asks the store by the operation's id what became of
it: what was committed stays, with its files, and is reported as done.

An update keeps mount words. Installing and removing are the owner's consent themselves. Removing fetches nothing and
so needs no admission by rules.
RK-TRUST-037 … RK-TRUST-049
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rukh.contract.candidate import Candidate, build_candidate, check_unnamed
from rukh.contract.difference import Difference, difference
from rukh.contract.grammar import version_key
from rukh.contract.policy import ALLOWED, LOCAL_USER, decide
from rukh.machines.publication import COMMITTED
from rukh.machines.steps import ADMIT, ASK, CHECK, DISCOVER, FETCH, SETTLE, WAIT, Observe, unobserved
from rukh.sources.catalog import CATALOG_FILE, Offer, read_catalog
from rukh.sources.consent import NOTHING, Ask, Consent, nobody, obtain
from rukh.sources.declared import Declared, check_descriptor
from rukh.sources.directory import DirectorySource
from rukh.sources.ports import Active, HomePlace, Installed, Ledger, Published, Source
from rukh.sources.resolve import Found, Request, parse_request, resolve
from rukh.sources.staging import Stage, discard, installed_descriptor, releases_turn
from rukh.sources.verify import Verified, check_expiry, trusted, verify_delivery, verify_files
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.ids import new_id
from rukh.values.nearest import alike


@dataclass(frozen=True, slots=True)
class Change:
    """What became of the request: `action` is installed, updated, removed or unchanged.

    `version` is the active one behind it (of a removed package, the one that was); `previous` the one before an update.
    """

    action: str
    package: str
    version: str
    revision: str
    previous: str = ""
    tree: str = ""
    signer: str = ""


class Installer:
    """The installation path of one home, for one actor; `now` gives UTC milliseconds that never run backwards."""

    def __init__(
        self,
        ledger: Ledger,
        home: HomePlace,
        now: Callable[[], int],
        *,
        actor: str = LOCAL_USER,
        open_source: Callable[[str, str], Source] | None = None,
        observe: Observe = unobserved,
        ask: Ask = nobody,
    ) -> None:
        self._ledger = ledger
        self._home = home
        self._now = now
        self._actor = actor
        self._open_source = open_source or partial(DirectorySource, observe=observe)
        self._observe = observe
        self._ask = ask

    def install(
        self, text: str, *, mount: Sequence[str] = (), consent: Consent = NOTHING, operation: str = ""
    ) -> Change:
        """Install `PACKAGE` or `PACKAGE@VERSION` under the mount words; raises RukhError of any step."""
        request = parse_request(text)
        active = self._ledger.active()
        if request.package in active.profile["packages"]:
            raise RukhError(
                "RKT055", f"{request.package} is installed", place=request.package, mend="use update"
            )
        found = resolve(request, self._discover(), prereleases=consent.prereleases)
        return self._bring(active, found, list(mount), consent, operation or new_id("op"))

    def update(self, text: str, *, consent: Consent = NOTHING, operation: str = "") -> Change:
        """Update an installed package to the highest offer above it, or to `PACKAGE@VERSION`."""
        request = parse_request(text)
        active = self._ledger.active()
        current = self._current(active, request.package, "use install")
        found = resolve(request, self._discover(), prereleases=consent.prereleases)
        if not _is_news(request, found.offer.version, current["version"]):
            return _change("unchanged", request.package, current, active.revision)
        return self._bring(active, found, current["mount"], consent, operation or new_id("op"))

    def remove(self, package: str, *, operation: str = "") -> Change:
        """Take an installed package out of the active profile; its files stay until they are collected. RKP010"""
        active = self._ledger.active()
        current = self._current(active, package, "see what is: list")
        packages = {name: entry for name, entry in active.profile["packages"].items() if name != package}
        check_unnamed(active.profile, package)
        profile = {**active.profile, "packages": packages}
        self._observe(CHECK, 0, 0)
        candidate = build_candidate(profile, installed_descriptors(self._home, packages))
        published = self._ledger.publish(operation or new_id("op"), active.revision, profile, candidate, None)
        return _change("removed", package, current, _committed(published))

    def _current(self, active: Active, package: str, mend: str) -> Mapping[str, Any]:
        installed: Mapping[str, Mapping[str, Any]] = active.profile["packages"]
        if package in installed:
            return installed[package]
        near = alike(package, installed, ".")
        mend = f"did you mean {near}?" if near else mend
        raise RukhError("RKT056", f"{package} is not installed", place=package, mend=mend)

    def _discover(self) -> list[Found]:
        """All that is offered, in the order of the sources. RK-TRUST-037"""
        self._observe(DISCOVER, 0, 0)
        found = []
        for name, location in self._ledger.sources():
            source = self._open_source(name, location)
            found += [Found(source, offer) for offer in _offers(name, source)]
        return found

    def _bring(
        self, active: Active, found: Found, mount: list[str], consent: Consent, operation: str
    ) -> Change:
        """From a resolved offer to the published revision."""
        offer = found.offer
        current = active.profile["packages"].get(offer.package)
        self._observe(ADMIT, 0, 0)
        self._admit(active, found, current)
        self._observe(FETCH, 0, offer.size)
        keys = trusted(offer.package, self._ledger.trusted_keys(offer.package))
        artifact = found.source.artifact(offer)
        verified = verify_delivery(offer, artifact, found.source.signature(offer), keys, self._now())
        highest = self._check_history(verified, current, consent)
        with Stage(self._home, operation, self._observe) as stage:
            declared = self._stage(stage, artifact, verified)
            profile = _with_package(active.profile, verified, mount)
            candidate = self._recheck(profile, verified, declared)
            self._consent(active, profile, candidate, verified, consent.accept)
            revision = self._publish(
                stage, operation, active, profile, candidate, _installed(verified, highest)
            )
        release = verified.release
        action, previous = ("updated", current["version"]) if current else ("installed", "")
        return Change(
            action, release.package, release.version, revision, previous, release.tree, verified.signer
        )

    def _admit(self, active: Active, found: Found, current: Mapping[str, Any] | None) -> None:
        """The decision on the effects, recorded; raises RukhError RKT057. RK-TRUST-038"""
        offer = found.offer
        effects = {
            "source": found.source.name,
            "bytes": offer.size,
            "sha256": offer.sha256,
            "from": current["version"] if current else "",
            "to": offer.version,
        }
        admitted = decide(active.profile["rules"], "install", self._actor, offer.package) == ALLOWED
        self._ledger.record_admission(
            admitted, offer.package, offer.version, canonical(effects), subject=self._actor
        )
        if not admitted:
            raise RukhError(
                "RKT057",
                f"no rule allows {self._actor} to install {offer.package}",
                place=offer.package,
                mend='add a rule with action = "install" to the profile and apply it',
            )

    def _check_history(self, verified: Verified, current: Mapping[str, Any] | None, consent: Consent) -> str:
        """The highest version that its signer showed, this one included; raises RukhError RKT058.

        Another signer starts a count of its own, and may not go below what is installed by that. RK-TRUST-040
        """
        release = verified.release
        seen = self._ledger.highest_seen(release.package, verified.signer) or release.version
        highest = max(seen, release.version, key=version_key)
        floor = max(highest, current["version"] if current else highest, key=version_key)
        if version_key(release.version) < version_key(floor) and not consent.downgrade:
            raise RukhError(
                "RKT058",
                f"{release.version} is below {floor}, which was seen before",
                place=release.package,
                mend="allow the downgrade if it is meant",
            )
        return highest

    def _stage(self, stage: Stage, artifact: bytes, verified: Verified) -> Declared:
        """Unpack, compare with the statement, compile."""
        rows = stage.extract(artifact)
        declared = verify_files(verified.release, stage.descriptor(), rows)
        if declared.is_python:
            stage.compile(rows, verified.release.tree)
        return declared

    def _recheck(self, profile: dict[str, Any], verified: Verified, declared: Declared) -> Candidate:
        """Trust and expiry as they are now, and the candidate as a whole. RK-TRUST-043"""
        self._observe(CHECK, 0, 0)
        self._check_trust(verified)
        package = verified.release.package
        others = {name: entry for name, entry in profile["packages"].items() if name != package}
        descriptors = installed_descriptors(self._home, others)
        return build_candidate(profile, {**descriptors, package: declared.descriptor})

    def _check_trust(self, verified: Verified) -> None:
        release = verified.release
        check_expiry(release, self._now())
        if verified.signer not in {key_id for key_id, _pem in self._ledger.trusted_keys(release.package)}:
            raise RukhError(
                "RKT008",
                "its key is no longer trusted",
                place=release.package,
                mend="add the key again if it is right",
            )

    def _consent(
        self, active: Active, profile: dict[str, Any], candidate: Candidate, verified: Verified, named: str
    ) -> None:
        """Renewed consent to an update; an answer takes its time, so that trust is looked at again. RK-CONS-011"""
        package = verified.release.package
        was = active.profile["packages"].get(package)
        if was is not None:
            compiled = self._ledger.compiled(active.generation, active.projection, package)
            found = difference(package, was, profile["packages"][package], compiled, candidate)
            obtain(found, named, self._asked, self._recorded)
            self._check_trust(verified)

    def _asked(self, found: Difference) -> bool | None:
        self._observe(ASK, 0, 0)
        return self._ask(found)

    def _recorded(self, given: bool, about: str, detail: str) -> None:
        self._observe(ADMIT, 0, 0)
        self._ledger.record_consent(given, about, detail, subject=self._actor)

    def _publish(
        self,
        stage: Stage,
        operation: str,
        active: Active,
        profile: dict[str, Any],
        candidate: Candidate,
        installed: Installed,
    ) -> str:
        """Move the tree, flip, and take the tree back where nothing was committed. RK-TRUST-044 RK-TRUST-045"""
        self._observe(WAIT, 0, 0)
        with releases_turn(self._home):
            self._observe(SETTLE, 0, 0)
            fresh = stage.settle(installed.tree)
            try:
                published = self._ledger.publish(operation, active.revision, profile, candidate, installed)
            except BaseException:
                # An acknowledgement that is missing is no proof of failure: the record decides. Where not even the
                # record can be read, the files stay, because the active revision may need them.
                recorded = self._ledger.operation(operation)
                if recorded is None or recorded.state != COMMITTED:
                    self._take_back(installed.tree, fresh)
                    raise
                published = recorded
            if published.state != COMMITTED:
                self._take_back(installed.tree, fresh)
            return _committed(published)

    def _take_back(self, tree: str, fresh: bool) -> None:
        if fresh:
            discard(self._home, tree)


def installed_descriptors(
    home: HomePlace, packages: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The descriptors of a profile's `packages`, read from their trees; raises RukhError RKT063 (one was changed)."""
    return {
        name: check_descriptor(installed_descriptor(home, entry["tree"], entry["descriptor"])).descriptor
        for name, entry in packages.items()
    }


def _offers(name: str, source: Source) -> list[Offer]:
    """What a source offers; a fault of it names the source, and how to go on without it."""
    try:
        return read_catalog(source.catalog())
    except RukhError as error:
        error.place = f"source {name}: {error.place or CATALOG_FILE}"
        error.mend = error.mend or f"mend the catalog, or name another directory: source add {name} DIR"
        raise


def _is_news(request: Request, offered: str, current: str) -> bool:
    """Whether an update has anything to do; only a version asked for by name may lie below the installed one."""
    if request.version is not None:
        return offered != current
    return version_key(offered) > version_key(current)


def _change(action: str, package: str, entry: Mapping[str, Any], revision: str) -> Change:
    return Change(action, package, entry["version"], revision, tree=entry["tree"], signer=entry["signer"])


def _with_package(profile: Mapping[str, Any], verified: Verified, mount: list[str]) -> dict[str, Any]:
    release = verified.release
    entry = {
        "version": release.version,
        "tree": release.tree,
        "descriptor": release.descriptor,
        "signer": verified.signer,
        "mount": mount,
    }
    return {**profile, "packages": {**profile["packages"], release.package: entry}}


def _installed(verified: Verified, highest: str) -> Installed:
    release = verified.release
    return Installed(
        package=release.package,
        version=release.version,
        signer=verified.signer,
        tree=release.tree,
        artifact=release.artifact,
        descriptor=release.descriptor,
        highest=highest,
    )


def _committed(published: Published) -> str:
    """The new revision; raises RukhError RKO002 where another one won."""
    if published.state != COMMITTED:
        raise RukhError(
            "RKO002",
            f"{published.revision} was published meanwhile",
            place=published.revision,
            mend="try again",
        )
    return published.revision
