"""The published profile: one active revision, its compiled commands, routes and projection.

A publication writes its contents ahead, addressed by digest and visible to nobody; its commit is a comparison with the
expected revision and the flip of one pointer, so that a call waits at most for a flip. A revision is
`r<sequence>-<16 hex of the SHA-256 of the canonical profile>`; sequences are never used twice. RK-PUB-001 … RK-PUB-006
"""

from __future__ import annotations

from rukh.machines import publication
from rukh.store.database import POWER, PROCESS
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.ids import sha256_hex
from rukh.values.reader import read
from rukh.values.registry import LIMIT_DESCRIPTOR_BYTES, LIMIT_DESCRIPTOR_DEPTH, LIMIT_DESCRIPTOR_MEMBERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from rukh.store.database import Database, Transaction

NO_REVISION = ""
# The database holds what this program wrote; these limits only bound a damaged row.
_SCALE = 16


def stored(text: str) -> Any:
    """A stored canonical document."""
    return read(
        text.encode(),
        max_bytes=_SCALE * LIMIT_DESCRIPTOR_BYTES,
        max_depth=LIMIT_DESCRIPTOR_DEPTH,
        max_members=_SCALE * LIMIT_DESCRIPTOR_MEMBERS,
    )


class Active:
    """The active revision as one snapshot; `profile` is the canonical profile, packages included."""

    __slots__ = ("generation", "profile", "projection", "revision", "sequence")

    def __init__(
        self, sequence: int, revision: str, generation: str, projection: str, profile: dict[str, Any]
    ) -> None:
        self.sequence = sequence
        self.revision = revision
        self.generation = generation
        self.projection = projection
        self.profile = profile


class Route:
    """What some leading words lead to: `kind` is command, alias or group; `used` counts the words."""

    __slots__ = ("identity", "kind", "used")

    def __init__(self, kind: str, identity: str, used: int) -> None:
        self.kind = kind
        self.identity = identity
        self.used = used


class Contents:
    """What a candidate compiles to, ready to be stored: see `contract.candidate`.

    commands: (identity, record); routes: (path words, kind, identity, summary); exports: endpoint → (identity, tail
    digest); tails: digest → document text. Records are plain documents.
    """

    __slots__ = ("commands", "exports", "generation", "projection", "routes", "tails")

    def __init__(
        self,
        generation: str,
        commands: Sequence[tuple[str, Any]],
        routes: Sequence[tuple[tuple[str, ...], str, str, str]],
        exports: Mapping[str, Sequence[tuple[str, str]]],
        tails: dict[str, str],
    ) -> None:
        self.generation = generation
        self.commands = commands
        self.routes = routes
        self.exports = exports
        self.tails = tails
        listed = {name: [list(pair) for pair in pairs] for name, pairs in exports.items()}
        self.projection = sha256_hex(canonical(listed).encode())


class Staged:
    """The release that a publication brings in; digests in hexadecimal, `highest` the highest version seen with it."""

    __slots__ = ("artifact", "descriptor", "highest", "package", "signer", "tree", "version")

    def __init__(
        self,
        package: str,
        version: str,
        signer: str,
        tree: str,
        artifact: str,
        descriptor: str,
        highest: str,
    ) -> None:
        self.package = package
        self.version = version
        self.signer = signer
        self.tree = tree
        self.artifact = artifact
        self.descriptor = descriptor
        self.highest = highest


class Published:
    """The outcome of a publication: its final `state`, and the revision that is active (the winner's on a conflict)."""

    __slots__ = ("revision", "state")

    def __init__(self, state: str, revision: str) -> None:
        self.state = state
        self.revision = revision


