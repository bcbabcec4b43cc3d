"""rukh/contract/result_schema.py: the published vectors, both sides of every limit, `jsonschema` as the oracle."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rukh.contract.result_data import reason_of, validate_result
from rukh.contract.result_schema import parse_schema
from rukh.contract.result_tree import Limits
from rukh.values.canonical import canonical_bytes
from rukh.values.errors import RukhError
from rukh.values.reader import read
from tests.support import vectors

FAR: dict[str, Any] = {"max_bytes": 1 << 22, "max_depth": 64, "max_members": 1 << 16}
DECLARATIONS: dict[str, Any] = vectors.document("results")["declarations"]


def value(text: str | list[list[Any]]) -> Any:
    return read(vectors.text(text).encode(), **FAR)


def places(schema: Any, pointer: str = "") -> list[list[str]]:
    return sorted([problem.rule, problem.pointer] for problem in parse_schema(schema, pointer)[1])


def refusal(declared: dict[str, Any] | None, result: Any, **more: Any) -> RukhError:
    with pytest.raises(RukhError) as refused:
        validate_result(declared, result, **more)
    return refused.value


def structured(data: Any) -> dict[str, Any]:
    return {"kind": "structured", "data": data}


def declared(schema: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "structured", "schema": schema}


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


def nested(depth: int) -> dict[str, Any]:
    """A schema whose text is `depth` deep: each array is one level, the keywords of the last one are the rest."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth - 2):
        schema = {"type": "array", "maxItems": 1, "items": schema}
    return schema


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


# --- the result ---


@pytest.mark.requirement("RK-RES-010", "RK-RES-011", "RK-RES-016")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("results", "results", refused=False))
def test_a_result_is_accepted(case: vectors.Case) -> None:
    validate_result(DECLARATIONS[case["declared"]], value(case["result"]))


@pytest.mark.requirement("RK-RES-010", "RK-RES-011", "RK-RES-015", "RK-RES-016")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("results", "results", refused=True))
def test_a_result_is_refused(case: vectors.Case) -> None:
    found = refusal(DECLARATIONS[case["declared"]], value(case["result"]))
    assert (found.rule, found.place, reason_of(found)) == (case["rule"], case["place"], case["reason"])
    assert found.mend
    assert found.fault == "publisher"


IN_MEMORY = {
    "NUL": ("a\x00", "a\x01", "RKR033"),
    "a lone surrogate": ("\ud800", "\ue000", "RKR033"),
    "infinity": (float("inf"), 0.5, "RKR034"),
    "an integer beyond the limit": (2**53, 2**53 - 1, "RKR034"),
}


@pytest.mark.requirement("RK-RES-011")
@pytest.mark.parametrize("name", IN_MEMORY)
def test_a_value_that_no_reader_gives_is_refused_before_the_schema_is_asked(name: str) -> None:
    bad, sibling, rule = IN_MEMORY[name]
    schema = declared({"type": "array", "maxItems": 2, "items": {"type": "null"}})
    assert refusal(schema, structured([sibling])).rule == "RKR023"
    found = refusal(schema, structured([bad]))
    assert (found.rule, found.place, reason_of(found)) == (rule, "/data/0", "result_invalid")


@pytest.mark.requirement("RK-RES-011")
def test_a_property_name_is_text_too() -> None:
    schema = declared({"type": "object", "additionalProperties": False, "properties": {}})
    assert refusal(schema, structured({"a": 1})).rule == "RKR024"
    assert refusal(schema, structured({"\x00": 1})).rule == "RKR033"


TEXT_FRAME = len('{"kind":"text","text":""}')


@pytest.mark.requirement("RK-RES-012", "RK-RES-015", "RK-RES-017", "RK-VAL-032")
@pytest.mark.parametrize("character", ["a", "é", "\U0001f600", '"'])
def test_a_text_reaches_the_limit_of_canonical_bytes(character: str) -> None:
    each = len(canonical_bytes(character)) - len('""')
    count, rest = divmod(131_072 - TEXT_FRAME, each)
    at_limit = character * count + "a" * rest
    validate_result({"kind": "text"}, {"kind": "text", "text": at_limit})
    found = refusal({"kind": "text"}, {"kind": "text", "text": at_limit + "a"})
    assert (found.rule, reason_of(found)) == ("RKR035", "result_too_large")


@pytest.mark.requirement("RK-RES-012", "RK-RES-015", "RK-RES-017")
def test_data_reaches_the_limit_of_canonical_bytes_whatever_its_schema_admits() -> None:
    schema = declared({"type": "string"})
    room = 131_072 - len('{"data":"","kind":"structured"}')
    validate_result(schema, structured("a" * room))
    found = refusal(schema, structured("a" * (room + 1)))
    assert (found.rule, reason_of(found)) == ("RKR035", "result_too_large")


@pytest.mark.requirement("RK-RES-012", "RK-RES-015")
def test_a_result_reaches_the_limit_of_depth_with_its_wrapper() -> None:
    """Fourteen lists and a string make fifteen levels of data, the wrapper the sixteenth."""
    schema = declared(nested(16))
    data: Any = "x"
    for _ in range(14):
        data = [data]
    validate_result(schema, structured(data))
    found = refusal(schema, structured([data]))
    assert (found.rule, found.place, reason_of(found)) == ("RKR036", "/data" + "/0" * 15, "result_too_large")


