"""Cursors as no server gave them: one answer for all, and a true one still leads on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rukh.mcp.adapter import Adapter
from rukh.mcp.ports import Binding
from rukh.mcp.wire import Request
from rukh.values.registry import LIMIT_CURSOR_BYTES
from tests.support.homes import InstalledHome
from tests.support.mcp_messages import META, request, sent
from tests.support.mcp_port import BINDING, FakePort, view
from tests.support.mcp_wide import wide_home
from tests.support.rawmcp import RawClient
from tests.support.stubs import apply, owner_text

MANY = [f"t{number:03d}" for number in range(70)]
INVALID = (
    b'{"error":{"code":-32602,"data":{"code":"RKM013","mend":"begin the list again, without a cursor"},'
    b'"message":"the cursor is not valid for this list"},'
    b'"id":1,"jsonrpc":"2.0"}\n'
)


class Lists:
    """The lists of one endpoint in memory."""

    def __init__(self, binding: Binding = BINDING, key: bytes = b"k" * 32) -> None:
        self.port = FakePort(view(*MANY))
        self.port.key = key
        self.adapter = Adapter(self.port, binding, name="rukh", version="0")

    def ask(self, **params: Any) -> bytes:
        answer = self.adapter.answer(Request(1, "tools/list", {"_meta": META, **params}))
        assert isinstance(answer, bytes)
        sent(answer, "tools/list")
        return answer

    def cursor(self, *, page: int = 1) -> str:
        """The cursor at the end of a page."""
        given: dict[str, str] = {}
        for _ in range(page):
            given = {"cursor": json.loads(self.ask(**given))["result"]["nextCursor"]}
        return given["cursor"]


@pytest.mark.requirement("RK-MCP-027")
def test_no_single_bit_of_a_cursor_can_be_another() -> None:
    lists = Lists()
    cursor = lists.cursor()
    changed = [
        cursor[:at] + chr(ord(cursor[at]) ^ 1 << bit) + cursor[at + 1 :]
        for at in range(len(cursor))
        for bit in range(8)
    ]
    assert {lists.ask(cursor=one) for one in changed} == {INVALID}
    assert lists.ask(cursor=cursor) != INVALID


@pytest.mark.requirement("RK-MCP-026", "RK-MCP-027")
def test_no_part_of_a_cursor_and_nothing_longer_is_one() -> None:
    lists = Lists()
    cursor, later = lists.cursor(), lists.cursor(page=2)
    shorter = [cursor[:size] for size in range(len(cursor))] + [cursor[start:] for start in range(1, 70)]
    longer = [cursor + more for more in ("0", " ", "\n", "x" * LIMIT_CURSOR_BYTES, cursor)]
    mixed = [cursor[:64] + later[64:], later[:64] + cursor[64:], " " + cursor, cursor.upper(), f'"{cursor}"']
    assert {lists.ask(cursor=one) for one in shorter + longer + mixed} == {INVALID}
    assert lists.ask(cursor=later) != INVALID


OTHERS = {
    "endpoint": Lists(Binding("other", BINDING.subject, BINDING.actor, BINDING.task)),
    "subject": Lists(Binding(BINDING.endpoint, "user:other", BINDING.actor, BINDING.task)),
    "actor": Lists(Binding(BINDING.endpoint, BINDING.subject, "agent:other", BINDING.task)),
    "task": Lists(Binding(BINDING.endpoint, BINDING.subject, BINDING.actor, "task_b")),
    "key": Lists(key=b"l" * 32),
}


@pytest.mark.requirement("RK-MCP-027")
@pytest.mark.parametrize("other", OTHERS)
def test_a_true_cursor_of_another_is_none_here(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePort, "view", lambda port, endpoint, deadline_at: port.seen)
    here, there = Lists(), OTHERS[other]
    assert here.ask(cursor=there.cursor()) == there.ask(cursor=here.cursor()) == INVALID
    assert INVALID not in (here.ask(cursor=here.cursor()), there.ask(cursor=there.cursor()))


@pytest.mark.requirement("RK-MCP-024", "RK-MCP-026")
@pytest.mark.parametrize(
    ("tools", "pages"), [(0, 1), (1, 1), (31, 1), (32, 1), (33, 2), (64, 2), (65, 3), (96, 3), (97, 4)]
)
def test_following_cursors_ends_and_shows_every_tool_once(tools: int, pages: int) -> None:
    lists = Lists()
    lists.port.seen = view(*(f"u{number:03d}" for number in range(tools)))
    found: list[str] = []
    seen: list[str] = []
    given: dict[str, str] = {}
    for _ in range(pages):
        assert given.get("cursor") not in seen
        seen += given.values()
        result = json.loads(lists.ask(**given))["result"]
        found += [tool["name"] for tool in result["tools"]]
        given = {"cursor": result["nextCursor"]} if "nextCursor" in result else {}
    assert given == {}
    assert (found, len(found)) == (sorted(set(found)), tools)


# Over real servers.


@pytest.fixture
def clients(wide: InstalledHome) -> Iterator[tuple[RawClient, RawClient]]:
    with RawClient(wide) as desk, RawClient(wide, "other") as other:
        yield desk, other


def first(client: RawClient) -> str:
    cursor: str = client.request("tools/list")["result"]["nextCursor"]
    return cursor


def answer(client: RawClient, cursor: str) -> bytes:
    client.send(json.dumps(request("tools/list", 1, cursor=cursor)).encode())
    return client.receive_line()


@pytest.mark.requirement("RK-MCP-027", "RK-MCP-028")
def test_a_cursor_of_another_endpoint_or_home_is_void_and_one_of_another_connection_is_not(
    clients: tuple[RawClient, RawClient], wide: InstalledHome, tmp_path: Path
) -> None:
    desk, other = clients
    with RawClient(wide_home(tmp_path)) as elsewhere:
        assert answer(desk, first(other)) == answer(other, first(desk)) == INVALID
        assert answer(desk, first(elsewhere)) == answer(elsewhere, first(desk)) == INVALID
    with RawClient(wide) as again:
        pages = [json.loads(answer(client, first(desk)))["result"]["tools"] for client in (desk, again)]
    assert pages[0] == pages[1]
    assert len(pages[0]) == 8


@pytest.mark.requirement("RK-MCP-027", "RK-MCP-022")
def test_a_cursor_of_another_revision_is_void_though_the_tools_are_the_same(tmp_path: Path) -> None:
    home = wide_home(tmp_path)
    with RawClient(home) as client:
        cursor, before = first(client), client.names()
        apply(home, owner_text(home, deadline="40s"))
        assert answer(client, cursor) == INVALID
        assert list(client.names()) == list(before)
        assert answer(client, first(client)) != INVALID
