"""`rukh check`: the cases beside a descriptor, the script of a shell program, and mends that say what helps."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.documents import load, patched
from tests.support.commandline import Run

DOCUMENT = load("spec/explanations.json")
BASE, CASES = DOCUMENT["base"], DOCUMENT["baseCases"]
MODULE = DOCUMENT["rules"]["RKK007"]["right"]
ARGV, ENTRY = "/cases/0/argv/0", "/commands/0/execute/mapping/entry"


def release(cases: str | None = None, descriptor: Any = BASE) -> None:
    """The release `x` in the working directory."""
    os.makedirs("x/bin")
    Path("x/acme_notes.py").write_text(MODULE)
    Path("x/bin/open").write_text("#!/bin/sh\n")
    os.chmod("x/bin/open", 0o755)
    Path("x/rukh-extension.json").write_text(json.dumps(descriptor, indent=1))
    if cases is not None:
        Path("x/rukh-cases.json").write_text(cases)


def changed(document: Any, path: str, value: Any) -> Any:
    return patched(document, [{"op": "replace", "path": path, "value": value}])


def found(run: Run, *words: str) -> list[tuple[str, str, str]]:
    document = json.loads(run("check", *words, "--json")[1])
    files = document.get("files", [document])
    return [
        (one["rule"], one.get("file", file["file"]), one["pointer"])
        for file in files
        for one in file["diagnostics"]
    ]


SLIP = json.dumps(changed(CASES, ARGV, "nots"))
FILE = "x/rukh-cases.json"
# The text of the cases, and what is found: always in their own file.
FAULTS = {
    "fine": (json.dumps(CASES), []),
    "a comma twice": (json.dumps(CASES).replace(",", ",,", 1), [("RKV002", FILE, "")]),
    "an unknown member": (
        json.dumps(CASES).replace('"expect"', '"expects"', 1), [("RKX002", FILE, "/cases/0/expects")]),
    "a slip in the words": (SLIP, [("RKX011", FILE, ARGV)]),
    "two faults": (
        SLIP.replace("exitCode", "exitcode"),
        [("RKX011", FILE, ARGV), ("RKX002", FILE, "/cases/1/expect/exitcode")]),
}  # fmt: skip


@pytest.mark.requirement("RK-CHECK-050")
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("path", ["x", "x/rukh-extension.json"])
def test_the_cases_of_a_release_are_checked_with_it(run: Run, name: str, path: str) -> None:
    text, expected = FAULTS[name]
    release(text)

    # A case in which something is malformed is not looked at further.
    rules = [row for row in expected if name != "two faults" or row[2] != ""]
    assert rules == found(run, path)
    assert bool(expected) == run("check", path)[0]
    assert [] == found(run, path, "--descriptor-only")
    if expected:
        assert f"{FILE}:1:" in run("check", path)[1]


@pytest.mark.requirement("RK-CHECK-014", "RK-CHECK-050")
def test_a_release_with_wrong_cases_is_not_packed(run: Run) -> None:
    release(SLIP)
    status, _, err = run("pack", "x", "--out", "x.tar.gz", "--json")
    error = json.loads(err)["error"]
    assert (64, "RKX011", f"{FILE}, {ARGV}") == (status, error["code"], error["place"])

    Path(FILE).write_text(json.dumps(CASES))
    assert 0 == run("pack", "x", "--out", "x.tar.gz")[0]


@pytest.mark.requirement("RK-CHECK-051")
@pytest.mark.parametrize("name", FAULTS)
def test_cases_are_checked_by_their_own_name(run: Run, name: str) -> None:
    text, expected = FAULTS[name]
    release(text)
    assert expected == found(run, FILE)
    document = json.loads(run("check", FILE, "--json")[1])
    assert ("rukh.diagnostics/1", FILE) == (document["format"], document["file"])


@pytest.mark.requirement("RK-CHECK-051")
def test_cases_without_a_descriptor_free_of_errors_are_judged_by_their_shape(run: Run) -> None:
    wrong = changed(BASE, "/title", "")
    release(SLIP, wrong)
    assert [("RKD012", "x/rukh-extension.json", "/title")] == found(run, FILE)
    assert [] == found(run, FILE, "--descriptor-only")

    os.remove("x/rukh-extension.json")
    assert [("RKK002", FILE, "")] == found(run, FILE)
    Path(FILE).write_text('{"format": "rukh.cases/1"}')
    assert [("RKK002", FILE, ""), ("RKX003", FILE, "")] == found(run, FILE)


@pytest.mark.requirement("RK-CHECK-051")
def test_what_is_no_error_of_the_descriptor_is_not_shown_with_its_cases(run: Run) -> None:
    old = changed(changed(BASE, "/format", "rukh.extension/1"), "/commands/0/parameters/4/names", ["--json"])
    for command in old["commands"]:
        command.pop("machine", None)
        command["execute"].pop("result", None)
    release(json.dumps(changed(CASES, "/cases/0/expect", {"outcome": "succeeded"})), old)

    assert ("RKD039", "x/rukh-extension.json") in {row[:2] for row in found(run, "x")}
    assert [] == found(run, FILE)


@pytest.mark.requirement("RK-CHECK-056")
@pytest.mark.parametrize("file", ["rukh-cases.json", "rukh-extension.json"])
@pytest.mark.parametrize(
    "made", [os.mkfifo, lambda path: os.symlink("../elsewhere", path)], ids=["pipe", "link"]
)
def test_what_is_no_regular_file_is_a_finding_under_its_name_and_not_waited_for(
    run: Run, file: str, made: Callable[[str], None]
) -> None:
    release(json.dumps(CASES))
    os.rename(f"x/{file}", "elsewhere")
    made(f"x/{file}")

    assert [("RKK001", f"x/{file}", "")] == found(run, f"x/{file}")
    assert "    mend: put the file itself there\n" in run("check", f"x/{file}")[1]


@pytest.mark.requirement("RK-CHECK-050", "RK-CHECK-051")
@pytest.mark.parametrize("path", ["x", FILE])
def test_cases_without_anything_are_told_what_to_write(run: Run, path: str) -> None:
    release(" \n")

    mend = "write cases; the verb new shows how"
    said = f"{FILE}:1:1: error RKV002 nothing stands in the file\n    mend: {mend}\n"
    assert (1, said, "") == run("check", path)


@pytest.mark.requirement("RK-CHECK-050", "RK-CHECK-056")
def test_what_is_no_file_of_a_release_is_not_read_as_cases_and_is_a_finding(run: Run) -> None:
    release()
    assert [] == found(run, "x")
    Path("elsewhere").write_text("no cases")
    os.symlink("../elsewhere", FILE)
    assert [("RKK001", FILE, "")] == found(run, "x")
    os.remove(FILE)
    os.mkfifo(FILE)
    assert [("RKK001", FILE, "")] == found(run, "x")


@pytest.mark.requirement("RK-CHECK-001", "RK-CHECK-051")
@pytest.mark.parametrize("order", [1, -1])
def test_a_fault_that_a_descriptor_and_its_cases_both_tell_of_is_told_once(run: Run, order: int) -> None:
    release(SLIP)
    once = found(run, "x/rukh-extension.json")
    assert len(once) == 1
    paths = ["x/rukh-extension.json", FILE][::order]
    both = json.loads(run("check", *paths, "--json")[1])["files"]
    told = [
        (each["rule"], each.get("file", document["file"]))
        for document in both
        for each in document["diagnostics"]
    ]
    assert [row[:2] for row in once] == told
    assert [document["file"] for document in both] == paths


# The entry, the finding, and what mends it.
SCRIPTS: dict[str, tuple[list[str], list[tuple[str, str, str]], str]] = {
    "the script": (["lib/rukh-sh", "bin/greet"], [], ""),
    "the script and a word": (["lib/rukh-sh", "bin/greet", "fast"], [], ""),
    "another program": (["lib/other", "bin/gret"], [], ""),
    "a slip": (
        ["lib/rukh-sh", "bin/gret"], [("RKK004", "x/rukh-extension.json", f"{ENTRY}/1")], "did you mean bin/greet?"),
    "nothing like it": (
        ["lib/rukh-sh", "lib/no/x"], [("RKK004", "x/rukh-extension.json", f"{ENTRY}/1")],
        "write it, or name the file that there is; a link is none"),
    "no script": (
        ["lib/rukh-sh"], [("RKK004", "x/rukh-extension.json", f"{ENTRY}/0")],
        'name it: ["lib/rukh-sh", "bin/script"]'),
}  # fmt: skip


@pytest.mark.requirement("RK-CHECK-055")
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_script_of_a_shell_program_is_a_file_of_the_release(run: Run, name: str) -> None:
    entry, expected, mend = SCRIPTS[name]
    release(descriptor=changed(changed(BASE, "/runtime", {"kind": "native"}), ENTRY, entry))
    os.mkdir("x/lib")
    for file in ("lib/rukh-sh", "lib/other", "bin/greet"):
        Path("x", file).write_text("")
        os.chmod(f"x/{file}", 0o644 if file == "bin/greet" else 0o755)

    assert expected == found(run, "x")
    if expected:
        assert f"    mend: {mend}\n" in run("check", "x")[1]


WHOLE = json.dumps(BASE)
KIND = "/commands/0/parameters/4/type/kind"
# The text of a document, the finding in words, and the mend.
MENDS = {
    "nothing": ("", "RKV002 nothing stands in the file", "write a descriptor; the verb new shows how"),
    "blanks": (" \n", "RKV002 nothing stands in the file", "write a descriptor; the verb new shows how"),
    "a comment": ("{// x\n}", "RKV002 a member name", "leave the comment out: JSON has none"),
    "a comment behind a value": ('{"a": 1 # x\n}', "RKV002 a comma or }", "leave the comment out: JSON has none"),
    "a comment for a value": ('{"a": /* x */ 1}', "RKV002 this is no", "leave the comment out: JSON has none"),
    "a last comma": ('{"a": 1,}', "RKV002 a member name", "take the last comma away"),
    "a comma twice": ('{"a": 1,,"b": 1}', "RKV002 a member name", "keep one comma"),
    "a bare name": ("{a: 1}", "RKV002 a member name", "quote the name"),
    "no version": (
        json.dumps(changed(BASE, "/version", "1")), "RKD008 '1' is not of the form of a version at /version",
        "write MAJOR.MINOR.PATCH of SemVer 2.0.0 without build metadata, at most 64 characters"),
    "no id": (
        json.dumps(changed(BASE, "/commands/1/id", "A")), "RKD009 'A' is not of the form of an id at /commands/1/id",
        "write a lower-case letter, then a-z, 0-9 and _, at most 48 characters"),
    "a type cut short": (json.dumps(changed(BASE, KIND, "bool")), "RKD006 'bool'", 'did you mean "boolean"?'),
    "a type cut too short": (
        json.dumps(changed(BASE, KIND, "bo")), "RKD006 'bo'",
        "known here: string, integer, number, decimal, choice, boolean, list"),
    "null for a default": (
        json.dumps(changed(BASE, "/commands/0/parameters/2/default", None)),
        "RKD023 null is no value at /commands/0/parameters/2/default", 'leave "default" out'),
    "cases": (
        json.dumps(CASES), "RKD001 the format 'rukh.cases/1' is not supported at /format",
        "these are cases: name the file rukh-cases.json, and keep it beside the descriptor"),
}  # fmt: skip


@pytest.mark.parametrize("name", MENDS)
def test_a_mend_says_what_helps(run: Run, name: str) -> None:
    text, finding, mend = MENDS[name]
    Path("d.json").write_text(text)
    status, out, _ = run("check", "d.json")
    assert 1 == status
    assert f": error {finding}" in out
    assert f"\n    mend: {mend}\n" in out

    Path("d.json").write_text(WHOLE)
    assert (0, "d.json: no findings\n", "") == run("check", "d.json")


def test_two_questions_at_once_are_told_apart(run: Run) -> None:
    error = json.loads(run("check", "--explain", "RKD016", "x", "--json")[2])["error"]
    assert ("RKL028", "a PATH and --explain ask for different answers") == (error["code"], error["message"])
