"""Doctor: each thing that can be wrong with a home is found under its rule, and what needs no decision is mended."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from crashes.scenes import remove
from rukh.host import doctor
from rukh.host.doctor import Finding, examine
from rukh.host.mending import fix
from rukh.sources import restore as restoring
from rukh.sources.staging import Stage
from rukh.values.errors import RukhError
from rukh.values.rules import RULES
from tests.support.sick import Sick, instead, lose, opened, snapshot, write_in

SCHEMA_1 = Path(__file__).resolve().parents[1] / "store" / "homes" / "schema-1.sql"
HOUR_MS = 3_600_000
TREE = "f" * 64


def other_kind(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("x", encoding="utf-8")


def older(sick: Sick) -> None:
    database = sick.at("db", "rukh.sqlite3")
    for name in os.listdir(sick.at("db")):
        sick.at("db", name).unlink()
    connection = apsw.Connection(str(database))
    connection.execute(SCHEMA_1.read_text(encoding="utf-8"))
    connection.close()
    for part in ("releases", "cache"):
        for tree in os.listdir(sick.at(part)):
            remove(sick.at(part, tree))


_OPERATION = (
    "INSERT INTO operation (id, digest, expected, state, detail, begun_ms, step, holder) "
    "VALUES ('op_left', 'x', '', 'begun', '', 1, 'staged', 'hold_gone')"
)
_CALL = (
    "INSERT INTO invocation (id, surface, subject, actor, revision, identity, tree, captured_ms, holder) "
    "VALUES ('inv_left', 'cli', 'user:local', 'user:local', 'r1', 'acme.echo/add', 'x', 1, 'hold_gone')"
)
_TASK = "INSERT INTO task SELECT 'task_x', 'gone', binding, state, 1, 0, NULL, 1, 1 FROM task WHERE state = 'active'"
_ORPHANED = ("PRAGMA writable_schema=ON", "DELETE FROM sqlite_schema WHERE name = 'binding_tree'")
_FORGED = "UPDATE revision SET profile = replace(profile, '\"calls\":', '\"cells\":')"

# name: (the damage, the rule, where, whether `--fix` mends it)
Damage = tuple[Callable[[Sick], object], str, str, bool]
DAMAGE: dict[str, Damage] = {
    "others may enter": (lambda sick: os.chmod(sick.path, 0o755), "RKS002", "home", True),
    "no home at all": (lambda sick: remove(Path(sick.path)), "RKS008", "home", False),
    "a directory is missing": (lambda sick: sick.at("run").rmdir(), "RKU001", "run", True),
    "a file where a directory should be": (lambda sick: other_kind(sick.at("run")), "RKU001", "run", False),
    "a newer schema": (lambda sick: sick.execute("PRAGMA user_version=99"), "RKS005", "rukh.sqlite3", False),
    "another program": (lambda sick: sick.execute("PRAGMA application_id=7"), "RKS006", "rukh.sqlite3", False),
    "an emptied database": (
        lambda sick: sick.at("db", "rukh.sqlite3").write_bytes(b""), "RKS006", "rukh.sqlite3", False,
    ),
    "a lost database": (lambda sick: sick.at("db", "rukh.sqlite3").unlink(), "RKS006", "rukh.sqlite3", False),
    "no database": (
        lambda sick: sick.at("db", "rukh.sqlite3").write_bytes(b"no database" * 999), "RKS006", "rukh.sqlite3", False,
    ),
    "pages that nothing leads to": (lambda sick: sick.execute(*_ORPHANED), "RKU002", "rukh.sqlite3", False),
    "a profile that was written into": (lambda sick: sick.execute(_FORGED), "RKU002", "rukh.sqlite3", False),
    "an older schema": (older, "RKU003", "rukh.sqlite3", True),
    "a dead operation": (lambda sick: sick.execute(_OPERATION), "RKU005", "op_left", True),
    "a dead call": (lambda sick: sick.execute(_CALL), "RKU005", "inv_left", True),
    "a dead lock": (lambda sick: sick.at("locks", "hold_x").touch(), "RKU006", "locks/hold_x", True),
    "a left staging directory": (lambda sick: sick.at("staging", "op_x").mkdir(), "RKU006", "staging/op_x", True),
    "a file in staging": (lambda sick: sick.at("staging", "x").touch(), "RKU006", "staging/x", True),
    "a left working directory": (lambda sick: sick.at("run", "inv_x").mkdir(), "RKU006", "run/inv_x", True),
    "a tree without a record": (lambda sick: sick.at("releases", TREE).mkdir(), "RKU007", f"releases/{TREE}", True),
    "a file among the trees": (lambda sick: sick.at("releases", TREE).touch(), "RKU007", f"releases/{TREE}", True),
    "byte code without a record": (lambda sick: sick.at("cache", TREE).mkdir(), "RKU007", f"cache/{TREE}", True),
    "the active release is missing": (lambda sick: lose(sick, sick.tree), "RKU008", "releases/", True),
    "the active release was changed": (
        lambda sick: write_in(sick, "releases", sick.tree, "acme_echo.py"), "RKT063", "releases/", True,
    ),
    "a kept release is missing": (lambda sick: lose(sick, sick.old), "RKU009", "releases/", True),
    "a kept release was changed": (
        lambda sick: write_in(sick, "releases", sick.old, "acme_echo.py"), "RKU009", "releases/", True,
    ),
    "a name that is no digest": (lambda sick: sick.at("releases", "aa").mkdir(), "RKU016", "releases/aa", False),
    "a foreign file among the locks": (lambda sick: sick.at("locks", "x").touch(), "RKU016", "locks/x", False),
    "a bound release is not on record": (
        lambda sick: sick.execute(f"DELETE FROM release WHERE tree = '{sick.tree}'"), "RKU017", "releases/", False,
    ),
    "a bound release counts as collected": (
        lambda sick: sick.execute(f"UPDATE release SET collected_ms = 1 WHERE tree = '{sick.tree}'"),
        "RKU017", "releases/", False,
    ),
    "a task of an endpoint that is gone": (
        lambda sick: sick.execute(_TASK), "RKU014", "endpoint gone", False,
    ),
    "the signer was revoked": (
        lambda sick: sick.execute("UPDATE trust SET revoked_ms = 1"), "RKU010", "acme.echo", False,
    ),
    "the signer is not on record": (lambda sick: sick.execute("DELETE FROM trust"), "RKU011", "acme.echo", False),
    "a source has gone": (lambda sick: shutil.rmtree(sick.base / "releases"), "RKU012", "source local", False),
    "an endpoint has no task": (
        lambda sick: sick.execute("UPDATE task SET state = 'replaced'"), "RKU013", "endpoint desk", False,
    ),
}  # fmt: skip


@pytest.mark.requirement("RK-DOC-001")
def test_a_home_that_is_as_it_should_be_gives_no_finding(sick: Sick) -> None:
    assert [] == examine(sick.path)
    assert ([], []) == ((mended := fix(sick.path)).mended, mended.left)


@pytest.mark.requirement("RK-DOC-001", "RK-DOC-003")
@pytest.mark.parametrize("name", DAMAGE)
def test_each_damage_is_found_alone_under_its_rule_and_at_its_place(sick: Sick, name: str) -> None:
    damage, rule, place, fixable = DAMAGE[name]
    damage(sick)
    found = examine(sick.path)
    assert [(rule, fixable)] == [(one.rule, one.fixable) for one in found]
    assert place in found[0].place and found[0].message and found[0].mend


@pytest.mark.requirement("RK-DOC-002")
@pytest.mark.parametrize("name", DAMAGE)
def test_looking_changes_nothing(sick: Sick, name: str) -> None:
    DAMAGE[name][0](sick)
    before = snapshot(Path(sick.path))
    examine(sick.path)
    assert before == snapshot(Path(sick.path))


@pytest.mark.requirement("RK-DOC-010", "RK-DOC-011")
@pytest.mark.parametrize("name", sorted(set(DAMAGE) - {"an older schema"}))
def test_what_needs_no_decision_is_mended_and_everything_else_is_left(sick: Sick, name: str) -> None:
    damage, rule, _place, fixable = DAMAGE[name]
    damage(sick)
    came_to = fix(sick.path)
    mended, left = ([one.rule for one in part] for part in (came_to.mended, came_to.left))
    assert (([rule], []) if fixable else ([], [rule])) == (mended, left)
    assert left == sick.rules()


@pytest.mark.requirement("RK-DOC-010")
def test_an_older_schema_is_brought_forward_and_then_its_contents_are_looked_at(sick: Sick) -> None:
    older(sick)
    came_to = fix(sick.path)
    assert ["RKU003", "RKU005"] == [one.rule for one in came_to.mended][:2]
    assert "RKU003" not in sick.rules() and {"RKU008", "RKU012"} <= set(sick.rules())


@pytest.mark.requirement("RK-DOC-011")
def test_mending_publishes_nothing_trusts_nothing_and_gives_nothing_up(sick: Sick) -> None:
    def decided() -> Any:
        with opened(sick) as store:
            return [
                store.database.rows(f"SELECT * FROM {table} ORDER BY 1")
                for table in ("active", "revision", "trust", "source", "seen", "release", "task")
            ]

    before = decided()
    for name in ("the active release was changed", "a kept release is missing", "a dead operation"):
        DAMAGE[name][0](sick)
    assert 3 == len(fix(sick.path).mended)
    assert before == decided()


@pytest.mark.requirement("RK-DOC-001")
def test_a_clock_that_runs_behind_is_found_and_one_that_is_right_is_not(sick: Sick) -> None:
    seen = 1_800_000_000_000
    sick.execute(f"INSERT OR REPLACE INTO meta VALUES ('high_water_ms', {seen})")
    assert ["RKU004"] == sick.rules(clock=lambda: seen - HOUR_MS)
    assert [] == sick.rules(clock=lambda: seen - 1000)


@pytest.mark.requirement("RK-DOC-001")
def test_a_network_file_system_is_named_and_nothing_else(sick: Sick, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "on_network", lambda _path: True)
    assert ["RKS003"] == sick.rules()


@pytest.mark.requirement("RK-DOC-003")
@pytest.mark.parametrize("name", ["others may enter", "a newer schema", "an older schema", "another program"])
def test_nothing_is_told_of_what_lies_behind_something_that_cannot_be_trusted(sick: Sick, name: str) -> None:
    damage, rule, _, _ = DAMAGE[name]
    damage(sick)
    sick.at("locks", "hold_x").touch()
    sick.at("releases", TREE).mkdir()
    assert [rule] == sick.rules()


@pytest.mark.requirement("RK-DOC-010")
def test_what_was_hidden_is_mended_in_its_turn(sick: Sick) -> None:
    for name in ("a dead lock", "a tree without a record", "a directory is missing", "others may enter"):
        DAMAGE[name][0](sick)
    came_to = fix(sick.path)
    assert ["RKS002", "RKU001", "RKU006", "RKU007"] == [one.rule for one in came_to.mended]
    assert [] == came_to.left


@pytest.mark.requirement("RK-DOC-010", "RK-PUB-029")
def test_the_directory_of_a_dead_call_goes_behind_the_call_and_not_before(sick: Sick) -> None:
    sick.execute(_CALL)
    sick.at("run", "inv_left").mkdir()
    assert ["RKU005"] == sick.rules()
    came_to = fix(sick.path)
    assert ["RKU005", "RKU006"] == [one.rule for one in came_to.mended]
    assert ([], False) == (came_to.left, sick.at("run", "inv_left").exists())


@pytest.mark.requirement("RK-DOC-004")
def test_what_belongs_to_the_living_is_neither_found_nor_touched(sick: Sick) -> None:
    with opened(sick) as store:
        holder = store.holder.id
        sick.execute(
            _OPERATION.replace("hold_gone", holder),
            _CALL.replace("hold_gone", holder),
        )
        sick.at("run", "inv_left").mkdir()
        sick.execute(_CALL.replace("hold_gone", holder).replace("inv_left", "inv_done"))
        sick.execute("UPDATE invocation SET outcome = 'succeeded' WHERE id = 'inv_done'")
        sick.at("run", "inv_done").mkdir()
        with Stage(sick.home, "op_living"):
            # A tree is in its place before its record is: whoever moved it holds the stage.
            sick.at("releases", TREE).mkdir()
            assert [] == examine(sick.path)
            assert ([], []) == ((came_to := fix(sick.path)).mended, came_to.left)
            assert sick.at("staging", "op_living").exists() and sick.at("releases", TREE).exists()
            assert sick.at("run", "inv_done").exists()
        assert ["RKU007"] == sick.rules()
    # The directory of the call that is not settled stays; the other one is nobody's now.
    assert {"RKU005", "RKU006", "RKU007"} == set(sick.rules())


# What nobody would do on purpose: each leaves a home that no verb can work in.
def instead_of_release(sick: Sick, make: Callable[[Path], object]) -> None:
    lose(sick, sick.tree)
    make(sick.at("releases", sick.tree))


def link_for_release(sick: Sick) -> None:
    """To a directory of the user, which is none of the home's."""
    (sick.base / "own").mkdir(mode=0o750)
    (sick.base / "own" / "kept").touch()
    instead_of_release(sick, lambda path: path.symlink_to(sick.base / "own"))


