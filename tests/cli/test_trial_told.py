"""`test`: what an author is told of a case that failed, when, and of an extension that is not fit to run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rukh.cli.admin.trial_report import ending, row_text
from tests.cli import test_trial as trial
from tests.support.children import Meeting
from tests.support.homes import PATIENCE, PROGRAM
from tests.support.terminals import Terminal

leaves_nothing = trial.leaves_nothing
ONE = "one person is greeted"
SPEAKING = """
import signal
import sys

import rukh_sdk


@rukh_sdk.command("wait", result="text")
def wait(inputs, context):
    sys.stderr.write("said before\\n")
    sys.stderr.flush()
    with open(inputs["meeting"], "w") as fifo:
        fifo.write("here\\n")
    while True:
        signal.pause()


@rukh_sdk.command("count")
def count(inputs, context):
    sys.stderr.write("".join(f"line {number}\\n" for number in range(inputs["by"] * 10)) + "\\x1b[2J")
    raise rukh_sdk.Failed("no")


@rukh_sdk.command("private", result="text")
def private(inputs, context):
    sys.stderr.write("unasked")
    return "owner's"
"""


def made(place: Path, language: str, file: str, old: str, new: str) -> Path:
    """A new extension in a language, with one change in one file."""
    directory = place / "hello"
    words = [PROGRAM, "new", "acme.hello", "--lang", language, "--out", str(directory)]
    subprocess.run(words, check=True, capture_output=True, timeout=PATIENCE)
    text = (directory / file).read_text("utf-8")
    assert 1 == text.count(old)
    (directory / file).write_text(text.replace(old, new), "utf-8")
    return directory


def speaking(place: Path, cases: list[dict[str, Any]]) -> Path:
    directory = trial.extension(place, cases)
    (directory / "acme_m.py").write_text(SPEAKING)
    return directory


# name: (language, file, what is written, in place of it, what the standard error says)
BROKEN = {
    "a wrong key": ("python", "acme_hello.py", 'inputs["loud"]', 'inputs["lowd"]', "KeyError: 'lowd'"),
    "an import that is not there": ("node", "main.mjs", "./rukh_sdk.mjs", "./rukh_sd.mjs", "ERR_MODULE_NOT_FOUND"),
    "no JavaScript": ("node", "main.mjs", "const people", "cnst people", "SyntaxError"),
    "no shell": ("sh", "bin/greet", '\nif [ "$loud"', '\nfi [ "$loud"', "unexpected"),
}  # fmt: skip


@pytest.mark.requirement("RK-AUTHOR-060")
@pytest.mark.parametrize("name", BROKEN)
def test_what_a_failed_command_wrote_to_standard_error_is_shown_on_each_surface(
    tmp_path: Path, name: str
) -> None:
    *changed, said = BROKEN[name]
    directory = made(tmp_path, *changed)
    status, document = trial.report(directory, "--filter", ONE)

    assert (1, 2) == (status, document["failed"])
    for row in document["cases"]:
        assert said in row["stderr"] and row["reason"]["message"]
        # The file is the author's, and none that has gone when this is read.
        assert f"{directory}/{changed[1]}" in row["stderr"]
        assert "/releases/" not in row["stderr"]
    assert 2 == trial.run(directory, "--filter", ONE).stdout.decode().count("        standard error\n")


@pytest.mark.requirement("RK-AUTHOR-060")
def test_the_place_and_the_mend_of_the_hosts_reason_are_shown(tmp_path: Path) -> None:
    directory = made(tmp_path, "python", "acme_hello.py", "len(people)}", "str(len(people))}")
    document = trial.report(directory, "--filter", ONE)[1]
    reason = document["cases"][0]["reason"]

    assert ("/data/people", True) == (reason["place"], bool(reason["mend"]))
    lines = trial.run(directory, "--filter", ONE).stdout.decode().splitlines()
    assert f"        place: {reason['place']}" in lines
    assert f"        mend: {reason['mend']}" in lines


@pytest.mark.requirement("RK-AUTHOR-060")
def test_a_case_that_passed_shows_nothing_of_its_standard_error(tmp_path: Path) -> None:
    call: dict[str, Any] = {"argv": ["m", "private"]}
    failing = {"command": "count", "surfaces": ["agent"], "expect": {"outcome": "command_failed"}}
    cases = [
        {"name": "one", **call},
        {"name": "two", **call, "expect": {"text": ""}},
        {"name": "no", **failing},
    ]
    (one, two, failed) = trial.report(speaking(tmp_path, cases))[1]["cases"]

    assert (True, {"name", "surface", "passed", "differences"}) == (one["passed"], set(one))
    assert (True, set(one)) == (failed["passed"], set(failed))  # as it was expected, with its reason
    assert (False, "unasked") == (two["passed"], two["stderr"])


@pytest.mark.requirement("RK-AUTHOR-060")
@pytest.mark.parametrize(("by", "first"), [(1, "line 0"), (9, "…")])
def test_the_last_lines_are_shown_and_none_of_them_steers_a_terminal(
    tmp_path: Path, by: int, first: str
) -> None:
    case = {"name": "one", "command": "count", "inputs": {"by": by}}
    directory = speaking(tmp_path, [case])

    for row in trial.report(directory)[1]["cases"]:
        lines = row["stderr"].split("\n")
        assert (first, f"line {by * 10 - 1}", "\x1b[2J") == (lines[0], lines[-2], lines[-1])
        assert len(lines) <= 21
    shown = trial.run(directory).stdout
    assert (0, 2) == (shown.count(b"\x1b"), shown.count(b"            \\x1b[2J\n"))


# What a command wrote, and what is shown of it.
ENDINGS = {
    "nothing": (b"", ""),
    "blank lines behind": (b"one\n\n \n", "one"),
    "four thousand characters": (b"x" * 4000, "x" * 4000),
    "one more": (b"y" + b"x" * 4000, "\u2026\n" + "x" * 4000),
    "twenty lines": (b"1\n" * 20, "\n".join("1" * 20)),
    "twenty-one": (b"1\n" * 21, "\u2026\n" + "\n".join("1" * 20)),
    "what is no UTF-8": (b"\xff\xfe", "\\xff\\xfe"),
}


@pytest.mark.requirement("RK-AUTHOR-060")
@pytest.mark.parametrize("name", ENDINGS)
def test_the_end_of_a_standard_error_is_bounded_in_lines_and_characters(name: str) -> None:
    written, shown = ENDINGS[name]
    assert shown == ending(written)


def test_a_long_value_is_cut_in_words_and_whole_in_the_document() -> None:
    difference = {"place": "/data", "expected": "x" * 398, "actual": "x" * 399}
    shown = row_text({"name": "n", "surface": "agent", "passed": False, "differences": [difference]})

    assert f'            expected: "{"x" * 398}"\n            actual: "{"x" * 399}\u2026\n' in shown


@pytest.mark.requirement("RK-AUTHOR-056")
def test_a_failure_behind_a_line_without_an_end_is_still_the_one_that_was_expected(tmp_path: Path) -> None:
    """The envelope stands behind what the command has said, and that need not end with a line feed."""
    case = {
        "name": "one",
        "command": "count",
        "expect": {"outcome": "command_failed", "messageContains": "no"},
    }
    assert 0 == trial.report(speaking(tmp_path, [case]))[0]


@pytest.mark.requirement("RK-AUTHOR-063", "RK-AUTHOR-060")
@pytest.mark.parametrize("surface", ["terminal", "agent"])
def test_a_case_without_a_time_has_the_deadline_and_shows_what_was_said_until_then(
    tmp_path: Path, surface: str
) -> None:
    meeting = Meeting(tmp_path / "fifo")
    other = {"name": "other", "command": "count", "inputs": {"by": 1}, "surfaces": [surface]}
    endless = {"name": "endless", "argv": ["m", "wait", meeting.path], "surfaces": [surface]}
    status, document = trial.report(speaking(tmp_path, [other, endless]), "--deadline", "1500ms")
    meeting.close()

    (before, row) = document["cases"]
    assert (True, surface) == (before["stderr"].startswith("line 0\n"), row["surface"])
    assert (1, [{"place": "time", "expected": "an end within 1.5 s", "actual": "none"}]) == (
        status,
        row["differences"],
    )
    assert "said before" == row["stderr"]


@pytest.mark.requirement("RK-AUTHOR-063")
@pytest.mark.parametrize(
    ("deadline", "status"), [("1h", 0), ("61m", 64), ("5", 64), ("0s", 64), ("", 64), ("-1s", 64)]
)
def test_a_deadline_is_a_duration_of_at_most_an_hour(tmp_path: Path, deadline: str, status: int) -> None:
    directory = trial.extension(tmp_path, [{"name": "one", "argv": ["m", "private"]}])
    done = trial.run(directory, "--json", f"--deadline={deadline}")

    assert status == done.returncode
    if status:
        assert "RKL028" == json.loads(done.stderr)["error"]["code"]


@pytest.mark.requirement("RK-AUTHOR-063")
def test_a_case_is_shown_while_the_next_one_runs(tmp_path: Path) -> None:
    meeting = Meeting(tmp_path / "fifo")
    cases = [
        {"name": "quick", "argv": ["m", "private"]},
        {"name": "endless", "argv": ["m", "wait", meeting.path], "surfaces": ["terminal"]},
    ]
    directory = speaking(tmp_path, cases)
    process = subprocess.Popen(
        [PROGRAM, "test", str(directory)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert "here" == meeting.told()
    assert process.stdout is not None
    shown = os.read(process.stdout.fileno(), 65536)
    process.send_signal(signal.SIGINT)
    rest, err = process.communicate(timeout=PATIENCE)
    meeting.close()

    assert b"ok    terminal  quick\n" == shown
    assert (130, b"", b"") == (process.returncode, rest, err.strip())


def faulty(place: Path) -> Path:
    """Two faults in the cases, one in the code."""
    directory = trial.extension(place, [{"name": "one", "argv": ["m", "privat"]}])
    cases = (directory / "rukh-cases.json").read_text()
    (directory / "rukh-cases.json").write_text(cases.replace('"name"', '"x": 1,\n"name"'))
    (directory / "acme_m.py").write_text(trial.MODULE + "\ndef broken(:\n")
    return directory


@pytest.mark.requirement("RK-AUTHOR-064", "RK-AUTHOR-062")
def test_everything_that_a_check_calls_an_error_is_shown_and_nothing_runs(tmp_path: Path) -> None:
    directory = faulty(tmp_path)
    done = trial.run(directory)
    words = [PROGRAM, "check", str(directory)]
    checked = subprocess.run(words, capture_output=True, timeout=PATIENCE, check=False)
    shown = errors(checked.stdout)

    assert (64, b"") == (done.returncode, done.stdout)
    assert shown == errors(done.stderr)
    last = len((trial.MODULE + "\ndef broken(:\n").splitlines())
    assert {"RKK006", "RKX002"} == {line.split(" error ")[1].split()[0] for line in shown}
    assert any(line.startswith(f"{directory}/acme_m.py:{last}:12: ") for line in shown)
    assert any(line.startswith(f"{directory}/rukh-cases.json:1:") for line in shown)


@pytest.mark.requirement("RK-AUTHOR-064")
def test_a_program_is_told_the_first_error_with_its_file_and_how_many_more_there_are(tmp_path: Path) -> None:
    done = trial.run(faulty(tmp_path), "--json")
    error = json.loads(done.stderr)["error"]

    assert (64, b"", "RKK006") == (done.returncode, done.stdout, error["code"])
    assert error["place"].startswith(f"{tmp_path}/extension/acme_m.py, /commands/0/")
    assert error["message"].endswith("more; see check)")
    assert 12 == error["column"]


@pytest.mark.requirement("RK-AUTHOR-064", "RK-AUTHOR-061")
def test_a_slip_in_the_words_of_a_case_is_shown_where_it_is(tmp_path: Path) -> None:
    directory = trial.extension(tmp_path, [{"name": "one", "argv": ["m", "privat"]}])
    error = json.loads(trial.run(directory, "--json").stderr)["error"]

    assert ("RKX011", f"{directory}/rukh-cases.json, /cases/0/argv/1", "did you mean private?") == (
        error["code"],
        error["place"],
        error["mend"],
    )


def test_a_descriptor_with_many_faults_shows_them_all_to_a_person(tmp_path: Path) -> None:
    directory = trial.extension(tmp_path, [{"name": "one", "argv": ["m", "private"]}], title="", summary="")
    done = trial.run(directory)

    assert (64, 2) == (done.returncode, done.stderr.count(b": error RKD012 "))
    assert "RKT043" == json.loads(trial.run(directory, "--json").stderr)["error"]["code"]


def errors(shown: bytes) -> list[str]:
    return [line for line in shown.decode().splitlines() if ": error RK" in line]


@pytest.mark.requirement("RK-AUTHOR-064")
@pytest.mark.parametrize("directory", [".", "./", "../extension", ""], ids=lambda text: text or "absolute")
def test_files_are_named_as_a_check_of_the_same_directory_names_them(tmp_path: Path, directory: str) -> None:
    made = trial.extension(tmp_path, [{"name": "one", "argv": ["m", "privat"]}])
    faults = {
        "rukh-cases.json": (made / "rukh-cases.json").read_text(),
        "rukh-extension.json": (made / "rukh-extension.json").read_text().replace('"version"', '"verzion"'),
    }
    for file, text in faults.items():
        (made / file).write_text(text)
        tested, checked = (
            subprocess.run(
                [PROGRAM, verb, directory or str(made)], capture_output=True, cwd=made, check=False
            )
            for verb in ("test", "check")
        )
        assert (64, 1) == (tested.returncode, checked.returncode)
        assert errors(tested.stderr) == errors(checked.stdout) != []


@pytest.mark.requirement("RK-AUTHOR-064")
def test_a_program_is_told_the_descriptor_by_its_path(tmp_path: Path) -> None:
    directory = trial.extension(tmp_path, [{"name": "one", "argv": ["m", "private"]}], title="", summary="")
    error = json.loads(trial.run(directory, "--json").stderr)["error"]

    assert ("RKT043", f"{directory}/rukh-extension.json") == (error["code"], error["place"])
    assert error["message"].endswith("(and 1 more)")


@pytest.mark.requirement("RK-AUTHOR-060")
def test_paths_are_the_authors_also_behind_a_link_and_in_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Node calls its files by their real names, whatever links lead to the directory for temporary files."""
    link = tmp_path / "link"
    link.symlink_to(os.environ["TMPDIR"])
    monkeypatch.setenv("TMPDIR", str(link))
    directory = made(
        tmp_path, "node", "main.mjs", "const people", "console.error(import.meta.url); const people"
    )
    cases = [
        {"name": "one", "argv": ["hello", "greet", "Ada"], "expect": {"stderrContains": "nothing of it"}}
    ]
    (directory / "rukh-cases.json").write_text(json.dumps({"format": "rukh.cases/1", "cases": cases}))

    row = trial.report(directory)[1]["cases"][0]
    said = f"file://{directory}/main.mjs"
    (difference,) = row["differences"]
    assert (said, "stderr", f"{said}\n") == (row["stderr"], difference["place"], difference["actual"])


