"""rukh/values/canonical.py: the published vectors, and the `rfc8785` package as the oracle over drawn values."""

from __future__ import annotations

import struct
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from rukh.values.canonical import canonical, canonical_bytes
from rukh.values.errors import RukhError
from rukh.values.reader import read
from tests.support import vectors
from tests.values.test_reader import FAR, VALUES


@pytest.mark.requirement("RK-VAL-030", "RK-VAL-017")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("canonical"))
def test_a_value_has_one_canonical_form(case: vectors.Case) -> None:
    assert canonical(read(case["text"].encode(), **FAR)) == case["canonical"]


@pytest.mark.requirement("RK-VAL-030")
@given(VALUES)
def test_canonical_bytes_equal_those_of_the_other_implementation(value: Any) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)


@pytest.mark.requirement("RK-VAL-030")
@given(st.integers(0, 2**64 - 1))
@example(0x0000000000000001)
@example(0x7FEFFFFFFFFFFFFF)
@example(0x44B52D02C7E14AF6)
@example(0x444B1AE4D6E2EF50)
def test_every_finite_bit_pattern_is_written_as_the_other_implementation_writes_it(bits: int) -> None:
    (number,) = struct.unpack("<d", struct.pack("<Q", bits))
    if number - number == 0:
        assert canonical_bytes(number) == rfc8785.dumps(number)


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "a lone surrogate": ("\ud800", "\U00010000", "RKV004"),
    "a lone surrogate in a name": ({"\udc00": 1}, {"\ue000": 1}, "RKV004"),
    "a lone surrogate among high names": ({"\udc00": 1, "\ue000": 2}, {"\ue000": 2}, "RKV004"),
    "infinity": (float("inf"), 1.7976931348623157e308, "RKV007"),
    "no number": ([float("nan")], [0.5], "RKV007"),
    "an integer beyond the limit": (2**53, 2**53 - 1, "RKV006"),
    "an integer below the limit": (-(2**53), -(2**53 - 1), "RKV006"),
}


@pytest.mark.requirement("RK-VAL-031")
@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_canonical_form_is_refused(name: str) -> None:
    value, sibling, rule = REFUSED[name]
    with pytest.raises(RukhError) as refused:
        canonical_bytes(value)
    assert refused.value.rule == rule
    assert canonical_bytes(sibling) == rfc8785.dumps(sibling)


def test_a_tuple_is_written_as_a_list() -> None:
    assert canonical({"a": (1, "b")}) == '{"a":[1,"b"]}'
