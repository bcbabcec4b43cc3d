"""The client of the `mcp` package against the process: what every client of that protocol version will see."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TextIO, cast

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client

from tests.support.mcp_client import PATIENCE, SERVER
from tests.support.mcp_messages import sent
from tests.support.mcp_port import envelope

RELAY = Path(__file__).resolve().parents[1] / "support" / "relay.py"


class Told:
    """What the server tells on standard error, read while a client talks to it."""

    def __init__(self, lines: TextIO) -> None:
        self._lines = lines
        self.events: list[str] = []

    async def until(self, wanted: str) -> None:
        """Read on to the event `wanted`."""
        while wanted not in self.events:
            line = await anyio.to_thread.run_sync(self._lines.readline, abandon_on_cancel=True)
            self.events.append(line.rstrip("\n"))

    def rest(self) -> None:
        """Read on to the end, once the server has ended."""
        self.events += self._lines.read().splitlines()


def talk(body: Callable[[Client, Told], Awaitable[None]], *arguments: str, mode: str = "auto") -> list[str]:
    """Run `body` with a connected client; what the server told. Every line that it sent is judged."""
    descriptor, end = os.pipe()
    with open(descriptor, encoding="utf-8") as lines, tempfile.NamedTemporaryFile() as copy:
        told = Told(lines)
        words = [str(RELAY), copy.name, sys.executable, str(SERVER), *arguments]
        with open(end, "w", encoding="utf-8") as errors:

            async def run() -> None:
                server = StdioServerParameters(command=sys.executable, args=words)
                with anyio.fail_after(PATIENCE):
                    async with Client(stdio_client(server, errlog=errors), mode=mode) as client:
                        await body(client, told)

            anyio.run(run)
        told.rest()
        said = copy.read().splitlines(keepends=True)
        assert [sent(line) for line in said]
    return told.events


async def names(client: Client) -> dict[str, str]:
    """Title to name of the first page."""
    return {str(tool.title): tool.name for tool in (await client.list_tools()).tools}


@pytest.mark.requirement("RK-MCP-001", "RK-MCP-019", "RK-MCP-032")
def test_it_discovers_lists_and_calls_and_checks_the_output_schema_itself() -> None:
    async def body(client: Client, told: Told) -> None:
        assert client.protocol_version == "2026-07-28"
        listed = await names(client)
        result = await client.call_tool(listed["echo"], {"text": "e\u0301 \U0001f600 \u2028"})
        expected = envelope("succeeded", data={"arguments": {"text": "e\u0301 \U0001f600 \u2028"}})
        assert result.structured_content == expected
        assert result.is_error is False
        failed = await client.call_tool(listed["fail"], {})
        assert (failed.is_error, cast(dict[str, Any], failed.structured_content)["outcome"]) == (
            True,
            "command_failed",
        )

    assert talk(body)[-1] == "status 0"


@pytest.mark.requirement("RK-MCP-024", "RK-MCP-026")
def test_it_pages_to_the_end_and_no_further() -> None:
    async def body(client: Client, told: Told) -> None:
        found: list[str] = []
        cursor = None
        for _ in range(4):
            page = await client.list_tools(cursor=cursor)
            found += [tool.name for tool in page.tools]
            cursor = page.next_cursor
        assert cursor is None
        assert len(set(found)) == 100

    talk(body, "100")


@pytest.mark.requirement("RK-MCP-027", "RK-MCP-028", "RK-MCP-037")
def test_it_sees_refusals_as_errors_with_their_codes() -> None:
    async def body(client: Client, told: Told) -> None:
        listed = await names(client)
        seen = []
        for name in ("no such tool", listed["lost"], listed["busy"]):
            with pytest.raises(MCPError) as caught:
                await client.call_tool(name, {})
            seen.append((caught.value.code, cast(dict[str, Any], caught.value.error.data)["code"]))
        with pytest.raises(MCPError) as caught:
            await client.list_tools(cursor="made up")
        seen.append((caught.value.code, cast(dict[str, Any], caught.value.error.data)["code"]))
        assert seen == [(-32602, "RKM012"), (-32603, "uncommitted"), (-32603, "busy"), (-32602, "RKM013")]

    talk(body)


@pytest.mark.requirement("RK-MCP-033")
def test_a_call_that_it_gives_up_is_cancelled_and_the_connection_goes_on() -> None:
    async def body(client: Client, told: Told) -> None:
        listed = await names(client)
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, listed["wait"], {})
            await told.until("invoked wait")
            group.cancel_scope.cancel()
        await told.until("cancelled caller")
        assert (await client.call_tool(listed["echo"], {})).is_error is False

    assert talk(body)[-1] == "status 0"


@pytest.mark.requirement("RK-MCP-015")
def test_the_older_handshake_is_told_the_supported_version() -> None:
    async def body(client: Client, told: Told) -> None:
        raise AssertionError("connected")

    with pytest.raises((MCPError, ExceptionGroup)) as caught:
        talk(body, mode="legacy")
    error: BaseException = caught.value
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MCPError)
    assert (error.code, cast(dict[str, Any], error.error.data)["supported"]) == (-32022, ["2026-07-28"])


def test_sixteen_calls_at_once_all_come_back() -> None:
    async def body(client: Client, told: Told) -> None:
        listed = await names(client)
        found: list[str] = []

        async def one(text: str) -> None:
            result = await client.call_tool(listed["echo"], {"text": text})
            content = cast(dict[str, Any], result.structured_content)
            found.append(content["commandResult"]["data"]["arguments"]["text"])

        async with anyio.create_task_group() as group:
            for number in range(16):
                group.start_soon(one, str(number))
        assert sorted(found) == sorted(map(str, range(16)))

    talk(body)
