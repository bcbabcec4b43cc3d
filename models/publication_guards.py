"""The guards of publication that mutants go without, one a line: see `models.mutants`."""

from __future__ import annotations

from models.subject import Guard

_P, _R, _C, _T, _K, _H = (
    f"rukh.store.{name}" for name in ("publications", "recovery", "collection", "trust", "calls", "holders")
)
_M = "rukh.machines.publication"

GUARDS = (
    Guard("commit does not compare", _M, "if expected != active:", "if False:", "actors"),
    Guard("commit takes a refusal for a flip", _M, 'return "refuse" if barred else "flip"', 'return "flip"'),
    Guard("commit does not look for an outcome", _P, "if state in publication.FINAL:", "if False:"),
    Guard("commit does not judge again", _P, "why = _barred(tx.run, intent)", 'why = ""'),
    Guard("validate refuses nothing", _P, "        if why:\n            return self.refuse", "        if False:\n            return self.refuse"),
    Guard("a revoked signer is bound", _P, "        if revoked:\n", "        if False:\n"),
    Guard("a release that is not there is bound", _P, "if missing and tree != brought:", "if False:"),
    Guard("what is brought counts as not there", _P, "if missing and tree != brought:", "if missing:"),
    Guard("a collected release counts as there", _P, "WHERE r.tree = b.tree AND r.collected_ms IS NULL)", "WHERE r.tree = b.tree)", "many"),
    Guard("other content under a used id", _P, "if digest != intent.digest:", "if False:"),
    Guard("an operation under way is answered", _P, "if state not in publication.FINAL:", "if False:"),
    Guard("begin forgets what is known", _P, "            if known:\n", "            if False:\n"),
    Guard("begin does not settle the dead", _P, "        self._recovery.operations()\n        contents", "        contents", "actors"),
    Guard("abort takes every state", _P, 'if publication.takes(_place(tx, intent.operation), "abort"):', "if True:"),
    Guard("acknowledge lets go of what is under way", _P, " AND state != 'begun'\"", '"'),
    Guard("what is bound already is judged again", _P, "WHERE o.package = b.package AND o.tree = b.tree AND o.signer = b.signer)", "WHERE false)", "many"),
    Guard("another release counts as bound already", _P, "AND o.tree = b.tree AND o.signer = b.signer)", ")", "releases"),
    Guard("the binding of a loser stays", _P, 'if state != publication.COMMITTED:\n        tx.run("DELETE FROM binding', 'if False:\n        tx.run("DELETE FROM binding'),
    Guard("the binding of a winner goes", _P, 'if state != publication.COMMITTED:\n        tx.run("DELETE FROM binding', 'if True:\n        tx.run("DELETE FROM binding'),
    Guard("a sequence is used again", _P, '(last[0][0] if last else 0) + 1', 'tx.run("SELECT count(*) FROM revision")[0][0] + 1'),
    Guard("a release comes without its record", _P, "if intent.staged is not None:", "if False:"),
    Guard("the living are settled", _R, "if not is_alive(self._home, row[0])]", "]"),
    Guard("the dead are not settled", _R, "if not is_alive(self._home, row[0])]", "if False]"),
    Guard("recovery aborts nothing", _R, 'lost = publication.takes(place, "abort")', "lost = False"),
    Guard("recovery aborts everything", _R, 'lost = publication.takes(place, "abort")', "lost = True"),
    Guard("recovery aborts a committed one", _R, "if state == publication.BEGUN else state", "if state == publication.BEGUN else publication.BEGUN"),
    Guard("an aborted one still binds", _R, '        tx.run("DELETE FROM binding WHERE operation = ?", (operation,))\n', ""),
    Guard("a settled one is still owed", _R, "SET state = ?, holder = NULL,", "SET state = ?,"),
    Guard("a lost call keeps its reference", _R, '    tx.run("DELETE FROM reference WHERE invocation = ?", (invocation,))\n', ""),
    Guard("a lost call stays open", _R, "SET outcome = ?, envelope = ?, finished_ms = ?", "SET outcome = NULL, envelope = ?, stdout = ?, finished_ms = ?"),
    Guard("a finished call is lost", _R, 'OPEN_OF = "SELECT id, surface, subject FROM invocation WHERE outcome IS NULL AND holder', 'OPEN_OF = "SELECT id, surface, subject FROM invocation WHERE holder'),
    Guard("collection does not settle the dead", _C, "                settle(tx, dead)\n", ""),
    Guard("the active revision is collected", _C, "WHERE sequence NOT IN (SELECT sequence FROM active)\n  AND sequence NOT IN (SELECT sequence FROM revision ORDER BY sequence DESC LIMIT ?)", "WHERE sequence >= 0 * ?"),
    Guard("the newest revisions are collected", _C, "ORDER BY sequence DESC LIMIT ?)", "ORDER BY sequence DESC LIMIT 0 * ?)", "many"),
    Guard("the oldest revisions are kept", _C, "ORDER BY sequence DESC LIMIT ?)", "ORDER BY sequence LIMIT ?)", "many"),
    Guard("the revision of a call is collected", _C, "  AND id NOT IN (SELECT i.revision FROM reference f JOIN invocation i ON i.id = f.invocation)\n", "", "many"),
    Guard("a dropped revision still binds", _C, '            tx.run("DELETE FROM binding WHERE operation = ?", (operation,))\n', "", "many"),
    Guard("an active release is collected", _C, "WHERE b.tree = ?\",\n    \"reference\"", "WHERE b.tree = '' || ? || ' '\",\n    \"reference\""),
    Guard("a referenced release is collected", _C, '"SELECT 1 FROM reference WHERE tree = ?"', "\"SELECT 1 FROM reference WHERE tree = ? || ' '\""),
    Guard("a release being staged is collected", _C, "AND o.state = 'begun'\",", "AND o.state = 'over'\","),
    Guard("a release is never collected", _C, "if standing(tx.run, tree) == publication.COLLECTABLE]", "if False]"),
    Guard("a dry run collects", _C, "                if dry_run:\n", "                if False:\n"),
    Guard("capture does not compare", _K, "if not active or active[0][0] != pinned.sequence:", "if not active:"),
    Guard("a revoked signer is called", _K, "            if active[0][1]:\n", "            if False:\n"),
    Guard("any revoked key denies", _K, " AND b.signer = t.key_id", ""),
    Guard("a key that is trusted denies", _K, "AND t.revoked_ms IS NOT NULL AND v", "AND v"),
    Guard("a capture pins nothing", _K, '            tx.run("INSERT INTO reference VALUES (?, ?)", (invocation, pinned.tree))\n', ""),
    Guard("unconfirmed cleanup lets go", _K, "            if release:\n", "            if True:\n"),
    Guard("a finished call keeps its reference", _K, "            if release:\n", "            if False:\n"),
    Guard("a captured call names no holder", _K, "                holder,\n", "                None,\n"),
    Guard("a revoked key is trusted again", _T, "SET revoked_ms = ?", "SET revoked_ms = NULL * ?"),
    Guard("everybody is alive", _H, "    return found is None", "    return True"),
    Guard("everybody is dead", _H, "    return found is None", "    return False"),
)  # fmt: skip

