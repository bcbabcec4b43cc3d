"""`new`: an extension to begin with, in each language, that is whole from the start."""

from __future__ import annotations

import json
import os
import re
import resource
import stat
import subprocess
from pathlib import Path

import click
import pytest

from rukh.app import Application
from rukh.cli.admin import scaffold
from rukh.cli.admin.checking import check_verb
from rukh.cli.admin.scaffold import new_verb
from rukh.cli.admin.trial import test_verb as trial_verb
from rukh.sources.pack import pack
from rukh.values.registry import RESERVED_WORDS
from tests.support.commandline import Run, rule
from tests.support.homes import PATIENCE, PROGRAM
from tests.support.languages import SDK

LANGUAGES = ("python", "node", "sh")


@pytest.fixture
def program() -> str:
    """The installed one: what is made here is tried with it."""
    return PROGRAM


def files(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


COMMON = [".gitignore", "README.md", "rukh-cases.json", "rukh-extension.json"]
OWN = {
    "python": ["acme_hello.py"],
    "node": ["main.mjs", "rukh_sdk.mjs"],
    "sh": ["bin/greet", "lib/rukh-sh", "lib/rukh.sh"],
}


@pytest.mark.requirement("RK-AUTHOR-040")
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_written_passes_check_pack_and_test(run: Run, tmp_path: Path, language: str) -> None:
    made = tmp_path / "made"
    status, out, err = run("new", "acme.hello", "--lang", language, "--out", str(made), "--json")
    assert (0, "") == (status, err)
    assert sorted(json.loads(out)["files"]) == files(made) == sorted(COMMON + OWN[language])

    checked = run("check", str(made / "rukh-extension.json"), "--json")
    assert (0, True, "") == (checked[0], json.loads(checked[1])["clean"], checked[2])
    assert () == pack(str(made), str(tmp_path / "hello.tar.gz")).left_out

    tested = subprocess.run(
        [PROGRAM, "test", str(made), "--json"], capture_output=True, timeout=PATIENCE * 2, check=False
    )
    assert (0, b"") == (tested.returncode, tested.stderr)
    document = json.loads(tested.stdout)
    assert (10, 0) == (document["passed"], document["failed"])
    assert {"terminal", "agent"} == {row["surface"] for row in document["cases"]}


@pytest.mark.requirement("RK-AUTHOR-040")
@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_is_given_the_same_declaration_and_the_same_cases(
    run: Run, tmp_path: Path, language: str
) -> None:
    for name in ("python", language):
        run("new", "acme.hello", "--lang", name, "--out", str(tmp_path / name))
    ours, theirs = (
        json.loads((tmp_path / name / "rukh-extension.json").read_bytes()) for name in (language, "python")
    )
    for document in (ours, theirs):
        del document["runtime"]
        del document["commands"][0]["execute"]["mapping"]

    assert theirs == ours
    cases = [(tmp_path / name / "rukh-cases.json").read_bytes() for name in (language, "python")]
    assert cases[0] == cases[1]


@pytest.mark.requirement("RK-AUTHOR-042")
def test_what_is_needed_of_rukh_is_in_the_release(run: Run, tmp_path: Path) -> None:
    for language in ("node", "sh"):
        run("new", "acme.hello", "--lang", language, "--out", str(tmp_path / language))

    vendored = {
        "node/rukh_sdk.mjs": SDK / "node" / "rukh_sdk.mjs",
        "sh/lib/rukh-sh": SDK / "sh" / "rukh_sh.py",
        "sh/lib/rukh.sh": SDK / "sh" / "rukh.sh",
    }
    for name, source in vendored.items():
        assert source.read_bytes() == (tmp_path / name).read_bytes()
    modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in vendored}
    assert {"node/rukh_sdk.mjs": 0o644, "sh/lib/rukh-sh": 0o755, "sh/lib/rukh.sh": 0o644} == modes


