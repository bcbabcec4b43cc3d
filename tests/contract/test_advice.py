"""Advice: each piece where it belongs, and not beside it."""

from __future__ import annotations

from typing import Any

import pytest

from rukh.contract.advice import advise
from rukh.contract.descriptor import check
from rukh.values import registry
from rukh.values.rules import RULES
from tests.contract.documents import encoded, load, patched

BASE = load("spec/explanations.json")["base"]
C = "/commands/0"
# 30 characters of identity, and 31: the digest takes 66, and 96 are advised.
FITS, TOO_LONG = "a" * 19, "a" * 20


def found(document: Any) -> list[tuple[str, str]]:
    checked = check(encoded(document))
    assert checked.diagnostics == []
    assert checked.descriptor is not None and checked.positions is not None
    return [(one.rule, one.pointer) for one in advise(checked.descriptor, checked.positions)]


def changed(path: str, value: Any) -> Any:
    return patched(BASE, [{"op": "replace", "path": path, "value": value}])


def without(path: str) -> Any:
    return patched(BASE, [{"op": "remove", "path": path}])


def string(**members: Any) -> dict[str, Any]:
    return {"kind": "string", **members}


def strings(most: int, **members: Any) -> dict[str, Any]:
    return {"kind": "list", "items": string(**members), "maxItems": most}


TYPE = f"{C}/parameters/0/type"
LIST = f"{C}/parameters/1/type"
NAMES = f"{C}/parameters/3/names"
FLAG = f"{C}/parameters/4/names"
RESULT = f"{C}/execute/result"
OPEN = "/commands/1/path"
# Five parameters count as elements too.
MOST_ITEMS = registry.LIMIT_INPUT_ELEMENTS - 5

# The change, the advice with its place, and a sibling without it.
GIVEN = {
    "a name that is too long": (changed(f"{C}/id", TOO_LONG), "RKW001", f"{C}/id", changed(f"{C}/id", FITS)),
    "no title": (without(f"{C}/title"), "RKW002", C, changed(f"{C}/title", "x")),
    "no description": (without(f"{C}/description"), "RKW003", C, changed(f"{C}/description", "x")),
    "a parameter without summary": (
        without(f"{C}/parameters/2/summary"), "RKW004", f"{C}/parameters/2",
        changed(f"{C}/parameters/2/summary", "x"),
    ),
    "no example": (without(f"{C}/examples"), "RKW005", C, changed(f"{C}/examples", [{"argv": ["n", "add"]}])),
    "an empty list of examples": (changed(f"{C}/examples", []), "RKW005", C, BASE),
    "short names alone": (changed(NAMES, ["-c", "-C"]), "RKW006", NAMES, changed(NAMES, ["-c", "--colour"])),
    "a flag with a short name alone": (changed(FLAG, ["-p"]), "RKW006", FLAG, changed(FLAG, ["-p", "--pin"])),
    "one choice": (
        changed(f"{C}/parameters/3/type/values", ["red"]), "RKW007", f"{C}/parameters/3/type/values",
        changed(f"{C}/parameters/3/type/values", ["red", "blue"]),
    ),
    "one choice in a list": (
        changed(LIST, {"kind": "list", "items": {"kind": "choice", "values": ["a"]}, "maxItems": 2}), "RKW007",
        f"{LIST}/items/values",
        changed(LIST, {"kind": "list", "items": {"kind": "choice", "values": ["a", "b"]}, "maxItems": 2}),
    ),
    "an unbounded string": (changed(TYPE, string()), "RKW008", TYPE, changed(TYPE, string(maxLength=1))),
    "a list of unbounded strings": (
        changed(LIST, strings(8)), "RKW008", f"{LIST}/items", changed(LIST, strings(8, maxLength=1)),
    ),
    "a string longer than all inputs": (
        changed(TYPE, string(maxLength=65_537)), "RKW009", f"{TYPE}/maxLength",
        changed(TYPE, string(maxLength=65_536)),
    ),
    "more items than a call carries": (
        changed(LIST, strings(MOST_ITEMS + 1, maxLength=1)), "RKW009", f"{C}/parameters",
        changed(LIST, strings(MOST_ITEMS, maxLength=1)),
    ),
    "a text result": (
        changed(RESULT, {"kind": "text"}), "RKW010", RESULT,
        changed(RESULT, {"kind": "structured", "schema": {"type": "null"}}),
    ),
    "nothing about machines": (
        without(f"{C}/machine"), "RKW011", C, changed(f"{C}/machine", {"eligible": False}),
    ),
    "a flag that denies": (
        changed(FLAG, ["--pin", "--no-look"]), "RKW012", f"{FLAG}/1", changed(FLAG, ["--pin", "--nolook"]),
    ),
    "a word of the core": (
        changed(OPEN, ["install"]), "RKW013", f"{OPEN}/0", changed(OPEN, ["installs"]),
    ),
    "a word of the core in front": (
        changed(OPEN, ["help", "x"]), "RKW013", f"{OPEN}/0", changed(OPEN, ["x", "help"]),
    ),
    "an alias of the core": (
        changed(f"{C}/aliases", [["n"], ["run", "n"]]), "RKW013", f"{C}/aliases/1/0",
        changed(f"{C}/aliases", [["n"], ["nr"]]),
    ),
    "a hidden character": (changed("/title", "No\u200btes"), "RKW014", "/title", changed("/title", "No\u200dtes")),
    "a reordered description": (
        changed(f"{C}/description", "a\u202eb"), "RKW014", f"{C}/description", changed(f"{C}/description", "a\tb"),
    ),
    "a hidden character in the schema of the result": (
        changed(f"{RESULT}/schema/properties/number", {"type": "integer", "description": "\u2066n"}), "RKW014",
        f"{RESULT}/schema/properties/number/description",
        changed(f"{RESULT}/schema/properties/number", {"type": "integer", "description": "n"}),
    ),
    "a hidden character in a summary of a parameter": (
        changed(f"{C}/parameters/0/summary", "x\ufeff"), "RKW014", f"{C}/parameters/0/summary",
        changed(f"{C}/parameters/0/summary", "x\u00ad"),
    ),
}  # fmt: skip