@pytest.mark.requirement("RK-RES-012", "RK-RES-015")
def test_a_result_reaches_the_limit_of_members_with_its_wrapper() -> None:
    schema = declared({"type": "array", "maxItems": 4096, "items": {"type": "integer"}})
    validate_result(schema, structured([1] * 2046))
    found = refusal(schema, structured([1] * 2047))
    assert (found.rule, reason_of(found)) == ("RKR037", "result_too_large")


TIGHTER = {
    "bytes": (Limits(bytes=TEXT_FRAME + 3), "RKR035"),
    "members": (Limits(members=1), "RKR037"),
    "depth": (Limits(depth=1), "RKR036"),
    "work": (Limits(work=2), "RKR038"),
}


@pytest.mark.requirement("RK-RES-013")
@pytest.mark.parametrize("name", TIGHTER)
def test_a_smaller_limit_wins(name: str) -> None:
    limits, rule = TIGHTER[name]
    result = {"kind": "text", "text": "four"}
    validate_result({"kind": "text"}, result)
    assert refusal({"kind": "text"}, result, limits=limits).rule == rule


@pytest.mark.requirement("RK-RES-013")
def test_a_larger_limit_does_not() -> None:
    huge = 1 << 40
    limits = Limits(bytes=huge, depth=huge, members=huge, work=huge, milliseconds=huge)
    assert (limits.bytes, limits.depth, limits.members) == (131_072, 16, 2048)
    assert (limits.work, limits.milliseconds) == (65_536, 100)


STEPS = {
    "a text: the wrapper and its two members": ({"kind": "text"}, {"kind": "text", "text": "x"}, 3),
    "a number: the walk, then the schema": (declared({"type": "integer"}), structured(4), 4),
    "an enum: what is compared": (declared({"type": "string", "enum": ["a"]}), structured("a"), 5),
    "an object: each value twice, and each required name": (
        declared(
            {
                "type": "object",
                "additionalProperties": False,
                "required": ["a"],
                "properties": {"a": {"type": "null"}, "b": {"type": "null"}},
            }
        ),
        structured({"a": None, "b": None}),
        9,
    ),
}


@pytest.mark.requirement("RK-RES-014", "RK-RES-015")
@pytest.mark.parametrize("name", STEPS)
def test_validation_counts_its_steps(name: str) -> None:
    schema, result, steps = STEPS[name]
    validate_result(schema, result, limits=Limits(work=steps))
    found = refusal(schema, result, limits=Limits(work=steps - 1))
    assert (found.rule, reason_of(found)) == ("RKR038", "result_timeout")


@pytest.mark.requirement("RK-RES-014")
def test_the_costliest_results_within_the_other_limits_stay_below_the_counter() -> None:
    """The counter is no second limit on size: it can only be reached by a fault in the validator."""
    row = {
        "type": "object",
        "additionalProperties": False,
        "required": [f"p{index}" for index in range(100)],
        "properties": {f"p{index}": {"type": "integer", "enum": [1]} for index in range(100)},
    }
    rows = declared({"type": "array", "maxItems": 20, "items": row})
    validate_result(
        rows, structured([{f"p{index}": 1 for index in range(100)}] * 20), limits=Limits(work=9_000)
    )
    chain: Any = [1] * 100
    schema: Any = {"type": "array", "maxItems": 100, "items": {"type": "integer"}, "enum": [chain]}
    for _ in range(8):
        chain = [chain]
        schema = {"type": "array", "maxItems": 1, "items": schema, "enum": [chain]}
    validate_result(declared(schema), structured(chain), limits=Limits(work=2_000))


def scripted(*readings: float) -> Callable[[], float]:
    """A clock that gives these readings, and fails the test when it is asked once more."""
    left: Iterator[float] = iter(readings)
    return lambda: next(left)


@pytest.mark.requirement("RK-RES-014", "RK-RES-015")
def test_validation_may_take_a_tenth_of_a_second_and_no_more() -> None:
    result = {"kind": "text", "text": "x"}
    validate_result({"kind": "text"}, result, clock=scripted(0.0, 0.1))
    found = refusal({"kind": "text"}, result, clock=scripted(0.0, 0.1001))
    assert (found.rule, reason_of(found)) == ("RKR039", "result_timeout")


@pytest.mark.requirement("RK-RES-013", "RK-RES-014")
def test_a_smaller_limit_of_time_wins() -> None:
    found = refusal(
        {"kind": "text"},
        {"kind": "text", "text": "x"},
        limits=Limits(milliseconds=10),
        clock=scripted(0.0, 0.011),
    )
    assert found.rule == "RKR039"


@pytest.mark.requirement("RK-RES-014")
def test_validation_ends_in_the_middle_once_the_time_is_over() -> None:
    schema = declared({"type": "array", "maxItems": 2048, "items": {"type": "integer"}})
    found = refusal(schema, structured([1] * 2000), clock=scripted(0.0, 0.05, 5.0))
    assert found.rule == "RKR039"
    assert found.place.startswith("/data/")


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
