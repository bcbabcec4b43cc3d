"""The store as an installation sees it, in memory, and sources that say what was read of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rukh.contract.candidate import Candidate
from rukh.contract.difference import Compiled, Standing
from rukh.contract.profile import DEFAULT_PROFILE
from rukh.sources.catalog import Offer
from rukh.sources.directory import DirectorySource
from rukh.sources.ports import Installed
from rukh.values.errors import RukhError


@dataclass(frozen=True)
class MemoryActive:
    revision: str
    profile: dict[str, Any]
    generation: str = ""
    projection: str = ""


@dataclass(frozen=True)
class MemoryPublished:
    state: str
    revision: str


def nothing() -> None:
    """What happens at a point of a test where nothing does."""


@dataclass
class MemoryLedger:
    """A ledger that keeps everything; `before_publish` and `behind_publish` run around the flip and may raise."""

    profile: dict[str, Any] = field(default_factory=lambda: json.loads(json.dumps(DEFAULT_PROFILE)))
    number: int = 1
    named_sources: list[tuple[str, str]] = field(default_factory=list)
    keys: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    seen: dict[tuple[str, str], str] = field(default_factory=dict)
    releases: list[Installed] = field(default_factory=list)
    admissions: list[tuple[bool, str, str, dict[str, Any], str]] = field(default_factory=list)
    consents: list[tuple[bool, str, dict[str, Any], str]] = field(default_factory=list)
    standing: Compiled = field(default_factory=lambda: Standing([], {}))
    operations: dict[str, MemoryPublished] = field(default_factory=dict)
    before_publish: Callable[[], None] = nothing
    behind_publish: Callable[[], None] = nothing

    @property
    def revision(self) -> str:
        return f"r{self.number}"

    @property
    def packages(self) -> dict[str, Any]:
        found: dict[str, Any] = self.profile["packages"]
        return found

    def trust(self, package: str, key_id: str, pem: str) -> None:
        self.keys.setdefault(package, []).append((key_id, pem))

    def active(self) -> MemoryActive:
        return MemoryActive(self.revision, self.profile)

    def sources(self) -> list[tuple[str, str]]:
        return self.named_sources

    def trusted_keys(self, package: str) -> list[tuple[str, str]]:
        return self.keys.get(package, [])

    def highest_seen(self, package: str, signer: str) -> str | None:
        return self.seen.get((package, signer))

    def record_admission(
        self, admitted: bool, package: str, version: str, detail: str, *, subject: str
    ) -> None:
        self.admissions.append((admitted, package, version, json.loads(detail), subject))

    def compiled(self, generation: str, projection: str, package: str) -> Compiled:
        return self.standing

    def record_consent(self, given: bool, about: str, detail: str, *, subject: str) -> None:
        self.consents.append((given, about, json.loads(detail), subject))

    def publish(
        self,
        operation: str,
        expected: str,
        profile: dict[str, Any],
        candidate: Candidate,
        installed: Installed | None,
    ) -> MemoryPublished:
        self.before_publish()
        if expected != self.revision:
            done = MemoryPublished("conflicted", self.revision)
        else:
            self.number += 1
            self.profile = profile
            self.standing = candidate
            if installed is not None:
                self.releases.append(installed)
                self.seen[installed.package, installed.signer] = installed.highest
            done = MemoryPublished("committed", self.revision)
        self.operations[operation] = done
        self.behind_publish()
        return done

    def operation(self, operation: str) -> MemoryPublished | None:
        return self.operations.get(operation)


@dataclass
class CountingSource:
    """A directory source that notes each read, and may be told what to do at one."""

    name: str
    location: str
    reads: list[str] = field(default_factory=list)
    at_read: Callable[[str], None] = lambda what: None

    def _note(self, what: str) -> DirectorySource:
        self.reads.append(what)
        self.at_read(what)
        return DirectorySource(self.name, self.location)

    def catalog(self) -> bytes:
        return self._note("catalog").catalog()

    def artifact(self, offer: Offer) -> bytes:
        return self._note("artifact").artifact(offer)

    def signature(self, offer: Offer) -> bytes:
        return self._note("signature").signature(offer)


def failing(rule: str) -> Callable[[], None]:
    """Something that raises RukhError `rule` when it is reached."""

    def fail() -> None:
        raise RukhError(rule, "told to fail")

    return fail
