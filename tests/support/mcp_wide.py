"""A home of more tools than a page holds, at two endpoints: answers as long as asked for, and calls that wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rukh.values.registry import LIMIT_DESCRIPTION_LENGTH
from tests.support.homes import InstalledHome

MODULE = '''"""Fills, repeats and waits."""
import os

import rukh_sdk


@rukh_sdk.command("fill", result="text")
def fill(inputs, context):
    return "x" * inputs["length"]


@rukh_sdk.command("repeat", result="text")
def repeat(inputs, context):
    return inputs["words"]


@rukh_sdk.command("hold", result="text")
def hold(inputs, context):
    with open(inputs["told"], "w") as told:
        told.write(str(os.getpid()))
    return open(inputs["gate"]).read()
'''

PLAIN = 37
OTHER_ENDPOINT = """
[endpoints.other]
transport = "stdio"
namespace = "acme.other"
preset = "assistant"
actor = "agent:desk"
packages = ["acme.wide"]
"""


def _command(identity: str, **kinds: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": identity,
        "path": ["wide", identity],
        "summary": f"Does {identity}",
        "description": "d" * LIMIT_DESCRIPTION_LENGTH,
        "parameters": [
            {"id": name, "form": "positional", "required": True, "type": kind} for name, kind in kinds.items()
        ],
        "execute": {
            "mapping": {"kind": "managed", "entry": f"acme_wide:{identity}"},
            "result": {"kind": "text"},
        },
        "machine": {"eligible": True, "interaction": "none", "requiredFeatures": ["command-result/1"]},
    }


def commands() -> list[dict[str, Any]]:
    """The three that do something, and plain ones; 40 in all, each with the longest description."""
    text = {"kind": "string"}
    return [
        _command("fill", length={"kind": "integer", "minimum": 0, "maximum": 9_999_999}),
        _command("repeat", words=text),
        _command("hold", told=text, gate=text),
        *(_command(f"plain{number:02d}") for number in range(PLAIN)),
    ]


def wide_home(place: Path) -> InstalledHome:
    """A home in `place` with these commands at the endpoints `desk` and `other`, and a task for each."""
    home = InstalledHome(place, "acme.wide")
    home.install({"acme_wide.py": MODULE}, commands=commands())
    home.expose(more=OTHER_ENDPOINT)
    assert home.run("task", "issue", "--endpoint", "other").returncode == 0
    return home
