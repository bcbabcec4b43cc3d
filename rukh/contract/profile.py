"""The owner file `rukh.profile/1`: read from TOML, checked closed, and put into its one published form.

1. The text is TOML within its bytes; what is not is refused with line and column. RK-PROF-001
2. The tables below check the shape: closed objects (an unknown key names the nearest), grammars, ranges.
3. The published form has every member: durations are milliseconds, sizes bytes, costs normalized decimals,
   and a member that the owner left out stands there with its default. What a budget does not name is zero:
   nothing of it may be spent. A budget without `per` never refills. RK-PROF-004 RK-PROF-005
4. Limits only tighten: a number above the host's own is refused. RK-PROF-006
5. What this host cannot keep is refused, never recorded and passed over: it asks for no approval, so `calls` is
   unsupported. `effects` may stand, because there are no operations that it would have to ask about. RK-PROF-008

Whether presets, packages and commands that the file names exist is judged on the whole candidate
(`candidate`). Active packages are never in the file; they stand in the published profile under `packages`.
RK-PROF-002
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rukh.contract import grammar
from rukh.contract.diagnostics import Diagnostic
from rukh.contract.policy import LOCAL_USER
from rukh.contract.shapes import (
    Report,
    Shape,
    choice,
    closed,
    listed,
    mapped,
    spelled,
    string,
    text,
    variants,
    whole,
)
from rukh.values.errors import RukhError
from rukh.values.registry import (
    ENFORCEMENT_PROFILES,
    LIMIT_CONCURRENCY,
    LIMIT_DESCRIPTION_LENGTH,
    LIMIT_DIAGNOSTIC_BYTES,
    LIMIT_INTEGER,
    LIMIT_PROFILE_BYTES,
    LIMIT_PROFILE_ITEMS,
    LIMIT_RESULT_BYTES,
)
from rukh.values.unicode import check_text

FORMAT = "rukh.profile/1"

# The kind of a fault, as shapes name it, and the rule that it is here.
RULES = {
    "unknown": "RKF003", "missing": "RKF004", "type": "RKF005", "choice": "RKF006", "name": "RKF007",
    "package": "RKF007", "identity": "RKF007", "actor": "RKF007", "variable": "RKF007", "pattern": "RKF007",
    "duration": "RKF008", "size": "RKF008", "cost": "RKF008", "range": "RKF009", "repeat": "RKF010",
    "text": "RKF011", "count": "RKF012", "directory": "RKF013", "approval": "RKF014",
}  # fmt: skip

# Beside the first one: more than anybody mends at once.
_MOST_FURTHER = 8
_SHOWN = 80  # code points of a line that is no TOML
# What the reader of TOML says that says too little: what it means, and what to do.
_SYNTAX = {
    "Invalid value": (
        "no value of TOML begins here",
        "put text in double quotes; numbers, true and false have none",
    ),
    "Invalid statement": (
        "neither a key nor a table begins here",
        "write NAME = VALUE, or [TABLE] above its members",
    ),
    "Cannot overwrite a value": ("this member was given before", "give it once"),
}

# A fresh home: the local user may run what is installed, and may install what a trusted key has signed. Nobody else
# may do anything until the owner says so. RK-PROF-024
DEFAULT_PROFILE: dict[str, Any] = {
    "format": FORMAT,
    "resources": {},
    "presets": {},
    "endpoints": {},
    "rules": [
        {"action": "run", "actors": [LOCAL_USER], "commands": ["*"], "decision": "allow"},
        {"action": "install", "actors": [LOCAL_USER], "packages": ["*"], "decision": "allow"},
    ],
    "environment": {},
    "passthrough": {},
    "limits": {},
    "packages": {},
}


def read_owner_profile(source: str) -> dict[str, Any]:
    """The owner's part of a profile in its published form, without `packages`.

    Raises RukhError RKF001–RKF014: one fault, with its JSON Pointer as place (line and column for RKF001), and in its
    message a line for each further one. A member that is not known comes first: what it was meant to be is not missing
    as well. RK-PROF-050
    """
    document = _toml(source)
    if document.get("format") != FORMAT:
        mend = f'begin with: format = "{FORMAT}"'
        raise RukhError("RKF002", f"the format is not {FORMAT}", place="/format", mend=mend)
    report = Report(RULES)
    PROFILE(report, "", document)
    if report.found:
        raise _refused(_told(report.found))
    return _published(document)


def _told(found: list[Diagnostic]) -> list[Diagnostic]:
    """The findings that one mend each answers, unknown members first."""
    unknown = [finding for finding in found if finding.rule == RULES["unknown"]]
    meant = {(finding.pointer.rpartition("/")[0], finding.mend.partition('"')[2]) for finding in unknown}
    others = [finding for finding in found if finding.rule != RULES["unknown"]]
    return unknown + [
        finding
        for finding in others
        if finding.rule != RULES["missing"]
        or (finding.pointer, finding.mend.partition('"')[2] + "?") not in meant
    ]


def _refused(found: list[Diagnostic]) -> RukhError:
    first, *further = found
    lines = [f"{first.message} (and {len(further)} more)" if further else first.message]
    lines += [
        f"{finding.pointer or '/'}: {finding.message} [{finding.rule}]; {finding.mend}"
        for finding in further[:_MOST_FURTHER]
    ]
    if len(further) > _MOST_FURTHER:
        lines.append(f"and {len(further) - _MOST_FURTHER} more")
    return RukhError(first.rule, "\n".join(lines), place=first.pointer, mend=first.mend)


def export_toml(profile: dict[str, Any]) -> str:
    """The owner's part of a published profile as TOML; reading it gives that part again. RK-PROF-003"""
    from tomli_w import dumps

    return dumps(
        {name: _WRITTEN.get(name, _as_it_is)(profile[name]) for name in DEFAULT_PROFILE if name != "packages"}
    )


