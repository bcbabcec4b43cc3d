"""What results, failures and refusals look like, for people and for programs, and the status of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rukh.cli.present import (
    error_json,
    error_text,
    exit_code,
    failure_json,
    failure_text,
    json_document,
    result_json,
    result_text,
)
from rukh.values.errors import RukhError
from rukh.values.ids import new_id
from rukh.values.reader import read

SPEC = Path(__file__).resolve().parents[2] / "spec"
REGISTRY: Any = json.loads((SPEC / "registry.json").read_bytes())
FAILURE = Draft202012Validator(json.loads((SPEC / "schemas" / "cli-failure.schema.json").read_bytes()))
INVOCATION = "inv_" + "a" * 26


def structured(data: Any) -> dict[str, Any]:
    return {"kind": "structured", "data": data}


# name: (commandResult, what a person reads)
RESULTS = {
    "text": ({"kind": "text", "text": "Milk"}, "Milk\n"),
    "text that ends its line": ({"kind": "text", "text": "a\n\tb\n"}, "a\n\tb\n"),
    "empty text": ({"kind": "text", "text": ""}, ""),
    "text with controls": ({"kind": "text", "text": "\x1b[2J\n"}, "\\x1b[2J\n"),
    "object": (structured({"number": 4, "title": "Milk"}), "number: 4\ntitle:  Milk\n"),
    "object with wide names": (structured({"漢字": 1, "a": None}), "漢字: 1\na:    null\n"),
    "object with a combining name": (structured({"e\u0301": 1, "ab": True}), "e\u0301:  1\nab: true\n"),
    "empty object": (structured({}), "{}\n"),
    "empty values": (structured({"a": "", "b": [], "c": {}}), 'a: ""\nb: []\nc: {}\n'),
    "nested object": (structured({"by": {"name": "Ada"}, "on": 1}), "by:\n  name: Ada\non: 1\n"),
    "text of several lines": (structured({"body": "a\nb", "n": 1}), "body:\n  a\n  b\nn: 1\n"),
    "list of scalars": (structured(["a", 1, False, None]), "- a\n- 1\n- false\n- null\n"),
    "list in an object": (structured({"tags": ["a", "b"]}), "tags:\n  - a\n  - b\n"),
    "empty list": (structured([]), "[]\n"),
    "list of lists": (structured([[1, 2], []]), "- - 1\n  - 2\n- []\n"),
    "table": (
        structured([{"number": 4, "title": "Milk"}, {"number": 10, "title": "Bread", "tag": "shop"}]),
        "number  title  tag\n     4  Milk\n    10  Bread  shop\n",
    ),
    "table with wide cells": (
        structured([{"a": "漢字", "b": 1}, {"a": "x", "b": 2}]),
        "a     b\n漢字  1\nx     2\n",
    ),
    "table in an object": (structured({"notes": [{"n": 1}]}), "notes:\n  n\n  1\n"),
    "list of deep objects": (structured([{"a": {"b": 1}}, {"a": 2}]), "- a:\n    b: 1\n- a: 2\n"),
    "list of many lines": (structured([{"a": "x\ny"}]), "- a:\n    x\n    y\n"),
    "list with an empty object": (structured([{"a": 1}, {}]), "- a: 1\n- {}\n"),
    "scalar": (structured("Milk"), "Milk\n"),
    "number": (structured(1e21), "1e+21\n"),
    "tab in a cell": (structured([{"a": "x\ty", "b": 1}]), "a     b\nx\\ty  1\n"),
    "controls in names and cells": (structured([{"a\x1b": "\x9b"}]), "a\\x1b\n\\x9b\n"),
}


@pytest.mark.requirement("RK-CLI-060", "RK-CLI-070")
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_readable(name: str) -> None:
    result, text = RESULTS[name]

    assert text == result_text(result)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.requirement("RK-CLI-060", "RK-CLI-070")
@given(JSON)
def test_whatever_the_data_no_control_character_is_shown(data: Any) -> None:
    text = result_text(structured(data))

    assert text.endswith("\n")
    assert "" == "".join(c for c in text if c not in "\n\t" and (c < " " or "\x7f" <= c <= "\x9f"))


@pytest.mark.requirement("RK-CLI-061")
def test_a_json_result_is_the_data_or_the_text_as_one_canonical_line() -> None:
    assert b'{"a":[1,"\xe2\x80\xa8"],"b":null}\n' == result_json(
        structured({"b": None, "a": [1.0, "\u2028"]})
    )
    assert b'"a\\n\\"b\\""\n' == result_json({"kind": "text", "text": 'a\n"b"'})


@pytest.mark.requirement("RK-CLI-061")
@given(JSON.filter(lambda data: "\\u0000" not in json.dumps(data) and "\\ud" not in json.dumps(data)))
def test_a_document_is_one_line_that_reads_back(data: Any) -> None:
    document = json_document(data)

    assert 1 == document.count(b"\n")
    assert document == json_document(read(document, max_bytes=1 << 20, max_depth=64, max_members=4096))


REASON = {
    "code": "invalid_input",
    "message": "the title is too short",
    "place": "/title",
    "mend": "write more",
}


@pytest.mark.requirement("RK-CLI-062")
def test_a_failure_is_one_object_with_its_outcome() -> None:
    document = failure_json("rejected", REASON, INVOCATION)

    assert {"invocationId": INVOCATION, "outcome": "rejected", "reason": REASON} == json.loads(document)
    assert 1 == document.count(b"\n")


@pytest.mark.requirement("RK-CLI-063")
def test_a_refusal_before_any_call_is_one_object_with_its_rule() -> None:
    error = RukhError(
        "RKL001", "--colr is not an option here", place="argument 1: --colr", mend="did you mean --colour?"
    )

    assert {
        "error": {
            "code": "RKL001",
            "message": "--colr is not an option here",
            "place": "argument 1: --colr",
            "mend": "did you mean --colour?",
        }
    } == json.loads(error_json(error))


# name: (a document, a sibling that differs in one member and is refused)
FAILURES: dict[str, tuple[bytes, dict[str, Any]]] = {
    "outcome": (
        failure_json("cancelled", {"code": "deadline", "message": "m"}, new_id("inv")),
        {"error": {}},
    ),
    "refusal": (error_json(RukhError("RKV002", "m", line=1, column=7)), {"outcome": "rejected"}),
}


@pytest.mark.requirement("RK-CLI-062", "RK-CLI-063")
@pytest.mark.parametrize("name", FAILURES)
def test_failure_objects_have_the_published_shape_and_no_further_member(name: str) -> None:
    document, further = FAILURES[name]

    assert [] == [error.message for error in FAILURE.iter_errors(json.loads(document))]
    assert not FAILURE.is_valid(json.loads(document) | further)


@pytest.mark.requirement("RK-CLI-070")
def test_a_failure_for_people_names_place_mend_and_invocation() -> None:
    assert (
        "rukh: the title is too short\n"
        "  place:      /title\n"
        "  mend:       write more\n"
        "  outcome:    rejected (invalid_input)\n"
        f"  invocation: {INVOCATION}\n"
    ) == failure_text("rukh", "rejected", REASON, INVOCATION)


@pytest.mark.requirement("RK-CLI-070")
def test_a_message_of_a_command_cannot_pose_as_a_detail() -> None:
    reason = {"code": "command", "message": "no\n  outcome: succeeded\x1b[2J"}

    assert (
        "rukh: no\n"
        "  |   outcome: succeeded\\x1b[2J\n"
        "  outcome:    command_failed (command)\n"
        f"  invocation: {INVOCATION}\n"
    ) == failure_text("rukh", "command_failed", reason, INVOCATION)


@pytest.mark.requirement("RK-CLI-070")
def test_a_refusal_for_people_names_place_mend_and_rule() -> None:
    error = RukhError("RKV002", "no document\x07", place="a\n.json", mend="write {}", line=2, column=7)

    assert (
        "rukh: no document\\x07\n  place: a\\n.json (line 2, column 7)\n  mend:  write {}\n  rule:  RKV002\n"
    ) == error_text("rukh", error)


# (outcome, reason's code, status that the command declared): exit status
STATUSES = {
    ("succeeded", None, None): 0,
    ("succeeded", None, 3): 0,
    ("command_failed", "command", None): 1,
    ("command_failed", "command", 1): 1,
    ("command_failed", "command", 63): 63,
    ("command_failed", "command", 64): 1,
    ("command_failed", "command", 0): 1,
    ("rejected", "invalid_input", None): 64,
    ("rejected", "unsupported", None): 69,
    ("rejected", "denied", None): 77,
    ("rejected", "authentication_required", None): 78,
    ("rejected", "budget_exhausted", None): 76,
    ("rejected", "environment_busy", None): 75,
    ("execution_failed", "exit_mismatch", 5): 70,
    ("execution_failed", "host_lost", None): 70,
    ("cancelled", "deadline", None): 124,
    ("cancelled", "owner", None): 125,
    ("cancelled", "scope_closed", None): 125,
    ("cancelled", "caller", None): 130,
}


@pytest.mark.requirement("RK-CLI-064")
@pytest.mark.parametrize("case", STATUSES, ids=str)
def test_each_outcome_has_its_exit_status(case: tuple[str, str | None, int | None]) -> None:
    outcome, code, declared = case

    assert STATUSES[case] == exit_code(outcome, {"code": code} if code else None, declared)


@pytest.mark.requirement("RK-CLI-064")
def test_every_reason_of_the_registry_has_the_status_that_it_names() -> None:
    expected = {code: REGISTRY["exitCodes"][name] for code, name in REGISTRY["reasons"].items()}

    assert expected == {code: exit_code("rejected", {"code": code}, None) for code in REGISTRY["reasons"]}
