"""What holds for a command in whatever language: its environment, where its modules come from, its bytes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.languages import node_script, shell_script
from tests.support.rawmcp import RawClient
from tests.support.releases import descriptor

LANGUAGES = ("python", "node", "sh")
# Variables that would steer an interpreter, a loader or a shell, and a secret.
PLANTED = {
    "NODE_OPTIONS": "--import=/nowhere/evil.mjs",
    "NODE_PATH": "/nowhere",
    "NODE_EXTRA_CA_CERTS": "/nowhere/ca.pem",
    "PYTHONPATH": "/nowhere",
    "PYTHONSTARTUP": "/nowhere/evil.py",
    "PYTHONINSPECT": "1",
    "LD_LIBRARY_PATH": "/nowhere",
    "ENV": "/nowhere/evil.sh",
    "BASH_ENV": "/nowhere/evil.sh",
    "IFS": "x",
    "ACME_TOKEN": "s3cret-of-the-owner",
    "DECLARED": "of the host, not of the owner",
}
GIVEN = {"DECLARED": "of the owner"}

PYTHON = """
import json, os, sys
import rukh_sdk

@rukh_sdk.command("probe")
def probe(inputs, context):
    os.write(1, b"out \\xff\\xfe\\n")
    os.write(2, b"err \\xff\\xfe\\n")
    seen = {"environment": dict(os.environ), "there": os.listdir(), "json": json.__file__}
    return {"seen": json.dumps(seen)}
