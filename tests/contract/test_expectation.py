"""What a case expected against what a surface has shown: each difference with its place."""

from __future__ import annotations

from typing import Any

import pytest

from rukh.contract.expectation import ABSENT, MOST, Difference, Seen, compare, differences
from tests.contract.test_cases import document, read_cases


def judged(
    expect: dict[str, Any], case: dict[str, Any] | None = None, **seen: Any
) -> list[tuple[str, Any, Any]]:
    (read,) = read_cases(document({**(case or {"name": "x", "command": "data"}), "expect": expect})).cases
    return [(found.place, found.expected, found.actual) for found in differences(read, Seen(**seen))]


def envelope(data: Any = None, **more: Any) -> dict[str, Any]:
    return {"outcome": "succeeded", "commandResult": {"kind": "structured", "data": data}, **more}


FAILED = {"outcome": "command_failed", "reason": {"code": "command", "message": "no milk here"}}
REJECTED = {"outcome": "rejected", "reason": {"code": "invalid_input", "message": "no"}}
# name: (expected, what was seen, the differences)
JUDGED: dict[str, tuple[dict[str, Any], dict[str, Any], list[tuple[str, Any, Any]]]] = {
    "success by default": ({}, {"outcome": envelope({}), "status": 0}, []),
    "no success": ({}, {"outcome": FAILED, "status": 1},
        [("/outcome", "succeeded", "command_failed (command: no milk here)")]),
    "the same data": ({"data": {"a": [1, True]}}, {"outcome": envelope({"a": [1, True]})}, []),
    "other data": ({"data": {"a": [1]}}, {"outcome": envelope({"a": [2]})}, [("/commandResult/data/a/0", 1, 2)]),
    "no data": ({"data": {}}, {"outcome": {"outcome": "succeeded"}}, [("/commandResult/data", {}, ABSENT)]),
    "a failure by its status": ({"exitCode": 3}, {"outcome": FAILED, "status": 3}, []),
    "a failure with another status": ({"exitCode": 3}, {"outcome": FAILED, "status": 4}, [("exit status", 3, 4)]),
    "success where a status says failure": ({"exitCode": 3}, {"outcome": envelope({}), "status": 3},
        [("/outcome", "command_failed", "succeeded")]),
    "success where an agent sees no status": ({"exitCode": 3}, {"outcome": envelope({})},
        [("/outcome", "command_failed", "succeeded")]),
    "a refusal by its status": ({"exitCode": 64}, {"outcome": REJECTED, "status": 64}, []),
    "a refusal by its reason": ({"reason": "invalid_input"}, {"outcome": REJECTED, "status": 64}, []),
    "another reason": ({"reason": "denied"}, {"outcome": REJECTED}, [("/reason/code", "denied", "invalid_input")]),
    "no reason": ({"reason": "denied"}, {"outcome": envelope({})}, [("/reason/code", "denied", ABSENT)]),
    "a piece of the message": ({"outcome": "command_failed", "messageContains": "milk"}, {"outcome": FAILED}, []),
    "another piece": ({"outcome": "command_failed", "messageContains": "tea"}, {"outcome": FAILED},
        [("/reason/message", "tea", "no milk here")]),
    "a message of success": ({"messageContains": "tea"}, {"outcome": envelope({})},
        [("/reason/message", "tea", ABSENT)]),
    "no outcome": ({}, {"outcome": None, "status": 65, "stderr": b"rukh: nothing\n"},
        [("/outcome", "succeeded", "rukh: nothing")]),
    "a piece of stderr": ({"stderrContains": "war"}, {"outcome": envelope({}), "status": 0, "stderr": b"warn"}, []),
    "no such piece": ({"stderrContains": "war"}, {"outcome": envelope({}), "status": 0, "stderr": b"\xff"},
        [("stderr", "war", "\\xff")]),
    "streams that an agent does not see": ({"stderrContains": "war"}, {"outcome": envelope({})}, []),
}  # fmt: skip


@pytest.mark.requirement("RK-AUTHOR-056")
@pytest.mark.parametrize("name", JUDGED)
def test_what_was_seen_is_judged_by_what_the_case_says(name: str) -> None:
    expect, seen, expected = JUDGED[name]

    assert expected == judged(expect, **seen)


@pytest.mark.requirement("RK-AUTHOR-056")
def test_a_passthrough_program_is_judged_by_its_status_and_its_output() -> None:
    case = {"name": "x", "argv": ["m", "opaque"]}
    seen = {"outcome": None, "status": 3, "stdout": b"a\n"}

    assert [] == judged({"exitCode": 3, "stdout": "a\n"}, case, **seen)
    assert [("exit status", 0, 3), ("stdout", "b", "a\n")] == judged({"stdout": "b"}, case, **seen)


# name: (expected, actual, the places that differ)
COMPARED: dict[str, tuple[Any, Any, list[str]]] = {
    "equal": ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, []),
    "another order of members": ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
    "another order of items": ([1, 2], [2, 1], ["/0", "/1"]),
    "true is not 1": ([True, 0], [1, False], ["/0", "/1"]),
    "a whole number": ([1], [1.0], []),
    "a member that is missing and one more": ({"a": 1}, {"b": 1}, ["/a", "/b"]),
    "an item that is missing": ([1, 2], [1], ["/1"]),
    "an item more": ([1], [1, 2], ["/1"]),
    "another kind": ({"a": {}}, {"a": []}, ["/a"]),
    "names that need escapes": ({"a/b~": 1}, {"a/b~": 2}, ["/a~1b~0"]),
    "null and nothing": ({"a": None}, {}, ["/a"]),
}


@pytest.mark.requirement("RK-AUTHOR-056")
@pytest.mark.parametrize("name", COMPARED)
def test_each_difference_has_its_pointer(name: str) -> None:
    expected, actual, places = COMPARED[name]

    assert places == [found.place for found in compare(expected, actual)]


@pytest.mark.requirement("RK-AUTHOR-056")
def test_what_differs_everywhere_is_shown_in_part_and_what_is_absent_as_such() -> None:
    assert MOST == len(compare([1] * 100, [2] * 100))
    assert [Difference("/0", 1, ABSENT)] == compare([1], [])
