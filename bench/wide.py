"""A wide descriptor: as many commands as asked for, each as an author would write it. RK-PROC-017"""

from __future__ import annotations

import json
from typing import Any

_KINDS = ("apples", "pears", "plums", "quinces")


def descriptor(commands: int) -> bytes:
    """A descriptor of `commands` commands (at most 512), laid out over lines; a check finds nothing in it."""
    document = {
        "format": "rukh.extension/2",
        "package": "acme.wide",
        "version": "1.0.0",
        "title": "Wide",
        "summary": "Many commands",
        "runtime": {"kind": "python", "requires": ">=3.11"},
        "commands": [_command(number) for number in range(commands)],
    }
    return json.dumps(document, indent=2).encode()


def _command(number: int) -> dict[str, Any]:
    name = f"c{number:03d}"
    return {
        "id": name,
        "path": ["wide", name],
        "title": f"Command {number}",
        "summary": f"Count the things of shelf {number}",
        "description": f"Counts what lies on shelf {number} and answers with the sum and with what was seen.",
        "examples": [
            {"argv": ["wide", name, "Milk", "--tag", "now", "--least", "3"], "summary": "With a tag"}
        ],
        "parameters": _parameters(),
        "execute": {
            "mapping": {"kind": "managed", "entry": f"wide:{name}"},
            "result": {"kind": "structured", "schema": _schema()},
            "requires": {"environment": ["WIDE_DIR"]},
        },
        "machine": {"eligible": True, "interaction": "none", "requiredFeatures": ["command-result/1"]},
    }


def _parameters() -> list[dict[str, Any]]:
    text = {"kind": "string", "minLength": 1, "maxLength": 200}
    return [
        {"id": "name", "form": "positional", "required": True, "summary": "What to look for", "type": text},
        {"id": "tags", "form": "option", "names": ["--tag", "-t"], "summary": "A tag; repeat it for more",
         "type": {"kind": "list", "items": text, "maxItems": 8}},
        {"id": "least", "form": "option", "names": ["--least"], "summary": "Only so many or more", "default": 1,
         "type": {"kind": "integer", "minimum": 1, "maximum": 99}},
        {"id": "kind", "form": "option", "names": ["--kind"], "summary": "Only of this kind",
         "type": {"kind": "choice", "values": list(_KINDS)}},
        {"id": "all", "form": "flag", "names": ["--all"], "summary": "Count hidden ones too", "default": False,
         "type": {"kind": "boolean"}},
    ]  # fmt: skip


def _schema() -> dict[str, Any]:
    seen = {"type": "array", "maxItems": 32, "items": {"type": "string", "maxLength": 200}}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["total"],
        "properties": {"total": {"type": "integer", "minimum": 0}, "seen": seen},
    }
