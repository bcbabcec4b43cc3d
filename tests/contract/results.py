"""Result schemas and results as the tests of the contract write them."""

from __future__ import annotations

from typing import Any

import pytest

from rukh.contract.result_data import validate_result
from rukh.values.errors import RukhError
from rukh.values.reader import read
from tests.support import vectors

FAR: dict[str, Any] = {"max_bytes": 1 << 22, "max_depth": 64, "max_members": 1 << 16}


def value(text: str | list[list[Any]]) -> Any:
    """What the reader gives for a text of the vectors, with limits far beyond those that are judged."""
    return read(vectors.text(text).encode(), **FAR)


def refusal(declared: dict[str, Any] | None, result: Any, **more: Any) -> RukhError:
    """Why the result is refused."""
    with pytest.raises(RukhError) as refused:
        validate_result(declared, result, **more)
    return refused.value


def structured(data: Any) -> dict[str, Any]:
    """A structured result."""
    return {"kind": "structured", "data": data}


def declared(schema: dict[str, Any]) -> dict[str, Any]:
    """The declaration of a structured result."""
    return {"kind": "structured", "schema": schema}


def nested(depth: int) -> dict[str, Any]:
    """A schema whose text is `depth` deep: each array is one level, the keywords of the last one are the rest."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth - 2):
        schema = {"type": "array", "maxItems": 1, "items": schema}
    return schema
