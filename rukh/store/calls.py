"""Calls: captured in one transaction, finished in another.

Capture compares the revision once more, counts the call on its task, and pins the release by a reference, all or
nothing. The outcome, the kept result, the diagnostics, the audit row and the end of the reference are one transaction
too: what is not committed is not shown. RK-CAPT-001 … RK-CAPT-009
"""

from __future__ import annotations

from rukh.store.database import PROCESS
from rukh.store.tasks import count_call
from rukh.values.errors import RukhError
from rukh.values.ids import new_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.store.database import Database, Transaction
    from rukh.store.holders import Holder

# The active sequence, and whether the key that signed what it binds for a package was revoked. Revoked keys are rare,
# so that they are looked for first.
_ACTIVE = """
SELECT a.sequence, EXISTS (
  SELECT 1 FROM trust t CROSS JOIN revision v CROSS JOIN binding b
  WHERE t.package = ? AND t.revoked_ms IS NOT NULL AND v.sequence = a.sequence
    AND b.operation = v.operation AND b.package = t.package AND b.signer = t.key_id)
FROM active a
"""
# How long a finished call's envelope and diagnostics are kept for the owner.
_KEEP_MS = 7 * 24 * 3600 * 1000


class Moved(Exception):
    """Another revision was published since the call was resolved: resolve it again."""


class Caller:
    """Who calls, bound by the host: `surface` is cli or mcp; `task` is None in the terminal."""

    __slots__ = ("actor", "subject", "surface", "task")

    def __init__(self, surface: str, subject: str, actor: str, task: str | None = None) -> None:
        self.surface = surface
        self.subject = subject
        self.actor = actor
        self.task = task


class Pinned:
    """What a call was resolved to: the revision, the command and the release that it keeps to its end."""

    __slots__ = ("identity", "revision", "sequence", "tree")

    def __init__(self, sequence: int, revision: str, identity: str, tree: str) -> None:
        self.sequence = sequence
        self.revision = revision
        self.identity = identity
        self.tree = tree


class Kept:
    """Bounded diagnostics of one call: bytes of each stream and how many more were dropped."""

    __slots__ = ("stderr", "stderr_dropped", "stdout", "stdout_dropped")

    def __init__(
        self, stdout: bytes = b"", stdout_dropped: int = 0, stderr: bytes = b"", stderr_dropped: int = 0
    ) -> None:
        self.stdout = stdout
        self.stdout_dropped = stdout_dropped
        self.stderr = stderr
        self.stderr_dropped = stderr_dropped


class Calls:
    """Capture, rejection and outcome of calls."""

    def __init__(self, database: Database, holder: Holder) -> None:
        self._database = database
        self._holder = holder

    def capture(self, invocation: str, caller: Caller, pinned: Pinned) -> None:
        """Admit the call and pin its release; raises Moved, RKA003, RKA004 or RKA011, and then nothing was counted."""
        holder = self._holder.id
        package = pinned.identity.partition("/")[0]
        with self._database.write(PROCESS) as tx:
            active = tx.run(_ACTIVE, (package,))
            if not active or active[0][0] != pinned.sequence:
                raise Moved
            if active[0][1]:
                raise revoked(package)
            if caller.task is not None:
                count_call(tx, caller.task)
            self._insert(tx, invocation, caller, pinned, holder)
            tx.run("INSERT INTO reference VALUES (?, ?)", (invocation, pinned.tree))
            tx.audit("invocation.captured", caller.surface, caller.subject, invocation, pinned.identity)

    def reject(self, invocation: str, caller: Caller, pinned: Pinned, envelope: str) -> None:
        """Record a call that was refused before its start: it has an identity, and costs nothing."""
        with self._database.write(PROCESS) as tx:
            self._insert(tx, invocation, caller, pinned, None)
            self._finish(tx, invocation, "rejected", envelope, Kept())
            tx.audit("invocation.rejected", caller.surface, caller.subject, invocation, pinned.identity)

    def commit(
        self, invocation: str, caller: Caller, outcome: str, envelope: str, kept: Kept, *, release: bool
    ) -> None:
        """The one outcome of a captured call; `release` ends its reference, which unconfirmed cleanup keeps."""
        with self._database.write(PROCESS) as tx:
            self._finish(tx, invocation, outcome, envelope, kept)
            if release:
                tx.run("DELETE FROM reference WHERE invocation = ?", (invocation,))
            tx.audit("invocation.finished", caller.surface, caller.subject, invocation, outcome)

    def envelope(self, invocation: str) -> str | None:
        """The committed envelope of a call, for reading a lost answer by its id."""
        row = self._database.row("SELECT envelope FROM invocation WHERE id = ?", (invocation,))
        return row[0] if row else None

    def diagnostics(self, invocation: str) -> Kept | None:
        """What the owner may read of a call's streams."""
        row = self._database.row(
            "SELECT stdout, stdout_dropped, stderr, stderr_dropped FROM invocation WHERE id = ?",
            (invocation,),
        )
        return Kept(*row) if row and row[0] is not None else None

    def _insert(
        self, tx: Transaction, invocation: str, caller: Caller, pinned: Pinned, holder: str | None
    ) -> None:
        tx.run(
            "INSERT INTO invocation (id, surface, subject, actor, task, revision, identity, tree, captured_ms, "
            "holder) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                invocation,
                caller.surface,
                caller.subject,
                caller.actor,
                caller.task,
                pinned.revision,
                pinned.identity,
                pinned.tree,
                tx.now,
                holder,
            ),
        )

    def _finish(self, tx: Transaction, invocation: str, outcome: str, envelope: str, kept: Kept) -> None:
        changed = tx.run(
            "UPDATE invocation SET outcome = ?, envelope = ?, stdout = ?, stdout_dropped = ?, stderr = ?, "
            "stderr_dropped = ?, finished_ms = ?, keep_until_ms = ? WHERE id = ? AND outcome IS NULL RETURNING id",
            (
                outcome,
                envelope,
                kept.stdout,
                kept.stdout_dropped,
                kept.stderr,
                kept.stderr_dropped,
                tx.now,
                tx.now + _KEEP_MS,
                invocation,
            ),
        )
        if not changed:
            raise RukhError(
                "RKS006", "the call has an outcome already", place=invocation, mend="report this fault"
            )


def revoked(package: str) -> RukhError:
    """The refusal of a call whose release was signed with a key that was revoked since. RK-PUB-031"""
    return RukhError(
        "RKA011",
        f"the key that signed the installed release of {package} was revoked",
        place=package,
        mend="update to a release signed by another key, or remove the package",
    )


def new_invocation() -> str:
    """A fresh invocation id."""
    return new_id("inv")
