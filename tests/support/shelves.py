"""An extension for completion: paths of every kind, options of every form, and choices that no shell leaves alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support import probe
from tests.support.homes import InstalledHome

PACKAGE = "acme.shelf"
MODULE = '''"""Says what it got."""
import json

import rukh_sdk


@rukh_sdk.command("put", result="text")
def put(inputs, context):
    return json.dumps(inputs, sort_keys=True)


@rukh_sdk.command("put_all", result="text")
def put_all(inputs, context):
    return "all"
'''
# Each is one word of a command line, however it must be written in a shell.
ODD = ["plain", "two words", "it's", 'say "x"', "$HOME", "a\\b", "c:d=e", "na\u00efve"]
ODD += ["-4", "--json", "!bang", "~", "*"]


def _option(
    identity: str, names: str, kind: dict[str, Any], summary: str = "", **more: Any
) -> dict[str, Any]:
    form = "flag" if kind["kind"] == "boolean" else "option"
    return {
        "id": identity,
        "form": form,
        "names": names.split(),
        "type": kind,
        **({"summary": summary} if summary else {}),
        **more,
    }


def choice(*values: str) -> dict[str, Any]:
    """The type of a choice."""
    return {"kind": "choice", "values": list(values)}


def _managed(identity: str, path: str, parameters: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "id": identity,
        "path": path.split(),
        "summary": f"Does {identity}",
        "parameters": parameters,
        "execute": {
            "mapping": {"kind": "managed", "entry": f"acme_shelf:{identity}"},
            "result": {"kind": "text"},
        },
        "machine": {"eligible": False},
        **more,
    }


def commands() -> list[dict[str, Any]]:
    """`shelf put` (aliases `p` and `s put`), `shelf all`, and the whole program `tools nothing`."""
    parameters = [
        {"id": "place", "form": "positional", "type": choice("top", "-4", "--low", "two words")},
        {"id": "note", "form": "positional", "type": {"kind": "string"}, "summary": "A note"},
        {
            "id": "more",
            "form": "positional",
            "type": {"kind": "list", "items": choice("m1", "m2"), "maxItems": 9},
        },
        _option("odd", "--odd -o", choice(*ODD), "An odd one"),
        _option("odds", "--odds", {"kind": "list", "items": choice(*ODD), "maxItems": 9}),
        _option("size", "--size", {"kind": "integer"}),
        _option("text", "--text", {"kind": "string"}, "Free text"),
        _option("wide", "--wide -w", {"kind": "boolean"}, default=True),
        _option("quick", "-q", {"kind": "boolean"}, "Short only", default=False),
        _option("mode", "-m", choice("fast", "slow")),
    ]
    return [
        _managed("put", "shelf put", parameters, aliases=[["p"], ["s", "put"]]),
        _managed("put_all", "shelf all", [], description="Puts every Zebra back"),
        probe.command("nothing", "bin/nothing"),
    ]


def shelf_home(place: Path) -> InstalledHome:
    """A home in `place` with this extension and the endpoint `desk`."""
    home = InstalledHome(place, PACKAGE)
    home.install({"acme_shelf.py": MODULE, **probe.FILES}, commands=commands())
    home.expose()
    return home
