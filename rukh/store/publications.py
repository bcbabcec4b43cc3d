"""Publication: what writes the active profile. Never on the path of a call.

    begin        record the operation, what it would bind, and who owes its answer
    stage        write its contents ahead, addressed by digest and seen by nobody, a bounded number of rows at a time
    validate     judge what it binds anew: a revoked signer or a release that is not there refuses it
    commit       compare, judge once more, and flip one pointer: a call waits at most for this
    acknowledge  the answer was given, and nobody owes it any more

Each is a transaction (`stage` many), so that whatever is left by a death says how far it came: before the commit it is
aborted by the next recovery, behind it the record is the outcome, acknowledged or not. No operation begins before what
the dead left behind is settled. A revision is `r<sequence>-<16 hex of the SHA-256 of the canonical profile>`, and a
sequence is never used twice. RK-PUB-002 … RK-PUB-013
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rukh.machines import publication, steps
from rukh.store.database import POWER, PROCESS, Database, Transaction
from rukh.store.holders import Holder
from rukh.store.profiles import NO_REVISION, Contents, Staged, revision_of
from rukh.store.recovery import Recovery
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.ids import sha256_hex
from rukh.values.registry import LIMIT_WRITE_AHEAD_ROWS

# What the operation binds and the active revision does not; each with the reasons why it may not be bound.
_NEWLY_BOUND = """
SELECT b.package, b.tree,
  EXISTS (SELECT 1 FROM trust t WHERE t.package = b.package AND t.key_id = b.signer AND t.revoked_ms IS NOT NULL),
  NOT EXISTS (SELECT 1 FROM release r WHERE r.tree = b.tree AND r.collected_ms IS NULL)
FROM binding b WHERE b.operation = ? AND NOT EXISTS (
  SELECT 1 FROM active JOIN revision v USING (sequence) JOIN binding o ON o.operation = v.operation
  WHERE o.package = b.package AND o.tree = b.tree AND o.signer = b.signer)
