"""The host's half of a watch: what it takes for an answer, and when it has nothing to wait for."""

from __future__ import annotations

import _socket
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from rukh.host.watcher import Watch, keep_watch
from rukh.values.errors import RukhError

# What the other side says, and then its end; the rule that refuses.
ANSWERS = {"ready": (b"ready", None), "a failure": (b"failed fork 11", "RKH003"), "nothing": (b"", "RKH003")}


@pytest.mark.requirement("RK-PUB-052")
@pytest.mark.parametrize("name", ANSWERS)
def test_only_who_says_that_it_has_the_lock_has_it(name: str) -> None:
    said, rule = ANSWERS[name]
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    if said:
        theirs.send(said)
    theirs.close()
    watch = Watch(ours)
    if rule is None:
        watch.until_ready()
        watch.__exit__(None, None, None)
    else:
        with pytest.raises(RukhError) as refused:
            watch.until_ready()
        assert (refused.value.rule, said.decode() in refused.value.message) == (rule, True)
    assert ours.fileno() == -1


@pytest.mark.requirement("RK-PUB-051")
def test_where_no_program_was_started_the_lock_is_let_go_at_once() -> None:
    """Also while the group of the host, here of this very process, goes on."""
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    reader, writer = os.pipe2(os.O_NONBLOCK)
    ours.send(b"none")
    keep_watch(theirs, writer, os.getpgrp())
    assert (ours.recv(64), os.read(reader, 1), theirs.fileno()) == (b"ready", b"", -1)
    ours.close()
    os.close(reader)


@pytest.mark.requirement("RK-PUB-050", "RK-PUB-051")
def test_a_program_that_has_ended_already_is_told_of_as_well() -> None:
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    reader, writer = os.pipe2(os.O_NONBLOCK)
    with subprocess.Popen(["/bin/true"]) as program:
        watch = Watch(ours)
        watch.started(program.pid)
        keep_watch(theirs, writer, os.getpgrp())
        watch.until_ready()
        watch.__exit__(None, None, None)
    assert os.read(reader, 1) == b""
    os.close(reader)


@pytest.mark.requirement("RK-PUB-051")
@pytest.mark.parametrize(("started", "said"), [(False, b"none"), (True, b"program")], ids=["none", "one"])
def test_the_watcher_is_told_whether_there_is_a_program(started: bool, said: bytes) -> None:
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(first_word, theirs)
        with Watch(ours) as watch:
            if started:
                watch.started(os.getpid())
    assert heard.result() == said


def first_word(control: _socket.socket) -> bytes:
    """What the watcher is told; it then has gone."""
    word = control.recv(64)
    control.close()
    return word