@pytest.mark.requirement("RK-CHECK-020", "RK-CHECK-052", "RK-CHECK-053")
@pytest.mark.parametrize("name", GIVEN)
def test_advice_is_given_at_its_place_and_a_sibling_gets_none(name: str) -> None:
    unwise, rule, pointer, sibling = GIVEN[name]
    assert [(rule, pointer)] == found(unwise)
    assert [] == found(sibling)


def silent(*patch: tuple[str, Any]) -> Any:
    return patched(BASE, [{"op": "replace", "path": path, "value": value} for path, value in patch])


NOT_ELIGIBLE = (f"{C}/machine", {"eligible": False})
FOR_A_PERSON = (f"{C}/machine/interaction", "required")
# What is advice for a tool is none for a command that can never be one.
FOR_TOOLS = {
    "a long name": (f"{C}/id", TOO_LONG),
    "an unbounded string": (TYPE, string()),
    "a text result": (RESULT, {"kind": "text"}),
}


@pytest.mark.requirement("RK-CHECK-020")
@pytest.mark.parametrize("name", FOR_TOOLS)
@pytest.mark.parametrize("reason", [NOT_ELIGIBLE, FOR_A_PERSON], ids=["not eligible", "needs a person"])
def test_advice_about_tools_is_for_what_can_be_one(name: str, reason: tuple[str, Any]) -> None:
    assert 1 == len(found(silent(FOR_TOOLS[name])))
    assert [] == found(silent(FOR_TOOLS[name], reason))


@pytest.mark.requirement("RK-CHECK-020")
def test_a_command_for_the_terminal_alone_may_go_without_title_and_description() -> None:
    command = {
        name: value for name, value in BASE["commands"][0].items() if name not in ("title", "description")
    }
    assert ["RKW002", "RKW003"] == [rule for rule, _ in found(changed(C, command))]
    assert [] == found(changed(C, command | {"machine": {"eligible": False}}))


@pytest.mark.requirement("RK-CHECK-020")
@pytest.mark.parametrize(
    ("path", "value"),
    [(f"{C}/execute/stdin", "bytes"), (RESULT, {"kind": "text"})],
    ids=["reads standard input", "answers with text"],
)
def test_silence_about_machines_is_fine_where_nobody_expects_a_tool(path: str, value: Any) -> None:
    quiet = patched(BASE, [{"op": "remove", "path": f"{C}/machine"}])
    assert ["RKW011"] == [rule for rule, _ in found(quiet)]
    assert [] == found(patched(quiet, [{"op": "replace", "path": path, "value": value}]))


@pytest.mark.requirement("RK-CHECK-020")
def test_advice_is_of_the_severity_warning_and_the_only_one_that_is() -> None:
    rules = {rule for rule in RULES if rule.startswith("RKW")}
    assert rules == {rule for _, rule, _, _ in GIVEN.values()}
    assert {"warning"} == {RULES[rule][0] for rule in rules}


@pytest.mark.requirement("RK-CHECK-020")
def test_pieces_of_advice_stand_in_order_of_place_and_each_says_what_to_do() -> None:
    document = patched(without(f"{C}/title"), [{"op": "remove", "path": f"{C}/parameters/4/summary"}])
    document["commands"].append({**BASE["commands"][0], "id": "more", "path": ["more"], "aliases": []})
    document["commands"][2]["examples"] = []
    checked = check(encoded(document))
    assert checked.descriptor is not None and checked.positions is not None
    advice = advise(checked.descriptor, checked.positions)
    assert ["RKW002", "RKW004", "RKW005"] == [one.rule for one in advice]
    assert sorted(advice, key=lambda one: (one.line, one.column)) == advice
    assert all(one.message and one.mend for one in advice)


@pytest.mark.requirement("RK-CHECK-020")
def test_the_checker_of_a_host_gives_no_advice() -> None:
    assert [] == check(encoded(changed(TYPE, string()))).diagnostics


@pytest.mark.requirement("RK-CHECK-020")
def test_an_option_that_takes_a_value_is_never_denied() -> None:
    assert [("RKW012", f"{FLAG}/0")] == found(changed(FLAG, ["--no-colours"]))
    assert [] == found(changed(NAMES, ["--no-colours"]))
