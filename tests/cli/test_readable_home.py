"""Help and looking verbs before a home that can be read and not written, and help before one that cannot be read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import apsw
import pytest

from rukh.cli.main import run
from tests.support import echo
from tests.support.homes import InstalledHome
from tests.support.shelves import shelf_home

# Of words that name nothing that is installed or built in, or of a group without a command.
UNKNOWN, USAGE = 65, 64
PACKAGE = "acme.echo"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    return shelf_home(tmp_path_factory.mktemp("shelf"))


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a read-only mount and a full disk have in common: no database is opened for writing."""
    real = apsw.Connection

    def opened(path: str, flags: int = apsw.SQLITE_OPEN_READWRITE, **rest: object) -> apsw.Connection:
        if flags & apsw.SQLITE_OPEN_READWRITE:
            raise apsw.CantOpenError("unable to open database file")
        return real(path, flags, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(apsw, "Connection", opened)


def rukh(home: str, *words: str) -> int:
    return run(
        "rukh", "1.0.0", ["rukh"], [word.encode() for word in words], {**os.environ, "RUKH_HOME": home}
    )


# name: (words, status, standard output, standard error)
READ_ONLY = {
    "the application": (["--help"], 0, "Groups:", ""),
    "a word of the core": (["help", "check"], 0, "Usage: rukh check", ""),
    "a command": (["shelf", "put", "--help"], 0, "Usage: rukh shelf put", ""),
    "a command, asked shortly": (["shelf", "put", "-h"], 0, "Usage: rukh shelf put", ""),
    "a command by its identity": (["run", "acme.shelf/put", "--help"], 0, "--inputs", ""),
    "help of a command": (["help", "shelf", "put"], 0, "Usage: rukh shelf put", ""),
    "help of a group": (["help", "shelf"], 0, "Usage: rukh shelf COMMAND", ""),
    "a group": (["shelf"], USAGE, "", "Usage: rukh shelf COMMAND"),
    "a word that is searched for": (["help", "zebra"], 0, "shelf all", ""),
    "no command": (["shelf", "pu"], UNKNOWN, "", "did you mean rukh shelf put?"),
}


@pytest.mark.requirement("RK-CLI-090")
@pytest.mark.parametrize("name", READ_ONLY)
def test_help_is_had_from_a_home_that_cannot_be_written(
    shelf: InstalledHome, read_only: None, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    words, status, out, err = READ_ONLY[name]
    assert status == rukh(shelf.path, *words)
    shown = capfd.readouterr()
    assert (out in shown.out, err in shown.err) == (True, True)
    assert (bool(out), bool(err)) == (bool(shown.out), bool(shown.err))


@pytest.mark.requirement("RK-CLI-090")
def test_a_call_is_refused_where_nothing_can_be_written_and_the_home_is_named(
    shelf: InstalledHome, read_only: None, capfd: pytest.CaptureFixture[str]
) -> None:
    """The sibling that is no help: a call must be recorded, so it does not begin."""
    assert 70 == rukh(shelf.path, "shelf", "put", "a")
    shown = capfd.readouterr().err
    assert ("RKS007" in shown, shelf.path in shown) == (True, True)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    """A home with two revisions, an endpoint and its task."""
    return echo.exposed_home(tmp_path_factory.mktemp("desk"))


LOOKING = {
    "list": ["list"],
    "info": ["info", PACKAGE],
    "trust list": ["trust", "list"],
    "source list": ["source", "list"],
    "profile show": ["profile", "show"],
    "profile history": ["profile", "history"],
    "profile diff": ["profile", "diff", "r1", "r2"],
    "mcp tools": ["mcp", "tools", "--endpoint", "desk"],
    "mcp tools, explained": ["mcp", "tools", "--endpoint", "desk", "--explain", f"{PACKAGE}/say"],
    "mcp config": ["mcp", "config", "--endpoint", "desk"],
}


@pytest.mark.requirement("RK-ADM-022")
@pytest.mark.parametrize("name", LOOKING)
def test_a_verb_that_only_looks_answers_the_same_where_nothing_can_be_written(
    desk: InstalledHome, capfd: pytest.CaptureFixture[str], request: pytest.FixtureRequest, name: str
) -> None:
    words = [*LOOKING[name], "--json"]
    assert 0 == rukh(desk.path, *words)
    writable = capfd.readouterr()
    request.getfixturevalue("read_only")
    assert 0 == rukh(desk.path, *words)
    assert writable == capfd.readouterr()


WRITING = {
    "source add": ["source", "add", "other", "{}"],
    "task issue": ["task", "issue", "--endpoint", "desk"],
    "remove": ["remove", PACKAGE],
    "gc": ["gc"],
}


@pytest.mark.requirement("RK-ADM-022")
@pytest.mark.parametrize("name", WRITING)
def test_a_verb_that_writes_is_refused_there(
    desk: InstalledHome, read_only: None, tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    assert 70 == rukh(desk.path, *(word.format(tmp_path) for word in WRITING[name]))
    assert "RKS007" in capfd.readouterr().err


@pytest.mark.requirement("RK-ADM-022")
@pytest.mark.parametrize(("statement", "status"), [("PRAGMA user_version=0", 70), ("DELETE FROM active", 70)])
def test_what_must_be_written_before_it_can_be_read_is_refused_there(
    desk: InstalledHome,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
    statement: str,
    status: int,
) -> None:
    home = tmp_path / "home"
    shutil.copytree(desk.path, home, ignore=shutil.ignore_patterns("releases"))
    os.chmod(home, 0o700)
    connection = apsw.Connection(str(home / "db" / "rukh.sqlite3"))
    connection.execute(statement)
    connection.close()
    request.getfixturevalue("read_only")
    assert status == rukh(str(home), "list")
    assert "RKS007" in capfd.readouterr().err


# name: (words, what is shown all the same)
DAMAGED = {
    "the application": (["--help"], "Core commands:"),
    "no words at all": ([], "Core commands:"),
    "a word that is searched for": (["help", "mount"], "install"),
}


@pytest.mark.requirement("RK-CLI-091")
@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_database_leaves_the_core_and_is_named_in_one_line(
    shelf: InstalledHome, tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    words, part = DAMAGED[name]
    home = tmp_path / "home"
    shutil.copytree(shelf.path, home, ignore=shutil.ignore_patterns("releases"))
    os.chmod(home, 0o700)
    assert 0 == rukh(str(home), *words)
    whole = capfd.readouterr()
    assert (part in whole.out, whole.err) == (True, "")

    database = home / "db" / "rukh.sqlite3"
    database.write_bytes(b"no database at all, but long enough to be read as one" * 100)
    assert 0 == rukh(str(home), *words)
    shown = capfd.readouterr()
    assert part in shown.out
    (line,) = shown.err.splitlines()
    assert "the installed commands cannot be listed: RKS006" in line
    assert str(database) in line
