"""`test`: calls that show no outcome, and what ends a test before its time, or keeps it from beginning."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rukh.cli.admin import trial_home
from rukh.cli.admin.trial_home import TrialHome
from rukh.cli.admin.trial_processes import Processes
from rukh.cli.admin.trial_surfaces import Agent, NoOutcome
from rukh.contract.cases import judge_cases
from rukh.values.errors import RukhError
from tests.cli import test_trial as trial
from tests.support.children import Meeting
from tests.support.families import children
from tests.support.homes import PATIENCE, PROGRAM

leaves_nothing = trial.leaves_nothing
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FINE: dict[str, Any] = {"name": "after", "argv": ["m", "private"], "expect": {"text": "owner's"}}
# Ends the server that has started it: the topmost of its ancestors that serves.
KILLING = """
import os
import signal

import rukh_sdk


@rukh_sdk.command("private", result="text")
def private(inputs, context):
    return "owner's"


@rukh_sdk.command("wait", result="text")
def wait(inputs, context):
    return ""


@rukh_sdk.command("count")
def count(inputs, context):
    process, serving = os.getppid(), 0
    while process > 1:
        with open(f"/proc/{process}/cmdline", "rb") as words:
            serving = process if b"\\0serve\\0" in words.read() else serving
        with open(f"/proc/{process}/stat") as row:
            process = int(row.read().rpartition(")")[2].split()[1])
    os.kill(serving, signal.SIGKILL)
    signal.pause()
"""


def waiting(place: Path, *more: dict[str, Any]) -> tuple[Path, Meeting]:
    """An extension whose first case does not end, and where it says that it has begun."""
    meeting = Meeting(place / "fifo")
    cases = [{"name": "endless", "argv": ["m", "wait", meeting.path], "surfaces": ["terminal"]}, *more]
    return trial.extension(place, cases), meeting


def started(directory: Path, *words: str, ignored: signal.Signals | None = None) -> subprocess.Popen[bytes]:
    def ignoring() -> None:
        if ignored is not None:
            signal.signal(ignored, signal.SIG_IGN)

    argv = [PROGRAM, "test", str(directory), *words]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=ignoring)  # noqa: PLW1509


# name: (the case, its place, what stood there, on the surface)
NO_CALLS: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "a word that no process takes": (
        {"argv": ["m", "private", "x" * 140_000], "expect": {"reason": "invalid_input"}},
        "call", "Argument list too long", "terminal"),
    "more inputs than a message holds": (
        {"command": "count", "inputs": {"by": [0] * 5000}, "expect": {"reason": "invalid_input"}},
        "tools/call", "refused: more than 4096 members and elements", "agent"),
    "words that are no inputs, for agents alone": (
        {"argv": ["m", "count", "--bye"], "surfaces": ["agent"]}, "argv", "--bye is not an option here", "agent"),
    "a page of help, for agents alone": (
        {"argv": ["m", "count", "--help"], "surfaces": ["agent"]}, "argv", "they ask for help", "agent"),
}  # fmt: skip


@pytest.mark.requirement("RK-AUTHOR-066")
@pytest.mark.parametrize("name", NO_CALLS)
def test_a_call_that_cannot_be_made_is_a_failed_case_and_the_others_still_run(
    tmp_path: Path, name: str
) -> None:
    case, place, actual, surface = NO_CALLS[name]
    status, document = trial.report(trial.extension(tmp_path, [{"name": "no call", **case}, FINE]))

    failed = [row for row in document["cases"] if not row["passed"]]
    assert [("no call", surface, place, actual)] == [
        (row["name"], row["surface"], row["differences"][0]["place"], row["differences"][0]["actual"])
        for row in failed
    ]
    assert (1, ("after", "terminal", True)) == (status, trial.rows(document)[-1])


@pytest.mark.requirement("RK-AUTHOR-066")
def test_words_that_only_a_terminal_can_say_are_no_failure_of_an_agent(tmp_path: Path) -> None:
    cases = [{"name": "one", "argv": ["m", "count", "--bye"], "expect": {"reason": "invalid_input"}}]
    status, document = trial.report(trial.extension(tmp_path, cases))

    assert (0, [("one", "terminal", True)]) == (status, trial.rows(document))


@pytest.mark.requirement("RK-AUTHOR-066")
def test_a_server_that_has_gone_fails_its_case_and_is_started_again(tmp_path: Path) -> None:
    call = {"command": "count", "surfaces": ["agent"]}
    ended = {"name": "wait", "command": "wait", "inputs": {"meeting": "x"}, "expect": {"text": ""}}
    directory = trial.extension(tmp_path, [{"name": "kill", **call}, ended, {"name": "again", **call}, FINE])
    (directory / "acme_m.py").write_text(KILLING)
    status, document = trial.report(directory)

    gone = {"place": "mcp serve", "expected": "an answer", "actual": "the server has gone"}
    assert [[gone], [], [], [gone], []] == [row["differences"] for row in document["cases"]]
    assert (1, 3, 2) == (status, document["passed"], document["failed"])


# Says half of a line and leaves when it is started first; answers when it is started again.
HALF = """
import json
import os
import sys

