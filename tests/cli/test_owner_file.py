"""`profile apply`: the file is named in every refusal, and what it names in vain is told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rukh.cli.main import run
from tests.support.homes import InstalledHome
from tests.support.shelves import shelf_home

HEAD = 'format = "rukh.profile/1"\n'


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    return shelf_home(tmp_path_factory.mktemp("shelf"))


def apply(home: str, text: str, place: Path, *words: str) -> tuple[int, str]:
    file = place / "owner.toml"
    file.write_text(text)
    line = [word.encode() for word in ("profile", "apply", str(file), *words)]
    return run("rukh", "1.0.0", ["rukh"], line, {**os.environ, "RUKH_HOME": home}), str(file)


# name: (text behind the first line, what stands behind the file's name in the place)
FAULTS = {
    "no TOML": ("x = y\n", " (line 2, column 5)"),
    "an unknown member": ("lmits = {}\n", ": /lmits"),
}


@pytest.mark.requirement("RK-PROF-051")
@pytest.mark.parametrize("name", FAULTS)
def test_a_refused_file_is_named(
    shelf: InstalledHome, tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    text, behind = FAULTS[name]
    status, file = apply(shelf.path, HEAD + text, tmp_path)
    assert (64, True) == (status, f"place: {file}{behind}\n" in capfd.readouterr().err)


@pytest.mark.requirement("RK-PROF-052")
def test_what_is_not_installed_is_told_and_published_all_the_same(
    shelf: InstalledHome, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    slip = HEAD + '[environment."acme.shlf"]\nX = ""\n'
    assert 0 == apply(shelf.path, slip, tmp_path)[0]
    shown = capfd.readouterr()
    assert (
        "warning: acme.shlf is not installed (/environment/acme.shlf); did you mean acme.shelf?" in shown.err
    )
    assert 0 == apply(shelf.path, slip, tmp_path, "--json")[0]
    document = json.loads(capfd.readouterr().out)
    assert ["/environment/acme.shlf"] == [row["place"] for row in document["warnings"]]

    assert 0 == apply(shelf.path, HEAD + '[environment."acme.shelf"]\n', tmp_path, "--json")[0]
    shown = capfd.readouterr()
    assert ("", False) == (shown.err, "warnings" in json.loads(shown.out))
