"""The stock low-level `mcp` server whose tools start a child: what calls cost without supervision, checks or a record.

python bench/baseline_mcp_child.py TOOLS.json CHILD.json      {"argv": […], "env": {…}, "command": …}
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# Started as a script, from wherever: the modules beside it are part of the same bench.
sys.path.insert(0, os.fspath(Path(__file__).resolve().parent.parent))

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from bench.baseline_child import call

AT_ONCE = 16


async def serve(tools_path: str, child_path: str) -> None:
    """Serve until the input ends; each call in a thread, as many as the other side has."""
    tools = [types.Tool.model_validate(tool) for tool in json.loads(Path(tools_path).read_bytes())]
    child = json.loads(Path(child_path).read_bytes())
    threads = ThreadPoolExecutor(AT_ONCE)

    async def on_list_tools(
        context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def on_call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        inputs = params.arguments or {}
        execute = {"command": child["command"], "inputs": inputs, "supplied": sorted(inputs)}
        work = asyncio.get_running_loop().run_in_executor
        completion = await work(threads, call, child["argv"], child["env"], execute)
        data = completion["commandResult"]["data"]
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=json.dumps(data))]
        return types.CallToolResult(content=content, structured_content=data)

    server = Server("baseline", version="1", on_list_tools=on_list_tools, on_call_tool=on_call_tool)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2]))
