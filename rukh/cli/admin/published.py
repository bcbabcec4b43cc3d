"""What Rukh publishes of its specification, for an author's own machine: schemas and explanations.

The files have one home, `spec/`. Nothing is fetched. RK-CHECK-041
"""

from __future__ import annotations

import json
import os
from typing import Any

from rukh.cli.specification import SCHEMA_ENDING, schemas, specification
from rukh.values.errors import RukhError
from rukh.values.nearest import nearest


def schema(name: str) -> bytes:
    """The schema called `name`, such as `descriptor-2`; raises RKL030 naming the nearest one. RK-CHECK-040"""
    known = schemas()
    if name not in known:
        near = nearest(name, known)
        mend = f"did you mean {near}?" if near else f"known are: {', '.join(known)}"
        raise RukhError("RKL030", f"there is no schema {name!r}", place="--schema", mend=mend)
    return _read("schemas", name + SCHEMA_ENDING)


def explanations() -> dict[str, Any]:
    """The document `rukh.explanations/1`: every rule that a check can report, explained."""
    document: dict[str, Any] = json.loads(_read("explanations.json"))
    return document


def _read(*names: str) -> bytes:
    with open(os.path.join(specification(), *names), "rb") as file:
        return file.read()