_MODEL = "models.publication"
MODEL_GUARDS = (
    Guard("commit merges", _MODEL, "    if own.expected != state.active:\n", "    if False:\n"),
    Guard("commit binds what is barred", _MODEL, "    if barred(state, own):\n        return _with(state, actor, own._replace(place=REFUSED))", "    if False:\n        return _with(state, actor, own._replace(place=REFUSED))"),
    Guard("a conflict publishes", _MODEL, "own._replace(place=CONFLICTED)), CONFLICTED", "own._replace(place=CONFLICTED, revision=state.active)), CONFLICTED"),
    Guard("capture sees an old revision", _MODEL, "    if resolved != state.active:\n        return state, \"moved\"\n", ""),
    Guard("capture sees a revoked signer", _MODEL, "    if content.release in state.revoked:\n", "    if False:\n"),
    Guard("capture pins another release", _MODEL, "Call(resolved, content.release)), \"captured\"", "Call(resolved, 3 - content.release)), \"captured\""),
    Guard("a sequence is used again", _MODEL, "revisions=(*state.revisions, own.content), active=sequence", "revisions=(*state.revisions[:-1], own.content), active=sequence - 1"),
    Guard("an abort undoes a commit", _MODEL, "place = ABORTED if own.place in OPEN else own.place", "place = ABORTED"),
    Guard("collection forgets the active", _MODEL, " | set(there[-keep:])", ""),
    Guard("collection forgets the calls", _MODEL, "    calls = [one for one in state.calls if one is not None]\n    there", "    calls: list[Call] = []\n    there"),
    Guard("collection forgets what is under way", _MODEL, "    tied |= {one.content.release for one in state.operations if one is not None and one.place in OPEN}\n", ""),
    Guard("the release is not brought", _MODEL, "state.present | {own.brings} - {0}", "state.present"),
    Guard("recovery publishes", _MODEL, "return settled(state)._replace(calls=calls), \"recovered\"", "return settled(state)._replace(calls=calls, active=1), \"recovered\""),
)  # fmt: skip
