"""Collection: what nobody needs any more is given back. Never on the path of a call.

Kept are, of revisions: the active one, the newest `keptRevisions`, and those that a call with a reference was captured
under; of releases: what has a tie (`machines.publication.LIFE`); of contents: what a kept revision or an operation that
is not over names. The journal of operations stays, because an operation has one outcome for ever. What the dead left
behind is settled first, so that it ties nothing. RK-PUB-020 … RK-PUB-024

A collected release keeps its row, with the time: nothing binds it again unless it is installed again. Its files are
removed by who asked, behind this transaction, and in the turn of the releases.
"""

from __future__ import annotations

from typing import Any

from rukh.machines import publication
from rukh.store.database import POWER, PROCESS, Database, Transaction
from rukh.store.recovery import Recovery, settle
from rukh.values.registry import LIMIT_KEPT_REVISIONS, LIMIT_WRITE_AHEAD_ROWS

_OLD_REVISIONS = """
SELECT sequence, id, operation FROM revision
WHERE sequence NOT IN (SELECT sequence FROM active)
  AND sequence NOT IN (SELECT sequence FROM revision ORDER BY sequence DESC LIMIT ?)
  AND id NOT IN (SELECT i.revision FROM reference f JOIN invocation i ON i.id = f.invocation)
ORDER BY sequence
"""
# tie -> a statement that gives a row when the release has it. Effects come with the operations that cause them.
_TIES = {
    "active": "SELECT 1 FROM active JOIN revision v USING (sequence) JOIN binding b ON b.operation = v.operation "
    "WHERE b.tree = ?",
    "reference": "SELECT 1 FROM reference WHERE tree = ?",
    "staging": "SELECT 1 FROM binding b JOIN operation o ON o.id = b.operation "
    "WHERE b.tree = ? AND o.state = 'begun'",
    "kept": "SELECT 1 FROM binding b JOIN revision v ON v.operation = b.operation WHERE b.tree = ?",
}
_UNNAMED = """
SELECT DISTINCT {column} FROM {table} EXCEPT SELECT {column} FROM revision
EXCEPT SELECT {column} FROM operation WHERE state = 'begun' AND {column} IS NOT NULL
"""
_NAMED = """
SELECT 1 FROM revision WHERE {column} = ? UNION SELECT 1 FROM operation WHERE state = 'begun' AND {column} = ?
"""
# table, the column of the digest that names its rows, the rest of its key
_CONTENTS = (
    ("command", "generation", "identity"),
    ("route", "generation", "path"),
    ("export", "projection", "endpoint, identity"),
)
_UNUSED = "NOT EXISTS (SELECT 1 FROM export WHERE export.tail = tail.digest)"
_UNUSED_TAILS = f"SELECT digest FROM tail WHERE {_UNUSED}"
_DROP_TAIL = "DELETE FROM tail WHERE digest = ?"


class Collected:
    """What was, or with a dry run would be, given back: ids of revisions, tree digests, number of content rows."""

    __slots__ = ("contents", "releases", "revisions")

    def __init__(self, revisions: list[str], releases: list[str]) -> None:
        self.revisions = revisions
        self.releases = releases
        self.contents = 0


class _Undo(Exception):
    """A dry run decides as a real one does, and takes it back."""


class Collection:
    """Decides what may go, and removes its records."""

    def __init__(self, database: Database, recovery: Recovery) -> None:
        self._database = database
        self._recovery = recovery

    def collect(self, *, dry_run: bool, keep: int = LIMIT_KEPT_REVISIONS, subject: str) -> Collected:
        """Give back what is not kept; the files of the releases are left to the caller."""
        dead = self._recovery.owing()
        collected = Collected([], [])
        try:
            with self._database.write(POWER) as tx:
                settle(tx, dead)
                collected = Collected(
                    self._drop_revisions(tx, keep, subject), self._drop_releases(tx, subject)
                )
                if dry_run:
                    raise _Undo
        except _Undo:
            return collected
        collected.contents = self._drop_contents()
        return collected

    def standing(self, tree: str) -> str:
        """What a release is to the home: a state of the machine, also for a tree that has no record."""
        return standing(self._database.rows, tree)

    def _drop_revisions(self, tx: Transaction, keep: int, subject: str) -> list[str]:
        old = tx.run(_OLD_REVISIONS, (keep,))
        for sequence, revision, operation in old:
            tx.run("DELETE FROM binding WHERE operation = ?", (operation,))
            tx.run("DELETE FROM revision WHERE sequence = ?", (sequence,))
            tx.audit("revision.collected", "cli", subject, revision)
        return [revision for _, revision, _ in old]

    def _drop_releases(self, tx: Transaction, subject: str) -> list[str]:
        rows = tx.run("SELECT tree FROM release WHERE collected_ms IS NULL ORDER BY tree")
        trees = [tree for (tree,) in rows if standing(tx.run, tree) == publication.COLLECTABLE]
        for tree in trees:
            tx.run("UPDATE release SET collected_ms = ? WHERE tree = ?", (tx.now, tree))
            tx.audit("release.collected", "cli", subject, tree)
        return trees

    def _drop_contents(self) -> int:
        """Contents that nothing names, a bounded number of rows at a time; each is looked at again before it goes."""
        dropped = 0
        for table, column, key in _CONTENTS:
            for (digest,) in self._database.rows(_UNNAMED.format(table=table, column=column)):
                dropped += self._drop_rows(table, column, key, digest)
        tails = self._database.rows(_UNUSED_TAILS)
        for start in range(0, len(tails), LIMIT_WRITE_AHEAD_ROWS):
            with self._database.write(PROCESS) as tx:
                tx.each(f"{_DROP_TAIL} AND {_UNUSED}", tails[start : start + LIMIT_WRITE_AHEAD_ROWS])
        return dropped + len(tails)

    def _drop_rows(self, table: str, column: str, key: str, digest: str) -> int:
        part = f"SELECT {key} FROM {table} WHERE {column} = ? LIMIT {LIMIT_WRITE_AHEAD_ROWS}"
        drop = f"DELETE FROM {table} WHERE {column} = ? AND ({key}) IN ({part}) RETURNING 1"
        dropped = 0
        while True:
            with self._database.write(PROCESS) as tx:
                named = tx.run(_NAMED.format(column=column), (digest, digest))
                gone = [] if named else tx.run(drop, (digest, digest))
            dropped += len(gone)
            if not gone:
                return dropped


def standing(rows: Any, tree: str) -> str:
    """What a release is to the home, asked by `rows` (a statement and its values give rows)."""
    return publication.life(frozenset(tie for tie, sql in _TIES.items() if rows(sql, (tree,))))