"""
_EVENTS = {
    publication.COMMITTED: "profile.published",
    publication.CONFLICTED: "profile.conflicted",
    publication.REFUSED: "profile.refused",
    publication.ABORTED: "profile.aborted",
}


class Published:
    """The state of an operation, final but for one that is under way, and the revision that is active behind it.

    On a conflict that is the winner's; `detail` says why an operation was refused or aborted.
    """

    __slots__ = ("detail", "revision", "state")

    def __init__(self, state: str, revision: str, detail: str = "") -> None:
        self.state = state
        self.revision = revision
        self.detail = detail


class Intent:
    """One publication as it is asked for: `profile` is to replace the revision `expected` (`NO_REVISION`: the first).

    `staged` is the release that it brings in, if it does. `digest` is over everything that decides what is published.
    """

    def __init__(
        self,
        operation: str,
        expected: str,
        profile: Mapping[str, Any],
        contents: Contents,
        *,
        subject: str,
        surface: str,
        staged: Staged | None = None,
    ) -> None:
        self.operation = operation
        self.expected = expected
        self.text = canonical(profile)
        self.contents = contents
        self.staged = staged
        self.subject = subject
        self.surface = surface
        self.bindings = [
            (operation, package, entry["tree"], entry.get("signer", ""))
            for package, entry in profile["packages"].items()
        ]
        self.namespaces = [(name, point["namespace"]) for name, point in profile["endpoints"].items()]
        digested = [expected, self.text, contents.generation, contents.projection]
        self.digest = sha256_hex(canonical(digested).encode())


class Publications:
    """The operations of one home."""

    def __init__(self, database: Database, holder: Holder, recovery: Recovery) -> None:
        self._database = database
        self._holder = holder
        self._recovery = recovery

    def operation(self, operation: str) -> Published | None:
        """The recorded state of an operation, for asking by its id; None where it never began."""
        row = self._database.row("SELECT state, revision, detail FROM operation WHERE id = ?", (operation,))
        return Published(row[0], row[1] or NO_REVISION, row[2]) if row else None

    def publish(
        self,
        operation: str,
        expected: str,
        profile: Mapping[str, Any],
        contents: Contents,
        *,
        subject: str,
        surface: str,
        staged: Staged | None = None,
        observe: steps.Observe = steps.unobserved,
    ) -> Published:
        """All five steps. A used id with the same content gets its recorded answer and changes nothing.

        Raises RKO001 when `operation` was used with other content, RKO003 when another process is at it, and what
        `observe` raises, which aborts the operation.
        """
        intent = Intent(
            operation, expected, profile, contents, subject=subject, surface=surface, staged=staged
        )
        recorded = self.begin(intent)
        if recorded is not None:
            return recorded
        try:
            self.stage(intent, observe)
            published = self.validate(intent)
            if published is None:
                observe(steps.COMMIT, 0, 0)
                published = self.commit(intent)
        except BaseException:
            self._give_up(intent)
            raise
        self.acknowledge(operation)
        return published

    def begin(self, intent: Intent) -> Published | None:
        """Record the operation; its recorded outcome where it has one already. Raises RKO001 or RKO003."""
        self._recovery.operations()
        contents = intent.contents
        with self._database.write(PROCESS) as tx:
            known = tx.run(
                "SELECT digest, state, revision, detail FROM operation WHERE id = ?", (intent.operation,)
            )
            if known:
                return _recorded(intent, *known[0])
            tx.run(
                "INSERT INTO operation (id, digest, expected, state, step, detail, begun_ms, holder, generation, "
                "projection) VALUES (?, ?, ?, ?, ?, '', ?, ?, ?, ?)",
                (
                    intent.operation,
                    intent.digest,
                    intent.expected,
                    publication.BEGUN,
                    publication.BEGUN,
                    tx.now,
                    self._holder.id,
                    contents.generation,
                    contents.projection,
                ),
            )
            tx.each("INSERT INTO binding VALUES (?, ?, ?, ?)", intent.bindings)
        return None

    def stage(self, intent: Intent, observe: steps.Observe = steps.unobserved) -> None:
        """Write the contents ahead; between two transactions others have their turn, and `observe` may raise."""
        written, total = 0, _count(intent.contents)
        for sql, rows in _batches(intent.contents):
            observe(steps.STAGE, written, total)
            with self._database.write(PROCESS) as tx:
                tx.each(sql, rows)
            written += len(rows)
        with self._database.write(PROCESS) as tx:
            self._step(tx, intent.operation, "stage")

    def validate(self, intent: Intent) -> Published | None:
        """Judge what would be bound anew; the outcome where that refuses it."""
        why = _barred(self._database.rows, intent)
        if why:
            return self.refuse(intent, why)
        with self._database.write(PROCESS) as tx:
            self._step(tx, intent.operation, "validate")
        return None

    def refuse(self, intent: Intent, why: str) -> Published:
        """Record that a check said no; raises ValueError where the operation has an outcome already."""
        with self._database.write(POWER) as tx:
            return _settle(tx, intent, "refuse", _active(tx), why)

    def commit(self, intent: Intent) -> Published:
        """Compare and flip; the recorded outcome where there is one already."""
        with self._database.write(POWER) as tx:
            state, revision, detail = tx.run(
                "SELECT state, revision, detail FROM operation WHERE id = ?", (intent.operation,)
            )[0]
            if state in publication.FINAL:
                return Published(state, revision or NO_REVISION, detail)
            current = _active(tx)
            why = _barred(tx.run, intent)
            event = publication.decide(intent.expected, current, bool(why))
            if event == "flip":
                current = _flip(tx, intent)
            return _settle(tx, intent, event, current, why if event == "refuse" else "")

    def abort(self, intent: Intent, why: str) -> None:
        """Give an operation up that has no outcome yet; one that has keeps it."""
        with self._database.write(POWER) as tx:
            if publication.takes(_place(tx, intent.operation), "abort"):
                _settle(tx, intent, "abort", NO_REVISION, why)

    def acknowledge(self, operation: str) -> None:
        """The outcome was told: nobody owes it any more. One that is under way stays owed."""
        with self._database.write(PROCESS) as tx:
            tx.run("UPDATE operation SET holder = NULL WHERE id = ? AND state != 'begun'", (operation,))

    def _give_up(self, intent: Intent) -> None:
        """Abort; what is raised tells of that. A commit that stood already was told to nobody and stays owed."""
        try:
            self.abort(intent, "it was interrupted")
            found = self.operation(intent.operation)
            if found is not None and found.state == publication.ABORTED:
                self.acknowledge(intent.operation)
        except RukhError:
            pass  # the storage refuses even that: recovery aborts it when this process has gone

    def _step(self, tx: Transaction, operation: str, event: str) -> None:
        step = publication.after(_place(tx, operation), event)
        tx.run("UPDATE operation SET step = ? WHERE id = ?", (step, operation))


def _recorded(intent: Intent, digest: str, state: str, revision: str | None, detail: str) -> Published:
    if digest != intent.digest:
        raise RukhError(
            "RKO001",
            f"{intent.operation} was used with other content",
            place=intent.operation,
            mend="use a new operation id",
        )
    if state not in publication.FINAL:
        raise RukhError(
            "RKO003", "it is not over yet", place=intent.operation, mend="ask for its outcome later"
        )
    return Published(state, revision or NO_REVISION, detail)


def _place(tx: Transaction, operation: str) -> str:
    """Where the operation stands in the machine: its step while it is begun, its outcome behind that."""
    state, step = tx.run("SELECT state, step FROM operation WHERE id = ?", (operation,))[0]
    return str(step if state == publication.BEGUN else state)


def _active(tx: Transaction) -> str:
    found = tx.run("SELECT r.id FROM active a JOIN revision r USING (sequence)")
    return found[0][0] if found else NO_REVISION


def _barred(rows: Callable[..., list[Any]], intent: Intent) -> str:
    """Why one of the releases that would be bound anew may not be; "" where all may. RK-PUB-012 RK-PUB-030"""
    brought = intent.staged.tree if intent.staged else ""
    for package, tree, revoked, missing in rows(_NEWLY_BOUND, (intent.operation,)):
        if revoked:
            return f"the key that signed {package} was revoked"
        if missing and tree != brought:
            return f"the release of {package} is not installed"
    return ""


def _settle(tx: Transaction, intent: Intent, event: str, revision: str, why: str) -> Published:
    """The one outcome of an operation, with what goes with it."""
    state = publication.after(_place(tx, intent.operation), event)
    if state != publication.COMMITTED:
        tx.run("DELETE FROM binding WHERE operation = ?", (intent.operation,))
    tx.run(
        "UPDATE operation SET state = ?, revision = ?, detail = ? WHERE id = ?",
        (state, revision, why, intent.operation),
    )
    tx.audit(_EVENTS[state], intent.surface, intent.subject, revision, intent.operation)
    return Published(state, revision, why)


def _flip(tx: Transaction, intent: Intent) -> str:
    last = tx.run("SELECT value FROM meta WHERE name = 'last_sequence'")
    sequence = (last[0][0] if last else 0) + 1
    revision = revision_of(sequence, intent.text)
    contents = intent.contents
    tx.run("INSERT OR REPLACE INTO meta VALUES ('last_sequence', ?)", (sequence,))
    tx.run(
        "INSERT INTO revision VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            sequence,
            revision,
            intent.text,
            contents.generation,
            contents.projection,
            intent.operation,
            tx.now,
        ),
    )
    tx.run("INSERT OR REPLACE INTO active VALUES (1, ?)", (sequence,))
    # An endpoint that is taken out of the profile and comes back has its namespace still.
    tx.each("INSERT OR IGNORE INTO namespace VALUES (?, ?)", intent.namespaces)
    if intent.staged is not None:
        _record(tx, intent, intent.staged)
    return revision


def _record(tx: Transaction, intent: Intent, staged: Staged) -> None:
    """The release's row and the highest version seen, part of the publication that brings it in."""
    tx.run(
        "INSERT OR REPLACE INTO release (tree, package, version, signer, artifact, descriptor, staged_ms) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
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
    what = f"{staged.package}@{staged.version}"
    tx.audit("release.staged", intent.surface, intent.subject, what, staged.signer)


def _count(contents: Contents) -> int:
    """The rows of all batches."""
    exports = sum(len(pairs) for pairs in contents.exports.values())
    return len(contents.commands) + len(contents.routes) + exports + len(contents.tails)


def _batches(contents: Contents) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """Statements with their rows. Exports come before tails: a tail is kept as long as an export names it."""
    generation, projection = contents.generation, contents.projection
    routes = [(generation, " ".join(path), *rest) for path, *rest in contents.routes]
    exports = [
        (projection, endpoint, *pair) for endpoint, pairs in contents.exports.items() for pair in pairs
    ]
    tails = list(contents.tails.items())
    for start in range(0, len(contents.commands), LIMIT_WRITE_AHEAD_ROWS):
        part = contents.commands[start : start + LIMIT_WRITE_AHEAD_ROWS]
        commands = [(generation, identity, canonical(record)) for identity, record in part]
        yield "INSERT OR IGNORE INTO command VALUES (?, ?, ?)", commands
    yield from _parts("INSERT OR IGNORE INTO route VALUES (?, ?, ?, ?, ?)", routes)
    yield from _parts("INSERT OR IGNORE INTO export VALUES (?, ?, ?, ?)", exports)
    yield from _parts("INSERT OR IGNORE INTO tail VALUES (?, ?)", tails)


def _parts(sql: str, rows: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    for start in range(0, len(rows), LIMIT_WRITE_AHEAD_ROWS):
        yield sql, rows[start : start + LIMIT_WRITE_AHEAD_ROWS]
