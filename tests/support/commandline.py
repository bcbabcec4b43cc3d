"""What one command line of the program answers: (exit status, stdout, stderr)."""

from __future__ import annotations

import json
from collections.abc import Callable

Answer = tuple[int, str, str]
Run = Callable[..., Answer]


def rule(shown: Answer) -> str:
    """The rule that refused a command line under `--json`."""
    code: str = json.loads(shown[2])["error"]["code"]
    return code
