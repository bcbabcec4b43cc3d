"""`rukh.channel/1` from both ends: what is legal, what is refused by which rule, and where the limits lie."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukh.machines.channel import LEGAL, MEMBERS, SENDERS, ChildChannel, Event, HostChannel
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_CHANNEL_FRAME_BYTES, LIMIT_CHANNEL_MESSAGE

SCHEMA = json.loads((Path(__file__).parents[2] / "spec/schemas/channel-1.schema.json").read_text("utf-8"))
SCHEMA_JUDGE = jsonschema.Draft202012Validator(SCHEMA)

Frame = dict[str, Any]

HELLO: Frame = {"type": "hello", "protocol": "rukh.channel/1", "session": "s"}
CONFIRM: Frame = {"type": "confirm", "session": "s", "token": "t", "sdk": "x"}
EXECUTE: Frame = {"type": "execute", "command": "add", "inputs": {"a": 1}, "supplied": ["a"]}
DESCRIBE: Frame = {"type": "describe", "command": "add", "path": ["notes", "add"]}
OPERATION: Frame = {
    "type": "operation",
    "n": 1,
    "operation": "files.read/1",
    "resource": "notes",
    "input": {},
}
RESULT: Frame = {"type": "operation_result", "n": 1, "status": "denied", "reason": {"code": "denied"}}
PROGRESS: Frame = {"type": "progress", "progress": 0.5, "total": 2, "message": "half"}
COMPLETION: Frame = {
    "type": "completion",
    "status": "succeeded",
    "commandResult": {"kind": "text", "text": "x"},
}
FAILED: Frame = {"type": "completion", "status": "command_failed", "exitCode": 3, "message": "no"}
DESCRIPTION: Frame = {"type": "description", "help": {}}
CANCEL: Frame = {"type": "cancel", "cause": "caller"}

EXECUTING = (HELLO, CONFIRM, EXECUTE)
DESCRIBING = (HELLO, CONFIRM, DESCRIBE)
# name: a whole session, as both ends see it.
SESSIONS: dict[str, tuple[Frame, ...]] = {
    "a result": (*EXECUTING, COMPLETION),
    "a failure": (*EXECUTING, FAILED),
    "progress": (*EXECUTING, PROGRESS, PROGRESS, COMPLETION),
    "two operations": (*EXECUTING, OPERATION, RESULT, OPERATION | {"n": 2}, RESULT | {"n": 2}, COMPLETION),
    "help": (*DESCRIBING, DESCRIPTION),
    "no help": (*DESCRIBING, FAILED),
    "cancelled before the confirmation": (HELLO, CANCEL, CONFIRM),
    "cancelled before the request": (HELLO, CONFIRM, CANCEL),
    "cancelled while executing": (*EXECUTING, CANCEL, PROGRESS, FAILED),
    "a cancel that crosses the report": (*EXECUTING, COMPLETION, CANCEL),
    "an operation with a cancel before its answer": (*EXECUTING, OPERATION, CANCEL, RESULT, FAILED),
}


def line(frame: dict[str, Any]) -> bytes:
    return json.dumps(frame, ensure_ascii=False).encode() + b"\n"


def host_after(*frames: dict[str, Any]) -> HostChannel:
    """A host's end behind these frames, each said by whom it belongs to."""
    host = HostChannel("s", "t")
    for frame in frames:
        if SENDERS[frame["type"]] == "host":
            host.send(frame)
        else:
            assert [frame["type"]] == [event.kind for event in host.receive(line(frame))]
    return host


def refusals(events: list[Event]) -> list[str]:
    return [event.error.rule for event in events if event.error is not None]


@pytest.mark.requirement("RK-CHAN-010", "RK-CHAN-004", "RK-CHAN-013", "RK-CHAN-018")
@pytest.mark.parametrize("name", SESSIONS)
def test_a_legal_session_is_heard_whole_by_both_ends(name: str) -> None:
    host, child = HostChannel("s", "t"), ChildChannel("t")
    for frame in SESSIONS[name]:
        speaker, hearer = (host, child) if SENDERS[frame["type"]] == "host" else (child, host)
        data = speaker.send(frame)

        assert [(frame["type"], frame)] == [(event.kind, event.frame) for event in hearer.receive(data)]
        SCHEMA_JUDGE.validate(json.loads(data))
    assert host.state == child.state


