"""The terminal as people and shells use it: odd words, closed streams, ignored signals, other kinds of commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rukh.app import Application
from tests.support import echo
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome


@pytest.mark.requirement("RK-CLI-069")
@pytest.mark.parametrize("words", [["echo speak", "hi"], ["echo speak"], ["ec ho", "speak", "hi"]])
def test_a_word_with_a_space_is_no_part_of_a_path(home: InstalledHome, words: list[str]) -> None:
    done = home.run(*words)
    assert (done.returncode, done.stdout) == (65, b"")
    assert home.run("echo", "speak", "hi there").stdout == b"hi there\n"


@pytest.mark.requirement("RK-CLI-069")
def test_thousands_of_words_are_refused_as_they_are_and_not_tried_as_paths(home: InstalledHome) -> None:
    done = home.run("echo", "speak", *["x"] * 30_000)
    assert done.returncode == 64
    assert b"RKL007" in done.stderr


def closing(*descriptors: int) -> Callable[[], None]:
    def close() -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    return close


@pytest.mark.requirement("RK-ADM-013")
@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("words", [["echo", "speak", "hi", "--json"], ["list"]], ids=["call", "list"])
def test_closed_streams_change_neither_outcome_nor_status(
    home: InstalledHome, words: list[str], closed: tuple[int, ...]
) -> None:
    done = subprocess.run(
        [PROGRAM, *words],
        capture_output=True,
        env=home.environment(),
        preexec_fn=closing(*closed),
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert bool(done.stdout) == (1 not in closed)


@pytest.mark.requirement("RK-ADM-014")
@pytest.mark.parametrize("printing", [False, True], ids=["its result", "what it prints"])
def test_an_output_that_cannot_be_written_has_a_rule_of_its_own(tmp_path: Path, printing: bool) -> None:
    home = InstalledHome(tmp_path)
    module = (
        echo.MODULE.replace("return inputs", 'print("out", flush=True); return inputs')
        if printing
        else echo.MODULE
    )
    home.install({"acme_echo.py": module}, commands=echo.commands())
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [PROGRAM, "echo", "speak", "hi"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=home.environment(),
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 70
    assert b"RKL029" in done.stderr


@pytest.mark.requirement("RK-CLI-063")
def test_a_word_that_is_not_utf8_is_refused_in_the_form_that_was_asked_for(home: InstalledHome) -> None:
    done = home.run("echo", "say", "--json", b"\xff")
    assert json.loads(done.stderr)["error"]["code"] == "RKL008"


@pytest.mark.requirement("RK-CLI-050")
def test_help_forks_nothing(
    home: InstalledHome, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forked() -> int:
        raise AssertionError("a process was started")

    monkeypatch.setattr(os, "fork", forked)
    monkeypatch.setenv("RUKH_HOME", home.path)
    for words in (
        ["echo", "say", "--help"],
        ["echo", "--help"],
        ["--help"],
        ["run", "acme.echo/say", "--help"],
    ):
        assert Application("rukh", "1").run([word.encode() for word in words]) == 0
    shown = capfd.readouterr()
    assert shown.err == ""
    assert "--inputs FILE|-" in shown.out


@pytest.mark.requirement("RK-ADMIT-005")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_the_caller_ignores_stays_ignored(tmp_path: Path, number: signal.Signals) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    waiting = echo.MODULE.replace(
        'return inputs["words"]', f'print("ready", flush=True); return open({str(gate)!r}).read()'
    )
    home = InstalledHome(tmp_path)
    home.install({"acme_echo.py": waiting}, commands=echo.commands())
    call = subprocess.Popen(
        [PROGRAM, "echo", "speak", "x", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=home.environment(),
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),  # noqa: PLW1509
    )
    assert call.stderr is not None
    assert call.stderr.readline() == b"ready\n"
    call.send_signal(number)
    gate.write_text("went on")
    out, _ = call.communicate(timeout=PATIENCE)
    assert (call.returncode, out) == (0, b'"went on"\n')


@pytest.mark.requirement("RK-CLI-025")
def test_waiting_is_unsupported_and_says_so_with_its_own_status(home: InstalledHome) -> None:
    done = home.run("echo", "speak", "hi", "--wait", "--json")
    assert done.returncode == 69
    assert json.loads(done.stderr)["reason"]["code"] == "unsupported"


@pytest.mark.requirement("RK-VAL-016")
def test_a_document_that_cannot_be_read_is_refused_with_its_line_and_column(home: InstalledHome) -> None:
    document = b'{"words": "a",\n "words": "b"}'
    done = home.run("run", "acme.echo/speak", "--inputs", "-", "--json", stdin=document)
    assert json.loads(done.stderr)["reason"]["place"] == "line 2, column 2"


@pytest.mark.requirement("RK-PAR-003")
def test_deep_values_are_refused_like_those_of_an_agent(home: InstalledHome) -> None:
    done = home.run("run", "acme.echo/speak", "--inputs", "-", "--json", stdin=b'{"words": [[[[1]]]]}')
    assert json.loads(done.stderr)["reason"]["place"] == "/words"


@pytest.mark.requirement("RK-CLI-055", "RK-CLI-063")
def test_a_group_in_json_is_one_object_and_words_behind_the_border_ask_for_nothing(
    home: InstalledHome,
) -> None:
    bare, behind = home.run("echo", "--json"), home.run("echo", "--", "-h")
    assert json.loads(bare.stderr)["error"]["code"] == "RKL024"
    assert (behind.returncode, behind.stdout) == (64, b"")


@pytest.mark.requirement("RK-ADM-014")
@pytest.mark.parametrize(("words", "status"), [(["nope"], 65), (["echo", "fail", "no", "--code", "2"], 2)])
def test_an_error_stream_that_cannot_be_written_keeps_the_status(
    home: InstalledHome, words: list[str], status: int
) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [PROGRAM, *words],
            stdout=subprocess.PIPE,
            stderr=full,
            env=home.environment(),
            timeout=PATIENCE,
            check=False,
        )
    assert (done.returncode, done.stdout) == (status, b"")


@pytest.mark.requirement("RK-CLI-055")
def test_the_beginning_of_an_alias_shows_what_lies_below_it(tmp_path: Path) -> None:
    command = echo.commands()[1]
    command["aliases"] = [["e", "s"]]
    home = InstalledHome(tmp_path)
    home.install(echo.FILES, commands=[command])
    asked, bare = home.run("e", "--help"), home.run("e")
    assert (asked.returncode, bare.returncode) == (0, 64)
    assert asked.stdout.startswith(b"Usage: rukh e COMMAND")
    assert home.run("e", "s", "hi").stdout == b"hi\n"


@pytest.mark.requirement("RK-EXEC-023")
def test_a_release_that_is_gone_refuses_the_call_and_blames_nobody_elses_code(tmp_path: Path) -> None:
    home = InstalledHome(tmp_path)
    home.install(echo.FILES, commands=echo.commands())
    (release,) = Path(home.path, "releases").iterdir()
    release.rename(tmp_path / "moved")
    done = home.run("echo", "speak", "hi", "--envelope")
    reason = json.loads(done.stderr)["reason"]
    assert (done.returncode, reason["code"], reason["place"]) == (69, "environment_unavailable", "acme.echo")
    (tmp_path / "moved").rename(release)
    assert home.run("echo", "speak", "hi").stdout == b"hi\n"


def test_a_refusal_repeats_long_words_shortened(home: InstalledHome) -> None:
    done = home.run("x" * 120_000)
    assert done.returncode == 65
    assert len(done.stderr) < 4_000


@pytest.mark.parametrize("words", [["list", "-h"], ["install", "-h"], ["mcp", "serve", "-h"]], ids=str)
def test_the_short_help_works_on_the_cores_own_words(home: InstalledHome, words: list[str]) -> None:
    done = home.run(*words)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"Usage: rukh")


@pytest.mark.requirement("RK-TRUST-037")
def test_a_source_that_cannot_answer_is_named_with_the_way_on(tmp_path: Path) -> None:
    home = InstalledHome(tmp_path)
    home.install(echo.FILES, commands=echo.commands())
    (tmp_path / "empty").mkdir()
    assert home.run("source", "add", "dead", str(tmp_path / "empty")).returncode == 0
    error = json.loads(home.run("update", "acme.echo", "--json").stderr)["error"]
    assert error["place"].startswith("source dead: ")
    assert "source add dead DIR" in error["mend"]
    assert home.run("source", "add", "dead", str(home.catalog)).returncode == 0
    assert home.run("update", "acme.echo").returncode == 0
