"""Trust and installation records: publishers' keys by package, sources by name, highest versions seen."""

from __future__ import annotations

from rukh.store.database import POWER
from rukh.values.errors import RukhError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.store.database import Database
    from rukh.store.reading import Reading

_KEY = "SELECT 1 FROM trust WHERE package = ? AND key_id = ?"


class TrustedKey:
    """A key that the owner trusts for a package, or did (UTC milliseconds; `revoked_ms` is None while trusted)."""

    __slots__ = ("added_ms", "key_id", "package", "revoked_ms")

    def __init__(self, package: str, key_id: str, added_ms: int, revoked_ms: int | None) -> None:
        self.package = package
        self.key_id = key_id
        self.added_ms = added_ms
        self.revoked_ms = revoked_ms


class TrustRecords:
    """What the owner decided about publishers and sources, as it is read."""

    def __init__(self, database: Database | Reading) -> None:
        self._database = database

    def all_keys(self, package: str = "") -> list[TrustedKey]:
        """Every key that was ever trusted for `package`, or for any; in order of package and time."""
        rows = self._database.rows(
            "SELECT package, key_id, added_ms, revoked_ms FROM trust WHERE ? IN ('', package) "
            "ORDER BY package, added_ms, key_id",
            (package,),
        )
        return [TrustedKey(*row) for row in rows]

    def keys(self, package: str) -> list[tuple[str, str]]:
        """(key id, SPKI PEM) of every key trusted for `package` and not revoked."""
        return [
            (key_id, public_key)
            for key_id, public_key in self._database.rows(
                "SELECT key_id, public_key FROM trust WHERE package = ? AND revoked_ms IS NULL "
                "ORDER BY added_ms, key_id",
                (package,),
            )
        ]

    def revoked_keys(self, package: str) -> list[str]:
        """The ids of the keys that were revoked for `package`."""
        rows = self._database.rows(
            "SELECT key_id FROM trust WHERE package = ? AND revoked_ms IS NOT NULL ORDER BY key_id",
            (package,),
        )
        return [key_id for (key_id,) in rows]

    def releases(self, package: str) -> list[str]:
        """The versions of `package` whose verified release is in the home, the last one first."""
        rows = self._database.rows(
            "SELECT version FROM release WHERE package = ? AND collected_ms IS NULL ORDER BY staged_ms DESC, version",
            (package,),
        )
        return [version for (version,) in rows]

    def signed_by(self, package: str, key_id: str) -> list[str]:
        """The versions of `package` in the home that the key signed, the last one first."""
        rows = self._database.rows(
            "SELECT version FROM release WHERE package = ? AND signer = ? AND collected_ms IS NULL "
            "ORDER BY staged_ms DESC, version",
            (package, key_id),
        )
        return [version for (version,) in rows]

    def origin(self, package: str, version: str) -> str | None:
        """The source that the version was last installed from; None where no record says so."""
        row = self._database.row(
            "SELECT json_extract(detail, '$.source') FROM audit WHERE event = 'install.admitted' AND about = ? "
            "AND json_extract(detail, '$.source') IS NOT NULL ORDER BY sequence DESC LIMIT 1",
            (f"{package}@{version}",),
        )
        return row[0] if row else None

    def sources(self) -> list[tuple[str, str]]:
        """(name, directory) of every source, in the order in which they were added."""
        rows = self._database.rows("SELECT name, location FROM source ORDER BY added_ms, name")
        return [(name, location) for name, location in rows]

    def highest_seen(self, package: str, signer: str) -> str | None:
        """The highest version of `package` that `signer` was ever seen to release here."""
        row = self._database.row(
            "SELECT version FROM seen WHERE package = ? AND signer = ?", (package, signer)
        )
        return row[0] if row else None


class Trust(TrustRecords):
    """The owner's decisions about publishers and sources."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._writes = database

    def add_key(self, package: str, key_id: str, public_key: str, *, subject: str) -> None:
        """Trust `public_key` (SPKI PEM) for releases of `package`; raises RKT068 for one that was revoked there."""
        with self._writes.write(POWER) as tx:
            tx.run(
                "INSERT OR IGNORE INTO trust (package, key_id, public_key, added_ms) VALUES (?, ?, ?, ?)",
                (package, key_id, public_key, tx.now),
            )
            if tx.run(f"{_KEY} AND revoked_ms IS NOT NULL", (package, key_id)):
                raise RukhError(
                    "RKT068",
                    "it is never trusted again for this package",
                    place=key_id,
                    mend="ask the publisher for releases signed with another key",
                )
            tx.audit("trust.added", "cli", subject, package, key_id)

    def revoke_key(self, package: str, key_id: str, *, subject: str) -> None:
        """Take the trust back for good: nothing it signed is bound anew or called, and nothing is published by it.

        Raises RKT069 where the key was never trusted for `package`; revoking twice changes nothing. RK-PUB-030
        """
        with self._writes.write(POWER) as tx:
            if not tx.run(_KEY, (package, key_id)):
                raise RukhError(
                    "RKT069", f"{package} has no such key", place=key_id, mend="see the keys: trust list"
                )
            revoke = "UPDATE trust SET revoked_ms = ? WHERE package = ? AND key_id = ? AND revoked_ms IS NULL"
            if tx.run(f"{revoke} RETURNING 1", (tx.now, package, key_id)):
                tx.audit("trust.revoked", "cli", subject, package, key_id)

    def add_source(self, name: str, location: str, *, subject: str) -> str | None:
        """Name a static catalog's directory; a used name is replaced, and the directory that it had is given."""
        with self._writes.write(POWER) as tx:
            before = tx.run("SELECT location FROM source WHERE name = ?", (name,))
            tx.run("INSERT OR REPLACE INTO source VALUES (?, ?, ?)", (name, location, tx.now))
            tx.audit("source.added", "cli", subject, name, location)
        return before[0][0] if before else None

    def remove_source(self, name: str, *, subject: str) -> None:
        """Take a source off the list; what was installed from it stays. Raises RKT073 for one that is not on it."""
        with self._writes.write(POWER) as tx:
            if not tx.run("DELETE FROM source WHERE name = ? RETURNING 1", (name,)):
                raise RukhError(
                    "RKT073",
                    "there is no source of this name",
                    place=name,
                    mend="see the sources: source list",
                )
            tx.audit("source.removed", "cli", subject, name)

    def record_admission(
        self, admitted: bool, package: str, version: str, detail: str, *, subject: str
    ) -> None:
        """The decision about an installation's effects, before anything is fetched."""
        with self._writes.write(POWER) as tx:
            tx.audit(
                "install.admitted" if admitted else "install.denied",
                "cli",
                subject,
                f"{package}@{version}",
                detail,
            )

    def record_consent(self, given: bool, about: str, detail: str, *, subject: str) -> None:
        """The owner's decision on what an update changes, before it is published. RK-CONS-010"""
        with self._writes.write(POWER) as tx:
            tx.audit("consent.given" if given else "consent.refused", "cli", subject, about, detail)
