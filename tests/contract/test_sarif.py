"""SARIF: the form that the standard asks for, and what viewers are told.

The published schema of SARIF 2.1.0 is not part of this repository. STANDARD below was written after it, in our own
words: the rules of the members that are emitted here, and of no others, since each object is closed to those. What the
standard says in prose and no schema can, is asserted one by one.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from jsonschema import Draft7Validator

from rukh.contract.diagnostics import Diagnostic
from rukh.contract.sarif import SCHEMA, render_sarif, uri
from rukh.values.rules import RULES
from tests.contract.documents import load

EXPLAINED = load("spec/explanations.json")["rules"]


def closed(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """A closed object; which members the standard requires is decided by what this repository promises."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": required | (optional or {}),
    }


def listed(items: dict[str, Any], *, unique: bool = False) -> dict[str, Any]:
    return {"type": "array", "uniqueItems": unique, "items": items}


TEXT = {"type": "string"}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
BAG = {"type": "object", "properties": {"tags": listed(TEXT, unique=True)}}
MESSAGE = closed({"text": TEXT})
PLACE = closed({"uri": {"type": "string", "format": "uri-reference"}})
POSITION = {"type": "integer", "minimum": 1}
REGION = closed({"startLine": POSITION, "startColumn": POSITION})
LOCATION = closed(
    {"physicalLocation": closed({"artifactLocation": PLACE, "region": REGION})},
    {"logicalLocations": listed(closed({"fullyQualifiedName": TEXT}), unique=True)},
)
RULE = closed(
    {
        "id": TEXT,
        "shortDescription": MESSAGE,
        "fullDescription": MESSAGE,
        "defaultConfiguration": closed({"level": LEVEL}),
        "properties": BAG,
    },
    {"help": MESSAGE},
)
RESULT = closed({
    "ruleId": TEXT, "ruleIndex": {"type": "integer", "minimum": -1}, "level": LEVEL, "message": MESSAGE,
    "locations": listed(LOCATION), "properties": BAG,
})  # fmt: skip
RUN = closed({
    "tool": closed({"driver": closed({"name": TEXT, "version": TEXT, "rules": listed(RULE, unique=True)})}),
    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    "artifacts": listed(closed({"location": PLACE}), unique=True),
    "results": listed(RESULT),
})  # fmt: skip
STANDARD = closed(
    {"$schema": {"type": "string", "format": "uri"}, "version": {"enum": ["2.1.0"]}, "runs": listed(RUN)}
)
VALIDATOR = Draft7Validator(STANDARD)


def found(
    rule: str = "RKD012", pointer: str = "/title", message: str = "0 characters", **more: Any
) -> Diagnostic:
    return Diagnostic(rule, pointer, **({"line": 4, "column": 12} | more), message=message, mend="write some")


FILES = [
    ("a/rukh-extension.json", [found("RKW004", "/commands/0/parameters/1"), found()]),
    ("b/rukh-extension.json", []),
    ("-", [found("RKV009", "", line=1, column=1)]),
    ("c/rukh-extension.json", [found("RKK008", "/commands/0/execute/mapping/entry", file="c/ä b.py")]),
]


def log(files: Any = None) -> dict[str, Any]:
    document = render_sarif("rukh", "1.2.3", FILES if files is None else files, EXPLAINED)
    VALIDATOR.validate(document)
    return document


def run(files: Any = None) -> Any:
    (one,) = log(files)["runs"]
    return one


@pytest.mark.requirement("RK-CHECK-030")
@pytest.mark.parametrize("files", [FILES, [], [("x", [])]], ids=["findings", "no file", "nothing found"])
def test_a_log_is_of_the_form_of_the_standard(files: Any) -> None:
    document = log(files)
    assert ("2.1.0", SCHEMA) == (document["version"], document["$schema"])
    driver = document["runs"][0]["tool"]["driver"]
    assert ("rukh", "1.2.3") == (driver["name"], driver["version"])


