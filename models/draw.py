"""Diagrams, drawn from the tables that production runs on. `python -m models.draw` writes them.

They are documentation and evidence of nothing; a test only sees to it that they are fresh. RK-MODEL-007
"""

from __future__ import annotations

import sys
from pathlib import Path

from rukh.machines import publication as machine

DIAGRAM = Path(__file__).resolve().parent.parent / "docs" / "diagrams" / "publication.md"
_TIES = {
    "active": "the active revision binds it",
    "reference": "a call was captured with it",
    "effect": "an effect of it is uncertain",
    "staging": "an operation that is not over binds it",
    "kept": "a kept revision binds it",
}


def publication() -> str:
    """The life of an operation and what a release is, as Mermaid diagrams in one page."""
    moves = [f"    {state} --> {behind}: {event}" for (state, event), behind in machine.TRANSITIONS.items()]
    ends = [f"    {state} --> [*]" for state in sorted(machine.FINAL)]
    ties = [f'    tie{place}{{"{_TIES[tie]}?"}} -- yes --> {state}' for place, (tie, state) in _places()]
    nexts = [
        f"    tie{place} -- no --> tie{place + 1}" for place, _ in _places() if place + 1 < len(machine.LIFE)
    ]
    last = f"    tie{len(machine.LIFE) - 1} -- no --> {machine.COLLECTABLE}"
    return "\n".join(
        [
            "# Publication",
            "",
            "Drawn by `python -m models.draw` from `rukh/machines/publication.py`.",
            "",
            "An operation:",
            "",
            "```mermaid",
            "stateDiagram-v2",
            f"    [*] --> {machine.BEGUN}: begin",
            *moves,
            *ends,
            "```",
            "",
            "A release:",
            "",
            "```mermaid",
            "flowchart TD",
            *ties,
            *nexts,
            last,
            "```",
            "",
        ]
    )


def _places() -> list[tuple[int, tuple[str, str]]]:
    return list(enumerate(machine.LIFE.items()))


def main() -> int:
    """Write the page."""
    DIAGRAM.parent.mkdir(parents=True, exist_ok=True)
    DIAGRAM.write_text(publication(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
