"""Doctor at its edges: names, links and rights that this program never makes, and what one look hides of another."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from crashes.scenes import remove
from rukh.host.doctor import examine
from rukh.host.mending import fix
from rukh.host.upkeep import collect, recover
from rukh.sources.restore import Wanted, restore
from rukh.sources.staging import Stage, verify_tree
from rukh.store.database import Database
from rukh.store.holders import is_alive
from rukh.store.home import Home, holds
from rukh.store.reading import Reading
from rukh.values.errors import RukhError
from tests.support.sick import Sick, lose, opened, write_in

PARTS = ["releases", "cache", "staging", "run", "locks"]


@pytest.fixture
def unlisted(sick: Sick, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Take the right to list a directory of the home, from root as well."""
    listdir = os.listdir

    def take(part: str) -> None:
        def refused(path: str) -> list[str]:
            if str(path) == str(sick.at(part)):
                raise PermissionError(13, "Permission denied", path)
            return listdir(path)

        monkeypatch.setattr(os, "listdir", refused)

    return take


@pytest.mark.requirement("RK-DOC-006")
@pytest.mark.parametrize("part", PARTS)
def test_a_directory_that_cannot_be_listed_is_a_finding_and_hides_no_other(
    sick: Sick, part: str, unlisted: Callable[[str], None]
) -> None:
    sick.execute("UPDATE task SET state = 'replaced'")
    unlisted(part)
    found = examine(sick.path)
    assert [("RKU015", part), ("RKU013", "endpoint desk")] == [(one.rule, one.place) for one in found]
    assert "Permission denied" in found[0].message and found[0].mend


@pytest.mark.requirement("RK-DOC-014")
@pytest.mark.parametrize("part", PARTS)
def test_what_can_be_listed_is_mended_beside_what_cannot(
    sick: Sick, part: str, unlisted: Callable[[str], None]
) -> None:
    places = {"locks": "hold_x", "staging": "op_x", "run": "inv_x"}
    for place, name in places.items():
        sick.at(place, name).mkdir() if place != "locks" else sick.at(place, name).touch()
    unlisted(part)
    came_to = fix(sick.path)
    assert ["RKU006"] * len(set(places) - {part}) == [one.rule for one in came_to.mended]
    assert ["RKU015"] == [one.rule for one in came_to.left]


@pytest.mark.requirement("RK-DOC-006")
@pytest.mark.parametrize("part", ["staging", "run", "locks"])
def test_recovery_in_a_directory_that_cannot_be_listed_is_a_refusal(
    sick: Sick, part: str, unlisted: Callable[[str], None]
) -> None:
    with opened(sick) as store:
        assert [] == recover(store).staging
        unlisted(part)
        with pytest.raises(RukhError) as refused:
            recover(store)
    assert ("RKU015", part) == (refused.value.rule, refused.value.place)


@pytest.mark.requirement("RK-DOC-006")
def test_a_database_that_cannot_be_reached_is_no_home_that_was_never_made(
    sick: Sick, monkeypatch: pytest.MonkeyPatch
) -> None:
    os_stat = os.stat

    def refused(path: str, **named: bool) -> os.stat_result:
        if str(path).startswith(f"{sick.at('db')}/"):
            raise PermissionError(13, "Permission denied", path)
        return os_stat(path, **named)

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", refused)
        (found,) = examine(sick.path)
    assert ("RKS002", f"chmod 700 {sick.at('db')}", False) == (found.rule, found.mend, found.fixable)
    assert [] == sick.rules()


@pytest.mark.requirement("RK-DOC-006")
def test_releases_that_cannot_be_listed_count_as_something(
    sick: Sick, unlisted: Callable[[str], None], tmp_path: Path
) -> None:
    assert [True, False] == [holds(sick.home), holds(Home(str(tmp_path / "none")))]
    remove(sick.at("releases"))
    sick.at("releases").mkdir()
    assert not holds(sick.home)
    unlisted("releases")
    assert holds(sick.home)


# Names.

