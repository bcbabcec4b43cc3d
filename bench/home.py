"""The home that is measured: one extension of 32 commands, installed as an owner installs it, and one endpoint.

Everything is built by the program itself, from `keygen` to `task issue`; nothing is written into the home by hand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PACKAGE = "bench.suite"
ENDPOINT = "bench"
COMMANDS = 32  # one full page of a list
# The console script stands beside the interpreter that runs the bench.
RUKH = os.path.join(os.path.dirname(sys.executable), "rukh")

PROGRAM = """\
import rukh_sdk


def answer(inputs, context):
    return {"number": len(inputs["tags"]), "title": inputs["title"]}


""" + "".join(
    f'c{n:02d} = rukh_sdk.command("c{n:02d}")(lambda i, c: answer(i, c))\n' for n in range(COMMANDS)
)

PROFILE = f"""\
format = "rukh.profile/1"

[presets.bench]
deadline = "60s"
budget = {{ calls = 1000000 }}
approval = "none"
enforcement = "host-trusted/1"

[endpoints.{ENDPOINT}]
transport = "stdio"
namespace = "bench.desk"
preset = "bench"
actor = "agent:bench"
commands = []
packages = ["{PACKAGE}"]

[[rules]]
action = "run"
actors = ["user:local", "agent:bench"]
commands = ["{PACKAGE}/*"]
decision = "allow"

[[rules]]
action = "install"
actors = ["user:local"]
packages = ["{PACKAGE}"]
decision = "allow"
"""


def descriptor() -> dict[str, Any]:
    """32 commands of the size that a note-taking command has."""
    return {
        "format": "rukh.extension/2",
        "package": PACKAGE,
        "version": "1.0.0",
        "title": "Bench",
        "summary": "Commands to measure with",
        "runtime": {"kind": "python", "requires": ">=3.11"},
        "commands": [_command(f"c{number:02d}") for number in range(COMMANDS)],
    }


def _command(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "path": ["bench", name],
        "summary": f"Add a note, variant {name}",
        "description": "Takes a title, tags and a priority, and answers with the number of the tags and the title.",
        "parameters": [
            {
                "id": "title",
                "form": "positional",
                "required": True,
                "summary": "Title of the note",
                "type": {"kind": "string", "minLength": 1, "maxLength": 200},
            },
            {
                "id": "tags",
                "form": "option",
                "names": ["--tag", "-t"],
                "summary": "Tag; repeat for more",
                "type": {"kind": "list", "items": {"kind": "string"}, "maxItems": 16},
                "default": [],
            },
            {
                "id": "priority",
                "form": "option",
                "names": ["--priority"],
                "type": {"kind": "integer", "minimum": 0, "maximum": 9},
                "default": 3,
            },
        ],
        "execute": {
            "mapping": {"kind": "managed", "entry": f"bench_suite:{name}"},
            "lifetime": "foreground",
            "stdin": "none",
            "result": {
                "kind": "structured",
                "schema": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["number"],
                    "properties": {
                        "number": {"type": "integer", "minimum": 0},
                        "title": {"type": "string", "maxLength": 200},
                    },
                },
            },
            "requires": {"operations": [], "environment": [], "confinement": "host-trusted/1"},
        },
        "machine": {"eligible": True, "interaction": "none", "requiredFeatures": ["command-result/1"]},
    }


class BenchHome:
    """The built home and how the program is run on it."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.env = {
            "RUKH_HOME": os.fspath(self.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
        }
        self._build(base)

    def rukh(self, *words: str) -> bytes:
        """Run the program; its standard output. Raises `SystemExit` with its complaint when it refuses."""
        result = subprocess.run([RUKH, *words], env=self.env, capture_output=True, check=False)
        if result.returncode:
            raise SystemExit(
                f"rukh {' '.join(words)}: {result.returncode}\n{result.stderr.decode(errors='replace')}"
            )
        return result.stdout

    def _build(self, base: Path) -> None:
        for folder in ("extension", "keys", "releases"):
            (base / folder).mkdir()
        (base / "extension" / "rukh-extension.json").write_text(json.dumps(descriptor()), encoding="utf-8")
        (base / "extension" / "bench_suite.py").write_text(PROGRAM, encoding="utf-8")
        (base / "profile.toml").write_text(PROFILE, encoding="utf-8")
        artifact = os.fspath(base / "releases" / f"{PACKAGE}-1.0.0.tar.gz")
        keys, releases = os.fspath(base / "keys"), os.fspath(base / "releases")
        self.rukh("keygen", "--out", keys)
        self.rukh("pack", os.fspath(base / "extension"), "--out", artifact)
        self.rukh("sign", artifact, "--key", f"{keys}/publisher.key")
        self.rukh("catalog", releases)
        self.rukh("trust", "add", PACKAGE, "--key", f"{keys}/publisher.pub")
        self.rukh("source", "add", "local", releases)
        self.rukh("install", PACKAGE)
        self.rukh("profile", "apply", os.fspath(base / "profile.toml"))
        self.rukh("task", "issue", "--endpoint", ENDPOINT)
