"""Where a terminal is shown more than letters: headings of help are bold, and the word in front of a refusal is red.

Each stream is decided apart: it must be a terminal, `TERM` must name one that is not `dumb`, and `NO_COLOR` must be
unset or empty. There is no option for it, and what is no terminal never gets an escape sequence. RK-CLI-074
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Paint = Callable[[str], str]

_BOLD, _ALARM, _END = "\x1b[1m", "\x1b[1;31m", "\x1b[0m"


def plain(text: str) -> str:
    """`text` as it is."""
    return text


def bold(text: str) -> str:
    """`text` as a heading."""
    return f"{_BOLD}{text}{_END}"


def alarm(text: str) -> str:
    """`text` as the word in front of a refusal."""
    return f"{_ALARM}{text}{_END}"


def painted(paint: Paint, descriptor: int, environ: Mapping[str, str] = os.environ) -> Paint:
    """`paint` where the stream takes it, else `plain`."""
    wanted = not environ.get("NO_COLOR") and environ.get("TERM", "dumb") not in ("", "dumb")
    return paint if wanted and os.isatty(descriptor) else plain