NAMES = {
    "releases": (b"\xff", "RKU016", "releases/\\xff"),
    "cache": (b"a\xff", "RKU016", "cache/a\\xff"),
    "staging": (b"\xff", "RKU006", "staging/\\xff"),
    "run": (b"inv_\xff", "RKU006", "run/inv_\\xff"),
    "locks": (b"hold_\xff", "RKU006", "locks/hold_\\xff"),
    "run, and none of a call": (b"\xff", "RKU016", "run/\\xff"),
    "locks, and none of a process": (b"\xff", "RKU016", "locks/\\xff"),
}


@pytest.mark.requirement("RK-DOC-006", "RK-DOC-015")
@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_no_utf_8_is_named_with_escapes_and_hides_nothing(sick: Sick, name: str) -> None:
    spelled, rule, place = NAMES[name]
    os.mkdir(os.path.join(os.fsencode(str(sick.at(name.partition(",")[0]))), spelled))
    sick.execute("UPDATE task SET state = 'replaced'")
    found = [(one.rule, one.place) for one in sick.look()]
    assert [(rule, place), ("RKU013", "endpoint desk")] == found


@pytest.mark.requirement("RK-DOC-001", "RK-DOC-015")
def test_what_the_host_keeps_in_the_cache_is_no_remains_and_stays(sick: Sick) -> None:
    kept = sick.at("cache", "node-version")
    kept.write_text("x", encoding="utf-8")
    stray = sick.at("cache", "e" * 64)
    stray.mkdir()
    assert ["RKU007"] == sick.rules()
    with opened(sick) as store:
        assert ["e" * 64] == collect(store, dry_run=False).releases
    assert kept.exists() and not stray.exists()


@pytest.mark.requirement("RK-DOC-015")
def test_a_name_that_this_home_never_gives_is_told_and_stays(sick: Sick) -> None:
    for part in ("releases", "cache"):
        sick.at(part, "mine").mkdir()
    with opened(sick) as store:
        assert [] == collect(store, dry_run=False).releases
    came_to = fix(sick.path)
    assert ([], ["RKU016", "RKU016"]) == (came_to.mended, [one.rule for one in came_to.left])
    assert sick.at("releases", "mine").exists() and sick.at("cache", "mine").exists()


# Links.


