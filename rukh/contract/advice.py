"""Advice: what a descriptor may say and had better not. Warnings, never errors.

`check` decides what a descriptor is; advice is given about a descriptor that it accepted, to the author alone. An
installing host gives none. Each rule below is one function of the same form, and stands for something that an author
learns too late otherwise: a tool that an agent cannot choose, a client that cuts its name, a bound that says nothing.
RK-CHECK-020

| rule | what is unwise |
|---|---|
| RKW001 | a tool's name so long that the prefix of a client no longer fits in front of it |
| RKW002, RKW003 | a tool without a title or a description: an agent sees a digest, and chooses by one line |
| RKW004, RKW005 | a parameter that nothing explains; a command with parameters and no example |
| RKW006, RKW012 | an option with short names alone; a flag `--no-x`, whose denial is `--no-no-x` |
| RKW007, RKW009 | a choice of one; a bound that no call can reach |
| RKW008, RKW010 | for an agent: text without a bound, a result without a schema |
| RKW011 | a structured result, and no word on whether machines may use the command |
| RKW013 | a path that begins with a word of the core: it is installed only behind mount words |
| RKW014 | a text with characters that nobody sees: they reorder what stands around them, or hide a word in a word |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rukh.contract.diagnostics import Diagnostic
from rukh.contract.names import slug
from rukh.contract.shapes import Report
from rukh.values.pointer import join
from rukh.values.reader import Positions
from rukh.values.registry import (
    LIMIT_INPUT_BYTES,
    LIMIT_INPUT_ELEMENTS,
    LIMIT_TOOL_NAME_LENGTH,
    RESERVED_WORDS,
)

# Two underscores and a SHA-256 in hexadecimal stand behind the slug.
_FINGERPRINT = 66
_TEXTS = frozenset({"title", "summary", "description"})
# What switches the direction of writing, and what has no width; not the two joiners, which some scripts need.
UNSEEN = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200B, 0x200E, 0x200F, 0xFEFF)))


def advise(descriptor: dict[str, Any], positions: Positions) -> list[Diagnostic]:
    """The warnings about a descriptor that `check` gave back, in order of place. RK-CHECK-020"""
    report = Report({})
    for index, command in enumerate(descriptor["commands"]):
        pointer = f"/commands/{index}"
        _ways_are_free(report, pointer, command)
        _tool_name_leaves_room(report, pointer, command, descriptor["package"])
        for command_rule in COMMAND_RULES:
            command_rule(report, pointer, command)
        for place, parameter in _parameters(command, pointer):
            for parameter_rule in PARAMETER_RULES:
                parameter_rule(report, place, parameter)
    _texts_are_seen(report, "", descriptor)
    return report.located(positions)


def _parameters(command: dict[str, Any], pointer: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, parameter in enumerate(command.get("parameters", ())):
        yield f"{pointer}/parameters/{index}", parameter


def _is_eligible(command: dict[str, Any]) -> bool:
    """Whether an endpoint could export it; one that needs a person is exported nowhere. RK-PROJ-001"""
    machine = command.get("machine", {})
    return bool(machine.get("eligible")) and machine.get("interaction") != "required"


def _is_managed(command: dict[str, Any]) -> bool:
    return bool(command["execute"]["mapping"]["kind"] == "managed")


# One command.


def _tool_name_leaves_room(report: Report, pointer: str, command: dict[str, Any], package: str) -> None:
    """Clients put their own name of the server in front, and hold the whole to the protocol's 128 characters."""
    length = len(slug(f"{package}/{command['id']}")) + _FINGERPRINT
    if _is_eligible(command) and length > LIMIT_TOOL_NAME_LENGTH:
        message = f"its tool's name has {length} characters, {LIMIT_TOOL_NAME_LENGTH} leave room for a prefix"
        most = LIMIT_TOOL_NAME_LENGTH - _FINGERPRINT
        mend = f"keep {package}/{command['id']} to {most} characters, or have owners name the server shortly"
        report.add("RKW001", f"{pointer}/id", message, mend)


def _ways_are_free(report: Report, pointer: str, command: dict[str, Any]) -> None:
    """An owner is told so by RKP004, who can give mount words and nothing else. RK-CHECK-053 RK-PROF-033"""
    ways = [("path", command["path"])]
    ways += [(f"aliases/{index}", way) for index, way in enumerate(command.get("aliases", ()))]
    for place, way in ways:
        if way[0] in RESERVED_WORDS:
            message = f"{way[0]!r} is a word of the core: no owner can install this without mount words"
            mend = "begin with another word, or tell owners which mount words to give"
            report.add("RKW013", f"{pointer}/{place}/0", message, mend)


def _tool_has_a_title(report: Report, pointer: str, command: dict[str, Any]) -> None:
    if _is_eligible(command) and "title" not in command:
        message = "clients show the words of its path, or the tool's name with its digest"
        report.add("RKW002", pointer, message, 'add "title": two or three words')


def _tool_has_a_description(report: Report, pointer: str, command: dict[str, Any]) -> None:
    if _is_eligible(command) and "description" not in command:
        message = "an agent has one line to choose by"
        mend = 'add "description": what it does, what it answers, when not to use it'
        report.add("RKW003", pointer, message, mend)