@pytest.mark.requirement("RK-AUTHOR-040")
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_placeholder_is_left_and_the_application_names_itself(tmp_path: Path, language: str) -> None:
    made = tmp_path / "made"
    words = ["new", "acme.hello", "--lang", language, "--out", str(made)]
    assert 0 == Application("brand", "1").run([os.fsencode(word) for word in words])
    for name in files(made):
        assert [] == re.findall(r"\{\{\w*\}\}", (made / name).read_text(encoding="utf-8"))

    assert "brand test ." in (made / "README.md").read_text(encoding="utf-8")
    assert "rukh test" not in (made / "README.md").read_text(encoding="utf-8")


# name of the package: the first word of its command
WORDS = {
    "acme.hello": "hello",
    "acme.tools.hello-world": "hello-world",
    "acme.test": "acme-test",
    "acme.new": "acme-new",
    f"a.{'b' * 32}": "b" * 32,
    f"a.{'b' * 33}": "a-" + "b" * 30,
    f"a.{'b' * 29}-{'c' * 20}": "a-" + "b" * 29,
}


@pytest.mark.requirement("RK-AUTHOR-043")
@pytest.mark.parametrize("package", WORDS)
def test_the_path_begins_with_a_word_that_is_free(run: Run, tmp_path: Path, package: str) -> None:
    made = tmp_path / "made"
    assert 0 == run("new", package, "--lang", "python", "--out", str(made))[0]
    document = json.loads((made / "rukh-extension.json").read_bytes())

    assert WORDS[package] == document["commands"][0]["path"][0]
    assert WORDS[package] not in RESERVED_WORDS
    assert 0 == run("check", str(made / "rukh-extension.json"))[0]


@pytest.mark.requirement("RK-AUTHOR-041")
@pytest.mark.parametrize(
    "package", ["acme", "Acme.hello", "acme.", "acme.hello/add", "", "acme.héllo", "../x.y"]
)
def test_a_name_that_is_no_package_is_refused_and_nothing_is_written(
    run: Run, tmp_path: Path, package: str
) -> None:
    made = tmp_path / "made"
    shown = run("new", package, "--lang", "sh", "--out", str(made), "--json")

    assert (64, "RKX018", False) == (shown[0], rule(shown), made.exists())


