"""What the owner's profile grants to one actor: pure questions about a published profile.

Rules are read in order; the first one whose action, actor and target match decides, and where none matches
the answer is `denied`. Nothing but the owner's rules grants anything: not eligibility, exposure, descriptions
or names. RK-PROF-020 RK-PROF-021

A target of `run` is a command identity, matched exactly, as `PACKAGE/*`, or as `*`; a target of `install` is
a package name, matched exactly or as `*`. A variable reaches a child only if its command declares the name
and the owner gives it a value; `~/` at the beginning of a value is the home directory of the owner.
RK-PROF-022
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The person at the terminal: the subject of every call of this host, and its actor there.
LOCAL_USER = "user:local"
ALLOWED = "allowed"
DENIED = "denied"

# Which member of a rule names the targets of its action.
TARGETS = {"run": "commands", "install": "packages"}


def decide(rules: list[dict[str, Any]], action: str, actor: str, target: str) -> str:
    """`allowed` or `denied` for `actor` doing `action` (`run`, `install`) to `target`. RK-PROF-020"""
    index = deciding(rules, action, actor, target)
    return DENIED if index is None or rules[index]["decision"] != "allow" else ALLOWED


def deciding(rules: list[dict[str, Any]], action: str, actor: str, target: str) -> int | None:
    """Which of `rules` decides, counted from 0; None where none does. RK-PROF-020"""
    for index, rule in enumerate(rules):
        if rule["action"] == action and _matches(rule["actors"], actor, "") and _names(rule, action, target):
            return index
    return None


def _names(rule: dict[str, Any], action: str, target: str) -> bool:
    package = target.partition("/")[0]
    return _matches(rule[TARGETS[action]], target, f"{package}/*" if action == "run" else "")


def _matches(patterns: list[str], word: str, whole: str) -> bool:
    return "*" in patterns or word in patterns or (whole != "" and whole in patterns)


def passthrough_granted(profile: dict[str, Any], identity: str) -> bool:
    """Whether the owner gave authority for the whole program behind a passthrough command. RK-PROF-023"""
    granted = profile["passthrough"].get(identity)
    return granted is not None and granted["arguments"] == "unrestricted"


def granted_environment(profile: dict[str, Any], record: dict[str, Any], home: str) -> dict[str, str]:
    """The variables of one call: those the compiled command declares and the owner gives. RK-PROF-022

    `home` is the absolute home directory of the owner, put in place of a leading `~`.
    """
    values = profile["environment"].get(record["package"], {})
    declared = record["requires"]["environment"]
    return {name: below_home(values[name], home) for name in declared if name in values}


def below_home(text: str, home: str) -> str:
    """`text` with a leading `~` or `~/` standing for `home`."""
    return home + text[1:] if text == "~" or text.startswith("~/") else text
