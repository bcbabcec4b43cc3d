"""Compiled commands: every member present, defaults in one form, mount words in front and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from rukh.contract.compile import compile_commands
from rukh.contract.descriptor import check
from tests.contract.documents import command, descriptor, encoded, load, patched

KIT = load("spec/vectors/descriptors.json")["bases"]["kit"]
MEMBERS = [
    "identity", "package", "version", "path", "aliases", "title", "summary", "description", "examples", "parameters",
    "mapping", "runtime", "stdin", "lifetime", "result", "requires", "machine",
]  # fmt: skip


def compiled(document: Any, mount: list[str] | None = None) -> list[dict[str, Any]]:
    checked = check(encoded(document))
    assert checked.diagnostics == []
    assert checked.descriptor is not None
    return compile_commands(checked.descriptor, mount or [])


@pytest.mark.requirement("RK-DESC-030")
def test_every_member_is_present() -> None:
    for record in compiled(KIT):
        assert list(record) == MEMBERS


@pytest.mark.requirement("RK-DESC-024", "RK-DESC-030")
def test_what_is_left_out_compiles_as_its_default() -> None:
    least = {key: value for key, value in command().items() if key != "machine"}
    least["execute"] = {"mapping": {"kind": "managed", "entry": "work:add"}}
    record = compiled(descriptor(commands=[least]))[0]
    assert record == {
        "identity": "acme.notes/add",
        "package": "acme.notes",
        "version": "1.0.0",
        "path": ["notes", "add"],
        "aliases": [],
        "title": "",
        "summary": "The command add",
        "description": "",
        "examples": [],
        "parameters": [],
        "mapping": {"kind": "managed", "entry": "work:add"},
        "runtime": {"kind": "python"},
        "stdin": "none",
        "lifetime": "foreground",
        "result": None,
        "requires": {"operations": [], "environment": [], "confinement": "host-trusted/1"},
        "machine": {"eligible": False, "interaction": "none", "requiredFeatures": []},
    }


@pytest.mark.requirement("RK-DESC-030")
def test_leaving_out_and_writing_the_default_are_the_same() -> None:
    patch: list[dict[str, Any]] = [
        {"op": "add", "path": "/commands/0/aliases", "value": []},
        {"op": "add", "path": "/commands/0/examples", "value": []},
        {"op": "add", "path": "/commands/0/parameters", "value": []},
        {"op": "add", "path": "/commands/0/execute/lifetime", "value": "foreground"},
        {"op": "add", "path": "/commands/0/execute/stdin", "value": "none"},
        {"op": "add", "path": "/commands/0/execute/requires", "value": {"operations": [], "environment": []}},
        {"op": "add", "path": "/commands/0/machine/interaction", "value": "none"},
    ]
    assert compiled(patched(descriptor(), patch)) == compiled(descriptor())


@pytest.mark.requirement("RK-DESC-030")
def test_a_default_is_compiled_in_its_one_form() -> None:
    defaults = {one["id"]: one["default"] for one in compiled(KIT)[0]["parameters"] if "default" in one}
    assert defaults == {
        "rest": [],
        "size": 3,
        "ratio": 0.5,
        "price": "1.5",
        "colour": "red",
        "tags": [1, 2],
        "fast": False,
    }


@pytest.mark.requirement("RK-DESC-031")
def test_mount_words_change_paths_and_nothing_else() -> None:
    plain, mounted = compiled(KIT)[0], compiled(KIT, ["my", "own"])[0]
    assert mounted["path"] == ["my", "own", "kit", "make"]
    assert mounted["aliases"] == [["my", "own", "k", "m"], ["my", "own", "make-kit"]]
    assert mounted["examples"][1]["argv"] == ["my", "own", "k", "m", "one"]
    moved = {"path", "aliases", "examples"}
    assert {key: mounted[key] for key in MEMBERS if key not in moved} == {
        key: plain[key] for key in MEMBERS if key not in moved
    }
