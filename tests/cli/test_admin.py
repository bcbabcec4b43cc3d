"""The administrative verbs, run as a process's words in this process: what they answer and what they leave behind."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rukh.app import Application
from rukh.cli.words import BUILT
from rukh.values.errors import RukhError
from rukh.values.registry import RESERVED_WORDS
from tests.support.commandline import Answer, Run

NOTES = Path(__file__).resolve().parents[2] / "examples" / "notes"


@pytest.fixture
def released(run: Run, tmp_path: Path) -> Path:
    """A directory with a signed release of `acme.notes`, and a trusted source of it."""
    (tmp_path / "releases").mkdir()
    for words in (
        "keygen --out keys",
        f"pack {NOTES} --out releases/n.tar.gz",
        "sign releases/n.tar.gz --key keys/publisher.key",
        "catalog releases",
        "source add here releases",
    ):
        assert run(*words.split())[0] == 0
    return tmp_path / "releases"


def document(shown: Answer) -> Any:
    assert (shown[0], shown[2]) == (0, "")
    return json.loads(shown[1])


@pytest.mark.requirement("RK-ADM-001")
@pytest.mark.parametrize("word", sorted(set(RESERVED_WORDS) - set(BUILT)))
def test_a_reserved_word_that_is_not_built_yet_is_unsupported(run: Run, word: str) -> None:
    status, out, err = run(word, "--json")
    assert (status, out) == (69, "")
    assert json.loads(err)["error"]["code"] == "RKL025"


@pytest.mark.requirement("RK-ADM-002")
@pytest.mark.parametrize(
    "words",
    [
        ("install",),
        ("profile", "apply", "x", "y"),
        ("trust", "add"),
        ("list", "--nope"),
        ("mcp", "serve", "--endpont", "x"),
    ],
)
def test_words_that_do_not_fit_are_refused_with_the_way_to_help(run: Run, words: tuple[str, ...]) -> None:
    status, out, err = run(*words)
    assert (status, out) == (64, "")
    assert "RKL028" in err
    assert "--help" in err


@pytest.mark.requirement("RK-ADM-003")
def test_refusals_keep_the_form_that_was_asked_for(run: Run) -> None:
    assert json.loads(run("install", "acme.nothing", "--json")[2])["error"]["code"] == "RKT051"
    assert "rule:  RKT051" in run("install", "acme.nothing")[2]


@pytest.mark.requirement("RK-ADM-003", "RK-ADM-009")
def test_a_release_is_trusted_installed_listed_and_removed(run: Run, released: Path) -> None:
    assert run("install", "acme.notes", "--json")[0] == 66
    assert (
        document(run("trust", "add", "acme.notes", "--key", "keys/publisher.pub", "--json"))["package"]
        == "acme.notes"
    )
    installed = document(run("install", "acme.notes", "--json"))
    assert (installed["action"], installed["version"]) == ("installed", "1.0.0")
    listed = document(run("list", "--json"))
    assert [command["identity"] for command in listed["packages"][0]["commands"]] == [
        "acme.notes/add",
        "acme.notes/list",
        "acme.notes/search",
    ]
    assert run("install", "acme.notes")[0] == 64
    assert document(run("update", "acme.notes", "--json"))["action"] == "unchanged"
    assert document(run("remove", "acme.notes", "--json"))["action"] == "removed"
    assert document(run("list", "--json"))["packages"] == []


@pytest.mark.requirement("RK-ADM-004")
def test_a_refused_installation_leaves_the_profile_and_the_directories_as_they_were(
    run: Run, released: Path, tmp_path: Path
) -> None:
    before = document(run("profile", "show", "--json"))
    assert run("install", "acme.notes")[0] == 66
    assert document(run("profile", "show", "--json")) == before
    assert [os.listdir(tmp_path / "home" / name) for name in ("releases", "staging", "cache", "run")] == [
        [],
        [],
        [],
        [],
    ]


@pytest.mark.requirement("RK-ADM-005")
def test_check_tells_clean_findings_and_wrong_use_apart(run: Run, tmp_path: Path) -> None:
    fine, wrong = str(NOTES / "rukh-extension.json"), tmp_path / "wrong.json"
    wrong.write_text(Path(fine).read_text().replace('"summary"', '"sumary"', 1))
    assert run("check", fine)[0] == 0
    status, out, _ = run("check", str(wrong), "--json")
    assert status == 1
    finding = json.loads(out)["diagnostics"][0]
    assert finding["rule"].startswith("RKD")
    assert {"pointer", "line", "column", "message", "mend"} <= set(finding)
    assert run("check")[0] == 64
    assert not (tmp_path / "home").exists()


OWNER = """
format = "rukh.profile/1"