@pytest.mark.requirement("RK-AUTHOR-041")
def test_a_directory_that_holds_anything_is_refused_and_left_as_it_is(run: Run, tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    (made / ".hidden").write_text("kept")
    shown = run("new", "acme.hello", "--lang", "sh", "--out", str(made), "--json")
    assert (64, "RKX017", [".hidden"]) == (shown[0], rule(shown), files(made))

    (made / ".hidden").unlink()
    assert 0 == run("new", "acme.hello", "--lang", "sh", "--out", str(made))[0]


@pytest.mark.requirement("RK-AUTHOR-041")
def test_a_directory_that_cannot_be_one_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    for out in ("file", "file/made", "\udcff" * 3000):
        shown = run("new", "acme.hello", "--lang", "sh", "--out", out, "--json")
        assert 64 == shown[0]
        assert rule(shown) in ("RKX019", "RKL008")
    assert "kept" == (tmp_path / "file").read_text()


@pytest.mark.requirement("RK-AUTHOR-041")
def test_an_empty_name_of_a_directory_is_not_the_working_directory(run: Run, tmp_path: Path) -> None:
    shown = run("new", "acme.hello", "--lang", "sh", "--out", "", "--json")

    assert (64, "RKX019", []) == (shown[0], rule(shown), list(tmp_path.iterdir()))
    assert 0 == run("new", "acme.hello", "--lang", "sh", "--out", ".")[0]


@pytest.mark.requirement("RK-AUTHOR-041")
@pytest.mark.parametrize("out", ["new/.", "new/deep/", "new/x/../deep", "./new//deep"])
def test_a_directory_may_be_written_in_any_way(run: Run, tmp_path: Path, out: str) -> None:
    assert 0 == run("new", "acme.hello", "--lang", "sh", "--out", out)[0]
    assert sorted(COMMON + OWN["sh"]) == files(tmp_path / out)


def test_a_link_that_leads_nowhere_is_the_place_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    shown = run("new", "acme.hello", "--lang", "sh", "--out", "link/made", "--json")

    assert (64, "RKX019", "link") == (shown[0], rule(shown), json.loads(shown[2])["error"]["place"])


def test_the_next_step_can_be_pasted_and_steers_no_terminal(run: Run) -> None:
    said = "a \\x1b[2Jb holds acme.hello; next: rukh test 'a \\x1b[2Jb'\n"
    assert (0, said, "") == run("new", "acme.hello", "--lang", "sh", "--out", "a \x1b[2Jb")
    assert "rukh test 'two words'\n" in run("new", "acme.hello", "--lang", "sh", "--out", "two words")[1]


@pytest.mark.requirement("RK-AUTHOR-065")
@pytest.mark.parametrize("there", [False, True], ids=["a new directory", "an empty one"])
def test_what_could_not_be_written_wholly_is_taken_back(tmp_path: Path, there: bool) -> None:
    """The disk takes small files alone: the fifth of them, the module for Node, is too large for it."""
    made = tmp_path / "deep" / "made"
    if there:
        made.mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    words = [PROGRAM, "new", "acme.hello", "--lang", "node", "--json", "--out", str(made)]
    small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))  # noqa: E731
    done = subprocess.run(words, capture_output=True, timeout=PATIENCE, check=False, preexec_fn=small)
    error = json.loads(done.stderr)["error"]
    assert (64, "RKX019", f"{made}/rukh_sdk.mjs") == (done.returncode, error["code"], error["place"])
    assert before == sorted(tmp_path.rglob("*"))

    assert 0 == subprocess.run(words, capture_output=True, timeout=PATIENCE, check=False).returncode
    assert sorted(COMMON + OWN["node"]) == files(made)


@pytest.mark.requirement("RK-AUTHOR-065")
def test_an_interrupt_leaves_nothing_of_a_new_extension(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def interrupted(path: str, mode: int) -> None:
        calls.append(path)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "chmod", interrupted)
    assert 130 == run("new", "acme.hello", "--lang", "sh", "--out", str(tmp_path / "made"))[0]
    assert (3, False) == (len(calls), (tmp_path / "made").exists())


def test_a_language_that_is_not_there_names_those_that_are(run: Run) -> None:
    shown = run("new", "acme.hello", "--lang", "perl", "--out", "made", "--json")

    assert (64, "RKL028") == (shown[0], rule(shown))
    assert "python, node, sh" in shown[2]


@pytest.mark.parametrize("verb", [check_verb, new_verb, trial_verb], ids=lambda verb: str(verb.name))
def test_the_guide_for_authors_names_every_option_of_their_verbs(verb: click.Command) -> None:
    guide = (SDK.parents[1] / "docs" / "guide-authors.md").read_text("utf-8")
    options = [each.opts[-1] for each in verb.params if isinstance(each, click.Option)]

    assert [] == [option for option in options if option not in guide]


@pytest.mark.requirement("RK-AUTHOR-040")
def test_every_template_is_used_and_every_placeholder_is_known() -> None:
    rows = [*scaffold._COMMON, *(row for rows in scaffold._FILES.values() for row in rows)]
    used = {source for source, _name, _mode in rows}
    there = {str(path.relative_to(SDK)) for path in (SDK / "templates").rglob("*") if path.is_file()}

    assert there == {source for source in used if source.startswith("templates/")}
    known = set(scaffold._values("acme.hello", "sh", "rukh"))
    named = {
        name for source in there for name in scaffold._PLACEHOLDER.findall((SDK / source).read_text("utf-8"))
    }
    assert set() == named - known
