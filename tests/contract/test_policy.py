"""Policy: what the owner's rules grant, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from rukh.contract.policy import below_home, decide, granted_environment, passthrough_granted
from rukh.contract.profile import DEFAULT_PROFILE


def run(actors: list[str], commands: list[str], decision: str = "allow") -> dict[str, Any]:
    return {"action": "run", "actors": actors, "commands": commands, "decision": decision}


def install(actors: list[str], packages: list[str], decision: str = "allow") -> dict[str, Any]:
    return {"action": "install", "actors": actors, "packages": packages, "decision": decision}


AGENT = "agent:desktop"
ADD = "acme.notes/add"

# (rules, action, actor, target, answer); each denied row has an allowed sibling that differs in one field
DECISIONS: dict[str, tuple[list[dict[str, Any]], str, str, str, str]] = {
    "no rule": ([], "run", AGENT, ADD, "denied"),
    "exact": ([run([AGENT], [ADD])], "run", AGENT, ADD, "allowed"),
    "another command": ([run([AGENT], [ADD])], "run", AGENT, "acme.notes/list", "denied"),
    "another actor": ([run([AGENT], [ADD])], "run", "agent:laptop", ADD, "denied"),
    "another action": ([run([AGENT], ["*"])], "install", AGENT, "acme.notes", "denied"),
    "whole package": ([run([AGENT], ["acme.notes/*"])], "run", AGENT, ADD, "allowed"),
    "package of a longer name": ([run([AGENT], ["acme.notes/*"])], "run", AGENT, "acme.notesx/add", "denied"),
    "package below": ([run([AGENT], ["acme.notes/*"])], "run", AGENT, "acme.notes.x/add", "denied"),
    "everything": ([run([AGENT], ["*"])], "run", AGENT, ADD, "allowed"),
    "every actor": ([run(["*"], [ADD])], "run", AGENT, ADD, "allowed"),
    "first wins, deny": ([run([AGENT], [ADD], "deny"), run(["*"], ["*"])], "run", AGENT, ADD, "denied"),
    "first wins, allow": ([run([AGENT], [ADD]), run(["*"], ["*"], "deny")], "run", AGENT, ADD, "allowed"),
    "a deny about others": (
        [run([AGENT], ["acme.x/*"], "deny"), run(["*"], ["*"])],
        "run",
        AGENT,
        ADD,
        "allowed",
    ),
    "install by name": (
        [install(["user:local"], ["acme.notes"])],
        "install",
        "user:local",
        "acme.notes",
        "allowed",
    ),
    "install another": (
        [install(["user:local"], ["acme.notes"])],
        "install",
        "user:local",
        "acme.x",
        "denied",
    ),
    "install anything": ([install(["user:local"], ["*"])], "install", "user:local", "acme.x", "allowed"),
    "a run rule installs nothing": (
        [run(["user:local"], ["*"])],
        "install",
        "user:local",
        "acme.x",
        "denied",
    ),
}


@pytest.mark.requirement("RK-PROF-020", "RK-PROF-021")
@pytest.mark.parametrize("name", DECISIONS)
def test_the_first_matching_rule_decides_and_none_denies(name: str) -> None:
    rules, action, actor, target, answer = DECISIONS[name]
    assert decide(rules, action, actor, target) == answer


@pytest.mark.requirement("RK-PROF-024")
def test_a_fresh_home_lets_the_local_user_run_and_install_and_nobody_else_anything() -> None:
    rules = DEFAULT_PROFILE["rules"]
    assert decide(rules, "run", "user:local", ADD) == "allowed"
    assert decide(rules, "install", "user:local", "acme.notes") == "allowed"
    for action, target in (("run", ADD), ("install", "acme.notes")):
        for actor in (AGENT, "user:other", "user:local2"):
            assert decide(rules, action, actor, target) == "denied"
    assert DEFAULT_PROFILE["endpoints"] == {}


def record(environment: list[str]) -> dict[str, Any]:
    return {"package": "acme.notes", "requires": {"environment": environment}}


GIVEN = {"environment": {"acme.notes": {"NOTES_DIR": "~/notes", "SECRET": "x"}, "acme.other": {"LANG": "C"}}}


@pytest.mark.requirement("RK-PROF-022")
def test_a_variable_needs_both_the_declaration_and_the_owner() -> None:
    assert granted_environment(GIVEN, record(["LANG", "NOTES_DIR"]), "/home/me") == {
        "NOTES_DIR": "/home/me/notes"
    }
    assert granted_environment(GIVEN, record([]), "/home/me") == {}
    assert granted_environment({"environment": {}}, record(["NOTES_DIR"]), "/home/me") == {}


@pytest.mark.requirement("RK-PROF-022")
@pytest.mark.parametrize(
    ("text", "path"), [("~", "/h"), ("~/a", "/h/a"), ("~a", "~a"), ("a~/b", "a~/b"), ("", "")]
)
def test_only_a_leading_tilde_stands_for_the_home(text: str, path: str) -> None:
    assert below_home(text, "/h") == path


@pytest.mark.requirement("RK-PROF-023")
def test_a_passthrough_program_needs_its_own_grant() -> None:
    profile = {"passthrough": {"acme.tools/git": {"arguments": "unrestricted"}}}
    assert passthrough_granted(profile, "acme.tools/git")
    assert not passthrough_granted(profile, "acme.tools/fmt")
    assert not passthrough_granted({"passthrough": {}}, "acme.tools/git")
