"""rukh/contract/envelope.py: the one shape in which an outcome is shown, against its published schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rukh.contract.envelope import envelope, reason
from rukh.contract.parameters import bind
from rukh.contract.projection import output_schema
from rukh.contract.result_data import reason_of, validate_result
from rukh.values.errors import RukhError
from rukh.values.ids import new_id
from rukh.values.registry import OUTCOMES, REASON_EXITS
from tests.contract.test_projection import taking
from tests.support import vectors
from tests.support.vectors import SPEC

SCHEMA: dict[str, Any] = json.loads((SPEC / "schemas" / "envelope.schema.json").read_text(encoding="utf-8"))
ID = "inv_abcdefghijklmnopqrstuvwxyz"
EFFECT = {"effectId": "eff_abcdefghijklmnopqrstuvwxyz", "operation": "files.write/1", "state": "settled"}
RESULT = {"kind": "structured", "data": {"number": 4, "title": "Milk"}}
TEXT = {"kind": "text", "text": "done"}


def faults(document: object) -> list[str]:
    return [error.message for error in Draft202012Validator(SCHEMA).iter_errors(document)]


@pytest.mark.requirement("RK-RES-030")
def test_an_envelope_holds_its_members_in_one_order_and_leaves_out_the_rest() -> None:
    full = envelope(
        ID,
        "command_failed",
        reason=reason("command", "no such note", "/number", "list the notes"),
        command_result=RESULT,
        effects=(EFFECT,),
    )
    assert json.dumps(full) == json.dumps(
        {
            "invocationId": ID,
            "outcome": "command_failed",
            "reason": {
                "code": "command",
                "message": "no such note",
                "place": "/number",
                "mend": "list the notes",
            },
            "commandResult": RESULT,
            "effects": [EFFECT],
        }
    )
    assert envelope(ID, "succeeded") == {"invocationId": ID, "outcome": "succeeded"}


ENVELOPES = {
    "success without result": envelope(new_id("inv"), "succeeded"),
    "success with text": envelope(new_id("inv"), "succeeded", command_result=TEXT),
    "success with data and an effect": envelope(ID, "succeeded", command_result=RESULT, effects=[EFFECT]),
    "data may be null": envelope(ID, "succeeded", command_result={"kind": "structured", "data": None}),
    "a failure with data": envelope(
        ID, "command_failed", reason=reason("command", "exit 3"), command_result=RESULT
    ),
} | {f"reason {code}": envelope(ID, "rejected", reason=reason(code, "why")) for code in REASON_EXITS}


@pytest.mark.requirement("RK-RES-030", "RK-RES-032", "RK-RES-033")
@pytest.mark.parametrize("name", ENVELOPES)
def test_the_published_schema_admits(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert faults(ENVELOPES[name]) == []


# Vectors

DECLARATIONS: dict[str, Any] = vectors.document("envelopes")["declarations"]


def built(document: dict[str, Any]) -> dict[str, Any]:
    """The envelope that the host makes of what stands in one."""
    why = document.get("reason")
    return envelope(
        document["invocationId"],
        document["outcome"],
        reason=None if why is None else reason(**why),
        command_result=document.get("commandResult"),
        effects=document.get("effects", ()),
    )


def pointers(document: object) -> list[str]:
    """Where the published schema finds something: an unknown member at its name."""
    places = set()
    for error in Draft202012Validator(SCHEMA).iter_errors(document):
        place = "".join(f"/{step}" for step in error.absolute_path)
        unknown = error.validator == "additionalProperties"
        more = [name for name in error.instance if name not in error.schema["properties"]] if unknown else []
        places.update([f"{place}/{name}" for name in more] or [place])
    return sorted(places)


def of_the_tool(declared: dict[str, Any] | None) -> Draft202012Validator | None:
    """What an agent is told of the envelopes of a tool with that result."""
    if declared is None:
        return None
    record = taking({"kind": "string"})
    return Draft202012Validator(output_schema(record | {"result": declared}))


@pytest.mark.requirement("RK-RES-030", "RK-RES-032", "RK-RES-033")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("envelopes", refused=False))
def test_an_envelope_is_admitted_and_built(case: vectors.Case) -> None:
    document, declared = case["envelope"], DECLARATIONS[case["declared"]]
    assert pointers(document) == []
    assert json.dumps(built(document)) == json.dumps(document)
    if "commandResult" in document:
        validate_result(declared, document["commandResult"])
    tool = of_the_tool(declared)
    assert tool is None or tool.is_valid(document)


@pytest.mark.requirement("RK-RES-030", "RK-RES-031", "RK-RES-032", "RK-RES-033")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("envelopes", refused=True))
def test_an_envelope_is_refused_where_it_is_wrong(case: vectors.Case) -> None:
    assert pointers(case["envelope"]) == [case["place"]]


# Of which members go with which outcome, what is empty, and how an effect is written a tool's schema says nothing.
LOOSER_FOR_A_TOOL = {
    "success with a reason", "command_failed without a reason", "rejected without a reason",
    "execution_failed without a reason", "cancelled without a reason", "an empty place", "an empty mend",
    "an effect in another state", "an operation without version", "an operation of version 0",
    "no effect in a list of effects", "65 effects",
}  # fmt: skip


@pytest.mark.requirement("RK-PROJ-005", "RK-RES-031")
def test_the_schema_of_a_tool_refuses_the_same_but_where_its_page_says() -> None:
    admitted = set()
    for case in (row for row in vectors.document("envelopes")["cases"] if vectors.is_refused(row)):
        tool = of_the_tool(DECLARATIONS[case["declared"]])
        if tool is not None and tool.is_valid(case["envelope"]):
            admitted.add(case["name"])
    assert admitted == LOOSER_FOR_A_TOOL


@pytest.mark.requirement("RK-RES-032", "RK-RES-033")
@pytest.mark.parametrize(
    "case",
    [
        row
        for row in vectors.cases("envelopes", refused=True)
        if isinstance(row.values[0]["envelope"], dict)
        and isinstance(row.values[0]["envelope"].get("outcome"), str)
        and row.values[0]["place"] in ("", "/outcome", "/reason/code")
        and "invocationId" in row.values[0]["envelope"]
    ],
)
def test_the_host_builds_no_envelope_that_contradicts_itself(case: vectors.Case) -> None:
    with pytest.raises(ValueError, match=r"outcome|reason"):
        built(case["envelope"])


@pytest.mark.requirement("RK-RES-031")
@pytest.mark.parametrize(
    "case",
    [
        row
        for row in vectors.cases("envelopes", refused=True)
        if row.values[0]["place"] == "/commandResult"
        and row.values[0]["envelope"]["commandResult"] is not None
    ],
)
def test_a_result_that_no_envelope_admits_is_refused_before_there_is_one(case: vectors.Case) -> None:
    declared = DECLARATIONS[case["declared"]]
    with pytest.raises(RukhError) as refused:
        validate_result(declared, case["envelope"]["commandResult"])
    assert reason_of(refused.value) == "result_invalid"


def change(**members: object) -> dict[str, object]:
    base: dict[str, object] = {
        "invocationId": ID,
        "outcome": "rejected",
        "reason": {"code": "denied", "message": "no"},
    }
    return {name: value for name, value in (base | members).items() if value is not ...}


BROKEN: dict[str, dict[str, object]] = {
    "no id": change(invocationId=...),
    "an id of another kind": change(invocationId=EFFECT["effectId"]),
    "no outcome": change(outcome=...),
    "a sixth outcome": change(outcome="running"),
    "a failure without reason": change(reason=...),
    "success with a reason": change(outcome="succeeded"),
    "a reason of no registry": change(reason={"code": "because", "message": "no"}),
    "a reason without message": change(reason={"code": "denied"}),
    "a reason with more": change(reason={"code": "denied", "message": "no", "hint": "x"}),
    "an empty place": change(reason={"code": "denied", "message": "no", "place": ""}),
    "a result of a third kind": change(commandResult={"kind": "binary", "data": ""}),
    "a result with a member of the core": change(commandResult=TEXT | {"outcome": "succeeded"}),
    "a null result": change(commandResult=None),
    "no effects said aloud": change(effects=[]),
    "an effect in flight": change(effects=[EFFECT | {"state": "dispatched"}]),
    "an effect without id": change(effects=[{"operation": "files.write/1", "state": "settled"}]),
    "a seventh member": change(usage={}),
}


@pytest.mark.requirement("RK-RES-030", "RK-RES-032", "RK-RES-033")
@pytest.mark.parametrize("name", BROKEN)
def test_the_published_schema_refuses(name: str) -> None:
    assert faults(change()) == []
    assert faults(BROKEN[name]) != []


@pytest.mark.requirement("RK-RES-032", "RK-RES-033")
def test_the_published_schema_lists_what_the_registry_lists() -> None:
    members = SCHEMA["properties"]
    assert members["outcome"]["enum"] == list(OUTCOMES)
    assert members["reason"]["properties"]["code"]["enum"] == list(REASON_EXITS)


@pytest.mark.requirement("RK-RES-032", "RK-RES-033")
def test_a_host_that_contradicts_itself_is_stopped() -> None:
    denied = reason("denied", "no")
    assert envelope(ID, "rejected", reason=denied)["outcome"] == "rejected"
    with pytest.raises(ValueError, match="'done' is no outcome"):
        envelope(ID, "done", reason=denied)
    with pytest.raises(ValueError, match="a reason stands beside every outcome but succeeded"):
        envelope(ID, "succeeded", reason=denied)
    with pytest.raises(ValueError, match="a reason stands beside every outcome but succeeded"):
        envelope(ID, "rejected")
    with pytest.raises(ValueError, match="'forbidden' is no reason"):
        reason("forbidden", "no")


def test_a_reason_leaves_out_what_it_has_nothing_to_say_of() -> None:
    assert reason("denied", "no") == {"code": "denied", "message": "no"}


def test_a_refused_input_becomes_a_reason_that_the_schema_admits() -> None:
    with pytest.raises(RukhError) as refused:
        bind([], {"title": "x"})
    found = refused.value
    document = envelope(
        ID, "rejected", reason=reason("invalid_input", found.message, found.place, found.mend)
    )
    assert faults(document) == []


@pytest.mark.requirement("RK-RES-031")
@pytest.mark.parametrize("member", ["invocationId", "outcome", "reason", "effects"])
def test_a_publisher_cannot_bring_a_member_of_the_core(member: str) -> None:
    validate_result({"kind": "text"}, TEXT)
    with pytest.raises(RukhError) as refused:
        validate_result({"kind": "text"}, TEXT | {member: "x"})
    assert (refused.value.rule, reason_of(refused.value)) == ("RKR022", "result_invalid")
