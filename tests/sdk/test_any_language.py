"""The page from which any language can do it: its sessions byte for byte, and a child in C that was written from it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rukh.machines.channel import ChildChannel, HostChannel
from rukh.values.reader import read
from tests.support.children import called, verdict
from tests.support.homes import InstalledHome
from tests.support.languages import HELLO, ROOT, compiled, launch_of, played
from tests.support.releases import descriptor

PAGE = (ROOT / "docs" / "channel-for-any-language.md").read_text(encoding="utf-8")
SESSIONS = [text.split("\n")[:-1] for text in re.findall(r"```channel\n(.*?)```", PAGE, re.DOTALL)]
TOKENS = re.findall(r"oken(?: was)?\s`([0-9a-f]{32})`", PAGE)
SUM: dict[str, Any] = {
    "id": "sum",
    "path": ["math", "sum"],
    "summary": "Add two integers",
    "parameters": [
        {"id": "left", "form": "option", "names": ["--left"], "required": True, "type": {"kind": "integer"}},
        {
            "id": "right",
            "form": "option",
            "names": ["--right"],
            "required": True,
            "type": {"kind": "integer"},
        },
        {"id": "note", "form": "option", "names": ["--note"], "type": {"kind": "string"}},
    ],
    "execute": {
        "mapping": {"kind": "managed", "entry": ["bin/sum"]},
        "result": {
            "kind": "structured",
            "schema": {
                "type": "object",
                "additionalProperties": False,
                "required": ["sum"],
                "properties": {"note": {"type": "string"}, "sum": {"type": "integer"}},
            },
        },
    },
    "machine": {"eligible": True, "interaction": "none", "requiredFeatures": ["command-result/1"]},
}
NOTE = 'half a\u2028dozen "é" \\ {"sum":1} \U0001d11e\n\t'


def parsed(line: str) -> dict[str, Any]:
    frame: dict[str, Any] = read(line.encode(), max_bytes=262_144, max_depth=24, max_members=4096)
    return frame


@pytest.mark.requirement("RK-AUTHOR-030")
@pytest.mark.parametrize("number", range(3))
def test_a_session_of_the_page_is_what_the_host_says_and_takes(number: int) -> None:
    lines = SESSIONS[number]
    host = HostChannel(parsed(lines[0][2:])["session"], TOKENS[number])
    for line in lines:
        side, text = line[0], line[2:]
        if side == "H":
            frame = parsed(text)
            data = host.hello() if frame["type"] == "hello" else host.send(frame)
            assert text + "\n" == data.decode()
        else:
            events = host.receive(text.encode() + b"\n")
            assert [parsed(text)["type"]] == [event.kind for event in events]

    assert "reported" == host.state
    assert [3, 3] == [len(SESSIONS), len(TOKENS)]


@pytest.mark.requirement("RK-AUTHOR-030")
@pytest.mark.parametrize("number", range(3))
def test_a_session_of_the_page_is_what_a_child_takes_and_may_say(number: int) -> None:
    child = ChildChannel(TOKENS[number])
    for line in SESSIONS[number]:
        if line[0] == "H":
            assert [parsed(line[2:])["type"]] == [
                event.kind for event in child.receive(line[2:].encode() + b"\n")
            ]
        else:
            assert json.loads(line[2:]) == json.loads(child.send(parsed(line[2:])))


@pytest.mark.requirement("RK-AUTHOR-030")
def test_the_page_holds_every_member_of_every_frame_that_a_child_must_know() -> None:
    for name in ("confirm", "execute", "describe", "cancel", "completion", "progress", "operation"):
        assert f'"{name}"' in PAGE or f"`{name}`" in PAGE
    assert "262,144" in PAGE
    assert "\u2028" in PAGE


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with the child in C."""
    place = tmp_path_factory.mktemp("c")
    compiled(place / "release" / "bin" / "sum")
    return place


@pytest.mark.requirement("RK-AUTHOR-030")
@pytest.mark.parametrize("number", [0, 1])
def test_the_child_in_c_says_what_the_page_has_it_say(in_c: Path, number: int) -> None:
    lines = [line[2:] for line in SESSIONS[number]]
    hello, execute = (lines[0].encode(), lines[2].encode())
    done = played(launch_of(in_c, "native", ["bin/sum"]), [hello, execute])

    expected = [json.loads(line) for line in (lines[1], *lines[3:])]
    expected[0]["token"] = "t"
    assert expected == done.frames
    assert (0, 3)[number] == done.status


@pytest.mark.requirement("RK-AUTHOR-030")
def test_the_child_in_c_reads_members_in_any_order_and_form(in_c: Path) -> None:
    hello = b' {"session" : "a\\"b" , "type":"hello","protocol":"rukh.channel/1"}'
    execute = (
        b'{ "supplied":["left","right"], "inputs" : {"note":"\\u00e9 \\"left\\":5 }", '
        b'"right":-2,"left_over":7,"left": 44} ,'
        b'"command":"sum","type":"execute"}'
    )
    done = played(launch_of(in_c, "native", ["bin/sum"]), [hello, execute])

    assert 'a"b' == done.frames[0]["session"]
    assert {"note": 'é "left":5 }', "sum": 42} == done.frames[-1]["commandResult"]["data"]


@pytest.mark.requirement("RK-AUTHOR-030")
def test_the_child_in_c_leaves_when_it_is_cancelled_before_the_request(in_c: Path) -> None:
    done = played(launch_of(in_c, "native", ["bin/sum"]), [HELLO, b'{"type":"cancel","cause":"owner"}'])

    assert (0, 1) == (done.status, len(done.frames))


@pytest.mark.requirement("RK-AUTHOR-030")
def test_the_child_in_c_runs_by_the_hosts_own_path(in_c: Path) -> None:
    launch = launch_of(in_c, "native", ["bin/sum"])
    inputs = {"left": 2**53 - 1, "right": -(2**53) + 1, "note": NOTE}
    request = {"command": "sum", "inputs": inputs, "supplied": sorted(inputs)}
    report = called(launch, request=request, declared=SUM["execute"]["result"])

    assert ("succeeded", "") == verdict(report)
    assert {"note": NOTE, "sum": 0} == (report.command_result or {})["data"]


@pytest.mark.requirement("RK-AUTHOR-030")
def test_the_child_in_c_is_installed_and_called_like_any_other(tmp_path: Path) -> None:
    source = tmp_path / "source"
    compiled(source / "bin" / "sum")
    document = descriptor("acme.math", runtime={"kind": "native"}, commands=[SUM])
    (source / "rukh-extension.json").write_text(json.dumps(document), encoding="utf-8")
    home = InstalledHome(tmp_path, "acme.math")
    home.install_tree(source)
    done = home.run("math", "sum", "--left", "40", "--right=2", "--note", NOTE, "--json")

    assert (0, b"") == (done.returncode, done.stderr)
    assert {"note": NOTE, "sum": 42} == json.loads(done.stdout)
    assert 3 == home.run("math", "sum", "--left", str(2**53 - 1), "--right", "1").returncode
