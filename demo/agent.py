"""An agent's side: the official MCP client over standard input and output."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

from mcp import Client, MCPError, StdioServerParameters


class Agent:
    """One connection, as a context; the server ends with it."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._client = Client(StdioServerParameters(command=command[0], args=command[1:], env=environment))

    async def __aenter__(self) -> Agent:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    @property
    def server(self) -> str:
        """What discovery said: the server's name and version, and the protocol."""
        info = self._client.server_info
        name = f"{info.name} {info.version}" if info is not None else "a server without a name"
        return f"{name}, MCP {self._client.protocol_version}"

    async def names(self) -> list[str]:
        """The names of the current tools, from every page."""
        names: list[str] = []
        cursor = None
        while True:
            page = await self._client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                return names

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The outcome envelope of one call."""
        result = await self._client.call_tool(name, arguments)
        envelope = result.structured_content
        if not isinstance(envelope, dict):
            raise TypeError(f"no envelope in {json.dumps(envelope)}")
        return envelope

    async def error(self, name: str, arguments: dict[str, Any]) -> str:
        """The protocol error of a call that must not be dispatched."""
        try:
            envelope = await self.call(name, arguments)
        except MCPError as error:
            return f"{error.error.code} {error.error.message}"
        return f"answered: {json.dumps(envelope)}"
