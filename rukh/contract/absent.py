"""What an owner's file names and the active revision does not have. RK-PROF-052

A package may come later, so none of it is a refusal; but a slip of the pen would never be told otherwise. A rule about
installing names what is not there yet on purpose, and `*` names nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from rukh.values.nearest import nearest
from rukh.values.pointer import join

Row = dict[str, str]


def absent(profile: Mapping[str, Any], variables: Mapping[str, Mapping[str, Set[str]]]) -> list[Row]:
    """One row `{"place", "message", "mend"}` for each name of the published `profile` that nothing answers to.

    `variables` has for each active package the variables that its commands declare, by identity.
    """
    return [*_environment(profile["environment"], variables), *_commands(profile, variables)]


def _environment(
    environment: Mapping[str, Mapping[str, str]], variables: Mapping[str, Mapping[str, Set[str]]]
) -> Iterable[Row]:
    for package, values in environment.items():
        place = join("/environment", package)
        if package not in variables:
            yield _row(place, f"{package} is not installed", package, variables)
            continue
        declared = {name for names in variables[package].values() for name in names}
        for name in values:
            if name not in declared:
                message = f"no command of {package} declares the variable {name}"
                yield _row(join(place, name), message, name, declared)


def _commands(profile: Mapping[str, Any], variables: Mapping[str, Mapping[str, Set[str]]]) -> Iterable[Row]:
    identities = {identity for commands in variables.values() for identity in commands}
    targets = identities | {f"{package}/*" for package in variables}
    for identity in profile["passthrough"]:
        if identity not in identities:
            yield _row(join("/passthrough", identity), f"no command is {identity}", identity, identities)
    for number, rule in enumerate(profile["rules"]):
        for index, target in enumerate(rule.get("commands", ())):
            if target != "*" and target not in targets:
                place = f"/rules/{number}/commands/{index}"
                yield _row(place, f"no command is {target}", target, targets)


def _row(place: str, message: str, name: str, known: Iterable[str]) -> Row:
    near = nearest(name, known)
    mend = f"did you mean {near}?" if near else "it has no effect before such a thing is installed"
    return {"place": place, "message": message, "mend": mend}
