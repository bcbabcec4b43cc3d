"""An extension that answers with exactly what it was given, with a parameter of every type and form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.homes import InstalledHome

MODULE = '''"""Answers with what it was given."""
import json

import rukh_sdk


@rukh_sdk.command("say")
def say(inputs, context):
    given = {"inputs": inputs, "supplied": sorted(context.supplied)}
    return {"given": json.dumps(given, ensure_ascii=True, sort_keys=True)}


@rukh_sdk.command("speak", result="text")
def speak(inputs, context):
    return inputs["words"]


@rukh_sdk.command("fail")
def fail(inputs, context):
    raise rukh_sdk.Failed(inputs["why"], exit_code=inputs["code"])
'''

SCALARS: dict[str, dict[str, Any]] = {
    "string": {"kind": "string"},
    "integer": {"kind": "integer"},
    "number": {"kind": "number"},
    "decimal": {"kind": "decimal"},
    "choice": {"kind": "choice", "values": ["red", "blue", "-4", "--json", "a,b"]},
}


def _option(identity: str, kind: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": identity,
        "form": "option",
        "names": [f"--{identity.replace('_', '-')}"],
        "type": kind,
        **more,
    }


def _lists() -> list[dict[str, Any]]:
    return [
        _option(f"{name}_list", {"kind": "list", "items": kind, "maxItems": 8})
        for name, kind in SCALARS.items()
    ]


def say_parameters() -> list[dict[str, Any]]:
    """One positional, an option and a list of every scalar type, flags with both defaults, one defaulted option."""
    return [
        {"id": "first", "form": "positional", "type": {"kind": "string"}},
        *(_option(name, kind) for name, kind in SCALARS.items()),
        *_lists(),
        {"id": "on", "form": "flag", "names": ["--on", "-o"], "type": {"kind": "boolean"}, "default": True},
        {"id": "off", "form": "flag", "names": ["--off"], "type": {"kind": "boolean"}, "default": False},
        _option("level", {"kind": "integer", "minimum": 0, "maximum": 9}, default=3),
    ]


def _command(identity: str, parameters: list[dict[str, Any]], result: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": identity,
        "path": ["echo", identity],
        "summary": f"Does {identity}",
        "parameters": parameters,
        "execute": {"mapping": {"kind": "managed", "entry": f"acme_echo:{identity}"}, "result": result},
        "machine": {"eligible": True, "interaction": "none", "requiredFeatures": ["command-result/1"]},
    }


def structured(properties: dict[str, Any]) -> dict[str, Any]:
    """A structured result of an object with these members, all required."""
    return {
        "kind": "structured",
        "schema": {
            "type": "object",
            "additionalProperties": False,
            "required": sorted(properties),
            "properties": properties,
        },
    }


def commands() -> list[dict[str, Any]]:
    """The commands `say`, `speak` and `fail`."""
    return [
        _command("say", say_parameters(), structured({"given": {"type": "string"}})),
        _command(
            "speak",
            [{"id": "words", "form": "positional", "required": True, "type": {"kind": "string"}}],
            {"kind": "text"},
        ),
        _command(
            "fail",
            [
                {"id": "why", "form": "positional", "required": True, "type": {"kind": "string"}},
                _option("code", {"kind": "integer", "minimum": 0, "maximum": 99}, default=1),
            ],
            structured({"never": {"type": "string"}}),
        ),
    ]


FILES = {"acme_echo.py": MODULE}


def exposed_home(place: Path) -> InstalledHome:
    """A home in `place` with this extension, exposed at the endpoint `desk`, and a task for it."""
    made = InstalledHome(place)
    made.install(FILES, commands=commands())
    made.expose()
    return made
