"""`test`: the cases of an extension, by the path that its users take, in a home that is thrown away."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.children import Meeting, nothing_left
from tests.support.homes import PATIENCE, PROGRAM
from tests.support.releases import descriptor, write_extension

NOTES = Path(__file__).parents[2] / "examples" / "notes"
SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).parents[2] / "spec/schemas/trial-1.schema.json").read_text("utf-8"))
)
MODULE = '''
import os
import signal

import rukh_sdk


@rukh_sdk.command("count")
def count(inputs, context):
    """Counts its calls in the directory that the owner names."""
    path = os.path.join(os.environ["PLACE"], "count")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a") as file:
        file.write("x" * inputs["by"])
    print("noise")
    return {"count": os.path.getsize(path), "home": os.environ["PLACE"]}


@rukh_sdk.command("wait", result="text")
def wait(inputs, context):
    with open(inputs["meeting"], "w") as fifo:
        fifo.write("here\\n")
    while True:
        signal.pause()


@rukh_sdk.command("private", result="text")
def private(inputs, context):
    return "owner's"
'''


def managed(
    identifier: str, parameters: list[dict[str, Any]], result: dict[str, Any], eligible: bool
) -> dict[str, Any]:
    return {
        "id": identifier,
        "path": ["m", identifier],
        "summary": f"Does {identifier}",
        "parameters": parameters,
        "execute": {
            "mapping": {"kind": "managed", "entry": f"acme_m:{identifier}"},
            "result": result,
            "requires": {"environment": ["PLACE"]},
        },
        "machine": {"eligible": eligible, "interaction": "none", "requiredFeatures": ["command-result/1"]},
    }


COUNTED = {
    "kind": "structured",
    "schema": {
        "type": "object",
        "additionalProperties": False,
        "required": ["count"],
        "properties": {"count": {"type": "integer"}, "home": {"type": "string"}},
    },
}
BY = {
    "id": "by", "form": "option", "names": ["--by"], "default": 1,
    "type": {"kind": "integer", "minimum": 1, "maximum": 9},
}  # fmt: skip
MEETING = {"id": "meeting", "form": "positional", "required": True, "type": {"kind": "string"}}
COMMANDS = [
    managed("count", [BY], COUNTED, eligible=True),
    managed("wait", [MEETING], {"kind": "text"}, eligible=True),
    managed("private", [], {"kind": "text"}, eligible=False),
]


@pytest.fixture(autouse=True)
def leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process, and no file in the directory for temporary ones. RK-AUTHOR-054"""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("RUKH_HOME", str(tmp_path / "own"))
    with nothing_left():
        yield
    assert [] == list(temporary.iterdir())
    assert not (tmp_path / "own").exists()


def extension(place: Path, cases: Any, *, environment: dict[str, str] | None = None, **changes: Any) -> Path:
    directory = place / "extension"
    document = descriptor("acme.m", commands=COMMANDS, **changes)
    whole = {"format": "rukh.cases/1", "cases": cases}
    if environment is not None:
        whole["environment"] = environment
    return write_extension(directory, document, {"acme_m.py": MODULE, "rukh-cases.json": json.dumps(whole)})


