"""A stdio server of the stock low-level `mcp` package with the tools of a file: what one gets without writing a wire.

python bench/baseline_mcp.py TOOLS.json       the file holds the `tools` of a list answer
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


def build(tools: list[types.Tool]) -> Server[Any]:
    """The server: lists what it was given, and answers every call with an empty text."""

    async def on_list_tools(
        context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def on_call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text="")])

    return Server("baseline", version="1", on_list_tools=on_list_tools, on_call_tool=on_call_tool)


async def serve(path: str) -> None:
    """Serve until the input ends."""
    tools = [types.Tool.model_validate(tool) for tool in json.loads(Path(path).read_bytes())]
    server = build(tools)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
