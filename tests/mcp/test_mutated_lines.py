"""A hundred thousand lines as no client writes them, and what the tool that makes them says of a broken session."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from rukh.mcp import protocol, wire
from rukh.mcp.session import Session
from tests.support.mcp_messages import sent
from tools import mutate_lines
from tools.lines import SILENT, WITHOUT_ID, expected_answer, mutated

LINES = 100_000
# What is answered at all: results, and an error of each code but the one of a fault of the host.
ANSWERED = {None, -32700, -32600, -32601, -32602, -32022}


@pytest.mark.requirement("RK-MCP-045", "RK-MCP-006", "RK-MCP-007")
def test_every_valid_request_between_mutated_lines_is_served_and_nothing_is_kept() -> None:
    forms: list[bytes] = []

    def judge(line: bytes) -> None:
        forms.append(line)
        sent(line)

    answers, blocks = mutate_lines.run(LINES, seed=1, judge=judge)
    assert {json.loads(line).get("error", {}).get("code") for line in forms} == ANSWERED
    assert LINES < answers <= 2.1 * LINES
    assert blocks < 3_000


def test_the_same_seed_makes_the_same_lines_and_another_seed_others() -> None:
    def lines(seed: int) -> list[bytes]:
        random = Random(seed)
        return [mutated(random, ["name"]) for _ in range(100)]

    assert lines(1) == lines(1)
    assert lines(1) != lines(2)


def test_a_run_is_the_same_on_one_and_on_two_workers() -> None:
    assert mutate_lines.run(2_560, seed=7)[0] == mutate_lines.run(2_560, seed=7, workers=2)[0]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b'{"jsonrpc":"2.0","id":1.0,"method":"x"}', 1),
        (b'{"jsonrpc":"1.0","id":"a"}', "a"),
        (b'{"jsonrpc":"2.0","id":9007199254740992,"method":"x"}', WITHOUT_ID),
        (b'{"jsonrpc":"2.0","id":1,"id":1,"method":"x"}', WITHOUT_ID),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * 31 + b"]" * 31 + b"}", 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * 32 + b"]" * 32 + b"}", WITHOUT_ID),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', SILENT),
        (b'{"jsonrpc":"2.0","method":"x"}', SILENT),
        (b"", WITHOUT_ID),
    ],
)
def test_the_independent_reading_says_which_answer_a_line_may_get(line: bytes, answer: Any) -> None:
    assert expected_answer(line) == answer


def _twice(session: Session, message: Any) -> None:
    _SERVE(session, message)
    if message.id == "known-70":
        session.queue.put(message.id, protocol.error_line(protocol.unknown_tool(), message.id))


def _not_at_all(session: Session, message: Any) -> None:
    if getattr(message, "id", None) != "known-200":
        _SERVE(session, message)


def _kept(session: Session, message: Any) -> None:
    _KEPT.append([bytearray(100) for _ in range(4)])
    _SERVE(session, message)


def _raises(session: Session, message: Any) -> None:
    if isinstance(message, wire.Refusal) and message.rpc == -32700:
        raise KeyError(message.data["code"])
    _SERVE(session, message)


def _of_no_form(session: Session, message: Any) -> None:
    if isinstance(message, wire.Refusal):
        message.rpc = str(message.rpc)  # type: ignore[assignment]
    _SERVE(session, message)


def _no_result(session: Session, message: Any) -> None:
    _SERVE(session, message)
    waiting = session.queue._entries
    if waiting and waiting[-1][0] == message.id and str(message.id).startswith(("m", "1", "2")):
        owner, line = waiting.pop()
        changed = line.replace(b'"ttlMs":0', b'"ttlMs":[]')
        waiting.append((owner, changed))
        session.queue.bytes += len(changed) - len(line)


def _without_id(session: Session, message: Any) -> None:
    if isinstance(message, wire.Refusal):
        message.id = None
    _SERVE(session, message)


_SERVE = Session._serve
_KEPT: list[Any] = []

BREAKS: dict[str, tuple[Callable[[Session, Any], None], type[Exception], str]] = {
    "it answers twice": (_twice, mutate_lines.Fault, "another answer"),
    "it drops a request": (_not_at_all, mutate_lines.Fault, "unanswered|waits for nothing"),
    "it keeps what it had": (_kept, mutate_lines.Fault, "memory grew"),
    "it raises": (_raises, KeyError, "RKV"),
    "it sends an error of no form": (_of_no_form, mutate_lines.Fault, "no message of the protocol"),
    "it sends a result of no form": (_no_result, mutate_lines.Fault, "no message of the protocol"),
    "it leaves out an id that can be read": (_without_id, mutate_lines.Fault, "without id although"),
}


@pytest.mark.requirement("RK-MCP-045", "RK-MCP-047")
def test_what_the_judge_has_against_an_answer_is_a_fault() -> None:
    def judge(line: bytes) -> None:
        assert b'"code":-32601' not in line, "never this one"

    with pytest.raises(mutate_lines.Fault, match="no message of the protocol"):
        mutate_lines.run(2_560, seed=1, judge=judge)


@pytest.mark.requirement("RK-MCP-045")
@pytest.mark.parametrize("name", BREAKS)
def test_a_session_that_is_broken_on_purpose_is_found_and_the_line_shown(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    serve, kind, message = BREAKS[name]
    monkeypatch.setattr(Session, "_serve", serve)
    try:
        with pytest.raises(kind, match=message):
            mutate_lines.run(10_000, seed=3)
    finally:
        _KEPT.clear()
    assert "seed 3" in capsys.readouterr().err
