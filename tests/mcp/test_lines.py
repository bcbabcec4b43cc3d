"""Every line of the vectors: the right error, result or silence, and the next request is served."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.homes import InstalledHome
from tests.support.mcp_client import Pipes, Talk
from tests.support.mcp_messages import ROOT, line, request
from tests.support.rawmcp import RawClient

VECTORS = json.loads((ROOT / "spec" / "vectors" / "mcp-lines.json").read_text(encoding="utf-8"))
CASES: dict[str, dict[str, Any]] = {case["name"]: case for case in VECTORS["cases"]}
AFTER = request("server/discover", "after")


def bytes_of(case: dict[str, Any]) -> bytes:
    """The line of a case, with its LF."""
    if "hex" in case:
        return bytes.fromhex(case["hex"]) + b"\n"
    parts = case["parts"] if "parts" in case else [[case["line"], 1]]
    return "".join(text * times for text, times in parts).encode() + b"\n"


def matches(answer: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether a message is the expected one: code, stable code and id of an error, id of a result."""
    if ("id" in answer) != ("id" in expected) or answer.get("id") != expected.get("id"):
        return False
    if type(answer.get("id")) is not type(expected.get("id")):
        return False
    if "result" in expected:
        return "result" in answer
    error = answer["error"]
    return bool((error["code"], error["data"]["code"]) == (expected["error"], expected["code"]))


def judge(answers: list[dict[str, Any]], expected: dict[str, Any] | None) -> None:
    *before, after = answers
    assert after["id"] == "after"
    assert "result" in after
    assert len(before) == (expected is not None), before
    assert expected is None or matches(before[0], expected), before


def test_no_two_cases_have_one_name() -> None:
    assert len(CASES) == len(VECTORS["cases"])


@pytest.mark.requirement("RK-MCP-005", "RK-MCP-006", "RK-MCP-007", "RK-MCP-010", "RK-MCP-016", "RK-MCP-034")
@pytest.mark.parametrize("name", CASES)
def test_a_line_gets_its_answer_and_the_next_request_is_served(name: str) -> None:
    judge(Talk().ask(bytes_of(CASES[name]), AFTER), CASES[name]["answer"])


_EDITS = st.tuples(
    st.integers(0, 400), st.sampled_from(["drop", "put", "twice"]), st.binary(min_size=1, max_size=4)
)


def edited(data: bytes, at: int, what: str, other: bytes) -> bytes:
    """`data` with one edit at a place; never with an LF of its own."""
    at %= len(data) + 1
    piece = {"drop": b"", "put": other.replace(b"\n", b""), "twice": data[at : at + 9] * 2}[what]
    return data[:at] + piece + data[at + (9 if what == "twice" else 1) :]


@pytest.mark.requirement("RK-MCP-006", "RK-MCP-007")
@given(name=st.sampled_from(sorted(CASES)), edits=st.lists(_EDITS, min_size=1, max_size=3))
def test_an_edited_line_gets_one_answer_at_most_and_the_next_request_is_served(
    name: str, edits: list[Any]
) -> None:
    data = bytes_of(CASES[name])[:4000].rstrip(b"\n")
    for edit in edits:
        data = edited(data, *edit)
    *before, after = Talk().ask(data + b"\n", AFTER)
    assert (len(before) <= 1, after["id"]) == (True, "after")


@pytest.fixture(scope="module")
def server() -> Iterator[Pipes]:
    """One process for all lines: no line may spoil it for the next."""
    with Pipes() as pipes:
        yield pipes


@pytest.mark.requirement("RK-MCP-005", "RK-MCP-006", "RK-MCP-007", "RK-MCP-010", "RK-MCP-015")
@pytest.mark.parametrize("name", CASES)
def test_a_process_survives_every_line(server: Pipes, name: str) -> None:
    server.send(bytes_of(CASES[name]), line(AFTER))
    answers = [server.receive()]
    while answers[-1].get("id") != "after":
        answers.append(server.receive())
    judge(answers, CASES[name]["answer"])


@pytest.fixture(scope="module")
def program(wide: InstalledHome) -> Iterator[RawClient]:
    """The installed program over a real home; again one process for all lines, which has nothing to complain of."""
    with RawClient(wide) as client:
        yield client
    assert (client.status, client.errors) == (0, b"")


@pytest.mark.requirement("RK-MCP-006", "RK-MCP-007", "RK-MCP-010", "RK-MCP-028", "RK-MCP-045")
@pytest.mark.parametrize("name", CASES)
def test_the_installed_program_survives_every_line(program: RawClient, name: str) -> None:
    program.send(bytes_of(CASES[name]) + line(AFTER).rstrip())
    answers = [program.receive()]
    while answers[-1].get("id") != "after":
        answers.append(program.receive())
    judge(answers, CASES[name]["answer"])


@pytest.mark.requirement("RK-MCP-045")
def test_a_call_is_served_behind_all_that_get_no_answer(program: RawClient) -> None:
    silent = [case for case in CASES.values() if case["answer"] is None]
    for case in silent:
        program.send(bytes_of(case)[:-1])
    assert silent
    assert program.call("acme-wide-repeat", {"words": "still here"})["commandResult"]["text"] == "still here"


def test_at_least_eighty_lines_are_hostile() -> None:
    hostile = [name for name, case in CASES.items() if case["answer"] is None or "error" in case["answer"]]
    assert len(hostile) >= 80
