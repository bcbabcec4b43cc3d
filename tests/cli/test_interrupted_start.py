"""An interruption before the first word was looked at, and behind the last answer, is no fault either."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.homes import PATIENCE

# Raises what Ctrl-C raises, where the module behind it is imported for the first time.
STRUCK = """
import sys

class Striking:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            raise KeyboardInterrupt

from rukh.app import Application
sys.meta_path.insert(0, Striking())
Application("acme", "1.0.0", exit_codes=EXITS).main()
"""


def struck(module: str, exits: dict[str, int], *words: str) -> tuple[int, bytes, bytes]:
    code = f"MODULE, EXITS = {module!r}, {exits!r}\n{STRUCK}"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, timeout=PATIENCE, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.requirement("RK-CLI-084")
@pytest.mark.parametrize("exits", [{}, {"caller_cancelled": 9}])
def test_an_interruption_while_the_program_loads_ends_it_without_a_word(exits: dict[str, int]) -> None:
    expected = exits.get("caller_cancelled", 130)
    assert (expected, b"", b"") == struck("rukh.cli.main", exits, "--version")
    assert (expected, b"", b"") == struck("rukh.cli.complete", exits, "completion", "--words", "zsh", "1", "")
    assert (0, b"acme 1.0.0\n", b"") == struck("rukh.nothing", exits, "--version")
