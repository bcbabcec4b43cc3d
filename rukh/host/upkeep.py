"""Upkeep of a home: recovery, collection and rollback, records and files together. Never on the path of a call.

    recover    the store settles what the dead left in its records; then their files go: locks, staging directories,
               working directories of calls that are over
    collect    the store decides what nobody needs; then the trees go, in the turn of the releases, so that nobody
               takes one for granted meanwhile. What lies in `releases/` without a record or a tie goes too: its
               installer died
    rollback   what a kept revision bound is checked again as at an activation, and published anew

Files are only ever removed behind the record that says so: a death in between leaves files that the next run removes.
RK-PUB-010 … RK-PUB-028
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rukh.contract.candidate import Candidate, build_candidate, check_namespaces_kept
from rukh.contract.difference import difference
from rukh.contract.policy import ALLOWED, LOCAL_USER, decide
from rukh.host.ledger import StoreLedger, committed
from rukh.host.remains import stale_directories, stray_trees, trees
from rukh.host.settling import lost_envelope
from rukh.host.workdirs import remove_work_dir
from rukh.machines.publication import COLLECTABLE
from rukh.machines.steps import ADMIT, CHECK, COLLECT, SWEEP, VERIFY, WAIT, Observe, unobserved
from rukh.sources.consent import BY_ROLLBACK, Record, note
from rukh.sources.install import installed_descriptors
from rukh.sources.staging import discard, releases_turn, remove_tree, verify_tree
from rukh.store.collection import Collected
from rukh.store.holders import sweep
from rukh.store.home import Home
from rukh.store.profiles import Active
from rukh.store.publications import Published
from rukh.store.recovery import Found
from rukh.store.store import Store
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.ids import new_id


@dataclass(slots=True)
class Recovered:
    """What was left behind: operations with their outcome, calls ended now, names of files that went."""

    operations: list[Found] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    holders: list[str] = field(default_factory=list)
    staging: list[str] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)


def recover(store: Store, observe: Observe = unobserved) -> Recovered:
    """Settle what the dead left behind; running it again finds nothing."""
    observe(SWEEP, 0, 0)
    found = settle(store)
    found.holders = sweep(store.home)
    found.staging = sweep_staging(store.home)
    found.directories = sweep_directories(store)
    return found


def settle(store: Store) -> Recovered:
    """The records alone: operations and calls get their outcome."""
    return Recovered(store.recovery.operations(), store.recovery.calls(lost_envelope))


def collect(
    store: Store, *, dry_run: bool, subject: str = LOCAL_USER, observe: Observe = unobserved
) -> Collected:
    """Give back what nobody needs; a dry run names the same and changes nothing.

    `releases` names every tree whose files go, those without a record among them. What `observe` raises behind the
    record leaves files that the next collection removes. RK-PUB-023
    """
    if not dry_run:
        recover(store, observe)
    observe(WAIT, 0, 0)
    with releases_turn(store.home):
        observe(COLLECT, 0, 0)
        collected = store.collection.collect(dry_run=dry_run, subject=subject)
        collected.releases = [
            tree for tree in trees(store.home, store.database.rows) if _is_over(store, collected, tree)
        ]
        if not dry_run:
            for done, tree in enumerate(collected.releases):
                observe(COLLECT, done, len(collected.releases))
                discard(store.home, tree)
    return collected


def discard_strays(store: Store) -> list[str]:
    """Remove the files among the releases that no record needs; their digests. A collection does so as well."""
    with releases_turn(store.home):
        found = stray_trees(store.home, store.database.rows)
        for tree in found:
            discard(store.home, tree)
    return found


def rollback(store: Store, name: str, *, actor: str = LOCAL_USER, observe: Observe = unobserved) -> Published:
    """Publish anew what the kept revision `name` bound; the new revision has a sequence of its own.

    Raises RKO004 (not kept), RKT057 (no rule admits a release that would be bound anew), RKO005 (its key was revoked,
    or it was collected), RKT063 (changed on disk), RKO002 (another publication won).
    """
    ledger = StoreLedger(store, observe)
    active = ledger.active()
    profile = store.history.revision(name).profile
    observe(WAIT, 0, 0)
    with releases_turn(store.home):
        for done, (package, entry) in enumerate(profile["packages"].items()):
            observe(VERIFY, done, len(profile["packages"]))
            if active.profile["packages"].get(package) != entry:
                _admit(ledger, active.profile["rules"], package, entry, actor)
            _check_release(store, package, entry)
        check_namespaces_kept(ledger.namespaces(), profile)
        observe(CHECK, 0, 0)
        candidate = build_candidate(profile, installed_descriptors(store.home, profile["packages"]))
        _note_consent(ledger, active, profile, candidate, partial(_recorded, ledger, actor, observe))
        published = ledger.publish(new_id("op"), active.revision, profile, candidate, None)
    return committed(published)


def _note_consent(
    ledger: StoreLedger, active: Active, profile: Mapping[str, Any], candidate: Candidate, record: Record
) -> None:
    """The owner named a revision that was consented to when it was published: nobody is asked, and it is on record
    what that changes of each package. RK-CONS-014"""
    for package, entry in profile["packages"].items():
        was = active.profile["packages"].get(package)
        if was is not None:
            compiled = ledger.compiled(active.generation, active.projection, package)
            found = difference(package, was, entry, compiled, candidate)
            if found.changes:
                note(found, True, BY_ROLLBACK, record)


def _recorded(
    ledger: StoreLedger, actor: str, observe: Observe, given: bool, about: str, detail: str
) -> None:
    observe(ADMIT, 0, 0)
    ledger.record_consent(given, about, detail, subject=actor)


def _admit(
    ledger: StoreLedger, rules: list[dict[str, Any]], package: str, entry: Mapping[str, Any], actor: str
) -> None:
    """The rules that are active now decide: a revision does not admit its own return."""
    admitted = decide(rules, "install", actor, package) == ALLOWED
    detail = canonical({"rollback": entry["tree"], "to": entry["version"]})
    ledger.record_admission(admitted, package, entry["version"], detail, subject=actor)
    if not admitted:
        raise RukhError(
            "RKT057",
            f"no rule allows {actor} to install {package}",
            place=package,
            mend='add a rule with action = "install" to the profile and apply it',
        )


def _check_release(store: Store, package: str, entry: Mapping[str, Any]) -> None:
    """Key and tree as they are now, whether the release is bound anew or carried over."""
    if entry["signer"] in store.trust.revoked_keys(package):
        raise RukhError(
            "RKO005",
            f"the key that signed {package} {entry['version']} was revoked",
            place=package,
            mend="roll back to another revision, or update",
        )
    if not os.path.isdir(store.home.at("releases", entry["tree"])):
        raise RukhError(
            "RKO005",
            f"the release of {package} {entry['version']} was collected",
            place=package,
            mend="install that version again",
        )
    verify_tree(store.home, entry["tree"])


def _is_over(store: Store, collected: Collected, tree: str) -> bool:
    return tree in collected.releases or store.collection.standing(tree) == COLLECTABLE


def sweep_staging(home: Home) -> list[str]:
    """Staging directories that nobody holds: their installer is dead."""
    return [name for name in home.names("staging") if _remove_unlocked(home.at("staging", name))]


def _remove_unlocked(path: str) -> bool:
    """Remove a directory under its own lock, so that whoever just made it sees that it went."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except NotADirectoryError:
        return _removed(path)  # nobody stages in a file, or behind a link
    except OSError:
        return False  # it went meanwhile
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _removed(path)
    except OSError:
        return False  # it is held
    finally:
        os.close(descriptor)


def _removed(path: str) -> bool:
    """What the storage does not let go of stays for the next time."""
    try:
        remove_tree(path)
    except OSError:
        return False
    return True


def sweep_directories(store: Store) -> list[str]:
    """Working directories of calls that are over, and whatever else lies in the place of one."""
    found = stale_directories(store.home, store.database.rows)
    return [name for name in found if remove_work_dir(store.home.at("run", name))]
