"""Recovery: what the dead left under way gets its outcome, once and for ever. Never on the path of a call.

An operation without outcome is aborted: its flip was not committed, or it would have one. One with an outcome keeps it
and is no longer owed. A call whose host is dead ends as `host_lost`, and lets go of its release. Nothing of a living
holder is touched, and all of it is found by index, however long the journal is. RK-PUB-010 … RK-PUB-017
"""

from __future__ import annotations

from collections.abc import Callable

from rukh.machines import publication
from rukh.store.database import POWER, Database, Transaction
from rukh.store.holders import is_alive
from rukh.store.home import Home
from rukh.store.profiles import NO_REVISION

# `> ''` says "not null" in words that the planner takes for a search of the partial index.
OWED = "SELECT DISTINCT holder FROM operation WHERE holder > ''"
OPEN_CALLS = "SELECT DISTINCT holder FROM invocation WHERE outcome IS NULL AND holder > ''"
OWED_BY = "SELECT id, state, step, revision FROM operation WHERE holder = ? ORDER BY id"
OPEN_OF = "SELECT id, surface, subject FROM invocation WHERE outcome IS NULL AND holder = ? ORDER BY id"
LOST = "execution_failed"


class Found:
    """An operation that a dead process owed: what is recorded of it now, and whether that was decided only now."""

    __slots__ = ("aborted", "operation", "revision", "state")

    def __init__(self, operation: str, state: str, revision: str, aborted: bool) -> None:
        self.operation = operation
        self.state = state
        self.revision = revision
        self.aborted = aborted


class Recovery:
    """Settles what dead holders left behind in one home."""

    def __init__(self, database: Database, home: Home) -> None:
        self._database = database
        self._home = home

    def operations(self) -> list[Found]:
        """The operations that dead holders owed, each with its outcome."""
        dead = self.owing()
        if not dead:
            return []
        with self._database.write(POWER) as tx:
            return settle(tx, dead)

    def owing(self) -> list[str]:
        """Dead holders that owe the answer of an operation."""
        return self._dead(OWED)

    def calls(self, envelope: Callable[[str], str]) -> list[str]:
        """The calls whose host died, ended now; `envelope` gives the document that is kept for an invocation."""
        dead = self._dead(OPEN_CALLS)
        if not dead:
            return []
        with self._database.write(POWER) as tx:
            return [_ended(tx, envelope, *row) for holder in dead for row in tx.run(OPEN_OF, (holder,))]

    def _dead(self, holders: str) -> list[str]:
        """Dead is for ever: what is asked here holds inside the transaction as well."""
        return [row[0] for row in self._database.rows(holders) if not is_alive(self._home, row[0])]


def settle(tx: Transaction, dead: list[str]) -> list[Found]:
    """The same inside a transaction that goes on, or is taken back."""
    return [_settled(tx, *row) for holder in dead for row in tx.run(OWED_BY, (holder,))]


def _settled(tx: Transaction, operation: str, state: str, step: str, revision: str | None) -> Found:
    place = step if state == publication.BEGUN else state
    lost = publication.takes(place, "abort")
    if lost:
        state = publication.after(place, "abort")
        tx.run("DELETE FROM binding WHERE operation = ?", (operation,))
        tx.audit("profile.aborted", "cli", "", NO_REVISION, operation)
    tx.run(
        "UPDATE operation SET state = ?, holder = NULL, detail = iif(?, 'its process died', detail) WHERE id = ?",
        (state, lost, operation),
    )
    return Found(operation, state, revision or NO_REVISION, lost)


def _ended(
    tx: Transaction, envelope: Callable[[str], str], invocation: str, surface: str, subject: str
) -> str:
    tx.run(
        "UPDATE invocation SET outcome = ?, envelope = ?, finished_ms = ? WHERE id = ?",
        (LOST, envelope(invocation), tx.now, invocation),
    )
    tx.run("DELETE FROM reference WHERE invocation = ?", (invocation,))
    tx.audit("invocation.lost", surface, subject, invocation, "host_lost")
    return invocation
