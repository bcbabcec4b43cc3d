"""Home, schema, turnstile and transactions."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import apsw
import pytest

from rukh.store import home as homes
from rukh.store.database import POWER, PROCESS, Database
from rukh.store.glance import Glance
from rukh.store.home import DIRECTORIES, default_home, open_home
from rukh.store.turnstile import Turnstile
from rukh.values.errors import RukhError

# How long one party of a test waits for another before the test has failed; never waited out in a green run.
PATIENCE = 30


def refused_by(rule: str, path: Path, *, create: bool = False) -> RukhError:
    with pytest.raises(RukhError) as refused:
        open_home(str(path), create=create)
    assert refused.value.rule == rule
    return refused.value


@pytest.mark.requirement("RK-STORE-005")
def test_a_home_is_made_private_with_its_directories(tmp_path: Path) -> None:
    home = open_home(str(tmp_path / "h"), create=True)
    modes = {name: os.stat(home.at(name)).st_mode & 0o777 for name in DIRECTORIES}
    assert modes == dict.fromkeys(DIRECTORIES, 0o700)
    assert os.stat(home.path).st_mode & 0o777 == 0o700


@pytest.mark.requirement("RK-STORE-002")
def test_a_home_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    home = open_home(str(tmp_path / "h"), create=True)
    Database(home).close()
    os.chmod(home.path, 0o750)
    assert refused_by("RKS002", tmp_path / "h").mend == f"chmod 700 {home.path}"
    os.chmod(home.path, 0o700)
    assert open_home(home.path, create=False).path == home.path


@pytest.mark.requirement("RK-STORE-002")
def test_nobody_is_told_to_close_a_directory_that_is_no_home(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o755)
    assert "chmod" not in refused_by("RKS002", tmp_path, create=True).mend
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("RK-STORE-002")
def test_a_file_in_place_of_a_home_is_refused(tmp_path: Path) -> None:
    (tmp_path / "h").write_text("")
    refused_by("RKS002", tmp_path / "h", create=True)


@pytest.mark.requirement("RK-STORE-002")
def test_a_home_that_cannot_be_made_or_entered_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    below = refused_by("RKS002", tmp_path / "file" / "h", create=True)
    assert "cannot be made: Not a directory" in below.message
    (tmp_path / "circle").symlink_to("circle")
    for create in (False, True):
        circle = refused_by("RKS002", tmp_path / "circle", create=create)
        assert "cannot be entered: Too many levels" in circle.message
    assert open_home(str(tmp_path / "h"), create=True).path == str(tmp_path / "h")


@pytest.mark.requirement("RK-STORE-011", "RK-COMP-002")
def test_a_glance_into_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    home = open_home(str(tmp_path / "h"), create=True)
    database = Database(home)
    database.close()
    assert Glance(home).below([]) == []
    connection = apsw.Connection(database.path)
    connection.pragma("user_version", 99)
    connection.close()
    with pytest.raises(RukhError) as refused:
        Glance(home)
    assert refused.value.rule == "RKS006"


def test_a_home_that_was_never_made_is_named_as_such(tmp_path: Path) -> None:
    refused_by("RKS008", tmp_path / "h")
    (tmp_path / "empty").mkdir(mode=0o700)
    refused_by("RKS008", tmp_path / "empty")


@pytest.mark.requirement("RK-STORE-001")
def test_another_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    refused_by("RKS001", tmp_path / "h", create=True)
    assert not (tmp_path / "h").exists()


@pytest.mark.requirement("RK-STORE-003")
def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homes, "_file_system", lambda _path: "nfs4")
    refused_by("RKS003", tmp_path / "h", create=True)
    assert not (tmp_path / "h").exists()


@pytest.mark.requirement("RK-STORE-004")
@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"MY_APP_HOME": "/a/b", "XDG_DATA_HOME": "/x"}, "/a/b"),
        ({"XDG_DATA_HOME": "/x"}, "/x/my-app"),
        ({"MY_APP_HOME": "", "XDG_DATA_HOME": "/x"}, "/x/my-app"),
    ],
)
def test_the_home_comes_from_the_environment_and_else_from_the_data_directory(
    environ: dict[str, str], expected: str
) -> None:
    assert default_home("my-app", environ) == expected


@pytest.mark.requirement("RK-STORE-010", "RK-STORE-011")
def test_a_newer_schema_is_refused_even_when_it_comes_while_the_database_is_open(tmp_path: Path) -> None:
    home = open_home(str(tmp_path / "h"), create=True)
    database = Database(home)
    with database.write(PROCESS) as tx:
        tx.run("INSERT INTO meta VALUES ('mark', 1)")
    other = apsw.Connection(database.path)
    other.execute("PRAGMA user_version = 999")
    other.close()
    with pytest.raises(RukhError) as refused, database.write(PROCESS) as tx:
        tx.run("INSERT INTO meta VALUES ('late', 1)")
    assert refused.value.rule == "RKS005"
    assert database.rows("SELECT name FROM meta WHERE name = 'late'") == []
    database.close()
    with pytest.raises(RukhError) as reopened:
        Database(home)
    assert reopened.value.rule == "RKS005"


@pytest.mark.requirement("RK-STORE-011")
def test_a_foreign_database_and_a_file_that_is_none_are_refused(tmp_path: Path) -> None:
    home = open_home(str(tmp_path / "h"), create=True)
    path = home.at("db", "rukh.sqlite3")
    for claim in ("user_version = 1", "user_version = 0", "application_id = 7"):
        foreign = apsw.Connection(path)
        foreign.execute(f"CREATE TABLE IF NOT EXISTS theirs (a); PRAGMA {claim}")
        foreign.close()
        with pytest.raises(RukhError) as refused:
            Database(home)
        assert refused.value.rule == "RKS006"
    Path(path).write_bytes(b"not a database, but long enough to be read as one" * 100)
    with pytest.raises(RukhError) as damaged:
        Database(home)
    assert damaged.value.rule == "RKS006"


@pytest.mark.requirement("RK-STORE-016")
def test_a_failing_statement_undoes_its_transaction(tmp_path: Path) -> None:
    database = Database(open_home(str(tmp_path / "h"), create=True))
    with pytest.raises(RukhError) as refused, database.write(PROCESS) as tx:
        tx.run("INSERT INTO meta VALUES ('mark', 1)")
        tx.run("INSERT INTO nowhere VALUES (1)")
    assert refused.value.rule == "RKS007"
    with database.write(PROCESS) as tx:
        assert tx.run("SELECT name FROM meta WHERE name = 'mark'") == []
    database.close()


@pytest.mark.requirement("RK-STORE-013", "RK-STORE-014")
def test_each_durability_class_sets_what_a_commit_waits_for(tmp_path: Path) -> None:
    database = Database(open_home(str(tmp_path / "h"), create=True))
    modes = []
    for durability in (POWER, PROCESS, POWER):
        with database.write(durability) as tx:
            modes.append(tx.run("PRAGMA synchronous")[0][0])
    journal = database.rows("PRAGMA journal_mode")
    database.close()
    assert modes == [2, 1, 2]
    assert journal == [("wal",)]


def _hold(directory: str, held: Event, finish: Event) -> None:
    turnstile = Turnstile(directory, 1000)
    turnstile.enter()
    held.set()
    finish.wait(PATIENCE)
    turnstile.leave()


@pytest.mark.requirement("RK-STORE-012")
def test_a_writer_answers_busy_after_its_bound_and_goes_on_once_the_other_is_done(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    held, finish = spawn.Event(), spawn.Event()
    other = spawn.Process(target=_hold, args=(str(tmp_path), held, finish))
    other.start()
    try:
        assert held.wait(PATIENCE)
        turnstile = Turnstile(str(tmp_path), 20)
        with pytest.raises(RukhError) as refused:
            turnstile.enter()
        assert refused.value.rule == "RKS004"
    finally:
        finish.set()
        other.join(PATIENCE)
    patient = Turnstile(str(tmp_path), PATIENCE * 1000)
    patient.enter()
    patient.leave()


@pytest.mark.requirement("RK-STORE-012")
def test_the_locks_of_a_killed_writer_are_free(tmp_path: Path) -> None:
    code = (
        "import sys; from rukh.store.turnstile import Turnstile\n"
        "Turnstile(sys.argv[1], 1000).enter(); print('held', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"held\n"
    other.kill()
    other.communicate()
    turnstile = Turnstile(str(tmp_path), 1000)
    turnstile.enter()
    turnstile.leave()


@pytest.mark.requirement("RK-MCP-048")
def test_a_query_with_a_deadline_ends_there_and_one_without_is_not_touched(tmp_path: Path) -> None:
    """A query that would never end by itself is ended by the deadline of its thread; the next one is free again."""
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    database = Database(open_home(str(tmp_path / "home"), create=True))
    with database.within(time.monotonic()), pytest.raises(RukhError) as caught:
        database.rows(endless)
    assert caught.value.rule in ("RKS004", "RKS007")
    with database.within(time.monotonic() + 3600):
        assert [(1,)] == database.rows("SELECT 1")
    assert [(1,)] == database.rows("SELECT 1")
    database.close()


@pytest.mark.requirement("RK-STORE-012", "RK-STORE-016")
@pytest.mark.parametrize("name", ["gate", "lock"])
def test_a_lock_that_cannot_be_opened_is_named_and_holds_nobody_up(tmp_path: Path, name: str) -> None:
    turnstile = Turnstile(str(tmp_path), 1_000)
    (tmp_path / name).mkdir()
    with pytest.raises(RukhError) as refused:
        turnstile.enter()
    assert (refused.value.rule, refused.value.place) == ("RKS007", str(tmp_path / name))
    (tmp_path / name).rmdir()
    turnstile.enter()
    turnstile.leave()