def _toml(source: str) -> dict[str, Any]:
    import tomllib

    size = len(source.encode("utf-8", "surrogatepass"))
    if size > LIMIT_PROFILE_BYTES:
        raise RukhError(
            "RKF001", f"{size} bytes, the limit is {LIMIT_PROFILE_BYTES}", mend="shorten the file"
        )
    try:
        return tomllib.loads(check_text(source))
    except RecursionError:
        raise RukhError("RKF001", "values are nested too deeply", mend="nest less deeply") from None
    except ValueError as error:  # TOMLDecodeError, and an integer of more digits than Python reads
        found = re.search(r"(.*) \(at line (\d+), column (\d+)\)", str(error))
        message, line, column = found.groups() if found else (str(error), 0, 0)
        message, mend = _SYNTAX.get(message, (message, "see the grammar of TOML 1.0"))
        written = source.split("\n")[int(line) - 1].strip() if found else ""
        message += f": {written[:_SHOWN]}" if written else ""
        raise RukhError("RKF001", message, line=int(line), column=int(column), mend=mend) from None


# Shapes that need a word of code.


def _cost(report: Report, pointer: str, value: Any) -> None:
    string(report, pointer, value)
    if report.clean(pointer) and grammar.cost(value) is None:
        report.add(
            "cost", pointer, f"{value[:80]!r} is no cost", 'write an exact decimal as text, such as "5.00"'
        )


def _approval(report: Report, pointer: str, value: Any) -> None:
    choice("none", "effects", "calls")(report, pointer, value)
    if report.clean(pointer) and value == "calls":
        message = "this version cannot ask for the approval of a call"
        mend = 'write "effects", and let a rule deny what nobody may call unasked'
        report.add("approval", pointer, message, mend)


def _size(low: int, high: int) -> Shape:
    """A size from `low` to `high` bytes."""

    def check(report: Report, pointer: str, value: Any) -> None:
        spelled(grammar.SIZE)(report, pointer, value)
        if report.clean(pointer) and not low <= grammar.byte_count(value) <= high:
            largest = grammar.size_text(high)
            report.add("range", pointer, f"{value} is outside {low}B to {largest}", f"use at most {largest}")

    return check


# The tables.

VALUE = text(LIMIT_DESCRIPTION_LENGTH, low=0, lines=True)
COUNT = whole(0, LIMIT_INTEGER)


def _several(item: Shape, low: int = 0) -> Shape:
    return listed(item, low, LIMIT_PROFILE_ITEMS, distinct=True)


