"""Where what Rukh publishes of its specification lies on this machine, and which schemas there are.

A wheel carries the files inside of the package; a checkout has them beside it. This is apart from what reads them: a
key press asks for their names. RK-CHECK-041 RK-COMP-015
"""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_HOMES = (os.path.join(_PACKAGE, "spec"), os.path.join(os.path.dirname(_PACKAGE), "spec"))
SCHEMA_ENDING = ".schema.json"


def specification() -> str:
    """The directory of the specification's files."""
    return next(home for home in _HOMES if os.path.isdir(home))


def schemas() -> list[str]:
    """The names of all schemas, sorted."""
    found = os.listdir(os.path.join(specification(), "schemas"))
    return sorted(name.removesuffix(SCHEMA_ENDING) for name in found if name.endswith(SCHEMA_ENDING))
