"""One connection under a scripted clock: order, bounds, deadlines, the end."""

from __future__ import annotations

from typing import Any

import pytest

from rukh.values.registry import (
    LIMIT_CONCURRENCY,
    LIMIT_MESSAGE_IN_BYTES,
    LIMIT_QUEUE_BYTES,
    LIMIT_QUEUE_MESSAGES,
)
from tests.support.mcp_client import Talk
from tests.support.mcp_messages import request
from tests.support.mcp_port import FakePort, envelope, view

DISCOVER = request("server/discover", "d")


def call(talk: Talk, id: Any, command: str = "echo") -> dict[str, Any]:
    """A call by its present name."""
    return request("tools/call", id, name=talk.name(command))


def ids(answers: list[dict[str, Any]]) -> list[Any]:
    """The ids of answers; absent ones are None."""
    return [answer.get("id") for answer in answers]


def code(answer: dict[str, Any]) -> tuple[int, str, Any]:
    """Code, stable code and id of an error."""
    return answer["error"]["code"], answer["error"]["data"]["code"], answer.get("id")


def clogged() -> Talk:
    """A connection whose client has read nothing: the queue has no room for another message."""
    talk = Talk()
    talk.send(*(request("server/discover", f"c{number}") for number in range(LIMIT_QUEUE_MESSAGES)))
    assert not talk.session.queue.room()
    return talk


def test_requests_are_answered_in_order() -> None:
    talk = Talk()
    assert ids(talk.ask(*(request("server/discover", number) for number in range(5)))) == [0, 1, 2, 3, 4]


@pytest.mark.requirement("RK-MCP-010")
def test_notifications_and_responses_get_no_answer() -> None:
    silent = [
        {"jsonrpc": "2.0", "method": "notifications/progress"},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        {"jsonrpc": "2.0", "id": 5, "error": {}},
    ]
    assert ids(Talk().ask(*silent, DISCOVER)) == ["d"]


@pytest.mark.requirement("RK-MCP-036")
def test_a_call_in_flight_holds_up_nothing_else() -> None:
    talk = Talk()
    assert talk.ask(call(talk, 1, "wait")) == []
    assert ids(talk.ask(DISCOVER, request("tools/list", "l"), call(talk, 2))) == ["d", "l"]
    assert ids(talk.finish(talk.started[1])) == [2]


@pytest.mark.requirement("RK-MCP-035")
def test_sixteen_calls_run_and_the_next_is_busy_until_one_has_ended() -> None:
    talk = Talk()
    assert talk.ask(*(call(talk, number) for number in range(LIMIT_CONCURRENCY))) == []
    assert [code(answer) for answer in talk.ask(call(talk, "more"))] == [(-32603, "busy", "more")]
    assert len(talk.port.cancels) == LIMIT_CONCURRENCY
    talk.finish(talk.started[0])
    assert talk.ask(call(talk, "again")) == []


@pytest.mark.requirement("RK-MCP-035")
@pytest.mark.parametrize(("owner", "runs"), [(1, 1), (2, 2), (16, 16), (100, 16)])
def test_an_owner_tightens_the_number_of_calls_and_never_widens_it(owner: int, runs: int) -> None:
    talk = Talk(concurrency=owner)
    talk.ask(*(call(talk, number) for number in range(20)))
    assert len(talk.started) == runs


@pytest.mark.requirement("RK-MCP-035")
def test_a_call_for_which_no_thread_is_to_be_had_is_busy() -> None:
    talk = Talk(threads=False)
    assert [code(answer) for answer in talk.ask(call(talk, 1))] == [(-32603, "busy", 1)]
    assert talk.session.idle


@pytest.mark.requirement("RK-MCP-035")
def test_a_call_for_which_no_descriptor_is_to_be_had_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Talk()
    message = call(talk, 1)

    def exhausted() -> Any:
        raise OSError(24, "too many open files")

    monkeypatch.setattr(talk.port, "new_cancel", exhausted)
    assert [code(answer) for answer in talk.ask(message)] == [(-32603, "busy", 1)]


@pytest.mark.requirement("RK-MCP-012", "RK-MCP-011")
def test_an_id_in_flight_is_refused_without_id_and_the_first_call_is_untouched() -> None:
    talk = Talk()
    talk.send(call(talk, 7))
    assert [code(answer) for answer in talk.ask(request("server/discover", 7))] == [(-32600, "RKM005", None)]
    assert ids(talk.ask(request("server/discover", "7"))) == ["7"]
    assert ids(talk.finish(talk.started[0])) == [7]
    assert ids(talk.ask(request("server/discover", 7))) == [7]


@pytest.mark.requirement("RK-MCP-012")
def test_an_id_whose_answer_still_waits_is_in_flight() -> None:
    talk = Talk()
    talk.send(request("server/discover", 1), request("server/discover", 1))
    assert [answer.get("id") for answer in talk.taken()] == [1, None]


@pytest.mark.requirement("RK-MCP-036")
def test_a_call_whose_thread_failed_is_answered_and_frees_its_place() -> None:
    talk = Talk()
    talk.send(call(talk, 1, "crash"))
    talk.session.finished(talk.started[0], talk.now)
    assert [code(answer) for answer in talk.taken()] == [(-32603, "internal", 1)]
    assert talk.session.idle


@pytest.mark.requirement("RK-MCP-008")
def test_what_waits_for_a_client_that_does_not_read_stays_within_the_queue() -> None:
    talk = clogged()
    talk.send(*(request("tools/list", number) for number in range(500)))
    assert len(talk.session.queue) == LIMIT_QUEUE_MESSAGES
    assert not talk.session.reads