def test_the_ends_greet_and_confirm_by_what_they_were_given() -> None:
    host, child = HostChannel("the session", "the token"), ChildChannel("the token")

    child.receive(host.hello())
    events = host.receive(child.confirm("scripted/1"))

    expected = {"type": "confirm", "session": "the session", "token": "the token", "sdk": "scripted/1"}
    assert [expected] == [event.frame for event in events]


# What a child may say, state by state, as the page on the channel has it.
CHILD_MAY_SAY = {
    "opened": set(),
    "greeted": {"confirm"},
    "confirmed": set(),
    "executing": {"operation", "progress", "completion"},
    "describing": {"completion", "description"},
    "reported": set(),
}
HOST_MAY_SAY = {
    "opened": {"hello"},
    "greeted": {"cancel"},
    "confirmed": {"execute", "describe", "cancel"},
    "executing": {"operation_result", "cancel"},
    "describing": {"cancel"},
    "reported": {"cancel"},
}


@pytest.mark.requirement("RK-CHAN-010")
def test_every_frame_in_every_state_is_legal_by_the_page_or_refused_by_one_rule() -> None:
    paths: dict[str, tuple[Frame, ...]] = {
        "opened": (),
        "greeted": (HELLO,),
        "confirmed": (HELLO, CONFIRM),
        "executing": EXECUTING,
        "describing": DESCRIBING,
        "reported": (*EXECUTING, COMPLETION),
    }
    frames = [HELLO, CONFIRM, EXECUTE, DESCRIBE, OPERATION, RESULT, PROGRESS, FAILED, DESCRIPTION, CANCEL]
    assert set(MEMBERS) == {frame["type"] for frame in frames}
    for state, path in paths.items():
        legal = {frame["type"] for frame in frames if not refusals(host_after(*path).receive(line(frame)))}
        assert CHILD_MAY_SAY[state] == legal, state
        assert CHILD_MAY_SAY[state] | HOST_MAY_SAY[state] == {kind for at, kind in LEGAL if at == state}
        refused = [
            refusals(host_after(*path).receive(line(frame))) for frame in frames if frame["type"] not in legal
        ]
        assert [["RKC004"]] * len(refused) == refused, state


@pytest.mark.requirement("RK-CHAN-010")
def test_the_host_may_not_say_what_is_the_childs_or_not_yet_due() -> None:
    cases: list[tuple[tuple[Frame, ...], Frame]] = [
        ((), EXECUTE),
        ((HELLO,), CONFIRM),
        ((HELLO,), EXECUTE),
        (EXECUTING, EXECUTE),
    ]
    for path, frame in cases:
        with pytest.raises(RukhError) as refusal:
            host_after(*path).send(frame)
        assert "RKC004" == refusal.value.rule


@pytest.mark.requirement("RK-CHAN-010")
def test_the_host_answers_the_operation_that_waits_and_no_other() -> None:
    host = host_after(*EXECUTING, OPERATION)
    with pytest.raises(RukhError) as refusal:
        host.send({**RESULT, "n": 2})
    assert ("RKC004", "/n") == (refusal.value.rule, refusal.value.place)
    host.send(RESULT)
    with pytest.raises(RukhError) as refusal:
        host.send(RESULT)
    assert ("RKC004", "/n") == (refusal.value.rule, refusal.value.place)


