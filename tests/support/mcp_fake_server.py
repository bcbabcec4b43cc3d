"""A real server process over the fake host, for tests over real pipes.

    python tests/support/mcp_fake_server.py [TOOLS]

Without TOOLS it serves one tool a behaviour and a `print` tool that writes to everything that is called standard
output. With TOOLS it serves that many plain ones. It tells on standard error what happens, one event a line.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path[:] = [str(Path(__file__).resolve().parents[2]), *(entry for entry in sys.path[1:] if entry)]

from rukh.mcp.adapter import Adapter  # noqa: E402
from rukh.mcp.serve import claim_stdio, serve_stdio  # noqa: E402
from tests.support.mcp_port import BINDING, FakePort, view  # noqa: E402


def tell(event: str) -> None:
    """One event on standard error; the `print` tool also speaks where a careless extension would."""
    if event == "invoked print":
        print("print: a banner", flush=True)
        os.write(1, b"write: a banner\n")
    os.write(2, event.encode() + b"\n")


def main() -> int:
    stdin, stdout = claim_stdio()
    many = [f"t{number:05d}" for number in range(int(sys.argv[1]))] if len(sys.argv) > 1 else []
    port = FakePort(view(*(many or [*FakePort.COMMANDS, "print"])), tell=tell)
    status = serve_stdio(Adapter(port, BINDING, name="rukh", version="0.1.0"), stdin, stdout)
    for told in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if told.startswith("VmHWM"):
            tell(told)
    tell(f"status {status}")
    return status


if __name__ == "__main__":
    sys.exit(main())
