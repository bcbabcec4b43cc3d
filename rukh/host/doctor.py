"""What is wrong with a home: looked at, never changed. What mends it stands in `mending`.

From the outside to the inside, and no further than what was found can be trusted: the home, its directories, the
database and its schema, SQLite's own check; then, each for itself, what the dead left, the releases, the keys, the
sources and the tasks. Every look is read-only: the database is opened so, and a lock is only tried. One that fails is a
finding itself, beside what the others find. RK-DOC-001 … RK-DOC-006
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from rukh.host.remains import PARTS, oddities, spelled, stale_directories, stale_staging, stray_trees
from rukh.machines.publication import COLLECTABLE
from rukh.machines.steps import VERIFY, Observe, unobserved
from rukh.sources.catalog import read_catalog
from rukh.sources.directory import DirectorySource
from rukh.sources.restore import Wanted, first_difference
from rukh.sources.staging import verify_tree
from rukh.store.collection import standing
from rukh.store.database import utc_ms
from rukh.store.holders import dead, is_alive
from rukh.store.home import DIRECTORIES, Home, holds, look_at, lost_records, on_network, unlisted
from rukh.store.profiles import revision_of, stored
from rukh.store.reading import Reading
from rukh.store.recovery import OPEN_CALLS, OPEN_OF, OWED, OWED_BY
from rukh.store.schema import APPLICATION_ID, SCHEMA_VERSION
from rukh.store.trust import TrustRecords
from rukh.values.errors import RukhError
from rukh.values.rules import RULES

FIX = "doctor --fix"
_RECOVER = f"recover, or {FIX}"
# A clock that is set right now and then runs this far behind at most.
_CLOCK_SLACK_MS = 60_000
_OTHERS = 0o077
_RELEASES = (
    "SELECT tree, package, version, artifact, collected_ms FROM release ORDER BY package, version, tree"
)
_ON_RECORD = "SELECT 1 FROM release WHERE collected_ms IS NULL AND tree = ?"
_TABLES = "SELECT 1 FROM sqlite_schema LIMIT 1"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong: `place` is a path below the home or what it is about, `fixable` whether `--fix` may
    mend it."""

    rule: str
    place: str
    message: str
    mend: str
    fixable: bool = False

    @property
    def severity(self) -> str:
        """`error` or `warning`."""
        return str(RULES[self.rule][0])

    def document(self) -> dict[str, Any]:
        """The finding as a JSON object."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "place": self.place,
            "message": self.message,
            "mend": self.mend,
            "fixable": self.fixable,
        }


@dataclass(frozen=True, slots=True)
class _Patient:
    """An open home of this program's schema."""

    home: Home
    reading: Reading
    packages: Mapping[str, Mapping[str, Any]]
    endpoints: Mapping[str, Any]
    observe: Observe


Look = Callable[[_Patient], Iterator[Finding]]


def examine(path: str, observe: Observe = unobserved, clock: Callable[[], int] = utc_ms) -> list[Finding]:
    """Everything that is wrong with the home at `path`; `clock` gives UTC milliseconds."""
    try:
        home = look_at(path)
    except RukhError as error:
        return [_refused_home(path, error)]
    if on_network(path):
        return [
            _told("RKS003", path, "network file systems are refused", "move the home to a local directory")
        ]
    found = [_missing_part(home, name) for name in DIRECTORIES if not _is_directory(home.at(name))]
    if found:
        return found
    try:
        reading = Reading(home)
    except RukhError as error:
        return [_of_error(error)]
    try:
        return _database(home, reading, observe, clock)
    except RukhError as error:
        return [_of_error(error)]
    finally:
        reading.close()


# From the home to the database.


def _refused_home(path: str, error: RukhError) -> Finding:
    """Rights that others have can be taken away; another owner's home stays as it is."""
    fixable = error.rule == "RKS002" and _is_open_to_others(path)
    return _told(error.rule, error.place or path, error.message, error.mend, fixable)


def _is_open_to_others(path: str) -> bool:
    """Whether it is a directory of this user that others have rights in."""
    found = os.stat(path) if os.path.isdir(path) else None
    return found is not None and found.st_uid == os.geteuid() and bool(found.st_mode & _OTHERS)


