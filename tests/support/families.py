"""What came of a process, as the kernel tells it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def children(process: int) -> list[int]:
    """The children of a process, with those that have ended and were not waited for."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that ended meanwhile
            found += [int(word) for word in (task / "children").read_text().split()]
    return found


def family(process: int) -> list[int]:
    """A process and all that came of it."""
    found = [process]
    for one in found:
        with suppress(FileNotFoundError, ProcessLookupError):  # it has gone meanwhile
            found += children(one)
    return found
