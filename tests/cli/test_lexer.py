"""The grammar of words: every vector, the inverse, and what no words can break."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rukh.cli.argv import decode_argv
from rukh.cli.lexer import CoreOptions, lex
from rukh.cli.reading import split_core
from rukh.cli.saying import argv_for
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.reader import read

SPEC = Path(__file__).resolve().parents[2] / "spec"
VECTORS: Any = read(
    (SPEC / "vectors" / "argv.json").read_bytes(), max_bytes=1 << 20, max_depth=12, max_members=1 << 16
)
SETS = VECTORS["sets"]
PLACE = re.compile(r"argument [1-9][0-9]*: .*|--inputs", re.DOTALL)


def cases(section: str, refused: bool) -> list[Any]:
    """The vectors of one section that are refused, or those that are read."""
    return [pytest.param(row, id=row["id"]) for row in VECTORS[section] if ("rule" in row) == refused]


def core_of(core: CoreOptions) -> dict[str, Any]:
    """The core options as a vector writes them: without what is false or empty."""
    members = {name: getattr(core, name) for name in ("help", "json", "envelope", "inputs", "reads")}
    return {name: value for name, value in members.items() if value or value == ""}


def refusal(call: Any, *arguments: Any, **options: Any) -> tuple[str, str]:
    """The rule and the place with which `call` refuses."""
    with pytest.raises(RukhError) as caught:
        call(*arguments, **options)
    assert caught.value.mend, "a refusal says how to mend it"
    return caught.value.rule, caught.value.place


def steps(left: list[Any], right: list[Any]) -> int:
    """How many words must be changed, added or taken out to get from one list to the other."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        row, before = [i], row
        for j, b in enumerate(right, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b)))
    return row[-1]


def test_the_vectors_have_the_published_shape() -> None:
    schema = json.loads((SPEC / "schemas" / "vectors-argv.schema.json").read_bytes())
    Draft202012Validator.check_schema(schema)

    assert [] == [error.message for error in Draft202012Validator(schema).iter_errors(VECTORS)]
    for section in ("globals", "decode", "lex", "argv"):
        ids = [row["id"] for row in VECTORS[section]]
        assert sorted(set(ids)) == sorted(ids)


@pytest.mark.requirement(
    "RK-CLI-001",
    "RK-CLI-010",
    "RK-CLI-011",
    "RK-CLI-012",
    "RK-CLI-013",
    "RK-CLI-014",
    "RK-CLI-017",
    "RK-CLI-018",
)
@pytest.mark.requirement("RK-CLI-019", "RK-CLI-020", "RK-CLI-021", "RK-CLI-022", "RK-CLI-023", "RK-CLI-026")
@pytest.mark.parametrize("row", cases("lex", refused=False))
def test_words_become_the_inputs_of_the_vector(row: dict[str, Any]) -> None:
    lexed = lex(SETS[row["set"]], row["tokens"], inputs="run" in row)

    assert canonical(row["supplied"]) == canonical(lexed.supplied)
    assert row.get("core", {}) == core_of(lexed.core)


@pytest.mark.requirement(
    "RK-CLI-003",
    "RK-CLI-013",
    "RK-CLI-014",
    "RK-CLI-015",
    "RK-CLI-016",
    "RK-CLI-017",
    "RK-CLI-019",
    "RK-CLI-020",
)
@pytest.mark.requirement("RK-CLI-021", "RK-CLI-024", "RK-CLI-025", "RK-CLI-026", "RK-CLI-027")
@pytest.mark.parametrize("row", cases("lex", refused=True))
def test_words_are_refused_beside_an_accepted_sibling(row: dict[str, Any]) -> None:
    record, run = SETS[row["set"]], "run" in row

    lex(record, row["accepted"], inputs=run)

    assert 1 == steps(row["tokens"], row["accepted"])
    assert (row["rule"], row["place"]) == refusal(lex, record, row["tokens"], inputs=run)


def test_there_are_vectors_enough_and_every_rule_of_the_grammar_refuses_one() -> None:
    rows = [row for section in ("globals", "decode", "lex", "argv") for row in VECTORS[section]]
    rules = {row["rule"] for row in rows if "rule" in row}

    assert {f"RKL{number:03d}" for number in range(1, 20)} - {"RKL010", "RKL018"} == rules  # 010 is retired
    assert len(VECTORS["lex"]) >= 90
    assert len(VECTORS["argv"]) >= 10


