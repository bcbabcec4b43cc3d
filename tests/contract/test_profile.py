"""The owner file: accepted whole, refused by rule and place, published in one form, written back."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rukh.contract.profile import DEFAULT_PROFILE, RULES, export_toml, read_owner_profile
from rukh.values import registry
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.rules import RULES as REGISTERED
from tests.contract.documents import load

SCHEMA = load("spec/schemas/profile.schema.json")
VALIDATOR = Draft202012Validator(SCHEMA)

WHOLE = """\
format = "rukh.profile/1"

[resources.notes]
kind = "directory"
path = "~/notes"
access = "read-write"

[presets.assistant]
deadline = "60s"
budget = { calls = 200, effects = 20, bytes = "10MiB", cost = "5.00", per = "1d" }
approval = "effects"
enforcement = "host-trusted/1"

[endpoints.desktop]
transport = "stdio"
namespace = "acme.desktop"
preset = "assistant"
actor = "agent:desktop"
commands = ["acme.notes/add"]
packages = ["acme.tools"]

[[rules]]
action = "run"
actors = ["agent:desktop", "user:local"]
commands = ["acme.notes/*", "acme.tools/fmt", "*"]
decision = "allow"

[[rules]]
action = "install"
actors = ["*"]
packages = ["acme.notes", "*"]
decision = "deny"

[environment."acme.notes"]
NOTES_DIR = "~/notes"

[passthrough."acme.tools/git"]
arguments = "unrestricted"

