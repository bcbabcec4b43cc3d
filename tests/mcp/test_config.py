"""What an owner is shown: the entry to paste, and the tools as an agent would see them."""

from __future__ import annotations

import pytest

from rukh.mcp.config import config_entry, tools_document
from tests.support.mcp_client import Talk
from tests.support.mcp_messages import request
from tests.support.mcp_port import NAMESPACE, REVISION, FakePort, view


@pytest.mark.requirement("RK-MCP-041")
def test_the_entry_starts_the_application_for_one_endpoint_and_one_home() -> None:
    assert config_entry(["/opt/rukh/bin/rukh"], "desktop", "/home/ann/.local/share/rukh") == {
        "mcpServers": {
            "rukh-desktop": {
                "command": "/opt/rukh/bin/rukh",
                "args": ["mcp", "serve", "--endpoint", "desktop"],
                "env": {"RUKH_HOME": "/home/ann/.local/share/rukh"},
            }
        }
    }


@pytest.mark.requirement("RK-MCP-041")
def test_a_branded_application_has_its_own_command_variable_and_name() -> None:
    entry = config_entry(["/usr/bin/python3", "-m", "acme"], "desk", "/srv/acme", app="acme-tool")[
        "mcpServers"
    ]
    assert entry == {
        "acme-tool-desk": {
            "command": "/usr/bin/python3",
            "args": ["-m", "acme", "mcp", "serve", "--endpoint", "desk"],
            "env": {"ACME_TOOL_HOME": "/srv/acme"},
        }
    }


@pytest.mark.requirement("RK-MCP-041")
def test_the_tools_shown_are_the_tools_listed() -> None:
    seen = view(*(f"t{number:02d}" for number in range(40)))
    document = tools_document(seen)
    talk = Talk(FakePort(seen))
    first = talk.ask(request("tools/list"))[0]["result"]
    second = talk.ask(request("tools/list", cursor=first["nextCursor"]))[0]["result"]
    assert document == {
        "namespace": NAMESPACE,
        "revision": REVISION,
        "tools": first["tools"] + second["tools"],
    }
