"""`rukh check`: which documents its paths mean, what it answers, and in which forms."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from rukh.cli.admin import check_paths
from rukh.cli.specification import schemas
from rukh.contract.explanations import reported
from tests.contract.documents import load, patched
from tests.support.commandline import Answer, Run

ROOT = Path(__file__).resolve().parents[2]
NOTES = ROOT / "examples" / "notes"
BASE = load("spec/explanations.json")["base"]
ALONE = {**BASE, "runtime": {"kind": "native"}, "commands": BASE["commands"][1:]}
FINE = json.dumps(ALONE).encode()
WRONG = FINE.replace(b'"Notes"', b'""', 1)
UNWISE = json.dumps(patched(BASE, [{"op": "remove", "path": "/commands/0/title"}])).encode()
NAME = "rukh-extension.json"

SCHEMAS = {
    schema["$id"]: schema
    for schema in (load("spec/schemas/diagnostics-1.schema.json"), load("spec/schemas/check-1.schema.json"))
}
KNOWN: Registry[Any] = Registry().with_resources(
    [(name, Resource.from_contents(schema)) for name, schema in SCHEMAS.items()]
)
FORMS = {
    "rukh.diagnostics/1": Draft202012Validator(SCHEMAS["urn:rukh:schema:diagnostics:1"]),
    "rukh.check/1": Draft202012Validator(SCHEMAS["urn:rukh:schema:check:1"], registry=KNOWN),
}


def write(place: Path, data: bytes = FINE) -> Path:
    """A document, and the program that its base names beside it."""
    program = place.parent / "bin" / "open"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    place.write_bytes(data)
    return place


def document(shown: Answer) -> Any:
    """The one JSON document of an answer, of the form that it names."""
    found = json.loads(shown[1])
    FORMS[found["format"]].validate(found)
    assert "" == shown[2]
    return found


def rules(shown: Answer) -> list[list[str]]:
    found = document(shown)
    return [[one["rule"] for one in file["diagnostics"]] for file in found.get("files", [found])]


def files(shown: Answer) -> list[str]:
    return [file["file"] for file in document(shown)["files"]]


# Paths


@pytest.mark.requirement("RK-CHECK-001", "RK-CHECK-004")
def test_files_are_checked_in_their_order_and_each_once(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "b.json"), write(tmp_path / "a.json", WRONG)
    shown = run("check", "b.json", "a.json", "b.json", "--json")
    assert (1, ["b.json", "a.json"], [[], ["RKD012"]]) == (shown[0], files(shown), rules(shown))


@pytest.mark.requirement("RK-CHECK-001")
def test_a_directory_means_its_descriptor_and_nothing_below(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "x" / NAME), write(tmp_path / "x" / "deep" / NAME, WRONG)
    shown = run("check", "x", "--json")
    assert (0, [f"x/{NAME}"]) == (shown[0], files(shown))


@pytest.mark.requirement("RK-CHECK-001", "RK-CHECK-007")
def test_another_directory_means_every_descriptor_below_in_order(run: Run, tmp_path: Path) -> None:
    for below in ("b", "a/c", "a", "a-b", "é", *check_paths.PASSED_OVER):
        write(tmp_path / "all" / below / NAME)
    (tmp_path / "all" / "link").symlink_to(tmp_path / "all" / "b")
    shown = run("check", "all", "--json")
    assert [f"all/{below}/{NAME}" for below in ("a", "a/c", "a-b", "b", "é")] == files(shown)
    assert 0 == shown[0]


@pytest.mark.requirement("RK-CHECK-001")
def test_a_directory_and_a_file_name_the_same_descriptor_once(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "x" / NAME)
    assert [f"x/{NAME}"] == files(run("check", "x", f"x/{NAME}", "--json"))


@pytest.mark.requirement("RK-CHECK-001")
def test_the_working_directory_is_named_as_people_name_it(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a" / NAME)
    assert [f"a/{NAME}"] == files(run("check", ".", f"a/{NAME}", "--json"))
    write(tmp_path / NAME, json.dumps(BASE).encode())
    assert [NAME] == files(run("check", ".", NAME, "--json"))
    assert [["RKK004"]] == rules(run("check", ".", "--json"))


UNREADABLE = {
    "a missing file": ("nowhere.json", "RKK001"),
    "a missing descriptor": (f"nowhere/{NAME}", "RKK001"),
    "a pipe under its name": (f"pipe/{NAME}", "RKK001"),
    "a directory with a pipe under its name": ("pipe", "RKK001"),
    "a link under its name": ("linked", "RKK001"),
    "a directory with nothing": ("empty", "RKK002"),
    "a directory of things passed over": ("hidden", "RKK002"),
}


@pytest.mark.requirement("RK-CHECK-002")
@pytest.mark.parametrize("name", UNREADABLE)
def test_a_path_that_gives_no_document_is_a_finding_and_stops_no_other(
    run: Run, tmp_path: Path, name: str
) -> None:
    path, rule = UNREADABLE[name]
    write(tmp_path / "fine.json")
    for below in ("pipe", "linked", "empty"):
        (tmp_path / below).mkdir()
    os.mkfifo(tmp_path / "pipe" / NAME)
    (tmp_path / "linked" / NAME).symlink_to(tmp_path / "fine.json")
    write(tmp_path / "hidden" / ".git" / NAME)
    shown = run("check", path, "fine.json", "--json")
    assert (1, [[rule], []]) == (shown[0], rules(shown))
    assert (0, [[]]) == (run("check", "fine.json")[0], rules(run("check", "fine.json", "--json")))


@pytest.mark.requirement("RK-CHECK-002")
def test_a_directory_that_cannot_be_listed_is_a_finding(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "all" / "a" / NAME), write(tmp_path / "all" / "b" / NAME)
    real = os.scandir

    def refuse(path: str) -> Any:
        if path.endswith("/a"):
            raise PermissionError(13, "no")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    shown = run("check", "all", "--json")
    assert (["all/a", f"all/b/{NAME}"], [["RKK001"], []]) == (files(shown), rules(shown))


BOUNDS: dict[str, tuple[str, int, list[list[str]]]] = {
    # The limit, what is just enough, and what a limit of two still checks. Below are three directories, each with a
    # descriptor and a program in a directory of its own: 3 + 3 * 2 + 3 entries, 3 descriptors.
    "descriptors": ("LIMIT_CHECKED_FILES", 3, [[], []]),
    "entries": ("LIMIT_CHECKED_ENTRIES", 13, []),
}


@pytest.mark.requirement("RK-CHECK-002")
@pytest.mark.parametrize("name", BOUNDS)
def test_a_search_is_bounded_and_what_it_found_before_is_checked(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    limit, enough, before = BOUNDS[name]
    for below in "abc":
        write(tmp_path / "all" / below / NAME)
    monkeypatch.setattr(check_paths, limit, enough)
    assert [[], [], []] == rules(run("check", "all", "--json"))
    monkeypatch.setattr(check_paths, limit, 2)
    shown = run("check", "all", "--json")
    assert (1, [*before, ["RKK003"]]) == (shown[0], rules(shown))


def through(stdin: bytes, *words: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "rukh.reference", *words],
        input=stdin,
        check=False,
        capture_output=True,
        timeout=60,
        cwd=cwd,
    )


@pytest.mark.requirement("RK-CHECK-001", "RK-CHECK-004")
def test_a_dash_reads_standard_input(tmp_path: Path) -> None:
    ended = through(WRONG, "check", "-", "--json", cwd=tmp_path)
    shown = document((ended.returncode, ended.stdout.decode(), ended.stderr.decode()))
    assert (1, "rukh.diagnostics/1", "-") == (ended.returncode, shown["format"], shown["file"])
    assert ["RKD012"] == [one["rule"] for one in shown["diagnostics"]]
    ended = through(FINE, "check", "-", cwd=tmp_path)
    assert (0, b"-: no findings\n") == (ended.returncode, ended.stdout)


# Answers


@pytest.mark.requirement("RK-CHECK-003")
@pytest.mark.parametrize(
    ("data", "plain", "strict"),
    [(FINE, 0, 0), (UNWISE, 0, 1), (WRONG, 1, 1)],
    ids=["clean", "a warning", "an error"],
)
def test_the_status_follows_the_worst_finding(
    run: Run, tmp_path: Path, data: bytes, plain: int, strict: int
) -> None:
    write(tmp_path / "x.json", data), write(tmp_path / "fine.json")
    for form in ((), ("--json",), ("--format", "sarif")):
        assert plain == run("check", "x.json", "fine.json", *form)[0]
        assert strict == run("check", "fine.json", "x.json", "--strict", *form)[0]


WRONG_USE = {
    "nothing to check": (),
    "a path and the rules": ("x.json", "--rules"),
    "two questions": ("--rules", "--explain", "RKD012"),
    "two forms": ("x.json", "--json", "--format", "sarif"),
    "an unknown form": ("x.json", "--format", "xml"),
    "the rules as SARIF": ("--rules", "--format", "sarif"),
    "an unknown option": ("x.json", "--nope"),
}


@pytest.mark.requirement("RK-CHECK-003")
@pytest.mark.parametrize("name", WRONG_USE)
def test_wrong_use_is_refused_before_anything_is_looked_at(run: Run, tmp_path: Path, name: str) -> None:
    write(tmp_path / "x.json", WRONG)
    status, out, err = run("check", *WRONG_USE[name])
    assert (64, "") == (status, out)
    assert "RKL028" in err
    assert 1 == run("check", "x.json")[0]


@pytest.mark.requirement("RK-CHECK-004")
def test_the_shape_follows_the_path_and_not_what_is_found(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "x" / NAME), write(tmp_path / "y.json", WRONG)
    one = {"y.json", f"x/{NAME}", "missing.json"}
    many = ("x", "y.json missing.json", ".")
    assert {"rukh.diagnostics/1"} == {document(run("check", path, "--json"))["format"] for path in one}
    assert {"rukh.check/1"} == {document(run("check", *path.split(), "--json"))["format"] for path in many}


@pytest.mark.requirement("RK-CHECK-004")
def test_json_is_the_short_form_of_format_json(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "x.json", WRONG)
    short = run("check", "x.json", "--json")
    assert short == run("check", "x.json", "--format", "json")
    assert short == run("check", "x.json", "--json", "--format", "json")
    assert run("check", "x.json") == run("check", "x.json", "--format", "text")


@pytest.mark.requirement("RK-CHECK-004")
def test_the_text_of_many_documents_ends_with_their_numbers(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "x.json", WRONG), write(tmp_path / "y.json", UNWISE)
    lines = run("check", "x.json", "y.json", "missing")[1].splitlines()
    assert ["x.json:1:", "y.json:1:", "missing:1:"] == [line[: line.index(":") + 3] for line in lines[:-1:2]]
    assert "3 documents: 2 errors, 1 warning" == lines[-1]


@pytest.mark.requirement("RK-CHECK-005")
@pytest.mark.parametrize("form", ["text", "json", "sarif"])
def test_no_control_character_of_a_name_or_a_file_reaches_the_terminal(
    run: Run, tmp_path: Path, form: str
) -> None:
    hostile = tmp_path / "all" / "a\x1b[2J\n\x9b\u202e" / NAME
    write(hostile, FINE.replace(b'"title"', b'"ti\\u001b[2J\\u202etle"', 1))
    status, out, err = run("check", "all", "--format", form)
    assert (1, "") == (status, err)
    admitted = "\n" if form == "text" else "\n\x9b\u202e"  # JSON escapes the others, and is for programs
    assert [] == [each for each in out if not each.isprintable() and each not in admitted]
    assert "RKD003" in out


@pytest.mark.requirement("RK-CHECK-005")
def test_a_name_that_is_no_utf8_is_shown_and_its_document_checked(run: Run, tmp_path: Path) -> None:
    write(Path(os.fsdecode(os.fsencode(tmp_path / "all") + b"/\xff/")) / NAME)
    shown = run("check", "all", "--json")
    assert (0, [f"all/\\xff/{NAME}"]) == (shown[0], files(shown))


@pytest.mark.requirement("RK-CHECK-030")
def test_sarif_is_one_log_over_all_documents(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a b.json", WRONG), write(tmp_path / "y.json", UNWISE)
    status, out, err = run("check", "a b.json", "y.json", "--format", "sarif")
    log = json.loads(out)
    (one,) = log["runs"]
    assert (1, "", "2.1.0") == (status, err, log["version"])
    assert ("rukh", "9.9.9") == (one["tool"]["driver"]["name"], one["tool"]["driver"]["version"])
    assert [("RKD012", "error"), ("RKW002", "warning")] == [
        (result["ruleId"], result["level"]) for result in one["results"]
    ]
    assert ["a%20b.json", "y.json"] == [each["location"]["uri"] for each in one["artifacts"]]


@pytest.mark.requirement("RK-CHECK-010")
def test_advice_waits_until_there_is_no_error(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "x.json", UNWISE), write(tmp_path / "y.json", UNWISE.replace(b'"Notes"', b'""', 1))
    assert [["RKW002"], ["RKD012"]] == rules(run("check", "x.json", "y.json", "--json"))


@pytest.mark.requirement("RK-ADM-005", "RK-CHECK-003")
def test_a_check_needs_no_home_and_makes_none(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUKH_HOME", str(tmp_path / "home"))
    assert 0 == run("check", str(NOTES), "--strict")[0]
    assert not (tmp_path / "home").exists()


# Schemas


@pytest.mark.requirement("RK-CHECK-040")
@pytest.mark.parametrize("name", schemas())
def test_a_schema_is_printed_as_it_is_published(run: Run, name: str) -> None:
    status, out, err = run("check", "--schema", name)
    assert (0, "") == (status, err)
    assert (ROOT / "spec" / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8") == out
    Draft202012Validator.check_schema(json.loads(out))


@pytest.mark.requirement("RK-CHECK-040")
@pytest.mark.parametrize(
    ("asked", "mend"),
    {"descriptor2": "did you mean descriptor-2?", "../zzz": "known are: cases-1, "}.items(),
)
def test_an_unknown_schema_is_refused_with_the_nearest_one(run: Run, asked: str, mend: str) -> None:
    status, out, err = run("check", "--schema", asked, "--json")
    error = json.loads(err)["error"]
    assert (64, "", "RKL030") == (status, out, error["code"])
    assert error["mend"].startswith(mend)


@pytest.mark.requirement("RK-CHECK-044")
@pytest.mark.parametrize("name", [name for name in schemas() if name.startswith("descriptor-")])
def test_each_member_of_a_descriptor_is_described(name: str) -> None:
    bare: list[str] = []

    def walk(node: Any, place: str) -> None:
        """Conditions are left out: they repeat members, and declare none."""
        for member, sub in node.get("properties", {}).items():
            bare.extend([f"{place}/{member}"] if "description" not in sub else [])
            walk(sub, f"{place}/{member}")
        for name, sub in node.get("$defs", {}).items():
            walk(sub, f"{place}#{name}")
        for sub in (*node.get("oneOf", ()), *([node["items"]] if "items" in node else ())):
            walk(sub, place)

    walk(load(f"spec/schemas/{name}.schema.json"), "")
    assert [] == bare


def test_the_explanations_are_of_their_schema() -> None:
    schema = load("spec/schemas/explanations-1.schema.json")
    Draft202012Validator(schema).validate(load("spec/explanations.json"))


@pytest.mark.requirement("RK-CHECK-041")
def test_a_wheel_carries_schemas_and_explanations_and_answers_from_them(tmp_path: Path) -> None:
    """The wheel alone is on the path: neither the checkout nor a network is there to fall back to."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    start = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); import rukh.reference as r; r.main()"
    )
    for words, expected in {
        ("--schema", "descriptor-2"): (ROOT / "spec/schemas/descriptor-2.schema.json").read_bytes(),
        ("--explain", "RKD012"): b"RKD012 (error): ",
    }.items():
        ended = subprocess.run(
            [sys.executable, "-P", "-c", start, "check", *words],
            check=False,
            capture_output=True,
            timeout=60,
            cwd=tmp_path,
        )
        assert (0, b"") == (ended.returncode, ended.stderr)
        assert ended.stdout.startswith(expected)