def pipe_inside(sick: Sick) -> None:
    sick.at("releases", sick.tree).chmod(0o755)
    os.mkfifo(sick.at("releases", sick.tree, "pipe"))


def database(sick: Sick) -> Path:
    return sick.at("db", "rukh.sqlite3")


BROKEN: dict[str, Callable[[Sick], object]] = {
    "an empty database": lambda sick: database(sick).write_bytes(b""),
    "half a database": lambda sick: os.truncate(database(sick), 5000),
    "a database of zeros": lambda sick: database(sick).write_bytes(bytes(40_000)),
    "a directory for a database": lambda sick: instead(database(sick), Path.mkdir),
    "a link to itself for a database": lambda sick: instead(
        database(sick), lambda path: path.symlink_to(path.name)
    ),
    "tables that are missing": lambda sick: sick.execute("DROP TABLE trust"),
    "a file for a release": lambda sick: instead_of_release(sick, Path.touch),
    "a link for a release": link_for_release,
    "a pipe in a release": pipe_inside,
    "a pipe for a catalog": lambda sick: instead(sick.base / "releases" / "catalog.json", os.mkfifo),
    "a log of another database": lambda sick: sick.at("db", "rukh.sqlite3-wal").write_bytes(b"x" * 9000),
    "text for a time": lambda sick: sick.execute("INSERT OR REPLACE INTO meta VALUES ('high_water_ms', 'x')"),
}


