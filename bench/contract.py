"""Figures of the contract alone: no home, no process of ours. RK-PROC-017"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jsonschema

from bench.measure import Figure, interleaved
from rukh.contract.result_data import validate_result
from rukh.values.canonical import canonical_bytes

# How often one sample repeats what takes microseconds.
_REPEATS = 50
_ITEM: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["number", "title"],
    "properties": {
        "number": {"type": "integer", "minimum": 1},
        "title": {"type": "string", "minLength": 1, "maxLength": 200},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 40}, "maxItems": 16},
        "state": {"type": "string", "enum": ["open", "done"]},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
    },
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["items"],
    "properties": {"items": {"type": "array", "items": _ITEM, "maxItems": 100}},
}


def document() -> dict[str, Any]:
    """A list of notes of 1.9 KB in canonical form."""
    items = [
        {"number": n, "title": f"Note number {n}", "tags": ["shop", "now"], "state": "open", "share": 0.5}
        for n in range(1, 23)
    ]
    return {"items": items}


def result_validation(rounds: int) -> Figure:
    """One structured result against its declared schema, as the host judges it, and by the `jsonschema` package."""
    data = document()
    assert 1_800 <= len(canonical_bytes(data)) <= 2_000
    declared, result = {"kind": "structured", "schema": SCHEMA}, {"kind": "structured", "data": data}
    validator = jsonschema.Draft202012Validator(SCHEMA)

    def theirs() -> None:
        assert validator.is_valid(data)

    samples = interleaved(
        _repeated(lambda: validate_result(declared, result)), _repeated(theirs), rounds, warm_up=2
    )
    return Figure("result-validation", "the jsonschema package, the same schema and 1.9 KB", 0.2, *samples)


def _repeated(act: Callable[[], object]) -> Callable[[], float]:
    def sample() -> float:
        begin = time.perf_counter()
        for _ in range(_REPEATS):
            act()
        return (time.perf_counter() - begin) / _REPEATS

    return sample
