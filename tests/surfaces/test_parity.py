"""Terminal and MCP are presentations of one command: the child is handed the same bytes by both.

The domain: every value of every parameter type that the strict reader and the validator admit. What words cannot say —
an empty list, NUL — is refused by `argv_for` and not drawn here; `--inputs` says all of it, and is compared for every
example as well.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rukh.cli.saying import argv_for
from rukh.values.canonical import canonical_bytes
from tests.support import echo
from tests.support.homes import InstalledHome
from tests.support.rawmcp import RawClient
from tests.support.releases import descriptor, write_extension

RECORD = {"parameters": [{"required": False, "names": [], **item} for item in echo.say_parameters()]}
# Characters that surfaces are known to stumble over: combining, astral, line separators, quotes, shells, options, JSON.
AWKWARD = st.sampled_from(
    [
        "",
        "-4",
        "--json",
        "--",
        "-",
        "-o",
        "--first=1",
        '{"a":1}',
        "null",
        "true",
        "a,b",
        "a b",
        "$(id)",
        "é",
        "e\u0301",
        "\U0001f389",
        "\u2028",
        "\u2029",
        "\u0085",
        "\ufeff",
        "\x1b[31m",
        "\n",
        "\\u0000",
        "'\"`",
    ]
)
TEXT = AWKWARD | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
INTEGER = st.integers(-(2**53) + 1, 2**53 - 1)
NUMBER = INTEGER | st.floats(allow_nan=False, allow_infinity=False)
DECIMAL = st.decimals(allow_nan=False, allow_infinity=False, places=4).map(lambda value: f"{value:f}")
CHOICE = st.sampled_from(echo.SCALARS["choice"]["values"])
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXT,
    "integer": INTEGER,
    "number": NUMBER,
    "decimal": DECIMAL.filter(lambda text: len(text.strip("-0.").replace(".", "")) <= 34),
    "choice": CHOICE,
}
# An example is two processes and a call: two fifths of what the profile asks of pure code.
SHARE = settings().max_examples * 2 // 5
INPUTS = st.fixed_dictionaries(
    {},
    optional={
        "first": TEXT,
        **SCALARS,
        **{f"{name}_list": st.lists(kind, min_size=1, max_size=4) for name, kind in SCALARS.items()},
        "on": st.booleans(),
        "off": st.booleans(),
        "level": st.integers(0, 9),
    },
)


def from_words(home: InstalledHome, words: list[str]) -> dict[str, Any]:
    # The option of the core stands in front, since words behind `--` are positional.
    done = home.run("echo", "say", "--envelope", *words)
    assert (done.returncode, done.stderr) == (0, b"")
    envelope: dict[str, Any] = json.loads(done.stdout)
    return envelope


def given_to_child(envelope: dict[str, Any]) -> str:
    text: str = envelope["commandResult"]["data"]["given"]
    return text


@pytest.mark.requirement("RK-PAR-001", "RK-PAR-002")
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=SHARE
)
@given(inputs=INPUTS)
def test_words_a_document_and_an_agent_hand_the_child_the_same_bytes(
    home: InstalledHome, server: RawClient, inputs: dict[str, Any]
) -> None:
    terminal = from_words(home, argv_for(RECORD, inputs))
    document = json.loads(
        home.run("run", "acme.echo/say", "--inputs", "-", "--envelope", stdin=canonical_bytes(inputs)).stdout
    )
    agent = server.call("acme-echo-say", json.loads(canonical_bytes(inputs)))
    assert terminal["outcome"] == document["outcome"] == agent["outcome"] == "succeeded"
    assert given_to_child(terminal) == given_to_child(document) == given_to_child(agent)
    assert (
        {**terminal, "invocationId": ""} == {**agent, "invocationId": ""} == {**document, "invocationId": ""}
    )
    assert json.loads(given_to_child(agent))["supplied"] == sorted(inputs)


REJECTED: list[tuple[str, list[str], dict[str, Any], str, str]] = [
    ("out of bounds", ["--level", "10"], {"level": 10}, "RKI", "/level"),
    ("no such choice", ["--choice", "green"], {"choice": "green"}, "RKI", "/choice"),
    ("no decimal", ["--decimal", "1e3"], {"decimal": "1e3"}, "RKI", "/decimal"),
    (
        "item of a list",
        ["--choice-list", "red", "--choice-list", "x"],
        {"choice_list": ["red", "x"]},
        "RKI",
        "/choice_list/1",
    ),
    ("too many items", ["--integer-list", "1"] * 9, {"integer_list": [1] * 9}, "RKI", "/integer_list"),
]


@pytest.mark.requirement("RK-PAR-003")
@pytest.mark.parametrize(
    ("words", "arguments", "rule", "place"), [row[1:] for row in REJECTED], ids=[row[0] for row in REJECTED]
)
def test_both_surfaces_are_refused_by_the_same_rule_at_the_same_place(
    home: InstalledHome, server: RawClient, words: list[str], arguments: dict[str, Any], rule: str, place: str
) -> None:
    done = home.run("echo", "say", *words, "--envelope")
    terminal, agent = json.loads(done.stderr), server.call("acme-echo-say", arguments)
    assert done.returncode == 64
    assert {**terminal, "invocationId": ""} == {**agent, "invocationId": ""}
    assert agent["outcome"] == "rejected"
    assert agent["reason"]["code"] == "invalid_input"
    assert agent["reason"]["place"] == place
    assert f"[{rule}" in agent["reason"]["message"]


@pytest.mark.requirement("RK-PAR-004")
def test_identity_and_revision_of_both_surfaces_are_the_same(home: InstalledHome, server: RawClient) -> None:
    from rukh.store.home import open_home
    from rukh.store.store import Store

    terminal, agent = from_words(home, []), server.call("acme-echo-say", {})
    store = Store(open_home(home.path, create=False))
    rows = store.database.rows(
        "SELECT identity, revision, tree, surface, actor, subject FROM invocation WHERE id IN (?, ?) ORDER BY surface",
        (terminal["invocationId"], agent["invocationId"]),
    )
    store.close()
    assert rows[0][:3] == rows[1][:3]
    assert [row[3:] for row in rows] == [
        ("cli", "user:local", "user:local"),
        ("mcp", "agent:desk", "user:local"),
    ]


@pytest.mark.requirement("RK-ADM-008")
def test_the_owner_is_shown_exactly_the_tools_that_the_endpoint_lists(
    home: InstalledHome, server: RawClient
) -> None:
    shown = json.loads(home.run("mcp", "tools", "--endpoint", "desk", "--json").stdout)
    assert shown["tools"] == server.request("tools/list")["result"]["tools"]


# A child that answers with the very frame it was sent, so that nothing between the host and it can tidy up.
RAW_CHILD = f"""#!{sys.executable} -IS
import json, os, socket
channel = socket.socket(fileno=3).makefile("rwb")
hello = json.loads(channel.readline())
token = os.read(4, 4096).decode()
frame = {{"type": "confirm", "session": hello["session"], "token": token, "sdk": "raw/1"}}
channel.write(json.dumps(frame).encode() + b"\\n"); channel.flush()
execute = channel.readline().decode()
result = {{"kind": "text", "text": execute}}
channel.write(json.dumps({{"type": "completion", "status": "succeeded", "commandResult": result}}).encode() + b"\\n")
channel.flush()
"""


@pytest.mark.requirement("RK-PAR-001", "RK-PAR-002")
def test_the_frame_that_reaches_a_child_is_the_same_from_every_surface(tmp_path: Path) -> None:
    command = echo.commands()[0]
    command["execute"] = {"mapping": {"kind": "managed", "entry": ["bin/raw"]}, "result": {"kind": "text"}}
    source = tmp_path / "source"
    files = {"bin/raw": RAW_CHILD}
    document = descriptor("acme.echo", commands=[command], runtime={"kind": "native"})
    write_extension(source, document, files)
    (source / "acme_echo.py").unlink()
    home = InstalledHome(tmp_path)
    home.install_tree(source)
    home.expose()
    inputs = {"level": 4, "first": "é\u2028", "number": 1e16, "string_list": ["b", "a"], "off": True}
    words = from_words(home, argv_for(RECORD, inputs))
    stdin = canonical_bytes(inputs)
    document_form = json.loads(
        home.run("run", "acme.echo/say", "--inputs", "-", "--envelope", stdin=stdin).stdout
    )
    with RawClient(home) as client:
        agent = client.call("acme-echo-say", inputs)
    frames = [envelope["commandResult"]["text"] for envelope in (words, document_form, agent)]
    assert frames[0] == frames[1] == frames[2]
    frame = json.loads(frames[0])
    assert (frame["type"], frame["command"]) == ("execute", "say")
    assert frame["supplied"] == ["first", "number", "string_list", "off", "level"]
