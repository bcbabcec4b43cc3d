"""The descriptor, `rukh.extension/1` or `/2`: read, checked wholly, and given back or refused with every reason.

1. The strict reader reads the document; what it refuses is the one finding.
2. The format decides which table judges. A format that this host does not know is *unsupported*: one finding, and
   nothing else of the document is judged. RK-DESC-004
3. The tables below check the shape: closed objects, types, grammars, bounds.
4. `coherence` checks what no table can say: what holds between two members. It skips what is malformed.
5. The findings of all steps stand in order of place. The descriptor is given back only if none is an error. What
   is wrong in format 2 alone, a name of the core, is looked for in format 1 last, and warned of.

Format 1 is format 2 without `execute.result` and `machine`. It has no table of its own: two rows are left out,
and a document that has them is told which format knows them. RK-DESC-033

A default stands for each optional member (see `compile`): leaving one out and writing its default are the
same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rukh.contract import grammar
from rukh.contract.coherence import check_coherence, names_of_the_core
from rukh.contract.diagnostics import Diagnostic, has_errors
from rukh.contract.grammar import FORMAT, FORMAT_1
from rukh.contract.result_schema import parse_schema
from rukh.contract.shapes import (
    Report,
    Shape,
    anything,
    boolean,
    choice,
    closed,
    integer,
    is_type,
    listed,
    no_form,
    number,
    spelled,
    string,
    text,
    variants,
    whole,
)
from rukh.values.errors import RukhError
from rukh.values.numbers import normalize_decimal
from rukh.values.reader import Positions, read, read_located
from rukh.values.registry import (
    ENFORCEMENT_PROFILES,
    FEATURES,
    LIMIT_CHOICE_VALUES,
    LIMIT_COMMAND_ALIASES,
    LIMIT_COMMAND_EXAMPLES,
    LIMIT_COMMAND_PARAMETERS,
    LIMIT_DESCRIPTION_LENGTH,
    LIMIT_DESCRIPTOR_BYTES,
    LIMIT_DESCRIPTOR_COMMANDS,
    LIMIT_DESCRIPTOR_DEPTH,
    LIMIT_DESCRIPTOR_MEMBERS,
    LIMIT_ENVIRONMENT_NAMES,
    LIMIT_INPUT_ELEMENTS,
    LIMIT_INTEGER,
    LIMIT_PARAMETER_NAMES,
    LIMIT_PATH_WORDS,
    LIMIT_PROGRAM_WORDS,
    LIMIT_REQUESTED_OPERATIONS,
    LIMIT_TITLE_LENGTH,
    OPERATIONS,
)

_BOUNDS = {
    "max_bytes": LIMIT_DESCRIPTOR_BYTES,
    "max_depth": LIMIT_DESCRIPTOR_DEPTH,
    "max_members": LIMIT_DESCRIPTOR_MEMBERS,
}

# The kind of a fault, as shapes and coherence name it, and the rule that it is here.
RULES = {
    "unsupported": "RKD001", "document": "RKD002", "unknown": "RKD003", "missing": "RKD004", "type": "RKD005",
    "choice": "RKD006", "package": "RKD007", "version": "RKD008", "id": "RKD009", "word": "RKD010", "option": "RKD011",
    "text": "RKD012", "count": "RKD013", "command-twice": "RKD014", "parameter-twice": "RKD015", "route": "RKD016",
    "option-twice": "RKD017", "core-option": "RKD018", "form-type": "RKD019", "positional-order": "RKD020",
    "positional-list": "RKD021", "required-default": "RKD022", "default": "RKD023", "range": "RKD024",
    "example": "RKD025", "no-result": "RKD026", "no-feature": "RKD027", "stdin": "RKD028", "feature": "RKD029",
    "repeat": "RKD030", "operation": "RKD031", "strict": "RKD032", "confinement": "RKD033", "name": "RKD034",
    "variable": "RKD034", "entry": "RKD035", "program": "RKD036", "passthrough": "RKD037", "requirement": "RKD038",
    "shadowed": "RKD039",
}  # fmt: skip


# What an author is told who has cases checked under another name.
_ELSEWHERE = "these are cases: name the file rukh-cases.json, and keep it beside the descriptor"


class Places(Positions):
    """The places of a document that is known to be readable: it is read for them only once one is asked for.

    A document without findings needs none, and pays for none.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._known: Positions | None = None

    def at(self, pointer: str) -> tuple[int, int]:
        return self._read().at(pointer)

    def key(self, pointer: str) -> tuple[int, int]:
        return self._read().key(pointer)

    def _read(self) -> Positions:
        if self._known is None:
            self._known = read_located(self._data, **_BOUNDS)[1]
        return self._known


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found: the `descriptor` as it was written (None after an error) and the `diagnostics` in order.

    Beside a descriptor stand warnings alone.

    `positions` are those of a document that could be read, for findings that others add.
    """

    descriptor: dict[str, Any] | None
    diagnostics: list[Diagnostic]
    positions: Positions | None = None


def check(data: bytes) -> Checked:
    """Check the bytes of one descriptor wholly. Never raises on bad input. RK-DESC-001 RK-DESC-002"""
    try:
        document = read(data, **_BOUNDS)
    except RukhError as refusal:
        place = (max(refusal.line, 1), max(refusal.column, 1))
        return Checked(None, [Diagnostic(refusal.rule, "", *place, refusal.message, refusal.mend)])
    report = Report(RULES)
    if _format_known(report, document):
        FORMATS[document["format"]](report, "", document)
        check_coherence(report, document)
        if document["format"] == FORMAT:
            names_of_the_core(report, document, "core-option", "choose another name")
        elif report.spotless:
            names_of_the_core(report, document, "shadowed", "rename it: the core's wins")
    positions = Places(data)
    diagnostics = report.located(positions)
    return Checked(None if has_errors(diagnostics) else document, diagnostics, positions)


def _format_known(report: Report, document: Any) -> bool:
    if not isinstance(document, dict) or not isinstance(document.get("format"), str):
        mend = f'begin with an object whose member "format" is "{FORMAT}"'
        report.add("document", "", "this is no object that names its format", mend)
        return False
    found = document["format"]
    if found not in FORMATS:
        shown = repr(found[:80])
        mend = _ELSEWHERE if found.startswith("rukh.cases/") else f"this host knows {', '.join(FORMATS)}"
        report.add("unsupported", "/format", f"the format {shown} is not supported", mend)
    return found in FORMATS


# Shapes that need a word of code.


def _decimal(report: Report, pointer: str, value: Any) -> None:
    if is_type(report, pointer, value, str):
        try:
            normalize_decimal(value)
        except RukhError as refusal:
            report.add("range", pointer, refusal.message, 'write an exact decimal as text, such as "0.50"')


def _program(report: Report, pointer: str, value: Any) -> None:
    """A program of the release and its fixed arguments."""
    listed(text(LIMIT_DESCRIPTION_LENGTH, low=0), 1, LIMIT_PROGRAM_WORDS)(report, pointer, value)
    if report.clean(pointer) and not grammar.PROGRAM_PATH.matches(value[0]):
        mend = f"write {grammar.PROGRAM_PATH.says}"
        report.add("program", f"{pointer}/0", f"{value[0]!r} is not a path inside the release", mend)


def _entry(report: Report, pointer: str, value: Any) -> None:
    """`module:function` or a program; which of them belongs here is decided by the runtime, in coherence."""
    if isinstance(value, list):
        _program(report, pointer, value)
    elif is_type(report, pointer, value, str) and not grammar.PYTHON_ENTRY.matches(value):
        report.add(
            "entry",
            pointer,
            f"{value[:80]!r} is {no_form(grammar.PYTHON_ENTRY)}",
            f"write {grammar.PYTHON_ENTRY.says}",
        )


def _result_schema(report: Report, pointer: str, value: Any) -> None:
    """The publisher's result schema; its faults have the rules of its own family."""
    for problem in parse_schema(value, pointer)[1]:
        report.add(problem.rule, problem.pointer, problem.message, problem.mend)


