"""Documents for the tests of the contract: JSON files of the tree, patched copies, and short builders."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent


def load(path: str) -> Any:
    """A JSON file of the tree."""
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def encoded(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def patched(document: Any, patch: list[dict[str, Any]]) -> Any:
    """A copy with the operations add, replace and remove of RFC 6902 applied."""
    holder = {"": copy.deepcopy(document)}
    for operation in patch:
        _apply(holder, operation)
    return holder[""]


def _apply(holder: Any, operation: dict[str, Any]) -> None:
    tokens = [token.replace("~1", "/").replace("~0", "~") for token in operation["path"].split("/")]
    for token in tokens[:-1]:
        holder = holder[int(token) if isinstance(holder, list) else token]
    last = tokens[-1]
    key: Any = last
    if isinstance(holder, list):
        key = len(holder) if last == "-" else int(last)
    if operation["op"] == "remove":
        del holder[key]
    elif operation["op"] == "add" and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(operation["value"]))
    else:
        holder[key] = copy.deepcopy(operation["value"])


def descriptor(package: str = "acme.notes", **members: Any) -> dict[str, Any]:
    """A small descriptor: one eligible command `add` at `notes add`; `members` replace those of the root."""
    return {
        "format": "rukh.extension/2",
        "package": package,
        "version": "1.0.0",
        "summary": f"The package {package}",
        "runtime": {"kind": "python"},
        "commands": [command()],
        **members,
    }


def command(name: str = "add", path: list[str] | None = None, **members: Any) -> dict[str, Any]:
    """An eligible command with a text result; `members` replace its own."""
    return {
        "id": name,
        "path": path or ["notes", name],
        "summary": f"The command {name}",
        "execute": {"mapping": {"kind": "managed", "entry": f"work:{name}"}, "result": {"kind": "text"}},
        "machine": {"eligible": True, "requiredFeatures": ["command-result/1"]},
        **members,
    }


def parameter(kind: str, form: str = "option", **members: Any) -> dict[str, Any]:
    """A parameter `value` of a type with the members of `type` left to `members["type"]`."""
    names = {} if form == "positional" else {"names": ["--value"]}
    return {"id": "value", "form": form, **names, "type": {"kind": kind}, **members}
