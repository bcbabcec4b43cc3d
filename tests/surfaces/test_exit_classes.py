"""Every status and every signal keeps its class, on both surfaces: what the command says, what the core says of it.

The child is a program that reports what it is told to and then ends as it is told to. A status of the command's own, 1
to 63, is never taken for one of the core's, and none of the core's (64 and above) can be made by a command.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.homes import InstalledHome
from tests.support.rawmcp import RawClient
from tests.support.releases import descriptor

CHILD = f"""#!{sys.executable} -IS
import json, os, signal, socket
channel = socket.socket(fileno=3).makefile("rwb")
hello = json.loads(channel.readline())
def say(**frame):
    channel.write(json.dumps(frame).encode() + b"\\n")
    channel.flush()
say(type="confirm", session=hello["session"], token=os.read(4, 4096).decode(), sdk="raw/1")
inputs = json.loads(channel.readline())["inputs"]
if inputs["report"] == "succeeded":
    say(type="completion", status="succeeded", commandResult={{"kind": "text", "text": "done"}})
elif inputs["report"] == "failed":
    say(type="completion", status="command_failed", message="no milk")
elif inputs["report"] == "failed 7":
    say(type="completion", status="command_failed", exitCode=7, message="no milk")
if inputs["signal"]:
    if inputs["signal"] != signal.SIGKILL:
        signal.signal(inputs["signal"], signal.SIG_DFL)
    os.kill(os.getpid(), inputs["signal"])
os._exit(inputs["status"])
"""
REPORTS = ["none", "succeeded", "failed", "failed 7"]


def option(identifier: str, kind: dict[str, Any], default: Any) -> dict[str, Any]:
    return {
        "id": identifier,
        "form": "option",
        "names": [f"--{identifier}"],
        "type": kind,
        "default": default,
    }


@pytest.fixture(scope="module")
def ending(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    """A home with the command `end child`."""
    place = tmp_path_factory.mktemp("ending")
    command = {
        "id": "child",
        "path": ["end", "child"],
        "summary": "End as told",
        "parameters": [
            option("report", {"kind": "choice", "values": REPORTS}, "none"),
            option("status", {"kind": "integer", "minimum": 0, "maximum": 255}, 0),
            option("signal", {"kind": "integer", "minimum": 0, "maximum": 64}, 0),
        ],
        "execute": {"mapping": {"kind": "managed", "entry": ["bin/end"]}, "result": {"kind": "text"}},
        "machine": {"eligible": True, "interaction": "none", "requiredFeatures": ["command-result/1"]},
    }
    source = place / "source"
    (source / "bin").mkdir(parents=True)
    (source / "bin" / "end").write_text(CHILD)
    (source / "bin" / "end").chmod(0o755)
    document = descriptor("acme.end", runtime={"kind": "native"}, commands=[command])
    (source / "rukh-extension.json").write_text(json.dumps(document))
    home = InstalledHome(place, "acme.end")
    home.install_tree(source)
    home.expose()
    return home


@pytest.fixture(scope="module")
def agent(ending: InstalledHome) -> Iterator[RawClient]:
    """A serving host of that home."""
    with RawClient(ending) as client:
        yield client


def rows() -> Iterator[tuple[str, int, int, str, int]]:
    """(report, status, signal, `outcome code` of the reason, exit status in the terminal)."""
    for status in (0, 1, 2, 63, 64, 130, 255):
        own = 1 <= status <= 63
        early = "execution_failed exited_early"
        mismatch = "execution_failed exit_mismatch"
        yield "none", status, 0, early, 70
        yield "succeeded", status, 0, "succeeded" if status == 0 else mismatch, 0 if status == 0 else 70
        yield "failed", status, 0, "command_failed command" if own else mismatch, status if own else 70
        yield "failed 7", status, 0, mismatch, 70
    yield "failed 7", 7, 0, "command_failed command", 7
    for number in (1, 2, 6, 9, 11, 13, 15):
        yield "none", 0, number, "execution_failed exited_early", 70
        for report in REPORTS[1:]:
            yield report, 0, number, "execution_failed exit_mismatch", 70


@pytest.mark.requirement("RK-LIFE-011", "RK-LIFE-016", "RK-CLI-064")
@pytest.mark.parametrize(
    ("report", "status", "number", "expected", "exit_status"),
    list(rows()),
    ids=[
        f"{report}, {f'signal {number}' if number else f'exit {status}'}"
        for report, status, number, *_ in rows()
    ],
)
def test_an_end_keeps_its_class_on_both_surfaces(
    ending: InstalledHome,
    agent: RawClient,
    report: str,
    status: int,
    number: int,
    expected: str,
    exit_status: int,
) -> None:
    words = ["--report", report, "--status", str(status), "--signal", str(number), "--envelope"]
    done = ending.run("end", "child", *words)
    envelope = json.loads(done.stdout or done.stderr)
    served = agent.call("acme-end-child", {"report": report, "status": status, "signal": number})

    assert exit_status == done.returncode
    assert expected == " ".join(
        [envelope["outcome"], *([envelope["reason"]["code"]] if "reason" in envelope else [])]
    )
    assert {**envelope, "invocationId": ""} == {**served, "invocationId": ""}


@pytest.mark.requirement("RK-LIFE-011")
def test_a_shell_that_reads_the_status_of_a_signal_is_told_the_cores_class(ending: InstalledHome) -> None:
    """128 + 9 is what a shell would say of the child; the program itself was not killed, and says 70."""
    done = ending.run("end", "child", "--signal", "9")

    assert (70, b"") == (done.returncode, done.stdout)
    assert b"signal 9" in done.stderr
