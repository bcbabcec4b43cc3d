"""Renewed consent with the real program: pipes, digests, terminals and what is typed there."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rukh.host.upkeep import rollback
from rukh.machines.steps import ADMIT, CHECK, STAGE
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.registry import LIMIT_SHOWN_CHANGES
from tests.contract.documents import load
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.releases import descriptor
from tests.support.stubs import owner_text, rows
from tests.support.terminals import Terminal

NOTES = "acme.notes"
QUESTION = b"Publish acme.notes 1.1.0? [y/N] "
DIFFERENCE = jsonschema.Draft202012Validator(load("spec/schemas/difference-1.schema.json"))
FAILURE = jsonschema.Draft202012Validator(load("spec/schemas/cli-failure.schema.json"))
# In a group of its own, which is not the one in the foreground of its terminal.
IN_THE_BACKGROUND = "import subprocess, sys; sys.exit(subprocess.Popen(sys.argv[1:], process_group=0).wait())"


def add() -> dict[str, Any]:
    found: dict[str, Any] = descriptor()["commands"][0]
    return found


def more(*names: str) -> list[dict[str, Any]]:
    """The command of 1.0.0, and further ones of these names."""
    return [add(), *({**add(), "id": name, "path": ["notes", name]} for name in names)]


@pytest.fixture
def notes(tmp_path: Path) -> InstalledHome:
    """`acme.notes` 1.0.0 is installed, and 1.1.0 with the command `wipe` is offered."""
    home = InstalledHome(tmp_path, NOTES)
    home.install({})
    home.publisher.release(home.catalog, NOTES, "1.1.0", commands=more("wipe"))
    return home


def state(home: InstalledHome) -> tuple[Any, ...]:
    """What a refusal must not change: what is active, and the files of releases, byte code and staging."""
    listed = json.loads(home.run("list", "--json").stdout)
    return listed, [sorted(os.listdir(Path(home.path, name))) for name in ("releases", "cache", "staging")]


def version(home: InstalledHome) -> str:
    found: str = state(home)[0]["packages"][0]["version"]
    return found


def decisions(home: InstalledHome) -> list[tuple[str, str, str]]:
    """(event, about, how) of every decision that is on record."""
    found = rows(
        home, "SELECT event, about, detail FROM audit WHERE event LIKE 'consent.%' ORDER BY sequence"
    )
    return [(event, about, json.loads(detail)["by"]) for event, about, detail in found]


def refusal(home: InstalledHome, *words: str, stdin: bytes = b"") -> dict[str, Any]:
    """The error of an update under `--json` that is refused for want of consent."""
    done = home.run("update", NOTES, *words, "--json", stdin=stdin)
    assert (76, b"", 1) == (done.returncode, done.stdout, done.stderr.count(b"\n"))
    document = json.loads(done.stderr)
    FAILURE.validate(document)
    DIFFERENCE.validate(document["error"]["difference"])
    error: dict[str, Any] = document["error"]
    return error


# --- nobody is there ---


@pytest.mark.requirement("RK-CONS-008", "RK-CONS-009", "RK-CONS-012", "RK-CLI-075", "RK-ADM-004")
def test_a_pipe_is_refused_with_the_difference_the_digest_and_the_words_that_consent(
    notes: InstalledHome,
) -> None:
    before = state(notes)
    done = notes.run("update", NOTES, stdin=b"y\n")

    error = done.stderr.decode()
    digest = refusal(notes)["difference"]["digest"]
    assert (76, b"") == (done.returncode, done.stdout)
    assert "    + acme.notes/wipe  command: notes wipe\n" in error
    assert f"digest {digest}\n" in error
    assert f"update acme.notes@1.1.0 --accept {digest}\n" in error
    assert "rule:  RKT070" in error
    assert before == state(notes)
    assert [("consent.refused", "acme.notes@1.1.0", "nobody")] * 2 == decisions(notes)


@pytest.mark.requirement("RK-CONS-008", "RK-CONS-009", "RK-CLI-063")
def test_under_json_the_refusal_holds_the_whole_difference(notes: InstalledHome) -> None:
    error = refusal(notes)
    found = error["difference"]
    assert ("RKT070", "acme.notes@1.1.0") == (error["code"], error["place"])
    assert ("acme.notes", "1.0.0", "1.1.0") == (found["package"], found["from"], found["to"])
    assert notes.publisher.key_id == found["signer"]
    assert {
        "kind": "commands",
        "sign": "+",
        "about": "acme.notes/wipe",
        "what": "command",
        "to": ["notes wipe"],
    } in (found["changes"])


@pytest.mark.requirement("RK-CONS-005", "RK-CONS-010")
def test_naming_the_digest_publishes_and_doing_so_again_finds_nothing_to_do(notes: InstalledHome) -> None:
    digest = refusal(notes)["difference"]["digest"]

    done = notes.run("update", NOTES, "--accept", digest, "--json")
    again = notes.run("update", NOTES, "--accept", digest, "--json")

    assert (0, "updated", "1.1.0") == (done.returncode, *_action(done))
    assert (0, "unchanged", "1.1.0") == (again.returncode, *_action(again))
    assert "1.1.0" == version(notes)
    assert ("consent.given", "acme.notes@1.1.0", "digest") == decisions(notes)[-1]


def _action(done: subprocess.CompletedProcess[bytes]) -> tuple[str, str]:
    document = json.loads(done.stdout)
    return document["action"], document["version"]


@pytest.mark.requirement("RK-CONS-005", "RK-CONS-012")
def test_another_digest_is_refused_and_the_difference_that_there_is_is_shown(notes: InstalledHome) -> None:
    digest = refusal(notes)["difference"]["digest"]
    before = state(notes)
    notes.publisher.release(notes.catalog, NOTES, "1.2.0", commands=more("wipe", "burn"))

    done = notes.run("update", NOTES, "--accept", digest)
    newer = refusal(notes, "--accept", digest)

    assert (76, b"") == (done.returncode, done.stdout)
    assert b"acme.notes/burn" in done.stderr
    assert b"rule:  RKT071" in done.stderr
    assert ("RKT071", "1.2.0") == (newer["code"], newer["difference"]["to"])
    assert digest != newer["difference"]["digest"]
    assert before == state(notes)
    assert ("consent.refused", "acme.notes@1.2.0", "digest") == decisions(notes)[-1]
    named = notes.run("update", "acme.notes@1.1.0", "--accept", digest)
    assert (0, "1.1.0") == (named.returncode, version(notes))


@pytest.mark.requirement("RK-CONS-004")
@pytest.mark.parametrize("word", ["a" * 63, "a" * 65, "A" * 64, "a" * 12, "g" * 64], ids=str)
def test_what_is_no_whole_digest_is_wrong_use(notes: InstalledHome, word: str) -> None:
    done = notes.run("update", NOTES, "--accept", word, "--json")
    assert (64, "RKL028") == (done.returncode, json.loads(done.stderr)["error"]["code"])
    assert [] == decisions(notes)


@pytest.mark.requirement("RK-CONS-009")
def test_of_each_kind_only_so_many_lines_are_shown_and_the_number_of_all(notes: InstalledHome) -> None:
    names = [f"c{number:02d}" for number in range(LIMIT_SHOWN_CHANGES + 5)]
    notes.publisher.release(notes.catalog, NOTES, "1.1.1", commands=more(*names))

    text = notes.run("update", NOTES).stderr.decode()

    assert f"  commands ({len(names)})\n" in text
    assert "    ... and 5 more, which --json shows\n" in text
    assert LIMIT_SHOWN_CHANGES == text.count("  command: notes c")
    assert len(names) == sum(one["what"] == "command" for one in refusal(notes)["difference"]["changes"])


# --- somebody is there ---


def terminal(
    home: InstalledHome,
    *words: str,
    variables: Mapping[str, str] | None = None,
    wrapped: tuple[str, ...] = (),
    ahead: bytes = b"",
) -> Terminal:
    """`rukh update acme.notes` on a terminal."""
    environment = {name: value for name, value in home.environment().items() if name != "CI"}
    argv = [*wrapped, PROGRAM, "update", NOTES, *words]
    return Terminal(argv, {**environment, "TERM": "xterm", **(variables or {})}, ahead=ahead)


ANSWERS = {
    "y": (b"y\n", True),
    "yes": (b"yes\n", True),
    "capitals": (b"YES\n", True),
    "spaces around it": (b" y \n", True),
    "n": (b"n\n", False),
    "no": (b"no\n", False),
    "nothing": (b"\n", False),
    "more than a yes": (b"yes, please\n", False),
    "two letters": (b"yy\n", False),
    "the end of the input": (b"\x04", False),
    "y and the end of the input": (b"y\x04\x04", False),
    "a long line": (b"y" * 2000 + b"\n", False),
}


@pytest.mark.requirement("RK-CONS-006", "RK-CONS-007", "RK-CONS-012")
@pytest.mark.parametrize("name", ANSWERS)
def test_on_a_terminal_only_a_yes_is_one(notes: InstalledHome, name: str) -> None:
    keys, given = ANSWERS[name]
    before = state(notes)

    with terminal(notes) as owner:
        asked = owner.until(QUESTION)
        owner.type(keys)
        status, seen = owner.ended()

    assert 1 == (asked + seen).count(b"+ acme.notes/wipe  command: notes wipe")
    assert (0 if given else 76) == status
    assert (b"action:" in seen, b"RKT072" in seen) == (given, not given)
    assert given or before == state(notes)
    assert "1.1.0" == version(notes) if given else "1.0.0" == version(notes)
    event = "consent.given" if given else "consent.refused"
    assert [(event, "acme.notes@1.1.0", "answer")] == decisions(notes)


@pytest.mark.requirement("RK-CONS-012")
def test_an_interrupt_at_the_question_ends_with_its_status_and_leaves_everything(
    notes: InstalledHome,
) -> None:
    before = state(notes)
    with terminal(notes) as owner:
        owner.until(QUESTION)
        owner.type(b"\x03")
        status, _ = owner.ended()
    assert (130, before, []) == (status, state(notes), decisions(notes))


@pytest.mark.requirement("RK-CONS-012")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=str)
def test_a_signal_at_the_question_ends_it_and_leaves_everything(
    notes: InstalledHome, number: signal.Signals
) -> None:
    before = state(notes)
    with terminal(notes) as owner:
        owner.until(QUESTION)
        owner.process.send_signal(number)
        status, _ = owner.ended()
    assert (125, before, []) == (status, state(notes), decisions(notes))


@pytest.mark.requirement("RK-CONS-007", "RK-CONS-012")
def test_a_terminal_that_goes_away_gives_no_answer(notes: InstalledHome) -> None:
    """Its signal is ignored here, as behind `nohup`; a letter without the key that ends a line is none either."""
    deaf = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh")
    with terminal(notes, wrapped=deaf) as owner:
        owner.until(QUESTION)
        owner.type(b"y")
        owner.close()
        status = owner.process.wait(PATIENCE)
    assert (76, "1.0.0") == (status, version(notes))
    assert [("consent.refused", "acme.notes@1.1.0", "answer")] == decisions(notes)


@pytest.mark.requirement("RK-CONS-007")
def test_what_was_typed_before_the_question_does_not_answer_it(notes: InstalledHome) -> None:
    with terminal(notes, ahead=b"y\ny\n") as owner:
        owner.until(QUESTION)
        owner.type(b"n\n")
        status, _ = owner.ended()
    assert (76, "1.0.0") == (status, version(notes))


SILENT: dict[str, dict[str, Any]] = {
    "CI": {"variables": {"CI": "1"}},
    "CI that says no": {"variables": {"CI": "false"}},
    "json": {"words": ("--json",)},
    "in the background": {"wrapped": (sys.executable, "-c", IN_THE_BACKGROUND)},
}


@pytest.mark.requirement("RK-CONS-006", "RK-CONS-008")
@pytest.mark.parametrize("name", SILENT)
def test_a_terminal_where_nobody_answers_is_a_pipe(notes: InstalledHome, name: str) -> None:
    members = dict(SILENT[name])
    with terminal(notes, *members.pop("words", ()), **members) as owner:
        status, seen = owner.ended()
    assert (76, False, True) == (status, b"[y/N]" in seen, b"RKT070" in seen)


@pytest.mark.requirement("RK-CONS-006")
def test_an_empty_ci_is_none(notes: InstalledHome) -> None:
    with terminal(notes, variables={"CI": ""}) as owner:
        owner.until(QUESTION)
        owner.type(b"y\n")
        assert 0 == owner.ended()[0]


@pytest.mark.requirement("RK-CONS-006")
@pytest.mark.parametrize(("terminals", "asks"), [((0,), False), ((2,), False), ((0, 2), True)], ids=str)
def test_both_the_question_and_the_answer_need_a_terminal(
    notes: InstalledHome, terminals: tuple[int, ...], asks: bool
) -> None:
    """Standard output may be a pipe: the answer of the verb goes there, and the question does not."""
    outer, inner = pty.openpty()
    environment = {name: value for name, value in notes.environment().items() if name != "CI"}
    process = subprocess.Popen(
        [PROGRAM, "update", NOTES],
        stdin=inner if 0 in terminals else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=inner if 2 in terminals else subprocess.PIPE,
        env={**environment, "TERM": "dumb"},
    )
    os.close(inner)
    try:
        if asks:
            seen = b""
            while QUESTION not in seen:
                seen += os.read(outer, 65536)
            os.write(outer, b"y\n")
        out, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
        os.close(outer)
    assert (0 if asks else 76, asks) == (process.returncode, b"updated" in out)
    assert b"[y/N]" not in out


@pytest.mark.requirement("RK-CONS-011", "RK-CONS-012")
def test_a_publication_while_the_question_stands_wins(notes: InstalledHome) -> None:
    owner_file = Path(notes.place, "owner.toml")
    owner_file.write_text(owner_text(notes))
    before = state(notes)
    with terminal(notes) as owner:
        owner.until(QUESTION)
        assert 0 == notes.run("profile", "apply", str(owner_file)).returncode
        owner.type(b"y\n")
        status, seen = owner.ended()
    assert (67, True, "1.0.0") == (status, b"RKO002" in seen, version(notes))
    assert before[1] == state(notes)[1]


@pytest.mark.requirement("RK-CONS-006", "RK-PUB-015")
def test_a_question_keeps_nobody_waiting_and_its_staging_is_spared(notes: InstalledHome) -> None:
    """It may stand for hours: no turn and no transaction is held by it."""
    with terminal(notes) as owner:
        owner.until(QUESTION)
        staged = state(notes)[1][2]
        for words in (("gc",), ("recover",), ("source", "add", "more", str(notes.catalog))):
            assert 0 == notes.run(*words).returncode
        assert (1, staged) == (len(staged), state(notes)[1][2])
        owner.type(b"y\n")
        assert 0 == owner.ended()[0]
    assert ("1.1.0", []) == (version(notes), state(notes)[1][2])


@pytest.mark.requirement("RK-CONS-001", "RK-CONS-005")
def test_an_endpoint_that_was_added_in_between_changes_the_digest(notes: InstalledHome) -> None:
    """What the update would offer to an agent is part of what the yes is to."""
    first = refusal(notes)["difference"]
    owner_file = Path(notes.place, "owner.toml")
    owner_file.write_text(owner_text(notes))
    assert 0 == notes.run("profile", "apply", str(owner_file)).returncode

    second = refusal(notes, "--accept", first["digest"])["difference"]

    tool = {
        "kind": "commands",
        "sign": "+",
        "about": "endpoint desk",
        "what": "tool",
        "to": "acme.notes/wipe",
    }
    assert [tool] == [one for one in second["changes"] if one not in first["changes"]]
    assert 0 == notes.run("update", NOTES, "--accept", second["digest"]).returncode


# --- nobody is asked ---


@pytest.mark.requirement("RK-CONS-001")
def test_an_update_of_texts_alone_goes_through_in_a_pipe(notes: InstalledHome) -> None:
    notes.publisher.release(notes.catalog, NOTES, "1.1.1", summary="Other words")
    assert (0, "1.1.1") == (notes.run("update", NOTES).returncode, version(notes))
    assert [] == decisions(notes)


@pytest.mark.requirement("RK-CONS-014", "RK-CONS-010")
def test_a_rollback_asks_nobody_and_its_consent_is_on_record(notes: InstalledHome) -> None:
    revision = json.loads(notes.run("list", "--json").stdout)["revision"]
    forth = refusal(notes)["difference"]
    assert 0 == notes.run("update", NOTES, "--accept", forth["digest"]).returncode

    assert 0 == notes.run("profile", "rollback", revision).returncode

    assert "1.0.0" == version(notes)
    assert ("consent.given", "acme.notes@1.0.0", "rollback") == decisions(notes)[-1]
    ((detail,),) = rows(
        notes, "SELECT detail FROM audit WHERE event = 'consent.given' ORDER BY sequence DESC LIMIT 1"
    )
    assert "1.1.0" == json.loads(detail)["from"]
    assert forth["digest"] == refusal(notes)["difference"]["digest"]


@pytest.mark.requirement("RK-CONS-014", "RK-CONS-010")
def test_whoever_looks_on_at_a_rollback_is_told_before_its_consent_is_written(notes: InstalledHome) -> None:
    """A step in which nothing is written can be struck at any point: the record is none of it."""
    revision = json.loads(notes.run("list", "--json").stdout)["revision"]
    assert 0 == notes.run("update", NOTES, "--accept", refusal(notes)["difference"]["digest"]).returncode
    steps: list[tuple[str, int]] = []
    store = Store(open_home(notes.path, create=False))
    try:
        given = "SELECT 1 FROM audit WHERE event = 'consent.given'"
        rollback(
            store, revision, observe=lambda step, *_: steps.append((step, len(store.database.rows(given))))
        )
    finally:
        store.close()
    place = steps.index((ADMIT, 1))
    assert ((CHECK, 1), (STAGE, 2)) == (steps[place - 1], steps[place + 1])


@pytest.mark.requirement("RK-CONS-014")
def test_a_rollback_that_changes_nothing_that_needs_consent_records_none(notes: InstalledHome) -> None:
    revision = json.loads(notes.run("list", "--json").stdout)["revision"]
    notes.publisher.release(notes.catalog, NOTES, "1.1.1")
    assert 0 == notes.run("update", NOTES).returncode
    assert 0 == notes.run("profile", "rollback", revision).returncode
    assert [] == decisions(notes)


@pytest.mark.requirement("RK-CONS-015")
def test_removing_installing_and_applying_ask_nobody(notes: InstalledHome) -> None:
    owner_file = Path(notes.place, "owner.toml")
    owner_file.write_text(owner_text(notes))
    for words in (
        ("remove", NOTES),
        ("install", NOTES),
        ("profile", "apply", str(owner_file)),
    ):
        assert 0 == notes.run(*words).returncode
    assert [] == decisions(notes)


@pytest.mark.requirement("RK-CONS-001")
@pytest.mark.parametrize("package", ["acme.notes-too", "acme.notes0"])
def test_a_package_whose_name_begins_alike_is_none_of_the_difference(
    notes: InstalledHome, tmp_path: Path, package: str
) -> None:
    """They stand right before and behind `acme.notes` in every index."""
    other = InstalledHome(tmp_path / "other", package)
    other.path, other.publisher, other.catalog = notes.path, notes.publisher, notes.catalog
    other.publisher.release(other.catalog, package, "1.0.0")
    other.settle()
    assert {"acme.notes/wipe"} == {one["about"] for one in refusal(notes)["difference"]["changes"]}
