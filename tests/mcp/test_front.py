"""The room's front, and what serving may load."""

from __future__ import annotations

import subprocess
import sys

from tests.support.mcp_client import SERVER
from tests.support.mcp_messages import ROOT, line, request, sent

# Heavy, or another's business.
UNWANTED = {
    "apsw",
    "asyncio",
    "click",
    "dataclasses",
    "json",
    "logging",
    "mcp",
    "pydantic",
    "subprocess",
    "threading",
    "typing",
}


def test_serving_a_list_and_a_call_loads_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "from rukh.mcp.adapter import Adapter\n"
        "from rukh.mcp.ports import Binding, Outcome, View\n"
        "from rukh.mcp.serve import claim_stdio, serve_stdio\n"
        "class Port:\n"
        " def view(self, endpoint, deadline_at):\n"
        "  return View('r1-0', 'a.b', [('a.b/c', '{\"inputSchema\":{\"type\":\"object\"}}')], 'v')\n"
        " def cursor_key(self): return b'k' * 32\n"
        "streams = claim_stdio()\n"
        "serve_stdio(Adapter(Port(), Binding('e', 's', 'a', 't'), name='n', version='1'), *streams)\n"
        "print(' '.join(sorted(set(sys.modules) - before)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        cwd=ROOT,
        input=line(request("server/discover")) + line(request("tools/list", 2)),
        capture_output=True,
        check=True,
    )
    discovered, listed = done.stdout.splitlines(keepends=True)
    assert sent(discovered, "server/discover")["id"] == 1
    assert len(sent(listed, "tools/list")["result"]["tools"]) == 1
    loaded = done.stderr.decode().split()
    assert "rukh.mcp.serve" in loaded
    assert sorted(UNWANTED & set(loaded)) == []


def test_the_fake_server_of_the_tests_is_where_they_look_for_it() -> None:
    assert SERVER.exists()