RESOURCE = variants("kind", {"directory": closed({
    "kind": string, "path": spelled(grammar.DIRECTORY), "access": choice("read", "read-write"),
}, None, "a directory")})  # fmt: skip
BUDGET = closed({"calls": COUNT}, {
    "effects": COUNT, "bytes": spelled(grammar.SIZE), "cost": _cost, "per": spelled(grammar.DURATION),
}, "a budget")  # fmt: skip
PRESET = closed({"deadline": spelled(grammar.DURATION), "budget": BUDGET}, {
    "approval": _approval, "enforcement": choice(*ENFORCEMENT_PROFILES),
}, "a preset")  # fmt: skip
ENDPOINT = closed({
    "transport": choice("stdio"), "namespace": spelled(grammar.PACKAGE), "preset": spelled(grammar.NAME),
    "actor": spelled(grammar.AGENT),
}, {"commands": _several(spelled(grammar.IDENTITY)), "packages": _several(spelled(grammar.PACKAGE))},
    "an endpoint")  # fmt: skip


def _rule(targets: str, pattern: grammar.Form) -> Shape:
    return closed({
        "action": string, "actors": _several(spelled(grammar.ACTOR_PATTERN), 1),
        targets: _several(spelled(pattern), 1), "decision": choice("allow", "deny"),
    }, None, f"a rule about {targets}")  # fmt: skip


RULE = variants("action", {
    "run": _rule("commands", grammar.COMMAND_PATTERN),
    "install": _rule("packages", grammar.PACKAGE_PATTERN),
})  # fmt: skip
GRANT = closed({"arguments": choice("unrestricted")}, None, "a passthrough grant")
LIMITS = closed({}, {
    "concurrency": whole(1, LIMIT_CONCURRENCY),
    "resultBytes": _size(1, LIMIT_RESULT_BYTES),
    "diagnosticBytes": _size(0, LIMIT_DIAGNOSTIC_BYTES),
}, "limits")  # fmt: skip
PROFILE = closed({"format": string}, {
    "resources": mapped(grammar.NAME, RESOURCE),
    "presets": mapped(grammar.NAME, PRESET),
    "endpoints": mapped(grammar.NAME, ENDPOINT),
    "rules": listed(RULE, 0, LIMIT_PROFILE_ITEMS),
    "environment": mapped(grammar.PACKAGE, mapped(grammar.VARIABLE, VALUE)),
    "passthrough": mapped(grammar.IDENTITY, GRANT),
    "limits": LIMITS,
}, "an owner file")  # fmt: skip


# From the file to the published form, and back.


def _published(document: dict[str, Any]) -> dict[str, Any]:
    empty = {name: value for name, value in DEFAULT_PROFILE.items() if name not in ("packages", "rules")}
    profile = {**empty, "rules": [], **document}
    profile["presets"] = {name: _preset(preset) for name, preset in profile["presets"].items()}
    profile["endpoints"] = {
        name: {"commands": [], "packages": [], **endpoint} for name, endpoint in profile["endpoints"].items()
    }
    profile["limits"] = {
        name: grammar.byte_count(limit) if isinstance(limit, str) else limit
        for name, limit in profile["limits"].items()
    }
    return profile


def _preset(preset: dict[str, Any]) -> dict[str, Any]:
    return {
        "deadline": grammar.milliseconds(preset["deadline"]),
        "budget": _budget(preset["budget"]),
        "approval": preset.get("approval", "effects"),
        "enforcement": preset.get("enforcement", "host-trusted/1"),
    }


def _budget(budget: dict[str, Any]) -> dict[str, Any]:
    published = {
        "calls": budget["calls"],
        "effects": budget.get("effects", 0),
        "bytes": grammar.byte_count(budget.get("bytes", "0B")),
        "cost": grammar.cost(budget.get("cost", "0")),
    }
    if "per" in budget:
        published["per"] = grammar.milliseconds(budget["per"])
    return published


def _written_presets(presets: dict[str, Any]) -> dict[str, Any]:
    return {name: _written_preset(preset) for name, preset in presets.items()}


def _written_preset(preset: dict[str, Any]) -> dict[str, Any]:
    budget = {**preset["budget"], "bytes": grammar.size_text(preset["budget"]["bytes"])}
    if "per" in budget:
        budget["per"] = grammar.duration_text(budget["per"])
    return {**preset, "deadline": grammar.duration_text(preset["deadline"]), "budget": budget}


def _written_limits(limits: dict[str, int]) -> dict[str, Any]:
    return {
        name: limit if name == "concurrency" else grammar.size_text(limit) for name, limit in limits.items()
    }


def _as_it_is(part: Any) -> Any:
    return part


_WRITTEN: dict[str, Callable[[Any], Any]] = {"presets": _written_presets, "limits": _written_limits}
