"""The rules of a check, explained: every one has a text, and each snippet shows what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rukh.contract.explanations import reported
from rukh.values import registry
from rukh.values.rules import RULES
from tests.contract.documents import load, patched
from tests.support.commandline import Answer, Run

DOCUMENT = load("spec/explanations.json")
BASE, EXPLAINED = DOCUMENT["base"], DOCUMENT["rules"]
ROOT = Path(__file__).resolve().parents[2]
MODULE = EXPLAINED["RKK007"]["right"]
FILES = EXPLAINED["RKK005"]["right"]


def release(place: Path, descriptor: bytes, module: str = MODULE, files: list[str] = FILES) -> str:
    """A release in `place`; its path."""
    for line in files:
        mode, name = line.split()
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(module if name.endswith(".py") else "#!/bin/sh\n")
        file.chmod(int(mode, 8))
    place.mkdir(exist_ok=True)
    (place / "rukh-extension.json").write_bytes(descriptor)
    return str(place)


def written(place: Path, explained: dict[str, Any], side: str) -> str:
    """The snippet as a thing to check; its path."""
    snippet = explained[side]
    base = json.dumps(BASE).encode()
    match explained["in"]:
        case "descriptor":
            patch = [{"op": "replace", "path": explained["place"], "value": snippet}]
            return release(place, json.dumps(patched(BASE, patch)).encode())
        case "cases":
            patch = [{"op": "replace", "path": explained["place"], "value": snippet}]
            cases = json.dumps(patched(DOCUMENT["baseCases"], patch))
            made = release(place, base)
            (place / "rukh-cases.json").write_text(cases, encoding="utf-8")
            return made
        case "text":
            return release(place, snippet.encode(), files=["755 bin/open"])
        case "module":
            return release(place, base, snippet)
        case _:
            return release(place, base, files=snippet)


def rules(shown: Answer) -> set[str]:
    return {found["rule"] for file in json.loads(shown[1])["files"] for found in file["diagnostics"]}


@pytest.mark.requirement("RK-CHECK-042")
def test_every_rule_that_a_check_can_report_is_explained_and_no_other() -> None:
    assert reported() == [rule for rule in RULES if rule in EXPLAINED]
    assert set(EXPLAINED) == set(reported())


SHOWN = [rule for rule, row in EXPLAINED.items() if row["in"] != "said"]


@pytest.mark.requirement("RK-CHECK-042")
@pytest.mark.parametrize("rule", SHOWN)
def test_the_wrong_snippet_breaks_exactly_its_rule_and_the_right_one_none(
    run: Run, tmp_path: Path, rule: str
) -> None:
    wrong = written(tmp_path / "wrong", EXPLAINED[rule], "wrong")
    right = written(tmp_path / "right", EXPLAINED[rule], "right")
    only = ["--descriptor-only"] if EXPLAINED[rule]["in"] == "descriptor" else []
    assert {rule} == rules(run("check", wrong, "--json", *only))
    assert set() == rules(run("check", right, "--json", *only))


def nested(depth: int, inside: Any) -> Any:
    """A schema of arrays; each level of `depth` is one object of the document."""
    schema = inside
    for _ in range(depth):
        schema = {"type": "array", "maxItems": 1, "items": schema}
    return schema


def with_schema(schema: Any) -> bytes:
    path = "/commands/0/execute/result/schema"
    return json.dumps(patched(BASE, [{"op": "replace", "path": path, "value": schema}])).encode()


def wide(count: int) -> Any:
    """A schema of `count` members and elements."""
    values = [f"{number}" for number in range(count - 3)]
    return {"type": "string", "enum": [*values], "title": "x"}


def padded(size: int) -> Any:
    """A schema of `size` canonical bytes."""

    def of(lengths: list[int]) -> Any:
        texts = {f"p{n:02d}": {"type": "string", "description": "x" * long} for n, long in enumerate(lengths)}
        return {"type": "object", "additionalProperties": False, "properties": texts}

    lengths = [4000] * 16
    missing = size - len(json.dumps(of(lengths), separators=(",", ":")))
    return of([length + missing // 16 + (n < missing % 16) for n, length in enumerate(lengths)])


DEEP = registry.LIMIT_DESCRIPTOR_DEPTH
# What is said, as (wrong, right) bytes of a descriptor.
LARGE = {
    "RKV009": (
        json.dumps(BASE).encode().ljust(registry.LIMIT_DESCRIPTOR_BYTES + 1),
        json.dumps(BASE).encode().ljust(registry.LIMIT_DESCRIPTOR_BYTES),
    ),
    "RKV010": (
        with_schema(nested(DEEP - 4, {"type": "boolean"})),
        with_schema(nested(1, {"type": "boolean"})),
    ),
    "RKV011": (b"[" + b"0," * registry.LIMIT_DESCRIPTOR_MEMBERS + b"0]", json.dumps(BASE).encode()),
    "RKR018": (with_schema(padded(65_537)), with_schema(padded(65_536))),
    "RKR019": (with_schema(nested(15, {"type": "boolean"})), with_schema(nested(14, {"type": "boolean"}))),
    "RKR020": (with_schema(wide(2_049)), with_schema(wide(2_048))),
}


@pytest.mark.requirement("RK-CHECK-042")
@pytest.mark.parametrize("rule", LARGE)
def test_what_is_said_of_sizes_is_so(run: Run, tmp_path: Path, rule: str) -> None:
    wrong, right = LARGE[rule]
    assert {rule} == rules(run("check", release(tmp_path / "wrong", wrong), "--json"))
    assert set() == rules(run("check", release(tmp_path / "right", right), "--json"))


def test_what_is_only_said_has_a_test_of_its_own() -> None:
    """RKK001 to RKK003 are tested where paths are."""
    said = {rule for rule, row in EXPLAINED.items() if row["in"] == "said"}
    assert {*LARGE, "RKK001", "RKK002", "RKK003"} == said


@pytest.mark.requirement("RK-CHECK-042")
@pytest.mark.parametrize("rule", EXPLAINED)
def test_an_explanation_says_why_how_to_mend_and_cites_requirements_that_there_are(rule: str) -> None:
    row = EXPLAINED[rule]
    known = set(re.findall(r"^- \*\*(RK-[A-Z]+-\d{3})\*\*", "".join(pages()), re.MULTILINE))
    assert all(row[name] for name in ("why", "mend", "requirements"))
    assert set() == set(row["requirements"]) - known


def pages() -> list[str]:
    return [page.read_text(encoding="utf-8") for page in sorted((ROOT / "spec").glob("*.md"))]


@pytest.mark.requirement("RK-CHECK-042")
@pytest.mark.parametrize("rule", EXPLAINED)
def test_explain_prints_the_rule_for_people_and_for_programs(run: Run, rule: str) -> None:
    status, out, err = run("check", "--explain", rule)
    assert (0, "") == (status, err)
    assert out.startswith(f"{rule} ({RULES[rule][0]}): {RULES[rule][3]}\n")
    assert f"mend: {EXPLAINED[rule]['mend']}\n" in out
    document = json.loads(run("check", "--explain", rule, "--json")[1])
    severity, fault, status, title = RULES[rule]
    row = {"format": "rukh.rule/1", "rule": rule, "severity": severity, "title": title, "fault": fault}
    assert row | {"exit": status} | EXPLAINED[rule] == document


@pytest.mark.requirement("RK-CHECK-043")
@pytest.mark.parametrize(
    ("asked", "meant"),
    {"RDK012": "RKD012", "rki10": "RKI010", "RKK0010": "RKK001", "RKT0100": "RKT010"}.items(),
)
def test_an_unknown_rule_is_refused_with_the_nearest_one(run: Run, asked: str, meant: str) -> None:
    status, out, err = run("check", "--explain", asked, "--json")
    error = json.loads(err)["error"]
    assert (64, "", "RKL031", f"did you mean {meant}?") == (status, out, error["code"], error["mend"])


@pytest.mark.requirement("RK-CHECK-043")
def test_case_does_not_matter(run: Run) -> None:
    assert run("check", "--explain", "RKD012") == run("check", "--explain", "rkd012")


UNEXPLAINED = [rule for rule in RULES if rule not in EXPLAINED]


@pytest.mark.requirement("RK-CHECK-054")
@pytest.mark.parametrize("rule", ["RKI010", "RKL018", "RKT008", "RKR023", "RKX015", UNEXPLAINED[-1]])
def test_a_rule_that_no_check_reports_is_explained_by_its_row_of_the_registry(run: Run, rule: str) -> None:
    severity, fault, status, title = RULES[rule]
    said = f"{rule} ({severity}): {title}\n\nat fault: the {fault}; exit status {status}\n"
    assert (0, said, "") == run("check", "--explain", rule)
    row = {"format": "rukh.rule/1", "rule": rule, "severity": severity, "title": title, "fault": fault}
    assert row | {"exit": status} == json.loads(run("check", "--explain", rule, "--json")[1])
    assert f"{rule} " not in run("check", "--rules")[1]


@pytest.mark.requirement("RK-CHECK-042")
def test_the_list_of_rules_is_the_same_in_words_and_as_json(run: Run) -> None:
    lines = run("check", "--rules")[1].splitlines()
    document = json.loads(run("check", "--rules", "--json")[1])
    assert "rukh.rules/1" == document["format"]
    assert lines == [f"{row['rule']}  {row['severity']:<7}  {row['title']}" for row in document["rules"]]
    assert reported() == [row["rule"] for row in document["rules"]]


@pytest.mark.requirement("RK-CHECK-042")
def test_the_base_of_the_snippets_has_no_finding(run: Run, tmp_path: Path) -> None:
    status, out, _ = run("check", release(tmp_path / "base", json.dumps(BASE).encode()), "--strict")
    assert (0, f"{tmp_path}/base/rukh-extension.json: no findings\n") == (status, out)
