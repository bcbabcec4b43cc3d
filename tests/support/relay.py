"""A program between a server and its client: passes on what the server writes, and keeps a copy of it.

    python relay.py COPY PROGRAM [WORD …]

Standard input is the server's own. Ends with the server, and with its exit status.
"""

from __future__ import annotations

import os
import subprocess
import sys

_PIECE = 1 << 16


def main(copy: str, words: list[str]) -> int:
    """Relay until the server has closed its output and ended."""
    with open(copy, "ab", buffering=0) as kept, subprocess.Popen(words, stdout=subprocess.PIPE) as server:
        os.close(0)  # the server alone holds the reading end: a client that goes away is noticed by it
        assert server.stdout is not None
        while data := os.read(server.stdout.fileno(), _PIECE):
            kept.write(data)
            _pass_on(data)
        return server.wait()


def _pass_on(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