"""
NODE = """
import { readdirSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { serve } from "./rukh_sdk.mjs";
await serve({ probe() {
  writeSync(1, Buffer.from([0x6f, 0x75, 0x74, 0x20, 0xff, 0xfe, 0x0a]));
  writeSync(2, Buffer.from([0x65, 0x72, 0x72, 0x20, 0xff, 0xfe, 0x0a]));
  const found = (name) => { try { return createRequire(import.meta.url)(name); } catch { return "none"; } };
  const seen = { environment: process.env, there: readdirSync(".") };
  Object.assign(seen, { planted: found("planted"), cwd: found("./planted") });
  return { seen: JSON.stringify(seen) };
} });
"""
SHELL = r"""
printf 'out \377\376\n'
printf 'err \377\376\n' >&2
names=$(env | sed -n 's/=.*//p' | tr '\n' ' ')
rukh_result seen:string="$names| $(ls -A | tr '\n' ' ')| $(env | grep -c s3cret)"
"""


def source_of(place: Path, language: str) -> tuple[Path, dict[str, Any]]:
    """The files of the extension; its runtime, and the entry of its command."""
    release = place / "release"
    if language == "node":
        node_script(place, NODE)
        return release, {"runtime": {"kind": "node"}, "entry": ["main.mjs"]}
    if language == "sh":
        shell_script(place, SHELL)
        return release, {"runtime": {"kind": "native"}, "entry": ["lib/rukh-sh", "bin/add"]}
    release.mkdir()
    (release / "acme_probe.py").write_text(PYTHON)
    return release, {"runtime": {"kind": "python"}, "entry": "acme_probe:probe"}


@pytest.fixture(scope="module", params=LANGUAGES)
def probe(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[InstalledHome]:
    """A home with the command `probe it` in one language."""
    place = tmp_path_factory.mktemp(request.param)
    release, more = source_of(place, request.param)
    schema = {"type": "object", "additionalProperties": False, "properties": {"seen": {"type": "string"}}}
    command = {
        "id": "probe",
        "path": ["probe", "it"],
        "summary": "Look around",
        "parameters": [],
        "execute": {
            "mapping": {"kind": "managed", "entry": more["entry"]},
            "result": {"kind": "structured", "schema": schema},
            "requires": {"environment": ["DECLARED"]},
        },
        "machine": {"eligible": True, "interaction": "none", "requiredFeatures": ["command-result/1"]},
    }
    document = descriptor("acme.probe", runtime=more["runtime"], commands=[command])
    (release / "rukh-extension.json").write_text(json.dumps(document))
    home = InstalledHome(place, "acme.probe")
    home.install_tree(release)
    home.expose(more='[environment."acme.probe"]\nDECLARED = "of the owner"')
    home.language = request.param  # type: ignore[attr-defined]
    yield home


def looked(home: InstalledHome, directory: Path) -> dict[str, Any]:
    """What the command saw, called from `directory` with the planted variables."""
    done = subprocess.run(
        [PROGRAM, "probe", "it", "--json"],
        capture_output=True,
        cwd=directory,
        env={**home.environment(), **PLANTED},
        timeout=PATIENCE,
        check=False,
    )
    assert (0, b"") == (done.returncode, b"" if done.returncode == 0 else done.stderr)
    seen = json.loads(done.stdout)["seen"]
    if home.language != "sh":  # type: ignore[attr-defined]
        return dict(json.loads(seen))
    names, there, secrets = (part.split() for part in seen.split("|"))
    return {"environment": dict.fromkeys(names, ""), "there": there, "secrets": secrets}


OWN = {"PATH", "LANG", "HOME", "TMPDIR", "DECLARED"}
# What a language's own program puts there for what it starts.
ADDED = {"python": set(), "node": set(), "sh": {"RUKH_SH", "PWD", "OLDPWD", "_", "SHLVL"}}


@pytest.mark.requirement("RK-AUTHOR-031", "RK-EXEC-021")
def test_no_variable_of_the_host_reaches_a_command(probe: InstalledHome, tmp_path: Path) -> None:
    language: str = probe.language  # type: ignore[attr-defined]
    seen = looked(probe, tmp_path)
    environment = seen["environment"]

    assert OWN <= set(environment) <= OWN | ADDED[language]
    if language == "sh":
        assert ["0"] == seen["secrets"]
    else:
        assert "of the owner" == environment["DECLARED"]
        assert "s3cret-of-the-owner" not in json.dumps(environment)


@pytest.mark.requirement("RK-AUTHOR-031", "RK-EXEC-021")
def test_no_variable_of_the_host_reaches_a_command_of_an_agent(
    probe: InstalledHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in PLANTED.items():
        if name not in ("PYTHONINSPECT", "PYTHONSTARTUP", "PYTHONPATH", "LD_LIBRARY_PATH"):
            monkeypatch.setenv(name, value)
    with RawClient(probe) as client:
        envelope = client.call("acme-probe-probe", {})
    seen = envelope["commandResult"]["data"]["seen"]

    assert "succeeded" == envelope["outcome"]
    for name in ("NODE_OPTIONS", "BASH_ENV", "ACME_TOKEN", "s3cret"):
        assert name not in seen
    assert b"" == client.errors


# Files that would be loaded if the caller's directory, or the command's own, stood on any path.
ACCIDENTS = {
    "json.py": "raise SystemExit('the caller\\'s json')",
    "rukh_sdk.py": "raise SystemExit('the caller\\'s sdk')",
    "acme_probe.py": "raise SystemExit('the caller\\'s module')",
    "sitecustomize.py": "raise SystemExit('the caller\\'s sitecustomize')",
    "planted.js": "module.exports = 'the caller\\'s module';",
    "package.json": '{"type": "commonjs", "main": "planted.js"}',
    "node_modules/planted/index.js": "module.exports = 'the caller\\'s package';",
    "node_modules/fs/index.js": "throw new Error('the caller\\'s fs');",
    "rukh_sdk.mjs": "throw new Error('the caller\\'s sdk');",
    "rukh.sh": "exit 9",
    "env": "#!/bin/sh\nexit 9\n",
}


@pytest.mark.requirement("RK-AUTHOR-032", "RK-EXEC-022")
def test_nothing_in_the_callers_directory_is_loaded_by_accident(probe: InstalledHome, tmp_path: Path) -> None:
    for name, text in ACCIDENTS.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    seen = looked(probe, tmp_path)

    assert seen["there"] in ([], [".rukh"])
    assert str(tmp_path) not in json.dumps(seen)
    assert ["none", "none"] == [seen.get("planted", "none"), seen.get("cwd", "none")]


@pytest.mark.requirement("RK-EXEC-032", "RK-EXEC-031")
def test_output_that_is_no_utf_8_is_handed_on_in_the_terminal_and_harms_no_agent(
    probe: InstalledHome,
) -> None:
    done = probe.run("probe", "it")
    assert (0, b"out \xff\xfe\n") == (done.returncode, done.stdout)
    assert b"err \xff\xfe\n" in done.stderr

    asked = probe.run("probe", "it", "--json")
    assert b"out \xff\xfe\n" in asked.stderr
    assert ["seen"] == list(json.loads(asked.stdout))
    with RawClient(probe) as client:
        first, second = (client.call("acme-probe-probe", {}) for _ in range(2))
    assert ["succeeded", "succeeded"] == [first["outcome"], second["outcome"]]
    assert (b"", 0) == (client.errors, client.status)
