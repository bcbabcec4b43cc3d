"""Homes of one extension with a command for every way to be no tool, and what host and explanation make of them."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest

from rukh.contract.profile import read_owner_profile
from rukh.host import invocation
from rukh.host.invocation import Host
from rukh.host.ledger import StoreLedger, apply_owner_part
from rukh.mcp.endpoint import EndpointHost, attach, binding_of
from rukh.mcp.explain import explain
from rukh.mcp.listing import Listing
from rukh.mcp.ports import VisibilityUnavailable
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError
from tests.support.homes import InstalledHome
from tests.support.stubs import succeeded

SPEC = Path(__file__).resolve().parents[2] / "spec"
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((SPEC / "schemas" / "explain-1.schema.json").read_text("utf-8"))
)
PACKAGE = "acme.kit"


def kit_command(
    identity: str, *, managed: bool = True, result: bool = True, **members: Any
) -> dict[str, Any]:
    """A command of the kit as its descriptor has it."""
    mapping: dict[str, Any] = {"kind": "managed", "entry": f"acme_kit:{identity}"}
    if not managed:
        mapping = {"kind": "passthrough", "program": ["raw.sh"]}
    execute: dict[str, Any] = {"mapping": mapping, **members.pop("execute", {})}
    if result:
        execute["result"] = {"kind": "text"}
    return {"id": identity, "path": ["kit", identity], "summary": identity, "execute": execute, **members}


ELIGIBLE = {"eligible": True, "requiredFeatures": ["command-result/1"]}
OPERATION = {"operation": "state.get/1"}
COMMANDS = [
    kit_command("say", machine=ELIGIBLE),
    kit_command("shy", machine={"eligible": False, "requiredFeatures": ["command-result/1"]}),
    kit_command("bare", machine={"eligible": False, "requiredFeatures": []}),
    kit_command("plain"),
    kit_command("asks", machine={**ELIGIBLE, "interaction": "required"}),
    kit_command("maybe", machine={**ELIGIBLE, "interaction": "optional"}),
    kit_command("raw", managed=False, result=False),
    kit_command("reads", execute={"stdin": "bytes"}),
    kit_command("mute", result=False),
    kit_command("wants", machine=ELIGIBLE, execute={"requires": {"operations": [OPERATION]}}),
]
FILES = {"acme_kit.py": "", "raw.sh": "#!/bin/true\n"}
SELECTIONS = {
    "by package": 'packages = ["acme.kit"]',
    "by command": 'commands = ["acme.kit/say", "acme.kit/wants"]',
    "nothing": "",
}
RULES = {
    "allowed": 'actors = ["agent:desk"]\ncommands = ["acme.kit/*"]\ndecision = "allow"',
    "allowed to another": 'actors = ["agent:other"]\ncommands = ["*"]\ndecision = "allow"',
    "denied": 'actors = ["*"]\ncommands = ["acme.kit/say"]\ndecision = "deny"\n\n[[rules]]\naction = "run"\n'
    'actors = ["*"]\ncommands = ["*"]\ndecision = "allow"',
}
OWNER = """
format = "rukh.profile/1"
[presets.assistant]
deadline = "30s"
budget = {{ calls = {calls} }}
[endpoints.desk]
transport = "stdio"
namespace = "acme.desk"
preset = "assistant"
actor = "agent:{actor}"
{selection}
[[rules]]
action = "run"
{rule}
[[rules]]
action = "install"
actors = ["user:local"]
packages = ["*"]
decision = "allow"
"""


class Kit:
    """A home of one case: what the owner wrote, and what became of it since."""

    def __init__(self, path: Path, patch: pytest.MonkeyPatch) -> None:
        self.path = str(path)
        self.patch = patch
        self.store = Store(open_home(self.path, create=False))

    def apply(self, *, calls: int = 100, actor: str = "desk", selection: str = "by package", rule: str = "allowed",
              issue: bool = True) -> None:  # fmt: skip
        """Publish the owner's part with one word of each table above, and issue a task unless told otherwise."""
        text = OWNER.format(calls=calls, actor=actor, selection=SELECTIONS[selection], rule=RULES[rule])
        apply_owner_part(StoreLedger(self.store), self.store.home, read_owner_profile(text))
        if issue:
            active = StoreLedger(self.store).active()
            binding = binding_of(active, "desk")
            self.store.tasks.issue(
                "desk", binding, binding["calls"], binding["windowMs"], subject="user:local"
            )

    def run(self, sql: str) -> None:
        """Change the records behind the program's back."""
        with self.store.database.write("FULL") as tx:
            tx.run(sql)

    def release(self) -> Path:
        """Where the files of the installed release lie."""
        active = StoreLedger(self.store).active()
        return Path(self.store.home.at("releases", active.profile["packages"][PACKAGE]["tree"]))

    def spoil(self, name: str) -> None:
        """Change one file of it."""
        path = self.release() / name
        path.chmod(0o644)
        path.write_text(path.read_text() + "\n")

    def explained(self, command: str = "say", served: str = "desk") -> dict[str, Any]:
        """The explanation, which has the published form."""
        active = StoreLedger(self.store).active()
        identity = command if "/" in command else f"{PACKAGE}/{command}"
        document = explain(self.store, active, identity, served, program="rukh", now=NOW)
        SCHEMA.validate(document)
        return document

    def listed(self, command: str) -> str | None:
        """The name under which a host that serves the endpoint lists the command."""
        try:
            listing = Listing(self._host().view("desk", math.inf))
        except VisibilityUnavailable:
            return None
        found = [name for name in listing.names if listing.identity(name) == f"{PACKAGE}/{command}"]
        return found[0] if found else None

    def admits(self, command: str) -> bool:
        """Whether that host lets a call of it start."""
        try:
            host = self._host()
            view = host.view("desk", math.inf)
        except (RukhError, VisibilityUnavailable):
            return False
        envelope = host.invoke(view, f"{PACKAGE}/{command}", {}, host.new_cancel()).envelope
        return bool(envelope["outcome"] == "succeeded")

    def _host(self) -> EndpointHost:
        host = Host(self.store, cast(Any, object()))  # never asked: `run` is not the real one
        return EndpointHost(host, attach(self.store, "desk", "rukh"))


