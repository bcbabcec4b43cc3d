"""The published vectors of channel frames: their bytes, in memory and written by a native child of its own language."""

from __future__ import annotations

import json
import sys
from typing import Any

from rukh.machines.channel import SENDERS
from tests.support import vectors

PYTHON = getattr(sys, "_base_executable", "") or sys.executable
CASES: list[dict[str, Any]] = vectors.document("channel-frames")["cases"]
BY_NAME = {case["name"]: case for case in CASES}
REFUSED = [case["name"] for case in CASES if "rule" in case]
ACCEPTED = [case["name"] for case in CASES if "rule" not in case]

PACKAGE = "acme.frames"


def written(case: dict[str, Any], session: str, token: str) -> bytes:
    """What the child of `case` writes, short of the end of the channel."""
    frames = [frame.encode() + b"\n" for frame in case.get("before", [])]
    line = _line(case)
    data = b"".join(frames) + line + (b"" if "end" in case else b"\n")
    return data.replace(b"${session}", session.encode()).replace(b"${token}", token.encode())


def _line(case: dict[str, Any]) -> bytes:
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    if "parts" in case:
        return b"".join(text.encode() * times for text, times in case["parts"])
    return str(case["line"]).encode()


def far_from_sibling() -> list[str]:
    """Names of the refused frames that differ from their sibling by more than one field. RK-VEC-002"""
    return [name for name in REFUSED if not _is_near(BY_NAME[name], BY_NAME[BY_NAME[name]["sibling"]])]


def _is_near(case: dict[str, Any], sibling: dict[str, Any]) -> bool:
    line, other = _line(case), _line(sibling)
    elsewhere = [member for member in ("state", "before", "end") if case.get(member) != sibling.get(member)]
    if line == other:
        return len(elsewhere) == 1
    if case["state"] != sibling["state"]:
        return False
    frames = [frame.encode() for frame in sibling.get("before", [])] + ([other] if other else [])
    if [*(frame.encode() for frame in case.get("before", [])), line] == [*frames, line]:
        return True
    members, its_members = _members(line), _members(other)
    if members is None or dict(members).get("type") in _OF_THE_HOST:
        return True
    if its_members is None or elsewhere:
        return False
    return (
        vectors.is_near(line, other) or _one_member_apart(members, its_members) or _same_pieces(case, sibling)
    )


_OF_THE_HOST = [type for type, sender in SENDERS.items() if sender == "host"]


def _members(line: bytes) -> list[tuple[str, Any]] | None:
    """The members of the object in `line`, doubled ones too; None where it holds no object."""
    objects: list[Any] = []

    def note(members: list[tuple[str, Any]]) -> dict[str, Any]:
        objects.append(members)
        return dict(members)

    try:
        value = json.loads(line.decode("utf-8"), object_pairs_hook=note)
    except (ValueError, RecursionError):
        return None
    return objects[-1] if isinstance(value, dict) else None


def _same_pieces(case: dict[str, Any], sibling: dict[str, Any]) -> bool:
    pieces, its_pieces = ([text for text, _ in each.get("parts", [])] for each in (case, sibling))
    return bool(pieces) and pieces == its_pieces


def _one_member_apart(left: list[tuple[str, Any]], right: list[tuple[str, Any]]) -> bool:
    """Whether a member is changed, or one more is there, if need be by the name of another."""
    more = any(left[:at] + left[at + 1 :] == right for at in range(len(left)))
    return more or vectors.fields_apart(dict(left), dict(right)) == 1


# A native program without any of our code: it takes the session by the page, writes what the vector says where the
# vector says it, and goes on as a well-behaved child would.
CHILD = (
    f"#!{PYTHON} -IS\n"
    + r"""
import json, os, signal, sys

case = json.load(open(os.path.join(os.path.dirname(sys.argv[0]), "frames.json")))[int(sys.argv[1])]
buffer = b""

def frame():
    global buffer
    while b"\n" not in buffer:
        data = os.read(3, 65536)
        if not data:
            sys.exit(9)
        buffer += data
    line, _, buffer = buffer.partition(b"\n")
    return json.loads(line)

def raw(data):
    try:
        while data:
            data = data[os.write(3, data):]
    except OSError:
        leave()  # the host has closed the session

def leave():
    signal.pause()  # nothing more to say: a host that refused the frame ends this process

def say(**members):
    raw(json.dumps(members).encode() + b"\n")

def hostile():
    frames = b"".join(text.encode() + b"\n" for text in case.get("before", []))
    if "hex" in case:
        line = bytes.fromhex(case["hex"])
    elif "parts" in case:
        line = b"".join(text.encode() * times for text, times in case["parts"])
    else:
        line = case["line"].encode()
    data = frames + line + (b"" if "end" in case else b"\n")
    raw(data.replace(b"${session}", session.encode()).replace(b"${token}", token.encode()))
    if case.get("end") == "close":
        os.close(3)
    if "rule" in case:
        leave()

token = b""
while data := os.read(4, 4096):
    token += data
token = token.decode()
session = frame()["session"]
if case["state"] == "greeted":
    hostile()
else:
    say(type="confirm", session=session, token=token, sdk="frames/1")
assert frame()["type"] == "execute"
if case["state"] == "executing":
    hostile()
events = case.get("events", [])
if "operation" in events:
    assert frame()["status"] == "unavailable"
if "completion" not in events:
    say(type="completion", status="succeeded", commandResult={"kind": "text", "text": "done"})
elif "line" in case:
    os._exit(json.loads(case["line"]).get("exitCode", 0 if "succeeded" in case["line"] else 1))
if case["state"] == "reported":
    hostile()
"""
)


def command_id(name: str) -> str:
    """The command whose child writes the case of this name."""
    return f"case_{CASES.index(BY_NAME[name])}"


def commands() -> list[dict[str, Any]]:
    """One command for each case that a host which only executes can meet."""
    return [
        {
            "id": command_id(case["name"]),
            "path": ["frames", f"case-{number}"],
            "summary": case["name"],
            "execute": {
                "mapping": {"kind": "managed", "entry": ["bin/child", str(number)]},
                "result": {"kind": "text"},
            },
            "machine": {"eligible": True, "requiredFeatures": ["command-result/1"]},
        }
        for number, case in enumerate(CASES)
        if case["state"] != "describing"
    ]