@pytest.mark.requirement("RK-DOC-006")
@pytest.mark.parametrize("name", BROKEN)
def test_no_broken_home_is_a_fault_of_the_program(sick: Sick, name: str) -> None:
    BROKEN[name](sick)
    for findings in (examine(sick.path), (came_to := fix(sick.path)).mended, came_to.left):
        assert all(finding.rule in RULES and finding.message for finding in findings)
    assert [one.rule for one in came_to.left] == sick.rules()


@pytest.mark.requirement("RK-DOC-010")
@pytest.mark.parametrize("name", ["a file for a release", "a link for a release", "a pipe in a release"])
def test_a_release_comes_back_whatever_lies_in_its_place(sick: Sick, name: str) -> None:
    BROKEN[name](sick)
    assert ["RKT063"] == [one.rule for one in fix(sick.path).mended]
    assert [] == examine(sick.path)
    own = sick.base / "own"
    assert not own.exists() or (0o750, ["kept"]) == (own.stat().st_mode & 0o777, os.listdir(own))


def newly(sick: Sick) -> list[Finding]:
    write_in(sick, "releases", sick.tree, "acme_echo.py")
    return fix(sick.path).left


@pytest.mark.requirement("RK-DOC-012")
def test_a_source_with_other_bytes_for_the_version_restores_nothing(sick: Sick) -> None:
    catalog = sick.base / "releases"
    artifact = next(path for path in catalog.iterdir() if "1.1.0" in path.name and path.name.endswith(".gz"))
    kept = artifact.read_bytes()
    artifact.write_bytes(kept[:-1] + b"!")
    left = newly(sick)
    assert ["RKT063"] == [one.rule for one in left]
    assert "it was not mended: no source offers the bytes" in left[0].message
    assert b"#" in sick.at("releases", sick.tree, "acme_echo.py").read_bytes()[-1:]
    artifact.write_bytes(kept)
    assert [] == fix(sick.path).left


