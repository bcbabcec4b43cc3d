"""history, diff, rollback, recover and gc, as an owner uses them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support import echo
from tests.support.homes import InstalledHome


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    made = InstalledHome(tmp_path_factory.mktemp("upkeep"))
    for version in ("1.0.0", "2.0.0"):
        made.install({**echo.FILES, "v.txt": version}, version=version, commands=echo.commands())
    return made


def answered(home: InstalledHome, *words: str) -> Any:
    done = home.run(*words, "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)


def history(home: InstalledHome) -> list[str]:
    return [row["revision"].partition("-")[0] for row in answered(home, "profile", "history")["revisions"]]


@pytest.mark.requirement("RK-PUB-025")
def test_history_and_differences_are_shown_readably_and_as_documents(home: InstalledHome) -> None:
    rows = answered(home, "profile", "history")["revisions"]
    assert [row["packages"] for row in rows[-3:]] == [{"acme.echo": "2.0.0"}, {"acme.echo": "1.0.0"}, {}]
    shown = home.run("profile", "history").stdout.decode()
    assert shown.splitlines()[-1].endswith("no packages")
    places = [row["place"] for row in answered(home, "profile", "diff", "r2", "r3")["differences"]]
    assert places == [f"/packages/acme.echo/{name}" for name in ("descriptor", "tree", "version")]
    assert b'- "1.0.0"' in home.run("profile", "diff", "r2", "r3").stdout
    assert home.run("profile", "diff", "r2", "r2").stdout == b"They do not differ.\n"


@pytest.mark.requirement("RK-PUB-026", "RK-PUB-028")
def test_a_rollback_is_a_revision_of_its_own_and_an_unknown_one_is_refused(home: InstalledHome) -> None:
    before = history(home)
    done = answered(home, "profile", "rollback", "r2")
    assert history(home) == [done["revision"].partition("-")[0], *before]
    assert done["revision"].partition("-")[0] not in before
    refused = home.run("profile", "rollback", "r99")
    assert (refused.returncode, b"RKO004" in refused.stderr) == (64, True)


@pytest.mark.requirement("RK-PUB-016", "RK-PUB-029")
def test_recover_names_what_it_finds_and_finds_nothing_again(home: InstalledHome) -> None:
    os.mkdir(Path(home.path, "staging", "op_dead"))
    Path(home.path, "locks", "hold_dead").touch()
    found = answered(home, "recover")
    assert (found["staging"], found["locks"]) == (["op_dead"], ["hold_dead"])
    assert home.run("recover").stdout == b"Nothing was left behind.\n"


@pytest.mark.requirement("RK-PUB-024", "RK-PUB-021")
def test_gc_gives_back_a_tree_without_a_record_and_a_dry_run_leaves_it(home: InstalledHome) -> None:
    orphan = Path(home.path, "releases", "f" * 64)
    orphan.mkdir()
    assert answered(home, "gc", "--dry-run") == {"dryRun": True, "releases": ["f" * 64], "revisions": []}
    assert orphan.exists()
    assert home.run("gc").stdout == b"release " + b"f" * 64 + b" went\n"
    assert not orphan.exists()
    assert home.run("gc").stdout == b"Nothing to give back.\n"