# name: (state's frames, the bytes, the rule); each stands beside the sibling that is heard, in SESSIONS.
VIOLATIONS: dict[str, tuple[tuple[dict[str, Any], ...], bytes, str]] = {
    "no JSON": (EXECUTING, b"banner\n", "RKC002"),
    "an empty line": (EXECUTING, b"\n", "RKC002"),
    "a list": (EXECUTING, b"[]\n", "RKC002"),
    "two objects": (EXECUTING, b"{} {}\n", "RKC002"),
    "bytes that are not UTF-8": (EXECUTING, b'{"type":"progress","progress":1,"message":"\xff"}\n', "RKC002"),
    "a member named twice": (EXECUTING, b'{"type":"progress","type":"progress","progress":1}\n', "RKC002"),
    "a lone surrogate": (EXECUTING, b'{"type":"progress","progress":1,"message":"\\ud800"}\n', "RKC002"),
    "no type": (EXECUTING, b"{}\n", "RKC003"),
    "a type of another kind": (EXECUTING, b'{"type":1}\n', "RKC003"),
    "an unknown type": (EXECUTING, b'{"type":"log"}\n', "RKC003"),
    "an unknown member": (EXECUTING, line(PROGRESS | {"done": 1}), "RKC005"),
    "an invocation id": (EXECUTING, line(COMPLETION | {"invocationId": "inv_a"}), "RKC005"),
    "an outcome": (EXECUTING, line(COMPLETION | {"outcome": "succeeded"}), "RKC005"),
    "effects": (EXECUTING, line(COMPLETION | {"effects": []}), "RKC005"),
    "a missing member": (EXECUTING, line({"type": "progress"}), "RKC006"),
    "a completion without status": (EXECUTING, line({"type": "completion"}), "RKC006"),
    "an unknown status": (EXECUTING, line({"type": "completion", "status": "rejected"}), "RKC007"),
    "progress that is true": (EXECUTING, line(PROGRESS | {"progress": True}), "RKC007"),
    "exit code 64": (EXECUTING, line(FAILED | {"exitCode": 64}), "RKC007"),
    "exit code 0 of a failure": (EXECUTING, line(FAILED | {"exitCode": 0}), "RKC007"),
    "exit code 1 of a success": (EXECUTING, line(COMPLETION | {"exitCode": 1}), "RKC007"),
    "a message of 4,097": (
        EXECUTING,
        line(FAILED | {"message": "x" * (LIMIT_CHANNEL_MESSAGE + 1)}),
        "RKC007",
    ),
    "an operation from 0": (EXECUTING, line(OPERATION | {"n": 0}), "RKC007"),
    "an operation with a gap": (EXECUTING, line(OPERATION | {"n": 2}), "RKC004"),
    "a second operation": ((*EXECUTING, OPERATION), line(OPERATION | {"n": 2}), "RKC004"),
    "a report with an operation": ((*EXECUTING, OPERATION), line(COMPLETION), "RKC009"),
    "a second report": ((*EXECUTING, COMPLETION), line(COMPLETION), "RKC004"),
    "another token": ((HELLO,), line(CONFIRM | {"token": "T"}), "RKC008"),
    "another session": ((HELLO,), line(CONFIRM | {"session": "S"}), "RKC008"),
    "work before the confirmation": ((HELLO,), line(PROGRESS), "RKC004"),
    "a result of a description": (DESCRIBING, line(COMPLETION), "RKC005"),
}


FORM_RULES = ("RKC003", "RKC005", "RKC006", "RKC007")


@pytest.mark.requirement(
    "RK-CHAN-001", "RK-CHAN-003", "RK-CHAN-004", "RK-CHAN-005", "RK-CHAN-010", "RK-CHAN-011", "RK-CHAN-012"
)
@pytest.mark.requirement("RK-CHAN-014", "RK-CHAN-015", "RK-CHAN-017", "RK-CHAN-018", "RK-CHAN-020")
@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_violation_is_named_by_its_rule_and_is_the_last_event(name: str) -> None:
    path, data, rule = VIOLATIONS[name]
    host = host_after(*path)

    assert [rule] == refusals(host.receive(data + line(PROGRESS)))
    assert [] == host.receive(line(COMPLETION))
    assert [] == host.receive(b"")


@pytest.mark.parametrize("name", [name for name in VIOLATIONS if VIOLATIONS[name][2] in FORM_RULES])
def test_the_schema_refuses_the_forms_that_the_channel_refuses(name: str) -> None:
    """But for what depends on the session."""
    frame = json.loads(VIOLATIONS[name][1])

    assert (name == "a result of a description") is SCHEMA_JUDGE.is_valid(frame)


def test_the_schema_has_the_members_of_the_table() -> None:
    kinds = {kind: SCHEMA["$defs"][kind] for kind in MEMBERS}

    assert {kind: {"type", *required, *optional} for kind, (required, optional) in MEMBERS.items()} == {
        kind: set(form["properties"]) for kind, form in kinds.items()
    }
    assert {kind: {"type", *required} for kind, (required, _) in MEMBERS.items()} == {
        kind: set(form["required"]) for kind, form in kinds.items()
    }


