"""Cancellations: of which request, at which stage, how often, and what is answered all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rukh.mcp.session import Call
from rukh.values.registry import LIMIT_QUEUE_MESSAGES
from tests.mcp.test_session import DISCOVER, call, clogged, ids
from tests.support.mcp_client import Talk
from tests.support.mcp_messages import cancel, request, sent

Stop = Callable[[], None]


@pytest.mark.requirement("RK-MCP-033")
def test_a_cancelled_call_is_stopped_and_never_answered() -> None:
    talk = Talk()
    talk.send(call(talk, 1, "wait"), cancel(1))
    assert talk.started == []
    talk.send(call(talk, 2, "wait"))
    talk.send(cancel(2))
    assert talk.port.cancels[-1].causes == ["caller"]
    assert talk.finish(talk.started[0]) == []
    assert talk.session.idle


@pytest.mark.requirement("RK-MCP-033")
def test_a_cancellation_after_the_commit_was_asked_for_still_stops_the_response() -> None:
    talk = Talk()
    talk.send(call(talk, 1))
    started = talk.started[0]
    started.line = talk.adapter.invoke(started.resolved, started.cancel)
    talk.send(cancel(1))
    assert talk.port.cancels[0].cause == ""
    talk.session.finished(started, talk.now)
    assert talk.taken() == []


@pytest.mark.requirement("RK-MCP-033")
def test_an_answer_that_waits_in_the_queue_is_withdrawn() -> None:
    talk = Talk()
    talk.send(request("server/discover", 1), request("server/discover", 2))
    talk.send(cancel(1))
    assert ids(talk.taken()) == [2]


@pytest.mark.requirement("RK-MCP-033")
def test_an_answer_of_which_a_part_is_out_is_sent_to_its_end() -> None:
    talk = Talk()
    talk.send(request("server/discover", 1))
    begun = bytes(talk.session.queue.head(0.0))[:5]
    talk.session.queue.wrote(5)
    talk.send(cancel(1))
    rest = bytes(talk.session.queue.head(0.0))
    assert sent(begun + rest)["id"] == 1


CANCELS = {
    "unknown": cancel(99),
    "of the other type": cancel("1"),
    "without id": {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}},
    "malformed": cancel(1, reason=5),
    "without params": {"jsonrpc": "2.0", "method": "notifications/cancelled"},
}


@pytest.mark.requirement("RK-MCP-034")
@pytest.mark.parametrize("notification", CANCELS.values(), ids=CANCELS)
def test_a_cancellation_of_nothing_pending_touches_nothing(notification: dict[str, Any]) -> None:
    talk = Talk()
    talk.send(call(talk, 1))
    talk.send(notification)
    assert talk.port.cancels[0].causes == []
    assert ids(talk.finish(talk.started[0])) == [1]


@pytest.mark.requirement("RK-MCP-034", "RK-MCP-011")
@pytest.mark.parametrize("stopped", [1, "1"], ids=["the number", "the text"])
def test_of_two_ids_that_read_alike_the_one_of_its_type_is_cancelled(stopped: Any) -> None:
    talk = Talk()
    talk.send(call(talk, 1, "wait"))
    talk.send(call(talk, "1", "wait"))
    talk.send(cancel(stopped))
    by_id = {type(started.resolved.id): started for started in talk.started}
    other = str if stopped == 1 else int
    assert [cancelled.causes for cancelled in talk.port.cancels].count(["caller"]) == 1
    assert talk.finish(by_id[type(stopped)]) == []
    talk.port.cancels[talk.started.index(by_id[other])].request("scope_closed")
    assert ids(talk.finish(by_id[other])) == [other(1)]


@pytest.mark.requirement("RK-MCP-034", "RK-MCP-011", "RK-MCP-009")
@pytest.mark.parametrize("stopped", [1, "1"], ids=["the number", "the text"])
def test_of_two_answers_or_held_requests_that_read_alike_the_one_of_its_type_is_dropped(stopped: Any) -> None:
    other = "1" if stopped == 1 else 1
    waiting = Talk()
    waiting.send(request("server/discover", 1), request("server/discover", "1"))
    waiting.send(cancel(stopped))
    assert ids(waiting.taken()) == [other]
    held = clogged()
    held.send(request("server/discover", 1), request("server/discover", "1"))
    held.send(cancel(stopped))
    assert ids(held.taken())[LIMIT_QUEUE_MESSAGES:] == [other]


# Where a call may stand when it is cancelled; each gives the ids that are answered all the same.


def _before_it_arrives(talk: Talk, stop: Stop) -> list[Any]:
    stop()
    talk.send(call(talk, "x"))
    return ids(talk.finish(talk.started[0]))


def _held(talk: Talk, stop: Stop) -> list[Any]:
    asked = call(talk, "x")
    talk.send(*(request("server/discover", f"c{number}") for number in range(LIMIT_QUEUE_MESSAGES)), asked)
    stop()
    return ids(talk.taken())[LIMIT_QUEUE_MESSAGES:]


def _in_flight(talk: Talk, stop: Stop) -> list[Any]:
    talk.send(call(talk, "x"))
    stop()
    return ids(talk.finish(talk.started[0]))


def _committed(talk: Talk, stop: Stop) -> list[Any]:
    started = _run(talk)
    stop()
    talk.session.finished(started, talk.now)
    return ids(talk.taken())


def _waiting_to_be_written(talk: Talk, stop: Stop) -> list[Any]:
    talk.session.finished(_run(talk), talk.now)
    stop()
    return ids(talk.taken())


def _begun_to_be_written(talk: Talk, stop: Stop) -> list[Any]:
    talk.session.finished(_run(talk), talk.now)
    begun = bytes(talk.session.queue.head(talk.now))[:3]
    talk.session.queue.wrote(len(begun))
    stop()
    rest = bytes(talk.session.queue.head(talk.now))
    talk.session.queue.wrote(len(rest))
    return ids([sent(begun + rest, "tools/call")])


def _answered(talk: Talk, stop: Stop) -> list[Any]:
    talk.session.finished(_run(talk), talk.now)
    found = ids(talk.taken())
    stop()
    return found


def _run(talk: Talk) -> Call:
    """The call, committed; its thread has not told it yet."""
    talk.send(call(talk, "x"))
    started = talk.started[0]
    started.line = talk.adapter.invoke(started.resolved, started.cancel)
    return started


STAGES: dict[str, tuple[Callable[[Talk, Stop], list[Any]], list[str]]] = {
    "before it arrives": (_before_it_arrives, ["x"]),
    "held": (_held, []),
    "in flight": (_in_flight, []),
    "committed": (_committed, []),
    "waiting to be written": (_waiting_to_be_written, []),
    "begun to be written": (_begun_to_be_written, ["x"]),
    "answered": (_answered, ["x"]),
}


@pytest.mark.requirement("RK-MCP-033", "RK-MCP-034")
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("stage", STAGES)
def test_a_cancellation_stops_the_response_unless_it_comes_too_early_or_too_late(
    stage: str, times: int
) -> None:
    at_stage, answered = STAGES[stage]
    talk = Talk()
    assert at_stage(talk, lambda: talk.send(*[cancel("x")] * times)) == answered
    assert ids(talk.ask(DISCOVER)) == ["d"]
    assert (talk.session.idle, talk.session.deadline) == (True, None)
    assert talk.ask(call(talk, "x")) == []  # the id is free again
    assert ids(talk.finish(talk.started[-1])) == ["x"]


@pytest.mark.requirement("RK-MCP-034")
def test_a_late_and_a_second_cancellation_touch_nothing() -> None:
    talk = Talk()
    talk.send(call(talk, 1))
    assert ids(talk.finish(talk.started[0])) == [1]
    talk.send(cancel(1), call(talk, 2))
    talk.send(cancel(2))
    talk.send(cancel(2))
    assert talk.finish(talk.started[1]) == []
    assert talk.port.cancels[1].cause == "caller"
    assert ids(talk.ask(DISCOVER)) == ["d"]


@pytest.mark.requirement("RK-MCP-009")
def test_a_cancellation_passes_requests_that_wait() -> None:
    talk = Talk()
    message = call(talk, "running", "wait")
    talk.send(message)
    talk.send(*(request("server/discover", number) for number in range(40)))
    talk.send(cancel("running"), cancel(35))
    assert talk.port.cancels[-1].cause == "caller"
    assert ids(talk.taken()) == [number for number in range(40) if number != 35]


@pytest.mark.requirement("RK-MCP-033", "RK-MCP-039")
def test_the_first_cause_of_a_cancellation_stays() -> None:
    talk = Talk()
    talk.send(call(talk, 1, "wait"))
    talk.send(cancel(1))
    talk.session.close("scope_closed")
    assert (talk.port.cancels[0].causes, talk.port.cancels[0].cause) == (["caller", "scope_closed"], "caller")
    assert talk.finish(talk.started[0]) == []
