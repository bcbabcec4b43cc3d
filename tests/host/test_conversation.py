"""rukh/host/conversation.py: what is said in pieces arrives whole, and what ends a session ends both directions."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from rukh.host.conversation import Conversation
from rukh.machines.channel import HostChannel

CONFIRM = {"type": "confirm", "session": "s", "token": "t", "sdk": "x"}
# Far more than the smallest buffer of a socket takes, and within a frame.
EXECUTE = {"type": "execute", "command": "run", "inputs": {"text": "x" * 100_000}, "supplied": ["text"]}


class Ends:
    """A conversation over a socket that takes little at once, and the child's end of it."""

    def __init__(self) -> None:
        ours, self.child = socket.socketpair()
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        self.child.setblocking(False)
        self._ours = ours
        self.said = Conversation(ours, HostChannel("s", "t"))

    def answer(self, frame: dict[str, Any]) -> None:
        self.child.sendall(json.dumps(frame).encode() + b"\n")

    def taken(self) -> bytes:
        """What the child can read now."""
        try:
            return self.child.recv(1 << 20)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        self._ours.close()
        self.child.close()


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    made.close()


def confirmed(ends: Ends) -> None:
    """Past the greeting, with nothing left to read."""
    ends.said.greet()
    ends.taken()
    ends.answer(CONFIRM)
    assert ["confirm"] == [event.kind for event in ends.said.hear() or []]


def delivered(ends: Ends) -> list[bytes]:
    """What is held, as the child takes it piece by piece."""
    pieces = [ends.taken()]
    for _ in range(1_000):
        if not ends.said.unsaid:
            return pieces
        ends.said.flush()
        pieces.append(ends.taken())
    raise AssertionError("it is never said to its end")


@pytest.mark.requirement("RK-EXEC-033")
def test_what_the_child_does_not_take_at_once_is_kept_and_arrives_whole(ends: Ends) -> None:
    confirmed(ends)
    ends.said.send(EXECUTE)
    pieces = delivered(ends)

    assert EXECUTE == json.loads(b"".join(pieces))
    assert (True, b"\n") == (len(pieces) > 2, pieces[-1][-1:])


@pytest.mark.requirement("RK-EXEC-033")
def test_a_frame_behind_one_that_waits_waits_too(ends: Ends) -> None:
    confirmed(ends)
    ends.said.send(EXECUTE)
    ends.said.send({"type": "cancel", "cause": "owner"})
    lines = b"".join(delivered(ends)).splitlines()

    assert ["execute", "cancel"] == [json.loads(line)["type"] for line in lines]


def test_flushing_with_nothing_to_say_says_nothing(ends: Ends) -> None:
    ends.said.greet()
    greeting = ends.taken()
    ends.said.flush()

    assert (b"", False) == (ends.taken(), ends.said.unsaid)
    assert "hello" == json.loads(greeting)["type"]


@pytest.mark.requirement("RK-EXEC-033")
def test_silence_is_no_end(ends: Ends) -> None:
    ends.said.greet()
    assert (None, True) == (ends.said.hear(), ends.said.hearing)
    ends.child.shutdown(socket.SHUT_WR)
    assert ["closed"] == [event.kind for event in ends.said.hear() or []]
    assert not ends.said.hearing


@pytest.mark.requirement("RK-CHAN-023")
def test_a_child_that_left_without_reading_ends_what_is_said_and_what_is_heard(ends: Ends) -> None:
    """A socket that is closed over unread bytes is reset: an error at the next read, and not an end."""
    ends.said.greet()
    ends.child.close()
    assert ["closed"] == [event.kind for event in ends.said.hear() or []]
    ends.said.send({"type": "cancel", "cause": "owner"})

    assert (False, False) == (ends.said.hearing, ends.said.unsaid)


@pytest.mark.requirement("RK-CHAN-023")
def test_to_a_child_that_left_while_bytes_were_held_nothing_more_is_owed(ends: Ends) -> None:
    confirmed(ends)
    ends.said.send(EXECUTE)
    ends.child.close()
    ends.said.flush()

    assert not ends.said.unsaid


@pytest.mark.requirement("RK-CHAN-023")
def test_behind_a_violation_nothing_is_said(ends: Ends) -> None:
    confirmed(ends)
    ends.child.sendall(b"oops\n")
    assert ["violation"] == [event.kind for event in ends.said.hear() or []]
    ends.said.send(EXECUTE)

    assert b"" == ends.taken()