if not os.path.exists("begun"):
    os.mkdir("begun")
    sys.stderr.write("out of paper")
    sys.stdout.write('{"result":')
else:
    asked = json.loads(sys.stdin.readline())
    sys.stdout.write(json.dumps({"id": asked["id"], "result": {"structuredContent": {"outcome": "succeeded"}}}) + "\\n")
"""


@pytest.mark.requirement("RK-AUTHOR-066")
def test_a_server_that_has_gone_leaves_its_last_words_and_nothing_for_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "server").write_text(HALF)
    monkeypatch.setattr(tempfile, "tempdir", os.environ["TMPDIR"])
    directory = trial.extension(tmp_path, [{"name": "one", "command": "count"}])
    declared = json.loads((directory / "rukh-extension.json").read_bytes())
    cases, _ = judge_cases((directory / "rukh-cases.json").read_bytes(), declared)
    assert cases is not None
    (case,) = cases.cases
    with TrialHome(str(directory)) as home:
        home.install("acme.m", {})
        agent = Agent([sys.executable, str(tmp_path / "server")], home, declared)
        with pytest.raises(NoOutcome) as gone:
            agent.call(case)
        answered = agent.call(case)
        agent.close()

    assert (b"out of paper", "mcp serve") == (gone.value.stderr, gone.value.found.place)
    assert {"outcome": "succeeded"} == answered.outcome


@pytest.mark.requirement("RK-AUTHOR-052")
def test_a_case_may_ask_for_the_envelope_itself(tmp_path: Path) -> None:
    words = ["m", "private", "--envelope"]
    cases = [{"name": "one", "argv": words, "expect": {"text": "owner's"}}]

    assert 0 == trial.report(trial.extension(tmp_path, cases))[0]


@pytest.mark.requirement("RK-AUTHOR-067", "RK-AUTHOR-054")
@pytest.mark.parametrize("number", ENDING)
def test_who_is_in_a_hurry_and_signals_again_is_left_nothing_either(
    tmp_path: Path, number: signal.Signals
) -> None:
    """The call takes its time to end, since it is asked first: all further signals come meanwhile."""
    directory, meeting = waiting(tmp_path)
    process = started(directory)
    assert "here" == meeting.told()
    (running,) = children(process.pid)
    while Path(f"/proc/{running}").exists():
        assert process.poll() is None  # it waits for what it has started
        process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    meeting.close()

    assert (130, b"", b"") == (process.returncode, out, err.strip())


@pytest.mark.requirement("RK-AUTHOR-067")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_was_ignored_from_the_start_stays_ignored(
    tmp_path: Path, number: signal.Signals
) -> None:
    directory, meeting = waiting(tmp_path, FINE)
    process = started(directory, "--deadline", "1s", ignored=number)
    assert "here" == meeting.told()
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    meeting.close()

    assert (1, b"") == (process.returncode, err)
    assert out.endswith(b"ok    terminal  after\nacme.m 1.0.0: 1 passed, 1 failed\n")


@pytest.fixture
def processes() -> Iterator[Processes]:
    before = [signal.getsignal(number) for number in ENDING]
    made = Processes()
    made.watch()
    yield made
    made.end_all()
    made.release()
    assert before == [signal.getsignal(number) for number in ENDING]


def is_disturbed_by(number: signal.Signals) -> bool:
    try:
        signal.raise_signal(number)
    except KeyboardInterrupt:
        return True
    return False


@pytest.mark.requirement("RK-AUTHOR-067")
@pytest.mark.parametrize("number", ENDING)
def test_a_signal_waits_for_what_is_just_being_made_and_the_next_one_disturbs_nobody(
    processes: Processes, number: signal.Signals
) -> None:
    made: list[str] = []
    with pytest.raises(KeyboardInterrupt), processes.whole():
        signal.raise_signal(number)
        made.append("a home")

    assert (["a home"], False) == (made, is_disturbed_by(number))


@pytest.mark.requirement("RK-AUTHOR-067")
def test_what_cannot_be_made_does_not_swallow_the_signal_that_came_meanwhile(processes: Processes) -> None:
    with pytest.raises(KeyboardInterrupt), processes.whole():
        signal.raise_signal(signal.SIGTERM)
        raise OSError


@pytest.mark.requirement("RK-AUTHOR-067")
def test_behind_the_last_case_a_signal_disturbs_nobody(processes: Processes) -> None:
    process = processes.start(["sleep", "60"])
    processes.end_all()
    assert not is_disturbed_by(signal.SIGINT)

    assert -signal.SIGTERM == process.returncode


@pytest.mark.requirement("RK-AUTHOR-067")
def test_a_signal_ends_a_test_that_is_making_nothing(processes: Processes) -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGHUP)


@pytest.mark.requirement("RK-AUTHOR-054", "RK-AUTHOR-067")
def test_behind_a_home_its_processes_have_ended_and_signals_are_as_before(tmp_path: Path) -> None:
    """Also where whoever has started a process was stopped before it could look after it."""
    before = [signal.getsignal(number) for number in ENDING]
    with pytest.raises(KeyboardInterrupt), TrialHome(str(tmp_path)) as home:
        process = home.processes.start(["sleep", "60"])
        assert before != [signal.getsignal(number) for number in ENDING]
        raise KeyboardInterrupt

    assert -signal.SIGTERM == process.returncode
    assert before == [signal.getsignal(number) for number in ENDING]


@pytest.mark.requirement("RK-AUTHOR-069")
def test_where_no_home_can_be_made_the_verb_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(RukhError) as refused, TrialHome(str(tmp_path)) as home:
        home.install("acme.m", {})

    error = refused.value
    assert ("RKX020", "set TMPDIR to a directory that can be written") == (error.rule, error.mend)
    assert error.place.startswith(f"{tmp_path}/nowhere/rukh-test-")
    assert "No such file or directory" in error.message


@pytest.mark.requirement("RK-AUTHOR-069")
def test_a_home_that_cannot_be_removed_wholly_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the disk does not let go; here it does, and the verb is told otherwise."""
    removed: list[str] = []

    def unwilling(path: str) -> bool:
        os.rmdir(path)
        removed.append(path)
        return False

    def interrupted(_home: TrialHome) -> None:
        raise ValueError

    monkeypatch.setattr(trial_home, "remove_work_dir", unwilling)
    monkeypatch.setattr(tempfile, "tempdir", os.environ["TMPDIR"])
    monkeypatch.setattr(TrialHome, "_release", interrupted)
    with pytest.raises(RukhError) as refused, TrialHome(str(tmp_path)) as home:
        home.install("acme.m", {})

    assert ("RKX020", removed) == (refused.value.rule, [refused.value.place])