@pytest.mark.requirement("RK-CHECK-030")
@pytest.mark.parametrize(
    "breaks",
    [
        lambda one: one["results"][0].pop("message"),
        lambda one: one["results"][0].update(level="fatal"),
        lambda one: one["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine=0),
        lambda one: one["artifacts"].append(one["artifacts"][0]),
        lambda one: one.update(columnKind="bytes"),
        lambda one: one["tool"]["driver"].pop("name"),
        lambda one: one.update(findings=[]),
    ],
    ids=["no message", "no level of it", "line 0", "a doubled artifact", "other columns", "no name", "more"],
)
def test_the_rules_of_the_standard_can_fail(breaks: Any) -> None:
    document = log()
    breaks(document["runs"][0])
    assert not VALIDATOR.is_valid(document)


@pytest.mark.requirement("RK-CHECK-030")
def test_each_result_names_its_rule_by_id_and_index_and_only_used_rules_are_listed() -> None:
    one = run()
    rules = one["tool"]["driver"]["rules"]
    assert ["RKD012", "RKK008", "RKV009", "RKW004"] == [rule["id"] for rule in rules]
    assert [rules[result["ruleIndex"]]["id"] for result in one["results"]] == [
        result["ruleId"] for result in one["results"]
    ]
    assert ["RKW004", "RKD012", "RKV009", "RKK008"] == [result["ruleId"] for result in one["results"]]
    assert ["warning", "error", "error", "error"] == [result["level"] for result in one["results"]]


@pytest.mark.requirement("RK-CHECK-030")
def test_a_rule_carries_its_title_why_level_and_mend() -> None:
    rule = run()["tool"]["driver"]["rules"][0]
    assert {
        "id": "RKD012",
        "shortDescription": {"text": RULES["RKD012"][3]},
        "fullDescription": {"text": EXPLAINED["RKD012"]["why"]},
        "help": {"text": EXPLAINED["RKD012"]["mend"]},
        "defaultConfiguration": {"level": "error"},
        "properties": {"fault": "publisher", "requirements": EXPLAINED["RKD012"]["requirements"]},
    } == rule


@pytest.mark.requirement("RK-CHECK-030")
def test_a_finding_in_the_descriptor_has_file_place_and_pointer() -> None:
    result = run()["results"][1]
    assert {
        "physicalLocation": {
            "artifactLocation": {"uri": "a/rukh-extension.json"},
            "region": {"startLine": 4, "startColumn": 12},
        },
        "logicalLocations": [{"fullyQualifiedName": "/title"}],
    } == result["locations"][0]
    assert "0 characters. Mend: write some" == result["message"]["text"]
    assert {"pointer": "/title"} == result["properties"]
    assert "unicodeCodePoints" == run()["columnKind"]


@pytest.mark.requirement("RK-CHECK-030")
def test_a_finding_in_the_code_is_located_there_and_keeps_its_pointer_as_a_property() -> None:
    result = run()["results"][3]
    (location,) = result["locations"]
    assert ["physicalLocation"] == list(location)
    assert "c/%C3%A4%20b.py" == location["physicalLocation"]["artifactLocation"]["uri"]
    assert {"pointer": "/commands/0/execute/mapping/entry"} == result["properties"]


# The path as it was named, and its URI reference.
URIS = {
    "as it is": ("a/rukh-extension.json", "a/rukh-extension.json"),
    "steps that lead nowhere": ("./a//b/../c.json", "a/c.json"),
    "above": ("../x.json", "../x.json"),
    "absolute": ("/x y/z.json", "file:///x%20y/z.json"),
    "standard input": ("-", "stdin"),
    "no scheme": ("c:x.json", "c%3Ax.json"),
    "what a URI would cut": ("a?b#c%d.json", "a%3Fb%23c%25d.json"),
    "other letters": ("ä/📝.json", "%C3%A4/%F0%9F%93%9D.json"),
    "a byte that is no UTF-8": (b"\xff.json".decode("utf-8", "surrogateescape"), "%FF.json"),
}


@pytest.mark.requirement("RK-CHECK-031")
@pytest.mark.parametrize("name", URIS)
def test_a_path_is_a_uri_reference(name: str) -> None:
    path, expected = URIS[name]
    assert expected == uri(path)
    parts = urlsplit(expected)
    assert ("", "", "") == (parts.query, parts.fragment, parts.netloc)
    assert parts.scheme == ("file" if path.startswith("/") else "")


@pytest.mark.requirement("RK-CHECK-031")
def test_two_spellings_of_one_path_are_one_artifact() -> None:
    assert [{"location": {"uri": "x"}}] == run([("x", []), ("./x", [])])["artifacts"]


@pytest.mark.requirement("RK-CHECK-033", "RK-CHECK-005")
@pytest.mark.parametrize(
    ("message", "shown"),
    {
        "'[win](http://x)' is none": "'[win] (http://x)' is none",
        "'{0}' is none": "'{{0}}' is none",
        "a\x1b[2Jb": "a\\u001b[2Jb",
        "write [1] or (2)": "write [1] or (2)",
    }.items(),
)
def test_a_message_holds_no_link_no_placeholder_and_no_control_character(message: str, shown: str) -> None:
    (result,) = run([("x", [found(message=message)])])["results"]
    assert f"{shown}. Mend: write some" == result["message"]["text"]


@pytest.mark.requirement("RK-CHECK-032")
def test_equal_findings_give_equal_bytes() -> None:
    assert json.dumps(log()) == json.dumps(log())


@pytest.mark.requirement("RK-CHECK-030")
@pytest.mark.parametrize("rule", EXPLAINED)
def test_every_rule_of_a_check_can_stand_in_a_log(rule: str) -> None:
    (shown,) = run([("x", [found(rule)])])["tool"]["driver"]["rules"]
    assert (rule, RULES[rule][0]) == (shown["id"], shown["defaultConfiguration"]["level"])