@pytest.mark.requirement("RK-CLI-028")
@pytest.mark.parametrize("row", cases("globals", refused=False))
def test_options_before_the_path_are_split_off(row: dict[str, Any]) -> None:
    found, rest = split_core(row["argv"])

    assert (row.get("home"), "help" in row, "version" in row) == (found.home, found.help, found.version)
    assert row["rest"] == rest


@pytest.mark.requirement("RK-CLI-028", "RK-CLI-003")
@pytest.mark.parametrize("row", cases("globals", refused=True))
def test_options_before_the_path_are_refused_beside_an_accepted_sibling(row: dict[str, Any]) -> None:
    split_core(row["accepted"])

    assert 1 == steps(row["argv"], row["accepted"])
    assert (row["rule"], row["place"]) == refusal(split_core, row["argv"])


@pytest.mark.requirement("RK-CLI-002")
@pytest.mark.parametrize("row", cases("decode", refused=False))
def test_words_in_utf_8_are_decoded(row: dict[str, Any]) -> None:
    assert row["words"] == decode_argv([bytes.fromhex(word) for word in row["hex"]])


@pytest.mark.requirement("RK-CLI-002")
@pytest.mark.parametrize("row", cases("decode", refused=True))
def test_the_first_word_that_is_not_utf_8_is_named(row: dict[str, Any]) -> None:
    decode_argv([bytes.fromhex(word) for word in row["accepted"]])

    assert 1 == steps(row["hex"], row["accepted"])
    assert (row["rule"], row["place"]) == refusal(decode_argv, [bytes.fromhex(word) for word in row["hex"]])


@pytest.mark.requirement("RK-CLI-030")
@pytest.mark.parametrize("row", cases("argv", refused=False))
def test_inputs_become_the_words_of_the_vector_and_come_back(row: dict[str, Any]) -> None:
    record = SETS[row["set"]]

    assert row["argv"] == argv_for(record, row["inputs"])
    assert canonical(row["inputs"]) == canonical(lex(record, row["argv"]).supplied)


@pytest.mark.requirement("RK-CLI-030")
@pytest.mark.parametrize("row", cases("argv", refused=True))
def test_inputs_that_no_words_say_are_refused_beside_a_sibling(row: dict[str, Any]) -> None:
    record = SETS[row["set"]]

    argv_for(record, row["accepted"])

    assert (row["rule"], row["place"]) == refusal(argv_for, record, row["inputs"])


# name: (set, a value that a vector cannot hold, the sibling that words can say)
UNSAYABLE: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "NUL": ("text", {"x": "a\0b"}, {"x": "ab"}),
    "a lone surrogate": ("text", {"x": "a\ud800"}, {"x": "a\U00010000"}),
    "an infinite number": ("numbers", {"x": float("inf")}, {"x": 1e308}),
    "no number": ("numbers", {"x": float("nan")}, {"x": 0}),
    "an integer beyond the limit": ("numbers", {"n": 2**53 + 1}, {"n": 2**53 - 1}),
    "a boolean for a number": ("numbers", {"n": True}, {"n": 1}),
    "an object": ("text", {"x": {"a": 1}}, {"x": '{"a":1}'}),
    "a list for one value": ("text", {"x": ["a"]}, {"x": "a"}),
    "one value for a list": ("notes", {"tags": "a"}, {"tags": ["a"]}),
    "null in a list": ("notes", {"tags": [None]}, {"tags": ["null"]}),
}


@pytest.mark.requirement("RK-CLI-030")
@pytest.mark.parametrize("name", UNSAYABLE)
def test_values_of_no_json_document_are_refused_too(name: str) -> None:
    chosen, unsayable, sayable = UNSAYABLE[name]

    argv_for(SETS[chosen], sayable)

    assert ("RKL019", f"/{next(iter(unsayable))}") == refusal(argv_for, SETS[chosen], unsayable)


@pytest.mark.requirement("RK-CLI-003")
def test_places_count_the_words_in_front_too() -> None:
    assert ("RKL001", "argument 6: --colr") == refusal(lex, SETS["notes"], ["Milk", "--colr"], before=4)


