"""What is said of words that a verb of the core does not take, and of words that lead nowhere."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rukh.cli.help import unknown_command
from rukh.cli.main import run
from rukh.cli.search import Entry, search
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.shelves import shelf_home


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    return shelf_home(tmp_path_factory.mktemp("shelf"))


def rukh(home: str, *words: str) -> int:
    return run(
        "rukh", "1.0.0", ["rukh"], [word.encode() for word in words], {**os.environ, "RUKH_HOME": home}
    )


# name: (words, rule, status, place, mend)
REFUSED = {
    "a verb of no group": (["trust", "ad"], "RKL018", 65, "trust ad", "did you mean rukh trust add?"),
    "nothing like a verb": (["profile", "foo"], "RKL018", 65, "profile foo", "see rukh profile --help"),
    "a group alone": (["trust"], "RKL028", 64, "rukh trust", "see rukh trust --help"),
    "a choice that is missing": (
        ["completion"], "RKL028", 64, "rukh completion, SHELL",
        "write one of bash, zsh, fish; see rukh completion --help",
    ),
    "a choice that is none": (
        ["completion", "bsh"], "RKL028", 64, "rukh completion, argument 2: bsh",
        "did you mean bash? see rukh completion --help",
    ),
    "an option that is none": (
        ["new", "acme.x", "-q"], "RKL028", 64, "rukh new, argument 3: -q", "see rukh new --help",
    ),
    "a slip in an option": (
        ["list", "--jsn"], "RKL028", 64, "rukh list, argument 2: --jsn",
        "did you mean --json? see rukh list --help",
    ),
    "a value for a flag": (
        ["list", "--json=3"], "RKL028", 64, "rukh list, argument 2: --json",
        "write --json alone; see rukh list --help",
    ),
    "no value for an option": (
        ["new", "acme.x", "--out"], "RKL028", 64, "rukh new, argument 3: --out",
        "write --out VALUE; see rukh new --help",
    ),
    "an option that is missing": (
        ["mcp", "tools"], "RKL028", 64, "rukh mcp tools, --endpoint", "see rukh mcp tools --help",
    ),
    "an argument that is missing": (
        ["catalog"], "RKL028", 64, "rukh catalog, DIR", "see rukh catalog --help",
    ),
    "a word too many": (
        ["list", "one", "two"], "RKL028", 64, "rukh list, argument 2: one", "see rukh list --help",
    ),
    "the home behind the verb": (
        ["list", "--home", "/x"], "RKL028", 64, "rukh list, argument 2: --home",
        "write --home in front of the command; see rukh list --help",
    ),
    "an option of the application in front": (
        ["--home", "/nowhere/at/all", "list", "one"], "RKL028", 64, "rukh list, argument 4: one",
        "see rukh list --help",
    ),
}  # fmt: skip


@pytest.mark.requirement("RK-CLI-092", "RK-CLI-093", "RK-CLI-094", "RK-ADM-002")
@pytest.mark.parametrize("name", REFUSED)
def test_words_of_the_core_are_refused_in_the_form_of_all_others(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    words, rule, status, place, mend = REFUSED[name]
    assert status == rukh(str(tmp_path / "home"), *words)
    shown = capfd.readouterr().err
    assert [f"  place: {place}", f"  mend:  {mend}", f"  rule:  {rule}"] == shown.splitlines()[1:]
    # What click says of itself.
    assert not any(raw in shown for raw in ("Got unexpected", "Missing", "No such", "Choose"))


@pytest.mark.requirement("RK-CLI-092", "RK-CLI-093")
@pytest.mark.parametrize("words", [["trust", "list"], ["list", "--json"], ["completion", "bash"]])
def test_the_words_beside_them_are_taken(shelf: InstalledHome, words: list[str]) -> None:
    assert 0 == rukh(shelf.path, *words)


@pytest.mark.requirement("RK-CLI-094")
def test_the_home_behind_an_installed_command_is_told_where_it_belongs(
    shelf: InstalledHome, capfd: pytest.CaptureFixture[str]
) -> None:
    assert 64 == rukh(shelf.path, "shelf", "put", "--home", "x")
    assert "write --home in front of the command" in capfd.readouterr().err
    assert 0 == rukh("/nowhere/at/all", "--home", shelf.path, "shelf", "all")


# name: (words, place, mend); behind `help`, words that lead to no page are searched for.
LOST = {
    "an empty word": ([""], "''", "see rukh --help"),
    "a command in quotes": (["shelf put"], "'shelf put'", "did you mean rukh shelf put?"),
    "two words in quotes": (["foo bar"], "'foo bar'", "see rukh --help"),
    "a word in quotes behind a group": (["shelf", "put x"], "shelf 'put x'", "see rukh shelf --help"),
    "capitals": (["SHELF", "put"], "SHELF", "did you mean rukh shelf?"),
    "help of an empty word": (["help", ""], "''", "see rukh --help"),
    "help of more than a word of the core": (
        ["help", "check", "extra"],
        "check extra",
        "see rukh help check",
    ),
    "help of more than a command": (
        ["help", "shelf", "put", "zzz"],
        "shelf put zzz",
        "see rukh help shelf put",
    ),
}


@pytest.mark.requirement("RK-CLI-098", "RK-CLI-054")
@pytest.mark.parametrize("name", LOST)
def test_words_that_lead_nowhere_are_named(
    shelf: InstalledHome, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    words, place, mend = LOST[name]
    assert 65 == rukh(shelf.path, *words)
    shown = capfd.readouterr().err
    assert ("RKL034" if name.startswith("help of more") else "RKL018") in shown
    assert (f"place: {place}\n" in shown, f"mend:  {mend}\n" in shown) == (True, True)


@pytest.mark.requirement("RK-CLI-098")
@pytest.mark.parametrize(
    ("words", "status"), [(["help", "check"], 0), (["help", "run", "acme.shelf/put"], 0)]
)
def test_help_of_a_command_alone_is_its_page(shelf: InstalledHome, words: list[str], status: int) -> None:
    assert status == rukh(shelf.path, *words)


@pytest.mark.requirement("RK-CLI-098")
@pytest.mark.parametrize(
    ("wrong", "mend"),
    [
        ("x", "see rukh --help"),
        ("é", "see rukh --help"),
        ("N", "did you mean rukh n?"),
        ("nn", "did you mean rukh n?"),
    ],
)
def test_a_word_of_other_letters_is_no_slip(wrong: str, mend: str) -> None:
    assert mend == unknown_command("rukh", [wrong], [(("n",), "command", "acme.n/n", "")], ["check"]).mend


@pytest.mark.requirement("RK-CLI-099")
@pytest.mark.parametrize(
    ("word", "found"),
    [("x", 0), ("ex", 1), ("xplain", 1), ("pl", 0), ("w", 1)],
)
def test_a_short_word_is_looked_for_at_the_beginning_of_words(word: str, found: int) -> None:
    assert found == search([word], [Entry("tools", "Why", [("option --explain", "--explain Why")])]).total


@pytest.mark.requirement("RK-CLI-095")
@pytest.mark.parametrize(
    ("words", "called"),
    [(["help"], False), (["list"], False), (["completion", "bash"], False), (["shelf", "all"], True)],
)
def test_an_output_that_takes_nothing_speaks_of_a_call_where_there_was_one(
    shelf: InstalledHome, words: list[str], called: bool
) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [PROGRAM, *words],
            stdout=full,
            stderr=subprocess.PIPE,
            env=shelf.environment(),
            timeout=PATIENCE,
            check=False,
        )
    assert (70, True, called) == (
        done.returncode,
        b"look at where its output goes" in done.stderr,
        b"the call has its outcome" in done.stderr,
    )