@pytest.mark.requirement("RK-CHAN-020")
def test_what_came_before_a_violation_is_heard() -> None:
    events = host_after(*EXECUTING).receive(line(PROGRESS) + b"oops\n" + line(COMPLETION))

    assert ["progress", "violation"] == [event.kind for event in events]


@pytest.mark.requirement("RK-CHAN-001")
def test_line_separators_of_unicode_are_data() -> None:
    message = "a\u2028b\u2029c\u0085d"
    data = line(PROGRESS | {"message": message})
    assert message.encode() in data

    assert [message] == [event.frame["message"] for event in host_after(*EXECUTING).receive(data)]


def padded(size: int) -> bytes:
    """A progress frame of exactly `size` bytes with its LF; white space is no data."""
    frame = line(PROGRESS)
    return frame[:-1] + b" " * (size - len(frame)) + b"\n"


@pytest.mark.requirement("RK-CHAN-002")
def test_a_frame_of_the_limit_is_heard_and_one_byte_more_is_not() -> None:
    assert ["progress"] == [e.kind for e in host_after(*EXECUTING).receive(padded(LIMIT_CHANNEL_FRAME_BYTES))]
    assert ["RKC001"] == refusals(host_after(*EXECUTING).receive(padded(LIMIT_CHANNEL_FRAME_BYTES + 1)))


@pytest.mark.requirement("RK-CHAN-002")
def test_an_endless_line_is_refused_before_its_end() -> None:
    host = host_after(*EXECUTING)

    assert [] == refusals(host.receive(b" " * (LIMIT_CHANNEL_FRAME_BYTES - 1)))
    assert ["RKC001"] == refusals(host.receive(b" "))


@pytest.mark.requirement("RK-CHAN-002")
def test_an_end_may_not_say_more_than_a_frame() -> None:
    host = host_after(HELLO, CONFIRM)

    with pytest.raises(RukhError) as refusal:
        host.send(EXECUTE | {"inputs": {"a": "x" * LIMIT_CHANNEL_FRAME_BYTES}})
    assert ("RKC001", "confirmed") == (refusal.value.rule, host.state)


@pytest.mark.requirement("RK-CHAN-003")
@pytest.mark.parametrize(("depth", "expected"), [(22, []), (23, ["RKC002"])])
def test_depth_is_limited_inside_a_frame(depth: int, expected: list[str]) -> None:
    """The frame is level 1 and its member level 2: 22 lists below make 24."""
    value: Any = 1
    for _ in range(depth):
        value = [value]

    assert expected == refusals(host_after(*EXECUTING).receive(line(COMPLETION | {"commandResult": value})))


@pytest.mark.requirement("RK-CHAN-021")
def test_the_end_between_frames_is_an_event_and_inside_one_a_violation() -> None:
    assert ["closed"] == [event.kind for event in host_after(*EXECUTING).receive(b"")]
    cut = host_after(*EXECUTING)
    cut.receive(line(COMPLETION)[:-1])

    assert ["RKC010"] == refusals(cut.receive(b""))


@pytest.mark.requirement("RK-CHAN-013")
def test_a_session_is_cancelled_once() -> None:
    host = host_after(*EXECUTING, CANCEL)

    with pytest.raises(RukhError) as refusal:
        host.send(CANCEL)
    assert "RKC004" == refusal.value.rule


def test_an_unknown_member_names_the_nearest_known() -> None:
    (event,) = host_after(*EXECUTING).receive(
        line({"type": "completion", "status": "succeeded", "exitcode": 0})
    )

    assert event.error is not None
    assert "did you mean 'exitCode'?" == event.error.mend


STREAM = b"".join(line(frame) for frame in (PROGRESS, OPERATION | {"resource": "é\u2028"}, CANCEL))


@given(st.lists(st.integers(0, len(STREAM)), max_size=20).map(sorted))
def test_where_the_bytes_are_cut_changes_nothing(cuts: list[int]) -> None:
    whole, pieces = host_after(*EXECUTING), host_after(*EXECUTING)
    spans = zip([0, *cuts], [*cuts, len(STREAM)], strict=True)

    heard = [event for start, end in spans if start < end for event in pieces.receive(STREAM[start:end])]

    assert ["progress", "operation", "violation"] == [event.kind for event in heard]
    assert [event.frame for event in whole.receive(STREAM)] == [event.frame for event in heard]
