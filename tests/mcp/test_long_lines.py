"""Lines around 64 KiB, at the limits and far beyond them, both ways through a real server: none is cut or joined.

64 KiB is what a pipe holds and what this host reads at once; a mebibyte is what a line may hold.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rukh.values.registry import LIMIT_INPUT_BYTES, LIMIT_MESSAGE_IN_BYTES, LIMIT_RESULT_BYTES
from tests.support.homes import InstalledHome
from tests.support.mcp_messages import request
from tests.support.rawmcp import RawClient

EDGES = (65_535, 65_536, 65_537, 131_071, 131_072, 131_073)
FIVE_MEBIBYTES = 5 << 20


@pytest.fixture(scope="module")
def server(wide: InstalledHome) -> Iterator[RawClient]:
    """One process for all lines: none may spoil it for the next."""
    with RawClient(wide) as client:
        yield client


@pytest.fixture(scope="module")
def names(server: RawClient) -> dict[str, str]:
    return server.names()


def encoded(message: Any) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def padded(message: dict[str, Any], size: int) -> bytes:
    """The message as a line of `size` bytes before its LF, filled up by a member that nobody knows."""
    bare = encoded({**message, "fill": ""})
    return encoded({**message, "fill": "x" * (size - len(bare))})


def still_serves(server: RawClient) -> None:
    assert "result" in server.request("server/discover")


@pytest.mark.requirement("RK-MCP-003", "RK-MCP-005")
@pytest.mark.parametrize("size", [*EDGES, LIMIT_MESSAGE_IN_BYTES - 1, LIMIT_MESSAGE_IN_BYTES])
def test_a_line_of_this_length_is_a_request_like_any_other(server: RawClient, size: int) -> None:
    line = padded(request("server/discover", size), size)
    assert len(line) == size
    server.send(line)
    assert server.receive()["id"] == size
    still_serves(server)


@pytest.mark.requirement("RK-MCP-005")
@pytest.mark.parametrize("size", [LIMIT_MESSAGE_IN_BYTES + 1, FIVE_MEBIBYTES])
def test_a_longer_line_is_skipped_to_its_end_and_answered_once_without_id(
    server: RawClient, size: int
) -> None:
    server.send(padded(request("server/discover", 1), size))
    answer = server.receive()
    assert (answer["error"]["code"], answer["error"]["data"]["code"], "id" in answer) == (
        -32700,
        "RKM001",
        False,
    )
    still_serves(server)  # so that nothing else came of it


@pytest.mark.requirement("RK-MCP-003", "RK-MCP-032")
@pytest.mark.parametrize("size", EDGES)
def test_an_answer_of_this_length_arrives_whole(server: RawClient, names: dict[str, str], size: int) -> None:
    """The text stands twice in an answer; the id fills up what is left."""

    def called(identifier: str, length: int) -> bytes:
        message = request(
            "tools/call", identifier, name=names["acme-wide-fill"], arguments={"length": length}
        )
        server.send(encoded(message))
        return server.receive_line()

    length = (size - 2_000) // 2
    frame = len(called("", length)) - 1
    line = called("i" * (size - frame), length)
    assert len(line) - 1 == size
    answer = json.loads(line)
    assert answer["result"]["structuredContent"]["commandResult"] == {"kind": "text", "text": "x" * length}
    assert json.loads(answer["result"]["content"][0]["text"]) == answer["result"]["structuredContent"]


@pytest.mark.requirement("RK-MCP-003", "RK-INP-012")
def test_the_largest_inputs_come_back_whole_and_one_byte_more_is_rejected(
    server: RawClient, names: dict[str, str]
) -> None:
    def repeated(words: str) -> dict[str, Any]:
        envelope: dict[str, Any] = server.request(
            "tools/call", name=names["acme-wide-repeat"], arguments={"words": words}
        )["result"]["structuredContent"]
        return envelope

    room = LIMIT_INPUT_BYTES - len('{"words":""}')
    assert repeated("x" * room)["commandResult"]["text"] == "x" * room
    assert repeated("x" * room + "x")["outcome"] == "rejected"


@pytest.mark.requirement("RK-MCP-032", "RK-MCP-008")
def test_the_largest_result_arrives_and_a_larger_one_fails_its_call_alone(
    server: RawClient, names: dict[str, str]
) -> None:
    def filled(length: int) -> dict[str, Any]:
        response = server.request("tools/call", name=names["acme-wide-fill"], arguments={"length": length})
        return dict(response["result"]["structuredContent"])

    room = LIMIT_RESULT_BYTES - len('{"kind":"text","text":""}')
    fits = filled(room)
    assert (fits["outcome"], len(fits["commandResult"]["text"])) == ("succeeded", room)
    for length in (room + 1, FIVE_MEBIBYTES):
        failed = filled(length)
        assert (failed["outcome"], "commandResult" in failed) == ("execution_failed", False)
    still_serves(server)


@pytest.mark.requirement("RK-MCP-006")
@pytest.mark.parametrize("at", [0, 1, 65_535, 65_536, 131_071])
def test_one_bad_byte_costs_its_own_line_and_not_the_session(server: RawClient, at: int) -> None:
    line = bytearray(padded(request("server/discover", 1), 131_072))
    line[at] = 0xFF
    server.send(bytes(line) + b"\n" + encoded(request("server/discover", "next")))
    refused, served = server.receive(), server.receive()
    assert (refused["error"]["code"], "id" in refused) == (-32700, False)
    assert (served["id"], "result" in served) == ("next", True)
