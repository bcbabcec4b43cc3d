"""The lines of the vectors at the program itself: each gets its answer or its silence, and the next call is served."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import echo
from tests.support.mcp_messages import ROOT, line, request
from tests.support.rawmcp import RawClient

VECTORS = json.loads((ROOT / "spec" / "vectors" / "mcp-lines.json").read_text(encoding="utf-8"))
CASES: dict[str, dict[str, Any]] = {case["name"]: case for case in VECTORS["cases"]}
AFTER = request("server/discover", "after")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawClient]:
    """One server for all lines: none may spoil it for the next."""
    with RawClient(echo.exposed_home(tmp_path_factory.mktemp("lines"))) as made:
        yield made
    assert (made.status, made.errors) == (0, b"")


def bytes_of(case: dict[str, Any]) -> bytes:
    """The line of a case, without its LF."""
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    return "".join(text * times for text, times in case.get("parts") or [[case["line"], 1]]).encode()


def in_short(message: dict[str, Any]) -> dict[str, Any]:
    """A message as the vectors write it."""
    short: dict[str, Any] = {"id": message["id"]} if "id" in message else {}
    if "result" in message:
        return {**short, "result": True}
    return {**short, "error": message["error"]["code"], "code": message["error"]["data"]["code"]}


def test_most_of_the_lines_are_hostile() -> None:
    assert sum("result" not in (case["answer"] or {}) for case in CASES.values()) >= 80


@pytest.mark.requirement("RK-MCP-005", "RK-MCP-006", "RK-MCP-007", "RK-MCP-010", "RK-MCP-045")
@pytest.mark.parametrize("name", CASES)
def test_the_program_survives_every_line(client: RawClient, name: str) -> None:
    client.send(bytes_of(CASES[name]))
    client.send(line(AFTER).rstrip(b"\n"))
    answers = [client.receive()]
    while answers[-1].get("id") != "after":
        answers.append(client.receive())
    expected = CASES[name]["answer"]
    assert [in_short(answer) for answer in answers] == [
        *([expected] if expected else []),
        {"id": "after", "result": True},
    ]


@pytest.mark.requirement("RK-MCP-045")
def test_a_call_is_served_behind_all_of_them(client: RawClient) -> None:
    for case in CASES.values():
        if case["answer"] is None:
            client.send(bytes_of(case))
    assert client.call("acme-echo-speak", {"words": "still here"})["outcome"] == "succeeded"