# name: (set, words, what the mend must say)
MENDS = {
    "a point without digits": ("numbers", ["-.5"], "write -0.5"),
    "a leading zero and a plus": ("numbers", ["+007"], "write 7"),
    "a point at the end": ("numbers", ["--x=1.e3"], "write 1e3"),
    "not a number at all": ("numbers", ["x"], "write a number as JSON does, such as 4, -0.5 or 1e3"),
    "a next word with a hyphen": ("text", ["--x", "-y"], "write --x=-y if that is the value"),
    "a next word with a hyphen, short": ("text", ["-x", "-y"], "write -x-y if that is the value"),
    "nothing follows": ("text", ["--x"], "write --x VALUE"),
    "a misspelled option": ("notes", ["--colr=red"], "did you mean --colour?"),
    "a misspelled denial": ("notes", ["--no-pined"], "did you mean --no-pinned?"),
    "a misspelled core option": ("notes", ["--jsn"], "did you mean --json?"),
    "a lost hyphen": ("notes", ["-colour=red"], "did you mean --colour?"),
    "another case": ("notes", ["-T", "x"], "did you mean -t?"),
    "no such short option": ("notes", ["-4x"], "--help lists the options; values may follow --"),
    "an abbreviation of two": ("numbers", ["--h"], "write --help"),
    "an abbreviation of many": ("shorts", ["--no"], "write --no-all or --no-cache"),
    "a flag with a value": ("notes", ["--pinned=yes"], "write --pinned or --no-pinned alone"),
    "a short flag with a value": ("shorts", ["-b=yes"], "write -b alone"),
    "a parameter of --read": ("notes", ["--read=titel=f"], "did you mean title?"),
    "a parameter of --read, unlike any": ("notes", ["--read=zzzzzz=f"], "--help names the parameters"),
}


@pytest.mark.requirement("RK-CLI-013", "RK-CLI-016", "RK-CLI-026")
@pytest.mark.parametrize("name", MENDS)
def test_a_refusal_says_what_to_write_instead(name: str) -> None:
    chosen, words, mend = MENDS[name]
    with pytest.raises(RukhError) as caught:
        lex(SETS[chosen], words)

    assert mend == caught.value.mend


@pytest.mark.requirement("RK-CLI-016")
def test_an_unlike_option_names_no_other() -> None:
    with pytest.raises(RukhError) as caught:
        lex(SETS["notes"], ["--zzzzzzzzzz"])

    assert "did you mean" not in caught.value.mend


@pytest.mark.requirement("RK-CLI-015")
def test_the_second_flag_of_a_default_true_one_is_refused_and_the_first_denies_it() -> None:
    assert {"cache": False} == lex(SETS["shorts"], ["--no-cache"]).supplied
    assert ("RKL003", "argument 2: --no-cache") == refusal(lex, SETS["shorts"], ["--no-cache", "--no-cache"])


@pytest.mark.requirement("RK-CLI-023")
def test_a_core_option_wins_over_a_declared_one() -> None:
    declared = {
        "id": "json",
        "form": "option",
        "names": ["--json"],
        "required": False,
        "type": {"kind": "string"},
    }
    lexed = lex({"result": {"kind": "text"}, "parameters": [declared]}, ["--json"])

    assert ({}, {"json": True}) == (lexed.supplied, core_of(lexed.core))


@pytest.mark.requirement("RK-CLI-012")
def test_a_word_that_looks_like_a_number_is_an_option_where_the_command_has_that_short_name() -> None:
    """No descriptor of today can declare such a name; the grammar does not rest on that."""
    declared = {"id": "four", "form": "flag", "names": ["-4"], "required": False, "type": {"kind": "boolean"}}
    rest = EVERYTHING["parameters"][-1]

    assert {"four": True} == lex({"result": None, "parameters": [declared, rest]}, ["-4"]).supplied
    assert {"rest": ["-4"]} == lex({"result": None, "parameters": [rest]}, ["-4"]).supplied


NASTY = [
    *(
        "",
        "-",
        "--",
        "-x",
        "--x",
        "--help",
        "--json",
        "-4",
        "-.5",
        "=",
        "=x",
        "a=b",
        "a,b",
        "1e400",
        "null",
        "true",
    ),
    *("{}", "[1]", '{"a":null}', "\\", "'", '"', "$(x)", "%", " ", "\n"),
    *("\U0001f95b", "e\u0301", "\u2028", "\u0085", "\u200e", "\ufeff"),
]
TEXT = st.sampled_from(NASTY) | st.text(st.characters(codec="utf-8", exclude_characters="\0"))
INTEGER = st.integers(-(2**53) + 1, 2**53 - 1)
NUMBER = INTEGER | st.floats(allow_nan=False, allow_infinity=False)
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXT,
    "integer": INTEGER,
    "number": NUMBER,
    "decimal": st.from_regex(r"-?[0-9]{1,9}(\.[0-9]{1,9})?", fullmatch=True),
    "choice": TEXT,
    "boolean": st.booleans(),
}


