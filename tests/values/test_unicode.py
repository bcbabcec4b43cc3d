"""rukh/values/unicode.py: which text is a string, and the published vectors of strings."""

from __future__ import annotations

from typing import Any

import pytest

from rukh.contract.parameters import admit
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.reader import read
from rukh.values.unicode import check_text
from tests.support import vectors


def as_read(data: bytes) -> Any:
    return read(data, max_bytes=1 << 10, max_depth=2, max_members=2)


@pytest.mark.requirement("RK-VAL-010", "RK-VAL-013", "RK-VAL-014", "RK-VAL-017", "RK-VAL-030")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("unicode", "strings", refused=False))
def test_a_string_is_its_code_points(case: vectors.Case) -> None:
    found = as_read(bytes.fromhex(case["hex"]))
    assert [ord(character) for character in found] == case["codePoints"]
    assert canonical(found).encode().hex() == case["canonical"]


@pytest.mark.requirement("RK-VAL-010", "RK-VAL-011", "RK-VAL-013", "RK-VAL-014", "RK-VAL-016")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("unicode", "strings", refused=True))
def test_what_is_no_string_is_refused(case: vectors.Case) -> None:
    with pytest.raises(RukhError) as refused:
        as_read(bytes.fromhex(case["hex"]))
    found = refused.value
    assert (found.rule, found.line, found.column) == (case["rule"], case["line"], case["column"])


@pytest.mark.requirement("RK-VAL-017", "RK-VAL-030")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("unicode", "compared"))
def test_strings_are_equal_and_ordered_as_they_stand(case: vectors.Case) -> None:
    left, right = as_read(case["left"].encode()), as_read(case["right"].encode())
    assert (left == right) is case["equal"]
    names = [left, right] if case["order"] <= 0 else [right, left]
    both = {right: 1, left: 1}
    assert canonical(both) == "{" + ",".join(f"{canonical(name)}:1" for name in dict.fromkeys(names)) + "}"


@pytest.mark.requirement("RK-VAL-017", "RK-INP-009")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("unicode", "counted"))
def test_a_string_is_as_long_as_it_has_code_points(case: vectors.Case) -> None:
    found, length = as_read(case["text"].encode()), case["length"]
    assert admit({"kind": "string", "minLength": length, "maxLength": length}, found, "") == found
    for wrong, rule in (({"minLength": length + 1}, "RKI011"), ({"maxLength": length - 1}, "RKI012")):
        with pytest.raises(RukhError) as refused:
            admit({"kind": "string", **wrong}, found, "")
        assert refused.value.rule == rule


@pytest.mark.parametrize("group", ["strings"])
def test_each_refused_vector_stands_beside_an_accepted_one(group: str) -> None:
    assert vectors.without_sibling("unicode", group) == []
    assert vectors.far_from_sibling("unicode", group) == []


REFUSED = {
    "NUL": ("a\x00", "a\x01", "RKV005"),
    "a lone high surrogate": ("a\ud83d", "a\U0001f600", "RKV004"),
    "a lone low surrogate": ("\ude00a", "\U0001f600a", "RKV004"),
    "surrogates that Python keeps apart": ("\ud83d\ude00", "\U0001f600", "RKV004"),
}


@pytest.mark.requirement("RK-VAL-013", "RK-VAL-014", "RK-VAL-017")
@pytest.mark.parametrize("name", REFUSED)
def test_text_that_is_no_string_is_refused_where_it_stands(name: str) -> None:
    text, sibling, rule = REFUSED[name]
    assert check_text(sibling, "/a") == sibling
    with pytest.raises(RukhError) as refused:
        check_text(text, "/a")
    assert (refused.value.rule, refused.value.place) == (rule, "/a")
    assert refused.value.mend


@pytest.mark.requirement("RK-VAL-017")
@pytest.mark.parametrize(
    "text", ["", "e\u0301", "\u00e9", "\u2028\u2029\u0085", "\ufeff", "\U0010ffff", "\ufffe"]
)
def test_every_sequence_of_scalar_values_stays_as_it_is(text: str) -> None:
    assert check_text(text) == text
