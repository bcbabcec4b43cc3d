"""Which program is started for a command, in which environment and directory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from rukh.host import launch
from rukh.host.launch import bootstrap_path, plan_launch
from rukh.values.errors import RukhError

PYTHON = {"runtime": {"kind": "python"}, "mapping": {"kind": "managed", "entry": "notes:add"}}
NATIVE = {"runtime": {"kind": "native"}, "mapping": {"kind": "managed", "entry": ["bin/notes", "--managed"]}}
NODE = {"runtime": {"kind": "node"}, "mapping": {"kind": "managed", "entry": ["main.mjs"]}}


def planned(record: dict[str, Any], environment: dict[str, str] | None = None, **more: Any) -> Any:
    return plan_launch(record, "/r", "/c", "/w", environment or {}, **more)


def program(directory: Path, name: str, mode: int = 0o755) -> str:
    path = directory / name
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return str(path)


@pytest.mark.requirement("RK-EXEC-020", "RK-EXEC-023")
def test_each_runtime_has_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = program(tmp_path, "node")
    (tmp_path / "relative").mkdir()
    program(tmp_path / "relative", "node")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"relative:{tmp_path}")
    isolated = ["-I", "-S", "-X", "utf8", bootstrap_path(), "/r", "/c", "notes:add"]

    assert [sys._base_executable, *isolated] == planned(PYTHON).argv  # type: ignore[attr-defined]
    assert ["/bin/sh", *isolated] == planned(PYTHON, python="/bin/sh").argv
    assert ["/r/bin/notes", "--managed"] == planned(NATIVE).argv
    assert [node, "/r/main.mjs"] == planned(NODE).argv


@pytest.mark.requirement("RK-EXEC-021")
def test_the_environment_is_the_short_list_and_what_the_owner_gives() -> None:
    base = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/w", "TMPDIR": "/w"}

    assert base == planned(NATIVE).env
    assert {**base, "LANG": "de_DE.UTF-8", "NOTES_DIR": "/n"} == (
        planned(NATIVE, {"LANG": "de_DE.UTF-8", "NOTES_DIR": "/n"}).env
    )
    assert "/w" == planned(NATIVE).cwd


def requiring(record: dict[str, Any], requirement: str) -> dict[str, Any]:
    return {**record, "runtime": {**record["runtime"], "requires": requirement}}


@pytest.mark.requirement("RK-EXEC-023")
def test_a_requirement_that_is_not_met_names_both_versions() -> None:
    assert planned(requiring(PYTHON, ">=3.11")).argv == planned(PYTHON).argv
    with pytest.raises(RukhError) as refusal:
        planned(requiring(PYTHON, ">=3.99"))

    assert ("RKH002", "/runtime/requires") == (refusal.value.rule, refusal.value.place)
    assert "python >=3.99" in refusal.value.message


@pytest.mark.requirement("RK-EXEC-023")
@pytest.mark.parametrize("record", [PYTHON, NODE])
def test_a_runtime_that_is_not_there_is_named(
    record: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "node", 0o644)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "_base_executable", str(tmp_path / "python"))
    with pytest.raises(RukhError) as refusal:
        planned(record)

    assert "RKH001" == refusal.value.rule
    assert record["runtime"]["kind"] in refusal.value.mend


class Node:
    """A program that tells a version and counts how often it was asked, first on the PATH."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._asked = place / "asked"
        self._program = place / "bin" / "node"
        self.cache = place / "cache"
        for directory in (self._program.parent, self.cache):
            directory.mkdir()
        monkeypatch.setenv("PATH", str(self._program.parent))

    def says(self, body: str) -> None:
        self._program.unlink(missing_ok=True)
        self._program.write_text(f"#!/bin/sh\necho >> {self._asked}\n{body}\n")
        self._program.chmod(0o755)

    @property
    def asked(self) -> int:
        return len(self._asked.read_text()) if self._asked.exists() else 0

    def plan(self, requirement: str) -> Any:
        return plan_launch(requiring(NODE, requirement), "/r", str(self.cache / "tree"), "/w", {})


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(tmp_path, monkeypatch)


@pytest.mark.requirement("RK-AUTHOR-010", "RK-EXEC-023")
def test_node_is_asked_for_its_version_once_and_again_when_it_was_replaced(node: Node) -> None:
    node.says("echo v20.11.1")
    for _ in range(3):
        assert ["/r/main.mjs"] == node.plan(">=20.11,<21").argv[1:]
    assert 1 == node.asked

    node.says("echo v18.19.0-nightly")
    with pytest.raises(RukhError) as refusal:
        node.plan(">=20.11,<21")
    assert ("RKH002", 2) == (refusal.value.rule, node.asked)
    assert "node >=20.11,<21, here is 18.19.0" in refusal.value.message
    assert ["node-version"] == [path.name for path in node.cache.iterdir()]


@pytest.mark.requirement("RK-AUTHOR-010")
def test_a_release_that_requires_no_version_asks_nothing(node: Node) -> None:
    node.says("echo v20.11.1")

    assert ["/r/main.mjs"] == plan_launch(NODE, "/r", str(node.cache / "tree"), "/w", {}).argv[1:]
    assert 0 == node.asked


# What `node --version` does instead of telling one.
SILENT = {
    "nothing": ":",
    "words": "echo version twenty",
    "two numbers": "echo v20.1",
    "no v": "echo 20.1.1",
    "a number out of all bounds": "echo v20.1.1000000",
    "more than an answer": "while echo v20.1.1; do :; done",
    "a child that holds the pipe": "echo v20.1; /bin/sleep 0 & echo .1; exit 3",
}


@pytest.mark.requirement("RK-AUTHOR-010")
@pytest.mark.parametrize("name", SILENT)
def test_a_node_that_does_not_tell_its_version_is_refused_and_asked_again(name: str, node: Node) -> None:
    node.says(SILENT[name])
    for _ in range(2):
        with pytest.raises(RukhError) as refusal:
            node.plan(">=20")
        assert ("RKH002", "/runtime/requires") == (refusal.value.rule, refusal.value.place)
        assert "install a node that answers node --version" == refusal.value.mend
    assert 2 == node.asked

    node.says("echo v20.0.0")
    assert ["/r/main.mjs"] == node.plan(">=20").argv[1:]


@pytest.mark.requirement("RK-AUTHOR-010")
def test_a_node_that_never_answers_is_ended(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_NODE_SECONDS", 0.05)
    node.says("exec /bin/cat /dev/zero >/dev/null")
    with pytest.raises(RukhError) as refusal:
        node.plan(">=20")

    assert "RKH002" == refusal.value.rule


@pytest.mark.requirement("RK-AUTHOR-010")
def test_an_answer_that_was_damaged_or_cannot_be_kept_is_asked_for_again(node: Node) -> None:
    node.says("echo v20.11.1")
    node.plan(">=20")
    kept = node.cache / "node-version"
    kept.write_bytes(kept.read_bytes()[:-4])
    node.plan(">=20")
    assert 2 == node.asked
    kept.unlink()
    kept.mkdir()
    node.plan(">=20")

    assert (3, ["node-version"]) == (node.asked, [path.name for path in node.cache.iterdir()])


@pytest.mark.requirement("RK-AUTHOR-010")
def test_node_is_asked_with_the_environment_of_a_child(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_OPTIONS", "--import=evil")
    node.says('[ -z "$NODE_OPTIONS" ] && [ "$1" = --version ] && echo v20.11.1')

    assert ["/r/main.mjs"] == node.plan(">=20").argv[1:]
