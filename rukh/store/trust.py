"""Trust and installation records: publishers' keys by package, sources by name, highest versions seen."""

from __future__ import annotations

from rukh.store.database import POWER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.store.database import Database


class Trust:
    """The owner's decisions about publishers and sources."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add_key(self, package: str, key_id: str, public_key: str, *, subject: str) -> None:
        """Trust `public_key` (SPKI PEM) for releases of `package`."""
        with self._database.write(POWER) as tx:
            tx.run("INSERT OR IGNORE INTO trust VALUES (?, ?, ?, ?)", (package, key_id, public_key, tx.now))
            tx.audit("trust.added", "cli", subject, package, key_id)

    def keys(self, package: str) -> list[tuple[str, str]]:
        """(key id, SPKI PEM) of every key trusted for `package`."""
        return [
            (key_id, public_key)
            for key_id, public_key in self._database.rows(
                "SELECT key_id, public_key FROM trust WHERE package = ? ORDER BY added_ms, key_id", (package,)
            )
        ]

    def add_source(self, name: str, location: str, *, subject: str) -> None:
        """Name a static catalog's directory; a used name is replaced."""
        with self._database.write(POWER) as tx:
            tx.run("INSERT OR REPLACE INTO source VALUES (?, ?, ?)", (name, location, tx.now))
            tx.audit("source.added", "cli", subject, name, location)

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

    def record_admission(
        self, admitted: bool, package: str, version: str, detail: str, *, subject: str
    ) -> None:
        """The decision about an installation's effects, before anything is fetched."""
        with self._database.write(POWER) as tx:
            tx.audit(
                "install.admitted" if admitted else "install.denied",
                "cli",
                subject,
                f"{package}@{version}",
                detail,
            )