def run(*words: str | Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [PROGRAM, "test", *words],
        capture_output=True,
        timeout=PATIENCE * 2,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def report(directory: Path, *words: str) -> tuple[int, dict[str, Any]]:
    done = run(directory, "--json", *words)
    assert b"" == done.stderr
    document = json.loads(done.stdout)
    SCHEMA.validate(document)
    return done.returncode, document


def rows(document: dict[str, Any]) -> list[tuple[str, str, bool]]:
    return [(row["name"], row["surface"], row["passed"]) for row in document["cases"]]


PLACE = {"PLACE": "~/kept"}


@pytest.mark.requirement("RK-AUTHOR-052", "RK-AUTHOR-053", "RK-AUTHOR-057", "RK-AUTHOR-059")
def test_each_surface_runs_the_cases_in_order_with_an_owners_directory_of_its_own(tmp_path: Path) -> None:
    cases = [
        {"name": "first", "argv": ["m", "count"], "expect": {"stderrContains": "noise"}},
        {"name": "second", "command": "count", "inputs": {"by": 9}, "expect": {"outcome": "succeeded"}},
        {"name": "third", "argv": ["m", "count", "--by", "2"], "expect": {"data": {"count": 12}}},
        {"name": "refused", "command": "count", "inputs": {"by": 10}, "expect": {"reason": "invalid_input"}},
        {"name": "no words for it", "argv": ["m", "count", "--bye", "1"], "expect": {"exitCode": 64}},
        {"name": "a person's", "argv": ["m", "private"], "expect": {"text": "owner's"}},
        {"name": "no command", "argv": ["nowhere"], "expect": {"exitCode": 65, "stderrContains": "nowhere"}},
        {"name": "agents alone", "argv": ["m", "count"], "surfaces": ["agent"]},
    ]  # fmt: skip
    status, document = report(extension(tmp_path, cases, environment=PLACE))

    assert [
        ("first", "terminal", True), ("first", "agent", True), ("second", "terminal", True), ("second", "agent", True),
        ("third", "terminal", False), ("third", "agent", False), ("refused", "terminal", True),
        ("refused", "agent", True), ("no words for it", "terminal", True), ("a person's", "terminal", True),
        ("no command", "terminal", True), ("agents alone", "agent", True),
    ] == rows(document)  # fmt: skip
    assert (1, 10, 2) == (status, document["passed"], document["failed"])
    thirds = [row["differences"] for row in document["cases"] if row["name"] == "third"]
    # Each has counted its own calls alone, in a directory of its own: that is all that differs from what was expected.
    homes = [difference["actual"] for (difference,) in thirds]
    assert [["/commandResult/data/home"], ["/commandResult/data/home"]] == [
        [d["place"] for d in t] for t in thirds
    ]
    assert [True, True] == [
        home.startswith(f"{tmp_path}/temporary/") and home.endswith("/kept") for home in homes
    ]
    assert homes[0] != homes[1]


@pytest.mark.requirement("RK-AUTHOR-056", "RK-AUTHOR-055")
def test_a_case_that_fails_is_shown_with_place_expected_and_actual(tmp_path: Path) -> None:
    cases = [
        {"name": "fine", "argv": ["m", "private"]},
        {"name": "not fine", "argv": ["m", "private"], "expect": {"text": "mine", "exitCode": 3}},
        {
            "name": "one more",
            "argv": ["m", "count"],
            "surfaces": ["terminal"],
            "expect": {"data": {"count": 1, "x": 0}},
        },
    ]
    directory = extension(tmp_path, cases, environment=PLACE)
    done = run(directory)
    lines = done.stdout.decode().splitlines()

    assert (1, b"") == (done.returncode, done.stderr)
    assert "ok    terminal  fine" == lines[0]
    assert "FAIL  terminal  not fine" == lines[1]
    assert ["        exit status", "            expected: 3", "            actual: 0"] == lines[2:5]
    assert "        /outcome" == lines[5]
    assert "        /commandResult/data/x" in lines
    assert "            actual: nothing" in lines
    assert "acme.m 1.0.0: 1 passed, 2 failed" == lines[-1]


@pytest.mark.requirement("RK-AUTHOR-059", "RK-AUTHOR-055")
def test_a_filter_runs_the_cases_with_the_text_in_their_name_and_refuses_where_there_is_none(
    tmp_path: Path,
) -> None:
    cases = [{"name": name, "argv": ["m", "private"]} for name in ("one milk", "two milk", "tea")]
    directory = extension(tmp_path, cases)

    ran = rows(report(directory, "--filter", "milk")[1])
    assert [("one milk", "terminal", True), ("two milk", "terminal", True)] == ran
    done = run(directory, "--filter", "coffee", "--json")
    refused = json.loads(done.stderr)["error"]
    assert (64, "RKX016", "they are: one milk, two milk, tea") == (
        done.returncode,
        refused["code"],
        refused["mend"],
    )


# name: (what is changed in a good extension, the rule, exit status)
UNFIT: dict[str, tuple[dict[str, str | None], str, int]] = {
    "no cases file": ({"rukh-cases.json": None}, "RKX015", 64),
    "wrong cases": ({"rukh-cases.json": '{"format": "rukh.cases/1", "case": []}'}, "RKX003", 64),
    "no descriptor": ({"rukh-extension.json": None}, "RKT040", 64),
    "a wrong descriptor": ({"rukh-extension.json": '{"format": "rukh.extension/2"}'}, "RKT043", 64),
    "an unknown descriptor": ({"rukh-extension.json": '{"format": "rukh.extension/9"}'}, "RKT044", 69),
    "no program": ({"acme_m.py": None}, "RKK004", 64),
    "no Python": ({"acme_m.py": "def count(:\n"}, "RKK006", 64),
    "a private key": ({"x.pem": "-----BEGIN PRIVATE KEY-----\n"}, "RKT067", 64),
}


@pytest.mark.requirement("RK-AUTHOR-055", "RK-AUTHOR-052")
@pytest.mark.parametrize("name", UNFIT)
def test_what_is_not_fit_to_run_is_refused_by_its_rule(tmp_path: Path, name: str) -> None:
    files, rule, status = UNFIT[name]
    directory = extension(tmp_path, [{"name": "one", "argv": ["m", "private"]}])
    for file, text in files.items():
        if text is None:
            (directory / file).unlink()
        else:
            (directory / file).write_text(text)
    done = run(directory, "--json")

    assert (status, b"") == (done.returncode, done.stdout)
    assert rule == json.loads(done.stderr)["error"]["code"]


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path / "nowhere", "--json")

    assert (64, "RKT040") == (done.returncode, json.loads(done.stderr)["error"]["code"])