def _is_directory(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _missing_part(home: Home, name: str) -> Finding:
    if os.path.lexists(home.at(name)):
        return _told("RKU001", name, "it is no directory", "move away what lies there, then look again")
    return _told("RKU001", name, "there is no such directory", FIX, True)


def _database(home: Home, reading: Reading, observe: Observe, clock: Callable[[], int]) -> list[Finding]:
    """What keeps the contents from being read; else what is wrong with them."""
    fresh = not reading.application and not reading.version and not reading.rows(_TABLES)
    if fresh and holds(home):
        return [_of_error(lost_records(home))]
    if reading.application != APPLICATION_ID and not fresh:
        return [_told("RKS006", reading.path, "the database is not Rukh's", "name another --home")]
    if reading.version > SCHEMA_VERSION:
        message = f"the database has schema {reading.version}, this program knows {SCHEMA_VERSION}"
        return [_told("RKS005", reading.path, message, "use the newer program")]
    said = [str(row[0]) for row in reading.rows("PRAGMA quick_check(3)")]
    if said != ["ok"]:
        return [_told("RKU002", reading.path, "; ".join(said), "restore it from a copy")]
    if reading.version < SCHEMA_VERSION:
        message = f"the database has schema {reading.version}, this program writes {SCHEMA_VERSION}"
        return [_told("RKU003", reading.path, message, f"run any other verb, or {FIX}", True)]
    profile = _profile(reading)
    if profile is None:
        message = "the active profile is not the one that its revision is named by"
        return [_told("RKU002", reading.path, message, "restore it from a copy")]
    patient = _Patient(home, reading, profile["packages"], profile["endpoints"], observe)
    found = [*_clock(reading, clock())]
    for look in _LOOKS:
        found += _looked(look, patient)
    return list(dict.fromkeys(found))  # what two looks stumble over is said once


def _looked(look: Look, patient: _Patient) -> list[Finding]:
    """What one look finds; where it fails, what it had found until then, and why it failed."""
    found = []
    try:
        for finding in look(patient):
            found.append(finding)
    except RukhError as error:
        found.append(_of_error(error))
    except OSError as error:
        found.append(_of_error(unlisted(error, spelled(str(error.filename or patient.home.path)))))
    return found


def _profile(reading: Reading) -> Mapping[str, Any] | None:
    """The active profile; None where the text is not that of the revision's name, which holds its digest."""
    row = reading.row("SELECT r.sequence, r.id, r.profile FROM active JOIN revision r USING (sequence)")
    if row is None:
        return {"packages": {}, "endpoints": {}}
    sequence, name, text = row
    profile: Mapping[str, Any] | None = stored(text) if revision_of(sequence, text) == name else None
    return profile


# The contents, one subject a function.


def _clock(reading: Reading, now: int) -> Iterator[Finding]:
    row = reading.row("SELECT value FROM meta WHERE name = 'high_water_ms'")
    behind = row[0] - now if row and isinstance(row[0], int) else 0
    if behind > _CLOCK_SLACK_MS:
        message = f"it is {behind // 1000} s behind; until then what expires is judged by the later time"
        yield _told("RKU004", "clock", message, "set the clock of this machine")


def _operations(patient: _Patient) -> Iterator[Finding]:
    for holder in _dead_among(patient, OWED):
        for operation, state, step, _revision in patient.reading.rows(OWED_BY, (holder,)):
            message = f"its process died; it is {step if state == 'begun' else state}"
            yield _told("RKU005", operation, message, _RECOVER, True)


def _calls(patient: _Patient) -> Iterator[Finding]:
    for holder in _dead_among(patient, OPEN_CALLS):
        for invocation, surface, _subject in patient.reading.rows(OPEN_OF, (holder,)):
            yield _told("RKU005", invocation, f"the host of this call ({surface}) died", _RECOVER, True)


def _dead_among(patient: _Patient, holders: str) -> list[str]:
    return [name for (name,) in patient.reading.rows(holders) if not is_alive(patient.home, name)]


def _locks(patient: _Patient) -> Iterator[Finding]:
    return _left("locks", dead(patient.home), "lock")


def _staging(patient: _Patient) -> Iterator[Finding]:
    return _left("staging", stale_staging(patient.home), "staging directory")


def _directories(patient: _Patient) -> Iterator[Finding]:
    return _left("run", stale_directories(patient.home, patient.reading.rows), "working directory")


def _left(part: str, names: list[str], what: str) -> Iterator[Finding]:
    for name in names:
        yield _told("RKU006", f"{part}/{spelled(name)}", f"the {what} of a dead process", _RECOVER, True)


def _odd(part: str, patient: _Patient) -> Iterator[Finding]:
    message = "this home has not put it there, and leaves it alone"
    for name in oddities(patient.home, patient.reading.rows, part):
        yield _told("RKU016", f"{part}/{spelled(name)}", message, "move it away if you do not need it")


def _strays(patient: _Patient) -> Iterator[Finding]:
    for tree in stray_trees(patient.home, patient.reading.rows):
        parts = [part for part in ("releases", "cache") if os.path.lexists(patient.home.at(part, tree))]
        yield _told("RKU007", f"{parts[0]}/{tree}", "no record needs it", f"gc, or {FIX}", True)


def _records(patient: _Patient) -> Iterator[Finding]:
    """What is bound is on record, or nobody could restore it."""
    for package, entry in sorted(patient.packages.items()):
        row = patient.reading.row(_ON_RECORD, (entry["tree"],))
        if row is None:
            message = f"no record says which artifact {package} {entry['version']} came from"
            mend = f"update {package}, or remove and install it, before its files are lost"
            yield _told("RKU017", f"releases/{entry['tree']}", message, mend)


def _releases(patient: _Patient) -> Iterator[Finding]:
    """What the active revision binds, whatever is on record; and what else is kept."""
    rows = patient.reading.rows
    needed = {entry["tree"]: (name, entry["version"], "") for name, entry in patient.packages.items()}
    active = frozenset(needed)
    for tree, package, version, artifact, collected in rows(_RELEASES):
        if tree in active or (collected is None and standing(rows, tree) != COLLECTABLE):
            needed[tree] = (package, version, artifact)
    sources = TrustRecords(patient.reading).sources()
    for done, (tree, (package, version, artifact)) in enumerate(needed.items()):
        patient.observe(VERIFY, done, len(needed))
        wanted = Wanted(package, version, artifact, tree)
        yield from _release(patient.home, wanted, tree in active, sources)


def _release(home: Home, wanted: Wanted, active: bool, sources: list[tuple[str, str]]) -> Iterator[Finding]:
    place, name = f"releases/{wanted.tree}", f"{wanted.package} {wanted.version}"
    mend = f"{FIX}, with a source that offers it"
    if not os.path.lexists(home.at("releases", wanted.tree)):
        yield _told("RKU008" if active else "RKU009", place, f"{name} is missing", mend, True)
        return
    try:
        verify_tree(home, wanted.tree)
    except RukhError as error:
        where = first_difference(home, wanted, sources)
        message = f"{name} was changed on disk: {error.message}" + (f", {where} first" if where else "")
        yield _told("RKT063" if active else "RKU009", place, message, mend, True)


def _keys(patient: _Patient) -> Iterator[Finding]:
    for package, entry in sorted(patient.packages.items()):
        known = {key.key_id: key for key in TrustRecords(patient.reading).all_keys(package)}
        key = known.get(entry["signer"])
        mend = f"update {package} to a release of a trusted key, or remove {package}"
        if key is None:
            message = f"{package} {entry['version']} is signed by {entry['signer']}"
            yield _told("RKU011", package, message, f"trust add {package} with that key, or {mend}")
        elif key.revoked_ms is not None:
            message = f"{package} {entry['version']} is signed by {key.key_id}: its calls are refused"
            yield _told("RKU010", package, message, mend)


def _sources(patient: _Patient) -> Iterator[Finding]:
    for name, location in TrustRecords(patient.reading).sources():
        try:
            read_catalog(DirectorySource(name, location).catalog())
        except RukhError as error:
            message = f"{error.place or location}: {error.message}"
            yield _told("RKU012", f"source {name}", message, f"mend it, or source remove {name}")


def _tasks(patient: _Patient) -> Iterator[Finding]:
    active = {name for (name,) in patient.reading.rows("SELECT endpoint FROM task WHERE state = 'active'")}
    for name in sorted(set(patient.endpoints) - active):
        yield _told("RKU013", f"endpoint {name}", "it cannot be served", f"task issue --endpoint {name}")
    for name in sorted(active - set(patient.endpoints)):
        message = "it has an active task, and the profile no longer names it; nothing can be called by it"
        mend = f"leave it; or bring the endpoint back, and then: task issue --endpoint {name}"
        yield _told("RKU014", f"endpoint {name}", message, mend)


_LOOKS: tuple[Look, ...] = (
    _operations,
    _calls,
    _locks,
    _staging,
    _directories,
    *(partial(_odd, part) for part in PARTS),
    _strays,
    _records,
    _releases,
    _keys,
    _sources,
    _tasks,
)


def _told(rule: str, place: str, message: str, mend: str, fixable: bool = False) -> Finding:
    return Finding(rule, place, message, mend, fixable)


def _of_error(error: RukhError) -> Finding:
    return _told(error.rule, error.place, error.message, error.mend)
