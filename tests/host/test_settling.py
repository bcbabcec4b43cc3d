"""What a server settles at its start: the records of dead hosts, never those of the living, at next to no cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rukh.host.settling import settle_records
from rukh.host.upkeep import recover
from rukh.store.calls import Caller, Pinned
from rukh.store.home import open_home
from rukh.store.publications import Intent
from rukh.store.store import Store
from rukh.values.errors import RukhError
from tests.support import echo
from tests.support.homes import InstalledHome
from tests.support.rawmcp import RawClient
from tests.support.stores import contents, profile

CLI = Caller("cli", "user:local", "user:local")


@pytest.fixture
def home(tmp_path: Path) -> InstalledHome:
    return echo.exposed_home(tmp_path)


@pytest.fixture
def host(home: InstalledHome) -> Iterator[Store]:
    """A host with a call and an operation under way; its death is the end of its holder."""
    store = Store(open_home(home.path, create=False))
    active = store.profiles.active()
    assert active is not None
    tree = active.profile["packages"][home.package]["tree"]
    store.calls.capture("inv_1", CLI, Pinned(active.sequence, active.revision, f"{home.package}/echo", tree))
    begun = Intent(
        "op_1", active.revision, profile("x"), contents("gx", "x"), subject="user:local", surface="cli"
    )
    assert store.publications.begin(begun) is None
    yield store
    store.close()


@pytest.fixture
def reader(home: InstalledHome) -> Iterator[Store]:
    store = Store(open_home(home.path, create=False))
    yield store
    store.close()


# Of the call and of the operation of `host`.
OPEN, SETTLED = (None, "begun"), ("host_lost", "aborted")


def found(reader: Store) -> tuple[str | None, str | None]:
    envelope = reader.calls.envelope("inv_1")
    operation = reader.publications.operation("op_1")
    return json.loads(envelope)["reason"][
        "code"
    ] if envelope else None, operation.state if operation else None


@pytest.mark.requirement("RK-PUB-055", "RK-PUB-013", "RK-PUB-014", "RK-PUB-015")
@pytest.mark.parametrize(("dies", "expected"), [(False, OPEN), (True, SETTLED)], ids=["alive", "dead"])
def test_a_server_settles_what_a_dead_host_left_and_nothing_of_a_living_one(
    home: InstalledHome, host: Store, reader: Store, dies: bool, expected: tuple[str | None, str]
) -> None:
    if dies:
        host.holder.leave()
    with RawClient(home) as client:
        assert client.request("tools/list")["result"]["tools"]
        assert expected == found(reader)
    assert client.status == 0


@pytest.mark.requirement("RK-PUB-056")
def test_a_home_that_cannot_be_written_keeps_no_server_from_its_start(
    host: Store, reader: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise RukhError("RKS007", "it is full")

    host.holder.leave()
    with monkeypatch.context() as patched:
        patched.setattr(reader.database, "write", full)
        settle_records(reader)
        assert OPEN == found(reader)
    settle_records(reader)
    assert SETTLED == found(reader)


@pytest.mark.requirement("RK-PUB-057", "RK-PUB-015")
def test_a_call_that_its_living_host_could_not_record_is_ended_behind_the_host_alone(
    host: Store, reader: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle_records(host)
    settle_records(reader)
    assert (OPEN, []) == (found(reader), recover(reader).calls)
    (tree,) = reader.database.rows("SELECT tree FROM reference WHERE invocation = 'inv_1'")[0]
    assert [("inv_1",)] == reader.database.rows("SELECT invocation FROM reference WHERE tree = ?", (tree,))
    host.holder.leave()
    settle_records(reader)
    assert (SETTLED, []) == (found(reader), reader.database.rows("SELECT * FROM reference"))


@pytest.mark.requirement("RK-PUB-055", "RK-PUB-017")
def test_where_nothing_was_left_nothing_is_written(
    host: Store, reader: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(*_: Any) -> None:
        raise AssertionError("it writes")

    monkeypatch.setattr(reader.database, "write", written)
    settle_records(reader)
    assert OPEN == found(reader)