NOW = 1_900_000_000_000


def kit_home(place: Path) -> Path:
    """A home in `place` with the kit installed and nothing said about it."""
    home = InstalledHome(place, PACKAGE)
    home.install(FILES, commands=COMMANDS)
    return Path(home.path)


@contextmanager
def copied(original: Path, to: Path) -> Iterator[Kit]:
    """The kit of a copy of that home, whose host starts no process: every call that it admits succeeds."""
    path = to / "home"
    shutil.copytree(original, path, symlinks=True)
    with pytest.MonkeyPatch.context() as patch:
        kit = Kit(path, patch)
        try:
            patch.setattr(invocation, "run", lambda *_given, **_more: succeeded())
            yield kit
        finally:
            kit.store.close()
            shutil.rmtree(path)


# What happened to a kit.


def unmet(document: dict[str, Any]) -> dict[str, str]:
    """Rule by condition of what is unmet."""
    return {each["condition"]: each["rule"] for each in document["conditions"] if each["state"] == "unmet"}


def unknown(document: dict[str, Any]) -> set[str]:
    return {each["condition"] for each in document["conditions"] if each["state"] == "unknown"}


def condition(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (each for each in document["conditions"] if each["condition"] == name)
    return cast(dict[str, Any], found)


Happened = Callable[[Kit], None]


def revoke(kit: Kit) -> None:
    ((key, _),) = kit.store.trust.keys(PACKAGE)
    kit.store.trust.revoke_key(PACKAGE, key, subject="user:local")


def steps(*each: Happened) -> Happened:
    """One after the other."""

    def all_of_them(kit: Kit) -> None:
        for step in each:
            step(kit)

    return all_of_them


def without_interpreter(kit: Kit) -> None:
    """The program that this process was started by is not there any more."""
    kit.patch.setattr(sys, "_base_executable", f"{kit.path}/no-python")


def misname_preset(kit: Kit) -> None:
    """The stored profile has its preset by another name, behind the program's back."""
    kit.run(
        """UPDATE revision SET profile = replace(profile, '"presets":{"assistant"', '"presets":{"other"')"""
    )
    kit.store.profiles.forget()


def outgrow_page(kit: Kit) -> None:
    """The stored record of `say` has a description that no publication would let through."""
    kit.run(
        "UPDATE command SET record = json_set(record, '$.description', hex(zeroblob(600000)))"
        f" WHERE identity = '{PACKAGE}/say'"
    )