# The hook


@pytest.mark.requirement("RK-CHECK-045")
def test_the_hook_checks_what_its_pattern_takes(run: Run, tmp_path: Path) -> None:
    import re

    lines = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8").splitlines()
    hook = dict(line[2:].split(": ", 1) for line in lines if not line.startswith("#"))
    assert ("rukh-check", "python") == (hook["id"], hook["language"])
    cases = "a/rukh-cases.json"
    offered = (f"a/{NAME}", NAME, f"a/my-{NAME}", "x.json", cases, "rukh-cases.json.bak")
    taken = [path for path in offered if re.search(hook["files"], path)]
    assert [f"a/{NAME}", NAME, cases] == taken
    program, *words = hook["entry"].split()
    assert "rukh" == program
    write(tmp_path / "a" / NAME), write(tmp_path / NAME)
    assert 0 == run(*words, *taken[:2])[0]
    (tmp_path / cases).write_text("{}")
    assert 1 == run(*words, cases)[0]
    (tmp_path / NAME).write_bytes(WRONG)
    assert 1 == run(*words, *taken)[0]


# A wide descriptor


@pytest.mark.requirement("RK-CHECK-010")
@pytest.mark.parametrize("commands", [1, 200])
def test_the_descriptor_of_the_bench_is_clean(run: Run, tmp_path: Path, commands: int) -> None:
    from bench.wide import descriptor

    (tmp_path / "wide.json").write_bytes(descriptor(commands))
    assert (0, "wide.json: no findings\n", "") == run("check", "wide.json", "--strict")
    assert commands == len(json.loads(descriptor(commands))["commands"])


def test_the_reported_rules_hold_those_of_the_vectors() -> None:
    refused = load("spec/vectors/descriptors.json")["refused"]
    assert set() == {row["rule"] for row in refused} - set(reported())