@pytest.mark.requirement("RK-DOC-014", "RK-DOC-006")
@pytest.mark.parametrize("place", ["staging/link", "run/inv_link"])
@pytest.mark.parametrize("to", ["/nowhere", "directory"])
def test_a_link_among_the_remains_goes_and_what_it_leads_to_stays(
    sick: Sick, place: str, to: str, tmp_path: Path
) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory" / "file").touch()
    sick.at(place).symlink_to(tmp_path / to)
    held = os.open(tmp_path / "directory", os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(held, fcntl.LOCK_EX)  # of something else, which says nothing of the link
    came_to = fix(sick.path)
    os.close(held)
    assert (["RKU006"], []) == ([one.rule for one in came_to.mended], came_to.left)
    assert (tmp_path / "directory" / "file").exists()


@pytest.mark.requirement("RK-TRUST-035", "RK-DOC-001")
def test_a_link_to_the_very_bytes_is_a_changed_release_and_what_it_leads_to_keeps_its_mode(
    sick: Sick, tmp_path: Path
) -> None:
    tree, moved = sick.at("releases", sick.tree), tmp_path / "moved"
    verify_tree(sick.home, sick.tree)
    shutil.copytree(tree, moved)
    moved.chmod(0o755)
    lose(sick, sick.tree)
    tree.symlink_to(moved)
    with pytest.raises(RukhError) as refused:
        verify_tree(sick.home, sick.tree)
    assert "RKT063" == refused.value.rule
    assert ["RKT063"] == sick.rules()
    assert ["RKT063"] == [one.rule for one in fix(sick.path).mended]
    assert tree.is_dir() and not tree.is_symlink()
    assert 0o755 == stat.S_IMODE(moved.stat().st_mode) and any(moved.iterdir())


@pytest.mark.requirement("RK-DOC-014")
def test_what_does_not_go_is_named_with_the_reason(sick: Sick, monkeypatch: pytest.MonkeyPatch) -> None:
    sick.at("staging", "op_x").mkdir()
    rmdir = os.rmdir

    def refused(path: str) -> None:
        if str(path).endswith("op_x"):
            raise OSError(16, "Device or resource busy", path)
        rmdir(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "rmdir", refused)
        (left,) = fix(sick.path).left
    assert "it was not mended: it is there still" in left.message and left.mend
    assert [] == fix(sick.path).left


@pytest.mark.requirement("RK-DOC-014", "RK-STORE-016")
def test_what_the_storage_does_not_let_it_mend_is_left_with_its_own_place_and_mend(
    sick: Sick, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(sick, sick.tree)
    (before,) = sick.look()

    def full(*_given: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("rukh.host.mending.restore", full)
        (left,) = fix(sick.path).left
    assert (before.rule, before.place, before.mend) == (left.rule, left.place, left.mend)
    assert "the storage failed: No space left on device" in left.message
    assert ["RKU008"] == [one.rule for one in fix(sick.path).mended]


@pytest.mark.requirement("RK-DOC-014")
def test_a_release_whose_record_went_while_it_was_mended_is_left(
    sick: Sick, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(sick, sick.old)
    assert ["RKU009"] == sick.rules()
    row = Database.row

    def gone(database: Database, sql: str, values: tuple[object, ...] = ()) -> object:
        return None if "artifact FROM release" in sql else row(database, sql, values)

    with monkeypatch.context() as patched:
        patched.setattr(Database, "row", gone)
        (left,) = fix(sick.path).left
    assert "no record says where it came from" in left.message
    assert ["RKU009"] == [one.rule for one in fix(sick.path).mended]


# A home that takes no writes.


@pytest.mark.requirement("RK-DOC-001", "RK-DOC-002")
def test_a_dead_holder_is_found_where_its_lock_cannot_be_written(
    sick: Sick, monkeypatch: pytest.MonkeyPatch
) -> None:
    sick.at("locks", "hold_x").touch()
    os_open = os.open

    def read_only(path: str, flags: int, *more: int, **named: int) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY) and sick.path in str(path):
            raise OSError(30, "Read-only file system", path)
        return os_open(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", read_only)
    assert ["RKU006"] == sick.rules()


@pytest.mark.requirement("RK-DOC-006")
def test_a_pipe_or_a_link_in_the_place_of_a_lock_is_not_waited_for(sick: Sick, tmp_path: Path) -> None:
    os.mkfifo(sick.at("locks", "hold_pipe"))
    sick.at("locks", "hold_link").symlink_to(tmp_path)
    assert [False, True] == [is_alive(sick.home, name) for name in ("hold_pipe", "hold_link")]
    assert ["locks/hold_pipe"] == [one.place for one in sick.look()]


@pytest.mark.requirement("RK-DOC-002")
@pytest.mark.parametrize("log", [False, True])
def test_a_log_that_cannot_be_read_here_is_no_damage(
    sick: Sick, log: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_words: object) -> None:
        raise apsw.CantOpenError("unable to open database file")

    if log:
        sick.at("db", "rukh.sqlite3-wal").write_bytes(b"x")
    monkeypatch.setattr(apsw, "Connection", refused)
    with pytest.raises(RukhError) as told:
        Reading(sick.home)
    assert ("RKS007" if log else "RKS006") == told.value.rule


@pytest.mark.requirement("RK-DOC-002")
def test_looking_at_a_closed_home_makes_no_file_beside_the_database(sick: Sick) -> None:
    listed = os.listdir(sick.at("db"))
    seen = Reading(sick.home)
    assert seen.is_current and listed == os.listdir(sick.at("db"))
    seen.close()


# Releases.


@pytest.mark.requirement("RK-DOC-001")
def test_a_bound_release_is_looked_at_whatever_its_record_says(sick: Sick) -> None:
    sick.execute(f"UPDATE release SET collected_ms = 1 WHERE tree = '{sick.tree}'")
    write_in(sick, "releases", sick.tree, "acme_echo.py")
    assert ["RKU017", "RKT063"] == sick.rules()
    assert sick.look()[1].message.endswith("acme_echo.py first")
    lose(sick, sick.tree)
    sick.execute(f"DELETE FROM release WHERE tree = '{sick.tree}'")
    assert ["RKU017", "RKU008"] == sick.rules()
    left = fix(sick.path).left[1]
    assert "no record says where it came from" in left.message


@pytest.mark.requirement("RK-DOC-016")
def test_the_first_file_that_differs_is_named_where_a_source_can_tell(sick: Sick) -> None:
    def told() -> str:
        (found,) = [one for one in sick.look() if one.rule == "RKT063"]
        return found.message

    write_in(sick, "releases", sick.tree, "acme_echo.py")
    assert told().endswith("verified, acme_echo.py first")
    sick.at("releases", sick.tree).chmod(0o755)
    sick.at("releases", sick.tree, "a").mkdir()
    assert told().endswith("verified, a/ first")
    sick.at("releases", sick.tree, "a", "b").touch()
    assert told().endswith("verified, a/b first")
    shutil.rmtree(sick.base / "releases")
    assert told().endswith("those that were verified")


@pytest.mark.requirement("RK-DOC-012")
def test_a_restored_release_has_its_byte_code_again(sick: Sick) -> None:
    before = sorted(path.relative_to(sick.at("cache")) for path in sick.at("cache", sick.tree).rglob("*.pyc"))
    remove(sick.at("cache", sick.tree))
    lose(sick, sick.tree)
    assert ["RKU008"] == [one.rule for one in fix(sick.path).mended]
    after = sorted(path.relative_to(sick.at("cache")) for path in sick.at("cache", sick.tree).rglob("*.pyc"))
    assert before and before == after


@pytest.mark.requirement("RK-DOC-012")
def test_a_release_that_no_source_offers_is_not_restored_and_its_place_is_named(sick: Sick) -> None:
    wanted = Wanted("acme.echo", "9.0.0", "f" * 64, sick.tree)
    sources = [("local", str(sick.base / "catalog"))]
    with pytest.raises(RukhError) as refusal:
        restore(sick.home, wanted, sources)
    assert ("RKT052", f"releases/{sick.tree}") == (refusal.value.rule, refusal.value.place)


@pytest.mark.requirement("RK-DOC-012", "RK-DOC-014")
def test_a_source_that_cannot_be_read_keeps_no_other_from_restoring(sick: Sick) -> None:
    sick.execute(f"INSERT INTO source VALUES ('first', '{sick.base / 'none'}', 0)")
    lose(sick, sick.tree)
    came_to = fix(sick.path)
    assert (["RKU008"], ["RKU012"]) == (
        [one.rule for one in came_to.mended],
        [one.rule for one in came_to.left],
    )


@pytest.mark.requirement("RK-DOC-013", "RK-TRUST-035")
@pytest.mark.parametrize("link", [False, True])
def test_setting_aside_opens_a_directory_for_its_move_and_follows_no_link(
    sick: Sick, tmp_path: Path, link: bool
) -> None:
    mine, target = tmp_path / "mine", sick.at("releases", sick.tree)
    mine.mkdir()
    mine.chmod(0o555)
    if link:
        lose(sick, sick.tree)
        target.symlink_to(mine)
    with Stage(sick.home, "op_x") as stage:
        stage.set_aside(sick.tree)
        assert not os.path.lexists(target)
        aside = sick.at("staging", "op_x", "aside").lstat().st_mode
        assert (stat.S_ISLNK if link else stat.S_ISDIR)(aside)
        assert link or 0o700 == stat.S_IMODE(aside)  # only then can its owner move it, who is not root
    assert 0o555 == stat.S_IMODE(mine.stat().st_mode)
