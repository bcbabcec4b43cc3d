"""What an owner looks at: the entry to paste into a client, and the tools as an agent would see them."""

from __future__ import annotations

from rukh.mcp.listing import Listing
from rukh.values.reader import read
from rukh.values.registry import LIMIT_DESCRIPTOR_MEMBERS, LIMIT_MESSAGE_DEPTH, LIMIT_PAGE_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rukh.mcp.ports import View


def config_entry(app_command: list[str], endpoint: str, home: str, *, app: str = "rukh") -> dict[str, Any]:
    """The `mcpServers` entry that starts `app_command` for `endpoint` with `home`; all paths absolute. {M01}"""
    command, *arguments = app_command
    variable = app.upper().replace("-", "_") + "_HOME"
    entry = {
        "command": command,
        "args": [*arguments, "mcp", "serve", "--endpoint", endpoint],
        "env": {variable: home},
    }
    return {"mcpServers": {f"{app}-{endpoint}": entry}}


def tools_document(view: View) -> dict[str, Any]:
    """Every tool of `view` in the order and with the members that a list gives, on one page."""
    listing = Listing(view)
    tools = [
        read(
            listing.tool(name).encode(),
            max_bytes=LIMIT_PAGE_BYTES,
            max_depth=LIMIT_MESSAGE_DEPTH,
            max_members=LIMIT_DESCRIPTOR_MEMBERS,
        )
        for name in listing.names
    ]
    return {"namespace": view.namespace, "revision": view.revision, "tools": tools}
