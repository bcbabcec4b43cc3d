"""Grammars: what each form admits, the order of versions, and the three quantities."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukh.contract import grammar
from rukh.contract.versions import satisfies

# The table of SemVer 2.0.0, and numbers that a comparison of texts would turn round.
ORDER = [
    "0.0.1", "0.9.0", "0.10.0", "1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta",
    "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "2.0.0", "10.0.0",
]  # fmt: skip

# form: what it admits, what it does not
FORMS = {
    "package": (grammar.PACKAGE, ["a.b", "acme.no-tes9", "a." + "b" * 62], ["a", "a.", "A.b", "a.9", "a_b.c", "a.b\n"]),
    "id": (grammar.ID, ["a", "a_9", "a" * 48], ["", "_a", "9", "a-b", "A", "a" * 49]),
    "identity": (grammar.IDENTITY, ["a.b/c"], ["a/c", "a.b/", "a.b/c/d", "a.b/c-d"]),
    "word": (grammar.WORD, ["a", "a-b-9", "a" * 32], ["", "-a", "a_b", "a" * 33, "é"]),
    "option": (grammar.OPTION, ["--a", "--a-9", "-a", "-Z"], ["-", "--", "-ab", "-9", "--A", "--a=b", "---a"]),
    "variable": (grammar.VARIABLE, ["A", "_A9"], ["a", "9A", "A-B", "A=B"]),
    "version": (grammar.VERSION, ["0.0.0", "1.2.3-a.0.b-c"], ["1.2", "01.2.3", "1.2.3-01", "1.2.3+4"]),
    "requirement": (grammar.RUNTIME, [">=3", ">=3.11,<4"], ["3", ">3", ">= 3", ">=3,", "==3.11", ">=3.1.2.3"]),
    "entry": (grammar.PYTHON_ENTRY, ["a:b", "a.b.c:_d"], ["a", "a:", ":b", "a.:b", "a:b.c", "a-b:c"]),
    "program": (grammar.PROGRAM_PATH, ["a", "a/b.c", "...", "..a/.b"], ["", "/a", "a/", "a//b", "a/..", "a\\b"]),
    "duration": (grammar.DURATION, ["1ms", "20s", "99999999d"], ["0s", "1", "1.5s", "-1s", "1 s", "1w", "100000000d"]),
    "size": (grammar.SIZE, ["0B", "64KiB", "999999999MiB"], ["1", "1kB", "01B", "1GiB", "-1B"]),
    "directory": (grammar.DIRECTORY, ["/", "/a b", "~", "~/a"], ["", "a", "~a", "./a", "/a\nb"]),
    "command pattern": (grammar.COMMAND_PATTERN, ["*", "a.b/*", "a.b/c"], ["a.b", "a.*/c", "*/c", "a.b/c*"]),
    "actor": (grammar.ACTOR_PATTERN, ["*", "user:local", "agent:a-b"], ["user", "user:*", "root:a", "agent:"]),
    "agent": (grammar.AGENT, ["agent:desktop"], ["user:local", "*"]),
}  # fmt: skip


@pytest.mark.requirement("RK-DESC-010")
@pytest.mark.parametrize("name", FORMS)
def test_a_form_matches_whole_texts(name: str) -> None:
    form, admitted, refused = FORMS[name]
    assert [text for text in admitted if not form.matches(text)] == []
    assert [text for text in refused if form.matches(text)] == []


@pytest.mark.requirement("RK-DESC-011")
def test_versions_are_ordered_as_semver_says() -> None:
    assert sorted(set(ORDER), key=grammar.version_key) == ORDER


# requirement: versions that meet it, versions that do not
REQUIREMENTS: dict[str, tuple[list[tuple[int, ...]], list[tuple[int, ...]]]] = {
    ">=3.11": ([(3, 11), (3, 11, 7), (3, 12, 0), (4,)], [(3, 10, 99), (3,), (2, 99)]),
    "<4": ([(3, 99, 9)], [(4,), (4, 0, 0), (5,)]),
    ">=3.11,<3.13": ([(3, 11, 0), (3, 12, 9)], [(3, 13), (3, 13, 0), (3, 10)]),
    ">=20.1.2": ([(20, 1, 2)], [(20, 1, 1), (20, 1)]),
}


@pytest.mark.requirement("RK-DESC-011")
@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_a_runtime_requirement_is_met_by_all_of_its_clauses(requirement: str) -> None:
    met, missed = REQUIREMENTS[requirement]
    assert [version for version in met if not satisfies(requirement, version)] == []
    assert [version for version in missed if satisfies(requirement, version)] == []


@pytest.mark.requirement("RK-PROF-004")
@pytest.mark.parametrize(
    ("text", "amount"), [("500ms", 500), ("20s", 20_000), ("5m", 300_000), ("1h", 3_600_000), ("2d", 172_800_000)]
)  # fmt: skip
def test_a_duration_is_milliseconds(text: str, amount: int) -> None:
    assert grammar.milliseconds(text) == amount
    assert grammar.duration_text(amount) == text


@pytest.mark.requirement("RK-PROF-004")
@pytest.mark.parametrize(
    ("text", "amount"), [("0B", 0), ("512B", 512), ("64KiB", 65_536), ("10MiB", 10_485_760)]
)
def test_a_size_is_bytes(text: str, amount: int) -> None:
    assert grammar.byte_count(text) == amount
    assert grammar.size_text(amount) == text


@pytest.mark.requirement("RK-PROF-004")
@given(st.integers(1, 99_999_999), st.sampled_from(["ms", "s", "m", "h", "d"]))
def test_a_duration_written_back_is_the_same_amount_and_still_a_duration(number: int, unit: str) -> None:
    amount = grammar.milliseconds(f"{number}{unit}")
    assert grammar.DURATION.matches(grammar.duration_text(amount))
    assert grammar.milliseconds(grammar.duration_text(amount)) == amount


@pytest.mark.requirement("RK-PROF-004")
@pytest.mark.parametrize(
    ("text", "normal"),
    [("5.00", "5"), ("0", "0"), ("-0", "0"), ("0.10", "0.1"), ("-1", None), ("1e2", None), ("", None)],
)
def test_a_cost_is_an_exact_decimal_that_is_not_negative(text: str, normal: str | None) -> None:
    assert grammar.cost(text) == normal
