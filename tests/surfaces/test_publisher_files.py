"""The publisher's tools, killed and failed at every point: a file is whole under its name, or not there."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from crashes.points import disturbed, points
from crashes.program import KILLED, forked
from rukh.sources.pack import pack
from rukh.values.errors import RukhError
from rukh.values.ids import sha256_hex

EXTENSION = Path(__file__).parents[2] / "examples" / "notes"
# verb: its words in the publisher's directory, and the file that it writes, which is the same at each run
TOOLS = {
    "pack": (["pack", "{}/source", "--out", "{}/new.tar.gz"], "new.tar.gz"),
    "catalog": (["catalog", "{}/shop"], "shop/catalog.json"),
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A publisher's directory: an extension, and a shop with an artifact of it that is signed and not yet listed."""
    place = tmp_path_factory.mktemp("desk")
    shutil.copytree(EXTENSION, place / "source")
    (place / "shop").mkdir()
    for words in (
        ["keygen", "--out", "{}/keys"],
        ["pack", "{}/source", "--out", "{}/shop/acme.tar.gz"],
        ["sign", "{}/shop/acme.tar.gz", "--key", "{}/keys/publisher.key"],
    ):
        assert 0 == forked("", said(place, words)).status
    return place


def said(place: Path, words: list[str]) -> list[str]:
    return [word.format(place) for word in words]


def names(place: Path) -> set[str]:
    return {os.fspath(path.relative_to(place)) for path in place.rglob("*")}


@pytest.mark.requirement("RK-TRUST-051")
@pytest.mark.parametrize("fault", ["kill", "ENOSPC"])
@pytest.mark.parametrize("tool", TOOLS)
def test_a_file_is_whole_or_not_there_and_the_next_try_writes_it(
    tmp_path: Path, desk: Path, tool: str, fault: str
) -> None:
    words, file = TOOLS[tool]
    undisturbed = shutil.copytree(desk, tmp_path / "undisturbed")
    found, ended = points(undisturbed, said(undisturbed, words), tmp_path / "points")
    whole, after = (undisturbed / file).read_bytes(), names(undisturbed)
    assert (0, names(desk) | {file}) == (ended.status, after)
    struck = {"without it": 0, "with it": 0}
    for number, point in enumerate(found):
        place = shutil.copytree(desk, tmp_path / str(number))
        ended, hit = disturbed(place, said(place, words), point, fault, tmp_path / "log")
        there = (place / file).exists()
        assert not there or whole == (place / file).read_bytes(), point
        left = names(place) - after
        assert all(Path(name).name.startswith(".new_") for name in left), point
        assert not left or fault == "kill" or point.call == "unlink", point
        struck["with it" if there else "without it"] += hit
        if hit and not there:
            assert ended.status in (KILLED, 69), (point, ended.err)
            assert 0 == forked("", said(place, words)).status
            assert whole == (place / file).read_bytes()
        shutil.rmtree(place)
    assert all(struck.values()), struck


@pytest.mark.requirement("RK-TRUST-051", "RK-TRUST-023")
@pytest.mark.parametrize("taken", [False, True])
def test_without_second_names_a_new_file_is_whole_too_and_one_that_came_meanwhile_stays(
    tmp_path: Path, desk: Path, monkeypatch: pytest.MonkeyPatch, taken: bool
) -> None:
    out = tmp_path / "new.tar.gz"

    def unlinkable(_fresh: str, path: str) -> None:
        if taken:
            Path(path).write_text("another's")
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("os.link", unlinkable)
    if taken:
        with pytest.raises(RukhError) as refused:
            pack(str(desk / "source"), str(out))
        assert ("RKT045", "another's") == (refused.value.rule, out.read_text())
    else:
        packed = pack(str(desk / "source"), str(out))
        assert packed.artifact == sha256_hex(out.read_bytes())
    assert {"new.tar.gz"} == names(tmp_path)
