"""A home whose database was lost: no verb takes it for a fresh one, and nothing that lies in it goes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from rukh.host.doctor import examine
from rukh.host.mending import fix
from rukh.host.upkeep import collect, discard_strays
from rukh.store import database as database_module
from rukh.store.home import Home, holds, look_at, open_home
from rukh.store.reading import Reading
from rukh.store.store import Store
from rukh.values.errors import RukhError
from tests.support.sick import Sick, opened, snapshot

LOG = b"what was not folded in yet"


def database(sick: Sick) -> Path:
    return sick.at("db", "rukh.sqlite3")


def header_alone(sick: Sick) -> None:
    """What is left where a log was lost that nothing had been folded in from."""
    database(sick).unlink()
    connection = apsw.Connection(str(database(sick)))
    connection.pragma("journal_mode", "wal")
    connection.close()


def directory_gone(sick: Sick) -> None:
    database(sick).unlink()
    sick.at("db").rmdir()


def log_alone(sick: Sick) -> None:
    """Nothing installed yet, and the log holds all that was written."""
    for name in os.listdir(sick.at("releases")):
        sick.at("releases", name).rename(sick.base / name)
    database(sick).write_bytes(b"")
    sick.at("db", "rukh.sqlite3-wal").write_bytes(LOG)


LOST: dict[str, Callable[[Sick], object]] = {
    "emptied": lambda sick: database(sick).write_bytes(b""),
    "missing": lambda sick: database(sick).unlink(),
    "its directory is missing": directory_gone,
    "its first page alone": header_alone,
    "emptied, with a log": log_alone,
}


@pytest.mark.requirement("RK-STORE-019", "RK-DOC-001", "RK-DOC-002", "RK-DOC-011")
@pytest.mark.parametrize("name", LOST)
def test_a_lost_database_is_an_error_that_is_not_mended_and_nothing_goes(sick: Sick, name: str) -> None:
    LOST[name](sick)
    before = snapshot(Path(sick.path))
    (found,) = sick.look()
    assert ("RKS006", "error", False) == (found.rule, found.severity, found.fixable)
    assert "restore db/ from a copy" in found.mend
    came_to = fix(sick.path)
    assert ([], [found]) == (came_to.mended, came_to.left)
    assert before == snapshot(Path(sick.path))


@pytest.mark.requirement("RK-STORE-019")
@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("name", LOST)
def test_a_lost_database_is_refused_by_whoever_opens_the_home(sick: Sick, name: str, create: bool) -> None:
    LOST[name](sick)
    if name != "its first page alone":  # which nobody knows before the database is open
        sick.at("keys").rmdir()
    before = snapshot(Path(sick.path))
    with pytest.raises(RukhError) as refused:
        Store(open_home(sick.path, create=create))
    assert "RKS006" == refused.value.rule
    assert before == snapshot(Path(sick.path))


@pytest.mark.requirement("RK-STORE-019", "RK-DOC-002")
@pytest.mark.parametrize("opens", [Store, Reading])
def test_the_database_itself_is_not_opened_where_that_would_take_its_log(
    sick: Sick, opens: Callable[[Home], object]
) -> None:
    log_alone(sick)
    with pytest.raises(RukhError) as refused:
        opens(sick.home)
    assert "RKS006" == refused.value.rule
    assert LOG == sick.at("db", "rukh.sqlite3-wal").read_bytes()


@pytest.mark.requirement("RK-STORE-019")
@pytest.mark.parametrize("release", [False, True])
def test_the_same_first_page_is_a_fresh_home_where_nothing_lies_in_it(tmp_path: Path, release: bool) -> None:
    home = open_home(str(tmp_path / "home"), create=True)
    connection = apsw.Connection(home.at("db", "rukh.sqlite3"))
    connection.pragma("journal_mode", "wal")
    connection.close()
    if release:
        os.mkdir(home.at("releases", "f" * 64))
        with pytest.raises(RukhError) as refused:
            Store(home)
        assert "RKS006" == refused.value.rule
        os.rmdir(home.at("releases", "f" * 64))
    Store(home).close()
    assert [] == examine(home.path)


@pytest.mark.requirement("RK-STORE-019")
def test_who_makes_the_home_meanwhile_and_installs_has_not_lost_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = open_home(str(tmp_path / "home"), create=True)

    def another_was_faster(asked: Home) -> bool:
        monkeypatch.setattr(database_module, "holds", holds)
        Store(asked).close()
        os.mkdir(asked.at("releases", "f" * 64))
        return holds(asked)

    monkeypatch.setattr(database_module, "holds", another_was_faster)
    Store(home).close()
    assert holds(home)


@pytest.mark.requirement("RK-STORE-019")
def test_an_empty_file_is_a_fresh_home_where_nothing_lies_in_it(tmp_path: Path) -> None:
    home = open_home(str(tmp_path / "home"), create=True)
    Path(home.at("db", "rukh.sqlite3")).touch()
    assert ["RKU003"] == [one.rule for one in fix(home.path).mended]
    assert [] == examine(home.path)


@pytest.mark.requirement("RK-DOC-015")
def test_nothing_goes_from_a_home_whose_records_tell_of_no_installation(sick: Sick, tmp_path: Path) -> None:
    other = open_home(str(tmp_path / "other"), create=True)
    Store(other).close()
    os.replace(other.at("db", "rukh.sqlite3"), database(sick))
    lying = sorted(os.listdir(sick.at("releases")))
    found = [(one.rule, one.fixable) for one in sick.look()]
    assert [("RKU016", False)] * 4 == found  # two releases, and the byte code of each
    with opened(sick) as store:
        assert [] == discard_strays(store)
        assert [] == collect(store, dry_run=False).releases
    assert [] == fix(sick.path).mended
    assert 2 == len(lying) and lying == sorted(os.listdir(sick.at("releases")))


@pytest.mark.requirement("RK-DOC-015")
def test_an_installation_that_died_before_its_record_leaves_what_goes(tmp_path: Path) -> None:
    store = Store(open_home(str(tmp_path / "home"), create=True))
    store.trust.record_admission(True, "acme.echo", "1.0.0", "{}", subject="user:local")
    os.mkdir(store.home.at("releases", "f" * 64))
    assert ["f" * 64] == discard_strays(store)
    store.close()


# Directories that a copy has lost, and what is no home at all.


@pytest.mark.requirement("RK-STORE-006", "RK-DOC-002")
def test_an_opened_home_has_its_directories_again_and_looking_makes_none(sick: Sick) -> None:
    empty = ("keys", "run", "staging")
    for name in empty:
        sick.at(name).rmdir()
    sick.at("locks", "releases").rename(sick.base / "releases-turn")
    for path in sick.at("locks").iterdir():
        path.unlink()
    sick.at("locks").rmdir()
    look_at(sick.path)
    assert ["RKU001"] * 4 == sick.rules()
    assert not any(sick.at(name).exists() for name in (*empty, "locks"))
    with opened(sick) as store:
        assert [0o700] * 4 == [sick.at(name).stat().st_mode & 0o777 for name in (*empty, "locks")]
        assert [] == collect(store, dry_run=False).releases
    assert [] == sick.rules()


@pytest.mark.requirement("RK-STORE-006")
def test_a_file_in_the_place_of_a_directory_is_refused_with_its_place(sick: Sick) -> None:
    sick.at("run").rmdir()
    sick.at("run").touch()
    with pytest.raises(RukhError) as refused:
        open_home(sick.path, create=False)
    assert ("RKS002", str(sick.at("run"))) == (refused.value.rule, refused.value.place)
    sick.at("run").unlink()
    assert isinstance(open_home(sick.path, create=False), Home)


@pytest.mark.requirement("RK-STORE-002")
def test_a_file_is_no_place_where_a_home_is_still_to_be_made(sick: Sick, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path, rule in ((str(file), "RKS002"), ("/dev/null", "RKS002"), (str(tmp_path / "none"), "RKS008")):
        with pytest.raises(RukhError) as refused:
            open_home(path, create=False)
        assert rule == refused.value.rule
        assert [rule] == [one.rule for one in examine(path)]
    assert isinstance(open_home(sick.path, create=False), Home)
