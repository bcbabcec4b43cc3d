"""Working directories: private, empty, gone with all that is in them; kept for later calls only as they were made."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rukh.host import workdirs
from rukh.host.workdirs import WorkDirs, is_as_made, make_work_dir, remove_work_dir
from rukh.store.home import open_home
from rukh.store.store import Store
from tests.support.children import called, scripted, verdict


@pytest.mark.requirement("RK-EXEC-022")
def test_the_working_directory_is_private_and_removed_with_all_that_is_in_it(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    make_work_dir(str(work))
    assert 0o700 == stat.S_IMODE(work.stat().st_mode)
    deep = work.joinpath(*"abcdefghij" * 5)
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    os.symlink(outside, work / "link")
    os.mkfifo(work / "fifo")
    (work / "closed").mkdir()
    (work / "closed" / "file").write_text("x")
    (work / "closed").chmod(0)

    assert remove_work_dir(str(work))
    assert not work.exists()
    assert "x" == (outside / "kept").read_text()


@pytest.mark.requirement("RK-EXEC-022", "RK-STORE-018")
@pytest.mark.parametrize("kind", ["a link to a directory", "a link to nothing", "a file", "a fifo"])
def test_what_was_put_in_its_place_goes_and_nothing_behind_it(tmp_path: Path, kind: str) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    outside.mkdir(mode=0o500)
    (tmp_path / "kept").write_text("x")
    os.symlink(tmp_path / "kept", outside / "link")
    if kind == "a file":
        work.write_text("x")
    elif kind == "a fifo":
        os.mkfifo(work)
    else:
        work.symlink_to(outside if "directory" in kind else tmp_path / "nothing")

    assert remove_work_dir(str(work))
    assert not os.path.lexists(work)
    assert (0o500, ["link"]) == (stat.S_IMODE(outside.stat().st_mode), os.listdir(outside))
    outside.chmod(0o700)


@pytest.mark.requirement("RK-EXEC-022", "RK-STORE-018")
def test_a_link_that_comes_while_it_is_removed_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    (work / "inside").mkdir(parents=True)
    outside.mkdir()
    (outside / "kept").write_text("x")
    emptied = workdirs._empty_but_directories

    def swapped(directory: str) -> list[str]:
        found = emptied(directory)
        if found:
            (work / "inside").rmdir()
            (work / "inside").symlink_to(outside)
        return found

    monkeypatch.setattr(workdirs, "_empty_but_directories", swapped)
    assert not remove_work_dir(str(work))
    assert ["kept"] == os.listdir(outside)


@pytest.mark.requirement("RK-EXEC-022")
def test_what_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert remove_work_dir(str(tmp_path / "gone"))
    file = tmp_path / "file"
    file.write_text("x")

    def refused(_path: str) -> None:
        raise PermissionError(1, "no")

    monkeypatch.setattr(os, "unlink", refused)
    assert not remove_work_dir(str(file))


@pytest.mark.requirement("RK-EXEC-022", "RK-EXEC-010")
def test_a_directory_that_cannot_be_made_makes_the_start_fail(tmp_path: Path) -> None:
    work = tmp_path / "no" / "work"
    make_work_dir(str(work))

    assert ("execution_failed", "spawn_failed") == verdict(called(scripted("", work)))


def _at(store: Store, number: int) -> str:
    return store.home.at("run", f"inv_{number}")


def _in_run(store: Store) -> list[str]:
    return os.listdir(store.home.at("run"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(open_home(str(tmp_path / "home"), create=True))) as one:
        yield one


@pytest.fixture
def kept() -> WorkDirs:
    return WorkDirs(keep=True)


@pytest.mark.requirement("RK-EXEC-037")
def test_what_was_left_as_it_was_made_is_used_again_and_never_twice_at_once(
    store: Store, kept: WorkDirs
) -> None:
    kept.make(_at(store, 1))
    number = os.stat(_at(store, 1)).st_ino
    kept.remove(_at(store, 1), left=False)
    assert _in_run(store) == ["inv_1"]

    kept.make(_at(store, 2))
    kept.make(_at(store, 3))
    assert sorted(_in_run(store)) == ["inv_2", "inv_3"]
    assert os.stat(_at(store, 2)).st_ino == number != os.stat(_at(store, 3)).st_ino
    for one in (2, 3):
        assert is_as_made(_at(store, one))
        kept.remove(_at(store, one), left=False)
    assert len(_in_run(store)) == 2
    numbers = {entry.stat().st_ino for entry in os.scandir(store.home.at("run"))}
    for one in (4, 5):
        kept.make(_at(store, one))
    assert {os.stat(_at(store, one)).st_ino for one in (4, 5)} == numbers
    for one in (4, 5):
        kept.remove(_at(store, one), left=False)
    kept.make(_at(store, 6))
    kept.make(_at(store, 7))
    kept.make(_at(store, 8))
    for one in (6, 7):
        kept.remove(_at(store, one), left=False)
    kept.close()
    assert _in_run(store) == ["inv_8"]
    kept.remove(_at(store, 8), left=False)
    assert _in_run(store) == []


@pytest.mark.requirement("RK-EXEC-037")
def test_a_host_that_keeps_nothing_removes_it(store: Store) -> None:
    directories = WorkDirs()
    directories.make(_at(store, 1))
    assert is_as_made(_at(store, 1))
    directories.remove(_at(store, 1), left=False)
    assert _in_run(store) == []


def _replaced(path: str) -> None:
    """By a link to what would be fine in its place."""
    os.rmdir(path)
    other = os.path.join(os.path.dirname(os.path.dirname(path)), "other")
    make_work_dir(other)
    os.symlink(other, path)


CHANGES = {
    "a file in it": lambda path: Path(path, "file").touch(),
    "a directory in it": lambda path: Path(path, "inside").mkdir(),
    "others may enter": lambda path: os.chmod(path, 0o711),
    "its owner may not write": lambda path: os.chmod(path, 0o500),
    "a sticky bit": lambda path: os.chmod(path, 0o1700),
    "it is gone": os.rmdir,
    "a link in its place": _replaced,
}


@pytest.mark.requirement("RK-EXEC-037")
@pytest.mark.parametrize("name", CHANGES)
def test_what_was_changed_while_it_was_kept_is_never_given(store: Store, kept: WorkDirs, name: str) -> None:
    kept.make(_at(store, 1))
    kept.remove(_at(store, 1), left=False)
    CHANGES[name](_at(store, 1))
    kept.make(_at(store, 2))
    assert is_as_made(_at(store, 2))
    assert _in_run(store) == ["inv_2"]


@pytest.mark.requirement("RK-EXEC-037")
def test_one_that_cannot_be_renamed_goes_and_another_is_made(
    store: Store, kept: WorkDirs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_paths: str) -> None:
        raise OSError(28, "no space")

    kept.make(_at(store, 1))
    kept.remove(_at(store, 1), left=False)
    monkeypatch.setattr(os, "rename", refused)
    kept.make(_at(store, 2))
    assert is_as_made(_at(store, 2))
    assert _in_run(store) == ["inv_2"]


@pytest.mark.requirement("RK-EXEC-037")
@pytest.mark.parametrize("name", CHANGES)
def test_what_a_child_changed_is_never_given_to_another(store: Store, kept: WorkDirs, name: str) -> None:
    kept.make(_at(store, 1))
    assert is_as_made(_at(store, 1))
    CHANGES[name](_at(store, 1))
    descriptors = os.listdir("/proc/self/fd")
    assert not is_as_made(_at(store, 1))
    assert os.listdir("/proc/self/fd") == descriptors
    kept.remove(_at(store, 1), left=False)
    assert _in_run(store) == []
    kept.make(_at(store, 2))
    assert is_as_made(_at(store, 2))


@pytest.mark.requirement("RK-EXEC-037")
@pytest.mark.parametrize(
    ("attribute", "stays"),
    [("user.note", False), ("system.posix_acl_default", False), ("security.selinux", True)],
)
def test_an_attribute_that_a_user_may_set_is_a_change(
    store: Store, kept: WorkDirs, monkeypatch: pytest.MonkeyPatch, attribute: str, stays: bool
) -> None:
    kept.make(_at(store, 1))
    monkeypatch.setattr(os, "listxattr", lambda _descriptor: [attribute])
    kept.remove(_at(store, 1), left=False)
    assert len(_in_run(store)) == int(stays)


@pytest.mark.requirement("RK-EXEC-037")
def test_what_the_filesystem_does_not_tell_is_taken_for_a_change(
    store: Store, kept: WorkDirs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def untold(_descriptor: int) -> list[str]:
        raise OSError(95, "not supported")

    kept.make(_at(store, 1))
    monkeypatch.setattr(os, "listxattr", untold)
    kept.remove(_at(store, 1), left=False)
    assert _in_run(store) == []


@pytest.mark.requirement("RK-EXEC-037")
def test_what_another_user_made_is_not_kept(
    store: Store, kept: WorkDirs, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.make(_at(store, 1))
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    kept.remove(_at(store, 1), left=False)
    assert _in_run(store) == []


@pytest.mark.requirement("RK-EXEC-037")
def test_where_a_process_of_the_call_may_be_left_the_directory_is_removed(
    store: Store, kept: WorkDirs
) -> None:
    kept.make(_at(store, 1))
    kept.remove(_at(store, 1), left=True)
    assert _in_run(store) == []
