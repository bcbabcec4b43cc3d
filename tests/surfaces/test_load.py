"""A real server under load: each call answered once, and nothing held for calls that are over."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_messages import sent
from tools import load

CALLS = 3_000


@pytest.mark.requirement("RK-MCP-046", "RK-MCP-035", "RK-STORE-020")
def test_thousands_of_calls_sixteen_at_once_leave_the_server_as_it_was(tmp_path: Path) -> None:
    first, last = load.run(CALLS, tmp_path, judge=sent)
    assert first[1:3] == last[1:3]
    assert last.descriptors <= first.descriptors
    assert last.bytes - first.bytes <= load.MORE_BYTES


def test_what_a_process_holds_counts_descriptors_and_children() -> None:
    before = load.held(os.getpid())
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(reader, 1)
        os._exit(0)
    now = load.held(os.getpid())
    os.write(writer, b"x")
    os.waitpid(child, 0)
    assert (now.processes, now.threads) == (before.processes + 1, before.threads + 1)
    assert now.descriptors > before.descriptors + 2
    os.close(reader)
    assert load.held(os.getpid()).descriptors == before.descriptors + 1
    os.close(writer)


# What a broken server would say, one line an answer; the call that waits is number 2 and gave "2".
GOOD: dict[str, Any] = {"commandResult": {"kind": "text", "text": "2"}, "outcome": "succeeded"}
ANSWERS: dict[str, tuple[dict[str, Any], str | None]] = {
    "its own": ({"id": 2, "result": {"structuredContent": GOOD}}, None),
    "another call's words": (
        {"id": 2, "result": {"structuredContent": {"commandResult": {"kind": "text", "text": "3"}}}},
        "not the answer",
    ),
    "nobody's": ({"id": 9, "result": {"structuredContent": GOOD}}, "not the answer"),
    "an error": ({"id": 2, "error": {"code": -32603}}, "not the answer"),
    "none": ({}, "not the answer"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_counts_only_for_the_call_that_gave_its_words(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, fault = ANSWERS[name]
    client = object.__new__(load.Client)
    client._waiting = {2: "2"}
    monkeypatch.setattr(load.Client, "_read", lambda _client: answer)
    if fault is None:
        client._take()
        assert client._waiting == {}
        return
    with pytest.raises(load.Fault, match=fault):
        client._take()
