"""The nearest known word, for a refusal that names what was probably meant. RK-VAL-004"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# Beyond four edits it is another word, not a slip; and the work stays a band of nine cells a row, which keeps a wrong
# choice among a thousand long values answered at once.
_MOST_EDITS = 4
_LONGEST = 64


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word with the smallest edit distance: at most four edits, and at most a third of the longer one.

    Ties go to the first in code-point order, so that the answer does not depend on the order of `known`.
    """
    best: tuple[int, str] | None = None
    for candidate in sorted(known):
        bound = min(_MOST_EDITS, max(1, max(len(word), len(candidate)) // 3))
        distance = _distance(word, candidate, bound)
        if distance <= bound and (best is None or distance < best[0]):
            best = (distance, candidate)
    return best[1] if best else None


def alike(name: str, known: Iterable[str], separator: str) -> str | None:
    """The known name that differs from `name` by a slip on one side of its last separator.

    What two names share in front says nothing: acme.tools/sh is not what acme.tools/pack was meant to be. RK-EXPL-041
    """
    front, _, last = name.rpartition(separator)
    parts = [other.rpartition(separator) for other in known]
    near = nearest(last, (other for before, _, other in parts if before == front))
    if near is not None:
        return f"{front}{separator}{near}"
    near = nearest(front, (before for before, _, other in parts if other == last))
    return None if near is None else f"{near}{separator}{last}"


def _distance(left: str, right: str, bound: int) -> int:
    """Optimal string alignment distance where it is at most `bound`, or something larger.

    Only cells within `bound` of the diagonal can lead to such a distance; the others stand for it being exceeded.
    """
    if abs(len(left) - len(right)) > bound or len(left) > _LONGEST:
        return bound + 1
    far = bound + 1
    before = row = [j if j <= bound else far for j in range(len(right) + 1)]
    for i, a in enumerate(left, 1):
        after = [far] * (len(right) + 1)
        if i <= bound:
            after[0] = i
        for j in range(max(1, i - bound), min(len(right), i + bound) + 1):
            b = right[j - 1]
            cost = min(row[j] + 1, after[j - 1] + 1, row[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            after[j] = cost
        before, row = row, after
    return row[-1]