@pytest.mark.requirement("RK-DOC-012")
def test_an_artifact_that_does_not_give_the_tree_restores_nothing(
    sick: Sick, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(restoring, "tree_digest", lambda _rows: "0" * 64)
        assert ["RKT063"] == [one.rule for one in newly(sick)]
    assert [] == fix(sick.path).left


@pytest.mark.requirement("RK-DOC-013")
def test_a_death_between_the_two_trees_leaves_what_the_next_try_mends(
    sick: Sick, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(_stage: Stage, _tree: str) -> bool:
        raise RukhError("RKT064", "the power went")

    write_in(sick, "releases", sick.tree, "acme_echo.py")
    with monkeypatch.context() as patched:
        patched.setattr(Stage, "settle", dies)
        left = fix(sick.path).left
    assert ["RKU008"] == [one.rule for one in left]
    assert [] == fix(sick.path).left


@pytest.mark.requirement("RK-DOC-014")
def test_what_cannot_be_mended_keeps_nothing_else_from_it(sick: Sick) -> None:
    shutil.rmtree(sick.base / "releases")
    for name in ("the active release is missing", "a dead lock", "a tree without a record"):
        DAMAGE[name][0](sick)
    came_to = fix(sick.path)
    assert ["RKU006", "RKU007"] == [one.rule for one in came_to.mended]
    assert ["RKU008", "RKU012"] == [one.rule for one in came_to.left]
    assert "no source offers the bytes of acme.echo 1.1.0" in came_to.left[0].message
