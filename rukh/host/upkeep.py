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
from typing import Any

from rukh.contract.candidate import build_candidate, check_namespaces_kept
from rukh.contract.envelope import envelope, reason
from rukh.contract.policy import ALLOWED, LOCAL_USER, decide
from rukh.host.launch import remove_work_dir
from rukh.host.ledger import StoreLedger
from rukh.machines.publication import COLLECTABLE
from rukh.sources.install import installed_descriptors
from rukh.sources.staging import discard, releases_turn, remove_tree, verify_tree
from rukh.store.collection import Collected
from rukh.store.holders import sweep
from rukh.store.home import Home
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


def recover(store: Store) -> Recovered:
    """Settle what the dead left behind; running it again finds nothing."""
    found = Recovered(store.recovery.operations(), store.recovery.calls(lost_envelope))
    found.holders = sweep(store.home)
    found.staging = _sweep_staging(store.home)
    found.directories = _sweep_directories(store)
    return found


def lost_envelope(invocation: str) -> str:
    """What is kept for a call whose host died. RK-PUB-014"""
    why = reason("host_lost", "the host died while the call ran; what it did may have taken effect")
    return canonical(envelope(invocation, "execution_failed", reason=why))


def collect(store: Store, *, dry_run: bool, subject: str = LOCAL_USER) -> Collected:
    """Give back what nobody needs; a dry run names the same and changes nothing.

    `releases` names every tree whose files go, those without a record among them.
    """
    if not dry_run:
        recover(store)
    with releases_turn(store.home):
        collected = store.collection.collect(dry_run=dry_run, subject=subject)
        collected.releases = [tree for tree in _trees(store.home) if _is_over(store, collected, tree)]
        if not dry_run:
            for tree in collected.releases:
                discard(store.home, tree)
    return collected


def rollback(store: Store, name: str, *, actor: str = LOCAL_USER) -> Published:
    """Publish anew what the kept revision `name` bound; the new revision has a sequence of its own.

    Raises RKO004 (not kept), RKT057 (no rule admits a release that would be bound anew), RKO005 (its key was revoked,
    or it was collected), RKT063 (changed on disk), RKO002 (another publication won).
    """
    ledger = StoreLedger(store)
    active = ledger.active()
    profile = store.history.revision(name).profile
    with releases_turn(store.home):
        for package, entry in profile["packages"].items():
            if active.profile["packages"].get(package) != entry:
                _admit(ledger, active.profile["rules"], package, entry, actor)
            _check_release(store, package, entry)
        check_namespaces_kept(ledger.namespaces(), profile)
        candidate = build_candidate(profile, installed_descriptors(store.home, profile["packages"]))
        published = ledger.publish(new_id("op"), active.revision, profile, candidate, None)
    return committed(published)


def committed(published: Published) -> Published:
    """The publication where it is the active one; raises RKO002 where another one won."""
    if published.state != "committed":
        raise RukhError(
            "RKO002",
            f"{published.revision} was published meanwhile",
            place=published.revision,
            mend="try again",
        )
    return published


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


def _trees(home: Home) -> list[str]:
    """Every digest that has files in the home."""
    return sorted({*os.listdir(home.at("releases")), *os.listdir(home.at("cache"))})


def _is_over(store: Store, collected: Collected, tree: str) -> bool:
    return tree in collected.releases or store.collection.standing(tree) == COLLECTABLE


def _sweep_staging(home: Home) -> list[str]:
    """Staging directories that nobody holds: their installer is dead."""
    return [
        name for name in sorted(os.listdir(home.at("staging"))) if _remove_unlocked(home.at("staging", name))
    ]


def _remove_unlocked(path: str) -> bool:
    """Remove a directory under its own lock, so that whoever just made it sees that it went."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False  # it went meanwhile, or is none of ours
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(path)
    except OSError:
        return False  # it is held, or the storage does not let go of it: it stays for the next time
    finally:
        os.close(descriptor)
    return True


def _sweep_directories(store: Store) -> list[str]:
    """Working directories of calls that are over. They are listed before the records are asked: a call has its record
    before it has its directory."""
    names = sorted(name for name in os.listdir(store.home.at("run")) if name.startswith("inv_"))
    return [
        name for name in names if not _goes_on(store, name) and remove_work_dir(store.home.at("run", name))
    ]


def _goes_on(store: Store, invocation: str) -> bool:
    row = store.database.row(
        "SELECT outcome IS NULL OR EXISTS (SELECT 1 FROM reference WHERE invocation = id) FROM invocation "
        "WHERE id = ?",
        (invocation,),
    )
    return row is not None and bool(row[0])
