"""rukh/contract/parameters.py: the published vectors, both sides of every limit, and properties of binding."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukh.contract.parameters import admit, admit_default, bind
from rukh.values.canonical import canonical, canonical_bytes
from rukh.values.errors import RukhError
from rukh.values.reader import read
from tests.support import vectors

COMMANDS: dict[str, list[dict[str, Any]]] = vectors.document("inputs")["commands"]


def supplied(case: vectors.Case) -> dict[str, Any]:
    values: dict[str, Any] = read(
        vectors.text(case["supplied"]).encode(), max_bytes=1 << 20, max_depth=32, max_members=4096
    )
    return values


@pytest.mark.requirement(
    "RK-INP-002",
    "RK-INP-005",
    "RK-INP-006",
    "RK-INP-007",
    "RK-INP-008",
    "RK-INP-009",
    "RK-INP-010",
    "RK-INP-011",
)
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("inputs", refused=False))
def test_inputs_are_bound(case: vectors.Case) -> None:
    bound = bind(COMMANDS[case["command"]], supplied(case))
    inputs = vectors.text(case["inputs"])
    assert (bound.canonical.decode(), bound.supplied) == (inputs, case["suppliedIds"])
    assert bound.inputs == json.loads(inputs)


@pytest.mark.requirement(
    "RK-INP-001",
    "RK-INP-002",
    "RK-INP-003",
    "RK-INP-004",
    "RK-INP-008",
    "RK-INP-009",
    "RK-INP-010",
    "RK-INP-011",
)
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("inputs", refused=True))
def test_inputs_are_refused(case: vectors.Case) -> None:
    with pytest.raises(RukhError) as refused:
        bind(COMMANDS[case["command"]], supplied(case))
    assert (refused.value.rule, refused.value.place) == (case["rule"], case["place"])
    assert refused.value.mend
    assert refused.value.fault == "caller"


def test_each_refused_vector_stands_beside_an_accepted_one() -> None:
    assert vectors.without_sibling("inputs") == []


NEAR = {
    "a letter swapped": ("titel", "did you mean title?"),
    "a letter missing": ("priorty", "did you mean priority?"),
    "nothing near": (
        "zzzzzz",
        "the command takes amount, colour, pinned, priority, tags, title, weight",
    ),
}


@pytest.mark.requirement("RK-INP-001")
@pytest.mark.parametrize("name", NEAR)
def test_an_unknown_id_names_what_was_probably_meant(name: str) -> None:
    unknown, mend = NEAR[name]
    with pytest.raises(RukhError) as refused:
        bind(COMMANDS["add"], {"title": "Milk", unknown: 1})
    assert (refused.value.rule, refused.value.mend) == ("RKI001", mend)


@pytest.mark.requirement("RK-INP-011")
def test_no_choice_names_the_nearest_one() -> None:
    colour = {"kind": "choice", "values": ["red", "blue"]}
    assert admit(colour, "blue", "/colour") == "blue"
    with pytest.raises(RukhError) as refused:
        admit(colour, "bleu", "/colour")
    assert (refused.value.rule, refused.value.mend) == ("RKI014", "did you mean blue?")


@pytest.mark.requirement("RK-INP-007")
def test_inputs_stand_in_the_order_of_declaration_whatever_the_order_of_supply() -> None:
    bound = bind(COMMANDS["add"], {"pinned": True, "title": "Milk", "tags": ["a", "b"]})
    assert list(bound.inputs) == ["title", "tags", "priority", "pinned"]
    assert bound.supplied == ["title", "tags", "pinned"]


IN_MEMORY = {
    "infinity": ("number", float("inf"), 1.5, "RKI007"),
    "no number": ("number", float("nan"), 1.5, "RKI007"),
    "a number beyond the integers, as an integer": ("number", 2**53, 2**53 - 1, "RKI006"),
    "an integer beyond the limit": ("integer", -(2**53), -(2**53 - 1), "RKI006"),
    "a float for an integer": ("integer", 1.0, 1, "RKI005"),
    "NUL": ("string", "a\x00", "a\x01", "RKI013"),
    "a lone surrogate": ("string", "\udc00", "\U00010000", "RKI013"),
    "a tuple for a string": ("string", ("a",), "a", "RKI004"),
}


@pytest.mark.requirement("RK-INP-003", "RK-INP-009")
@pytest.mark.parametrize("name", IN_MEMORY)
def test_a_value_that_no_reader_gives_is_refused_all_the_same(name: str) -> None:
    kind, value, sibling, rule = IN_MEMORY[name]
    assert admit({"kind": kind}, sibling, "/x") == sibling
    with pytest.raises(RukhError) as refused:
        admit({"kind": kind}, value, "/x")
    assert (refused.value.rule, refused.value.place) == (rule, "/x")


@pytest.mark.requirement("RK-INP-006")
def test_negative_zero_is_zero_even_where_no_reader_made_it_one() -> None:
    assert canonical(admit({"kind": "number"}, -0.0, "/n")) == "0"
    assert str(admit({"kind": "number"}, -0.0, "/n")) == "0"


@pytest.mark.requirement("RK-INP-010")
def test_only_a_default_may_be_an_empty_list() -> None:
    tags = {"kind": "list", "items": {"kind": "string"}, "maxItems": 2}
    assert admit_default(tags, [], "/tags") == []
    with pytest.raises(RukhError) as refused:
        admit(tags, [], "/tags")
    assert refused.value.rule == "RKI015"
    with pytest.raises(RukhError) as refused:
        admit_default(tags, ["a", "b", "c"], "/tags")
    assert refused.value.rule == "RKI017"


LISTS = [
    {
        "id": f"l{index}",
        "required": False,
        "type": {"kind": "list", "items": {"kind": "integer"}, "maxItems": 2000},
    }
    for index in range(2)
]


@pytest.mark.requirement("RK-INP-012")
def test_parameters_and_items_together_reach_the_limit_of_elements() -> None:
    at_limit = {"l0": [7] * 1000, "l1": [7] * 22}
    assert bind(LISTS, at_limit).inputs == at_limit
    with pytest.raises(RukhError) as refused:
        bind(LISTS, at_limit | {"l1": [7] * 23})
    assert (refused.value.rule, refused.value.place) == ("RKI018", "")
    assert refused.value.mend


@pytest.mark.requirement("RK-INP-012")
@pytest.mark.parametrize("character", ["a", "é", "\U0001f600", '"', "\x01"], ids=ascii)
def test_canonical_bytes_reach_the_limit_of_size(character: str) -> None:
    """The size is what is handed on, escapes and UTF-8 included, and not what was typed."""
    each = len(canonical_bytes(character)) - len('""')
    count, rest = divmod(65_536 - len('{"s":""}'), each)
    at_limit = character * count + "a" * rest
    assert len(bind(COMMANDS["bare"], {"s": at_limit}).canonical) == 65_536
    with pytest.raises(RukhError) as refused:
        bind(COMMANDS["bare"], {"s": at_limit + "a"})
    assert (refused.value.rule, refused.value.place) == ("RKI019", "")
    assert refused.value.mend


@pytest.mark.requirement("RK-INP-012")
def test_defaults_count_towards_the_size() -> None:
    parameters = [
        {"id": "a", "required": False, "type": {"kind": "string"}, "default": "x" * 100},
        {"id": "b", "required": False, "type": {"kind": "string"}},
    ]
    room = 65_536 - len('{"a":"","b":""}') - 100
    assert len(bind(parameters, {"b": "y" * room}).canonical) == 65_536
    with pytest.raises(RukhError) as refused:
        bind(parameters, {"b": "y" * (room + 1)})
    assert refused.value.rule == "RKI019"


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
INTEGERS = st.integers(-(2**53 - 1), 2**53 - 1)
DRAWN = st.fixed_dictionaries(
    {},
    optional={
        "s": TEXT,
        "i": INTEGERS,
        "n": INTEGERS | st.floats(allow_nan=False, allow_infinity=False),
        "d": st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-999, max_value=999).map(
            str
        ),
        "l": st.lists(INTEGERS, min_size=1, max_size=4),
        "c": st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=4),
    },
)


@pytest.mark.requirement("RK-INP-005", "RK-INP-006", "RK-INP-007")
@given(DRAWN, st.randoms(use_true_random=False))
def test_binding_twice_or_in_another_order_changes_nothing(values: dict[str, Any], random: Any) -> None:
    names = list(values)
    random.shuffle(names)
    first = bind(COMMANDS["bare"], values)
    again = bind(COMMANDS["bare"], first.inputs)
    shuffled = bind(COMMANDS["bare"], {name: values[name] for name in names})
    assert first.canonical == again.canonical == shuffled.canonical == canonical_bytes(first.inputs)
    assert first.supplied == [row["id"] for row in COMMANDS["bare"] if row["id"] in values]


JSON = st.recursive(
    st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.requirement("RK-INP-003")
@given(st.dictionaries(st.sampled_from(["s", "i", "n", "d", "l", "m", "b", "c", "x"]), JSON))
def test_any_json_ends_in_inputs_of_the_declared_types_or_in_one_refusal(values: dict[str, Any]) -> None:
    try:
        bound = bind(COMMANDS["bare"], values)
    except RukhError as refusal:
        assert refusal.rule.startswith("RKI")
        assert refusal.place.startswith("/")
        assert refusal.mend
    else:
        assert set(bound.inputs) == set(values)


# name: (the declared type, a value beyond a bound, what is said, the mend, the nearest value within it)
BOUNDS: dict[str, tuple[dict[str, Any], Any, str, str, Any]] = {
    "empty": (
        {"kind": "string", "minLength": 1}, "", "empty text is shorter than 1 character", "use at least 1 character",
        "a",
    ),
    "short": (
        {"kind": "string", "minLength": 3}, "ab", "text of length 2 is shorter than 3 characters",
        "use at least 3 characters", "abc",
    ),
    "long": (
        {"kind": "string", "maxLength": 2}, "abc", "text of length 3 is longer than 2 characters",
        "use at most 2 characters", "ab",
    ),
    "small": ({"kind": "integer", "minimum": 1}, 0, "0 is less than 1", "use at least 1", 1),
    "large": ({"kind": "integer", "maximum": 9}, 12, "12 is more than 9", "use at most 9", 9),
    "a decimal": ({"kind": "decimal", "maximum": "1.5"}, "1.51", "1.51 is more than 1.5", "use at most 1.5", "1.5"),
    "many": (
        {"kind": "list", "items": {"kind": "boolean"}, "maxItems": 1}, [True, True],
        "a list of 2 is longer than 1 item", "use at most 1 item", [True],
    ),
}  # fmt: skip


@pytest.mark.requirement("RK-INP-007")
@pytest.mark.parametrize("name", BOUNDS)
def test_a_bound_is_told_in_words(name: str) -> None:
    declared, beyond, said, mend, within = BOUNDS[name]
    with pytest.raises(RukhError) as refused:
        admit(declared, beyond, "/x")
    assert (said, mend) == (refused.value.message, refused.value.mend)
    assert within == admit(declared, within, "/x")
