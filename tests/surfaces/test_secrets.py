"""What an agent must not learn from a host, and what it cannot tell a host: planted secrets and claimed identities."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support import echo
from tests.support.homes import OWNER_FILE, PATIENCE, PROGRAM, InstalledHome
from tests.support.mcp_messages import sent
from tests.support.rawmcp import META, RawClient
from tests.support.stubs import apply, rows

VALUE = "hunter2-of-the-owner"
PLACE = "ledgers-of-the-owner"
ANOTHER = """
[resources.ledgers]
kind = "directory"
path = "~/{place}"
access = "read-write"

[environment."acme.echo"]
ECHO_TOKEN = "{value}"

[presets.nightly]
deadline = "31s"
budget = {{ calls = 4217 }}

[endpoints.vault]
transport = "stdio"
namespace = "acme.hidden"
preset = "nightly"
actor = "agent:warden"
commands = ["acme.echo/fail"]
"""


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    """`say` is shown at `desk` and allowed, `speak` shown and denied, `fail` shown at another endpoint alone."""
    home = InstalledHome(tmp_path_factory.mktemp("planted"))
    commands = echo.commands()
    commands[0]["execute"]["requires"] = {"environment": ["ECHO_TOKEN"]}
    loud = 'import os, sys\nprint(os.environ.get("ECHO_TOKEN"))\nprint(os.environ.get("ECHO_TOKEN"), file=sys.stderr)\n'
    home.install({"acme_echo.py": loud + echo.MODULE}, commands=commands)
    more = ANOTHER.format(place=PLACE, value=VALUE)
    text = OWNER_FILE.format(package="acme.echo", calls=1_000_000, allowed="acme.echo/say", more=more)
    apply(home, text.replace('packages = ["acme.echo"]', 'commands = ["acme.echo/say", "acme.echo/speak"]'))
    assert home.run("task", "issue", "--endpoint", "desk").returncode == 0
    return home


def secrets(home: InstalledHome) -> dict[str, str]:
    """Everything that no byte for an agent may hold, by what it is."""
    ((task,),) = rows(home, "SELECT id FROM task WHERE state = 'active'")
    key = "".join(home.publisher.pem.split("\n")[1:-2])
    ((tree, artifact),) = rows(home, "SELECT tree, artifact FROM release")
    ((cursor_key,),) = rows(home, "SELECT value FROM meta WHERE name = 'secret.cursor'") or [(b"\xff\xfe",)]
    return {
        "a value of the environment": VALUE,
        "the place of a resource": PLACE,
        "the path of the home": home.path,
        "another endpoint": "vault",
        "its namespace": "acme.hidden",
        "its actor": "agent:warden",
        "its preset": "nightly",
        "its budget": "4217",
        "a command that is shown there alone": "echo-fail",
        "the same by its identity": "acme.echo/fail",
        "the publisher's key": key,
        "the id of the key": home.publisher.key_id,
        "the digest of the release": tree,
        "the digest of the artifact": artifact,
        "the task": task,
        "the key of the cursors": bytes(cursor_key).hex(),
        "a variable of the host": "planted-in-the-host",
        "the name of the user": "user:local",
    }


def line(method: str, number: int = 1, meta: dict[str, Any] = META, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {"_meta": meta, **params}}
    return json.dumps(message).encode()


def everything_said(home: InstalledHome, lines: list[bytes]) -> tuple[bytes, bytes]:
    """Standard output and error of a host that was sent these lines."""
    done = subprocess.run(
        [PROGRAM, "mcp", "serve", "--endpoint", "desk"],
        input=b"".join(each + b"\n" for each in lines),
        capture_output=True,
        env={**home.environment(), "ECHO_TOKEN": "planted-in-the-host", "RUKH_SECRET": "planted-in-the-host"},
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0
    return done.stdout, done.stderr


@pytest.mark.requirement("RK-EXPL-030", "RK-MCP-021")
def test_no_byte_for_an_agent_holds_a_secret_of_the_profile(planted: InstalledHome) -> None:
    with RawClient(planted) as client:
        names = client.names()
    assert set(names) == {"acme-echo-say", "acme-echo-speak"}
    say, speak = names["acme-echo-say"], names["acme-echo-speak"]
    old = {**META, "io.modelcontextprotocol/protocolVersion": "2024-11-05"}
    asked = [
        line("server/discover", 1),
        line("tools/list", 2),
        line("tools/list", 3, cursor="AAAA"),
        line("tools/call", 4, name="acme-echo-fail__" + "0" * 64),
        line("tools/call", 5, name=say, arguments={"level": 99}),
        line("tools/call", 6, name=say, arguments={"vault": 1}),
        line("tools/call", 7, name=speak, arguments={"words": "x"}),
        line("tools/call", 8, name=say, arguments={}),
        line("resources/list", 9),
        line("server/discover", 10, old),
        line("initialize", 11),
        b"{",
        b"[]",
        b"\xff",
    ]
    out, err = everything_said(planted, asked)
    answers = [sent(each + b"\n") for each in out.splitlines()]
    assert sorted(each["id"] for each in answers if "id" in each) == list(range(1, 12))
    assert len(answers) == len(asked)
    kinds = {each["id"]: "result" in each for each in answers if "id" in each}
    assert [number for number, good in sorted(kinds.items()) if good] == [1, 2, 5, 6, 7, 8]
    for what, secret in secrets(planted).items():
        if what == "another endpoint":  # the client's own word stands in the answer to it, and in no other
            echoed = [each for each in out.splitlines() if b"vault" in each]
            assert [json.loads(each)["id"] for each in echoed] == [6]
        else:
            assert secret.encode() not in out, what
        assert secret.encode() not in err, what
    assert b"planted" not in out + err


@pytest.mark.requirement("RK-EXPL-030", "RK-RES-013")
def test_what_a_child_says_of_its_secret_reaches_the_owner_alone(planted: InstalledHome) -> None:
    with RawClient(planted) as client:
        envelope = client.call("acme-echo-say", {})
    assert envelope["outcome"] == "succeeded"
    assert VALUE not in json.dumps(envelope)
    kept = rows(planted, "SELECT stdout, stderr FROM invocation WHERE id = ?", envelope["invocationId"])
    assert kept == [(VALUE.encode() + b"\n", VALUE.encode() + b"\n")]


@pytest.mark.requirement("RK-EXPL-030")
def test_a_release_that_is_gone_is_said_without_its_place(tmp_path: Path) -> None:
    home = echo.exposed_home(tmp_path)
    ((tree,),) = rows(home, "SELECT tree FROM release")
    with RawClient(home) as client:
        names = client.names()
        assert client.call("acme-echo-speak", {"words": "x"})["outcome"] == "succeeded"
        os.rename(os.path.join(home.path, "releases", tree), tmp_path / "aside")
        answer = client.request("tools/call", name=names["acme-echo-speak"], arguments={"words": "x"})
    envelope = answer["result"]["structuredContent"]
    assert (envelope["outcome"], envelope["reason"]["code"]) == ("rejected", "environment_unavailable")
    assert home.path not in json.dumps(answer)
    assert tree not in json.dumps(answer)


# Who calls.

TELLING = """
import json, os, sys