def everything() -> tuple[dict[str, Any], dict[str, st.SearchStrategy[Any]]]:
    """A command with a parameter of each form, name and type that a descriptor admits, and values for each."""
    parameters: list[dict[str, Any]] = []
    values: dict[str, st.SearchStrategy[Any]] = {}
    letters = iter("ABCDEFGHIJKLMNOPQRSTUVWXYZ")

    def declare(identity: str, form: str, names: list[str], kind: dict[str, Any]) -> None:
        parameters.append({"id": identity, "form": form, "names": names, "required": False, "type": kind})
        scalar = SCALARS[kind.get("items", kind)["kind"]]
        values[identity] = st.lists(scalar, min_size=1, max_size=4) if "items" in kind else scalar

    for kind in SCALARS:
        if kind != "boolean":
            declare(f"long_{kind}", "option", [f"--{kind}"], {"kind": kind})
            declare(f"short_{kind}", "option", [f"-{next(letters)}"], {"kind": kind})
            listed = {"kind": "list", "items": {"kind": kind}, "maxItems": 4}
            declare(f"list_{kind}", "option", [f"-{next(letters)}", f"--list-{kind}"], listed)
    declare("flag", "flag", ["--flag", "-f"], {"kind": "boolean"})
    for kind in ("string", "number", "decimal", "string"):
        declare(f"positional_{len(parameters)}", "positional", [], {"kind": kind})
    declare("rest", "positional", [], {"kind": "list", "items": {"kind": "string"}, "maxItems": 4})
    return {"result": None, "parameters": parameters}, values


EVERYTHING, VALUES = everything()


@st.composite
def inputs(draw: st.DrawFn) -> dict[str, Any]:
    """Inputs that words can say: any options and flags, and the first few positionals."""
    positionals = [p["id"] for p in EVERYTHING["parameters"] if p["form"] == "positional"]
    options = [name for name in VALUES if name not in positionals]
    chosen = draw(st.lists(st.sampled_from(options), unique=True, max_size=6))
    chosen += positionals[: draw(st.integers(0, len(positionals)))]
    return {name: draw(VALUES[name]) for name in chosen}


@pytest.mark.requirement("RK-CLI-001", "RK-CLI-030")
@given(inputs())
def test_words_made_from_inputs_come_back_as_the_same_inputs(values: dict[str, Any]) -> None:
    words = argv_for(EVERYTHING, values)
    lexed = lex(EVERYTHING, decode_argv([word.encode() for word in words]))

    assert canonical(values) == canonical(lexed.supplied)
    assert {} == core_of(lexed.core)


@pytest.mark.requirement("RK-CLI-003")
@given(
    st.lists(
        TEXT | st.sampled_from(["-f", "--flag", "-B1", "--list-string", "--read", "--read=a=b"]), max_size=6
    )
)
def test_whatever_the_words_they_are_read_or_refused_by_one_rule(words: list[str]) -> None:
    try:
        lexed = lex(EVERYTHING, words)
    except RukhError as error:
        assert "RKL" == error.rule[:3]
        assert PLACE.fullmatch(error.place)
        assert error.mend
    else:
        assert set(lexed.supplied) <= set(VALUES)


@pytest.mark.requirement("RK-CLI-010")
@given(st.lists(TEXT, min_size=1, max_size=5))
def test_behind_the_end_of_options_every_word_is_positional(words: list[str]) -> None:
    record = {"result": None, "parameters": [EVERYTHING["parameters"][-1]]}

    assert {"rest": words} == lex(record, ["--", *words]).supplied


@pytest.mark.requirement("RK-CLI-018")
@given(st.lists(TEXT, min_size=1, max_size=5))
def test_a_list_keeps_order_and_never_splits(words: list[str]) -> None:
    names = ["--list-string=", "--list-string"]
    spelled = [f"{names[0]}{word}" for word in words]

    assert {"list_string": words} == lex(EVERYTHING, spelled).supplied