def _has_an_example(report: Report, pointer: str, command: dict[str, Any]) -> None:
    if command.get("parameters") and not command.get("examples"):
        mend = 'add "examples": [{"argv": […]}]'
        report.add("RKW005", pointer, "its help shows no example of its parameters", mend)


def _bounds_can_be_reached(report: Report, pointer: str, command: dict[str, Any]) -> None:
    """A call is bounded as a whole; what only a larger one could say is never said. RK-INP-012"""
    parameters = command.get("parameters", ())
    items = sum(parameter["type"].get("maxItems", 0) for parameter in parameters)
    if items and items + len(parameters) > LIMIT_INPUT_ELEMENTS:
        message = f"its lists admit {items} items together, a call carries {LIMIT_INPUT_ELEMENTS} elements"
        report.add("RKW009", f"{pointer}/parameters", message, "lower maxItems")
    for place, declared in _types(command, pointer):
        if declared.get("maxLength", 0) > LIMIT_INPUT_BYTES:
            message = f"the inputs of a call have {LIMIT_INPUT_BYTES} bytes at most"
            report.add("RKW009", f"{place}/maxLength", message, "lower it to what the code handles")


def _types(command: dict[str, Any], pointer: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each parameter's type, and the type of a list's items."""
    for place, parameter in _parameters(command, pointer):
        yield f"{place}/type", parameter["type"]
        if "items" in parameter["type"]:
            yield f"{place}/type/items", parameter["type"]["items"]


def _strings_are_bounded(report: Report, pointer: str, command: dict[str, Any]) -> None:
    for place, declared in _types(command, pointer) if _is_eligible(command) else ():
        if declared["kind"] == "string" and "maxLength" not in declared:
            message = f"an agent may send {LIMIT_INPUT_BYTES} bytes here"
            report.add("RKW008", place, message, 'add "maxLength": what the code handles')


def _choices_differ(report: Report, pointer: str, command: dict[str, Any]) -> None:
    for place, declared in _types(command, pointer):
        if declared["kind"] == "choice" and len(declared["values"]) == 1:
            mend = "add the other values, make it a flag, or leave it out"
            report.add("RKW007", f"{place}/values", "there is nothing to choose", mend)


def _result_has_a_schema(report: Report, pointer: str, command: dict[str, Any]) -> None:
    if _is_eligible(command) and command["execute"].get("result", {}).get("kind") == "text":
        mend = 'declare {"kind": "structured", "schema": …}, unless the text itself is what is asked for'
        report.add("RKW010", f"{pointer}/execute/result", "an agent has to guess what the text holds", mend)


def _machine_is_said(report: Report, pointer: str, command: dict[str, Any]) -> None:
    execute = command["execute"]
    structured = execute.get("result", {}).get("kind") == "structured"
    if structured and "machine" not in command and _is_managed(command) and execute.get("stdin") != "bytes":
        message = "it could be a tool, and says neither yes nor no"
        report.add("RKW011", pointer, message, 'add "machine": {"eligible": true, …}, or "eligible": false')


# One parameter.


def _is_explained(report: Report, pointer: str, parameter: dict[str, Any]) -> None:
    if "summary" not in parameter:
        message = f"help and agents see the name {parameter['id']!r} and no more"
        report.add("RKW004", pointer, message, 'add "summary": what it means, in one line')


def _has_a_long_name(report: Report, pointer: str, parameter: dict[str, Any]) -> None:
    names = parameter.get("names", ())
    if names and not any(name.startswith("--") for name in names):
        message = f"{', '.join(names)} tells a reader of a script nothing"
        report.add("RKW006", f"{pointer}/names", message, f'add "--{parameter["id"].replace("_", "-")}"')


def _denial_is_readable(report: Report, pointer: str, parameter: dict[str, Any]) -> None:
    for index, name in enumerate(parameter.get("names", ())):
        if parameter["form"] == "flag" and name.startswith("--no-"):
            message = f"its denial is --no-{name[2:]}"
            mend = f"name it --{name[5:]} with the default true: {name} denies it"
            report.add("RKW012", f"{pointer}/names/{index}", message, mend)


# All texts.


def _texts_are_seen(report: Report, pointer: str, value: Any) -> None:
    """Titles, summaries and descriptions, those in the schema of a result too. RK-CHECK-052"""
    if isinstance(value, dict):
        for name, member in value.items():
            place = join(pointer, name)
            unseen = (
                [one for one in member if one in UNSEEN] if name in _TEXTS and isinstance(member, str) else []
            )
            if unseen:
                message = f"U+{ord(unseen[0]):04X} stands in it, which nobody sees"
                report.add("RKW014", place, message, "leave it out, or write the text without it")
            _texts_are_seen(report, place, member)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            _texts_are_seen(report, f"{pointer}/{index}", element)


COMMAND_RULES = (
    _tool_has_a_title,
    _tool_has_a_description,
    _has_an_example,
    _bounds_can_be_reached,
    _strings_are_bounded,
    _choices_differ,
    _result_has_a_schema,
    _machine_is_said,
)
PARAMETER_RULES = (_is_explained, _has_a_long_name, _denial_is_readable)
