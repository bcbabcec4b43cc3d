"""An extension of format 1, packed, installed and called; what no agent gets of it, and what a later release gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rukh.contract.profile import read_owner_profile
from rukh.host.ledger import StoreLedger, apply_owner_part
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError
from tests.support.homes import OWNER_FILE, InstalledHome
from tests.support.rawmcp import RawClient

PACKAGE = "acme.echo"
MODULE = '''"""Prints what it is given, as extensions did that were written for the terminal alone."""
import rukh_sdk


@rukh_sdk.command("say", result=None)
def say(inputs, context):
    print(inputs["words"], inputs["style"])


@rukh_sdk.command("fail", result=None)
def fail(inputs, context):
    raise rukh_sdk.Failed("no", exit_code=3)
'''
WORDS = {"id": "words", "form": "positional", "required": True, "type": {"kind": "string"}}
# An option of format 1 that was there before the core's.
STYLE = {
    "id": "style",
    "form": "option",
    "names": ["--json", "--style"],
    "type": {"kind": "string"},
    "default": "plain",
}


def command(identity: str, *parameters: dict[str, Any], **members: Any) -> dict[str, Any]:
    execute = {"mapping": {"kind": "managed", "entry": f"acme_echo:{identity}"}}
    return {
        "id": identity,
        "path": ["echo", identity],
        "summary": f"Does {identity}",
        "parameters": list(parameters),
        "execute": execute,
        **members,
    }


def program() -> dict[str, Any]:
    """What a descriptor of format 1 says of the module."""
    return {"format": "rukh.extension/1", "commands": [command("say", WORDS, STYLE), command("fail")]}


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    """A home with an extension of format 1 that is exposed whole at the endpoint `desk`."""
    home = InstalledHome(tmp_path_factory.mktemp("old"), PACKAGE)
    home.install({"acme_echo.py": MODULE}, **program())
    home.expose()
    return home


@pytest.mark.requirement("RK-DESC-034")
def test_it_is_called_from_the_terminal(old: InstalledHome) -> None:
    done = old.run("echo", "say", "hi")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"hi plain\n", b"")
    done = old.run("run", f"{PACKAGE}/say", "hi")
    assert (done.returncode, done.stdout) == (0, b"hi plain\n")


@pytest.mark.requirement("RK-DESC-034")
def test_its_outcome_has_no_result(old: InstalledHome) -> None:
    done = old.run("echo", "say", "hi", "--envelope")
    envelope = json.loads(done.stdout)
    assert (done.returncode, envelope["outcome"], sorted(envelope)) == (
        0,
        "succeeded",
        ["invocationId", "outcome"],
    )
    assert done.stderr == b"hi plain\n"
    done = old.run("echo", "fail", "--envelope")
    envelope = json.loads(done.stderr.splitlines()[-1])
    assert (done.returncode, envelope["outcome"], envelope["reason"]["code"]) == (
        3,
        "command_failed",
        "command",
    )


@pytest.mark.requirement("RK-DESC-035")
def test_the_names_of_the_core_are_the_cores(old: InstalledHome) -> None:
    done = old.run("echo", "say", "hi", "--style", "loud")
    assert (done.returncode, done.stdout) == (0, b"hi loud\n")
    done = old.run("echo", "say", "hi", "--json")
    assert (done.returncode, b"RKL014" in done.stderr) == (64, True)
    shown = old.run("echo", "say", "--help").stdout
    assert (b"--style TEXT" in shown, b"--json" in shown) == (True, False)
    done = old.run("run", f"{PACKAGE}/say", "--inputs", "-", stdin=b'{"words": "hi", "style": "by id"}')
    assert (done.returncode, done.stdout) == (0, b"hi by id\n")


@pytest.mark.requirement("RK-DESC-035")
def test_the_checker_warns_and_exits_as_without_errors(old: InstalledHome, tmp_path: Path) -> None:
    from tests.support.releases import descriptor, write_extension

    source = write_extension(tmp_path / "x", descriptor(PACKAGE, **program()), {"acme_echo.py": MODULE})
    done = old.run("check", str(source), "--json")
    (finding,) = [
        one for one in json.loads(done.stdout)["files"][0]["diagnostics"] if one["rule"].startswith("RKD")
    ]
    assert (done.returncode, finding["rule"], finding["severity"]) == (0, "RKD039", "warning")
    assert old.run("check", str(source), "--strict").returncode == 1


@pytest.mark.requirement("RK-DESC-036")
def test_no_agent_sees_it(old: InstalledHome) -> None:
    with RawClient(old) as client:
        assert client.names() == {}
    done = old.run("mcp", "tools", "--explain", f"{PACKAGE}/say", "--endpoint", "desk")
    assert b"rukh.extension/2" in done.stdout


def apply(home: InstalledHome, text: str) -> None:
    store = Store(open_home(home.path, create=False))
    try:
        apply_owner_part(StoreLedger(store), store.home, read_owner_profile(text))
    finally:
        store.close()


@pytest.mark.requirement("RK-DESC-036")
def test_an_endpoint_that_names_it_is_refused(old: InstalledHome) -> None:
    text = OWNER_FILE.format(package=PACKAGE, calls=9, allowed="*", more="")
    with pytest.raises(RukhError) as caught:
        apply(old, text.replace("packages = [", f'commands = ["{PACKAGE}/say"]\npackages = [', 1))
    assert (caught.value.rule, "rukh.extension/2" in caught.value.mend) == ("RKP011", True)
    apply(old, text)


@pytest.mark.requirement("RK-DESC-036", "RK-DESC-037")
def test_a_release_of_format_2_gives_the_machine_contract(tmp_path: Path) -> None:
    home = InstalledHome(tmp_path, PACKAGE)
    home.install({"acme_echo.py": MODULE}, **program())
    home.expose()
    named = dict(STYLE, names=["--style"])
    say = command("say", WORDS, named)
    say["execute"] |= {"result": {"kind": "text"}}
    say["machine"] = {"eligible": True, "requiredFeatures": ["command-result/1"]}
    module = MODULE.replace('"say", result=None', '"say", result="text"').replace(
        "print(", 'return  " ".join(('
    )
    module = module.replace('inputs["style"])', 'inputs["style"]))')
    home.install({"acme_echo.py": module}, version="2.0.0", commands=[say])
    home.expose()
    assert home.run("echo", "say", "hi", "--json").stdout == b'"hi plain"\n'
    with RawClient(home) as client:
        envelope = client.call("acme-echo-say", {"words": "hi", "style": "loud"})
    assert envelope["commandResult"] == {"kind": "text", "text": "hi loud"}