[presets.assistant]
deadline = "60s"
budget = { calls = 20, per = "1d" }

[endpoints.desktop]
transport = "stdio"
namespace = "acme.desktop"
preset = "assistant"
actor = "agent:desktop"
packages = ["acme.notes"]

[[rules]]
action = "install"
actors = ["user:local"]
packages = ["*"]
decision = "allow"
"""


@pytest.fixture
def exposed(run: Run, released: Path, tmp_path: Path) -> None:
    run("trust", "add", "acme.notes", "--key", "keys/publisher.pub")
    run("install", "acme.notes")
    (tmp_path / "owner.toml").write_text(OWNER)
    assert run("profile", "apply", "owner.toml")[0] == 0


@pytest.mark.requirement("RK-ADM-006", "RK-ADM-007")
@pytest.mark.usefixtures("exposed")
def test_applying_what_was_shown_publishes_the_same_owners_part_and_keeps_packages(
    run: Run, tmp_path: Path
) -> None:
    before = document(run("profile", "show", "--json"))
    (tmp_path / "again.toml").write_text(run("profile", "show", "--toml")[1])
    assert document(run("profile", "apply", "again.toml", "--json")) == {
        "changed": False,
        "revision": before["revision"],
    }
    after = document(run("profile", "show", "--json"))
    assert after == before
    assert list(after["profile"]["packages"]) == ["acme.notes"]


@pytest.mark.requirement("RK-ADM-019")
def test_an_owners_file_that_changes_something_is_published_anew(run: Run, tmp_path: Path) -> None:
    (tmp_path / "more.toml").write_text('format = "rukh.profile/1"\n[limits]\nconcurrency = 3\n')
    first = document(run("profile", "apply", "more.toml", "--json"))
    again = document(run("profile", "apply", "more.toml", "--json"))
    assert (True, False, first["revision"]) == (first["changed"], again["changed"], again["revision"])


@pytest.mark.requirement("RK-ADM-006")
def test_an_owners_file_that_names_packages_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "owner.toml").write_text(
        'format = "rukh.profile/1"\n[packages."acme.notes"]\nversion = "1.0.0"\n'
    )
    status, _, err = run("profile", "apply", "owner.toml", "--json")
    assert (status, json.loads(err)["error"]["code"]) == (64, "RKF003")


@pytest.mark.requirement("RK-ADM-008")
@pytest.mark.usefixtures("exposed")
def test_the_owner_sees_what_an_agent_would_see_and_gets_the_entry_to_paste(run: Run, tmp_path: Path) -> None:
    seen = document(run("mcp", "tools", "--endpoint", "desktop", "--json"))
    slugs = [tool["name"].rpartition("__")[0] for tool in seen["tools"]]
    assert slugs == ["acme-notes-add", "acme-notes-list", "acme-notes-search"]
    entry = document(run("mcp", "config", "--endpoint", "desktop"))
    assert entry["mcpServers"]["rukh-desktop"] == {
        "command": "/opt/rukh",
        "args": ["mcp", "serve", "--endpoint", "desktop"],
        "env": {"RUKH_HOME": str(tmp_path / "home")},
    }


@pytest.mark.usefixtures("exposed")
def test_an_endpoint_that_is_not_in_the_profile_is_named_and_one_that_is_gets_a_task(run: Run) -> None:
    status, _, err = run("mcp", "tools", "--endpoint", "laptop", "--json")
    assert (status, json.loads(err)["error"]["code"]) == (64, "RKA005")
    issued = document(run("task", "issue", "--endpoint", "desktop", "--json"))
    assert (issued["endpoint"], issued["actor"], issued["calls"]) == ("desktop", "agent:desktop", 20)


@pytest.mark.requirement("RK-ADM-011")
def test_a_fault_of_the_program_is_a_refusal_that_names_the_place(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> int:
        raise KeyError("it broke")

    monkeypatch.setattr("rukh.cli.browse.root_help", broken)
    status, out, err = run()
    assert (status, out) == (70, "")
    assert "RKL026" in err
    assert "cli/browse.py:" in err
    assert "Traceback" not in err


@pytest.mark.requirement("RK-ADM-012")
def test_an_application_has_its_own_name_version_and_home(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUKH_HOME", str(tmp_path / "not-this"))
    monkeypatch.setenv("ACME_TOOL_HOME", str(tmp_path / "this"))
    assert Application("acme-tool", "1.4.0").run([b"--version"]) == 0
    assert capfd.readouterr().out == "acme-tool 1.4.0\n"
    assert Application("acme-tool", "1.4.0").run([b"profile", b"show"]) == 0
    assert (tmp_path / "this" / "db").is_dir()
    assert not (tmp_path / "not-this").exists()
    with pytest.raises(RukhError) as refused:
        Application("No Name", "1")
    assert refused.value.rule == "RKL027"


@pytest.mark.requirement("RK-ADM-002")
@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("mcp", "serve", "--endpoint"), "rukh mcp serve, argument 3: --endpoint"),
        (("list", "--json=1"), "rukh list, argument 2: --json"),
        (("mcp",), "rukh mcp"),
        (("profile", "apply"), "rukh profile apply, FILE"),
    ],
)
def test_a_refusal_of_words_names_the_verb(run: Run, words: tuple[str, ...], place: str) -> None:
    status, out, err = run(*words)
    assert (status, out) == (64, "")
    assert f"place: {place}\n" in err


@pytest.mark.requirement("RK-ADM-003")
def test_two_forms_at_once_are_refused(run: Run) -> None:
    status, out, err = run("profile", "show", "--toml", "--json")
    assert (status, out, json.loads(err)["error"]["code"]) == (64, "", "RKL028")
    assert run("profile", "show", "--toml")[0] == 0


@pytest.mark.requirement("RK-CLI-051")
@pytest.mark.parametrize("words", [("run", "--help"), ("help", "run")])
def test_run_has_a_page_of_its_own(run: Run, words: tuple[str, ...]) -> None:
    status, out, err = run(*words)
    assert (status, err) == (0, "")
    assert "--inputs FILE|-" in out


@pytest.mark.requirement("RK-ADM-005")
def test_a_descriptor_beyond_its_limit_and_a_missing_file_are_findings_and_an_unknown_option_wrong_use(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "large.json").write_bytes(b" " * (1 << 20) + b"{}")
    status, out, _ = run("check", "large.json", "--json")
    assert (status, json.loads(out)["diagnostics"][0]["rule"]) == (1, "RKV009")
    status, out, _ = run("check", "missing.json", "--json")
    assert (status, json.loads(out)["diagnostics"][0]["rule"]) == (1, "RKK001")
    status, _, err = run("check", "--nope", "--json")
    assert (status, json.loads(err)["error"]["code"]) == (64, "RKL028")


@pytest.mark.requirement("RK-ADM-011")
@pytest.mark.parametrize("place", ["", "taken/keys"])
def test_a_directory_that_cannot_be_made_is_refused(run: Run, tmp_path: Path, place: str) -> None:
    (tmp_path / "taken").write_text("")
    status, _, err = run("keygen", "--out", place, "--json")
    assert (status, json.loads(err)["error"]["code"]) == (69, "RKT064")


@pytest.mark.requirement("RK-PROF-011")
@pytest.mark.usefixtures("exposed")
def test_an_endpoint_that_was_taken_out_keeps_its_namespace_for_ever(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bare.toml").write_text('format = "rukh.profile/1"\n')
    (tmp_path / "other.toml").write_text(OWNER.replace("acme.desktop", "acme.other"))
    assert run("profile", "apply", "bare.toml")[0] == 0
    status, _, err = run("profile", "apply", "other.toml", "--json")
    assert (status, json.loads(err)["error"]["code"]) == (64, "RKP008")
    assert run("profile", "apply", "owner.toml")[0] == 0