token = b""
while data := os.read(4, 4096):
    token += data
lines = os.fdopen(os.dup(3), "rb")
hello = json.loads(lines.readline())
confirm = {"type": "confirm", "session": hello["session"], "token": token.decode(), "sdk": "telling/1"}
os.write(3, json.dumps(confirm).encode() + b"\\n")
frame = lines.readline().decode()
given = {"frame": frame, "argv": sys.argv[1:], "names": sorted(os.environ), "hello": sorted(hello)}
result = {"kind": "text", "text": json.dumps(given)}
os.write(3, json.dumps({"type": "completion", "status": "succeeded", "commandResult": result}).encode() + b"\\n")
"""


@pytest.fixture(scope="module")
def telling(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    """A command without our SDK that answers with everything that it was given."""
    from tests.support.frames import PYTHON

    home = InstalledHome(tmp_path_factory.mktemp("telling"), "acme.telling")
    command = {
        "id": "tell",
        "path": ["telling", "tell"],
        "summary": "Tells what it was given",
        "parameters": [{"id": "words", "form": "positional", "type": {"kind": "string"}}],
        "execute": {"mapping": {"kind": "managed", "entry": ["bin/tell"]}, "result": {"kind": "text"}},
        "machine": {"eligible": True, "requiredFeatures": ["command-result/1"]},
    }
    home.install({"bin/tell": f"#!{PYTHON} -IS\n{TELLING}"}, runtime={"kind": "native"}, commands=[command])
    home.expose()
    return home


IDENTITY = "io.modelcontextprotocol/clientInfo"
CLAIMS: dict[str, dict[str, Any]] = {
    "a client by the owner's name": {IDENTITY: {"name": "user:local", "version": "1", "title": "agent:root"}},
    "members of the core": {
        "actor": "user:local", "subject": "user:root", "task": "task_" + "a" * 26, "invocationId": "inv_" + "a" * 26,
        "endpoint": "other", "approved": True,
    },
    "names of the protocol": {
        "io.modelcontextprotocol/authorization": "Bearer x", "io.modelcontextprotocol/user": "user:root",
        "progressToken": "user:root", "io.modelcontextprotocol/logLevel": "debug",
    },
    "names of ours": {"rukh/actor": "user:local", "rukh/task": "task_" + "a" * 26, "rukh/deadline": 1},
}  # fmt: skip
RECORDED = (
    "SELECT surface, subject, actor, task, revision, identity, tree, outcome FROM invocation WHERE id = ?"
)


def told(
    home: InstalledHome, client: RawClient, meta: dict[str, Any]
) -> tuple[dict[str, Any], list[tuple[Any, ...]]]:
    """What the child was given, and what was recorded."""
    name = client.names()["acme-telling-tell"]
    response = client.request("tools/call", name=name, arguments={"words": "x"}, _meta={**META, **meta})
    envelope = response["result"]["structuredContent"]
    assert envelope["outcome"] == "succeeded"
    return json.loads(envelope["commandResult"]["text"]), rows(home, RECORDED, envelope["invocationId"])


@pytest.mark.requirement("RK-EXPL-031", "RK-ADMIT-003", "RK-MCP-021")
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claimed_identity_changes_neither_the_frame_nor_the_record(
    telling: InstalledHome, claim: str
) -> None:
    with RawClient(telling) as client:
        plain, claimed = told(telling, client, {}), told(telling, client, CLAIMS[claim])
    assert claimed == plain
    assert json.loads(plain[0]["frame"]) == {
        "type": "execute", "command": "tell", "inputs": {"words": "x"}, "supplied": ["words"],
    }  # fmt: skip
    assert [row[:3] for row in plain[1]] == [("mcp", "user:local", "agent:desk")]


@pytest.mark.requirement("RK-EXPL-031", "RK-ADMIT-003")
@pytest.mark.parametrize("claim", ["actor", "subject", "task", "invocationId", "_meta", "endpoint"])
def test_an_argument_that_claims_an_identity_is_no_parameter(telling: InstalledHome, claim: str) -> None:
    with RawClient(telling) as client:
        refused = client.call("acme-telling-tell", {"words": "x", claim: "user:local"})
        admitted = client.call("acme-telling-tell", {"words": "user:local"})
    assert (refused["outcome"], refused["reason"]["code"]) == ("rejected", "invalid_input")
    assert (refused["reason"]["place"], admitted["outcome"]) == (f"/{claim}", "succeeded")
    assert [row[:3] for row in rows(telling, RECORDED, refused["invocationId"])] == [
        ("mcp", "user:local", "agent:desk")
    ]


@pytest.mark.requirement("RK-EXPL-031", "RK-TASK-005")
def test_variables_of_the_host_are_no_identity_either(
    telling: InstalledHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RawClient(telling) as client:
        plain = told(telling, client, {})
    for name in ("RUKH_ACTOR", "RUKH_TASK", "RUKH_SUBJECT", "USER", "LOGNAME", "SUDO_USER"):
        monkeypatch.setenv(name, "root")
    with RawClient(telling) as client:
        assert told(telling, client, {}) == plain
    assert not {name for name in plain[0]["names"] if name.startswith("RUKH")}


@pytest.mark.requirement("RK-EXPL-031", "RK-MCP-021")
def test_the_list_is_the_same_for_whoever_asks(telling: InstalledHome) -> None:
    with RawClient(telling) as client:
        plain = client.request("tools/list")["result"]
        for claim in CLAIMS.values():
            assert client.request("tools/list", _meta={**META, **claim})["result"] == plain
