"""Descriptors of format 1: what is judged otherwise than in format 2, what is compiled, what no endpoint exports."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rukh.cli.help import command_help
from rukh.cli.lexer import lex
from rukh.cli.saying import argv_for
from rukh.contract.candidate import Candidate, build_candidate
from rukh.contract.compile import compile_commands
from rukh.contract.descriptor import check
from rukh.sources.declared import check_descriptor
from rukh.values import registry
from rukh.values.errors import RukhError
from rukh.values.rules import RULES
from tests.contract.documents import descriptor, encoded, load, parameter
from tests.contract.test_candidate import endpoint, profile

ONE, TWO = "rukh.extension/1", "rukh.extension/2"
SCHEMAS = {number: load(f"spec/schemas/descriptor-{number}.schema.json") for number in (1, 2)}


def old(*parameters: dict[str, Any], package: str = "acme.old", **members: Any) -> dict[str, Any]:
    """A descriptor of format 1 with one managed command `add`."""
    command = {
        "id": "add",
        "path": ["old", "add"],
        "summary": "Add",
        "parameters": list(parameters),
        "execute": {"mapping": {"kind": "managed", "entry": "old:add"}},
        **members,
    }
    return descriptor(package, format=ONE, commands=[command])


def found(document: Any) -> list[tuple[str, str]]:
    return [(one.rule, one.pointer) for one in check(encoded(document)).diagnostics]


def compiled(document: Any) -> list[dict[str, Any]]:
    checked = check(encoded(document))
    assert checked.descriptor is not None
    return compile_commands(checked.descriptor, [])


# Reading


@pytest.mark.requirement("RK-DESC-033")
def test_members_of_format_2_are_unknown_and_their_mend_names_it() -> None:
    assert found(old()) == []
    document = old(
        machine={"eligible": False},
        execute={"mapping": {"kind": "managed", "entry": "old:add"}, "result": {"kind": "text"}},
    )
    checked = check(encoded(document))
    assert [(one.rule, one.pointer) for one in checked.diagnostics] == [
        ("RKD003", "/commands/0/execute/result"),
        ("RKD003", "/commands/0/machine"),
    ]
    assert all(TWO in one.mend for one in checked.diagnostics)
    assert found(document | {"format": TWO}) == []


@pytest.mark.requirement("RK-DESC-033", "RK-DESC-005")
def test_an_unknown_member_elsewhere_still_names_the_nearest_one() -> None:
    """`machine` and `result` are only those of format 2 where format 2 has them."""
    document = old() | {"machine": {}, "titel": "x"}
    assert [one.mend for one in check(encoded(document)).diagnostics] == [
        "remove it; known here: format, package, version, runtime, commands, title, summary, description",
        'did you mean "title"?',
    ]


@pytest.mark.requirement("RK-DESC-035")
@pytest.mark.parametrize("name", registry.CORE_OPTIONS)
def test_a_name_of_the_core_is_a_warning_in_format_1_and_an_error_in_format_2(name: str) -> None:
    document = old(parameter("string", names=[name, "--mine"]))
    place = "/commands/0/parameters/0/names/0"
    checked = check(encoded(document))
    assert [(one.rule, one.pointer, one.severity) for one in checked.diagnostics] == [
        ("RKD039", place, "warning")
    ]
    assert checked.descriptor == document
    assert check_descriptor(encoded(document)).package == "acme.old"
    assert RULES["RKD039"][0] == "warning"
    assert found(document | {"format": TWO}) == [("RKD018", place)]


@pytest.mark.requirement("RK-DESC-035", "RK-DESC-002")
def test_warnings_keep_no_error_from_being_found() -> None:
    """More warnings than are kept, and behind them a fault that must not be lost."""
    many = [
        parameter("string", id=f"p{number}", names=[registry.CORE_OPTIONS[number]]) for number in range(5)
    ]
    command = old(*many)["commands"][0]
    commands = [command | {"id": f"c{number}", "path": [f"c{number}"]} for number in range(250)]
    document = old() | {"commands": commands}
    assert len(found(document)) == registry.LIMIT_FINDINGS
    commands[-1] = commands[-1] | {"summary": ""}
    assert found(document) == [("RKD012", "/commands/249/summary")]


@pytest.mark.requirement("RK-DESC-014", "RK-DESC-015")
def test_a_name_of_the_core_that_stands_twice_is_found_once_a_place() -> None:
    two = old(parameter("string", names=["--json", "--json"]))
    names = "/commands/0/parameters/0/names"
    assert found(two) == [("RKD017", f"{names}/1")]
    assert found(two | {"format": TWO}) == [("RKD018", f"{names}/0"), ("RKD017", f"{names}/1")]


# Compiling


@pytest.mark.requirement("RK-DESC-034")
def test_a_command_of_format_1_has_no_result_and_is_not_eligible() -> None:
    (record,) = compiled(old())
    assert record["result"] is None
    assert record["machine"] == {"eligible": False, "interaction": "none", "requiredFeatures": []}


@pytest.mark.requirement("RK-DESC-035")
def test_a_name_of_the_core_is_compiled_away_and_the_core_keeps_it() -> None:
    shadowed = parameter("boolean", "flag", names=["--json", "-j"])
    (record,) = compiled(old(shadowed, parameter("string", id="note", names=["--read"])))
    assert [one["names"] for one in record["parameters"]] == [["-j"], []]
    assert lex(record, ["-j", "--envelope"]).supplied == {"value": True}
    refused = {"--json": "RKL014", "--no-json": "RKL001", "--read": "RKL004"}
    for word, rule in refused.items():
        with pytest.raises(RukhError) as caught:
            lex(record, [word])
        assert caught.value.rule == rule
    page = command_help("rukh", record, 80)
    assert ("-j" in page, "--no-json" in page, "TEXT" in page) == (True, False, False)


@pytest.mark.requirement("RK-DESC-035", "RK-CLI-030")
def test_what_only_a_name_of_the_core_would_say_is_said_by_no_words() -> None:
    (record,) = compiled(old(parameter("string", names=["--json"])))
    with pytest.raises(RukhError) as caught:
        argv_for(record, {"value": "x"})
    assert (caught.value.rule, caught.value.place) == ("RKL019", "/value")
    (record,) = compiled(old(parameter("string", names=["--json", "--mine"])))
    assert argv_for(record, {"value": "x"}) == ["--mine=x"]


@pytest.mark.requirement("RK-DESC-037")
def test_another_format_alone_changes_no_compiled_command() -> None:
    bases = [
        base for base in load("spec/vectors/descriptors.json")["bases"].values() if base["format"] == ONE
    ]
    assert bases
    for document in [*bases, old(parameter("string"))]:
        assert compiled(document) == compiled(document | {"format": TWO})


# Exporting


def build(document: dict[str, Any], **members: Any) -> Candidate:
    assert check(encoded(document)).descriptor == document
    endpoints = {"desktop": endpoint(**members)}
    return build_candidate(profile([document], endpoints=endpoints), {document["package"]: document})


@pytest.mark.requirement("RK-DESC-036")
def test_an_endpoint_that_names_a_command_of_format_1_is_refused_with_the_way_out() -> None:
    with pytest.raises(RukhError) as caught:
        build(old(), commands=["acme.old/add"])
    assert (caught.value.rule, caught.value.place) == ("RKP011", "/endpoints/desktop/commands")
    assert (ONE in caught.value.message, TWO in caught.value.mend) == (True, True)
    with pytest.raises(RukhError) as caught:
        build(old() | {"format": TWO}, commands=["acme.old/add"])
    assert (caught.value.rule, ONE in caught.value.message) == ("RKP011", False)


@pytest.mark.requirement("RK-DESC-036")
def test_a_package_of_format_1_is_exported_whole_as_nothing() -> None:
    assert build(old(), packages=["acme.old"]).exports == {"desktop": []}
    assert [record["identity"] for record in build(old(), packages=["acme.old"]).commands] == ["acme.old/add"]


@pytest.mark.requirement("RK-DESC-036")
def test_a_passthrough_program_of_format_1_is_refused_as_what_it_is() -> None:
    program = {"mapping": {"kind": "passthrough", "program": ["bin/x"]}}
    document = old(execute=program) | {"runtime": {"kind": "native"}}
    with pytest.raises(RukhError) as caught:
        build(document, commands=["acme.old/add"])
    assert caught.value.rule == "RKP013"


# The schema for editors


@pytest.mark.requirement("RK-DESC-032", "RK-DESC-033")
def test_the_schema_of_format_1_is_that_of_format_2_without_what_it_lacks() -> None:
    Draft202012Validator.check_schema(SCHEMAS[1])
    one, two = SCHEMAS[1], SCHEMAS[2]
    changed = {"command": two["$defs"]["command"], "execute": two["$defs"]["execute"]}
    command = {name: part for name, part in changed["command"].items() if name not in ("if", "then")}
    members = {name: part for name, part in command["properties"].items() if name != "machine"}
    members["execute"] = one["$defs"]["command"]["properties"]["execute"]
    names = {name: part for name, part in two["$defs"]["names"]["items"].items() if name != "not"}
    execute = {name: part for name, part in changed["execute"]["properties"].items() if name != "result"}
    expected = {
        name: part
        for name, part in two["$defs"].items()
        if name not in ("machine", "resultSchema", "enum", "freeTitle", "freeText", "counter")
    } | {
        "command": command | {"properties": members},
        "execute": changed["execute"] | {"properties": execute},
        "names": two["$defs"]["names"] | {"items": names},
        "counter": two["$defs"]["counter"],
    }
    assert one["$defs"] == expected
    assert one["properties"] == two["properties"] | {"format": one["properties"]["format"]}
    assert one["properties"]["format"]["const"] == ONE
