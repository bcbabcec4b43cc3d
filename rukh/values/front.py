"""How a room's front finds its public names: each in its module, loaded on first use.

A path then pays only for what it needs; the front says what is public, and where each name lives.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def front(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The module `__getattr__` of `package`; `homes` maps each module to its public names, divided by spaces."""

    def find(name: str) -> object:
        for module, names in homes.items():
            if name in names.split():
                from importlib import import_module

                return getattr(import_module(f"{package}.{module}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
