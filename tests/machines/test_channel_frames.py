"""The published vectors of channel frames, through the host's end of the channel without any I/O."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rukh.machines.channel import SENDERS, HostChannel
from tests.support import vectors
from tests.support.frames import ACCEPTED, BY_NAME, CASES, REFUSED, far_from_sibling, written

SPEC = Path(__file__).parents[2] / "spec"
SESSION, TOKEN = "session-of-this-test", "token-of-this-test"
PATHS: dict[str, list[dict[str, Any]]] = {
    "greeted": [{"type": "hello", "protocol": "rukh.channel/1", "session": SESSION}],
}
PATHS["confirmed"] = [*PATHS["greeted"], {"type": "confirm", "session": SESSION, "token": TOKEN, "sdk": "x"}]
PATHS["executing"] = [
    *PATHS["confirmed"],
    {"type": "execute", "command": "run", "inputs": {}, "supplied": []},
]
PATHS["describing"] = [*PATHS["confirmed"], {"type": "describe", "command": "run", "path": ["run"]}]
PATHS["reported"] = [*PATHS["executing"], {"type": "completion", "status": "succeeded"}]


def host_in(state: str) -> HostChannel:
    host = HostChannel(SESSION, TOKEN)
    for frame in PATHS[state]:
        if SENDERS[frame["type"]] == "host":
            host.send(frame)
        else:
            host.receive(json.dumps(frame).encode() + b"\n")
    assert host.state == state
    return host


def heard(name: str) -> tuple[HostChannel, list[Any]]:
    case = BY_NAME[name]
    host = host_in(case["state"])
    events = host.receive(written(case, SESSION, TOKEN)) if written(case, SESSION, TOKEN) else []
    return host, events + (host.receive(b"") if case.get("end") == "close" else [])


@pytest.mark.requirement("RK-CHAN-022", "RK-VEC-002")
def test_the_vectors_have_their_form_and_every_refused_one_its_accepted_sibling() -> None:
    schema = json.loads((SPEC / "schemas" / "vectors-channel-frames.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(vectors.document("channel-frames"))
    assert vectors.without_sibling("channel-frames") == []
    assert far_from_sibling() == []
    registry = json.loads((SPEC / "registry.json").read_text("utf-8"))["rules"]["RKC"]
    assert {BY_NAME[name]["rule"] for name in REFUSED} == {rule["id"] for rule in registry}
    assert len(REFUSED) >= 40


@pytest.mark.requirement("RK-CHAN-001", "RK-CHAN-002", "RK-CHAN-003", "RK-CHAN-004", "RK-CHAN-005")
@pytest.mark.requirement("RK-CHAN-010", "RK-CHAN-011", "RK-CHAN-012", "RK-CHAN-014", "RK-CHAN-015")
@pytest.mark.requirement("RK-CHAN-017", "RK-CHAN-018", "RK-CHAN-020", "RK-CHAN-021")
@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_frame_is_a_violation_by_its_rule_and_the_last_that_is_heard(name: str) -> None:
    host, events = heard(name)
    assert [BY_NAME[name]["rule"]] == [event.error.rule for event in events if event.kind == "violation"]
    assert events[-1].kind == "violation"
    assert len(events) == len(BY_NAME[name].get("before", [])) + 1
    assert [] == host.receive(b'{"type":"completion","status":"succeeded"}\n') == host.receive(b"")


@pytest.mark.requirement("RK-CHAN-004", "RK-CHAN-010")
@pytest.mark.parametrize("name", ACCEPTED)
def test_its_sibling_is_heard(name: str) -> None:
    _, events = heard(name)
    assert BY_NAME[name]["events"] == [event.kind for event in events]


@pytest.mark.requirement("RK-CHAN-002")
@pytest.mark.parametrize("name", [case["name"] for case in CASES if "parts" not in case])
def test_where_a_frame_is_cut_into_reads_changes_nothing(name: str) -> None:
    """One byte at a time is the hardest cut."""
    case = BY_NAME[name]
    host, (_, whole) = host_in(case["state"]), heard(name)
    data = written(case, SESSION, TOKEN)
    events = [event for at in range(len(data)) for event in host.receive(data[at : at + 1])]
    events += host.receive(b"") if case.get("end") == "close" else []
    assert [event.kind for event in whole] == [event.kind for event in events]
    assert [event.error.rule for event in whole if event.error] == [
        event.error.rule for event in events if event.error
    ]
