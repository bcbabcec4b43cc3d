"""Drives production for the publication model and reads its state back; it knows production's public doors only."""

from __future__ import annotations

from typing import NamedTuple

from models import publication as model
from models.enumerate import Step
from models.lockstep import Adapter, Clone
from rukh.store.calls import Caller, Calls, Kept, Moved, Pinned
from rukh.store.holders import is_alive
from rukh.store.profiles import NO_REVISION, Contents, Staged, stored
from rukh.store.publications import Intent
from rukh.store.store import Store
from rukh.values.errors import RukhError

PACKAGE = "acme.x"
COMMAND = f"{PACKAGE}/run"
OWNER = Caller("cli", "user:local", "user:local")
_ANSWERS = {"RKA011": "denied", "RKO001": "other content", "RKO003": "under way"}


_ENDED = (
    "SELECT id, state FROM operation WHERE state != 'begun' "
    "UNION ALL SELECT id, outcome FROM invocation WHERE outcome IS NOT NULL"
)
# What no state of the model can say, and must not be: a statement that finds it.
_NEVER = {
    "nobody owes what is under way": "SELECT id FROM operation WHERE state = 'begun' AND holder IS NULL",
    "what is over binds": "SELECT operation FROM binding b WHERE NOT EXISTS (SELECT 1 FROM revision v "
    "WHERE v.operation = b.operation) AND NOT EXISTS (SELECT 1 FROM operation o WHERE o.id = b.operation "
    "AND o.state = 'begun')",
    "a release is another one than it was": "SELECT tree FROM release WHERE package != 'acme.x' "
    "OR version != substr(tree, 6) || '.0.0' OR signer != 'key_' || substr(tree, 6)",
    "a revision is named twice": "SELECT revision FROM operation WHERE state = 'committed' "
    "GROUP BY revision HAVING count(*) > 1",
}


class Actor(NamedTuple):
    """Who an actor is in the database: its holder, its operation, what that asked for, its call."""

    holder: str
    operation: str = ""
    asked: model.Operation | None = None
    call: str = ""