# The tables.

TITLE = text(LIMIT_TITLE_LENGTH)
DESCRIPTION = text(LIMIT_DESCRIPTION_LENGTH, lines=True)
PATH = listed(spelled(grammar.WORD), 1, LIMIT_PATH_WORDS)
COUNTER = whole(0, LIMIT_INTEGER)
ITEM_COUNTER = whole(1, LIMIT_INPUT_ELEMENTS)


def _type(members: dict[str, Shape] | None = None, required: dict[str, Shape] | None = None) -> Shape:
    return closed({"kind": string, **(required or {})}, members, "this type")


ITEM_TYPES = {
    "string": _type({"minLength": COUNTER, "maxLength": COUNTER}),
    "integer": _type({"minimum": integer, "maximum": integer}),
    "number": _type({"minimum": number, "maximum": number}),
    "decimal": _type({"minimum": _decimal, "maximum": _decimal}),
    "choice": _type(required={"values": listed(TITLE, 1, LIMIT_CHOICE_VALUES, distinct=True)}),
}
TYPE = variants("kind", {
    **ITEM_TYPES,
    "boolean": _type(),
    "list": _type(
        {"minItems": ITEM_COUNTER},
        {"items": variants("kind", ITEM_TYPES), "maxItems": ITEM_COUNTER},
    ),
})  # fmt: skip


