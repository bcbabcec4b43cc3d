"""The shipped example `acme.notes`: its functions, bound and judged by the descriptor that it ships."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rukh.contract.compile import compile_commands
from rukh.contract.descriptor import check
from rukh.contract.parameters import bind
from rukh.contract.result_data import validate_result
from rukh.values.errors import RukhError
from tests.contract.documents import ROOT

HOME = ROOT / "examples" / "notes"
Call = Callable[..., Any]


@pytest.fixture
def extension(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The module as a child imports it: the SDK on its path, NOTES_DIR from the owner."""
    monkeypatch.syspath_prepend(str(ROOT / "rukh" / "sdk"))
    monkeypatch.setenv("NOTES_DIR", str(tmp_path / "notes"))
    spec = importlib.util.spec_from_file_location("acme_notes", HOME / "acme_notes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def call(extension: ModuleType) -> Call:
    """Run a command by id as a host does: bind the inputs, call the entry, validate the result."""
    descriptor = check((HOME / "rukh-extension.json").read_bytes()).descriptor
    assert descriptor is not None
    records = {record["identity"]: record for record in compile_commands(descriptor, [])}

    def run(name: str, **supplied: Any) -> Any:
        record = records[f"acme.notes/{name}"]
        function = getattr(extension, record["mapping"]["entry"].partition(":")[2])
        data = function(bind(record["parameters"], supplied).inputs, None)
        validate_result(record["result"], {"kind": "structured", "data": data})
        return data

    return run


def test_the_shipped_descriptor_is_clean_and_every_command_is_eligible() -> None:
    checked = check((HOME / "rukh-extension.json").read_bytes())
    assert checked.diagnostics == []
    assert checked.descriptor is not None
    assert [row["id"] for row in checked.descriptor["commands"]] == ["add", "list", "search"]
    assert all(row["machine"]["eligible"] for row in checked.descriptor["commands"])


def test_a_note_is_added_listed_and_found(call: Call) -> None:
    note = {"title": "Bücher 📚 für Ada", "tags": ["a,b", "--tag"], "amount": "1.20", "colour": "red"}
    assert call("add", **note) == {"number": 1, "title": note["title"]}
    assert call("add", title="Milk", pinned=True, priority=9) == {"number": 2, "title": "Milk"}
    assert call("list")["notes"] == [
        {"number": 2, "tags": [], "title": "Milk", "priority": 9, "pinned": True},
        {"number": 1, **note, "amount": "1.2", "priority": 3, "pinned": False},
    ]
    assert call("list", tag="--tag")["total"] == 1
    assert call("search", text="BÜCHER") == {"total": 1, "matches": [{"number": 1, "title": note["title"]}]}
    assert call("search", text="nothing") == {"total": 0, "matches": []}


def test_the_longest_answer_stays_within_the_result_limits(call: Call) -> None:
    for _ in range(40):
        call("add", title="\x01" * 200, tags=["\x01" * 40] * 8, amount="1" * 34, colour="green")
    listed = call("list")
    assert (listed["total"], len(listed["notes"])) == (40, 32)
    assert call("search", text="\x01")["total"] == 40


def test_without_a_directory_the_command_fails_and_says_what_to_do(
    call: Call, extension: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("list")["total"] == 0
    monkeypatch.delenv("NOTES_DIR")
    with pytest.raises(extension.rukh_sdk.Failed, match=r"environment\.\"acme\.notes\"") as caught:
        call("list")
    assert caught.value.exit_code == 2


def test_a_damaged_file_is_not_overwritten(call: Call, extension: ModuleType, tmp_path: Path) -> None:
    call("add", title="Milk")
    file = tmp_path / "notes" / "notes.json"
    file.write_text("[", encoding="utf-8")
    with pytest.raises(extension.rukh_sdk.Failed) as caught:
        call("add", title="Bread")
    assert caught.value.exit_code == 3
    assert file.read_text(encoding="utf-8") == "["


def test_two_calls_at_once_never_give_one_number_twice(call: Call, tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(lambda number: call("add", title=f"n{number}")["number"], range(12)))
    assert sorted(numbers) == list(range(1, 13))
    notes = json.loads((tmp_path / "notes" / "notes.json").read_text(encoding="utf-8"))
    assert len(notes) == 12


@pytest.mark.parametrize(
    "supplied", [{}, {"title": ""}, {"title": "x", "priority": 10}, {"title": "x", "colour": "pink"}]
)
def test_an_input_outside_its_declaration_never_reaches_the_extension(
    call: Call, supplied: dict[str, Any]
) -> None:
    assert call("add", title="x", priority=9, colour="blue")["number"] == 1
    with pytest.raises(RukhError):
        call("add", **supplied)
    assert call("list")["total"] == 1