@pytest.mark.requirement("RK-AUTHOR-059")
def test_a_filter_that_fits_nothing_names_some_of_many_cases(tmp_path: Path) -> None:
    cases = [{"name": f"case {number}", "argv": ["m", "private"]} for number in range(25)]
    done = trial.run(trial.extension(tmp_path, cases), "--filter", "coffee", "--json")

    mend = json.loads(done.stderr)["error"]["mend"]
    assert mend.startswith("they are: case 0, case 1, ") and mend.endswith(", case 19 and 5 more")


LONG = "\u732b" * 30  # of sixty columns, and a name may well be longer than a terminal is wide


@pytest.mark.requirement("RK-AUTHOR-063")
def test_on_a_terminal_a_line_says_what_runs_and_nothing_of_it_stays(tmp_path: Path) -> None:
    cases = [{"name": name, "argv": ["m", "private"]} for name in ("one", LONG)]
    directory = trial.extension(tmp_path, cases)
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("CI", None)
    with Terminal([PROGRAM, "test", str(directory)], environment, columns=40) as terminal:
        status, shown = terminal.ended()

    # Of 39 columns, "terminal  " takes ten: fourteen wide characters fit, and an odd column stays free.
    lines = [f"\rterminal  {name}\x1b[K\r\x1b[Kok    terminal  " for name in ("one", LONG[:14])]
    expected = f"{lines[0]}one\r\n{lines[1]}{LONG}\r\n\r\x1b[Kacme.m 1.0.0: 2 passed, 0 failed\r\n"
    assert (0, expected) == (status, shown.decode())


@pytest.mark.requirement("RK-AUTHOR-063")
@pytest.mark.parametrize("words", [["--json"], []], ids=["for a program", "without a terminal that can"])
def test_nobody_else_is_shown_what_runs(tmp_path: Path, words: list[str]) -> None:
    directory = trial.extension(tmp_path, [{"name": "one", "argv": ["m", "private"]}])
    environment = {**os.environ, "TERM": "xterm" if words else "dumb"}
    environment.pop("CI", None)
    with Terminal([PROGRAM, "test", str(directory), *words], environment) as terminal:
        status, shown = terminal.ended()

    assert (0, b"") == (status, shown[: shown.find(b"\x1b") + 1])