def _parameter(members: dict[str, Shape], what: str) -> Shape:
    optional: dict[str, Shape] = {"summary": TITLE, "required": boolean, "default": anything}
    return closed({"id": spelled(grammar.ID), "form": string, "type": TYPE, **members}, optional, what)


NAMES = listed(spelled(grammar.OPTION), 1, LIMIT_PARAMETER_NAMES)
PARAMETER = variants("form", {
    "positional": _parameter({}, "a positional parameter"),
    "option": _parameter({"names": NAMES}, "an option"),
    "flag": _parameter({"names": NAMES}, "a flag"),
})  # fmt: skip

# Conditions that the operation's own resource enforces; any other one cannot be promised. RK-DESC-029
_STRICT = {"files.write/1": ("ifAbsent",)}


def _operation(operation: str) -> Shape:
    resource: dict[str, Shape] = {"resource": spelled(grammar.NAME)} if operation.startswith("files.") else {}
    condition = choice(*_STRICT.get(operation, ()), kind="strict")
    strict = listed(condition, 0, LIMIT_REQUESTED_OPERATIONS, distinct=True)
    return closed({"operation": string, **resource}, {"strict": strict}, "this request")


OPERATION = variants("operation", {name: _operation(name) for name in OPERATIONS}, kind="operation")
REQUIRES = closed({}, {
    "operations": listed(OPERATION, 0, LIMIT_REQUESTED_OPERATIONS, distinct=True),
    "environment": listed(spelled(grammar.VARIABLE), 0, LIMIT_ENVIRONMENT_NAMES, distinct=True),
    "confinement": choice(*ENFORCEMENT_PROFILES, kind="confinement"),
}, "requires")  # fmt: skip
MAPPING = variants("kind", {
    "managed": closed({"kind": string, "entry": _entry}, None, "a managed mapping"),
    "passthrough": closed({"kind": string, "program": _program}, None, "a passthrough mapping"),
})  # fmt: skip
RESULT = variants("kind", {
    "text": closed({"kind": string}, None, "a text result"),
    "structured": closed({"kind": string, "schema": _result_schema}, None, "a structured result"),
})  # fmt: skip
MACHINE = closed({"eligible": boolean}, {
    "interaction": choice("none", "optional", "required"),
    "requiredFeatures": listed(choice(*FEATURES, kind="feature"), 0, LIMIT_REQUESTED_OPERATIONS, distinct=True),
}, "machine")  # fmt: skip
EXAMPLE = closed({
    "argv": listed(text(LIMIT_DESCRIPTION_LENGTH, low=0), 1, LIMIT_INPUT_ELEMENTS),
}, {"summary": TITLE}, "an example")  # fmt: skip
RUNTIME = variants("kind", {
    "native": closed({"kind": string}, None, "a native runtime"),
    "python": closed({"kind": string}, {"requires": spelled(grammar.RUNTIME)}, "a Python runtime"),
    "node": closed({"kind": string}, {"requires": spelled(grammar.RUNTIME)}, "a Node runtime"),
})  # fmt: skip


def _execute(**result: Shape) -> Shape:
    return closed({"mapping": MAPPING}, {
        "lifetime": choice("foreground"),
        "stdin": choice("none", "bytes"),
        **result,
        "requires": REQUIRES,
    }, "execute", _LATER)  # fmt: skip


def _command(execute: Shape, **machine: Shape) -> Shape:
    return closed({
        "id": spelled(grammar.ID), "path": PATH, "summary": TITLE, "execute": execute,
    }, {
        "title": TITLE,
        "description": DESCRIPTION,
        "aliases": listed(PATH, 0, LIMIT_COMMAND_ALIASES),
        "examples": listed(EXAMPLE, 0, LIMIT_COMMAND_EXAMPLES),
        "parameters": listed(PARAMETER, 0, LIMIT_COMMAND_PARAMETERS),
        **machine,
    }, "a command", _LATER)  # fmt: skip


def _descriptor(command: Shape) -> Shape:
    return closed({
        "format": string,
        "package": spelled(grammar.PACKAGE),
        "version": spelled(grammar.VERSION),
        "runtime": RUNTIME,
        "commands": listed(command, 1, LIMIT_DESCRIPTOR_COMMANDS),
    }, {"title": TITLE, "summary": TITLE, "description": DESCRIPTION}, "a descriptor")  # fmt: skip


# What format 2 added, and what an author of format 1 is told who writes it.
_LATER = dict.fromkeys(("result", "machine"), f'remove it, or make the format "{FORMAT}"')
FORMATS = {
    FORMAT_1: _descriptor(_command(_execute())),
    FORMAT: _descriptor(_command(_execute(result=RESULT), machine=MACHINE)),
}
