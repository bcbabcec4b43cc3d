"""The projection: two schemas held against the validator and the envelope that they describe."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rukh.contract.compile import compile_commands
from rukh.contract.descriptor import check
from rukh.contract.envelope import envelope, reason
from rukh.contract.parameters import bind
from rukh.contract.projection import export_refusal, input_schema, output_schema, tool_tail
from rukh.values import registry
from rukh.values.errors import RukhError
from rukh.values.ids import new_id
from tests.contract.documents import command, descriptor, encoded, load, parameter

DESCRIPTORS = load("spec/vectors/descriptors.json")["bases"]
INTEGER = registry.LIMIT_INTEGER


def compiled(document: dict[str, Any]) -> list[dict[str, Any]]:
    checked = check(encoded(document))
    assert checked.diagnostics == []
    return compile_commands(document, [])


def one(**members: Any) -> dict[str, Any]:
    return compiled(descriptor(commands=[command(**members)]))[0]


def taking(*types: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A command with parameters `p0`, `p1`, … of these types."""
    declared = []
    for n, kind in enumerate(types):
        form = "flag" if kind["kind"] == "boolean" else "option"
        declared.append(parameter("", form, type=kind, id=f"p{n}", names=[f"--p{n}"], **members))
    return one(parameters=declared)


KIT = compiled(DESCRIPTORS["kit"])[0]


# The tail


@pytest.mark.requirement("RK-PROJ-002", "RK-PROJ-006")
def test_a_tail_has_four_members_and_no_annotations() -> None:
    tail = tool_tail(KIT)
    assert list(tail) == ["title", "description", "inputSchema", "outputSchema"]
    assert (tail["title"], tail["description"]) == ("Make", "Makes it.")


@pytest.mark.requirement("RK-PROJ-002")
def test_title_and_description_have_a_stand_in() -> None:
    tail = tool_tail(one())
    assert (tail["title"], tail["description"]) == ("notes add", "The command add")
    words = ["w" * 32] * 4
    assert tool_tail(one(path=words))["title"] == "acme.notes/add"
    assert tool_tail(one(path=words[:3]))["title"] == " ".join(words[:3])


@pytest.mark.requirement("RK-PROJ-003", "RK-PROJ-004")
def test_the_input_schema_is_closed_and_its_properties_are_ids() -> None:
    schema = input_schema(KIT)
    assert (schema["type"], schema["additionalProperties"], schema["required"]) == ("object", False, ["name"])
    assert list(schema["properties"]) == [each["id"] for each in KIT["parameters"]]
    assert input_schema(one()) == {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.mark.requirement("RK-PROJ-003")
def test_each_type_has_its_projection() -> None:
    assert input_schema(KIT)["properties"] == {
        "name": {"type": "string", "minLength": 1, "maxLength": 20, "description": "Name"},
        "place": {"type": "string"},
        "rest": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 4, "default": []},
        "size": {"type": "integer", "minimum": 0, "maximum": 9, "default": 3},
        "ratio": {"type": "number", "minimum": 0, "maximum": 1.5, "default": 0.5},
        "price": {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$", "default": "1.5"},
        "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "tags": {
            "type": "array",
            "items": {"type": "integer", "minimum": 1, "maximum": INTEGER},
            "minItems": 1,
            "maxItems": 8,
            "default": [1, 2],
        },
        "fast": {"type": "boolean", "default": False},
    }


@pytest.mark.requirement("RK-PROJ-003", "RK-PROJ-005")
@pytest.mark.parametrize("name", ["kit", "notes"])
def test_both_schemas_are_json_schema(name: str) -> None:
    documents = {"kit": DESCRIPTORS["kit"], "notes": load("examples/notes/rukh-extension.json")}
    for record in compiled(documents[name]):
        Draft202012Validator.check_schema(input_schema(record))
        if record["result"]:
            Draft202012Validator.check_schema(output_schema(record))


# Input schema against validator

INTEGERS = st.integers(-INTEGER, INTEGER)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
DECIMALS = st.from_regex(r"-?[0-9]{1,5}(\.[0-9]{1,4})?", fullmatch=True)


