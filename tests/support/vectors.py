"""The published vectors of `spec/vectors/`, as rows for `pytest.mark.parametrize`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SPEC = Path(__file__).resolve().parents[2] / "spec"
Case = dict[str, Any]


def document(name: str) -> dict[str, Any]:
    """A whole vector file."""
    loaded: dict[str, Any] = json.loads((SPEC / "vectors" / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def cases(name: str, group: str = "cases", *, refused: bool | None = None) -> list[Any]:
    """Rows of one group, named; `refused` picks those with a rule (True) or without (False)."""
    rows: list[Case] = document(name)[group]
    picked = [row for row in rows if refused is None or refused is _refused(row)]
    return [pytest.param(row, id=row["name"]) for row in picked]


def without_sibling(name: str, group: str = "cases") -> list[str]:
    """Names of refused cases beside which no accepted case of the same group stands, and of doubled names."""
    rows: list[Case] = document(name)[group]
    accepted = {row["name"] for row in rows if not _refused(row)}
    names = [row["name"] for row in rows]
    doubled = [each for each in names if names.count(each) > 1]
    return doubled + [row["name"] for row in rows if _refused(row) and row["sibling"] not in accepted]


def rules(name: str, group: str = "cases") -> set[str]:
    """Every rule that a case of the group expects."""
    rows: list[Case] = document(name)[group]
    named = {row["rule"] for row in rows if "rule" in row}
    return named | {rule for row in rows for rule, _ in row.get("problems", [])}


def _refused(row: Case) -> bool:
    return "rule" in row or "problems" in row
