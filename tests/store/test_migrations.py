"""A home of every earlier schema is brought forward and loses nothing. `homes/schema-N.sql` are such homes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from rukh.store.calls import Caller, Pinned, new_invocation
from rukh.store.home import open_home
from rukh.store.schema import SCHEMA_VERSION
from rukh.store.store import Store

HOMES = Path(__file__).resolve().parent / "homes"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    home = open_home(str(tmp_path / "home"), create=True)
    old = apsw.Connection(home.at("db", "rukh.sqlite3"))
    old.execute((HOMES / "schema-1.sql").read_text(encoding="utf-8"))
    old.close()
    opened = Store(home)
    yield opened
    opened.close()


def test_there_is_a_home_of_every_earlier_schema() -> None:
    expected = [f"schema-{version}.sql" for version in range(1, SCHEMA_VERSION)]
    assert sorted(path.name for path in HOMES.iterdir()) == expected


@pytest.mark.requirement("RK-STORE-017")
def test_revisions_outcomes_releases_and_calls_are_kept(store: Store) -> None:
    assert store.database.rows("PRAGMA user_version") == [(SCHEMA_VERSION,)]
    active = store.profiles.active()
    assert active is not None
    assert (active.sequence, active.profile["mark"]) == (3, "three")
    assert [one.profile["mark"] for one in store.history.revisions()] == ["three", "two", "one"]
    outcomes = dict(store.database.rows("SELECT id, state FROM operation WHERE id != 'op_begun'"))
    expected = dict.fromkeys(("op_first", "op_second", "op_third"), "committed")
    assert outcomes == {**expected, "op_lost": "conflicted"}
    assert store.trust.keys("acme.notes") == [("5" * 64, "PEM")]
    assert store.calls.envelope("inv_done") == '{"outcome":"succeeded"}'


@pytest.mark.requirement("RK-STORE-017")
def test_what_each_old_revision_binds_is_known_behind_the_migration(store: Store) -> None:
    rows = store.database.rows("SELECT operation, package, tree, signer FROM binding ORDER BY operation")
    assert rows == [
        ("op_second", "acme.notes", "1" * 64, "5" * 64),
        ("op_third", "acme.notes", "2" * 64, "5" * 64),
    ]
    assert store.collection.standing("2" * 64) == "active"
    assert store.collection.standing("1" * 64) == "kept"


@pytest.mark.requirement("RK-STORE-017", "RK-PUB-013")
def test_what_the_old_program_had_begun_is_aborted_and_its_open_call_is_ended(store: Store) -> None:
    found = store.publications.operation("op_begun")
    assert found is not None
    assert found.state == "aborted"
    assert store.recovery.operations() == []
    assert store.recovery.calls(lambda invocation: f"lost {invocation}") == ["inv_open"]
    assert store.calls.envelope("inv_open") == "lost inv_open"


@pytest.mark.requirement("RK-STORE-017", "RK-PUB-031")
def test_a_release_of_the_old_home_is_called_until_its_key_is_revoked(store: Store) -> None:
    active = store.profiles.active()
    assert active is not None
    pinned = Pinned(3, active.revision, "acme.notes/add", "2" * 64)
    caller = Caller("cli", "user:local", "user:local")
    store.calls.capture(new_invocation(), caller, pinned)
    store.trust.revoke_key("acme.notes", "5" * 64, subject="user:local")
    with pytest.raises(Exception, match="was revoked"):
        store.calls.capture(new_invocation(), caller, pinned)
