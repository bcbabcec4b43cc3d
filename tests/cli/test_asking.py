"""How a difference is shown to a person before the answer."""

from __future__ import annotations

from typing import Any

import pytest

from rukh.cli.admin.asking import shown
from rukh.contract.difference import Alteration, Difference
from rukh.values.registry import LIMIT_SHOWN_CHANGES

ADD = "acme.notes/add"
KEY = "a" * 64


def differing(*changes: Alteration) -> Difference:
    return Difference("acme.notes", "1.0.0", "1.1.0", "0" * 64, KEY, changes)


def line(sign: str, before: Any, after: Any, what: str = "variable") -> str:
    """The one line of a change."""
    return shown(differing(Alteration("authority", sign, ADD, what, before, after))).split("\n")[2]


LINES: dict[str, tuple[tuple[Any, ...], str]] = {
    "what came": (("+", None, "TOKEN"), "+ acme.notes/add  variable: TOKEN"),
    "what went": (("-", "TOKEN", None), "- acme.notes/add  variable: TOKEN"),
    "what is another": (("~", "none", "bytes"), "~ acme.notes/add  variable: none -> bytes"),
    "a number": (("~", 1, 2), "~ acme.notes/add  variable: 1 -> 2"),
    "a boolean": (("~", False, True), "~ acme.notes/add  variable: false -> true"),
    "nothing": (("~", None, ""), '~ acme.notes/add  variable: null -> ""'),
    "several words": (("+", None, ["notes add", "n a"]), "+ acme.notes/add  variable: notes add, n a"),
    "an empty list": (("+", None, []), "+ acme.notes/add  variable: []"),
    "options": (("+", None, ["--tag"]), '+ acme.notes/add  variable: ["--tag"]'),
    "an object": (("+", None, {"kind": "text"}), '+ acme.notes/add  variable: {"kind":"text"}'),
    "an arrow of the publisher": (("~", "a -> b", "c"), '~ acme.notes/add  variable: "a -> b" -> c'),
    "spaces in a row": (("+", None, "a  b"), '+ acme.notes/add  variable: "a  b"'),
    "a space at the end": (("+", None, "a "), '+ acme.notes/add  variable: "a "'),
    "an escape": (("+", None, "\x1b[2J"), '+ acme.notes/add  variable: "\\u001b[2J"'),
    "a control character above": (("+", None, "\x9b2J"), '+ acme.notes/add  variable: "\\x9b2J"'),
    "another direction": (("+", None, "a\u202eb"), '+ acme.notes/add  variable: "a\\u202eb"'),
    "a line": (("+", None, "a\nb"), '+ acme.notes/add  variable: "a\\nb"'),
    "other letters": (("+", None, "Привет"), '+ acme.notes/add  variable: "Привет"'),
    "a whole key": (("~", KEY, "b" * 64), f"~ acme.notes/add  variable: {KEY} -> {'b' * 64}"),
    "as long as may be": (("+", None, "x" * 120), f"+ acme.notes/add  variable: {'x' * 120}"),
    "longer": (("+", None, "x" * 121), f"+ acme.notes/add  variable: {'x' * 120}..."),
}


@pytest.mark.requirement("RK-CONS-009", "RK-CLI-070")
@pytest.mark.parametrize("name", LINES)
def test_a_change_is_one_line_that_no_publisher_writes(name: str) -> None:
    change, expected = LINES[name]
    assert f"    {expected}" == line(*change)


@pytest.mark.requirement("RK-CLI-070")
def test_the_place_of_a_change_is_shown_with_escapes_too() -> None:
    assert "    + acme.notes/add  result /properties/a\\n: 1" == line("+", None, 1, "result /properties/a\n")


@pytest.mark.requirement("RK-CONS-009")
def test_every_kind_is_shown_with_its_number_and_none_hides_another() -> None:
    many = [Alteration("authority", "+", ADD, "variable", None, f"V{number}") for number in range(400)]
    few = [Alteration("schema", "~", ADD, f"parameter p{number}", 1, 2) for number in range(2)]
    lines = shown(differing(*many, *few)).split("\n")

    assert "acme.notes 1.0.0 -> 1.1.0 changes:" == lines[0]
    assert "  authority (400)" == lines[1]
    assert "    + acme.notes/add  variable: V0" == lines[2]
    more = 400 - LIMIT_SHOWN_CHANGES
    assert [
        f"    + acme.notes/add  variable: V{LIMIT_SHOWN_CHANGES - 1}",
        f"    ... and {more} more, which --json shows",
        "  schema (2)",
        "    ~ acme.notes/add  parameter p0: 1 -> 2",
        "    ~ acme.notes/add  parameter p1: 1 -> 2",
        f"digest {differing(*many, *few).digest}",
        "",
    ] == lines[LIMIT_SHOWN_CHANGES + 1 :]


@pytest.mark.requirement("RK-CONS-009")
def test_as_many_changes_as_are_shown_are_all_shown() -> None:
    changes = [
        Alteration("effects", "+", ADD, "operation", None, f"o{number}")
        for number in range(LIMIT_SHOWN_CHANGES)
    ]
    assert "more, which" not in shown(differing(*changes))
