"""The checker: vectors, bounds on both sides, hostile documents, and the published schema as a witness."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rukh.contract.descriptor import RULES, check
from rukh.values import registry
from rukh.values.rules import RULES as REGISTERED
from tests.contract.documents import command, descriptor, encoded, load, parameter, patched

VECTORS = load("spec/vectors/descriptors.json")
BASES = VECTORS["bases"]
SCHEMAS = {
    f"rukh.extension/{number}": load(f"spec/schemas/descriptor-{number}.schema.json") for number in (1, 2)
}


def whole(schema: Any) -> Any:
    """The schema with patterns that mean in Python what they mean in JSON Schema: `$` is the very end."""
    if isinstance(schema, list):
        return [whole(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: part.removesuffix("$") + r"\Z" if name == "pattern" and isinstance(part, str) else whole(part)
        for name, part in schema.items()
    }


VALIDATORS = {known: Draft202012Validator(whole(schema)) for known, schema in SCHEMAS.items()}

# Rules of which the schema for editors knows nothing, or not everything; the page lists them in words.
LOOSER = {
    "RKD012", "RKD014", "RKD015", "RKD016", "RKD017", "RKD020", "RKD021", "RKD022", "RKD023", "RKD024", "RKD025",
    "RKD035", "RKD036", "RKD037",
}  # fmt: skip


def found(document: Any) -> list[tuple[str, str]]:
    return [(one.rule, one.pointer) for one in check(encoded(document)).diagnostics]


def named(row: dict[str, Any]) -> str:
    return str(row["name"])


# Vectors


@pytest.mark.parametrize("name", BASES)
def test_a_base_is_accepted_and_given_back_as_it_was_written(name: str) -> None:
    checked = check(encoded(BASES[name]))
    assert checked.diagnostics == []
    assert checked.descriptor == BASES[name]


@pytest.mark.requirement("RK-DESC-033", "RK-DESC-035")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("row", VECTORS["accepted"], ids=named)
def test_an_accepted_vector_is_accepted_with_its_warnings(row: dict[str, Any]) -> None:
    document = patched(BASES[row["base"]], row["patch"])
    checked = check(encoded(document))
    warned = [[one.rule, one.pointer] for one in checked.diagnostics]
    assert (checked.descriptor, warned) == (document, row.get("warnings", []))
    assert {one.severity for one in checked.diagnostics} <= {"warning"}


@pytest.mark.requirement(
    "RK-DESC-004", "RK-DESC-005", "RK-DESC-006", "RK-DESC-008", "RK-DESC-010", "RK-DESC-012", "RK-DESC-013",
    "RK-DESC-014", "RK-DESC-015", "RK-DESC-016", "RK-DESC-017", "RK-DESC-018", "RK-DESC-020", "RK-DESC-021",
    "RK-DESC-022", "RK-DESC-023", "RK-DESC-025", "RK-DESC-026", "RK-DESC-027", "RK-DESC-028", "RK-DESC-029",
    "RK-DESC-007", "RK-DESC-033",
)  # fmt: skip
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("row", VECTORS["refused"], ids=named)
def test_a_refused_vector_breaks_exactly_its_rule_at_its_place(row: dict[str, Any]) -> None:
    checked = check(encoded(patched(BASES[row["base"]], row["patch"])))
    assert [(one.rule, one.pointer) for one in checked.diagnostics] == [(row["rule"], row["pointer"])]
    assert checked.descriptor is None
    assert all(one.message and one.mend for one in checked.diagnostics)


def test_every_rule_of_the_family_is_one_of_the_checker() -> None:
    assert {rule for rule in REGISTERED if rule.startswith("RKD")} == set(RULES.values())


# Reading


@pytest.mark.requirement("RK-DESC-001")
@pytest.mark.parametrize(
    ("data", "rule", "line", "column"),
    [
        (b"", "RKV002", 1, 1),
        (b'{"format": 1, "format": 2}', "RKV003", 1, 15),
        (b'{"format":\n "\xff"}', "RKV001", 2, 3),
        (b'{"a": ' + b"[" * 40 + b"]" * 40 + b"}", "RKV010", 1, 38),
        (b" " * (registry.LIMIT_DESCRIPTOR_BYTES + 1), "RKV009", 1, 1),
        (b"[" + b"0," * registry.LIMIT_DESCRIPTOR_MEMBERS + b"0]", "RKV011", 1, 524_290),
    ],
    ids=["empty", "doubled name", "no UTF-8", "too deep", "too large", "too many members"],
)
def test_what_the_reader_refuses_is_the_one_finding(data: bytes, rule: str, line: int, column: int) -> None:
    assert [(one.rule, one.pointer, one.line, one.column) for one in check(data).diagnostics] == [
        (rule, "", line, column)
    ]


@pytest.mark.requirement("RK-DESC-001")
def test_a_descriptor_of_just_the_limit_is_read() -> None:
    data = encoded(descriptor())
    assert check(data.ljust(registry.LIMIT_DESCRIPTOR_BYTES)).diagnostics == []


@pytest.mark.requirement("RK-DESC-004")
@pytest.mark.parametrize("name", ["rukh.extension/0", "rukh.extension/3", "rukh.extension/2 ", "other", ""])
def test_an_unknown_format_gives_one_finding_however_wrong_the_rest_is(name: str) -> None:
    wrong = {"format": name, "package": 7, "commands": [None], "zzz": {}}
    one = check(encoded(wrong)).diagnostics
    assert [(finding.rule, finding.pointer) for finding in one] == [("RKD001", "/format")]
    assert REGISTERED["RKD001"][2] == registry.EXIT_UNSUPPORTED


@pytest.mark.requirement("RK-DESC-005")
def test_an_unknown_member_stands_at_its_name_and_names_the_nearest() -> None:
    text = encoded(descriptor()).replace(b'"runtime"', b'"licence": 1, "runtme": 2, "runtime"')
    lines = [(one.message, one.mend) for one in check(text).diagnostics]
    assert lines[1] == ("'runtme' is no member of a descriptor", 'did you mean "runtime"?')
    assert lines[0][1].startswith("remove it; known here: format, package, version")
    assert check(text).diagnostics[1].column == text.index(b'"runtme"') + 1


# Bounds: the largest that is accepted, and one more


def many(count: int) -> list[int]:
    return list(range(count))


def with_commands(count: int) -> dict[str, Any]:
    return descriptor(commands=[command(f"c{number}", [f"c{number}"]) for number in many(count)])


def with_member(**members: Any) -> dict[str, Any]:
    return descriptor(commands=[command(**members)])


def with_parameters(count: int) -> dict[str, Any]:
    return with_member(
        parameters=[parameter("string", "option", id=f"p{n}", names=[f"--p{n}"]) for n in many(count)]
    )


def with_execute(**members: Any) -> dict[str, Any]:
    return with_member(execute={**command()["execute"], **members})


def with_requires(**members: Any) -> dict[str, Any]:
    return with_execute(requires=members)


def native(count: int) -> dict[str, Any]:
    entry = {"kind": "managed", "entry": ["bin/x", *("-v" for _ in many(count - 1))]}
    return {**with_execute(mapping=entry), "runtime": {"kind": "native"}}


BOUNDS: dict[str, tuple[int, Any]] = {
    "commands": (registry.LIMIT_DESCRIPTOR_COMMANDS, with_commands),
    "parameters": (registry.LIMIT_COMMAND_PARAMETERS, with_parameters),
    "aliases": (registry.LIMIT_COMMAND_ALIASES, lambda n: with_member(aliases=[[f"a{k}"] for k in many(n)])),
    "examples": (
        registry.LIMIT_COMMAND_EXAMPLES,
        lambda n: with_member(examples=[{"argv": ["notes", "add"]} for _ in many(n)]),
    ),
    "option names": (
        registry.LIMIT_PARAMETER_NAMES,
        lambda n: with_member(parameters=[parameter("string", names=[f"--n{k}" for k in many(n)])]),
    ),
    "choices": (
        registry.LIMIT_CHOICE_VALUES,
        lambda n: with_member(
            parameters=[parameter("", type={"kind": "choice", "values": [f"v{k}" for k in many(n)]})]
        ),
    ),
    "path words": (registry.LIMIT_PATH_WORDS, lambda n: with_member(path=[f"w{k}" for k in many(n)])),
    "program words": (registry.LIMIT_PROGRAM_WORDS, native),
    "variables": (
        registry.LIMIT_ENVIRONMENT_NAMES,
        lambda n: with_requires(environment=[f"V{k}" for k in many(n)]),
    ),
    "operations": (
        registry.LIMIT_REQUESTED_OPERATIONS,
        lambda n: with_requires(
            operations=[{"operation": "files.read/1", "resource": f"r{k}"} for k in many(n)]
        ),
    ),
}


@pytest.mark.requirement("RK-DESC-007")
@pytest.mark.parametrize("name", BOUNDS)
def test_a_list_may_be_as_long_as_its_bound_and_no_longer(name: str) -> None:
    bound, build = BOUNDS[name]
    assert found(build(bound)) == []
    assert [rule for rule, _ in found(build(bound + 1))] == ["RKD013"]


@pytest.mark.requirement("RK-DESC-008")
def test_texts_are_counted_in_code_points() -> None:
    astral = "\U0001f9ed"
    assert found(descriptor(title=astral * 128, description=astral * 4096)) == []
    assert found(descriptor(title=astral * 129)) == [("RKD012", "/title")]
    assert found(descriptor(description=astral * 4097)) == [("RKD012", "/description")]


@pytest.mark.requirement("RK-DESC-008")
@pytest.mark.parametrize("character", ["\x01", "\x1b", "\x7f", "\x85", "\x9b", "\u2028", "\u2029", "\r"])
def test_control_characters_stand_in_no_text(character: str) -> None:
    assert found(descriptor(title="a\u00a0b", description="a\n\tb")) == []
    assert found(descriptor(title=f"a{character}b")) == [("RKD012", "/title")]
    assert found(descriptor(description=f"a{character}b")) == [("RKD012", "/description")]


# What no vector says


@pytest.mark.requirement("RK-DESC-015")
@pytest.mark.parametrize("name", registry.CORE_OPTIONS)
def test_a_core_option_cannot_be_declared(name: str) -> None:
    def declared(option: str) -> dict[str, Any]:
        return with_member(parameters=[parameter("string", names=[option])])

    assert found(declared(name + "s")) == []
    assert found(declared(name)) == [("RKD018", "/commands/0/parameters/0/names/0")]


@pytest.mark.requirement("RK-DESC-019")
def test_defaults_fit_the_limits_together() -> None:
    def declared(count: int) -> dict[str, Any]:
        names = [f"p{n}" for n in many(count)]
        return with_member(
            parameters=[parameter("string", id=p, names=[f"--{p}"], default="x" * 30_000) for p in names]
        )

    assert found(declared(2)) == []
    assert found(declared(3)) == [("RKD023", "/commands/0/parameters")]


@pytest.mark.requirement("RK-DESC-023")
def test_every_problem_of_a_result_schema_is_reported_at_its_place() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "format": "date"}, "b": {"type": "array", "maxItems": 1}},
    }
    place = "/commands/0/execute/result/schema"
    reported = found(with_execute(result={"kind": "structured", "schema": schema}))
    assert reported == [
        ("RKR006", place),
        ("RKR003", f"{place}/properties/a/format"),
        ("RKR007", f"{place}/properties/b"),
    ]


@pytest.mark.requirement("RK-DESC-002")
def test_one_mistake_is_reported_once() -> None:
    """A path that is malformed breaks no further rule: neither examples nor routes speak of it."""
    document = patched(
        BASES["kit"], [{"op": "replace", "path": "/commands/0/path", "value": ["Kit", "make"]}]
    )
    assert found(document) == [("RKD010", "/commands/0/path/0")]


@pytest.mark.requirement("RK-DESC-002")
def test_what_the_walk_could_not_see_breaks_no_further_rule() -> None:
    """Without a kind nobody knows what an entry is; without a form nobody knows what a parameter may hold."""
    managed: dict[str, Any] = {"mapping": {"entry": []}}
    nameless = {"id": "p", "names": ["--json"], "type": {"kind": "integer", "minimum": 9, "maximum": "x"}}
    named = {"id": "q", "form": "positional", "names": [{}], "type": {"kind": "string"}}
    document = with_member(execute=managed, parameters=[nameless, named], machine={"eligible": False})
    assert found(document) == [
        ("RKD004", "/commands/0/execute/mapping"),
        ("RKD004", "/commands/0/parameters/0"),
        ("RKD003", "/commands/0/parameters/1/names"),
    ]


@pytest.mark.requirement("RK-DESC-002")
def test_a_hostile_file_costs_no_more_than_its_findings() -> None:
    document = {**descriptor(), **{f"m{number}": 0 for number in many(50_000)}}
    assert len(check(encoded(document)).diagnostics) == registry.LIMIT_FINDINGS


# The published schema


@pytest.mark.requirement("RK-DESC-032")
def test_the_schema_is_one_and_accepts_what_is_accepted() -> None:
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)
    for document in (*BASES.values(), load("examples/notes/rukh-extension.json")):
        assert list(VALIDATORS[document["format"]].iter_errors(document)) == []
    for row in VECTORS["accepted"]:
        document = patched(BASES[row["base"]], row["patch"])
        assert VALIDATORS[document["format"]].is_valid(document), row["name"]


@pytest.mark.requirement("RK-DESC-032")
def test_the_schema_is_looser_only_where_the_page_says() -> None:
    """The finer rules of result schemas, family RKR, apart."""
    looser = {
        row["rule"]
        for row in VECTORS["refused"]
        if row["rule"].startswith("RKD")
        and VALIDATORS[BASES[row["base"]]["format"]].is_valid(patched(BASES[row["base"]], row["patch"]))
    }
    assert looser == LOOSER


JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 1.5, "", "x", "--x", "a.b", [], {}, ["x"], {"kind": "string"}, [[]], 2**53 - 1]
)


def places(value: Any, path: str = "") -> list[str]:
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return [path, *(place for name, child in children for place in places(child, f"{path}/{name}"))]


@st.composite
def edited(draw: st.DrawFn) -> Any:
    """A base with up to three members removed, replaced or added."""
    document = BASES[draw(st.sampled_from(sorted(BASES)))]
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(places(document)))
        operation = draw(st.sampled_from(["remove", "replace", "unknown"]))
        if operation == "unknown":
            place += "/" + draw(st.sampled_from(["default", "names", "zzz", "schema", "kind", "0"]))
        if place:
            try:
                patch = {
                    "op": "add" if operation == "unknown" else operation,
                    "path": place,
                    "value": draw(JUNK),
                }
                document = patched(document, [patch])
            except (ValueError, TypeError, IndexError):
                continue  # a member of a list or of a scalar: no such edit
    return document


@pytest.mark.requirement("RK-DESC-032", "RK-DESC-002")
@given(edited())
def test_whatever_the_schema_refuses_the_checker_refuses(document: Any) -> None:
    checked = check(encoded(document))
    known = document.get("format") if isinstance(document, dict) else None
    if not isinstance(known, str) or known not in SCHEMAS:
        known = "rukh.extension/2"
    if not VALIDATORS[known].is_valid(document):
        assert checked.descriptor is None
    places_found = [(one.line, one.column) for one in checked.diagnostics]
    assert places_found == sorted(places_found)
    assert (checked.descriptor is None) == any(one.severity == "error" for one in checked.diagnostics)


@pytest.mark.requirement("RK-DESC-001")
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["commands", "runtime", "kind", "execute", "parameters", "x"]), inner
            )
        ),
    )
)
def test_no_document_makes_the_checker_fall(value: Any) -> None:
    document = {"format": "rukh.extension/2", "commands": [value], "runtime": value}
    assert check(json.dumps(document).encode()).descriptor is None
    assert check(json.dumps(value).encode()).descriptor is None
