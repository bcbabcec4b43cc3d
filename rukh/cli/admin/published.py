"""What Rukh publishes of its specification, for an author's own machine: schemas and explanations.

The files have one home, `spec/`. A wheel carries them inside of the package; a checkout has them beside it. Nothing is
fetched. RK-CHECK-041
"""

from __future__ import annotations

import json
import os
from typing import Any

from rukh.values.errors import RukhError
from rukh.values.nearest import nearest

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_HOMES = (os.path.join(_PACKAGE, "spec"), os.path.join(os.path.dirname(_PACKAGE), "spec"))
_ENDING = ".schema.json"


def schema(name: str) -> bytes:
    """The schema called `name`, such as `descriptor-2`; raises RKL030 naming the nearest one. RK-CHECK-040"""
    known = schemas()
    if name not in known:
        near = nearest(name, known)
        mend = f"did you mean {near}?" if near else f"known are: {', '.join(known)}"
        raise RukhError("RKL030", f"there is no schema {name!r}", place="--schema", mend=mend)
    return _read("schemas", name + _ENDING)


def schemas() -> list[str]:
    """The names of all schemas, sorted."""
    found = os.listdir(os.path.join(_home(), "schemas"))
    return sorted(name.removesuffix(_ENDING) for name in found if name.endswith(_ENDING))


def explanations() -> dict[str, Any]:
    """The document `rukh.explanations/1`: every rule that a check can report, explained."""
    document: dict[str, Any] = json.loads(_read("explanations.json"))
    return document


def _home() -> str:
    return next(home for home in _HOMES if os.path.isdir(home))


def _read(*names: str) -> bytes:
    with open(os.path.join(_home(), *names), "rb") as file:
        return file.read()
