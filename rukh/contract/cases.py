"""The cases of an extension, `rukh.cases/1`: read, checked against the descriptor, and given back or refused.

1. The strict reader reads the document; what it refuses is the one fault.
2. The tables below check the shape, as the descriptor's do: closed objects, types, bounds, the nearest known name.
3. What no table can say is checked behind it: a case says either words or a command with inputs; the command is there;
   the variables are declared; what a case expects is something that its command can show.

All faults are found in one run and stand in order of place, as those of a descriptor do. RK-AUTHOR-050 RK-AUTHOR-051
RK-AUTHOR-062
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rukh.contract import grammar
from rukh.contract.diagnostics import Diagnostic
from rukh.contract.shapes import (
    Report,
    anything,
    choice,
    closed,
    is_type,
    listed,
    mapped,
    spelled,
    string,
    text,
    whole,
)
from rukh.values.errors import RukhError
from rukh.values.nearest import nearest
from rukh.values.pointer import join
from rukh.values.reader import read_located
from rukh.values.registry import (
    LIMIT_DESCRIPTION_LENGTH,
    LIMIT_DESCRIPTOR_BYTES,
    LIMIT_DESCRIPTOR_DEPTH,
    LIMIT_DESCRIPTOR_MEMBERS,
    LIMIT_TITLE_LENGTH,
    OUTCOMES,
    REASON_EXITS,
)

FORMAT = "rukh.cases/1"
CASES_FILE = "rukh-cases.json"
TERMINAL, AGENT = "terminal", "agent"
SURFACES = (TERMINAL, AGENT)
SECONDS = 60  # a case that says nothing else has so many
MOST_SECONDS = 3600
_MOST_CASES = 1024
_MOST_WORDS = 256

RULES = {
    "format": "RKX001", "unknown": "RKX002", "missing": "RKX003", "type": "RKX004", "choice": "RKX005",
    "text": "RKX006", "count": "RKX007", "range": "RKX008", "repeat": "RKX009", "either": "RKX010",
    "command": "RKX011", "undeclared": "RKX012", "expectation": "RKX013", "id": "RKX014", "variable": "RKX014",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """One call and what is expected of it. `command` is the descriptor's entry, None where the words name none.

    `argv` holds the words, or is None where `inputs` are given by parameter id.
    """

    name: str
    command: dict[str, Any] | None
    argv: list[str] | None
    inputs: dict[str, Any]
    stdin: str
    seconds: float
    surfaces: tuple[str, ...]
    expect: dict[str, Any]

    @property
    def managed(self) -> bool:
        """Whether the call has an outcome of its own, and not only a status."""
        return _is_managed(self.command)


@dataclass(frozen=True, slots=True)
class Cases:
    """All cases of a file, and the values that they give to declared variables."""

    cases: list[Case]
    environment: dict[str, str] = field(default_factory=dict)


def judge_cases(
    data: bytes, descriptor: dict[str, Any] | None, *, seconds: float = SECONDS
) -> tuple[Cases | None, list[Diagnostic]]:
    """The cases in `data`, or None, and what is wrong with them, RKV… or RKX001–RKX014. Never raises on bad input.

    Of a checked `descriptor`; without one (None) the shape alone is judged. A case that says no time has `seconds`.
    """
    try:
        document, positions = read_located(
            data,
            max_bytes=LIMIT_DESCRIPTOR_BYTES,
            max_depth=LIMIT_DESCRIPTOR_DEPTH,
            max_members=LIMIT_DESCRIPTOR_MEMBERS,
        )
    except RukhError as refusal:
        place = (max(refusal.line, 1), max(refusal.column, 1))
        return None, [Diagnostic(refusal.rule, "", *place, refusal.message, refusal.mend)]
    report = Report(RULES)
    if _is_known(report, document):
        FILE(report, "", document)
        if descriptor is not None:
            _check_environment(report, document, descriptor)
            _check_cases(report, document, descriptor)
    found = report.located(positions)
    if found or descriptor is None:
        return None, found
    cases = [_case(case, descriptor, seconds) for case in document["cases"]]
    return Cases(cases, document.get("environment", {})), []


def command_of(argv: list[str], descriptor: dict[str, Any]) -> tuple[dict[str, Any] | None, int]:
    """The command that the words lead to by the longest of its paths and aliases, and how many words those are."""
    best: tuple[dict[str, Any] | None, int] = (None, 0)
    for command in descriptor["commands"]:
        for path in (command["path"], *command.get("aliases", ())):
            if argv[: len(path)] == path and len(path) > best[1]:
                best = (command, len(path))
    return best


def _is_known(report: Report, document: Any) -> bool:
    known = isinstance(document, dict) and document.get("format") == FORMAT
    if not known:
        mend = f'begin with an object whose member "format" is "{FORMAT}"'
        report.add("format", "/format" if isinstance(document, dict) else "", f"this is no {FORMAT}", mend)
    return known


def _case(case: dict[str, Any], descriptor: dict[str, Any], seconds: float) -> Case:
    return Case(
        name=case["name"],
        command=_command(case, descriptor),
        argv=case.get("argv"),
        inputs=case.get("inputs", {}),
        stdin=case.get("stdin", ""),
        seconds=case.get("seconds", seconds),
        surfaces=tuple(case.get("surfaces", SURFACES)),
        expect=case.get("expect", {}),
    )


def _command(case: dict[str, Any], descriptor: dict[str, Any]) -> dict[str, Any] | None:
    if "argv" in case:
        return command_of(case["argv"], descriptor)[0]
    return next((command for command in descriptor["commands"] if command["id"] == case["command"]), None)


# What no table can say.


def _check_environment(report: Report, document: dict[str, Any], descriptor: dict[str, Any]) -> None:
    if not report.clean("/environment"):
        return
    declared = {
        name
        for command in descriptor["commands"]
        for name in command["execute"].get("requires", {}).get("environment", ())
    }
    for name in document.get("environment", {}):
        if name not in declared:
            mend = f"declared are: {', '.join(sorted(declared)) or 'none'}"
            place = join("/environment", name)
            report.add("undeclared", place, f"no command declares {name}", mend, at_name=True)


def _check_cases(report: Report, document: dict[str, Any], descriptor: dict[str, Any]) -> None:
    names: set[str] = set()
    cases = document.get("cases")
    for index, case in enumerate(cases if isinstance(cases, list) else ()):
        place = join("/cases", index)
        if not report.clean(place):
            continue
        if case["name"] in names:
            report.add("repeat", f"{place}/name", f"two cases are called {case['name']!r}", "rename one")
        names.add(case["name"])
        _check_case(report, place, case, descriptor)


def _check_case(report: Report, place: str, case: dict[str, Any], descriptor: dict[str, Any]) -> None:
    if ("argv" in case) == ("command" in case):
        report.add("either", place, "a case says argv or command", "keep one of them")
        return
    if "argv" in case and "inputs" in case:
        mend = "name the command by its id, or write the inputs as words"
        report.add("either", f"{place}/inputs", "inputs stand beside argv", mend, at_name=True)
        return
    command = _command(case, descriptor)
    if command is None and "command" in case:
        known = ", ".join(each["id"] for each in descriptor["commands"])
        message = f"there is no command {case['command']}"
        report.add("command", f"{place}/command", message, f"the descriptor has: {known}")
        return
    if command is None and not _expects_a_refusal(case):
        _misses(report, place, case["argv"], descriptor)
        return
    if command is not None and "command" in case and not _is_managed(command):
        message = "a passthrough program takes words, not inputs"
        report.add("either", f"{place}/command", message, "write argv", at_name=True)
        return
    surfaces = case.get("surfaces", [])
    if AGENT in surfaces and not _can_be_a_tool(command):
        message = "no agent can call this"
        report.add("expectation", f"{place}/surfaces", message, 'keep "terminal"', at_name=True)
    expect = case.get("expect", {})
    for name, why in {**_unseen(surfaces, expect), **_never_shown(command, expect)}.items():
        report.add("expectation", join(f"{place}/expect", name), why, "leave it out", at_name=True)


def _expects_a_refusal(case: dict[str, Any]) -> bool:
    """Whether words that name no command are meant: the case says so by a status, and expects nothing of a command."""
    expect = case.get("expect", {})
    return bool(expect.get("exitCode")) and _PLAIN.issuperset(expect)


def _misses(report: Report, place: str, argv: list[str], descriptor: dict[str, Any]) -> None:
    """The word at which the words leave every path, and what stands there on the way. RK-AUTHOR-061"""
    ways = [
        way for command in descriptor["commands"] for way in (command["path"], *command.get("aliases", ()))
    ]
    depth = max(_common(argv, way) for way in ways)
    there = sorted({way[depth] for way in ways if _common(argv, way) == depth and depth < len(way)})
    if depth == len(argv):
        message, mend = "the words name a group, and no command", f"go on with one of: {', '.join(there)}"
        report.add("command", f"{place}/argv", message, mend)
        return
    near = nearest(argv[depth], there)
    known = f"a command begins with one of: {', '.join(there)}"
    if depth:
        known = f"behind {' '.join(argv[:depth])} stands one of: {', '.join(there)}"
    mend = f"did you mean {near}?" if near else f'{known}; if a refusal is meant, expect its "exitCode"'
    message = f"no command of the extension has {argv[depth]!r} here"
    report.add("command", f"{place}/argv/{depth}", message, mend)


def _common(words: list[str], way: list[str]) -> int:
    """How many words both begin with."""
    most = min(len(words), len(way))
    return next((index for index in range(most) if words[index] != way[index]), most)


def _is_managed(command: dict[str, Any] | None) -> bool:
    return command is not None and command["execute"]["mapping"]["kind"] == "managed"


def _can_be_a_tool(command: dict[str, Any] | None) -> bool:
    """As RK-PROJ-001 says of the compiled record."""
    machine = command.get("machine", {}) if command is not None and _is_managed(command) else {}
    return bool(machine.get("eligible")) and machine.get("interaction") != "required"


def _unseen(surfaces: list[str], expect: dict[str, Any]) -> dict[str, str]:
    """The expectations that none of the case's surfaces shows. RK-AUTHOR-068"""
    alone = surfaces == [AGENT]
    return {name: "only a terminal shows this" for name in _OF_A_TERMINAL if alone and name in expect}