class Profiles:
    """Reads of the active profile, and publication."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._active: Active | None = None

    def active(self) -> Active | None:
        """The active revision, or None before the first publication; unchanged ones are not read again."""
        row = self._database.row("SELECT sequence FROM active")
        if row is None:
            return None
        known = self._active
        if known is not None and known.sequence == row[0]:
            return known
        found = self._database.row(
            "SELECT r.sequence, r.id, r.generation, r.projection, r.profile "
            "FROM active a JOIN revision r USING (sequence)"
        )
        if found is None:
            raise RukhError(
                "RKS006", "the active revision is missing", mend="restore the database from a copy"
            )
        self._active = Active(found[0], found[1], found[2], found[3], stored(found[4]))
        return self._active

    def resolve(self, generation: str, words: Sequence[str]) -> Route | None:
        """The route with the most leading words of `words`."""
        paths = [" ".join(words[:count]) for count in range(len(words), 0, -1)]
        if not paths:
            return None
        marks = ",".join("?" * len(paths))
        rows = self._database.rows(
            f"SELECT path, kind, identity FROM route WHERE generation = ? AND path IN ({marks})",
            (generation, *paths),
        )
        if not rows:
            return None
        path, kind, identity = max(rows, key=lambda row: len(row[0]))
        return Route(kind, identity, len(words) - paths.index(path))

    def command(self, generation: str, identity: str) -> Any | None:
        """The compiled record of a command."""
        row = self._database.row(
            "SELECT record FROM command WHERE generation = ? AND identity = ?", (generation, identity)
        )
        return stored(row[0]) if row else None

    def routes(
        self, generation: str, prefix: Sequence[str] = ()
    ) -> list[tuple[tuple[str, ...], str, str, str]]:
        """All routes at or below `prefix`: (path words, kind, identity, summary), in path order."""
        start = " ".join(prefix)
        rows = self._database.rows(
            "SELECT path, kind, identity, summary FROM route WHERE generation = ? AND (? = '' OR path = ? OR "
            "substr(path, 1, ?) = ?) ORDER BY path",
            (generation, start, start, len(start) + 1, start + " "),
        )
        return [(tuple(path.split(" ")), kind, identity, summary) for path, kind, identity, summary in rows]

    def exports(self, projection: str, endpoint: str) -> list[tuple[str, str]]:
        """What an endpoint exports: (identity, tail document text)."""
        rows = self._database.rows(
            "SELECT e.identity, t.document FROM export e JOIN tail t ON t.digest = e.tail "
            "WHERE e.projection = ? AND e.endpoint = ? ORDER BY e.identity",
            (projection, endpoint),
        )
        return [(identity, document) for identity, document in rows]

    def namespaces(self) -> dict[str, str]:
        """The namespace of every endpoint that was ever published, by endpoint: it is fixed for ever. {P08}"""
        return {row[0]: row[1] for row in self._database.rows("SELECT endpoint, namespace FROM namespace")}

    def operation(self, operation: str) -> Published | None:
        """The recorded outcome of an operation, for recovery by id."""
        row = self._database.row("SELECT state, revision FROM operation WHERE id = ?", (operation,))
        return Published(row[0], row[1] or NO_REVISION) if row else None

    def publish(
        self,
        operation: str,
        expected: str,
        profile: dict[str, Any],
        contents: Contents,
        *,
        subject: str,
        surface: str,
        staged: Staged | None = None,
    ) -> Published:
        """Publish `profile` if `expected` is still the active revision (`NO_REVISION` for the first).

        `staged` is recorded in the same transaction: a conflict leaves no trace of it. Raises RKO001 when `operation`
        was used with other content; a used id with the same content gets its recorded answer and changes nothing.
        """
        text = canonical(profile)
        recorded = self._begin(operation, expected, text, contents)
        if recorded is not None:
            return recorded
        with self._database.write(POWER) as tx:
            active = tx.run("SELECT r.id FROM active a JOIN revision r USING (sequence)")
            current = active[0][0] if active else NO_REVISION
            event = publication.decide(publication.BEGUN, expected, current)
            state = publication.after(publication.BEGUN, event)
            revision = current
            if event == "flip":
                revision = self._flip(tx, operation, text, contents)
                _fix_namespaces(tx, profile)
                _record(tx, staged, subject=subject, surface=surface)
            tx.run("UPDATE operation SET state = ?, revision = ? WHERE id = ?", (state, revision, operation))
            name = "profile.published" if event == "flip" else "profile.conflicted"
            tx.audit(name, surface, subject, revision, operation)
        return Published(state, revision)

    def _begin(self, operation: str, expected: str, text: str, contents: Contents) -> Published | None:
        """Record the operation and write its contents ahead; the recorded outcome where it is known already."""
        digest = sha256_hex(canonical([expected, text, contents.generation, contents.projection]).encode())
        with self._database.write(PROCESS) as tx:
            known = tx.run("SELECT digest, state, revision FROM operation WHERE id = ?", (operation,))
            if known and known[0][0] != digest:
                raise RukhError(
                    "RKO001",
                    f"{operation} was used with other content",
                    place=operation,
                    mend="use a new operation id",
                )
            if known and known[0][1] in publication.FINAL:
                return Published(known[0][1], known[0][2] or NO_REVISION)
            tx.run(
                "INSERT OR IGNORE INTO operation VALUES (?, ?, ?, ?, NULL, '', ?)",
                (operation, digest, expected, publication.BEGUN, tx.now),
            )
            self._write_ahead(tx, contents)
        return None

    def _write_ahead(self, tx: Transaction, contents: Contents) -> None:
        generation = contents.generation
        tx.each(
            "INSERT OR IGNORE INTO command VALUES (?, ?, ?)",
            [(generation, identity, canonical(record)) for identity, record in contents.commands],
        )
        tx.each(
            "INSERT OR IGNORE INTO route VALUES (?, ?, ?, ?, ?)",
            [
                (generation, " ".join(path), kind, identity, summary)
                for path, kind, identity, summary in contents.routes
            ],
        )
        tx.each("INSERT OR IGNORE INTO tail VALUES (?, ?)", list(contents.tails.items()))
        tx.each(
            "INSERT OR IGNORE INTO export VALUES (?, ?, ?, ?)",
            [
                (contents.projection, endpoint, identity, tail)
                for endpoint, pairs in contents.exports.items()
                for identity, tail in pairs
            ],
        )

    def _flip(self, tx: Transaction, operation: str, text: str, contents: Contents) -> str:
        last = tx.run("SELECT value FROM meta WHERE name = 'last_sequence'")
        sequence = (last[0][0] if last else 0) + 1
        revision = f"r{sequence}-{sha256_hex(text.encode())[:16]}"
        tx.run("INSERT OR REPLACE INTO meta VALUES ('last_sequence', ?)", (sequence,))
        tx.run(
            "INSERT INTO revision VALUES (?, ?, ?, ?, ?, ?, ?)",
            (sequence, revision, text, contents.generation, contents.projection, operation, tx.now),
        )
        tx.run("INSERT OR REPLACE INTO active VALUES (1, ?)", (sequence,))
        return revision


def _fix_namespaces(tx: Transaction, profile: dict[str, Any]) -> None:
    """Keep each endpoint's namespace, also of one that is taken out of the profile and comes back."""
    pairs = [(name, endpoint["namespace"]) for name, endpoint in profile["endpoints"].items()]
    tx.each("INSERT OR IGNORE INTO namespace VALUES (?, ?)", pairs)


def _record(tx: Transaction, staged: Staged | None, *, subject: str, surface: str) -> None:
    """The release's row and the highest version seen, part of the publication that brings it in."""
    if staged is None:
        return
    tx.run(
        "INSERT OR IGNORE INTO release VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            staged.tree,
            staged.package,
            staged.version,
            staged.signer,
            staged.artifact,
            staged.descriptor,
            tx.now,
        ),
    )
    tx.run("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", (staged.package, staged.signer, staged.highest))
    tx.audit("release.staged", surface, subject, f"{staged.package}@{staged.version}", staged.signer)