class Production(Adapter):
    """Publication in one home."""

    model = model

    def first(
        self, store: Store, bound: model.Bound
    ) -> tuple[tuple[Actor, ...], tuple[tuple[str, str], ...]]:
        """A home with its first revision, and nothing installed."""
        content = model.Content(0, 0)
        store.publications.publish(
            "op_0", NO_REVISION, profile(content), contents(content), subject="user:local", surface="cli"
        )
        for number in range(1, bound.releases + 1):
            store.trust.add_key(PACKAGE, key(number), "PEM", subject="user:local")
        return tuple(Actor(f"hold_{number}") for number in range(bound.actors)), (("op_0", "committed"),)

    def ended(self, store: Store, known: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        """Outcomes of operations and calls, each as it was when it was first seen."""
        rows = store.database.rows(_ENDED)
        return tuple(sorted({**dict(rows), **dict(known)}.items()))

    # --- the rules, one door of production each ---

    def _begin(self, store: Store, clone: Clone, step: Step) -> tuple[str, Actor]:
        asked = step.behind.operations[step.actor]
        assert asked is not None
        actor = clone.actors[step.actor]._replace(operation=f"op_{clone.made}", asked=asked)
        recorded = store.publications.begin(intent_of(store, actor))
        return (recorded.state if recorded else "begun"), actor

    def _stage(self, store: Store, clone: Clone, step: Step) -> tuple[str, Actor]:
        actor = clone.actors[step.actor]
        store.publications.stage(intent_of(store, actor))
        return "staged", actor

    def _validate(self, store: Store, clone: Clone, step: Step) -> tuple[str, Actor]:
        actor = clone.actors[step.actor]
        refused = store.publications.validate(intent_of(store, actor))
        return (refused.state if refused else "validated"), actor

    def _commit(self, store: Store, clone: Clone, step: Step) -> tuple[str, Actor]:
        actor = clone.actors[step.actor]
        return store.publications.commit(intent_of(store, actor)).state, actor

    def _abort(self, store: Store, clone: Clone, step: Step) -> tuple[str, Actor]:
        actor = clone.actors[step.actor]
        store.publications.abort(intent_of(store, actor), "cancelled")
        found = store.publications.operation(actor.operation)
        return (found.state if found else ""), actor

    def _acknowledge(self, store: Store, clone: Clone, step: Step) -> tuple[str, Actor]:
        actor = clone.actors[step.actor]
        store.publications.acknowledge(actor.operation)
        found = store.publications.operation(actor.operation)
        if found is None or found.state == "begun":
            return "under way", actor
        return found.state, actor._replace(operation="", asked=None)

    def _repeat(self, store: Store, clone: Clone, step: Step) -> tuple[str, Actor]:
        """As one does who has lost the answer; `other` under the same id is another publication."""
        actor = clone.actors[step.actor]
        intent = intent_of(store, actor)
        if step.argument == "other":
            intent = Intent(
                actor.operation, intent.expected, profile(model.Content(9, 9)), intent.contents,
                subject="user:local", surface="cli",
            )  # fmt: skip
        try:
            recorded = store.publications.begin(intent)
        except RukhError as refused:
            return _ANSWERS.get(refused.rule, refused.rule), actor
        return (recorded.state if recorded else "begun"), actor

    def _capture(self, store: Store, clone: Clone, step: Step) -> tuple[str, Actor]:
        actor = clone.actors[step.actor]
        sequence = step.argument
        assert isinstance(sequence, int)
        row = store.database.row(
            "SELECT v.id, b.tree FROM revision v JOIN binding b ON b.operation = v.operation WHERE v.sequence = ?",
            (sequence,),
        )
        assert row is not None
        call = f"inv_{clone.made}_{step.actor}"
        try:
            store.calls.capture(call, OWNER, Pinned(sequence, row[0], COMMAND, row[1]))
        except Moved:
            return "moved", actor
        except RukhError as refused:
            return _ANSWERS.get(refused.rule, refused.rule), actor
        return "captured", actor._replace(call=call)

    def _release(self, store: Store, clone: Clone, step: Step) -> tuple[str, Actor]:
        actor = clone.actors[step.actor]
        _finish(store.calls, actor.call, release=True)
        return "ended", actor._replace(call="")

    def _leave(self, store: Store, clone: Clone, step: Step) -> tuple[str, Actor]:
        actor = clone.actors[step.actor]
        _finish(store.calls, actor.call, release=False)
        return "left", actor

    def _crash(self, store: Store, clone: Clone, step: Step) -> tuple[str, Actor]:
        return "dead", clone.actors[step.actor]._replace(holder=f"hold_{clone.made + 1000}")

    def _recover(self, store: Store, clone: Clone, step: Step) -> tuple[str, Actor]:
        store.recovery.operations()
        store.recovery.calls(lambda invocation: f"{invocation} was lost")
        return "recovered", clone.actors[step.actor]

    def _collect(self, store: Store, clone: Clone, step: Step) -> tuple[str, Actor]:
        keep = step.argument
        assert isinstance(keep, int)
        would = store.collection.collect(dry_run=True, keep=keep, subject="user:local")
        did = store.collection.collect(dry_run=False, keep=keep, subject="user:local")
        same = (would.revisions, would.releases) == (did.revisions, did.releases)
        return ("collected" if same else "another plan"), clone.actors[step.actor]

    def _revoke(self, store: Store, clone: Clone, step: Step) -> tuple[str, Actor]:
        store.trust.revoke_key(PACKAGE, key(step.argument), subject="user:local")
        return "revoked", clone.actors[step.actor]

    rules = {
        "begin": _begin,
        "stage": _stage,
        "validate": _validate,
        "commit": _commit,
        "abort": _abort,
        "acknowledge": _acknowledge,
        "repeat": _repeat,
        "capture": _capture,
        "release": _release,
        "leave": _leave,
        "crash": _crash,
        "recover": _recover,
        "collect": _collect,
        "revoke": _revoke,
    }

    # --- what is found ---

    def observed(
        self, store: Store, actors: tuple[Actor, ...], ended: tuple[tuple[str, str], ...]
    ) -> model.State | str:
        """The state that the tables hold, or what is wrong with them that no state can say."""
        wrong = (
            _outcomes_that_changed(store, ended)
            or _what_resolves_wrongly(store)
            or _held_by_nobody(store, actors)
        )
        if wrong:
            return wrong
        rows = store.database.rows
        (last,) = rows("SELECT value FROM meta WHERE name = 'last_sequence'")[0]
        kept = {
            sequence: content_of(text) for sequence, text in rows("SELECT sequence, profile FROM revision")
        }
        revoked = rows("SELECT key_id FROM trust WHERE revoked_ms IS NOT NULL")
        state = model.State(
            tuple(kept.get(sequence) for sequence in range(1, last + 1)),
            rows("SELECT sequence FROM active")[0][0],
            frozenset(
                _number(tree) for (tree,) in rows("SELECT tree FROM release WHERE collected_ms IS NULL")
            ),
            frozenset(_number(name) for (name,) in revoked),
            tuple(self._operation(store, actor) for actor in actors),
            tuple(self._call(store, actor) for actor in actors),
        )
        for release in (1, 2):
            found = store.collection.standing(f"tree_{release}")
            if found != model.standing(state, release):
                return f"release {release} is {found}, not {model.standing(state, release)}"
        return state

    def _operation(self, store: Store, actor: Actor) -> model.Operation | None:
        row = store.database.row(
            "SELECT expected, state, step, revision, holder FROM operation WHERE id = ?", (actor.operation,)
        )
        if row is None or row[4] is None or actor.asked is None:
            return None
        expected, state, step, revision, holder = row
        place, sequence = (step, 0) if state == "begun" else (state, 0)
        if state == "committed":
            sequence = _sequence(revision)
        return actor.asked._replace(
            expected=_sequence(expected), place=place, revision=sequence, held=is_alive(self._home, holder)
        )

    def _call(self, store: Store, actor: Actor) -> model.Call | None:
        row = store.database.row(
            "SELECT i.revision, f.tree, i.outcome IS NULL, i.holder FROM reference f JOIN invocation i "
            "ON i.id = f.invocation WHERE f.invocation = ?",
            (actor.call,),
        )
        if row is None:
            return None
        revision, tree, is_open, holder = row
        held = not is_open or (holder is not None and is_alive(self._home, holder))
        return model.Call(_sequence(revision), _number(tree), bool(is_open), held)


def _finish(calls: Calls, call: str, *, release: bool) -> None:
    calls.commit(call, OWNER, "succeeded", "{}", Kept(), release=release)


def _outcomes_that_changed(store: Store, ended: tuple[tuple[str, str], ...]) -> str:
    found = dict(store.database.rows(_ENDED))
    changed = [
        f"{name} was {state}, is {found.get(name)}" for name, state in ended if found.get(name) != state
    ]
    changed += [f"{name}: {what}" for what, sql in _NEVER.items() for (name,) in store.database.rows(sql)]
    return "; ".join(changed)


def _held_by_nobody(store: Store, actors: tuple[Actor, ...]) -> str:
    """References of calls that no actor has any more."""
    calls = {actor.call for actor in actors}
    held = [call for (call,) in store.database.rows("SELECT invocation FROM reference") if call not in calls]
    return "; ".join(f"{call} is referenced" for call in held)


def _what_resolves_wrongly(store: Store) -> str:
    """The words of the active content resolve, those of any other content do not, and its exports are whole."""
    row = store.database.row(
        "SELECT profile, generation, projection FROM active JOIN revision USING (sequence)"
    )
    assert row is not None
    active = content_of(row[0])
    for release in range(3):
        for policy in range(2):
            content = model.Content(release, policy)
            resolves = store.profiles.resolve(row[1], [word(content)]) is not None
            if resolves != (content == active):
                return f"{word(content)} resolves: {resolves}"
    if store.profiles.exports(row[2], "desk") != [(COMMAND, f'"{word(active)}"')]:
        return f"the exports of {word(active)} are not whole"
    return ""


# --- the model's numbers as documents ---


def _number(name: str) -> int:
    return int(name.rpartition("_")[2])


def _sequence(revision: str) -> int:
    return int(revision[1:].partition("-")[0])


def key(number: object) -> str:
    return f"key_{number}"


def word(content: model.Content) -> str:
    return f"w{content.release}{content.policy}"


def profile(content: model.Content) -> dict[str, object]:
    number = content.release
    packages = {PACKAGE: {"tree": f"tree_{number}", "signer": key(number)}} if number else {}
    return {"mark": [number, content.policy], "packages": packages, "endpoints": {"desk": {"namespace": "n"}}}


def content_of(text: str) -> model.Content:
    mark = stored(text)["mark"]
    return model.Content(mark[0], mark[1])


def contents(content: model.Content) -> Contents:
    name = word(content)
    return Contents(
        f"g_{name}",
        [(COMMAND, {"identity": COMMAND})],
        [((name,), "command", COMMAND, "Runs")],
        {"desk": [(COMMAND, f"t_{name}")]},
        {f"t_{name}": f'"{name}"'},
    )


def intent_of(store: Store, actor: Actor) -> Intent:
    """What the actor asked for, put together again: production keeps only its digest."""
    asked = actor.asked
    assert asked is not None
    number = asked.brings
    staged = Staged(PACKAGE, f"{number}.0.0", key(number), f"tree_{number}", "a", "d", f"{number}.0.0")
    recorded = store.database.row("SELECT expected FROM operation WHERE id = ?", (actor.operation,))
    active = store.profiles.active()
    expected = recorded[0] if recorded else (active.revision if active else NO_REVISION)
    return Intent(
        actor.operation,
        expected,
        profile(asked.content),
        contents(asked.content),
        subject="user:local",
        surface="cli",
        staged=staged if number else None,
    )