def _never_shown(command: dict[str, Any] | None, expect: dict[str, Any]) -> dict[str, str]:
    """The expectations that the command can never meet, each with the reason."""
    if command is None:
        return {}  # words that are to be refused
    if not _is_managed(command):
        return {
            name: "a passthrough program has a status and output alone"
            for name in expect
            if name not in _PLAIN
        }
    kind = command["execute"].get("result", {}).get("kind")
    never = {"stdout": "the standard output of a managed command is no result; expect it in stderrContains"}
    if kind != "structured":
        never["data"] = "the command declares no structured result"
    if kind != "text":
        never["text"] = "the command declares no text result"
    return {name: why for name, why in never.items() if name in expect}


def _object(report: Report, pointer: str, value: Any) -> None:
    """Inputs as a caller may give them, wrong ones too."""
    is_type(report, pointer, value, dict)


# The tables.

_NAME = text(LIMIT_TITLE_LENGTH)
_PIECE = text(LIMIT_DESCRIPTION_LENGTH, lines=True)
# What every process shows, whatever it runs.
_PLAIN = frozenset({"exitCode", "stdout", "stderrContains"})
_OF_A_TERMINAL = ("exitCode", "stderrContains")

EXPECT = closed({}, {
    "outcome": choice(*OUTCOMES),
    "exitCode": whole(0, 255),
    "reason": choice(*REASON_EXITS),
    "messageContains": _PIECE,
    "data": anything,
    "text": string,
    "stdout": string,
    "stderrContains": _PIECE,
}, "an expectation")  # fmt: skip

CASE = closed({"name": _NAME}, {
    "argv": listed(string, 1, _MOST_WORDS),
    "command": spelled(grammar.ID),
    "inputs": _object,
    "stdin": string,
    "seconds": whole(1, MOST_SECONDS),
    "surfaces": listed(choice(*SURFACES), 1, len(SURFACES), distinct=True),
    "expect": EXPECT,
}, "a case")  # fmt: skip

FILE = closed({
    "format": string,
    "cases": listed(CASE, 1, _MOST_CASES),
}, {
    "environment": mapped(grammar.VARIABLE, text(LIMIT_DESCRIPTION_LENGTH, low=0, lines=True)),
}, "a cases file")  # fmt: skip
