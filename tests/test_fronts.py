"""The fronts of the rooms: each public name has one home, is found whatever was loaded before, and costs nothing."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

ROOMS = ("values", "contract", "machines", "store", "sources", "host", "cli", "mcp")
# What a front must not load by itself.
HEAVY = {"apsw", "cryptography", "click", "pydantic", "mcp", "asyncio", "dataclasses", "json", "threading"}


def front(room: str) -> ModuleType:
    return import_module(f"rukh.{room}")


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_has_one_home_and_is_found_there(room: str) -> None:
    module = front(room)
    listed = [(home, name) for home, names in module._HOMES.items() for name in names.split()]
    names = [name for _, name in listed]
    bound = set(module.__all__) - set(names)
    assert sorted(set(names)) == sorted(names)
    assert bound == {name for name in bound if callable(getattr(module, name))}
    for home, name in listed:
        assert getattr(module, name) is getattr(import_module(f"rukh.{room}.{home}"), name)


@pytest.mark.parametrize("room", ROOMS)
def test_a_front_gives_what_it_lists_and_nothing_else(room: str) -> None:
    module = front(room)
    assert list(module.__all__) == sorted(set(module.__all__), key=module.__all__.index)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_takes_the_place_of_a_public_function(room: str) -> None:
    source = f"""
import pkgutil, types, rukh.{room} as front
for found in pkgutil.iter_modules(front.__path__):
    if found.name in front.__all__:
        __import__(f"rukh.{room}.{{found.name}}")
print([name for name in front.__all__ if isinstance(getattr(front, name), types.ModuleType)])
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_fronts_alone_load_nothing_heavy() -> None:
    imports = ", ".join(f"rukh.{room}" for room in ROOMS)
    source = f"import sys; before = set(sys.modules); import {imports}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & HEAVY == set()
