"""Mending what `doctor` found, as far as no decision of the owner is needed: nothing is trusted, published or given up.

    the home is open to others                its rights are taken back
    directories are missing                   they are made
    the schema is older                       it is brought to this program's, as by any verb
    the dead left something                   recovery
    files that no record needs                they go
    a release is missing or was changed       the bytes that were verified come back from a source

What was hidden behind a finding is looked at and mended in its turn. One that cannot be mended keeps no other from it.
RK-DOC-010 … RK-DOC-014
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from rukh.host.doctor import Finding, examine
from rukh.host.remains import spelled
from rukh.host.upkeep import discard_strays, settle, sweep_directories, sweep_staging
from rukh.machines.steps import Observe, unobserved
from rukh.sources.restore import Wanted, restore
from rukh.store.holders import sweep
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError

# The home, its schema, its contents: each is seen once what hid it is mended.
_ROUNDS = 3
_PRIVATE = 0o700

Failures = dict[Finding, RukhError]


@dataclass(frozen=True, slots=True)
class Mended:
    """What `--fix` came to: findings that are gone, and those that are left, with the reason where mending failed."""

    mended: list[Finding]
    left: list[Finding]


def fix(path: str, observe: Observe = unobserved) -> Mended:
    """Mend the home at `path` and look again; raises nothing that a finding can say."""
    seen: dict[Finding, None] = {}
    failures: Failures = {}
    for _ in range(_ROUNDS):
        todo = [finding for finding in examine(path, observe) if finding.fixable and finding not in seen]
        seen.update(dict.fromkeys(todo))
        failures.update(_mend(path, todo, observe))
    left = examine(path, observe)
    gone = [finding for finding in seen if finding not in left]
    return Mended(gone, [_explained(finding, failures.get(finding)) for finding in left])


def _explained(finding: Finding, failure: RukhError | None) -> Finding:
    if failure is None:
        return finding
    message = f"{finding.message}; it was not mended: {failure.message}"
    return replace(finding, message=message, mend=failure.mend or finding.mend)


def _mend(path: str, todo: list[Finding], observe: Observe) -> Failures:
    """Try each; the reasons of those that failed."""
    outside = [finding for finding in todo if finding.rule in _OUTSIDE]
    inside = [finding for finding in todo if finding.rule not in _OUTSIDE]
    failures = _tried((finding, partial(_OUTSIDE[finding.rule], path)) for finding in outside)
    if inside:
        failures |= _inside(path, inside, observe)
    return failures


def _inside(path: str, todo: list[Finding], observe: Observe) -> Failures:
    try:
        store = Store(open_home(path, create=False))
    except RukhError as error:
        return dict.fromkeys(todo, error)
    try:
        return _tried((finding, partial(_INSIDE[finding.rule], store, finding, observe)) for finding in todo)
    finally:
        store.close()


def _tried(acts: Iterable[tuple[Finding, Callable[[], object]]]) -> Failures:
    failures: Failures = {}
    for finding, act in acts:
        try:
            act()
        except RukhError as error:
            failures[finding] = error
        except OSError as error:
            reason = f"the storage failed: {error.strerror}"
            failures[finding] = RukhError("RKS007", reason, place=finding.place, mend=finding.mend)
    return failures


def _close_to_others(path: str) -> None:
    os.chmod(path, _PRIVATE)


def _make_parts(path: str) -> None:
    open_home(path, create=True)


_OUTSIDE: dict[str, Callable[[str], None]] = {"RKS002": _close_to_others, "RKU001": _make_parts}


def _nothing_more(_store: Store, _finding: Finding, _observe: Observe) -> None:
    """A store that was opened has the schema of this program."""


def _settle(store: Store, _finding: Finding, _observe: Observe) -> None:
    settle(store)


def _sweep(store: Store, finding: Finding, _observe: Observe) -> None:
    """One directory for itself, as another may not let itself be listed."""
    part = finding.place.partition("/")[0]
    _SWEEPS[part](store)
    _check_gone(store, part, finding)


def _discard_strays(store: Store, _finding: Finding, _observe: Observe) -> None:
    discard_strays(store)


def _check_gone(store: Store, part: str, finding: Finding) -> None:
    if finding.place in (f"{part}/{spelled(name)}" for name in store.home.names(part)):
        raise RukhError(
            "RKS007", "it is there still: it is in use, or cannot be removed", place=finding.place
        )


_SWEEPS: dict[str, Callable[[Store], object]] = {
    "locks": lambda store: sweep(store.home),
    "staging": lambda store: sweep_staging(store.home),
    "run": sweep_directories,
}


def _restore(store: Store, finding: Finding, _observe: Observe) -> None:
    tree = os.path.basename(finding.place)
    row = store.database.row("SELECT package, version, artifact FROM release WHERE tree = ?", (tree,))
    if row is None:
        raise RukhError("RKT052", "no record says where it came from", place=finding.place)
    package, version, artifact = row
    restore(store.home, Wanted(package, version, artifact, tree), store.trust.sources())


_INSIDE: dict[str, Callable[[Store, Finding, Observe], None]] = {
    "RKU003": _nothing_more,
    "RKU005": _settle,
    "RKU006": _sweep,
    "RKU007": _discard_strays,
    "RKU008": _restore,
    "RKU009": _restore,
    "RKT063": _restore,
}