def pairs(values: st.SearchStrategy[Any], low: str, high: str) -> st.SearchStrategy[dict[str, Any]]:
    """Either bound, both in order, or none."""
    both = st.tuples(values, values).map(lambda pair: dict(zip((low, high), sorted(pair), strict=True)))
    return (
        st.just({}) | both | values.map(lambda value: {low: value}) | values.map(lambda value: {high: value})
    )


SCALARS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    pairs(st.integers(0, 4), "minLength", "maxLength").map(lambda bounds: {"kind": "string", **bounds}),
    pairs(st.integers(-9, 9) | INTEGERS, "minimum", "maximum").map(
        lambda bounds: {"kind": "integer", **bounds}
    ),
    pairs(st.integers(-9, 9) | FLOATS, "minimum", "maximum").map(lambda bounds: {"kind": "number", **bounds}),
    st.just({"kind": "decimal"}),
    st.lists(st.sampled_from(["red", "blue", "a b", "é"]), min_size=1, unique=True).map(
        lambda values: {"kind": "choice", "values": values}
    ),
)
TYPES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    SCALARS,
    st.just({"kind": "boolean"}),
    st.tuples(SCALARS, st.integers(1, 3), st.integers(0, 2)).map(
        lambda row: {"kind": "list", "items": row[0], "minItems": row[1], "maxItems": row[1] + row[2]}
    ),
)
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-9, 9),
    INTEGERS,
    FLOATS,
    TEXTS,
    DECIMALS,
    st.sampled_from(["red", "blue", "", "1e2", "-0", "1.50"]),
)


def accepted(record: dict[str, Any], supplied: dict[str, Any]) -> bool:
    try:
        bind(record["parameters"], supplied)
    except RukhError:
        return False
    return True


@pytest.mark.requirement("RK-PROJ-003")
@given(st.lists(TYPES, min_size=1, max_size=3), st.data())
def test_schema_and_validator_agree(types: list[dict[str, Any]], data: st.DataObject) -> None:
    """Decimal bounds are not drawn: nothing else that is drawn here is a place where the schema is looser.

    Of the values, only those are drawn that the strict reader gives: a whole number within the limit is an int.
    """
    record = taking(*types)
    ids = st.sampled_from([*(f"p{n}" for n in range(len(types))), "other"])
    given_values = VALUES | st.lists(VALUES, max_size=4)
    supplied = data.draw(st.dictionaries(ids, given_values, max_size=3).map(as_read))
    assert Draft202012Validator(input_schema(record)).is_valid(supplied) == accepted(record, supplied)


