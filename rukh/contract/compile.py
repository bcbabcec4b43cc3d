"""Compile a checked descriptor into the records that every surface uses.

A record is a plain JSON object with every member present: what the publisher left out stands there with its
default, so that no surface decides twice. Only a parameter's `default` may be absent, since it says something
by that. The mount words of the owner stand before the path, before each alias and before each example; they
change neither the identity nor the contract. RK-DESC-030 RK-DESC-031

A name of the core, which format 1 alone may declare, is no name of the parameter: nothing behind this module
has to know of it. RK-DESC-035

| left out | means |
|---|---|
| `title`, `description` of a command, `summary` of a parameter or example | empty |
| `aliases`, `examples`, `parameters`, `names` | none |
| `required` | false |
| `lifetime`, `stdin` | `foreground`, `none` |
| `result` | null: the command declares none |
| `requires` | no operation, no variable, `host-trusted/1` |
| `machine` | not eligible, interaction `none`, no feature |
"""

from __future__ import annotations

from typing import Any

from rukh.contract.parameters import admit_default
from rukh.values.registry import CORE_OPTIONS

Record = dict[str, Any]


def compile_commands(descriptor: dict[str, Any], mount: list[str]) -> list[Record]:
    """One record a command, in the descriptor's order. `descriptor` is one that `check` gave back."""
    return [_record(descriptor, command, mount) for command in descriptor["commands"]]


def _record(descriptor: dict[str, Any], command: dict[str, Any], mount: list[str]) -> Record:
    execute = command["execute"]
    return {
        "identity": f"{descriptor['package']}/{command['id']}",
        "package": descriptor["package"],
        "version": descriptor["version"],
        "path": mount + command["path"],
        "aliases": [mount + alias for alias in command.get("aliases", [])],
        "title": command.get("title", ""),
        "summary": command["summary"],
        "description": command.get("description", ""),
        "examples": [_example(example, mount) for example in command.get("examples", [])],
        "parameters": [_parameter(parameter) for parameter in command.get("parameters", [])],
        "mapping": execute["mapping"],
        "runtime": descriptor["runtime"],
        "stdin": execute.get("stdin", "none"),
        "lifetime": execute.get("lifetime", "foreground"),
        "result": execute.get("result"),
        "requires": _requires(execute.get("requires", {})),
        "machine": _machine(command.get("machine", {"eligible": False})),
    }


def _example(example: dict[str, Any], mount: list[str]) -> dict[str, Any]:
    return {"argv": mount + example["argv"], "summary": example.get("summary", "")}


def _parameter(parameter: dict[str, Any]) -> dict[str, Any]:
    compiled = {
        "id": parameter["id"],
        "form": parameter["form"],
        "names": [name for name in parameter.get("names", []) if name not in CORE_OPTIONS],
        "required": parameter.get("required", False),
        "summary": parameter.get("summary", ""),
        "type": parameter["type"],
    }
    if "default" in parameter:
        compiled["default"] = admit_default(parameter["type"], parameter["default"], "")
    return compiled


def _requires(requires: dict[str, Any]) -> dict[str, Any]:
    return {
        "operations": requires.get("operations", []),
        "environment": requires.get("environment", []),
        "confinement": requires.get("confinement", "host-trusted/1"),
    }


def _machine(machine: dict[str, Any]) -> dict[str, Any]:
    return {
        "eligible": machine["eligible"],
        "interaction": machine.get("interaction", "none"),
        "requiredFeatures": machine.get("requiredFeatures", []),
    }
