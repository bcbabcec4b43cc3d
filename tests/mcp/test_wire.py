"""Lines, shapes and the outgoing queue, each bound from both sides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukh.mcp.wire import (
    OVERSIZE,
    LineReader,
    Notification,
    OutQueue,
    Oversize,
    Refusal,
    Request,
    Response,
    parse_message,
)
from rukh.values.registry import LIMIT_MESSAGE_OUT_BYTES, LIMIT_QUEUE_BYTES, LIMIT_QUEUE_MESSAGES


@pytest.mark.requirement("RK-MCP-003")
def test_a_line_ends_at_lf_and_nowhere_else() -> None:
    data = "a\u2028b\u2029c\u0085d\re\nf\n".encode()
    assert LineReader().receive(data, 0.0) == ["a\u2028b\u2029c\u0085d\re".encode(), b"f"]


@pytest.mark.requirement("RK-MCP-003", "RK-MCP-005")
@given(
    lines=st.lists(st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"")), max_size=8),
    data=st.data(),
)
def test_the_cuts_between_reads_never_change_the_lines(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    reader = LineReader(limit=6)
    found: list[bytes | Oversize] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += reader.receive(stream[:size], 0.0)
        stream = stream[size:]
    assert found == [OVERSIZE if len(line) > 6 else line for line in lines]


@pytest.mark.requirement("RK-MCP-005")
def test_a_line_beyond_the_limit_is_reported_once_and_skipped_to_its_lf() -> None:
    reader = LineReader(limit=4)
    assert reader.receive(b"1234\n", 0.0) == [b"1234"]
    assert reader.receive(b"12345", 0.0) == [OVERSIZE]
    assert reader.receive(b"6789" * 100, 0.0) == []
    assert reader.receive(b"\nab\n", 0.0) == [b"ab"]


@pytest.mark.requirement("RK-MCP-004")
def test_more_bytes_do_not_renew_the_time_of_a_line() -> None:
    reader = LineReader()
    deadlines = [reader.deadline]
    for data, now in ((b"{", 10.0), (b"}", 11.9), (b"\n", 11.95)):
        reader.receive(data, now)
        deadlines.append(reader.deadline)
    assert deadlines == [None, 12.0, 12.0, None]


@pytest.mark.requirement("RK-MCP-004")
def test_a_line_that_begins_behind_another_has_its_own_time() -> None:
    reader = LineReader()
    reader.receive(b"a", 10.0)
    reader.receive(b"b\nc", 11.0)
    assert reader.deadline == 13.0


@pytest.mark.requirement("RK-MCP-004")
def test_an_over_long_line_keeps_its_deadline_while_it_is_skipped() -> None:
    reader = LineReader(limit=2)
    reader.receive(b"abc", 1.0)
    reader.receive(b"def", 2.0)
    assert reader.deadline == 3.0


def test_an_input_that_ends_inside_a_line_says_so_unless_the_line_was_reported() -> None:
    reader = LineReader(limit=2)
    reader.receive(b"a", 0.0)
    assert reader.end() is True
    reader.receive(b"abc", 0.0)
    assert reader.end() is False


SHAPES = {
    "request": (b'{"jsonrpc":"2.0","id":1,"method":"m"}', Request),
    "request with a text id": (b'{"jsonrpc":"2.0","id":"1","method":"m","params":{}}', Request),
    "notification": (b'{"jsonrpc":"2.0","method":"m"}', Notification),
    "notification with odd params": (b'{"jsonrpc":"2.0","method":"m","params":5}', Notification),
    "result": (b'{"jsonrpc":"2.0","id":1,"result":5}', Response),
    "error": (b'{"jsonrpc":"2.0","error":5}', Response),
    "refused": (b'{"jsonrpc":"2.0","id":1,"method":5}', Refusal),
}


@pytest.mark.requirement("RK-MCP-007", "RK-MCP-010")
@pytest.mark.parametrize(("line", "kind"), SHAPES.values(), ids=SHAPES)
def test_a_line_is_one_of_four_things(line: bytes, kind: type[object]) -> None:
    assert type(parse_message(line)) is kind


@pytest.mark.requirement("RK-MCP-011")
def test_an_id_keeps_its_json_type() -> None:
    found = [
        parse_message(b'{"jsonrpc":"2.0","id":%s,"method":"m"}' % text) for text in (b"7", b'"7"', b"7.0")
    ]
    assert [message.id for message in found if isinstance(message, Request)] == [7, "7", 7]


def test_a_refusal_stays_short_however_long_the_line_was() -> None:
    refusal = parse_message(b'{"' + b"\\u0001" * 100_000 + b'":1,"' + b"\\u0001" * 100_000 + b'":2}')
    assert isinstance(refusal, Refusal)
    assert refusal.data["code"] == "RKV009" or refusal.data["code"] == "RKV003"
    assert len(refusal.message) <= 200


@pytest.mark.requirement("RK-MCP-008")
def test_a_queue_takes_32_messages_and_no_more() -> None:
    queue = OutQueue()
    for number in range(LIMIT_QUEUE_MESSAGES):
        assert queue.room()
        queue.put(number, b"x\n")
    assert not queue.room()


@pytest.mark.requirement("RK-MCP-008")
def test_a_queue_has_room_only_while_the_longest_message_fits() -> None:
    queue = OutQueue()
    queue.put(1, b"x" * (LIMIT_QUEUE_BYTES - LIMIT_MESSAGE_OUT_BYTES - 1))
    assert queue.room()
    queue.put(2, b"x")
    assert not queue.room()


@pytest.mark.requirement("RK-MCP-008")
def test_a_write_has_its_time_from_its_start_and_progress_does_not_renew_it() -> None:
    queue = OutQueue()
    queue.put(1, b"abcd")
    queue.put(2, b"ef")
    heads, deadlines = [], [queue.deadline]
    for now, written in ((5.0, 3), (6.5, 1), (6.9, 0)):
        heads.append(bytes(queue.head(now)))
        deadlines.append(queue.deadline)
        queue.wrote(written)
    assert heads == [b"abcd", b"d", b"ef"]
    assert deadlines == [None, 7.0, 7.0, 8.9]
    assert queue.bytes == 2


@pytest.mark.requirement("RK-MCP-033")
def test_a_message_can_be_withdrawn_until_a_part_of_it_is_out() -> None:
    queue = OutQueue()
    queue.put(1, b"abcd")
    queue.put("1", b"ef")
    queue.head(1.0)
    queue.wrote(1)
    assert (queue.withdraw(1), queue.withdraw("1"), queue.withdraw("1")) == (False, True, False)
    assert (len(queue), queue.bytes) == (1, 3)


@pytest.mark.requirement("RK-MCP-008")
def test_withdrawing_what_is_being_written_renews_no_time() -> None:
    queue = OutQueue()
    queue.put(1, b"abcd")
    queue.put(2, b"ef")
    queue.head(1.0)
    assert queue.withdraw(1)
    queue.head(2.5)
    assert queue.deadline == 3.0


def test_a_cleared_queue_holds_nothing_and_waits_for_nothing() -> None:
    queue = OutQueue()
    queue.put(1, b"abcd")
    queue.head(1.0)
    queue.clear()
    assert (len(queue), queue.bytes, queue.deadline, queue.holds(1)) == (0, 0, None, False)
