"""The projection of a command into a tool: two schemas and two texts, from the compiled record alone.

- Which commands: `export_refusal` says why one cannot be exported. A group is no tool, an alias makes none.
- Input: a closed JSON Schema 2020-12 object whose properties are parameter ids. It is never stricter than the
  semantic validator, which decides alone. It is looser in three places, all of which JSON Schema cannot say:
  the bounds and the 34 digits of a decimal, the 64 KiB and 1,024 elements of the whole, lone surrogates and
  NUL. RK-PROJ-003
- Output: the closed envelope of the core; the publisher's schema stands under `commandResult.data`. It admits
  every envelope that this host can send, and says nothing of which members go with which outcome. RK-PROJ-005
- Texts: the publisher's title and description, bounded where they were declared. Annotations are never
  emitted: no text of a publisher is evidence of what a command does. RK-PROJ-006

The four together are the *tail* of a tool: all of it but the name, and nothing in it changes with the
revision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rukh.contract.names import slug, tool_name
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_INTEGER, LIMIT_TITLE_LENGTH, OUTCOMES, REASON_EXITS

__all__ = [
    "export_conditions",
    "export_refusal",
    "input_schema",
    "output_schema",
    "slug",
    "tool_name",
    "tool_tail",
]

Schema = dict[str, Any]

# The one spelling of an exact decimal; how many digits it may have is for the validator.
_DECIMAL = r"^-?[0-9]+(\.[0-9]+)?$"
_ID = "_[a-z2-7]{26}$"


def export_refusal(record: dict[str, Any]) -> RukhError | None:
    """Why the command cannot be a tool (RKP011–RKP013), or None. RK-PROJ-001"""
    return next((refusal for _, refusal in export_conditions(record) if refusal is not None), None)


def export_conditions(record: dict[str, Any]) -> list[tuple[str, RukhError | None]]:
    """What a command must be to become a tool, in order: the condition's name, and the refusal where it is unmet."""
    identity = record["identity"]
    conditions = [
        ("managed", record["mapping"]["kind"] == "managed", "RKP013", "runs an opaque program",
         "declare a managed command with its own typed inputs"),
        ("eligible", record["machine"]["eligible"], "RKP011", "is not declared eligible for machines",
         "ask its publisher for a release with machine.eligible"),
        ("interaction", record["machine"]["interaction"] != "required", "RKP012", "needs a person to answer",
         "run it in the terminal"),
    ]  # fmt: skip
    return [
        (name, None if met else RukhError(rule, f"{identity} {why}", place=identity, mend=mend))
        for name, met, rule, why, mend in conditions
    ]


def tool_tail(record: dict[str, Any]) -> dict[str, Any]:
    """All of a tool but its name: `title`, `description`, `inputSchema`, `outputSchema`. RK-PROJ-002"""
    return {
        "title": record["title"] or _words(record),
        "description": record["description"] or record["summary"],
        "inputSchema": input_schema(record),
        "outputSchema": output_schema(record),
    }


def _words(record: dict[str, Any]) -> str:
    """The path as a title; the identity where the path is longer than a title may be."""
    words = " ".join(record["path"])
    return words if len(words) <= LIMIT_TITLE_LENGTH else record["identity"]


def input_schema(record: dict[str, Any]) -> Schema:
    """The closed object of the command's parameters by id. RK-PROJ-003 RK-PROJ-004"""
    properties = {parameter["id"]: _property(parameter) for parameter in record["parameters"]}
    required = [parameter["id"] for parameter in record["parameters"] if parameter["required"]]
    return _closed(properties, required)


def _closed(properties: dict[str, Schema], required: list[str]) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def _property(parameter: dict[str, Any]) -> Schema:
    schema = _TYPES[parameter["type"]["kind"]](parameter["type"])
    if parameter["summary"]:
        schema["description"] = parameter["summary"]
    if "default" in parameter:
        schema["default"] = parameter["default"]
    return schema


def _picked(declared: Schema, *names: str) -> Schema:
    return {name: declared[name] for name in names if name in declared}


def _string(declared: Schema) -> Schema:
    return {"type": "string", **_picked(declared, "minLength", "maxLength")}


def _integer(declared: Schema) -> Schema:
    bounds = {"minimum": -LIMIT_INTEGER, "maximum": LIMIT_INTEGER}
    return {"type": "integer", **bounds, **_picked(declared, "minimum", "maximum")}


def _number(declared: Schema) -> Schema:
    return {"type": "number", **_picked(declared, "minimum", "maximum")}


def _list(declared: Schema) -> Schema:
    """A caller never says "empty"; only a default does."""
    items = declared["items"]
    return {
        "type": "array",
        "items": _TYPES[items["kind"]](items),
        "minItems": declared.get("minItems", 1),
        "maxItems": declared["maxItems"],
    }


_TYPES: dict[str, Callable[[Schema], Schema]] = {
    "string": _string,
    "boolean": lambda declared: {"type": "boolean"},
    "integer": _integer,
    "number": _number,
    "decimal": lambda declared: {"type": "string", "pattern": _DECIMAL},
    "choice": lambda declared: {"type": "string", "enum": declared["values"]},
    "list": _list,
}


def output_schema(record: dict[str, Any]) -> Schema:
    """The closed envelope with the command's own result in it. RK-PROJ-005"""
    properties: dict[str, Schema] = {
        "invocationId": {"type": "string", "pattern": f"^inv{_ID}"},
        "outcome": {"type": "string", "enum": list(OUTCOMES)},
        "reason": _reason(),
        "commandResult": _command_result(record["result"]),
        "effects": {"type": "array", "items": _effect()},
    }
    return _closed(properties, ["invocationId", "outcome"])


def _reason() -> Schema:
    text = {"type": "string"}
    properties: dict[str, Schema] = {
        "code": {"type": "string", "enum": list(REASON_EXITS)},
        "message": text,
        "place": text,
        "mend": text,
    }
    return _closed(properties, ["code", "message"])


def _command_result(declared: dict[str, Any]) -> Schema:
    """The wrapper as declared; the publisher's schema describes what is inside. RK-PROJ-005"""
    kind = declared["kind"]
    inside = ("text", {"type": "string"}) if kind == "text" else ("data", declared["schema"])
    return _closed({"kind": {"type": "string", "const": kind}, inside[0]: inside[1]}, ["kind", inside[0]])


def _effect() -> Schema:
    properties: dict[str, Schema] = {
        "effectId": {"type": "string", "pattern": f"^eff{_ID}"},
        "operation": {"type": "string"},
        "state": {"type": "string"},
    }
    return _closed(properties, ["effectId", "operation", "state"])
