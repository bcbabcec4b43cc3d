"""rukh/contract/result_schema.py: the published vectors, both sides of every limit, `jsonschema` as the oracle."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rukh.contract.result_data import reason_of, validate_result
from rukh.contract.result_schema import parse_schema
from rukh.values.canonical import canonical_bytes
from rukh.values.errors import RukhError
from tests.contract.results import declared, nested, refusal, structured, value
from tests.support import vectors

DECLARATIONS: dict[str, Any] = vectors.document("results")["declarations"]


def places(schema: Any, pointer: str = "") -> list[list[str]]:
    return sorted([problem.rule, problem.pointer] for problem in parse_schema(schema, pointer)[1])


# --- the schema ---


@pytest.mark.requirement("RK-RES-001", "RK-RES-003", "RK-RES-004", "RK-RES-006", "RK-RES-007", "RK-RES-008")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("results", "schemas", refused=False))
def test_a_schema_of_the_subset_is_accepted(case: vectors.Case) -> None:
    schema = value(case["schema"])
    tree, problems = parse_schema(schema)
    assert [problem.rule for problem in problems] == []
    assert tree is not None
    assert tree.type == schema["type"]
    Draft202012Validator.check_schema(schema)


@pytest.mark.requirement(
    "RK-RES-001",
    "RK-RES-002",
    "RK-RES-003",
    "RK-RES-004",
    "RK-RES-005",
    "RK-RES-006",
    "RK-RES-007",
    "RK-RES-008",
)
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("results", "schemas", refused=True))
def test_a_schema_beyond_the_subset_is_refused_with_every_problem(case: vectors.Case) -> None:
    tree, problems = parse_schema(value(case["schema"]))
    found = [(problem.rule, problem.pointer) for problem in problems]
    assert (tree, found) == (None, [(case["rule"], case["place"])])
    assert all(problem.message and problem.mend for problem in problems)


@pytest.mark.requirement("RK-RES-001")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("results", "several"))
def test_every_problem_of_a_schema_is_found(case: vectors.Case) -> None:
    assert places(value(case["schema"])) == sorted(case["problems"])


@pytest.mark.parametrize("group", ["schemas", "results"])
def test_each_refused_vector_stands_beside_an_accepted_one(group: str) -> None:
    assert vectors.without_sibling("results", group) == []


@pytest.mark.requirement("RK-RES-001")
def test_problems_are_placed_below_the_pointer_of_the_schema() -> None:
    schema = {"type": "object", "additionalProperties": False, "properties": {"a/b": {"type": "strin"}}}
    assert places(schema, "/commands/0") == [["RKR002", "/commands/0/properties/a~1b/type"]]


MENDS = {
    "a keyword": ({"type": "string", "maxLenght": 3}, "did you mean maxLength?"),
    "a type": ({"type": "interger"}, "did you mean integer?"),
    "a property": (
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {"number": {"type": "integer"}},
            "required": ["numbr"],
        },
        "did you mean number?",
    ),
}


@pytest.mark.requirement("RK-RES-002")
@pytest.mark.parametrize("name", MENDS)
def test_the_nearest_known_word_is_named(name: str) -> None:
    schema, mend = MENDS[name]
    assert [problem.mend for problem in parse_schema(schema)[1]] == [mend]


def test_the_tree_is_immutable() -> None:
    tree, _ = parse_schema({"type": "integer", "minimum": 1})
    assert tree is not None
    with pytest.raises(AttributeError, match="a schema is immutable: lower"):
        tree.lower = 0
    assert tree.lower == 1


@pytest.mark.requirement("RK-RES-008")
@pytest.mark.parametrize(("name", "limit"), [("title", 128), ("description", 4096)])
def test_texts_reach_their_limits_in_code_points(name: str, limit: int) -> None:
    assert places({"type": "string", name: "\U0001f600" * limit}) == []
    assert places({"type": "string", name: "a" * (limit + 1)}) == [["RKR017", f"/{name}"]]


@pytest.mark.requirement("RK-RES-009")
def test_a_schema_reaches_its_limit_of_depth() -> None:
    assert places(nested(16)) == []
    assert places(nested(17)) == [["RKR019", "/items" * 15 + "/type"]]


def test_a_schema_of_any_depth_is_refused_without_exhausting_the_stack() -> None:
    assert [rule for rule, _ in places(nested(100_000))] == ["RKR019"]


def wide(members: int) -> dict[str, Any]:
    """An object schema whose text has this many members; each property is one and its type another."""
    count, odd = divmod(members - 3, 2)
    schema: dict[str, Any] = {"type": "object", "additionalProperties": False}
    schema["properties"] = {f"p{index}": {"type": "null"} for index in range(count)}
    return schema | ({"title": ""} if odd else {})


@pytest.mark.requirement("RK-RES-009")
def test_a_schema_reaches_its_limit_of_members() -> None:
    assert places(wide(2048)) == []
    assert places(wide(2049)) == [["RKR020", ""]]


@pytest.mark.requirement("RK-RES-009", "RK-VAL-032")
def test_a_schema_reaches_its_limit_of_canonical_bytes() -> None:
    frame = len('{"enum":[""],"type":"string"}')
    assert (
        places({"type": "string", "enum": ["é" * ((65_536 - frame) // 2) + "a" * ((65_536 - frame) % 2)]})
        == []
    )
    assert places({"type": "string", "enum": ["a" * (65_536 - frame + 1)]}) == [["RKR018", ""]]


# --- the oracle ---

TEXT = st.text("abé\U0001f600\u0301", max_size=4)
INTEGERS = st.integers(-3, 3) | st.integers(-(2**53 - 1), 2**53 - 1)
# `jsonschema` takes every integral float for an integer; beyond ±(2^53−1) the page differs, see the table below.
FLOATS = st.sampled_from([0.5, -0.5, 1.5, 2.25, 1e-7]) | st.floats(-1e15, 1e15)
SCALARS = st.none() | st.booleans() | INTEGERS | FLOATS | TEXT
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def bounds(draw: st.DrawFn, lower: str, upper: str, values: st.SearchStrategy[Any]) -> dict[str, Any]:
    low, high = sorted([draw(values), draw(values)])
    both = {lower: low, upper: high}
    return {name: both[name] for name in both if draw(st.booleans())}


@st.composite
def scalar_schemas(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["string", "integer", "number", "boolean", "null"]))
    if kind in ("boolean", "null"):
        return {"type": kind}
    if draw(st.booleans()):
        of_kind = {"string": TEXT, "integer": st.integers(-3, 3), "number": FLOATS | INTEGERS}[kind]
        return {"type": kind, "enum": draw(st.lists(of_kind, min_size=1, max_size=3, unique=True))}
    if kind == "string":
        return {"type": kind} | draw(bounds("minLength", "maxLength", st.integers(0, 4)))
    return {"type": kind} | draw(bounds("minimum", "maximum", FLOATS | INTEGERS))


@st.composite
def array_schemas(draw: st.DrawFn, inner: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    low, high = sorted([draw(st.integers(0, 3)), draw(st.integers(0, 3))])
    schema = {"type": "array", "items": draw(inner), "maxItems": high}
    return schema | ({"minItems": low} if draw(st.booleans()) else {})


@st.composite
def object_schemas(draw: st.DrawFn, inner: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    properties = draw(st.dictionaries(TEXT, inner, max_size=3))
    required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return schema | ({"required": required} if required else {})


SCHEMAS = st.recursive(
    scalar_schemas(), lambda inner: array_schemas(inner) | object_schemas(inner), max_leaves=6
)


@st.composite
def data_near(draw: st.DrawFn, schema: dict[str, Any]) -> Any:
    """Data of the shape that the schema asks for, most of the time; anything at all now and then."""
    if draw(st.integers(0, 9)) == 0:
        return draw(JSON)
    if "enum" in schema and draw(st.booleans()):
        return draw(st.sampled_from(schema["enum"]))
    if schema["type"] == "array":
        count = draw(st.integers(schema.get("minItems", 0), schema["maxItems"] + draw(st.integers(0, 1))))
        return [draw(data_near(schema["items"])) for _ in range(count)]
    if schema["type"] == "object":
        return {
            name: draw(data_near(inner))
            for name, inner in schema["properties"].items()
            if name in schema.get("required", []) or draw(st.booleans())
        }
    of_kind = {"string": TEXT, "integer": INTEGERS, "number": FLOATS | INTEGERS, "boolean": st.booleans()}
    return draw(of_kind.get(schema["type"], st.none()))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    """A schema and data near it, both as the reader gives them."""
    schema = draw(SCHEMAS)
    return value(canonical_bytes(schema).decode()), value(canonical_bytes(draw(data_near(schema))).decode())


@pytest.mark.requirement("RK-RES-001", "RK-RES-016")
@given(pairs())
def test_every_schema_and_its_data_are_judged_as_jsonschema_judges_them(
    pair: tuple[dict[str, Any], Any],
) -> None:
    schema, data = pair
    Draft202012Validator.check_schema(schema)
    assert places(schema) == []
    try:
        validate_result(declared(schema), structured(data))
    except RukhError as found:
        assert reason_of(found) == "result_invalid"
        admitted = False
    else:
        admitted = True
    assert admitted is Draft202012Validator(schema).is_valid(data)


KEYWORDS = ["type", "enum", "title", "properties", "required", "additionalProperties", "items", "maxItems"]
MORE = ["minItems", "minLength", "maxLength", "minimum", "maximum", "description", "$ref", "pattern"]
TYPES = ["object", "array", "string", "boolean", "integer", "number", "null", "any"]


@pytest.mark.requirement("RK-RES-001")
@given(
    st.recursive(
        SCALARS | st.sampled_from(TYPES) | SCHEMAS,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS + MORE), inner, max_size=5)
        ),
        max_leaves=8,
    )
)
def test_whatever_is_accepted_as_a_schema_is_one_of_json_schema(schema: Any) -> None:
    tree, problems = parse_schema(schema)
    assert (tree is None) is bool(problems)
    if tree is not None:
        Draft202012Validator.check_schema(schema)


EXCEPT = {
    "an integral number beyond the limit": "1e300",
    "the first one beyond": "9007199254740992.0",
    "nearly an integer": "1.00000000000000000001",
}


@pytest.mark.requirement("RK-RES-011")
@pytest.mark.parametrize("name", EXCEPT)
def test_an_integer_is_one_by_its_exact_value_and_within_the_limit(name: str) -> None:
    """The one place where the oracle, which sees only the binary64 value, says something else."""
    data = value(EXCEPT[name])
    assert Draft202012Validator({"type": "integer"}).is_valid(data)
    assert refusal(declared({"type": "integer"}), structured(data)).rule == "RKR023"
    validate_result(declared({"type": "number"}), structured(data))


def test_the_declarations_of_the_vectors_are_schemas() -> None:
    schemas = [each["schema"] for each in DECLARATIONS.values() if each and "schema" in each]
    assert [places(json.loads(json.dumps(schema))) for schema in schemas] == [[]] * len(schemas)
