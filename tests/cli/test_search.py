"""Help without a command: the width of a page, what `help WORD` finds, and the pages of the core's own words."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from rukh.cli.browse import terminal_width
from rukh.cli.search import Entry, search
from rukh.cli.words import BUILT
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.shelves import shelf_home


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    return shelf_home(tmp_path_factory.mktemp("shelf"))


def rukh(home: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *words],
        env={**os.environ, "RUKH_HOME": home, **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


# name: (COLUMNS, the width)
WIDTHS = {
    "a number": ("41", 41),
    "the least": ("1", 1),
    "the largest": ("9999", 9999),
    "none": ("0", 80),
    "beyond the largest": ("10000", 80),
    "a word": ("wide", 80),
    "signed": ("-40", 80),
    "empty": ("", 80),
}


@pytest.mark.requirement("RK-CLI-071")
@pytest.mark.parametrize("name", WIDTHS)
def test_the_width_is_what_columns_names(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    named, expected = WIDTHS[name]
    monkeypatch.setenv("COLUMNS", named)
    reading, writing = os.pipe()  # no terminal
    assert expected == terminal_width(writing)
    os.close(reading)
    os.close(writing)


@pytest.mark.requirement("RK-CLI-071", "RK-CLI-053")
@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_page_is_no_wider_than_its_columns(shelf: InstalledHome, width: int) -> None:
    for words in (["--help"], ["shelf", "put", "--help"], ["check", "--help"], ["help", "put"]):
        page = rukh(shelf.path, *words, COLUMNS=str(width))
        assert 0 == page.returncode
        assert max(len(line) for line in page.stdout.splitlines()) <= width


# name: (words behind `help`, the first hit, where it was found)
HITS = {
    "an identity": (["acme.shelf/put_all"], "shelf all", "identity"),
    "a description": (["zebra"], "shelf all", "description"),
    "the case does not matter": (["ZEBRA"], "shelf all", "description"),
    "an option of an installed command": (["odds"], "shelf put", "option --odds"),
    "the summary of a parameter": (["free"], "shelf put", "option --text"),
    "all of several words": (["odd", "note"], "shelf put", "option --odd, argument note"),
    "an option of the core's word": (["mount"], "install", "option --mount"),
    "what a word of the core does": (["stage"], "install", "summary"),
}


@pytest.mark.requirement("RK-CLI-072")
@pytest.mark.parametrize("name", HITS)
def test_a_word_that_names_nothing_is_searched_for(shelf: InstalledHome, name: str) -> None:
    words, path, where = HITS[name]
    page = rukh(shelf.path, "help", *words, COLUMNS="400")
    assert (0, "") == (page.returncode, page.stderr)
    first = page.stdout.splitlines()[2]
    assert first.split("  ")[1] == path
    assert first.endswith(f"[{where}]")


@pytest.mark.requirement("RK-CLI-072")
def test_words_that_have_to_do_with_nothing_are_refused_beside_one_that_has(shelf: InstalledHome) -> None:
    found, nothing = rukh(shelf.path, "help", "zebra"), rukh(shelf.path, "help", "zebra", "and", "giraffe")
    assert 0 == found.returncode
    assert (65, "") == (nothing.returncode, nothing.stdout)
    assert "rule:  RKL034" in nothing.stderr
    near = rukh(shelf.path, "help", "shelff")
    assert 65 == near.returncode
    assert "did you mean rukh shelf?" in near.stderr


@pytest.mark.requirement("RK-CLI-072")
def test_a_search_shows_the_nearest_twenty_and_counts_the_others() -> None:
    entries = [Entry(f"near {number:02d}", "", [("summary", "x")]) for number in range(25)]
    far = Entry("a far one", "near", [("summary", "near")])
    hits = search(["NEAR"], [far, *entries])
    assert 26 == hits.total
    assert [f"near {number:02d}" for number in range(20)] == [path for path, _, _ in hits.found]
    assert [("a far one", "near", "summary")] == search(["near"], [far]).found


@pytest.mark.requirement("RK-CLI-072")
def test_more_hits_than_are_shown_are_counted_in_the_page(shelf: InstalledHome) -> None:
    page = rukh(shelf.path, "help", "the")
    assert "more: say another word beside it" in page.stdout


@pytest.mark.requirement("RK-CLI-073")
@pytest.mark.parametrize("word", BUILT)
def test_help_of_a_word_of_the_core_needs_no_home_and_has_the_form_of_the_others(
    word: str, tmp_path: Path
) -> None:
    page = rukh(str(tmp_path / "none"), "help", word)
    assert (0, "") == (page.returncode, page.stderr)
    assert page.stdout.startswith(f"Usage: rukh {word}")
    if word == "run":  # it has options of its command, and no page of click's
        assert "rukh run PACKAGE/COMMAND --help" in page.stdout
    else:
        assert re.search(r"(?m)^  -h, --help +Show this help$", page.stdout)
    assert not (tmp_path / "none").exists()
