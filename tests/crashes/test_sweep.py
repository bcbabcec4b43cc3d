"""The crash sweeps at some of their points; `make crashes` takes all of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from crashes.loops import loop
from crashes.oracle import look
from crashes.points import CHANGING, points
from crashes.program import KILLED, Ended, forked
from crashes.scenes import NEW, OLD, SCENES, Scene, Stage, remove
from crashes.sweep import FAULTS, Sweep

BY_NAME = {scene.name: scene for scene in SCENES}
# Points left out between two that are taken here.
STRIDE = {"kill": 24, "interrupt": 40, "ENOSPC": 50, "EIO": 60, "EPERM": 70, "power": 2}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    place = tmp_path_factory.mktemp("crashes")
    yield Stage(place)
    remove(place)


@pytest.mark.requirement("RK-PUB-037", "RK-PUB-038", "RK-PUB-040")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("scene", SCENES, ids=list(BY_NAME))
def test_no_fault_leaves_anything_but_the_old_or_the_new_version(
    stage: Stage, scene: Scene, fault: str
) -> None:
    sweep = Sweep(stage, scene)
    found = [sweep.at(spot) for spot in sweep.points(fault, STRIDE[fault])]

    assert [] == [(one.point, one.losses) for one in found if one.losses]
    assert any(one.struck for one in found)


@pytest.mark.requirement("RK-PUB-037")
def test_a_writer_that_is_killed_over_and_over_disturbs_no_reader(tmp_path: Path) -> None:
    home = Stage(tmp_path).home(BY_NAME["update"])
    counts = loop(os.fspath(home), 6, seed=7)

    assert [] == counts.wrong
    assert counts.calls > 0
    remove(tmp_path)


@pytest.mark.requirement("RK-PUB-039")
def test_every_file_of_a_release_is_synced_before_it_is_published(stage: Stage, tmp_path: Path) -> None:
    """Of the files that an installation writes, each is made durable before the database says that they are there."""
    home = stage.copy(BY_NAME["install"], tmp_path / "home")
    log = tmp_path / "log"
    found, ended = points(home, stage.words(BY_NAME["install"]), log)

    assert 0 == ended.status
    assert {"rename", "fsync", "fdatasync", "pwrite64"} <= {point.call for point in found}
    assert [] == unsynced(log)
    remove(home)


def unsynced(log: Path) -> list[str]:
    """Files below `staging` that were written and not synced when the last commit of the database was."""
    opened: dict[str, str] = {}
    dirty: set[str] = set()
    left: list[str] = []
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        call = line.split(maxsplit=1)[1]
        name, _, rest = call.partition("(")
        descriptor = rest.split(",")[0].split(")")[0]
        if name == "openat" and "/staging/" in rest:
            path = rest.split('"')[1]
            opened[rest.rpartition("= ")[2].strip()] = path
            dirty |= {path} if "O_CREAT" in rest else set()
        elif name in ("fsync", "fdatasync") and descriptor in opened:
            dirty.discard(opened[descriptor])
        elif name == "fdatasync":
            left = sorted(dirty)
    return left


def test_the_oracle_sees_what_is_wrong(stage: Stage, tmp_path: Path) -> None:
    """An answer without its effect, a version that nobody asked for, files that do not match: each is a loss."""
    scene = BY_NAME["update"]
    home = stage.copy(scene, tmp_path / "home")
    words = stage.words(scene)

    _, wrong = look(scene, words, stage.copy(scene, tmp_path / "told"), Ended(0, "updated", ""))
    assert [f"acknowledged, and version {OLD!r} is there"] == wrong
    stranger = Scene("other", scene.words, "0.1.0", NEW)
    _, wrong = look(stranger, words, stage.copy(scene, tmp_path / "other"), Ended(KILLED, "", ""))
    assert [f"version {OLD!r} is neither the old nor the new one"] == wrong
    for module in (home / "cache").rglob("*.pyc"):
        module.unlink()
    for module in (home / "releases").rglob("acme_echo.py"):
        module.parent.chmod(0o700)
        module.unlink()
    _, wrong = look(scene, words, home, Ended(KILLED, "", ""))
    assert wrong and wrong[0].startswith(f"{OLD} is reported, and this runs:")
    remove(tmp_path)


def test_a_forked_program_speaks_as_one_of_its_own(tmp_path: Path) -> None:
    assert Ended(0, "rukh 0.1.0\n", "") == forked(str(tmp_path / "home"), ["--version"])
    assert "pwrite64" in CHANGING
