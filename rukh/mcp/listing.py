"""One view's tools under their names, in name order, cut into pages.

A name is computed from namespace, revision and identity, so it is as old as the revision: every name of a view is
computed once and kept while revision, namespace and visibility stay what they are. A tool's text is its name and its
stored tail, spliced. A page holds at most 32 tools and 1 MiB (RK-MCP-024); nothing here runs or prepares a command.
"""

from __future__ import annotations

from rukh.values.registry import LIMIT_PAGE_BYTES, LIMIT_PAGE_ROOM_BYTES, LIMIT_PAGE_TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.mcp.ports import View


class Listing:
    """The names of one view."""

    __slots__ = ("_identities", "_tails", "key", "names", "view")

    def __init__(self, view: View) -> None:
        from rukh.contract.names import tool_name  # hashes: a host that only discovers does without

        self.view = view
        self.key = (view.namespace, view.revision, view.visibility)
        self._identities: dict[str, str] = {}
        self._tails: dict[str, str] = {}
        for identity, tail in view.tools:
            name = tool_name(view.namespace, view.revision, identity)
            self._identities[name] = identity
            self._tails[name] = tail
        self.names = sorted(self._identities)

    def identity(self, name: str) -> str | None:
        """The command behind the exact `name`; None where nothing, or nothing visible, has it now."""
        return self._identities.get(name)

    def tool(self, name: str) -> str:
        """The tool as JSON text."""
        return f'{{"name":"{name}",{self._tails[name][1:]}'

    def page(self, after: str = "") -> tuple[list[str], str | None]:
        """The tools that follow the name `after`, and the last name shown if more follow it."""
        from bisect import bisect_right  # only a list needs it

        start = bisect_right(self.names, after)
        tools: list[str] = []
        free = LIMIT_PAGE_BYTES - LIMIT_PAGE_ROOM_BYTES
        for name in self.names[start : start + LIMIT_PAGE_TOOLS]:
            tool = self.tool(name)
            free -= size(tool) + 1
            if tools and free < 0:
                break
            tools.append(tool)
        end = start + len(tools)
        return tools, self.names[end - 1] if end < len(self.names) else None


def size(text: str) -> int:
    """The length of `text` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())
