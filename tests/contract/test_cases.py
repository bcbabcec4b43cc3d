"""The cases file: closed, checked against the descriptor, one fault named with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rukh.contract.cases import SURFACES, Cases, command_of, judge_cases
from rukh.contract.diagnostics import first_fault
from rukh.values.errors import RukhError
from tests.support.releases import descriptor

SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).parents[2] / "spec/schemas/cases-1.schema.json").read_text("utf-8"))
)


def command(identifier: str, **changes: Any) -> dict[str, Any]:
    execute: dict[str, Any] = {
        "mapping": {"kind": "managed", "entry": f"m:{identifier}"},
        "result": {"kind": "text"},
        "requires": {"environment": ["PLACE"]},
    }
    base = {"id": identifier, "path": ["m", identifier], "execute": execute, "machine": {"eligible": True}}
    return {**base, **changes}


STRUCTURED = {
    "mapping": {"kind": "managed", "entry": "m:data"},
    "result": {"kind": "structured", "schema": {}},
}
OPAQUE = {"mapping": {"kind": "passthrough", "program": ["bin/x"]}}
DESCRIPTOR = descriptor(
    "acme.m",
    commands=[
        command("early", path=["m", "data", "deep"]),
        command("say", aliases=[["s"], ["t", "elsewhere"]]),
        command("data", execute=STRUCTURED),
        command("hidden", machine={"eligible": False}),
        {"id": "opaque", "path": ["m", "opaque"], "execute": OPAQUE},
        command("deep", path=["m", "say", "deep"]),
        command("bare", path=["m", "say", "bare"], execute={"mapping": STRUCTURED["mapping"]}),
        command("person", path=["m", "say", "it"], machine={"eligible": True, "interaction": "required"}),
    ],
)
GOOD: dict[str, Any] = {"name": "one", "argv": ["m", "say"]}


def document(case: Any = None, **changes: Any) -> bytes:
    whole = {"format": "rukh.cases/1", "cases": [GOOD if case is None else case], **changes}
    return json.dumps(whole).encode()


def read_cases(data: bytes) -> Cases:
    cases, found = judge_cases(data, DESCRIPTOR)
    assert (cases is None) is bool(found)
    if cases is None:
        raise first_fault("f", found)
    return cases


def refusal(data: bytes) -> RukhError:
    with pytest.raises(RukhError) as refused:
        read_cases(data)
    return refused.value


# name: (case, rule, place); each differs in one thing from a case that is accepted.
WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "no name": ({"argv": ["m"]}, "RKX003", "/cases/0"),
    "an empty name": ({**GOOD, "name": ""}, "RKX006", "/cases/0/name"),
    "a name of two lines": ({**GOOD, "name": "a\nb"}, "RKX006", "/cases/0/name"),
    "an unknown member": ({**GOOD, "expects": {}}, "RKX002", "/cases/0/expects"),
    "words that are text": ({**GOOD, "argv": "m say"}, "RKX004", "/cases/0/argv"),
    "no words": ({**GOOD, "argv": []}, "RKX007", "/cases/0/argv"),
    "neither words nor a command": ({"name": "x"}, "RKX010", "/cases/0"),
    "words and a command": ({**GOOD, "command": "say"}, "RKX010", "/cases/0"),
    "words and inputs": ({**GOOD, "inputs": {}}, "RKX010", "/cases/0/inputs"),
    "inputs of a passthrough program": ({"name": "x", "command": "opaque"}, "RKX010", "/cases/0/command"),
    "no such command": ({"name": "x", "command": "sya"}, "RKX011", "/cases/0/command"),
    "a command that is no id": ({"name": "x", "command": "Say"}, "RKX014", "/cases/0/command"),
    "no time": ({**GOOD, "seconds": 0}, "RKX008", "/cases/0/seconds"),
    "too much time": ({**GOOD, "seconds": 3601}, "RKX008", "/cases/0/seconds"),
    "an unknown surface": ({**GOOD, "surfaces": ["agents"]}, "RKX005", "/cases/0/surfaces/0"),
    "a surface twice": ({**GOOD, "surfaces": ["agent", "agent"]}, "RKX009", "/cases/0/surfaces/1"),
    "no surface": ({**GOOD, "surfaces": []}, "RKX007", "/cases/0/surfaces"),
    "an agent for what is not eligible": (
        {"name": "x", "command": "hidden", "surfaces": ["agent"]}, "RKX013", "/cases/0/surfaces"),
    "an agent for what needs a person": (
        {"name": "x", "command": "person", "surfaces": ["terminal", "agent"]}, "RKX013", "/cases/0/surfaces"),
    "an exit status for agents alone": (
        {**GOOD, "surfaces": ["agent"], "expect": {"exitCode": 2}}, "RKX013", "/cases/0/expect/exitCode"),
    "a standard error for agents alone": (
        {**GOOD, "surfaces": ["agent"], "expect": {"stderrContains": "x"}}, "RKX013",
        "/cases/0/expect/stderrContains"),
    "an unknown expectation": ({**GOOD, "expect": {"exitcode": 1}}, "RKX002", "/cases/0/expect/exitcode"),
    "an unknown outcome": ({**GOOD, "expect": {"outcome": "success"}}, "RKX005", "/cases/0/expect/outcome"),
    "an unknown reason": ({**GOOD, "expect": {"reason": "no_milk"}}, "RKX005", "/cases/0/expect/reason"),
    "a status beyond": ({**GOOD, "expect": {"exitCode": 256}}, "RKX008", "/cases/0/expect/exitCode"),
    "data of a text command": ({**GOOD, "expect": {"data": {}}}, "RKX013", "/cases/0/expect/data"),
    "text of a data command": (
        {"name": "x", "command": "data", "expect": {"text": ""}}, "RKX013", "/cases/0/expect/text"),
    "data of a command without a result": (
        {"name": "x", "command": "bare", "expect": {"data": {}}}, "RKX013", "/cases/0/expect/data"),
    "text of a command without a result": (
        {"name": "x", "command": "bare", "expect": {"text": ""}}, "RKX013", "/cases/0/expect/text"),
    "stdout of a managed command": ({**GOOD, "expect": {"stdout": ""}}, "RKX013", "/cases/0/expect/stdout"),
    "an outcome of a passthrough program": (
        {"name": "x", "argv": ["m", "opaque"], "expect": {"outcome": "rejected"}}, "RKX013", "/cases/0/expect/outcome"),
    "an outcome of no command": (
        {"name": "x", "argv": ["nowhere"], "expect": {"reason": "denied"}}, "RKX011", "/cases/0/argv/0"),
    "an outcome and a status of no command": (
        {"name": "x", "argv": ["m", "sya"], "expect": {"exitCode": 65, "text": ""}}, "RKX011", "/cases/0/argv/1"),
    "success of no command": ({"name": "x", "argv": ["n"], "expect": {"exitCode": 0}}, "RKX011", "/cases/0/argv/0"),
    "a group": ({"name": "x", "argv": ["m"]}, "RKX011", "/cases/0/argv"),
}  # fmt: skip

RIGHT: dict[str, dict[str, Any]] = {
    "words": GOOD,
    "everything": {**GOOD, "stdin": "x", "seconds": 3600, "surfaces": ["agent", "terminal"], "expect": {
        "outcome": "command_failed", "exitCode": 255, "reason": "command", "messageContains": "m\n", "text": "",
        "stderrContains": "x"}},
    "a command": {"name": "x", "command": "say", "inputs": {"No-Id": None}},
    "data": {"name": "x", "command": "data", "expect": {"data": None}},
    "a hidden one in the terminal": {"name": "x", "command": "hidden", "surfaces": ["terminal"]},
    "a person's in the terminal": {"name": "x", "command": "person", "expect": {"exitCode": 2}},
    "an outcome for agents alone": {**GOOD, "surfaces": ["agent"], "expect": {"outcome": "rejected", "text": ""}},
    "a passthrough program": {"name": "x", "argv": ["m", "opaque", "-x"], "expect": {"stdout": "", "exitCode": 0}},
    "words of no command": {"name": "x", "argv": ["nowhere"], "expect": {"exitCode": 65}},
}  # fmt: skip
# What only the descriptor can tell, and what no schema says of a list of two.
LOOSER = {name for name, row in WRONG.items() if row[1] in ("RKX011", "RKX013")} | {
    "a name of two lines", "inputs of a passthrough program", "an unknown reason"}  # fmt: skip


@pytest.mark.requirement("RK-AUTHOR-050", "RK-AUTHOR-051", "RK-AUTHOR-068")
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_case_is_refused_by_its_rule_at_its_place(name: str) -> None:
    case, rule, place = WRONG[name]
    refused = refusal(document(case))

    assert (rule, f"f, {place}") == (refused.rule, refused.place)
    assert refused.line == 1 and refused.column > 1 and refused.mend
    assert (name in LOOSER) is SCHEMA.is_valid(json.loads(document(case)))


@pytest.mark.requirement("RK-AUTHOR-050")
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_case_is_given_back(name: str) -> None:
    (case,) = read_cases(document(RIGHT[name])).cases

    assert (RIGHT[name]["name"], tuple(RIGHT[name].get("surfaces", SURFACES))) == (case.name, case.surfaces)
    SCHEMA.validate(json.loads(document(RIGHT[name])))


# name: (document, rule, place)
DOCUMENTS: dict[str, tuple[bytes, str, str]] = {
    "no JSON": (b"{", "RKV002", ""),
    "a member twice": (b'{"format":"rukh.cases/1","format":"rukh.cases/1","cases":[]}', "RKV003", ""),
    "another format": (document(format="rukh.cases/2"), "RKX001", "/format"),
    "no object": (b"[]", "RKX001", ""),
    "no cases": (b'{"format":"rukh.cases/1"}', "RKX003", ""),
    "no case": (document(cases=[]), "RKX007", "/cases"),
    "a member more": (document(case_s=[]), "RKX002", "/case_s"),
    "two of one name": (document(cases=[GOOD, GOOD]), "RKX009", "/cases/1/name"),
    "a variable that nobody declares": (document(environment={"PLCE": "x"}), "RKX012", "/environment/PLCE"),
    "a variable that is no name": (document(environment={"place": "x"}), "RKX014", "/environment/place"),
    "a value that is no text": (document(environment={"PLACE": 1}), "RKX004", "/environment/PLACE"),
}


@pytest.mark.requirement("RK-AUTHOR-050", "RK-AUTHOR-051")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_wrong_document_is_refused_by_its_rule_at_its_place(name: str) -> None:
    data, rule, place = DOCUMENTS[name]
    refused = refusal(data)

    assert (rule, f"f, {place}" if place else "f") == (refused.rule, refused.place)
    assert 64 == refused.exit_code


@pytest.mark.requirement("RK-AUTHOR-050")
def test_the_first_fault_names_the_nearest_member_its_line_and_how_many_more_there_are() -> None:
    data = b'{"format": "rukh.cases/1", "cases": [\n  {"name": "x",\n   "agrv": [], "expect": {"exitCode": -1}}]}'
    refused = refusal(data)

    assert ("RKX002", 3, 4) == (refused.rule, refused.line, refused.column)
    assert 'did you mean "argv"?' == refused.mend
    assert refused.message.endswith("(and 1 more; see check)")


# words: (the place below /cases/0, how to mend)
MISSED = {
    "m sya": ("/argv/1", "did you mean say?"),
    "m say": None,
    "n say": ("/argv/0", "did you mean m?"),
    "zebra": ("/argv/0", "a command begins with one of: m, s, t; if a refusal is meant, expect its \"exitCode\""),
    "m data deeq": None,
    "m": ("/argv", "go on with one of: data, hidden, opaque, say"),
    "m zebra": (
        "/argv/1",
        "behind m stands one of: data, hidden, opaque, say; if a refusal is meant, expect its \"exitCode\"",
    ),
}  # fmt: skip


@pytest.mark.requirement("RK-AUTHOR-061")
@pytest.mark.parametrize("words", MISSED)
def test_words_that_lead_to_no_command_are_shown_at_the_word_that_leaves_every_path(words: str) -> None:
    found = judge_cases(document({"name": "x", "argv": words.split()}), DESCRIPTOR)[1]

    row = MISSED[words]
    expected = [("RKX011", "/cases/0" + row[0], row[1])] if row else []
    assert expected == [(one.rule, one.pointer, one.mend) for one in found]


@pytest.mark.requirement("RK-AUTHOR-062")
def test_all_faults_are_found_in_one_run_in_order_of_place() -> None:
    data = document(
        cases=[{**GOOD, "expects": {}}, {"name": "two", "argv": ["m", "sya"]}], environment={"X": "1"}
    )
    cases, found = judge_cases(data, DESCRIPTOR)

    assert cases is None
    places = [("RKX002", "/cases/0/expects"), ("RKX011", "/cases/1/argv/1"), ("RKX012", "/environment/X")]
    assert places == [(one.rule, one.pointer) for one in found]
    assert (1, []) == (len(read_cases(document()).cases), judge_cases(document(), DESCRIPTOR)[1])


@pytest.mark.requirement("RK-AUTHOR-063")
def test_a_case_without_a_time_has_the_one_that_is_asked_for() -> None:
    data = document(cases=[GOOD, {**GOOD, "name": "two", "seconds": 7}])
    times = [
        [case.seconds for case in found.cases]
        for found in (judge_cases(data, DESCRIPTOR, seconds=0.5)[0], read_cases(data))
        if found is not None
    ]

    assert [[0.5, 7], [60, 7]] == times


@pytest.mark.requirement("RK-AUTHOR-051")
def test_declared_variables_are_taken() -> None:
    cases = read_cases(document(environment={"PLACE": "~/x"}))

    assert {"PLACE": "~/x"} == cases.environment


@pytest.mark.parametrize(
    ("words", "identifier", "used"),
    [
        (["m", "say", "x"], "say", 2),
        (["s", "x"], "say", 1),
        (["m", "say", "deep"], "deep", 3),
        (["m", "data", "deep"], "early", 3),
        (["m"], None, 0),
        (["x", "m", "say"], None, 0),
    ],
)
def test_words_lead_to_the_command_of_the_longest_path(
    words: list[str], identifier: str | None, used: int
) -> None:
    found, count = command_of(words, DESCRIPTOR)

    assert (identifier, used) == (found and found["id"], count)
