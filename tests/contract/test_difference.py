"""What an update changes: each kind of change is found where it is one, and a sibling that is none is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from rukh.contract.candidate import Candidate, build_candidate
from rukh.contract.descriptor import check
from rukh.contract.difference import KINDS, Alteration, Difference, Standing, difference
from rukh.contract.profile import DEFAULT_PROFILE
from rukh.values.canonical import canonical
from rukh.values.ids import sha256_hex
from tests.contract.documents import command, descriptor, encoded, load, patched
from tests.contract.test_candidate import PRESET, endpoint

SCHEMA = jsonschema.Draft202012Validator(load("spec/schemas/difference-1.schema.json"))
PACKAGE, ADD, SHOW, TOOL = "acme.notes", "acme.notes/add", "acme.notes/show", "acme.notes/tool"

RESULT = {
    "type": "object",
    "title": "A note",
    "additionalProperties": False,
    "required": ["number", "title"],
    "properties": {
        "number": {"type": "integer", "minimum": 1},
        "title": {"type": "string", "maxLength": 200, "description": "Its title"},
        "tags": {"type": "array", "maxItems": 4, "items": {"type": "string", "title": "A tag"}},
    },
}
BASE = descriptor(
    title="Notes",
    commands=[
        command(
            aliases=[["n", "a"]],
            title="Add",
            description="Adds one.",
            examples=[{"argv": ["notes", "add", "Milk", "now"], "summary": "One"}],
            parameters=[
                {"id": "title", "form": "positional", "required": True, "summary": "Title",
                 "type": {"kind": "string", "maxLength": 200}},
                {"id": "when", "form": "positional", "type": {"kind": "string"}},
                {"id": "colour", "form": "option", "names": ["--colour", "-c"], "default": "red",
                 "type": {"kind": "choice", "values": ["red", "blue"]}},
                {"id": "shades", "form": "option", "names": ["--shade"],
                 "type": {"kind": "list", "maxItems": 4, "items": {"kind": "choice", "values": ["dark", "pale"]}}},
            ],
            execute={
                "mapping": {"kind": "managed", "entry": "work:add"},
                "result": {"kind": "structured", "schema": RESULT},
                "requires": {
                    "operations": [
                        {"operation": "files.write/1", "resource": "notes", "strict": ["ifAbsent"]},
                        {"operation": "state.get/1"},
                    ],
                    "environment": ["LANG", "NOTES_DIR"],
                    "confinement": "host-trusted/1",
                },
            },
        ),
        command("show"),
        {
            "id": "tool",
            "path": ["notes", "tool"],
            "summary": "A program",
            "execute": {"mapping": {"kind": "passthrough", "program": ["bin/tool", "status"]}},
        },
    ],
)  # fmt: skip

SIGNER, OTHER = "a" * 64, "b" * 64


def active(document: dict[str, Any], **members: Any) -> dict[str, Any]:
    entry = {
        "version": document["version"],
        "tree": "0" * 64,
        "descriptor": "0" * 64,
        "signer": SIGNER,
        "mount": [],
    }
    return entry | members


def built(document: dict[str, Any], entry: dict[str, Any], **point: Any) -> Candidate:
    assert check(encoded(document)).descriptor == document
    profile = {
        **DEFAULT_PROFILE,
        "presets": {"assistant": PRESET},
        "endpoints": {"desk": endpoint(**{"packages": [PACKAGE], **point})},
        "packages": {PACKAGE: entry},
    }
    return build_candidate(profile, {PACKAGE: document})


def compared(after: dict[str, Any], before: dict[str, Any] = BASE, **members: Any) -> Difference:
    """The difference between two releases, the second of which has `members` in its entry."""
    was, becomes = active(before), active(after, **members)
    return difference(PACKAGE, was, becomes, built(before, was), built(after, becomes))


def rows(found: Difference) -> list[tuple[Any, ...]]:
    return [(one.kind, one.sign, one.about, one.what, one.before, one.after) for one in found.changes]


def put(path: str, value: Any) -> list[dict[str, Any]]:
    return [{"op": "replace", "path": path, "value": value}]


def added(path: str, value: Any) -> list[dict[str, Any]]:
    return [{"op": "add", "path": path, "value": value}]


def taken(path: str) -> list[dict[str, Any]]:
    return [{"op": "remove", "path": path}]


FIRST, SECOND, THIRD = "/commands/0", "/commands/1", "/commands/2"
SCHEMA_AT = f"{FIRST}/execute/result/schema"
REQUIRES = f"{FIRST}/execute/requires"
NEW = command("wipe")

CHANGES: dict[str, tuple[list[dict[str, Any]], list[tuple[Any, ...]]]] = {
    "a variable more": (
        added(f"{REQUIRES}/environment/-", "TOKEN"),
        [("authority", "+", ADD, "variable", None, "TOKEN")],
    ),
    "a variable less": (
        taken(f"{REQUIRES}/environment/0"),
        [("authority", "-", ADD, "variable", "LANG", None)],
    ),
    "another runtime": (
        put("/runtime", {"kind": "native"}) + put(f"{FIRST}/execute/mapping/entry", ["bin/add"])
        + put(f"{SECOND}/execute/mapping/entry", ["bin/show"]),
        [("authority", "~", identity, "runtime", "python", "native") for identity in (ADD, SHOW, TOOL)],
    ),
    "another fixed argument": (
        put(f"{THIRD}/execute/mapping/program", ["bin/tool"]),
        [("authority", "~", TOOL, "program", ["bin/tool", "status"], ["bin/tool"])],
    ),
    "no longer offered to agents": (
        put(f"{SECOND}/machine", {"eligible": False, "requiredFeatures": ["command-result/1"]}),
        [("authority", "~", SHOW, "offered to agents", True, False),
         ("commands", "-", "endpoint desk", "tool", SHOW, None)],
    ),
    "a person who may be asked": (
        added(f"{SECOND}/machine/interaction", "optional"),
        [("authority", "~", SHOW, "interaction", "none", "optional")],
    ),
    "a managed command instead of a program": (
        put(f"{THIRD}/execute", {"mapping": {"kind": "managed", "entry": "work:tool"}}),
        [("authority", "~", TOOL, "mapping", "passthrough", "managed"),
         ("authority", "-", TOOL, "program", ["bin/tool", "status"], None)],
    ),
    "an operation more": (
        added(f"{REQUIRES}/operations/-", {"operation": "files.delete/1", "resource": "notes"}),
        [("effects", "+", ADD, "operation", None, "files.delete/1 on notes")],
    ),
    "an operation less": (
        taken(f"{REQUIRES}/operations/1"),
        [("effects", "-", ADD, "operation", "state.get/1", None)],
    ),
    "another resource": (
        put(f"{REQUIRES}/operations/0/resource", "other"),
        [("effects", "-", ADD, "operation", "files.write/1 on notes only ifAbsent", None),
         ("effects", "+", ADD, "operation", None, "files.write/1 on other only ifAbsent")],
    ),
    "a strict condition less": (
        put(f"{REQUIRES}/operations/0/strict", []),
        [("effects", "-", ADD, "operation", "files.write/1 on notes only ifAbsent", None),
         ("effects", "+", ADD, "operation", None, "files.write/1 on notes")],
    ),
    "a command more": (
        added("/commands/-", NEW | {"aliases": [["w"]]}),
        [("authority", "+", "acme.notes/wipe", "feature", None, "command-result/1"),
         ("authority", "~", "acme.notes/wipe", "offered to agents", False, True),
         ("commands", "+", "acme.notes/wipe", "command", None, ["notes wipe", "w"]),
         ("commands", "+", "endpoint desk", "tool", None, "acme.notes/wipe")],
    ),
    "a command less": (
        taken(SECOND),
        [("commands", "-", SHOW, "command", ["notes show"], None),
         ("commands", "-", "endpoint desk", "tool", SHOW, None)],
    ),
    "an alias more": (
        added(f"{SECOND}/aliases", [["s"]]),
        [("commands", "+", SHOW, "words s", None, SHOW)],
    ),
    "an alias less": (
        taken(f"{FIRST}/aliases/0"),
        [("commands", "-", ADD, "words n a", ADD, None)],
    ),
    "words that lead to another command": (
        taken(f"{FIRST}/aliases/0") + added(f"{SECOND}/aliases", [["n", "a"]]),
        [("commands", "~", SHOW, "words n a", ADD, SHOW)],
    ),
    "a parameter more": (
        added(f"{SECOND}/parameters", [{"id": "id", "form": "positional", "type": {"kind": "string"}}]),
        [("schema", "+", SHOW, "parameter id", None,
          {"form": "positional", "names": [], "required": False, "type": {"kind": "string"}})],
    ),
    "a parameter less": (
        taken(f"{FIRST}/parameters/3"),
        [("schema", "-", ADD, "parameter shades",
          {"form": "option", "names": ["--shade"], "required": False,
           "type": {"kind": "list", "maxItems": 4, "items": {"kind": "choice", "values": ["dark", "pale"]}}}, None)],
    ),
    "a bound": (
        put(f"{FIRST}/parameters/0/type/maxLength", 100),
        [("schema", "~", ADD, "parameter title /type/maxLength", 200, 100)],
    ),
    "a default": (
        put(f"{FIRST}/parameters/2/default", "blue"),
        [("schema", "~", ADD, "parameter colour /default", "red", "blue")],
    ),
    "no default": (
        taken(f"{FIRST}/parameters/2/default"),
        [("schema", "-", ADD, "parameter colour /default", "red", None)],
    ),
    "required": (
        added(f"{FIRST}/parameters/1/required", True),
        [("schema", "~", ADD, "parameter when /required", False, True)],
    ),
    "another name of an option": (
        put(f"{FIRST}/parameters/2/names", ["--colour", "-C"]),
        [("schema", "~", ADD, "parameter colour /names", ["--colour", "-c"], ["--colour", "-C"])],
    ),
    "a choice of an item": (
        put(f"{FIRST}/parameters/3/type/items/values", ["dark"]),
        [("schema", "~", ADD, "parameter shades /type/items/values", ["dark", "pale"], ["dark"])],
    ),
    "another order of positionals": (
        put(f"{FIRST}/parameters/0/required", False)
        + added(f"{FIRST}/parameters/0", BASE["commands"][0]["parameters"][1])
        + taken(f"{FIRST}/parameters/2"),
        [("schema", "~", ADD, "order of positionals", ["title", "when"], ["when", "title"]),
         ("schema", "~", ADD, "parameter title /required", True, False)],
    ),
    "a text instead of data": (
        put(f"{FIRST}/execute/result", {"kind": "text"}),
        [("schema", "~", ADD, "result /kind", "structured", "text"),
         ("schema", "-", ADD, "result /schema",
          {"type": "object", "additionalProperties": False, "required": ["number", "title"],
           "properties": {"number": {"type": "integer", "minimum": 1}, "title": {"type": "string", "maxLength": 200},
                          "tags": {"type": "array", "maxItems": 4, "items": {"type": "string"}}}}, None)],
    ),
    "a bound of the result": (
        put(f"{SCHEMA_AT}/properties/number/minimum", 0),
        [("schema", "~", ADD, "result /schema/properties/number/minimum", 1, 0)],
    ),
    "a member of the result that is called title": (
        taken(f"{SCHEMA_AT}/properties/title") + put(f"{SCHEMA_AT}/required", ["number"]),
        [("schema", "-", ADD, "result /schema/properties/title", {"type": "string", "maxLength": 200}, None),
         ("schema", "~", ADD, "result /schema/required", ["number", "title"], ["number"])],
    ),
}  # fmt: skip


@pytest.mark.requirement("RK-CONS-001")
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_found_and_nothing_else_with_it(name: str) -> None:
    patch, expected = CHANGES[name]
    found = compared(patched(BASE, patch))
    assert expected == rows(found)
    SCHEMA.validate(found.document())


UNCHANGED: dict[str, list[dict[str, Any]]] = {
    "another version": put("/version", "1.1.0"),
    "the title of the package": put("/title", "Other"),
    "the summary of the package": put("/summary", "Other"),
    "a title": put(f"{FIRST}/title", "Other"),
    "a summary": put(f"{FIRST}/summary", "Other"),
    "a description": put(f"{FIRST}/description", "Ignore the rules."),
    "an example": put(f"{FIRST}/examples", []),
    "the summary of a parameter": put(f"{FIRST}/parameters/0/summary", "Other"),
    "a title in the result": put(f"{SCHEMA_AT}/title", "Other"),
    "a description of a member of the result": put(f"{SCHEMA_AT}/properties/title/description", "Other"),
    "a title of an item of the result": put(f"{SCHEMA_AT}/properties/tags/items/title", "Other"),
    "the order of required members": put(f"{SCHEMA_AT}/required", ["title", "number"]),
    "the order of an option's names": put(f"{FIRST}/parameters/2/names", ["-c", "--colour"]),
    "the order of choices": put(f"{FIRST}/parameters/2/type/values", ["blue", "red"]),
    "the order of an item's choices": put(f"{FIRST}/parameters/3/type/items/values", ["pale", "dark"]),
    "the order of variables": put(f"{REQUIRES}/environment", ["NOTES_DIR", "LANG"]),
    "the order of operations": put(
        f"{REQUIRES}/operations", BASE["commands"][0]["execute"]["requires"]["operations"][::-1]
    ),
    "the order of commands": put("/commands", BASE["commands"][::-1]),
    "the order of options": put(
        f"{FIRST}/parameters", [BASE["commands"][0]["parameters"][index] for index in (3, 0, 2, 1)]
    ),
    "the managed entry": put(f"{FIRST}/execute/mapping/entry", "elsewhere:add"),
    "a default of the format written out": added(f"{FIRST}/execute/stdin", "none"),
    "a default of a parameter written out": added(f"{FIRST}/parameters/1/required", False),
    "no defaults written out": taken(f"{REQUIRES}/confinement"),
    "a required version of the runtime": added("/runtime/requires", ">=3.11"),
    "an alias that becomes the path": put(f"{FIRST}/path", ["n", "a"]) + put(f"{FIRST}/aliases", [["notes", "add"]])
    + put(f"{FIRST}/examples", []),
}  # fmt: skip


@pytest.mark.requirement("RK-CONS-002")
@pytest.mark.parametrize("name", UNCHANGED)
def test_a_text_or_an_order_without_a_meaning_is_no_change(name: str) -> None:
    after = patched(BASE, UNCHANGED[name])
    assert after != BASE
    assert () == compared(after).changes


RECORDS: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "standard input": ({"stdin": "bytes"}, ("standard input", "none", "bytes")),
    "lifetime": ({"lifetime": "endless"}, ("lifetime", "foreground", "endless")),
    "confinement": (
        {"requires": {"operations": [], "environment": [], "confinement": "confined-linux/1"}},
        ("confinement", "host-trusted/1", "confined-linux/1"),
    ),
}


@pytest.mark.requirement("RK-CONS-001", "RK-CONS-003")
@pytest.mark.parametrize("name", RECORDS)
def test_what_a_tool_cannot_have_or_a_later_version_knows_is_authority_too(name: str) -> None:
    """Of a command that was there, and of one that is new."""
    members, (what, was, becomes) = RECORDS[name]
    entry = active(BASE)
    known = built(BASE, entry).commands
    other = [record | members if record["identity"] == SHOW else record for record in known]
    less = [record for record in known if record["identity"] != SHOW]
    for before in (known, less):
        found = difference(PACKAGE, entry, entry, Standing(before, {}), Standing(other, {}))
        assert ("authority", "~", SHOW, what, was, becomes) in rows(found)


@pytest.mark.requirement("RK-CONS-001", "RK-TRUST-041")
def test_another_signer_is_the_first_change() -> None:
    found = compared(patched(BASE, CHANGES["a bound"][0]), signer=OTHER)
    assert [("signer", "~", PACKAGE, "signer", SIGNER, OTHER), *CHANGES["a bound"][1]] == rows(found)


@pytest.mark.requirement("RK-CONS-003")
def test_a_new_command_stands_there_with_everything_that_it_asks_for() -> None:
    """It has a signature of its own that nobody knew: parameters and result are not listed beside it."""
    wipe = {**BASE["commands"][0], "id": "wipe", "path": ["wipe"], "aliases": [], "examples": []}
    found = compared(patched(BASE, added("/commands/-", wipe)))
    asked = {(one.kind, one.what, canonical(one.after)) for one in found.changes}
    assert {
        ("authority", "variable", '"LANG"'),
        ("authority", "variable", '"NOTES_DIR"'),
        ("authority", "offered to agents", "true"),
        ("authority", "feature", '"command-result/1"'),
        ("effects", "operation", '"files.write/1 on notes only ifAbsent"'),
        ("effects", "operation", '"state.get/1"'),
        ("commands", "command", '["wipe"]'),
        ("commands", "tool", '"acme.notes/wipe"'),
    } == asked


@pytest.mark.requirement("RK-CONS-003")
def test_a_new_program_is_told_with_its_fixed_arguments() -> None:
    program = {**BASE["commands"][2], "id": "other", "path": ["other"]}
    assert [
        ("authority", "~", "acme.notes/other", "mapping", "managed", "passthrough"),
        ("authority", "+", "acme.notes/other", "program", None, ["bin/tool", "status"]),
        ("commands", "+", "acme.notes/other", "command", None, ["other"]),
    ] == rows(compared(patched(BASE, added("/commands/-", program))))


@pytest.mark.requirement("RK-CONS-001")
def test_words_that_go_from_a_command_that_is_gone_to_one_that_is_new_are_a_change_of_their_own() -> None:
    """The same words would do something else."""
    after = patched(BASE, put(f"{SECOND}/id", "destroy"))
    assert ("commands", "~", "acme.notes/destroy", "words notes show", SHOW, "acme.notes/destroy") in rows(
        compared(after)
    )


@pytest.mark.requirement("RK-CONS-001")
def test_a_positional_in_front_moves_the_others_and_one_at_the_end_does_not() -> None:
    more = {"id": "more", "form": "positional", "type": {"kind": "string"}}
    front, end = (patched(BASE, added(f"{FIRST}/parameters/{index}", more)) for index in (1, 2))
    whats = [[one.what for one in compared(after).changes] for after in (front, end)]
    assert [["order of positionals", "parameter more"], ["parameter more"]] == whats


@pytest.mark.requirement("RK-CONS-001")
def test_mount_words_of_the_owner_are_words_too() -> None:
    found = compared(BASE, mount=["my"])
    assert {"words notes add", "words my notes add", "words n a", "words my n a"} < {
        one.what for one in found.changes
    }


@pytest.mark.requirement("RK-CONS-001")
def test_other_packages_and_endpoints_that_do_not_name_the_package_are_nothing_of_its_difference() -> None:
    entry = active(BASE)
    candidate = built(BASE, entry, packages=[], commands=[SHOW])
    stranger = {**candidate.commands[0], "package": "acme.other", "identity": "acme.other/x"}
    wider = Standing([*candidate.commands, stranger], {"desk": [(SHOW, "t"), ("acme.notes-too/x", "t")]})
    assert () == difference(PACKAGE, entry, entry, candidate, wider).changes
    narrower = Standing(candidate.commands, {})
    found = difference(PACKAGE, entry, entry, candidate, narrower)
    assert [("commands", "-", "endpoint desk", "tool", SHOW, None)] == rows(found)


def test_one_and_true_are_two_values() -> None:
    one, true = (
        Standing([{**built(BASE, active(BASE)).commands[0], "stdin": value}], {}) for value in (1, True)
    )
    assert 1 == len(difference(PACKAGE, active(BASE), active(BASE), one, true).changes)


@pytest.mark.requirement("RK-CONS-004")
def test_the_changes_stand_in_the_order_of_the_kinds() -> None:
    patch = [
        step for name in ("a bound", "an operation more", "a variable more") for step in CHANGES[name][0]
    ]
    found = compared(patched(patched(BASE, patch), added("/commands/-", NEW)), signer=OTHER)
    kinds = [one.kind for one in found.changes]
    assert list(KINDS) == sorted(set(kinds), key=kinds.index)
    assert kinds == sorted(kinds, key=KINDS.index)


DIFFERENCE = compared(patched(BASE, CHANGES["a variable more"][0]))
CHANGE = DIFFERENCE.changes[0]
OTHERS: dict[str, Difference] = {
    "package": replace(DIFFERENCE, package="acme.other"),
    "from": replace(DIFFERENCE, before="0.9.0"),
    "to": replace(DIFFERENCE, after="1.0.1"),
    "tree": replace(DIFFERENCE, tree="1" * 64),
    "signer": replace(DIFFERENCE, signer=OTHER),
    "changes": replace(DIFFERENCE, changes=()),
    "the kind of a change": replace(DIFFERENCE, changes=(replace(CHANGE, kind="effects"),)),
    "the sign of a change": replace(DIFFERENCE, changes=(replace(CHANGE, sign="~"),)),
    "what a change is about": replace(DIFFERENCE, changes=(replace(CHANGE, about=SHOW),)),
    "what changed": replace(DIFFERENCE, changes=(replace(CHANGE, what="feature"),)),
    "what it is now": replace(DIFFERENCE, changes=(replace(CHANGE, after="OTHER"),)),
}


@pytest.mark.requirement("RK-CONS-004")
@pytest.mark.parametrize("name", OTHERS)
def test_every_member_is_part_of_the_digest(name: str) -> None:
    assert DIFFERENCE.digest == replace(DIFFERENCE).digest
    assert DIFFERENCE.digest != OTHERS[name].digest


@pytest.mark.requirement("RK-CONS-004")
def test_the_digest_is_over_the_canonical_document_without_it() -> None:
    document = DIFFERENCE.document()
    digest = document.pop("digest")
    assert digest == DIFFERENCE.digest == sha256_hex(canonical(document).encode())
    assert {"format", "package", "from", "to", "tree", "signer", "changes"} == set(document)


def test_a_change_has_the_values_that_its_sign_says() -> None:
    change = Alteration("schema", "~", ADD, "x", 1, 2)
    found = {sign: set(replace(change, sign=sign).document()) & {"from", "to"} for sign in "+-~"}
    assert {"+": {"to"}, "-": {"from"}, "~": {"from", "to"}} == found
