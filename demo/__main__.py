"""Walk the whole path with the shipped extension `notes`, and print what each step shows.

Every step runs the installed `rukh` as a user would, or talks to it with the official MCP client. A step that does not
show what it should ends the walk with status 1.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from demo.agent import Agent
from demo.walk import Failed, Walk

ROOT = Path(__file__).resolve().parent.parent
NOTES = ROOT / "examples" / "notes"

OWNER_FILE = """\
format = "rukh.profile/1"

[presets.assistant]
deadline = "60s"
budget = {{ calls = 20, per = "1d" }}

[endpoints.desktop]
transport = "stdio"
namespace = "acme.desktop"
preset = "assistant"
actor = "agent:desktop"
packages = ["acme.notes"]

[[rules]]
action = "run"
actors = ["user:local"]
commands = ["*"]
decision = "allow"

[[rules]]
action = "install"
actors = ["user:local"]
packages = ["*"]
decision = "allow"

[[rules]]
action = "run"
actors = ["agent:desktop"]
commands = ["acme.notes/*"]
decision = "allow"

[environment."acme.notes"]
NOTES_DIR = "{notes}"
"""


def publish_release(walk: Walk, version: str, longest_title: int = 200) -> None:
    """Pack and sign the extension under another version number, beside the first release."""
    source = walk.place / f"notes-{version}"
    shutil.copytree(NOTES, source, ignore=shutil.ignore_patterns("__pycache__"))
    descriptor = json.loads((source / "rukh-extension.json").read_text())
    descriptor["version"] = version
    descriptor["commands"][0]["parameters"][0]["type"]["maxLength"] = longest_title
    (source / "rukh-extension.json").write_text(json.dumps(descriptor))
    artifact = str(walk.place / "releases" / f"acme.notes-{version}.tar.gz")
    walk.run("pack", str(source), "--out", artifact)
    walk.run("sign", artifact, "--key", str(walk.place / "keys" / "publisher.key"))
    walk.run("catalog", str(walk.place / "releases"))


def check(walk: Walk) -> None:
    """The checker finds nothing wrong, and names the place where something is."""
    walk.run("check", str(NOTES / "rukh-extension.json"))
    wrong = walk.place / "wrong.json"
    wrong.write_text((NOTES / "rukh-extension.json").read_text().replace('"summary"', '"sumary"', 1))
    walk.run("check", str(wrong), status=1)


def release(walk: Walk) -> None:
    """A key pair, a packed and signed release, a catalog."""
    walk.run("keygen", "--out", str(walk.place / "keys"))
    (walk.place / "releases").mkdir()
    publish_release(walk, "1.0.0")


def distrust(walk: Walk) -> None:
    """Nothing is installed that no trusted key has signed."""
    walk.run("source", "add", "demo", str(walk.place / "releases"))
    walk.run("install", "acme.notes", status=66)
    walk.run("trust", "add", "acme.notes", "--key", str(walk.place / "keys" / "publisher.pub"))
    signature = walk.place / "releases" / "acme.notes-1.0.0.tar.gz.dsse.json"
    kept = signature.read_bytes()
    signature.unlink()
    walk.run("install", "acme.notes", status=66)
    signature.write_bytes(kept)
    walk.run("list")


def install(walk: Walk) -> None:
    """The signed release is verified, staged and published; the owner says where the notes are kept."""
    walk.run("install", "acme.notes")
    owner = walk.place / "owner.toml"
    owner.write_text(OWNER_FILE.format(notes=walk.place / "kept"))
    walk.run("profile", "apply", str(owner))
    walk.run("list")


def terminal(walk: Walk) -> None:
    """The command in the terminal: typed options, a readable result, one JSON document under --json."""
    walk.run("notes", "--help")
    walk.run("notes", "add", "Milk", "--tag", "shop", "-t", "daily", "--amount", "2.50")
    walk.run("notes", "add", "Привет 🎉", "--colour", "red", "--pinned", "--json")
    walk.run("notes", "list")
    walk.run("notes", "search", "milk", "--json")
    walk.run(
        "run",
        "acme.notes/add",
        "--inputs",
        "-",
        "--json",
        stdin='{"title": "From a document", "tags": ["a,b"]}',
    )


def refusals(walk: Walk) -> None:
    """Bad input is refused by the one validator, with a rule, a place and a mend."""
    walk.run("notes", "add", "Milk", "--priority", "12", status=64)
    walk.run("notes", "add", "Milk", "--colr", "red", status=64)
    walk.run("notes", "ad", status=65)


def agent(walk: Walk) -> None:
    """The same command for an agent: a task, discovery, the list, a call; the envelope equals the terminal's."""
    walk.run("task", "issue", "--endpoint", "desktop")
    walk.run("mcp", "config", "--endpoint", "desktop")
    inputs: dict[str, object] = {"title": "Same", "tags": ["x"], "amount": "1.5"}
    terminal = json.loads(
        walk.run("run", "acme.notes/search", "--inputs", "-", "--envelope", stdin='{"text": "Milk"}')
    )
    asyncio.run(_talk(walk, inputs, terminal))