[limits]
concurrency = 8
resultBytes = "64KiB"
diagnosticBytes = "0B"
"""

PUBLISHED: dict[str, Any] = {
    "format": "rukh.profile/1",
    "resources": {"notes": {"kind": "directory", "path": "~/notes", "access": "read-write"}},
    "presets": {
        "assistant": {
            "deadline": 60_000,
            "budget": {"calls": 200, "effects": 20, "bytes": 10_485_760, "cost": "5", "per": 86_400_000},
            "approval": "effects",
            "enforcement": "host-trusted/1",
        }
    },
    "endpoints": {
        "desktop": {
            "transport": "stdio",
            "namespace": "acme.desktop",
            "preset": "assistant",
            "actor": "agent:desktop",
            "commands": ["acme.notes/add"],
            "packages": ["acme.tools"],
        }
    },
    "rules": [
        {
            "action": "run",
            "actors": ["agent:desktop", "user:local"],
            "commands": ["acme.notes/*", "acme.tools/fmt", "*"],
            "decision": "allow",
        },
        {"action": "install", "actors": ["*"], "packages": ["acme.notes", "*"], "decision": "deny"},
    ],
    "environment": {"acme.notes": {"NOTES_DIR": "~/notes"}},
    "passthrough": {"acme.tools/git": {"arguments": "unrestricted"}},
    "limits": {"concurrency": 8, "resultBytes": 65_536, "diagnosticBytes": 0},
}


def refusal(source: str) -> RukhError:
    with pytest.raises(RukhError) as caught:
        read_owner_profile(source)
    return caught.value


@pytest.mark.requirement("RK-PROF-001", "RK-PROF-004")
def test_a_whole_file_is_published_in_its_one_form() -> None:
    assert read_owner_profile(WHOLE) == PUBLISHED


@pytest.mark.requirement("RK-PROF-005", "RK-PROF-016")
def test_what_is_left_out_is_published_as_nothing() -> None:
    empty = read_owner_profile('format = "rukh.profile/1"')
    parts = ("resources", "presets", "endpoints", "environment", "passthrough", "limits")
    assert empty == {"format": "rukh.profile/1", "rules": [], **{name: {} for name in parts}}
    source = 'format = "rukh.profile/1"\n[presets.p]\ndeadline = "1s"\nbudget = { calls = 1 }'
    assert read_owner_profile(source)["presets"]["p"] == {
        "deadline": 1000,
        "budget": {"calls": 1, "effects": 0, "bytes": 0, "cost": "0"},
        "approval": "effects",
        "enforcement": "host-trusted/1",
    }


@pytest.mark.requirement("RK-PROF-004")
def test_two_spellings_of_one_amount_publish_one_profile() -> None:
    other = WHOLE
    for one, another in (
        ("60s", "1m"),
        ("10MiB", "10240KiB"),
        ("5.00", "5.0"),
        ("1d", "24h"),
        ("64KiB", "65536B"),
    ):
        assert one in other
        other = other.replace(f'"{one}"', f'"{another}"')
    assert other != WHOLE
    assert canonical(read_owner_profile(other)) == canonical(read_owner_profile(WHOLE))


# name: (text of WHOLE, what stands in its place, rule, place)
FAULTS: dict[str, tuple[str, str, str, str]] = {
    "another format": ("rukh.profile/1", "rukh.profile/2", "RKF002", "/format"),
    "no format": ('format = "rukh.profile/1"', "", "RKF002", "/format"),
    "an unknown section": ("[resources.notes]", "[resource.notes]", "RKF003", "/resource"),
    "packages in the file": ("[limits]", "[packages.x]\n[limits]", "RKF003", "/packages"),
    "a misspelled member": ("deadline =", "deadlin =", "RKF003", "/presets/assistant/deadlin"),
    "an unknown member": ("approval =", "aproval =", "RKF003", "/presets/assistant/aproval"),
    "a limit of the host alone": ("concurrency", "pageTools", "RKF003", "/limits/pageTools"),
    "commands of an install rule": (
        'packages = ["acme.notes", "*"]', 'commands = ["*"]', "RKF003", "/rules/1/commands",
    ),
    "no preset": ('preset = "assistant"', "", "RKF004", "/endpoints/desktop"),
    "no calls": ("calls = 200, ", "", "RKF004", "/presets/assistant/budget"),
    "no decision": ('decision = "deny"', "", "RKF004", "/rules/1"),
    "a number for a deadline": ('"60s"', "60", "RKF005", "/presets/assistant/deadline"),
    "text for a number": ("calls = 200", 'calls = "200"', "RKF005", "/presets/assistant/budget/calls"),
    "a date": ("concurrency = 8", "concurrency = 2026-01-01", "RKF005", "/limits/concurrency"),
    "a fraction": ("concurrency = 8", "concurrency = 8.0", "RKF005", "/limits/concurrency"),
    "infinity": ("concurrency = 8", "concurrency = inf", "RKF005", "/limits/concurrency"),
    "true for a number": ("calls = 200", "calls = true", "RKF005", "/presets/assistant/budget/calls"),
    "another transport": ('"stdio"', '"http"', "RKF006", "/endpoints/desktop/transport"),
    "another decision": ('"deny"', '"ask"', "RKF006", "/rules/1/decision"),
    "another action": ('"install"', '"publish"', "RKF006", "/rules/1/action"),
    "another approval": ('approval = "effects"', 'approval = "all"', "RKF006", "/presets/assistant/approval"),
    "approval of each call": ('approval = "effects"', 'approval = "calls"', "RKF014", "/presets/assistant/approval"),
    "another enforcement": ("host-trusted/1", "host-trusted/2", "RKF006", "/presets/assistant/enforcement"),
    "another access": ('"read-write"', '"write"', "RKF006", "/resources/notes/access"),
    "limited arguments": ('"unrestricted"', '"some"', "RKF006", "/passthrough/acme.tools~1git/arguments"),
    "an endpoint with a capital": ("[endpoints.desktop]", "[endpoints.Desktop]", "RKF007", "/endpoints/Desktop"),
    "a namespace of one label": ('"acme.desktop"', '"desktop"', "RKF007", "/endpoints/desktop/namespace"),
    "a user as the actor": ('actor = "agent:desktop"', 'actor = "user:local"', "RKF007", "/endpoints/desktop/actor"),
    "a pattern as an export": ('["acme.notes/add"]', '["acme.notes/*"]', "RKF007", "/endpoints/desktop/commands/0"),
    "a pattern of packages": ('"acme.tools/fmt"', '"acme.*/fmt"', "RKF007", "/rules/0/commands/1"),
    "an actor without kind": ('"user:local"', '"local"', "RKF007", "/rules/0/actors/1"),
    "a variable in lower case": ("NOTES_DIR", "notes_dir", "RKF007", "/environment/acme.notes/notes_dir"),
    "a grant for a package": ('"acme.tools/git"', '"acme.tools"', "RKF007", "/passthrough/acme.tools"),
    "a duration without unit": ('"60s"', '"60"', "RKF008", "/presets/assistant/deadline"),
    "no time at all": ('"60s"', '"0s"', "RKF008", "/presets/assistant/deadline"),
    "a size of thousands": ('"10MiB"', '"10MB"', "RKF008", "/presets/assistant/budget/bytes"),
    "a negative cost": ('"5.00"', '"-5.00"', "RKF008", "/presets/assistant/budget/cost"),
    "a negative number of calls": ("calls = 200", "calls = -1", "RKF009", "/presets/assistant/budget/calls"),
    "more concurrency than the host has": ("concurrency = 8", "concurrency = 17", "RKF009", "/limits/concurrency"),
    "no concurrency": ("concurrency = 8", "concurrency = 0", "RKF009", "/limits/concurrency"),
    "larger results than the host takes": ('"64KiB"', '"129KiB"', "RKF009", "/limits/resultBytes"),
    "a command twice": ('["acme.notes/add"]', '["a.b/c", "a.b/c"]', "RKF010", "/endpoints/desktop/commands/1"),
    "an escape character": (
        'NOTES_DIR = "~/notes"', 'NOTES_DIR = "\\u001b"', "RKF011", "/environment/acme.notes/NOTES_DIR",
    ),
    "a rule for nobody": ('["*"]', "[]", "RKF012", "/rules/1/actors"),
    "a relative directory": ('path = "~/notes"', 'path = "notes"', "RKF013", "/resources/notes/path"),
}  # fmt: skip


@pytest.mark.requirement(
    "RK-PROF-001", "RK-PROF-002", "RK-PROF-006", "RK-PROF-007", "RK-PROF-012", "RK-PROF-015", "RK-PROF-023"
)
@pytest.mark.parametrize("name", FAULTS)
def test_one_fault_is_refused_by_its_rule_at_its_place(name: str) -> None:
    """The accepted sibling is WHOLE, in which one text is changed."""
    before, after, rule, place = FAULTS[name]
    assert WHOLE.count(before) >= 1
    error = refusal(WHOLE.replace(before, after, 1))
    assert (error.rule, error.place) == (rule, place)
    assert error.fault == "owner"
    assert error.mend


@pytest.mark.requirement("RK-PROF-008")
@pytest.mark.parametrize("approval", ["none", "effects", "calls"])
def test_approvals_that_nobody_can_ask_for_are_unsupported(approval: str) -> None:
    source = WHOLE.replace('approval = "effects"', f'approval = "{approval}"')
    if approval == "calls":
        error = refusal(source)
        assert (error.rule, error.place, error.exit_code) == ("RKF014", "/presets/assistant/approval", 69)
    else:
        assert read_owner_profile(source)["presets"]["assistant"]["approval"] == approval


def test_every_rule_of_the_family_is_refused_somewhere() -> None:
    used = {"RKF001", *(rule for _, _, rule, _ in FAULTS.values())}
    assert used == {rule for rule in REGISTERED if rule.startswith("RKF")}
    assert set(RULES.values()) | {"RKF001", "RKF002"} == used


@pytest.mark.requirement("RK-PROF-001")
@pytest.mark.parametrize(
    ("before", "after", "near"),
    [
        ("[presets.", "[preset.", "presets"),
        ("approval =", "aproval =", "approval"),
        ("concurrency", "concurency", "concurrency"),
    ],
)
def test_an_unknown_key_names_the_nearest(before: str, after: str, near: str) -> None:
    assert refusal(WHOLE.replace(before, after, 1)).mend == f'did you mean "{near}"?'


@pytest.mark.requirement("RK-PROF-001")
def test_the_refusal_says_how_many_faults_are_left() -> None:
    said = refusal(WHOLE.replace("stdio", "http").replace('"60s"', '"60"')).message.split("\n")
    assert said[0].endswith("(and 1 more)")
    assert ["/endpoints/desktop/transport"] == [line.partition(":")[0] for line in said[1:]]


# name: (text, line, column)
NO_TOML: dict[str, tuple[str, int, int]] = {
    "no value": ("format =\n", 1, 9),
    "a key twice": ('format = "rukh.profile/1"\nformat = "x"\n', 2, 13),
    "a half surrogate": ('a = "\\ud800"', 1, 12),
    "too many digits": (f"a = {'1' * 5000}", 0, 0),
    "too deep": (f"a = {'[' * 100_000}", 0, 0),
    "too large": ("#" * (registry.LIMIT_PROFILE_BYTES + 1), 0, 0),
}


@pytest.mark.requirement("RK-PROF-001")
@pytest.mark.parametrize("name", NO_TOML)
def test_what_is_no_toml_is_refused_with_its_place(name: str) -> None:
    source, line, column = NO_TOML[name]
    error = refusal(source)
    assert (error.rule, error.line, error.column) == ("RKF001", line, column)


@pytest.mark.requirement("RK-PROF-001")
def test_a_file_of_just_the_limit_is_read() -> None:
    source = WHOLE + "#"
    assert read_owner_profile(source.ljust(registry.LIMIT_PROFILE_BYTES, "#")) == PUBLISHED


@pytest.mark.requirement("RK-PROF-006")
def test_a_limit_may_be_as_wide_as_the_host_has_it() -> None:
    widest = f'[limits]\nconcurrency = {registry.LIMIT_CONCURRENCY}\nresultBytes = "128KiB"\ndiagnosticBytes = "64KiB"'
    profile = read_owner_profile(f'format = "rukh.profile/1"\n{widest}')
    assert profile["limits"] == {
        "concurrency": registry.LIMIT_CONCURRENCY,
        "resultBytes": registry.LIMIT_RESULT_BYTES,
        "diagnosticBytes": registry.LIMIT_DIAGNOSTIC_BYTES,
    }


# Written back


@pytest.mark.requirement("RK-PROF-002", "RK-PROF-003")
def test_an_exported_file_reads_back_without_packages() -> None:
    profile = {**PUBLISHED, "packages": {"acme.notes": {"version": "1.0.0", "mount": []}}}
    text = export_toml(profile)
    assert "packages" not in tomllib.loads(text)
    assert read_owner_profile(text) == PUBLISHED


@pytest.mark.requirement("RK-PROF-003", "RK-PROF-024")
def test_the_profile_of_a_fresh_home_exports_and_reads_back() -> None:
    owner = {name: part for name, part in DEFAULT_PROFILE.items() if name != "packages"}
    assert DEFAULT_PROFILE["packages"] == {}
    assert read_owner_profile(export_toml(DEFAULT_PROFILE)) == owner


NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,5}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=8)
PRESETS = st.fixed_dictionaries(
    {
        "deadline": st.integers(1, 10**7).map(lambda n: n * 1000),
        "budget": st.fixed_dictionaries(
            {
                "calls": st.integers(0, 9),
                "effects": st.integers(0, 9),
                "bytes": st.integers(0, 10**5).map(lambda n: n * 512),
                "cost": st.sampled_from(["0", "1.5", "99"]),
            },
            optional={"per": st.integers(1, 99).map(lambda n: n * 60_000)},
        ),
        "approval": st.sampled_from(["none", "effects"]),
        "enforcement": st.just("host-trusted/1"),
    }
)


@pytest.mark.requirement("RK-PROF-003")
@given(
    st.dictionaries(NAMES, PRESETS, max_size=3), st.dictionaries(st.sampled_from("ABC"), TEXTS, max_size=3)
)
def test_any_profile_survives_being_written_and_read(presets: Any, variables: Any) -> None:
    environment = {"acme.notes": variables} if variables else {}
    owner = {**PUBLISHED, "presets": presets, "environment": environment}
    assert read_owner_profile(export_toml(owner)) == owner


# The published schema


@pytest.mark.requirement("RK-PROF-001")
def test_the_schema_for_editors_accepts_what_is_accepted() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    for source in (WHOLE, export_toml(DEFAULT_PROFILE), 'format = "rukh.profile/1"'):
        assert list(VALIDATOR.iter_errors(tomllib.loads(source))) == []


@pytest.mark.requirement("RK-PROF-001")
def test_the_schema_refuses_only_what_the_host_refuses_and_misses_little() -> None:
    missed = {
        name
        for name, (before, after, _, _) in FAULTS.items()
        if VALIDATOR.is_valid(tomllib.loads(WHOLE.replace(before, after, 1)))
    }
    assert missed == {
        "a fraction",
        "larger results than the host takes",
        "a negative cost",
        "an escape character",
        "approval of each call",
    }


JUNK: st.SearchStrategy[Any] = st.sampled_from(
    ["", "x", "a.b", "1s", "-1", 0, -1, 10**9, True, 1.5, [], {}, ["x"], [[]]]
)


@st.composite
def edited(draw: st.DrawFn) -> Any:
    """The whole file with one value anywhere replaced, or one member added."""
    document = tomllib.loads(WHOLE)
    holder: Any = document
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = draw(st.sampled_from([*keys, "zzz"] if isinstance(holder, dict) else keys))
        if key != "zzz" and isinstance(holder[key], dict | list) and holder[key] and draw(st.booleans()):
            holder = holder[key]
            continue
        holder[key] = draw(JUNK)
        return document


@pytest.mark.requirement("RK-PROF-001")
@given(edited())
def test_whatever_the_schema_refuses_the_host_refuses(document: Any) -> None:
    from tomli_w import dumps

    source = dumps(document)
    try:
        read_owner_profile(source)
    except RukhError as error:
        assert error.rule.startswith("RKF")
    else:
        assert VALIDATOR.is_valid(document)


@pytest.mark.requirement("RK-PROF-050")
def test_all_that_is_wrong_is_told_and_a_slip_is_not_missing_as_well() -> None:
    """One edit, and nothing is left of it."""
    wrong = WHOLE.replace("deadline =", "dedline =").replace('"stdio"', '"http"')
    error = refusal(wrong)
    assert ("RKF003", "/presets/assistant/dedline", 'did you mean "deadline"?') == (
        error.rule,
        error.place,
        error.mend,
    )
    (further,) = error.message.split("\n")[1:]
    assert further.startswith("/endpoints/desktop/transport: ")
    assert "deadline" not in further
    left = refusal(wrong.replace("dedline", "deadline"))
    assert ("RKF006", 1) == (left.rule, len(left.message.split("\n")))


@pytest.mark.requirement("RK-PROF-050")
@pytest.mark.parametrize(("count", "lines"), [(1, 1), (9, 9), (12, 10)])
def test_more_faults_than_anybody_reads_are_counted(count: int, lines: int) -> None:
    said = refusal(WHOLE + "".join(f"x{number} = 1\n" for number in range(count))).message.split("\n")
    assert lines == len(said)
    assert (said[-1] == "and 3 more") is (count == 12)


@pytest.mark.requirement("RK-PROF-051")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("concurrency = eight", "no value of TOML begins here: concurrency = eight"),
        ("concurrency 8", "Expected '=' after a key in a key/value pair: concurrency 8"),
        ("= 8", "neither a key nor a table begins here: = 8"),
    ],
)
def test_a_line_that_is_no_toml_is_shown(line: str, said: str) -> None:
    error = refusal(WHOLE.replace("concurrency = 8", line))
    assert ("RKF001", said) == (error.rule, error.message)
    assert WHOLE.split("\n").index("concurrency = 8") + 1 == error.line
