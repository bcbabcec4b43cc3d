"""The vector files as a whole: each of its schema, each refusal beside its sibling, and no rule without one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rukh.values.reader import read
from rukh.values.rules import RULES
from tests.contract.documents import patched
from tests.support import vectors

FILES = vectors.files()
SCHEMAS = sorted(
    path.name.removesuffix(".schema.json") for path in (vectors.SPEC / "schemas").glob("vectors-*")
)
# Rules of these families must have a vector. Of the command line, the rules of its lexer.
FAMILIES = ("RKV", "RKD", "RKI", "RKR", "RKL")
LEXER = range(1, 20)
# What no document of a vector can break, and why. RK-VEC-003
WITHOUT = {
    "RKI007": "the reader gives no number that is not finite",
    "RKI013": "the reader gives no string with NUL or a lone surrogate",
    "RKR033": "the reader gives no string with NUL or a lone surrogate",
    "RKR034": "the reader gives no number beyond binary64, and none beyond 2^53-1 as an integer",
    "RKR038": "how many steps a validation takes is each host's own",
    "RKR039": "how long a validation takes is each machine's own",
    "RKL010": "retired",
    "RKL018": "it needs a home with commands",
}
# Where the refused document and its sibling are JSON values: file, group, member.
VALUES = [
    ("inputs", "cases", "supplied"),
    ("results", "schemas", "schema"),
    ("results", "results", "result"),
    ("envelopes", "cases", "envelope"),
]
# Groups whose rows are refused or accepted by name. Those of the command line name their siblings themselves.
GROUPS = [
    ("reader", "cases"),
    ("numbers", "tokens"),
    ("numbers", "decimals"),
    ("unicode", "strings"),
    ("inputs", "cases"),
    ("results", "schemas"),
    ("results", "results"),
    ("envelopes", "cases"),
    ("channel-frames", "cases"),
    ("trust", "names"),
]


def schema_of(name: str) -> dict[str, Any]:
    path = vectors.SPEC / "schemas" / f"vectors-{name}.schema.json"
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


# Form


@pytest.mark.requirement("RK-VEC-001")
def test_each_file_has_its_schema_and_each_schema_its_file() -> None:
    assert [f"vectors-{name}" for name in FILES] == SCHEMAS


@pytest.mark.requirement("RK-VEC-001")
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_of_its_schema(name: str) -> None:
    schema, document = schema_of(name), vectors.document(name)
    Draft202012Validator.check_schema(schema)
    assert [error.message for error in Draft202012Validator(schema).iter_errors(document)] == []
    assert document["format"] == f"rukh.{name}-vectors/1"
    assert schema["properties"]["format"] == {"const": document["format"]}


@pytest.mark.requirement("RK-VEC-001")
@pytest.mark.parametrize("name", FILES)
def test_a_schema_of_vectors_is_closed(name: str) -> None:
    """A member more, at the root or in a row, is not of the schema: a vector says nothing that nobody reads."""
    validator, document = Draft202012Validator(schema_of(name)), vectors.document(name)
    assert not validator.is_valid(document | {"more": 1})
    for group, rows in document.items():
        if isinstance(rows, list):
            assert not validator.is_valid(document | {group: [*rows[:-1], rows[-1] | {"more": 1}]})
            assert not validator.is_valid(document | {group: []})


@pytest.mark.requirement("RK-VEC-001")
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_by_the_strict_reader(name: str) -> None:
    data = (vectors.SPEC / "vectors" / f"{name}.json").read_bytes()
    assert read(data, max_bytes=1 << 20, max_depth=32, max_members=1 << 18)["format"]


# Siblings


@pytest.mark.requirement("RK-VEC-002")
@pytest.mark.parametrize(("name", "group"), GROUPS, ids=str)
def test_each_refusal_stands_beside_an_accepted_one(name: str, group: str) -> None:
    assert vectors.without_sibling(name, group) == []
    assert any(map(vectors.is_refused, vectors.document(name)[group]))


@pytest.mark.requirement("RK-VEC-002")
@pytest.mark.parametrize(("name", "group", "member"), VALUES, ids=str)
def test_a_refused_value_and_its_sibling_differ_in_one_field(name: str, group: str, member: str) -> None:
    def value(row: vectors.Case) -> Any:
        written = row[member]
        if member == "envelope":
            return written
        return read(vectors.text(written).encode(), max_bytes=1 << 20, max_depth=32, max_members=1 << 14)

    rows = {row["name"]: row for row in vectors.document(name)[group]}
    for row in filter(vectors.is_refused, rows.values()):
        sibling = rows[row["sibling"]]
        where = [row.get(part) for part in ("command", "declared")]
        assert where == [sibling.get(part) for part in ("command", "declared")], row["name"]
        assert vectors.fields_apart(value(row), value(sibling)) == 1, row["name"]


def test_fields_are_counted_as_the_page_says() -> None:
    apart = vectors.fields_apart
    one = {"a": 1, "b": [1, 2], "c": {"d": "x"}, "e": [{"f": 1}]}
    assert apart(one, one) == 0
    for other in (
        one | {"a": 2},
        one | {"g": 1},
        one | {"b": [3, 4, 5]},
        one | {"c": {"d": "y"}},
        one | {"e": [{"f": 1}, {"f": 2}]},
        one | {"e": []},
        {**{name: part for name, part in one.items() if name != "a"}, "renamed": 1},
    ):
        assert apart(one, other) == 1
    assert apart(one, one | {"a": 2, "b": []}) == 2
    assert apart(one, one | {"e": [{"f": 1}, {"f": 2}, {"f": 3}]}) == 2
    assert (apart(1, True), apart(1, 1.0), apart(None, [])) == (1, 1, 1)


def one_operation_apart(left: list[Any], right: list[Any]) -> bool:
    """Whether one patch is the other with one operation more, or with another value in one operation."""
    if len(left) == len(right) + 1:
        return any(left[:at] + left[at + 1 :] == right for at in range(len(left)))
    changed = [(a, b) for a, b in zip(left, right, strict=False) if a != b]
    return len(left) == len(right) and len(changed) == 1 and changed[0][0]["path"] == changed[0][1]["path"]


@pytest.mark.requirement("RK-VEC-002")
def test_a_refused_descriptor_is_one_operation_from_an_accepted_one() -> None:
    document = vectors.document("descriptors")
    accepted = {row["name"]: row for row in document["accepted"]}
    for row in document["refused"]:
        sibling = accepted[row["sibling"]] if "sibling" in row else {"base": row["base"], "patch": []}
        assert sibling["base"] == row["base"], row["name"]
        assert one_operation_apart(row["patch"], sibling["patch"]), row["name"]


@pytest.mark.requirement("RK-VEC-002")
def test_no_two_descriptors_of_the_vectors_are_the_same() -> None:
    document = vectors.document("descriptors")
    rows = document["accepted"] + document["refused"]
    names = [row["name"] for row in rows]
    assert sorted(set(names)) == sorted(names)
    built = [json.dumps(patched(document["bases"][row["base"]], row["patch"])) for row in rows]
    assert [name for name, one in zip(names, built, strict=True) if built.count(one) > 1] == []


# Rules


def shown() -> set[str]:
    """Every rule that some vector names."""
    found: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, str):
            found.update({value} & set(RULES))
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(part)

    for name in FILES:
        for group in vectors.document(name).values():
            for row in group if isinstance(group, list) else ():
                walk([row.get("rule"), row.get("warnings")])
    return found


def of_the_families() -> set[str]:
    rules = {rule for rule in RULES if rule.startswith(FAMILIES)}
    return {rule for rule in rules if not rule.startswith("RKL") or int(rule[3:]) in LEXER}


@pytest.mark.requirement("RK-VEC-003")
def test_every_rule_has_a_vector_or_a_reason_for_none() -> None:
    without = of_the_families() - shown()
    assert without == set(WITHOUT)
    page = (vectors.SPEC / "vectors.md").read_text(encoding="utf-8")
    assert [rule for rule in WITHOUT if f"| {rule} |" not in page] == []


def count(name: str, *groups: str, refused: bool | None = None) -> int:
    document = vectors.document(name)
    rows = [row for group in groups for row in document[group]]
    return sum(refused is None or vectors.is_refused(row) is refused for row in rows)


@pytest.mark.requirement("RK-VEC-003")
def test_there_are_as_many_as_the_depth_of_the_contract_asks_for() -> None:
    bases = vectors.document("descriptors")["bases"]
    refused = [bases[row["base"]]["format"] for row in vectors.document("descriptors")["refused"]]
    assert refused.count("rukh.extension/2") >= 120
    assert refused.count("rukh.extension/1") >= 30
    assert count("argv", "globals", "decode", "lex", "argv") >= 150
    assert count("results", "schemas", "results") >= 150
    assert count("inputs", "cases") >= 150
    assert count("unicode", "strings", "compared", "counted") >= 100
    assert count("envelopes", "cases", refused=True) >= 50


# What the files say of themselves


@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("name", FILES)
def test_the_page_names_each_file(name: str) -> None:
    assert f"`{name}.json`" in (vectors.SPEC / "vectors.md").read_text(encoding="utf-8")