@pytest.mark.requirement("RK-MCP-008")
def test_large_answers_stay_within_the_bytes_of_the_queue() -> None:
    talk = Talk(FakePort(view(*(f"t{number:04d}" for number in range(3000)))))
    long = "i" * 400_000
    for number in range(20):
        talk.send(request("tools/list", f"{long}{number}"))
        assert talk.session.queue.bytes <= LIMIT_QUEUE_BYTES
    assert 0 < len(talk.session.queue) < 20


@pytest.mark.requirement("RK-MCP-008", "RK-MCP-009")
def test_everything_that_waited_is_answered_in_order_once_the_client_reads() -> None:
    talk = clogged()
    talk.send(*(request("server/discover", number) for number in range(500)))
    assert ids(talk.taken()) == [*(f"c{number}" for number in range(LIMIT_QUEUE_MESSAGES)), *range(500)]
    assert talk.session.reads


@pytest.mark.requirement("RK-MCP-009")
def test_what_waits_unanswered_is_bounded_in_requests_and_bytes() -> None:
    talk = clogged()
    for _ in range(LIMIT_QUEUE_MESSAGES - 1):
        talk.send(request("server/discover"))
        assert talk.session.reads
    talk.send(request("server/discover"), request("server/discover"))
    assert not talk.session.reads
    heavy = clogged()
    reads: list[bool] = []
    for _ in range(2):  # what was held is given back
        heavy.send(b" " * (LIMIT_MESSAGE_IN_BYTES - 1) + b"\n")
        reads.append(heavy.session.reads)
        heavy.send(b" \n", DISCOVER)
        reads.append(heavy.session.reads)
        heavy.taken()
        heavy.send(*(request("server/discover", f"c{number}") for number in range(LIMIT_QUEUE_MESSAGES)))
    assert reads == [True, False, True, False]


@pytest.mark.requirement("RK-MCP-009")
def test_control_is_lost_when_no_waiting_line_moves_for_two_seconds() -> None:
    talk = clogged()
    talk.now = 10.0
    talk.send(*(request("server/discover", number) for number in range(40)))
    assert talk.session.deadline == 12.0
    assert (talk.session.overdue(11.9), talk.session.overdue(12.0)) == (None, "control")
    talk.now = 11.0
    data = talk.session.queue.head(talk.now)
    talk.session.queue.wrote(len(data))
    talk.session.pump(talk.now)
    assert talk.session.overdue(12.9) is None
    assert talk.session.overdue(13.0) == "control"


@pytest.mark.requirement("RK-MCP-004")
def test_a_line_that_does_not_end_is_overdue_after_two_seconds() -> None:
    talk = Talk()
    talk.now = 5.0
    talk.send(b'{"jsonrpc":')
    talk.now = 6.5
    talk.send(b'"2.0"')
    assert (talk.session.overdue(6.99), talk.session.overdue(7.0)) == (None, "partial_read")


@pytest.mark.requirement("RK-MCP-004")
def test_time_in_which_the_host_did_not_read_is_not_counted_against_a_line() -> None:
    talk = clogged()
    talk.now = 10.0
    talk.send(*(request("server/discover", number) for number in range(40)), b'{"half')
    assert talk.session.overdue(11.0) is None
    talk.now = 11.5
    talk.taken()
    assert talk.session.reads
    assert (talk.session.overdue(13.4), talk.session.overdue(13.5)) == (None, "partial_read")


@pytest.mark.requirement("RK-MCP-008")
def test_a_write_that_is_not_finished_in_two_seconds_is_overdue() -> None:
    talk = Talk()
    talk.send(DISCOVER)
    talk.session.queue.head(3.0)
    talk.session.queue.wrote(10)
    assert (talk.session.overdue(4.9), talk.session.overdue(5.0)) == (None, "blocked_write")


@pytest.mark.requirement("RK-MCP-038")
def test_at_the_end_of_input_everything_that_arrived_is_answered() -> None:
    talk = Talk()
    talk.send(call(talk, 1), DISCOVER, b'{"half')
    talk.session.end_of_input(talk.now)
    idle = [talk.session.idle]
    assert ids(talk.taken()) == ["d", None]
    idle.append(talk.session.idle)
    assert ids(talk.finish(talk.started[0])) == [1]
    assert [*idle, talk.session.idle] == [False, False, True]
    assert not talk.session.reads


@pytest.mark.requirement("RK-MCP-039", "RK-MCP-040")
def test_a_closed_session_stops_its_calls_and_delivers_their_outcomes() -> None:
    talk = Talk()
    talk.send(call(talk, 1, "wait"))
    talk.session.close("scope_closed")
    assert talk.port.cancels[0].cause == "scope_closed"
    (answer,) = talk.finish(talk.started[0])
    assert answer["result"]["structuredContent"] == envelope("cancelled", code="scope_closed")


@pytest.mark.requirement("RK-MCP-039")
def test_a_lost_connection_stops_its_calls_and_delivers_nothing() -> None:
    talk = clogged()
    talk.taken()
    talk.send(call(talk, 1, "wait"), *(request("server/discover", f"x{number}") for number in range(50)))
    talk.session.lose()
    assert talk.port.cancels[0].cause == "scope_closed"
    assert talk.finish(talk.started[0]) == []
    assert talk.session.idle
    assert talk.session.deadline is None
