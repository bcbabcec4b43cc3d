"""The published vectors of `spec/vectors/`, as rows for `pytest.mark.parametrize`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SPEC = Path(__file__).resolve().parents[2] / "spec"
Case = dict[str, Any]


def files() -> list[str]:
    """The names of all vector files."""
    return sorted(path.stem for path in (SPEC / "vectors").iterdir())


def document(name: str) -> dict[str, Any]:
    """A whole vector file."""
    loaded: dict[str, Any] = json.loads((SPEC / "vectors" / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def cases(name: str, group: str = "cases", *, refused: bool | None = None) -> list[Any]:
    """Rows of one group, named; `refused` picks those that are refused (True) or accepted (False)."""
    rows: list[Case] = document(name)[group]
    picked = [row for row in rows if refused is None or refused is is_refused(row)]
    return [pytest.param(row, id=row["name"]) for row in picked]


def text(value: str | list[list[Any]]) -> str:
    """The text that a vector writes out, or as pieces with how often each stands."""
    return value if isinstance(value, str) else "".join(piece * times for piece, times in value)


def is_refused(row: Case) -> bool:
    """Whether a row says by which rule or requirement it is refused."""
    return "rule" in row or "requirement" in row


def without_sibling(name: str, group: str = "cases") -> list[str]:
    """Names of refused cases beside which no accepted case of the same group stands, and of doubled names."""
    rows: list[Case] = document(name)[group]
    accepted = {row["name"] for row in rows if not is_refused(row)}
    names = [row["name"] for row in rows]
    doubled = [each for each in names if names.count(each) > 1]
    return doubled + [row["name"] for row in rows if is_refused(row) and row["sibling"] not in accepted]


def far_from_sibling(name: str, group: str = "cases") -> list[str]:
    """Names of refused cases whose bytes and those of their sibling differ by more than one short span."""
    rows: dict[str, Case] = {row["name"]: row for row in document(name)[group]}
    refused = [row for row in rows.values() if is_refused(row)]
    return [row["name"] for row in refused if not is_near(_raw(row), _raw(rows[row["sibling"]]))]


_NEAR = 12  # bytes: two escapes


def is_near(left: bytes, right: bytes) -> bool:
    """Whether two texts differ by one short span."""
    return _span(left, right) <= _NEAR


def _raw(row: Case) -> bytes:
    if "hex" in row:
        return bytes.fromhex(row["hex"])
    written = next(row[name] for name in ("text", "token", "decimal") if name in row)
    return text(written).encode("utf-8", "surrogatepass")


def _span(left: bytes, right: bytes) -> int:
    """The length of what stands between the common beginning and the common end, of the longer one."""
    start = _common(left, right)
    return max(len(left), len(right)) - start - _common(left[start:][::-1], right[start:][::-1])


def _common(left: bytes, right: bytes) -> int:
    """How many bytes both begin with."""
    least = min(len(left), len(right))
    return next((place for place in range(least) if left[place] != right[place]), least)


def rules(name: str, group: str = "cases") -> set[str]:
    """Every rule that a case of the group expects."""
    return {row["rule"] for row in document(name)[group] if "rule" in row}


def fields_apart(left: Any, right: Any) -> int:
    """In how many fields two documents differ: a member or element that is changed, added, taken out or renamed.

    A list of scalars is one field.
    """
    if type(left) is not type(right):
        return 1
    if isinstance(left, dict):
        gone, new = (
            [name for name in one if name not in other] for one, other in ((left, right), (right, left))
        )
        apart = sum(fields_apart(left[name], right[name]) for name in left if name in right)
        renamed = len(gone) == len(new) == 1 and left[gone[0]] == right[new[0]]
        return apart + (1 if renamed else len(gone) + len(new))
    if isinstance(left, list) and any(isinstance(item, dict | list) for item in left + right):
        return _items_apart(left, right)
    return int(left != right)


def _items_apart(left: list[Any], right: list[Any]) -> int:
    short, long = sorted((left, right), key=len)
    if len(short) == len(long):
        return sum(map(fields_apart, left, right))
    without_one = (long[:at] + long[at + 1 :] for at in range(len(long)))
    return 1 if not short or any(short == rest for rest in without_one) else 2
