"""What is kept, what is handed on, and what a slow or absent reader does."""

from __future__ import annotations

import os
import pty
import socket
import tty
from pathlib import Path

import pytest

from rukh.host.streams import Drain, Relay, Streams


@pytest.mark.requirement("RK-EXEC-031")
@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b"ab"], (b"ab", 0)),
        ([b"abc"], (b"abc", 0)),
        ([b"abcd"], (b"abc", 1)),
        ([b"ab", b"cd", b"ef"], (b"abc", 3)),
        ([], (b"", 0)),
    ],
)
def test_a_drain_keeps_the_head_and_counts_the_rest(pieces: list[bytes], expected: tuple[bytes, int]) -> None:
    drain = Drain(3)
    for piece in pieces:
        drain.take(piece)

    assert expected == drain.kept()
    assert not drain.blocked


@pytest.mark.requirement("RK-EXEC-032")
def test_a_relay_holds_what_a_full_pipe_does_not_take_and_leaves_its_flags_alone() -> None:
    reader, sink = os.pipe()
    relay = Relay(sink)
    taken = 0
    while not relay.blocked:
        relay.take(b"x" * 40000)
        taken += 40000
    assert os.get_blocking(sink)
    received = 0
    while received < taken:
        received += len(os.read(reader, 65536))
        relay.flush()

    assert (taken, False) == (received, relay.blocked)
    relay.close()
    os.close(reader)
    os.close(sink)


@pytest.mark.requirement("RK-EXEC-032")
def test_a_relay_writes_on_where_a_file_stands(tmp_path: Path) -> None:
    """A second opening would have an offset of its own and overwrite."""
    path = tmp_path / "out"
    sink = os.open(path, os.O_CREAT | os.O_WRONLY)
    os.write(sink, b"before ")
    relay = Relay(sink)
    relay.take(b"x" * 100000)
    os.write(sink, b" behind")
    relay.close()
    os.close(sink)

    assert b"before " + b"x" * 100000 + b" behind" == path.read_bytes()
    assert not relay.blocked


@pytest.mark.requirement("RK-EXEC-032")
def test_a_relay_to_a_socket_writes_small_pieces_when_there_is_room() -> None:
    ours, theirs = socket.socketpair()
    relay = Relay(theirs.fileno())
    relay.take(b"x" * 10000)
    held = [relay.blocked]
    while relay.blocked:
        relay.flush()
        held.append(relay.blocked)

    assert [True, True, True, False] == held
    assert b"x" * 10000 == ours.recv(20000)
    relay.close()
    ours.close()
    theirs.close()


@pytest.mark.requirement("RK-EXEC-035")
def test_a_relay_without_a_reader_is_broken_and_holds_nothing() -> None:
    reader, sink = os.pipe()
    relay = Relay(sink)
    os.close(reader)
    relay.take(b"x")

    assert (True, False) == (relay.broken, relay.blocked)
    relay.close()
    os.close(sink)


def test_a_descriptor_that_is_not_there_has_no_reader() -> None:
    reader, sink = os.pipe()
    os.close(reader)
    os.close(sink)
    streams = Streams.live(sink, sink)
    streams.stdout.take(b"x")

    assert (True, False) == (streams.stdout.broken, streams.stdout.blocked)
    streams.close()


@pytest.mark.requirement("RK-EXEC-034")
def test_progress_is_shown_at_a_terminal_and_cannot_steer_it() -> None:
    master, terminal = pty.openpty()
    tty.setraw(terminal)
    streams = Streams.live(terminal, terminal)
    shown = []
    for frame in ({"progress": 1, "total": 3, "message": "half\x1b[2J\n"}, {"progress": 0.5}):
        streams.progress({"type": "progress", **frame})
        shown.append(os.read(master, 1000).decode())

    assert ["half\ufffd[2J\ufffd (1/3)\n", "(0.5)\n"] == shown
    streams.close()
    os.close(master)
    os.close(terminal)


@pytest.mark.requirement("RK-EXEC-034")
def test_progress_is_shown_to_nobody_where_no_person_is() -> None:
    reader, sink = os.pipe()
    live, drained = Streams.live(sink, sink), Streams.drained(100)
    for streams in (live, drained):
        streams.progress({"type": "progress", "progress": 1})
        streams.close()
    os.close(sink)

    assert (b"", (b"", 0)) == (os.read(reader, 10), drained.stderr.kept())
    os.close(reader)