# What stands in place of a file of the extension: (the file, what is there, the rule)
NO_FILES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "a pipe for the cases": ("rukh-cases.json", os.mkfifo),
    "a link for the cases": ("rukh-cases.json", lambda path: os.symlink("../elsewhere", path)),
    "a directory for the cases": ("rukh-cases.json", os.mkdir),
    "a pipe for the descriptor": ("rukh-extension.json", os.mkfifo),
    "a link that leads nowhere for the descriptor": (
        "rukh-extension.json", lambda path: os.symlink("nowhere", path)),
}  # fmt: skip


@pytest.mark.requirement("RK-AUTHOR-055", "RK-CHECK-056")
@pytest.mark.parametrize("name", NO_FILES)
def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    file, made = NO_FILES[name]
    directory = trial.extension(tmp_path, [FINE])
    (directory / file).rename(tmp_path / "elsewhere")
    made(directory / file)
    done = trial.run(directory)

    said = f"rukh: {directory}/{file} is no regular file\n"
    assert (64, b"", said) == (done.returncode, done.stdout, done.stderr.decode()[: len(said)])
    assert b"RKL023" in done.stderr


@pytest.mark.requirement("RK-AUTHOR-055")
def test_a_directory_that_cannot_be_looked_into_is_not_said_to_be_empty(tmp_path: Path) -> None:
    """A name that is too long stands for every reason but that nothing is there."""
    done = trial.run(tmp_path / ("x" * 300))

    assert (64, True) == (done.returncode, b"cannot be read: File name too long" in done.stderr)