@pytest.mark.requirement("RK-AUTHOR-058")
def test_a_case_that_does_not_end_is_ended_and_the_others_still_run(tmp_path: Path) -> None:
    meeting = Meeting(tmp_path / "fifo")
    cases = [
        {"name": "endless", "argv": ["m", "wait", meeting.path], "seconds": 1},
        {"name": "other", "argv": ["m", "count"], "expect": {"outcome": "succeeded"}},
    ]
    status, document = report(extension(tmp_path, cases, environment=PLACE))
    meeting.close()

    assert 1 == status
    late = [{"place": "time", "expected": "an end within 1 s", "actual": "none"}]
    assert [late, late, [], []] == [row["differences"] for row in document["cases"]]


@pytest.mark.requirement("RK-AUTHOR-054")
@pytest.mark.parametrize("surface", ["terminal", "agent"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_test_that_is_interrupted_leaves_nothing(
    tmp_path: Path, surface: str, number: signal.Signals
) -> None:
    meeting = Meeting(tmp_path / "fifo")
    cases = [{"name": "endless", "argv": ["m", "wait", meeting.path], "surfaces": [surface]}]
    directory = extension(tmp_path, cases)
    process = subprocess.Popen(
        [PROGRAM, "test", str(directory)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert "here" == meeting.told()
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    meeting.close()

    assert (130, b"", b"") == (process.returncode, out, err.strip())


@pytest.mark.requirement("RK-AUTHOR-054")
def test_the_owners_own_home_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home that cannot be used makes no difference."""
    broken = tmp_path / "broken"
    broken.write_text("no home")
    monkeypatch.setenv("RUKH_HOME", str(broken))

    assert 0 == report(extension(tmp_path, [{"name": "one", "argv": ["m", "private"]}]))[0]
    assert "no home" == broken.read_text()


@pytest.mark.requirement("RK-AUTHOR-052")
def test_a_prerelease_is_tested_as_it_is(tmp_path: Path) -> None:
    cases = [{"name": "one", "argv": ["m", "private"], "expect": {"text": "owner's"}}]
    status, document = report(extension(tmp_path, cases, version="1.0.0-rc.1"))

    assert (0, "1.0.0-rc.1") == (status, document["version"])


@pytest.mark.requirement("RK-AUTHOR-052", "RK-AUTHOR-053")
def test_the_shipped_example_passes_its_own_cases() -> None:
    status, document = report(NOTES)

    assert (0, 10, 0) == (status, document["passed"], document["failed"])


@pytest.mark.requirement("RK-AUTHOR-052", "RK-AUTHOR-056")
def test_a_passthrough_program_is_given_the_words_of_its_case_and_judged_by_status_and_output(
    tmp_path: Path,
) -> None:
    opaque = {"mapping": {"kind": "passthrough", "program": ["bin/say"]}}
    commands = [{"id": "say", "path": ["tools", "say"], "summary": "Says its words", "execute": opaque}]
    document = descriptor("acme.tools", commands=commands, runtime={"kind": "native"})
    case = {"name": "words", "argv": ["tools", "say", "--x", "a b", "--envelope"], "stdin": "in"}
    expect = {"exitCode": 3, "stdout": "--x|a b|--envelope|in"}
    cases = {"format": "rukh.cases/1", "cases": [{**case, "expect": expect}]}
    files = {"bin/say": "#!/bin/sh\nprintf '%s|' \"$@\"\ncat\nexit 3\n", "rukh-cases.json": json.dumps(cases)}
    status, shown = report(write_extension(tmp_path / "tools", document, files))

    assert (0, [("words", "terminal", True)]) == (status, rows(shown))
