"""MCP: one approved endpoint of the owner, served to one client over standard input and output.

The rules of the room. `wire` frames and bounds; `protocol` checks and writes; `adapter` answers, asking the host
through `ports`; `session` is one connection without I/O; `serve` is the loop around it. Nothing here decides about
trust, exposure, permission or inputs: the host does, at each call. Nothing here imports a JSON, async or model library:
the wire is small, and starting a server costs what starting Python costs. The `mcp` package is the judge in the tests.

The names below are the room's public ones; each is loaded from its module on first use.
"""

from __future__ import annotations

from rukh.values.front import front

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.mcp.adapter import Adapter
    from rukh.mcp.config import config_entry, tools_document
    from rukh.mcp.ports import Binding, Busy, Moved, Outcome, Uncommitted, View, VisibilityUnavailable
    from rukh.mcp.serve import claim_stdio, serve_stdio

__all__ = [
    "Adapter",
    "Binding",
    "Busy",
    "Moved",
    "Outcome",
    "Uncommitted",
    "View",
    "VisibilityUnavailable",
    "claim_stdio",
    "config_entry",
    "serve_stdio",
    "tools_document",
]

_HOMES = {
    "adapter": "Adapter",
    "config": "config_entry tools_document",
    "ports": "Binding Busy Moved Outcome Uncommitted View VisibilityUnavailable",
    "serve": "claim_stdio serve_stdio",
}

__getattr__ = front(__name__, _HOMES)
