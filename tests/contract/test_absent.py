"""What a profile names and does not have: each name by itself, beside the same profile with that thing installed."""

from __future__ import annotations

from typing import Any

import pytest

from rukh.contract.absent import absent

INSTALLED = {"acme.notes": {"acme.notes/add": {"NOTES_DIR"}, "acme.notes/list": set[str]()}}


def profile(**parts: Any) -> dict[str, Any]:
    return {"environment": {}, "passthrough": {}, "rules": [], **parts}


def run(*targets: str) -> dict[str, Any]:
    return {"action": "run", "actors": ["*"], "commands": list(targets), "decision": "allow"}


GRANT = {"arguments": "unrestricted"}
LATER = "it has no effect before such a thing is installed"

# name: (a part, the place that is warned of, the mend, the same part without a warning)
NAMED: dict[str, tuple[dict[str, Any], str, str, dict[str, Any]]] = {
    "the environment of a package": (
        {"environment": {"acme.nots": {"NOTES_DIR": ""}}}, "/environment/acme.nots", "did you mean acme.notes?",
        {"environment": {"acme.notes": {"NOTES_DIR": ""}}},
    ),
    "a variable": (
        {"environment": {"acme.notes": {"NOTES_DR": ""}}}, "/environment/acme.notes/NOTES_DR",
        "did you mean NOTES_DIR?", {"environment": {"acme.notes": {}}},
    ),
    "a passthrough command": (
        {"passthrough": {"acme.tools/git": GRANT}}, "/passthrough/acme.tools~1git", LATER,
        {"passthrough": {"acme.notes/add": GRANT}},
    ),
    "a command in a rule": (
        {"rules": [run("acme.notes/add", "acme.notes/ad")]}, "/rules/0/commands/1", "did you mean acme.notes/add?",
        {"rules": [run("acme.notes/add", "*")]},
    ),
    "all commands of a package in a rule": (
        {"rules": [run("*"), run("acme.nots/*")]}, "/rules/1/commands/0", "did you mean acme.notes/*?",
        {"rules": [run("*"), run("acme.notes/*")]},
    ),
}  # fmt: skip


@pytest.mark.requirement("RK-PROF-052")
@pytest.mark.parametrize("name", NAMED)
def test_what_is_named_and_not_there_is_told_with_the_nearest(name: str) -> None:
    part, place, mend, there = NAMED[name]
    (row,) = absent(profile(**part), INSTALLED)
    assert (place, mend) == (row["place"], row["mend"])
    assert [] == absent(profile(**there), INSTALLED)


@pytest.mark.requirement("RK-PROF-052")
def test_a_rule_about_installing_names_what_is_to_come() -> None:
    rule = {"action": "install", "actors": ["*"], "packages": ["acme.later"], "decision": "allow"}
    assert [] == absent(profile(rules=[rule]), INSTALLED)
