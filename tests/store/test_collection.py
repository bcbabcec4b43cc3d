"""What is kept and what goes: ties, history, contents, and a dry run that says the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rukh.store.calls import Caller, Kept, Pinned
from rukh.store.collection import Collection
from rukh.store.home import open_home
from rukh.store.profiles import NO_REVISION, Staged
from rukh.store.publications import Intent
from rukh.store.store import Store
from rukh.values.errors import RukhError
from tests.support.stores import contents, profile

CLI = Caller("cli", "user:local", "user:local")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(open_home(str(tmp_path / "home"), create=True))
    yield opened
    opened.close()


def release(tree: str) -> Staged:
    return Staged("acme.x", "1.0.0", "key", tree, "a", "d", "1.0.0")


def binding(mark: str, tree: str) -> dict[str, Any]:
    return {**profile(mark), "packages": {"acme.x": {"tree": tree, "signer": "key"}}}


def active(store: Store) -> str:
    found = store.profiles.active()
    return found.revision if found else NO_REVISION


def publish(store: Store, mark: str, tree: str, staged: bool = True) -> str:
    done = store.publications.publish(
        f"op_{mark}",
        active(store),
        binding(mark, tree),
        contents(f"g_{mark}", mark),
        subject="user:local",
        surface="cli",
        staged=release(tree) if staged else None,
    )
    return done.state


def published(store: Store, *trees: str) -> None:
    for tree in trees:
        assert publish(store, tree, tree) == "committed"


def collect(store: Store, keep: int = 1, *, dry_run: bool = False) -> tuple[list[str], list[str]]:
    done = store.collection.collect(dry_run=dry_run, keep=keep, subject="user:local")
    return [revision.partition("-")[0] for revision in done.revisions], done.releases


@pytest.mark.requirement("RK-PUB-021", "RK-PUB-022")
def test_the_newest_revisions_and_what_they_bind_are_kept(store: Store) -> None:
    published(store, "t1", "t2", "t3", "t4")
    assert collect(store, keep=2) == (["r1", "r2"], ["t1", "t2"])
    assert [store.collection.standing(tree) for tree in ("t1", "t3", "t4")] == [
        "collectable",
        "kept",
        "active",
    ]
    assert collect(store, keep=2) == ([], [])


@pytest.mark.requirement("RK-PUB-024")
def test_a_dry_run_says_what_would_go_and_changes_nothing(store: Store) -> None:
    published(store, "t1", "t2")
    before = store.database.rows("SELECT count(*) FROM audit")
    assert collect(store, dry_run=True) == (["r1"], ["t1"])
    assert store.database.rows("SELECT count(*) FROM audit") == before
    assert collect(store) == (["r1"], ["t1"])


@pytest.mark.requirement("RK-PUB-021", "RK-PUB-022", "RK-CAPT-003")
def test_a_call_keeps_its_revision_and_its_release_until_its_reference_ends(store: Store) -> None:
    published(store, "t1")
    store.calls.capture("inv_1", CLI, Pinned(1, active(store), "acme.x/t1", "t1"))
    published(store, "t2")
    assert collect(store) == ([], [])
    assert store.collection.standing("t1") == "referenced"
    store.calls.commit("inv_1", CLI, "succeeded", "{}", Kept(), release=True)
    assert collect(store) == (["r1"], ["t1"])


@pytest.mark.requirement("RK-PUB-021")
def test_what_a_living_operation_would_bind_is_kept_until_it_is_over(store: Store) -> None:
    published(store, "t1", "t2")
    back = Intent(
        "op_back", active(store), binding("back", "t1"), contents("g", "x"), subject="u", surface="cli"
    )
    store.publications.begin(back)
    assert collect(store) == (["r1"], [])
    assert store.collection.standing("t1") == "staged"
    store.publications.abort(back, "no")
    assert collect(store) == ([], ["t1"])


@pytest.mark.requirement("RK-PUB-012", "RK-PUB-028")
def test_a_collected_release_is_bound_again_only_when_it_is_brought_again(store: Store) -> None:
    published(store, "t1", "t2")
    collect(store)
    assert publish(store, "bare", "t1", staged=False) == "refused"
    recorded = store.publications.operation("op_bare")
    assert recorded is not None
    assert recorded.detail == "the release of acme.x is not installed"
    assert publish(store, "again", "t1") == "committed"
    assert store.collection.standing("t1") == "active"


@pytest.mark.requirement("RK-PUB-022")
def test_contents_go_with_the_last_revision_that_names_them(store: Store) -> None:
    published(store, "t1", "t2")
    collect(store)
    left = {
        table: store.database.rows(f"SELECT DISTINCT {column} FROM {table}")
        for table, column in (("command", "generation"), ("route", "generation"))
    }
    assert left == {"command": [("g_t2",)], "route": [("g_t2",)]}
    assert store.database.rows("SELECT count(DISTINCT projection) FROM export") == [(1,)]
    assert store.database.rows("SELECT digest FROM tail") == [("dacme.x/t2",)]


@pytest.mark.requirement("RK-PUB-021")
def test_contents_that_a_living_operation_wrote_ahead_are_kept(store: Store) -> None:
    published(store, "t1")
    ahead = Intent(
        "op_a", active(store), binding("a", "t1"), contents("g_a", "a"), subject="u", surface="cli"
    )
    store.publications.begin(ahead)
    store.publications.stage(ahead)
    collect(store)
    assert store.profiles.command("g_a", "acme.x/a") is not None
    store.publications.abort(ahead, "no")
    collect(store)
    assert store.profiles.command("g_a", "acme.x/a") is None


@pytest.mark.requirement("RK-PUB-021")
def test_contents_that_an_operation_takes_up_while_they_are_collected_are_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(store, "t1", "t2")
    again = Intent(
        "op_a", active(store), binding("a", "t2"), contents("g_t1", "t1"), subject="u", surface="cli"
    )
    drop = Collection._drop_rows

    def late(self: Collection, *asked: str) -> int:
        if store.publications.operation("op_a") is None:
            store.publications.begin(again)
        return drop(self, *asked)

    monkeypatch.setattr(Collection, "_drop_rows", late)
    assert collect(store) == (["r1"], ["t1"])
    assert store.profiles.command("g_t1", "acme.x/t1") is not None


@pytest.mark.requirement("RK-PUB-002", "RK-PUB-022")
def test_the_journal_stays_and_sequences_go_on_behind_a_collection(store: Store) -> None:
    published(store, "t1", "t2")
    collect(store)
    answered = store.publications.operation("op_t1")
    assert answered is not None
    assert (answered.state, answered.revision[:3]) == ("committed", "r1-")
    published(store, "t3")
    assert active(store)[:3] == "r3-"


@pytest.mark.requirement("RK-PUB-025")
def test_history_is_shown_newest_first_and_differences_by_their_place(store: Store) -> None:
    published(store, "t1", "t2")
    history = store.history
    assert [one.id[:2] for one in history.revisions()] == ["r2", "r1"]
    assert history.revision("r1").id == history.revision(history.revisions()[1].id).id
    assert history.diff("r1", "r2") == [("/mark", "t1", "t2"), ("/packages/acme.x/tree", "t1", "t2")]
    assert history.diff("r2", "r2") == []


@pytest.mark.requirement("RK-PUB-025", "RK-PUB-028")
@pytest.mark.parametrize("name", ["r9", "r1-0000000000000000", "r*", "*", "", "1"])
def test_a_revision_that_is_not_kept_is_refused(store: Store, name: str) -> None:
    published(store, "t1")
    with pytest.raises(RukhError) as refused:
        store.history.revision(name)
    assert refused.value.rule == "RKO004"
    assert store.history.revision("r1").sequence == 1


REVOKED = "key"


@pytest.mark.requirement("RK-PUB-030", "RK-PUB-031", "RK-PUB-033")
def test_a_revocation_publishes_nothing_and_stops_calls_but_not_those_under_way(store: Store) -> None:
    store.trust.add_key("acme.x", REVOKED, "PEM", subject="user:local")
    published(store, "t1")
    before = active(store)
    pinned = Pinned(1, before, "acme.x/t1", "t1")
    store.calls.capture("inv_1", CLI, pinned)
    store.trust.revoke_key("acme.x", REVOKED, subject="user:local")
    assert active(store) == before
    with pytest.raises(RukhError) as refused:
        store.calls.capture("inv_2", CLI, pinned)
    assert (refused.value.rule, store.database.rows("SELECT id FROM invocation")) == ("RKA011", [("inv_1",)])
    store.calls.commit("inv_1", CLI, "succeeded", "{}", Kept(), release=True)


@pytest.mark.requirement("RK-PUB-031")
def test_a_key_that_is_revoked_for_another_package_stops_nothing(store: Store) -> None:
    for package in ("acme.x", "acme.y"):
        store.trust.add_key(package, REVOKED, "PEM", subject="user:local")
    published(store, "t1")
    store.trust.revoke_key("acme.y", REVOKED, subject="user:local")
    store.calls.capture("inv_1", CLI, Pinned(1, active(store), "acme.x/t1", "t1"))


@pytest.mark.requirement("RK-PUB-012", "RK-PUB-034")
def test_a_revoked_signer_is_not_bound_anew_and_may_be_carried_over(store: Store) -> None:
    store.trust.add_key("acme.x", REVOKED, "PEM", subject="user:local")
    published(store, "t1")
    store.trust.revoke_key("acme.x", REVOKED, subject="user:local")
    assert publish(store, "policy", "t1", staged=False) == "committed"
    assert publish(store, "t2", "t2") == "refused"
    recorded = store.publications.operation("op_t2")
    assert recorded is not None
    assert recorded.detail == "the key that signed acme.x was revoked"
    assert store.database.rows("SELECT tree FROM release") == [("t1",)]


@pytest.mark.requirement("RK-PUB-012")
def test_a_revocation_behind_the_validation_still_refuses_the_commit(store: Store) -> None:
    store.trust.add_key("acme.x", REVOKED, "PEM", subject="user:local")
    asked = Intent(
        "op_1",
        NO_REVISION,
        binding("one", "t1"),
        contents("g", "one"),
        subject="u",
        surface="cli",
        staged=release("t1"),
    )
    doing = store.publications
    doing.begin(asked)
    doing.stage(asked)
    assert doing.validate(asked) is None
    store.trust.revoke_key("acme.x", REVOKED, subject="user:local")
    assert doing.commit(asked).state == "refused"
    assert store.profiles.active() is None


@pytest.mark.requirement("RK-PUB-032")
def test_a_revoked_key_is_never_trusted_again_for_its_package(store: Store) -> None:
    add, revoke = store.trust.add_key, store.trust.revoke_key
    add("acme.x", REVOKED, "PEM", subject="user:local")
    add("acme.x", "other", "PEM2", subject="user:local")
    revoke("acme.x", REVOKED, subject="user:local")
    revoke("acme.x", REVOKED, subject="user:local")
    assert store.trust.keys("acme.x") == [("other", "PEM2")]
    assert store.trust.revoked_keys("acme.x") == [REVOKED]
    with pytest.raises(RukhError) as refused:
        add("acme.x", REVOKED, "PEM", subject="user:local")
    assert refused.value.rule == "RKT068"
    add("acme.y", REVOKED, "PEM", subject="user:local")
    events = store.database.rows("SELECT event FROM audit WHERE detail = 'key' ORDER BY sequence")
    assert events == [("trust.added",), ("trust.revoked",), ("trust.added",)]


@pytest.mark.requirement("RK-PUB-032")
def test_a_key_that_was_never_trusted_cannot_be_revoked(store: Store) -> None:
    with pytest.raises(RukhError) as refused:
        store.trust.revoke_key("acme.x", "unknown", subject="user:local")
    assert refused.value.rule == "RKT069"
