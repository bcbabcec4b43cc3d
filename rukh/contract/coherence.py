"""What no table of the descriptor can say: rules that hold between two members.

Each rule is one function of the same form, listed in PARAMETER_RULES, COMMAND_RULES or PACKAGE_RULES. A rule
looks only at parts in which nothing else was found, so that one mistake is reported once. RK-DESC-002

A command's paths and aliases, and the prefixes of both (its groups), share one space of words: nothing in it
may stand for two things. A boolean flag `--name` also owns `--no-name`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rukh.contract.parameters import bind
from rukh.contract.shapes import Report
from rukh.values.errors import RukhError
from rukh.values.numbers import compare_decimals, normalize_decimal
from rukh.values.pointer import join
from rukh.values.registry import CORE_OPTIONS

FEATURE_RESULT = "command-result/1"
_BOUNDS = (("minLength", "maxLength"), ("minimum", "maximum"), ("minItems", "maxItems"))
_NODE_ENDINGS = (".mjs", ".cjs", ".js")
_MANAGED_ONLY = (
    ("parameters",),
    ("execute", "result"),
    ("execute", "requires", "operations"),
    ("machine", "eligible"),
)


def check_coherence(report: Report, document: dict[str, Any]) -> None:
    """Report every fault between members of a descriptor of a known format."""
    commands = _commands(document)
    for pointer, command in commands:
        for place, parameter in _parameters(command, pointer):
            for rule in PARAMETER_RULES:
                rule(report, place, parameter)
        for command_rule in COMMAND_RULES:
            command_rule(report, pointer, command)
        _entry_fits_runtime(report, pointer, command, _part(report, "", document, "runtime", "kind"))
    for package_rule in PACKAGE_RULES:
        package_rule(report, commands)


def names_of_the_core(report: Report, document: dict[str, Any], kind: str, mend: str) -> None:
    """Report as `kind` each option name that belongs to the core. RK-DESC-015 RK-DESC-035"""
    for pointer, command in _commands(document):
        for place, parameter in _parameters(command, pointer):
            for spot, name in _items(parameter, place, "names"):
                if name in CORE_OPTIONS and report.clean(spot):
                    report.add(kind, spot, f"{name} belongs to every command", mend)


def _commands(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [pair for pair in _items(document, "", "commands") if isinstance(pair[1], dict)]


def _items(holder: dict[str, Any], pointer: str, name: str) -> Iterator[tuple[str, Any]]:
    """Pointer and value of each element of a list member; nothing where it is no list."""
    value = holder.get(name)
    if isinstance(value, list):
        place = join(pointer, name)
        for index, element in enumerate(value):
            yield f"{place}/{index}", element


def _parameters(command: dict[str, Any], pointer: str) -> list[tuple[str, dict[str, Any]]]:
    return [(place, item) for place, item in _items(command, pointer, "parameters") if isinstance(item, dict)]


def _part(report: Report, pointer: str, holder: Any, *names: str) -> Any:
    """The member along `names`, or None where it is absent or something was found in it."""
    for name in names:
        if not isinstance(holder, dict) or name not in holder:
            return None
        holder = holder[name]
    if report.spotless:
        return holder
    for name in names:
        pointer = join(pointer, name)
    return holder if report.clean(pointer) else None


# One parameter.


def _form_goes_with_type(report: Report, pointer: str, parameter: dict[str, Any]) -> None:
    """No value on the command line spells a boolean: it is a flag, and a flag is nothing else. RK-DESC-016"""
    form, kind = _part(report, pointer, parameter, "form"), _part(report, pointer, parameter, "type", "kind")
    if form and kind and (form == "flag") is not (kind == "boolean"):
        mend = (
            "make it a flag, or choose another type" if kind == "boolean" else "a flag has the type boolean"
        )
        report.add("form-type", join(pointer, "type"), f"a {form} does not take the type {kind}", mend)


def _bounds_agree(report: Report, pointer: str, parameter: dict[str, Any]) -> None:
    """RK-DESC-020"""
    place, declared = join(pointer, "type"), _part(report, pointer, parameter, "type")
    while declared:
        for low, high in _BOUNDS:
            if low in declared and high in declared and _above(declared, low, high):
                message = f"{low} {declared[low]} is above {high} {declared[high]}"
                report.add("range", join(place, low), message, f"lower {low} or raise {high}")
        place, declared = join(place, "items"), declared.get("items")


def _above(declared: dict[str, Any], low: str, high: str) -> bool:
    lower, upper = declared[low], declared[high]
    if declared["kind"] == "decimal":
        return compare_decimals(normalize_decimal(lower), normalize_decimal(upper)) > 0
    return bool(lower > upper)


def _required_has_no_default(report: Report, pointer: str, parameter: dict[str, Any]) -> None:
    if _part(report, pointer, parameter, "required") and "default" in parameter:
        message = "a required parameter never takes its default"
        report.add("required-default", join(pointer, "default"), message, "leave out required or default")


def _default_is_a_value(report: Report, pointer: str, parameter: dict[str, Any]) -> None:
    """The semantic validator judges it as if a caller had supplied it; only [] says what no caller can."""
    name, declared = _part(report, pointer, parameter, "id"), _part(report, pointer, parameter, "type")
    if "default" not in parameter or not name or not declared:
        return
    if declared["kind"] == "list" and parameter["default"] == []:
        return
    if parameter["default"] is None:
        report.add("default", join(pointer, "default"), "null is no value", 'leave "default" out')
        return
    try:
        bind([binding(parameter, required=True)], {name: parameter["default"]})
    except RukhError as refusal:
        below = refusal.place.removeprefix(join("", name))
        report.add("default", join(pointer, "default") + below, refusal.message, refusal.mend or "change it")


def binding(parameter: dict[str, Any], *, required: bool) -> dict[str, Any]:
    """The parameter as the semantic validator wants it, without its default."""
    kept = {key: value for key, value in parameter.items() if key != "default"}
    return {"names": [], "summary": "", **kept, "required": required}


# One command.


def _parameter_ids_differ(report: Report, pointer: str, command: dict[str, Any]) -> None:
    seen: set[str] = set()
    for place, parameter in _parameters(command, pointer):
        name = _part(report, place, parameter, "id")
        if name in seen:
            report.add("parameter-twice", join(place, "id"), f"the id {name!r} stands twice", "rename one")
        elif name:
            seen.add(name)


def _option_names_differ(report: Report, pointer: str, command: dict[str, Any]) -> None:
    """RK-DESC-014"""
    seen: set[str] = set()
    for place, parameter in _parameters(command, pointer):
        for spot, name in _items(parameter, place, "names"):
            if not report.clean(spot):
                continue
            owned = {name}
            if parameter.get("form") == "flag" and name.startswith("--"):
                owned.add("--no-" + name.removeprefix("--"))
            if owned & seen:
                taken = ", ".join(sorted(owned & seen))
                report.add("option-twice", spot, f"{taken} already names a parameter", "choose another name")
            seen |= owned


def _positionals_in_order(report: Report, pointer: str, command: dict[str, Any]) -> None:
    """Required before optional, and a list takes all that is left. RK-DESC-017"""
    optional = taken = False
    for place, parameter in _parameters(command, pointer):
        if _part(report, place, parameter, "form") != "positional":
            continue
        if taken:
            report.add(
                "positional-list", place, "a list before it takes all that is left", "put the list last"
            )
        elif optional and parameter.get("required") is True:
            message = "it is required, and an optional positional stands before it"
            report.add("positional-order", place, message, "put required positionals first")
        optional = optional or parameter.get("required") is not True
        taken = taken or _part(report, place, parameter, "type", "kind") == "list"


def _defaults_fit_together(report: Report, pointer: str, command: dict[str, Any]) -> None:
    """A call that supplies nothing is still bounded as a whole."""
    place, declared = join(pointer, "parameters"), _part(report, pointer, command, "parameters")
    try:
        bind([binding(parameter, required=False) | _default(parameter) for parameter in declared or []], {})
    except RukhError as refusal:
        report.add("default", place, refusal.message, "shorten the defaults")


def _default(parameter: dict[str, Any]) -> dict[str, Any]:
    return {"default": parameter["default"]} if "default" in parameter else {}


def _examples_begin_with_a_path(report: Report, pointer: str, command: dict[str, Any]) -> None:
    path = _part(report, pointer, command, "path")
    if not path or not report.clean(join(pointer, "aliases")):
        return
    ways = [path, *(way for _, way in _items(command, pointer, "aliases"))]
    for place, example in _items(command, pointer, "examples"):
        argv = _part(report, place, example, "argv")
        if argv and not any(argv[: len(way)] == way for way in ways):
            mend = f"begin with {' '.join(path)}"
            report.add("example", join(place, "argv"), "the example calls another command", mend)


def _entry_fits_runtime(report: Report, pointer: str, command: dict[str, Any], runtime: str | None) -> None:
    """RK-DESC-028"""
    place = join(join(join(pointer, "execute"), "mapping"), "entry")
    entry = _part(report, pointer, command, "execute", "mapping", "entry")
    if entry is None or runtime is None:
        return
    if runtime == "python" and isinstance(entry, list):
        report.add("entry", place, "a program stands where a function belongs", "write module:function")
    elif runtime != "python" and isinstance(entry, str):
        report.add("entry", place, "a function stands where a program belongs", 'write a list: ["bin/x"]')
    elif runtime == "node" and not entry[0].endswith(_NODE_ENDINGS):
        mend = f"end it with {', '.join(_NODE_ENDINGS)}"
        report.add("entry", join(place, 0), f"{entry[0]!r} is no script", mend)


def _eligible_is_possible(report: Report, pointer: str, command: dict[str, Any]) -> None:
    """The machine baseline; a passthrough command has its own rule. RK-DESC-026"""
    machine, execute = _part(report, pointer, command, "machine"), command.get("execute")
    if not machine or not machine["eligible"] or not isinstance(execute, dict):
        return
    if _part(report, pointer, command, "execute", "mapping", "kind") != "managed":
        return
    place = join(pointer, "machine")
    if "result" not in execute:
        mend = 'declare "result", or say that it is not eligible'
        report.add("no-result", join(place, "eligible"), "execute declares no result", mend)
    if FEATURE_RESULT not in machine.get("requiredFeatures", []):
        spot = join(place, "requiredFeatures") if "requiredFeatures" in machine else place
        report.add("no-feature", spot, f"{FEATURE_RESULT} is not required", f'add "{FEATURE_RESULT}"')
    if execute.get("stdin") == "bytes":
        mend = 'take the bytes as a parameter and set stdin to "none"'
        report.add("stdin", f"{pointer}/execute/stdin", "a machine sends no standard input", mend)


def _passthrough_declares_little(report: Report, pointer: str, command: dict[str, Any]) -> None:
    """An opaque program has neither typed inputs nor a result, and no channel to ask on. RK-DESC-027"""
    if _part(report, pointer, command, "execute", "mapping", "kind") != "passthrough":
        return
    for names in _MANAGED_ONLY:
        if _part(report, pointer, command, *names):
            place = "/".join((pointer, *names))
            mend = "leave it out, or make the command managed"
            report.add("passthrough", place, f"a passthrough command has no {names[-1]}", mend)


# The whole package.


def _command_ids_differ(report: Report, commands: list[tuple[str, dict[str, Any]]]) -> None:
    seen: set[str] = set()
    for pointer, command in commands:
        name = _part(report, pointer, command, "id")
        if name in seen:
            report.add("command-twice", join(pointer, "id"), f"the id {name!r} stands twice", "rename one")
        elif name:
            seen.add(name)


def _routes_differ(report: Report, commands: list[tuple[str, dict[str, Any]]]) -> None:
    """RK-DESC-013"""
    ways = [way for pointer, command in commands for way in _ways(report, pointer, command)]
    groups = {way[:length] for _, way in ways for length in range(1, len(way))}
    seen: set[tuple[str, ...]] = set()
    for place, way in ways:
        if way in seen:
            report.add("route", place, f"{' '.join(way)!r} already names a command", "choose other words")
        elif way in groups:
            report.add("route", place, f"{' '.join(way)!r} also begins a longer path", "choose other words")
        seen.add(way)


def _ways(report: Report, pointer: str, command: dict[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Place and words of the path and of each alias."""
    for place, words in ((join(pointer, "path"), command.get("path")), *_items(command, pointer, "aliases")):
        if report.clean(place) and isinstance(words, list):
            yield place, tuple(words)


PARAMETER_RULES = (_form_goes_with_type, _bounds_agree, _required_has_no_default, _default_is_a_value)
COMMAND_RULES = (
    _parameter_ids_differ,
    _option_names_differ,
    _positionals_in_order,
    _defaults_fit_together,
    _examples_begin_with_a_path,
    _eligible_is_possible,
    _passthrough_declares_little,
)
PACKAGE_RULES = (_command_ids_differ, _routes_differ)