async def _talk(walk: Walk, inputs: dict[str, object], terminal: dict[str, object]) -> None:
    async with Agent(walk.command("mcp", "serve", "--endpoint", "desktop"), walk.environment) as desk:
        walk.say("server/discover", desk.server)
        names = await desk.names()
        walk.say("tools/list", "\n".join(names))
        add, search = (
            next(name for name in names if name.startswith(f"acme-notes-{word}__"))
            for word in ("add", "search")
        )
        added = await desk.call(add, inputs)
        walk.say("tools/call add", json.dumps(added, ensure_ascii=False))
        walk.expect(added["outcome"] == "succeeded", "the agent's call succeeded")
        found = await desk.call(search, {"text": "Milk"})
        same = {key: value for key, value in found.items() if key != "invocationId"}
        walk.expect(
            same == {key: value for key, value in terminal.items() if key != "invocationId"},
            "the agent's envelope equals the terminal's, but for the invocation id",
        )
        refused = await desk.call(add, {"title": "Milk", "priority": 12})
        walk.say("tools/call with a bad input", json.dumps(refused, ensure_ascii=False))
        walk.expect(refused["outcome"] == "rejected", "the agent's bad input is refused by the same rule")
        publish_release(walk, "1.1.0")
        walk.run("update", "acme.notes")
        stale = await desk.error(add, inputs)
        walk.say("tools/call with the old name", stale)
        walk.expect("-32602" in stale, "after the update the old name is refused")
        fresh = next(name for name in await desk.names() if name.startswith("acme-notes-add__"))
        again = await desk.call(fresh, inputs)
        walk.expect(again["outcome"] == "succeeded", "the new name of the new revision is served")


def consent(walk: Walk) -> None:
    """An update that changes what the owner agreed to needs a yes to exactly that change; the way back stays open."""
    publish_release(walk, "1.2.0", longest_title=500)
    refusal = json.loads(walk.run("update", "acme.notes", "--json", status=76))
    walk.run("update", "acme.notes", status=76)
    walk.run("update", "acme.notes", "--accept", refusal["error"]["difference"]["digest"])
    history = json.loads(walk.run("profile", "history", "--json"))["revisions"]
    walk.run("profile", "rollback", history[1]["revision"])
    walk.run("info", "acme.notes")


def upkeep(walk: Walk) -> None:
    """What was damaged is found and explained, and comes back from the source; nothing is left behind."""
    installed = json.loads(walk.run("info", "acme.notes", "--json"))["installed"]
    module = walk.place / "home" / "releases" / installed["tree"] / "acme_notes.py"
    module.chmod(0o644)
    module.write_text("# written over\n")
    walk.run("doctor", status=1)
    walk.run("doctor", "--fix")
    walk.run("doctor")
    walk.run("gc", "--dry-run")


STEPS: tuple[Callable[[Walk], None], ...] = (
    check,
    release,
    distrust,
    install,
    terminal,
    refusals,
    agent,
    consent,
    upkeep,
)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="rukh-demo-") as place:
        walk = Walk(Path(place), dict(os.environ))
        try:
            for number, step in enumerate(STEPS, 1):
                walk.title(f"{number}. {step.__doc__}")
                step(walk)
        except Failed as failure:
            print(f"\nThe walk stopped: {failure}", file=sys.stderr)
            return 1
    print(f"\ndemo: {len(STEPS)} steps, all as they should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
