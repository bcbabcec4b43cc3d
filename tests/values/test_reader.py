"""rukh/values/reader.py: the published vectors, positions, and two oracles over drawn text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukh.values.canonical import canonical, canonical_bytes
from rukh.values.errors import RukhError
from rukh.values.reader import read, read_located
from tests.support import vectors

FAR: dict[str, Any] = {"max_bytes": 1 << 20, "max_depth": 64, "max_members": 1 << 16}
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
NUMBERS = st.integers(-(2**53 - 1), 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=12,
)


def limits(case: vectors.Case) -> dict[str, Any]:
    names = {"maxBytes": "max_bytes", "maxDepth": "max_depth", "maxMembers": "max_members"}
    return FAR | {names[key]: value for key, value in case.items() if key in names}


def source(case: vectors.Case) -> bytes:
    return bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode()


@pytest.mark.requirement(
    "RK-VAL-010", "RK-VAL-011", "RK-VAL-012", "RK-VAL-013", "RK-VAL-014", "RK-VAL-015", "RK-VAL-017"
)
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("reader", refused=False))
def test_the_reader_accepts(case: vectors.Case) -> None:
    assert canonical(read(source(case), **limits(case))) == case["canonical"]


@pytest.mark.requirement(
    "RK-VAL-001",
    "RK-VAL-010",
    "RK-VAL-011",
    "RK-VAL-012",
    "RK-VAL-013",
    "RK-VAL-014",
    "RK-VAL-015",
    "RK-VAL-016",
)
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("reader", refused=True))
def test_the_reader_refuses(case: vectors.Case) -> None:
    with pytest.raises(RukhError) as refused:
        read(source(case), **limits(case))
    found = refused.value
    assert (found.rule, found.line, found.column) == (case["rule"], case["line"], case["column"])
    assert found.mend


def test_each_refused_vector_stands_beside_an_accepted_one() -> None:
    assert vectors.without_sibling("reader") == []
    assert vectors.far_from_sibling("reader") == []


def test_the_vectors_show_every_rule_of_the_reader() -> None:
    assert vectors.rules("reader") == {f"RKV{number:03d}" for number in range(1, 12)}


DOCUMENT = b'{\n  "a": [1,\n    {"b/c": "\xf0\x9f\x98\x80", "~": true}],\n  "": null\n}'
PLACES = {
    "": ((1, 1), (1, 1)),
    "/a": ((2, 8), (2, 3)),
    "/a/0": ((2, 9), (2, 9)),
    "/a/1": ((3, 5), (3, 5)),
    "/a/1/b~1c": ((3, 13), (3, 6)),
    "/a/1/~0": ((3, 23), (3, 18)),
    "/": ((4, 7), (4, 3)),
}


@pytest.mark.requirement("RK-VAL-016", "RK-VAL-040")
@pytest.mark.parametrize("pointer", PLACES)
def test_positions_name_the_line_and_column_of_values_and_names(pointer: str) -> None:
    _, positions = read_located(DOCUMENT, **FAR)
    assert (positions.at(pointer), positions.key(pointer)) == PLACES[pointer]


def test_a_position_that_is_not_there_is_that_of_the_nearest_value_around_it() -> None:
    _, positions = read_located(DOCUMENT, **FAR)
    assert (positions.at("/a/1/missing/deep"), positions.key("/a/7")) == ((3, 5), (2, 8))


def test_reading_with_positions_gives_the_same_value() -> None:
    assert read_located(DOCUMENT, **FAR)[0] == read(DOCUMENT, **FAR)


@pytest.mark.requirement("RK-VAL-015")
def test_a_deep_document_is_refused_before_it_exhausts_the_stack() -> None:
    with pytest.raises(RukhError) as refused:
        read(b"[" * 100_000, max_bytes=1 << 20, max_depth=32, max_members=1 << 20)
    assert (refused.value.rule, refused.value.column) == ("RKV010", 33)


@pytest.mark.requirement("RK-VAL-025")
@pytest.mark.parametrize("text", ["[100000000000000000000]", "[-9007199254740992]"])
def test_a_long_integer_in_canonical_form_is_a_number_and_no_integer(text: str) -> None:
    value = read(text.encode(), **FAR)
    assert (type(value[0]), canonical(value)) == (float, text)


@pytest.mark.requirement("RK-VAL-025", "RK-VAL-030")
@given(VALUES)
def test_reading_the_canonical_form_gives_the_value_again(value: Any) -> None:
    data = canonical_bytes(value)
    again = read(data, **FAR)
    assert again == value
    assert canonical_bytes(again) == data


@given(VALUES, st.sampled_from([None, 1]))
def test_whatever_the_standard_library_writes_is_read_as_the_same_value(
    value: Any, indent: int | None
) -> None:
    assert read(json.dumps(value, indent=indent).encode(), **FAR) == value


FRAGMENTS = [
    *'{}[],:" \n\\',
    *(
        "null",
        "true",
        "1",
        "-0",
        "0.5",
        "1e2",
        "1e400",
        '"a"',
        '"b":',
        '"a":',
        "\\u0000",
        "\\ud800",
        "\\udc00",
    ),
    *("9007199254740993", "\ufeff", "é", "NaN", "01", "Infinity"),
]


@pytest.mark.requirement("RK-VAL-011")
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join))
def test_the_reader_never_accepts_what_the_standard_library_refuses(text: str) -> None:
    """The library is looser: its acceptance says nothing, its refusal does; where both accept, the values agree."""
    try:
        value = read(text.encode(), **FAR)
    except RukhError as refusal:
        assert refusal.rule in vectors.rules("reader")
    else:
        assert value == json.loads(text)


@given(st.binary(max_size=64))
def test_arbitrary_bytes_end_in_a_value_or_a_refusal_with_a_place(data: bytes) -> None:
    try:
        read(data, **FAR)
    except RukhError as refusal:
        assert refusal.line >= 1
        assert refusal.column >= 1
