"""The published profile as it is read: one active revision, its compiled commands, routes and projection.

What writes it stands in `publications`. RK-PUB-001 RK-PUB-006
"""

from __future__ import annotations

from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.ids import sha256_hex
from rukh.values.reader import read
from rukh.values.registry import LIMIT_DESCRIPTOR_BYTES, LIMIT_DESCRIPTOR_DEPTH, LIMIT_DESCRIPTOR_MEMBERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from rukh.store.database import Database
    from rukh.store.reading import Reading

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
        self.projection = projection_of(exports)


def revision_of(sequence: int, profile: str) -> str:
    """The name of a revision: its number, and a digest of its canonical `profile`."""
    return f"r{sequence}-{sha256_hex(profile.encode())[:16]}"


def projection_of(exports: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """The digest that names a projection: of every endpoint with what it exports, as `Contents` has them."""
    listed = {name: [list(pair) for pair in pairs] for name, pairs in exports.items()}
    return sha256_hex(canonical(listed).encode())


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


class Profiles:
    """Reads of the active profile."""

    def __init__(self, database: Database | Reading) -> None:
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

    def forget(self) -> None:
        """Read the active revision again when it is next asked for: what was read of it is not to be believed."""
        self._active = None

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

    def commands(self, generation: str, package: str) -> list[Any]:
        """The compiled records of a package's commands, in order of identity."""
        rows = self._database.rows(
            "SELECT record FROM command WHERE generation = ? AND identity >= ? AND identity < ? ORDER BY identity",
            (generation, f"{package}/", f"{package}0"),  # `0` is what comes behind `/`
        )
        return [stored(record) for (record,) in rows]

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

    def projected(self, projection: str) -> dict[str, list[tuple[str, str]]]:
        """By endpoint what a projection exports: (identity, tail digest); an endpoint without exports is not there."""
        found: dict[str, list[tuple[str, str]]] = {}
        for endpoint, identity, tail in self._database.rows(
            "SELECT endpoint, identity, tail FROM export WHERE projection = ? ORDER BY endpoint, identity",
            (projection,),
        ):
            found.setdefault(endpoint, []).append((identity, tail))
        return found

    def namespaces(self) -> dict[str, str]:
        """The namespace of every endpoint that was ever published, by endpoint: it is fixed for ever. {P08}"""
        return {row[0]: row[1] for row in self._database.rows("SELECT endpoint, namespace FROM namespace")}