def as_read(value: Any) -> Any:
    """A value as the strict reader gives it: whole numbers within the limit are integers, beyond it they are not."""
    if isinstance(value, dict):
        return {name: as_read(member) for name, member in value.items()}
    if isinstance(value, list):
        return [as_read(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= INTEGER else value


@pytest.mark.requirement("RK-PROJ-003")
def test_a_required_parameter_is_required_in_the_schema() -> None:
    record = taking({"kind": "string"}, required=True)
    assert input_schema(record)["required"] == ["p0"]
    assert not Draft202012Validator(input_schema(record)).is_valid({})


# type, value: accepted by the schema, refused by the validator
LOOSER: dict[str, tuple[dict[str, Any], Any]] = {
    "a decimal below its minimum": ({"kind": "decimal", "minimum": "0"}, "-1"),
    "a decimal above its maximum": ({"kind": "decimal", "maximum": "9.99"}, "10"),
    "a decimal of 35 digits": ({"kind": "decimal"}, "1" * 35),
    "a text above 64 KiB": ({"kind": "string"}, "x" * 65_536),
}


@pytest.mark.requirement("RK-PROJ-003")
@pytest.mark.parametrize("name", LOOSER)
def test_the_schema_is_looser_only_where_it_is_said(name: str) -> None:
    declared, value = LOOSER[name]
    record = taking(declared)
    sibling = value[:9].lstrip("-") if declared["kind"] == "string" else "1"
    assert accepted(record, {"p0": sibling})
    assert Draft202012Validator(input_schema(record)).is_valid({"p0": value})
    assert not accepted(record, {"p0": value})


# Output schema against envelope

EFFECT = {"effectId": new_id("eff"), "operation": "files.write/1", "state": "settled"}
RESULTS: dict[str, dict[str, Any]] = {
    "text": {"kind": "text", "text": "done"},
    "structured": {"kind": "structured", "data": {"number": 4}},
}


def declaring(kind: str) -> dict[str, Any]:
    schema = DESCRIPTORS["kit"]["commands"][0]["execute"]["result"]["schema"]
    declared = {"kind": "text"} if kind == "text" else {"kind": "structured", "schema": schema}
    return one(execute={**command()["execute"], "result": declared})


@pytest.mark.requirement("RK-PROJ-005")
@pytest.mark.parametrize("kind", RESULTS)
def test_every_envelope_that_the_host_can_send_is_admitted(kind: str) -> None:
    validator = Draft202012Validator(output_schema(declaring(kind)))
    codes = [reason(code, "x", place, "y") for code in registry.REASON_EXITS for place in ("", "/a")]
    sent = [envelope(new_id("inv"), "succeeded", command_result=RESULTS[kind], effects=[EFFECT])]
    for outcome in registry.OUTCOMES[1:]:
        sent += [envelope(new_id("inv"), outcome, reason=code) for code in codes]
    sent.append(envelope(new_id("inv"), "command_failed", reason=codes[0], command_result=RESULTS[kind]))
    assert [document for document in sent if not validator.is_valid(document)] == []


# change of the accepted envelope: what the closed schema must refuse
FORGED: dict[str, dict[str, Any]] = {
    "another member": {"note": "x"},
    "another outcome": {"outcome": "fine"},
    "another id": {"invocationId": "1"},
    "a result of the other kind": {"commandResult": RESULTS["text"]},
    "a member beside the data": {"commandResult": {**RESULTS["structured"], "outcome": "succeeded"}},
    "data of another schema": {"commandResult": {"kind": "structured", "data": {"number": 0}}},
    "an unknown reason": {"reason": {"code": "bored", "message": "x"}},
    "a reason without message": {"reason": {"code": "deadline"}},
    "an effect with more": {"effects": [{**EFFECT, "cost": "1"}]},
}


@pytest.mark.requirement("RK-PROJ-005")
@pytest.mark.parametrize("name", FORGED)
def test_the_envelope_is_closed_and_the_data_is_the_publishers(name: str) -> None:
    validator = Draft202012Validator(output_schema(declaring("structured")))
    sound = envelope(new_id("inv"), "succeeded", command_result=RESULTS["structured"])
    assert validator.is_valid(sound)
    assert not validator.is_valid({**sound, **FORGED[name]})


@pytest.mark.requirement("RK-PROJ-005")
def test_a_publisher_cannot_name_members_of_the_core() -> None:
    """A schema with the core's own names describes the data, and nothing above it."""
    properties = {"outcome": {"type": "null"}, "invocationId": {"type": "null"}}
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    record = one(execute={**command()["execute"], "result": {"kind": "structured", "schema": schema}})
    assert output_schema(record)["properties"]["outcome"]["enum"] == list(registry.OUTCOMES)
    assert output_schema(record)["properties"]["commandResult"]["properties"]["data"] == schema


# What is exported

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "not declared": ({"machine": {"eligible": False}}, "RKP011"),
    "needs a person": ({"machine": {**command()["machine"], "interaction": "required"}}, "RKP012"),
}


@pytest.mark.requirement("RK-PROJ-001")
@pytest.mark.parametrize("name", REFUSED)
def test_a_command_that_cannot_be_a_tool_says_why(name: str) -> None:
    members, rule = REFUSED[name]
    assert export_refusal(one()) is None
    assert export_refusal(one(machine={**command()["machine"], "interaction": "optional"})) is None
    refusal = export_refusal(one(**members))
    assert refusal is not None
    assert (refusal.rule, refusal.place) == (rule, "acme.notes/add")
    assert refusal.mend


@pytest.mark.requirement("RK-PROJ-001")
def test_an_opaque_program_is_never_exported() -> None:
    git, fmt = compiled(DESCRIPTORS["tool"])
    refusals = [export_refusal(record) for record in (git, fmt)]
    assert [refusal and refusal.rule for refusal in refusals] == ["RKP013", "RKP011"]
    pretending = {**git, "machine": {**git["machine"], "eligible": True}}
    refusal = export_refusal(pretending)
    assert refusal is not None
    assert refusal.rule == "RKP013"
