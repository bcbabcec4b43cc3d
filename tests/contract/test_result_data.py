"""rukh/contract/result_data.py: the published vectors and both sides of every limit of a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rukh.contract.result_data import reason_of, validate_result
from rukh.contract.result_tree import Limits
from rukh.values.canonical import canonical_bytes
from tests.contract.results import declared, nested, refusal, structured, value
from tests.support import vectors

DECLARATIONS: dict[str, Any] = vectors.document("results")["declarations"]


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
