"""Whether a runtime's version meets a release's requirement.

Apart from the other grammars, which a call does not need and which cost 2.5 ms to compile.
"""

from __future__ import annotations


def satisfies(requirement: str, version: tuple[int, ...]) -> bool:
    """Whether `version`, such as (3, 11, 7), meets `requirement` (form RUNTIME), such as `>=3.11,<4`."""
    for clause in requirement.split(","):
        least = clause.startswith(">=")
        bound = tuple(int(number) for number in clause.lstrip("><=").split("."))
        width = max(len(bound), len(version))
        padded = version + (0,) * (width - len(version))
        if (padded >= bound + (0,) * (width - len(bound))) is not least:
            return False
    return True
