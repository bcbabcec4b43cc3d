"""spec/registry.json and what tools/generate.py writes from it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rukh.values import registry as generated
from rukh.values.rules import RULES
from tests.support.vectors import SPEC
from tools import generate

REGISTRY: dict[str, Any] = json.loads((SPEC / "registry.json").read_text(encoding="utf-8"))
SCHEMA: dict[str, Any] = json.loads((SPEC / "schemas" / "registry.schema.json").read_text(encoding="utf-8"))


@pytest.mark.requirement("RK-VAL-003")
def test_the_generated_constants_are_not_stale(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["generate.py", "--check"])
    assert (generate.main(), capsys.readouterr().out) == (0, "")


@pytest.mark.requirement("RK-VAL-003")
def test_a_changed_limit_makes_them_stale(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = copy.deepcopy(REGISTRY)
    changed["limits"]["inputBytes"]["value"] += 1
    monkeypatch.setattr("json.loads", lambda text: changed)
    monkeypatch.setattr("sys.argv", ["generate.py", "--check"])
    assert (generate.main(), capsys.readouterr().out) == (
        1,
        "stale: registry.py; run python tools/generate.py\n",
    )


def swap(rows: list[dict[str, str]]) -> None:
    rows[0], rows[1] = rows[1], rows[0]


def reuse(rows: list[dict[str, str]]) -> None:
    rows[1]["id"] = rows[0]["id"]


def remove(rows: list[dict[str, str]]) -> None:
    del rows[1]


def rename(rows: list[dict[str, str]]) -> None:
    rows[0]["id"] = rows[0]["id"].replace("RKV", "RKX")


@pytest.mark.requirement("RK-VAL-002")
@pytest.mark.parametrize("change", [swap, reuse, remove, rename])
def test_ids_out_of_order_are_refused(change: Callable[[list[dict[str, str]]], None]) -> None:
    registry = copy.deepcopy(REGISTRY)
    generate.check_ids(registry)
    change(registry["rules"]["RKV"])
    with pytest.raises(SystemExit, match=r"the ids of family RKV are not RKV001… in order"):
        generate.check_ids(registry)


@pytest.mark.requirement("RK-VAL-002")
def test_every_rule_of_the_registry_is_generated_with_its_exit_code() -> None:
    rows = [row for family in REGISTRY["rules"].values() for row in family]
    assert RULES == {
        row["id"]: (row["severity"], row["fault"], REGISTRY["exitCodes"][row["exit"]], row["title"])
        for row in rows
    }


@pytest.mark.requirement("RK-VAL-003")
def test_every_reason_has_the_exit_code_of_its_class() -> None:
    assert generated.REASON_EXITS == {
        reason: REGISTRY["exitCodes"][name] for reason, name in REGISTRY["reasons"].items()
    }


def test_the_published_schema_is_one_and_admits_the_registry() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(REGISTRY)] == []


BROKEN: dict[str, Callable[[dict[str, Any]], object]] = {
    "an unknown member": lambda registry: registry.update(extra=1),
    "another format": lambda registry: registry.update(format="rukh.registry/2"),
    "a rule without a title": lambda registry: registry["rules"]["RKV"][0].pop("title"),
    "a rule with an unknown fault": lambda registry: registry["rules"]["RKV"][0].update(fault="nobody"),
    "a rule with an unknown exit": lambda registry: registry["rules"]["RKV"][0].update(exit="odd"),
    "a rule id of another form": lambda registry: registry["rules"]["RKV"][0].update(id="RKV1"),
    "a family of another form": lambda registry: registry["rules"].update(XX=[]),
    "a limit without its reason": lambda registry: registry["limits"]["inputBytes"].pop("why"),
    "a negative limit": lambda registry: registry["limits"]["inputBytes"].update(value=-1),
    "a reason with an unknown exit": lambda registry: registry["reasons"].update(command="odd"),
    "an exit code beyond 255": lambda registry: registry["exitCodes"].update(rejected=256),
    "a reserved word twice": lambda registry: registry["reservedWords"].append("run"),
    "a core option without hyphens": lambda registry: registry["coreOptions"].append("json"),
    "a core option twice": lambda registry: registry["coreOptions"].append("--json"),
    "a variable that is none": lambda registry: registry["passthroughEnvironment"].append("LC_*"),
    "a variable twice": lambda registry: registry["passthroughEnvironment"].append("PATH"),
    "an operation without version": lambda registry: registry["operations"].append("files.move"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_published_schema_refuses(name: str) -> None:
    registry = copy.deepcopy(REGISTRY)
    BROKEN[name](registry)
    assert not Draft202012Validator(SCHEMA).is_valid(registry)
