"""The `jsonschema` package as judge of what this host says in JSON Schema: inputs, results, and the whole envelope.

Values are drawn as JSON text, in the many spellings that clients use, and come in through the strict reader, as every
value here does. What is drawn is judged twice, by the host and by the package on the schema that the host publishes.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rukh.contract.envelope import envelope, reason
from rukh.contract.parameters import bind
from rukh.contract.projection import input_schema, output_schema
from rukh.contract.result_data import reason_of, validate_result
from rukh.contract.result_schema import parse_schema
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.ids import new_id
from rukh.values.reader import read
from tests.contract.test_projection import taking

INTEGER = 2**53 - 1


def as_read(text: str) -> Any:
    return read(text.encode(), max_bytes=1 << 22, max_depth=32, max_members=1 << 16)


# Values as text. `1`, `1.0`, `10e-1` are one value; `true`, `1` and `"1"` are three.

SPELLINGS = st.sampled_from(
    ["0", "-0", "-0.0", "1", "1.0", "10e-1", "1E0", "0.5", "5e-1", "-1", "2", "3.0", "1e2", "100", "100.5",
     "9007199254740991", "9007199254740991.0", "9007199254740992", "-9007199254740991", "-9007199254740992",
     "1e300", "1e-300", "1.7976931348623157e308", "4.9e-324"]
)  # fmt: skip
DIGITS = st.from_regex(r"-?[0-9]{1,3}(\.[0-9]{1,2})?", fullmatch=True)
WORDS = st.sampled_from(
    ["", "a", "ab", "red", "blue", "RED", "é", "e\u0301", "\U0001f600", "\U0001f600a", "1", "true"]
)
LONG_DECIMALS = st.sampled_from(
    ["9" * 34, "9" * 35, "0." + "1" * 34, "00", "-0", "1.50", "1e2", "+1", ".5", "1."]
)
TEXTS = (WORDS | DIGITS | LONG_DECIMALS).map(lambda word: json.dumps(word, ensure_ascii=False))
BARE = st.sampled_from(["true", "false", "null"])
SCALARS = SPELLINGS | DIGITS.filter(lambda text: not _leading_zero(text)) | TEXTS | BARE


def _leading_zero(text: str) -> bool:
    digits = text.lstrip("-")
    return len(digits) > 1 and digits[0] == "0" and digits[1] != "."


def _list(items: list[str]) -> str:
    return f"[{','.join(items)}]"


def _object(members: dict[str, str]) -> str:
    return "{" + ",".join(f"{json.dumps(name)}:{text}" for name, text in members.items()) + "}"


ANY = SCALARS | st.lists(SCALARS, max_size=4).map(_list) | st.just("{}") | st.just("[[]]")

# Declared parameters: every kind, every bound, required, default or neither.

NUMBERS = st.sampled_from([0, 1, -1, 2, 0.5, 100, -0.5, INTEGER, -INTEGER])
INTEGERS = st.sampled_from([0, 1, -1, 2, 9, 100, INTEGER, -INTEGER])
EXACT = st.sampled_from(["0", "1", "-1", "0.5", "99.99"])


def bounded(kind: str, low: str, high: str, values: st.SearchStrategy[Any], key: Any = None) -> Any:
    def pick(pair: tuple[Any, Any], which: int) -> dict[str, Any]:
        both = dict(zip((low, high), sorted(pair, key=key), strict=True))
        return {
            "kind": kind,
            **{name: both[name] for place, name in enumerate((low, high)) if which >> place & 1},
        }

    return st.builds(pick, st.tuples(values, values), st.integers(0, 3))


ITEMS = st.one_of(
    bounded("string", "minLength", "maxLength", st.integers(0, 3)),
    bounded("integer", "minimum", "maximum", INTEGERS),
    bounded("number", "minimum", "maximum", NUMBERS),
    bounded("decimal", "minimum", "maximum", EXACT, float),
    st.just({"kind": "choice", "values": ["red", "blue", "é", "1"]}),
)
KINDS = st.one_of(
    ITEMS,
    st.just({"kind": "boolean"}),
    st.builds(
        lambda items, low, more: {
            "kind": "list",
            "items": items,
            **low,
            "maxItems": low.get("minItems", 1) + more,
        },
        ITEMS,
        st.sampled_from([{}, {"minItems": 1}, {"minItems": 2}]),
        st.integers(0, 2),
    ),
)


def like(kind: dict[str, Any]) -> st.SearchStrategy[str]:
    """Texts of values that are of the kind, or nearly."""
    if kind["kind"] == "list":
        return st.lists(like(kind["items"]), max_size=kind["maxItems"] + 1).map(_list)
    if kind["kind"] == "decimal":
        return (DIGITS | LONG_DECIMALS).map(json.dumps)
    numbers = SPELLINGS | DIGITS.filter(lambda text: not _leading_zero(text))
    return {"integer": numbers, "number": numbers, "boolean": BARE}.get(kind["kind"], TEXTS)


# Where the schema admits what the validator refuses, and why JSON Schema cannot say it. RK-PROJ-003
LOOSER = {
    "RKI008": "a decimal has at most 34 digits",
    "RKI009": "a decimal is compared by its value",
    "RKI010": "a decimal is compared by its value",
    "RKI013": "a string is Unicode scalar values without NUL",
    "RKI018": "all inputs together have 1,024 elements",
    "RKI019": "all inputs together have 64 KiB",
}


def refused_by(record: dict[str, Any], supplied: Any) -> str | None:
    try:
        bind(record["parameters"], supplied)
    except RukhError as refusal:
        return refusal.rule
    return None


def at_least(examples: int) -> int:
    """So many, or what the profile of the run says where that is more."""
    return max(examples, settings.default.max_examples)  # type: ignore[union-attr]


def holds_decimal(declared: dict[str, Any]) -> bool:
    return bool(declared.get("items", declared)["kind"] == "decimal")


@pytest.mark.hypothesis
@pytest.mark.requirement("RK-PROJ-003", "RK-PROJ-004")
def test_the_input_schema_is_never_stricter_and_looser_only_in_the_listed_places() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=at_least(400))
    @given(st.lists(KINDS, min_size=1, max_size=3), st.data())
    def drawn(kinds: list[dict[str, Any]], data: st.DataObject) -> None:
        record = taking(*kinds)
        for parameter in record["parameters"]:
            parameter["required"] = data.draw(st.booleans(), label="required")
        members = {
            f"p{number}": data.draw(like(kind) | ANY, label="value")
            for number, kind in enumerate(kinds)
            if data.draw(st.integers(0, 3), label="given")
        }
        if data.draw(st.integers(0, 9), label="a stranger") == 0:
            members[data.draw(st.sampled_from(["P0", "--p0", "", "p9"]))] = "1"
        supplied = as_read(_object(members))
        rule = refused_by(record, supplied)
        valid = Draft202012Validator(input_schema(record)).is_valid(supplied)
        if rule is None:
            assert valid, "the schema is stricter"
        elif valid:
            assert rule in LOOSER
            # The other places are out of reach of what is drawn.
            assert any(holds_decimal(kind) for kind in kinds)
        seen["admitted" if rule is None else rule if valid else "refused by both"] += 1

    drawn()
    assert {"admitted", "refused by both"} <= set(seen)
    assert {"RKI008", "RKI009", "RKI010"} & set(seen)


# rule: a parameter, the members that the schema admits and the validator refuses, the sibling that both admit
PLACES: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "RKI008": ({"kind": "decimal"}, "1" * 35, "1" * 34),
    "RKI009": ({"kind": "decimal", "minimum": "0.5"}, "0.49", "0.50"),
    "RKI010": ({"kind": "decimal", "maximum": "0.5"}, "0.51", "0.50"),
    "RKI013": ({"kind": "string"}, "a\0", "a"),
    "RKI018": ({"kind": "list", "items": {"kind": "integer"}, "maxItems": 1024}, [1] * 1024, [1] * 1023),
    "RKI019": ({"kind": "string"}, "x" * 65_530, "x" * 65_527),
}


@pytest.mark.requirement("RK-PROJ-003")
@pytest.mark.parametrize("rule", LOOSER)
def test_each_listed_place_is_one(rule: str) -> None:
    declared, refused, admitted = PLACES[rule]
    record = taking(declared)
    judge = Draft202012Validator(input_schema(record))
    assert (judge.is_valid({"p0": refused}), refused_by(record, {"p0": refused})) == (True, rule)
    assert (judge.is_valid({"p0": admitted}), refused_by(record, {"p0": admitted})) == (True, None)


@pytest.mark.requirement("RK-PROJ-003")
def test_a_lone_surrogate_is_the_other_half_of_its_place() -> None:
    record = taking({"kind": "string"})
    assert Draft202012Validator(input_schema(record)).is_valid({"p0": "\ud800"})
    assert refused_by(record, {"p0": "\ud800"}) == "RKI013"


@pytest.mark.requirement("RK-PROJ-003", "RK-INP-005")
@pytest.mark.parametrize(
    "text", ["9007199254740992", "-9007199254740992", "1e16", "9007199254740993.0", "1.5"]
)
def test_no_integer_beyond_the_limit_and_no_fraction_is_admitted_by_either(text: str) -> None:
    record = taking({"kind": "integer"})
    judge = Draft202012Validator(input_schema(record))
    for spelled, admitted in [(text, False), ("9007199254740991", True), ("-9007199254740991.0", True)]:
        assert (refused_by(record, {"p0": as_read(spelled)}) is None) is admitted
        assert judge.is_valid({"p0": json.loads(spelled)}) is admitted


@pytest.mark.requirement("RK-PROJ-003", "RK-INP-010")
@pytest.mark.parametrize("least", [{}, {"minItems": 1}], ids=["nothing said", "one"])
def test_an_empty_list_is_refused_by_both(least: dict[str, Any]) -> None:
    record = taking({"kind": "list", "items": {"kind": "integer"}, **least, "maxItems": 2})
    judge = Draft202012Validator(input_schema(record))
    assert (judge.is_valid({"p0": []}), refused_by(record, {"p0": []})) == (False, "RKI015")
    assert (judge.is_valid({"p0": [1]}), refused_by(record, {"p0": [1]})) == (True, None)


# Results.

NAMES = st.sampled_from(["a", "b", "é", "", "outcome", "invocationId", "$ref", "__proto__"])
RESULTS = st.recursive(
    SPELLINGS | TEXTS | BARE,
    lambda inner: (
        st.lists(inner, max_size=3).map(_list) | st.dictionaries(NAMES, inner, max_size=3).map(_object)
    ),
    max_leaves=6,
)


def type_of(value: Any) -> str:
    return {
        type(None): "null",
        bool: "boolean",
        int: "integer",
        float: "number",
        str: "string",
        list: "array",
    }.get(type(value), "object")


@st.composite
def schemas(draw: st.DrawFn, like: Any) -> dict[str, Any]:
    """A schema of the subset that has something to do with the value `like`: its type, near bounds, its members."""
    kind = draw(st.sampled_from([type_of(like)] * 6 + ["number", "integer", "string", "boolean", "null"]))
    if type(like) is int and draw(st.booleans()):
        kind = "number"
    schema: dict[str, Any] = {"type": kind}
    if kind == "object":
        members = like if isinstance(like, dict) else {}
        kept = {name: value for name, value in members.items() if draw(st.integers(0, 5))}
        schema |= {
            "additionalProperties": False,
            "properties": {k: draw(schemas(v)) for k, v in kept.items()},
        }
        extra = draw(st.sampled_from(["", "", "z"]))
        if extra:
            schema["properties"][extra] = {"type": "null"}
        required = [name for name in schema["properties"] if draw(st.integers(0, 2)) == 0]
        schema |= {"required": required} if required else {}
    elif kind == "array":
        items = like if isinstance(like, list) else []
        schema |= {
            "items": draw(schemas(items[0] if items else None)),
            "maxItems": len(items) + draw(st.integers(0, 1)),
        }
        if draw(st.booleans()):
            schema["minItems"] = max(0, schema["maxItems"] - draw(st.integers(0, 1)))
    elif kind == "string":
        size = len(like) if isinstance(like, str) else 1
        schema |= draw(near("minLength", "maxLength", size, 0))
    elif kind in ("integer", "number"):
        number = like if type(like) in (int, float) and (kind == "number" or type(like) is int) else 0
        schema |= draw(near("minimum", "maximum", number, -INTEGER))
    if draw(st.integers(0, 3)) == 0:
        values = [like, *(as_read(text) for text in draw(st.lists(RESULTS, max_size=3)))]
        admitted = [value for value in values if fits(schema, value) and not has_long_whole(value)]
        distinct = list({canonical(value): value for value in admitted}.values())
        schema |= {"enum": distinct} if distinct else {}
    return schema


@st.composite
def near(draw: st.DrawFn, low: str, high: str, size: Any, least: Any) -> dict[str, Any]:
    """Bounds at the value, or one beside it on either side; the lower never above the upper."""
    if abs(size) >= INTEGER - 1:
        return {}
    below, above = size + draw(st.integers(-1, 1)), size + draw(st.integers(-1, 1))
    below, above = max(least, min(below, above)), max(least, above, below)
    return {name: bound for name, bound in ((low, below), (high, above)) if draw(st.booleans())}


def fits(schema: dict[str, Any], value: Any) -> bool:
    return Draft202012Validator(schema).is_valid(value)


@st.composite
def judged(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    """A schema and a value: the schema was made for that value or for another one."""
    like, other = as_read(draw(RESULTS)), as_read(draw(RESULTS))
    return as_read(canonical(draw(schemas(like)))), draw(st.sampled_from([like, like, other]))


def admits(declared: dict[str, Any], result: dict[str, Any]) -> bool:
    try:
        validate_result(declared, result)
    except RukhError as refusal:
        assert reason_of(refusal) == "result_invalid"
        return False
    return True


@pytest.mark.hypothesis
@pytest.mark.requirement("RK-RES-001", "RK-RES-011", "RK-RES-016")
def test_a_result_is_judged_as_the_package_judges_it() -> None:
    """Numbers by value, booleans apart from numbers, lengths in code points, enums by value at any depth."""
    seen: Counter[tuple[bool, str]] = Counter()

    @settings(max_examples=at_least(600))
    @given(judged())
    def drawn(pair: tuple[dict[str, Any], Any]) -> None:
        schema, data = pair
        assert parse_schema(schema)[1] == []
        admitted = admits({"kind": "structured", "schema": schema}, {"kind": "structured", "data": data})
        # The one thing that the package sees otherwise: a whole binary64 beyond ±(2^53−1) is no integer here.
        if admitted is not Draft202012Validator(schema).is_valid(data):
            assert has_long_whole(data)
        seen[admitted, schema["type"]] += 1

    drawn()
    assert {(True, "object"), (False, "object"), (True, "array"), (False, "array")} <= set(seen)


def has_long_whole(value: Any) -> bool:
    """Whether a number in it is whole and no integer here: it is beyond ±(2^53−1), and the package takes it for one."""
    return any(type(each) is float and each.is_integer() for each in scalars(value))


def scalars(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [each for member in value.values() for each in scalars(member)]
    return [each for item in value for each in scalars(item)] if isinstance(value, list) else [value]


# name: (schema, texts that are admitted, texts that are not)
EQUALITIES: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "one is one however it is spelled": ({"type": "integer", "enum": [1]}, ["1", "1.0", "10e-1"], ["true", '"1"', "2"]),
    "a number is no boolean": ({"type": "number"}, ["1", "0", "0.5"], ["true", "false", "null", '"1"']),
    "an integer is no boolean": ({"type": "integer"}, ["1", "0.0"], ["true", "false", "0.5"]),
    "true is not one": ({"type": "boolean", "enum": [True]}, ["true"], ["1", "false", '"true"']),
    "a list by its values": (
        {"type": "array", "maxItems": 2, "items": {"type": "number"}, "enum": [[1, 0.5]]},
        ["[1,0.5]", "[1.0,5e-1]"],
        ["[0.5,1]", "[1]", "[true,0.5]"],
    ),
    "an object whatever the order": (
        {
            "type": "object", "additionalProperties": False,
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "enum": [{"a": 1, "b": 2}],
        },
        ['{"a":1,"b":2}', '{"b":2.0,"a":1}'],
        ['{"a":1}', '{"a":2,"b":1}', "{}"],
    ),
    "code points and not bytes or units": (
        {"type": "string", "minLength": 2, "maxLength": 2},
        ['"ab"', '"\U0001f600a"', '"e\u0301"', '"\U0001f468\u200d"'],
        ['"\U0001f600"', '"\u00e9"', '"abc"'],
    ),
    "composed and decomposed are two": (
        {"type": "string", "enum": ["\u00e9"]}, ['"\u00e9"', '"\\u00e9"'], ['"e\u0301"'],
    ),
    "minus zero is zero": ({"type": "number", "minimum": 0, "enum": [0]}, ["0", "-0", "-0.0", "0e5"], ["1e-300"]),
    "bounds are met": ({"type": "number", "minimum": 0.1, "maximum": 0.3}, ["0.1", "0.3", "3e-1"], ["0.09", "0.31"]),
    "the greatest integers": (
        {"type": "integer", "minimum": -INTEGER, "maximum": INTEGER},
        ["9007199254740991", "-9007199254740991.0"],
        ["9007199254740992", "-9007199254740992", "1e300"],
    ),
}  # fmt: skip


@pytest.mark.requirement("RK-RES-011", "RK-RES-016")
@pytest.mark.parametrize("name", EQUALITIES)
def test_equality_and_measure_are_those_of_json_schema(name: str) -> None:
    schema, good, bad = EQUALITIES[name]
    assert parse_schema(schema)[1] == []
    declared = {"kind": "structured", "schema": schema}
    for text in good + bad:
        data = as_read(text)
        assert admits(declared, {"kind": "structured", "data": data}) is (text in good), text
        assert Draft202012Validator(schema).is_valid(json.loads(text)) is (text in good), text


# The envelope.


@pytest.mark.requirement("RK-PROJ-005", "RK-RES-030", "RK-RES-031")
@settings(max_examples=at_least(200))
@given(judged(), st.sampled_from(["succeeded", "command_failed"]))
def test_what_the_host_sends_is_valid_by_the_tools_output_schema_and_nothing_else_is(
    pair: tuple[dict[str, Any], Any], outcome: str
) -> None:
    schema, data = pair
    declared = {"kind": "structured", "schema": schema}
    record = taking({"kind": "boolean"})
    record["result"] = declared
    judge = Draft202012Validator(output_schema(record))
    result = {"kind": "structured", "data": data}
    why = None if outcome == "succeeded" else reason("command", "exit 3")
    sent = envelope(new_id("inv"), outcome, reason=why, command_result=result)
    if admits(declared, result):
        assert judge.is_valid(sent)
        assert not judge.is_valid(sent | {"note": 1})
    elif not Draft202012Validator(schema).is_valid(data):
        assert not judge.is_valid(sent)
    bare = envelope(new_id("inv"), "execution_failed", reason=reason("result_invalid", "no"))
    assert judge.is_valid(bare)
