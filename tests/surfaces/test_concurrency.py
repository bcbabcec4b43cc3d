"""Calls at once: each has its own supervisor, which ends what its own call left and nothing else."""

from __future__ import annotations

import os
import select
import signal
import socket
from pathlib import Path

import pytest

from tests.support import echo
from tests.support.homes import PATIENCE, InstalledHome
from tests.support.rawmcp import RawClient

# A daemon as stubborn as they come: twice forked, a session of its own, no environment, no signals. It tells its pid.
DAEMON = """
import os, signal

def daemon(told):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.environ.clear()
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            with open(told, "w") as pipe:
                pipe.write(str(os.getpid()))
            while True:
                signal.pause()
        os._exit(0)
    os.wait()


@rukh_sdk.command("speak", result="text")
def speak(inputs, context):
    which = inputs["words"]
    daemon(f"{PLACE}/{which}.told")
    open(f"{PLACE}/{which}.gate").read()
    return which
"""


def gone(pid: int) -> bool:
    """Whether a process has ended, waiting for it within the test's patience."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], PATIENCE)[0])
    finally:
        os.close(descriptor)


@pytest.fixture
def home(tmp_path: Path) -> InstalledHome:
    made = InstalledHome(tmp_path)
    module = "import rukh_sdk\n" + f"PLACE = {str(tmp_path)!r}\n" + DAEMON
    made.install({"acme_echo.py": module}, commands=[echo.commands()[1]])
    made.expose()
    for which in ("one", "two"):
        os.mkfifo(tmp_path / f"{which}.told")
        os.mkfifo(tmp_path / f"{which}.gate")
    return made


@pytest.mark.requirement("RK-EXEC-011", "RK-EXEC-012")
def test_two_calls_that_each_leave_a_daemon_end_their_own(home: InstalledHome, tmp_path: Path) -> None:
    with RawClient(home) as client:
        name = client.names()["acme-echo-speak"]
        ids = {
            which: client.start("tools/call", name=name, arguments={"words": which})
            for which in ("one", "two")
        }
        daemons = {which: int((tmp_path / f"{which}.told").read_text()) for which in ids}
        (tmp_path / "one.gate").write_text("go")
        first = client.receive()
        assert (first["id"], first["result"]["structuredContent"]["outcome"]) == (ids["one"], "succeeded")
        assert gone(daemons["one"])
        os.kill(daemons["two"], 0)  # the other call's daemon lives as long as its call
        (tmp_path / "two.gate").write_text("go")
        second = client.receive()
        assert (second["id"], second["result"]["structuredContent"]["outcome"]) == (ids["two"], "succeeded")
        assert gone(daemons["two"])
    assert client.status == 0


@pytest.mark.requirement("RK-EXEC-013")
def test_when_the_host_is_killed_nothing_of_its_calls_goes_on(home: InstalledHome, tmp_path: Path) -> None:
    with RawClient(home) as client:
        name = client.names()["acme-echo-speak"]
        client.start("tools/call", name=name, arguments={"words": "one"})
        daemon = int((tmp_path / "one.told").read_text())
        os.kill(client.pid, signal.SIGKILL)
        assert gone(daemon)
    assert client.status == -signal.SIGKILL


def listening(pid: int) -> list[str]:
    """The sockets of a process that wait for connections, of any family."""
    sockets = {
        os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd") if os.path.islink(entry.path)
    }
    found = []
    for table, waiting, inode in (("tcp", "0A", 9), ("tcp6", "0A", 9)):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == waiting and f"socket:[{fields[inode]}]" in sockets:
                found.append(line)
    for line in Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]:
        fields = line.split()
        accepts = int(fields[3], 16) & 0x10000  # __SO_ACCEPTCON
        if accepts and f"socket:[{fields[6]}]" in sockets:
            found.append(line)
    return found


@pytest.mark.requirement("RK-MCP-043")
def test_serving_over_stdio_listens_nowhere(home: InstalledHome) -> None:
    with RawClient(home) as client:
        client.request("server/discover")
        assert listening(client.pid) == []
    with socket.create_server(("127.0.0.1", 0)):
        assert len(listening(os.getpid())) == 1


@pytest.mark.requirement("RK-MCP-039", "RK-MCP-044", "RK-STORE-021")
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGHUP, 125), (signal.SIGTERM, 125), (signal.SIGINT, 130)]
)
def test_a_host_that_is_told_to_stop_delivers_its_calls_and_says_why_it_ended(
    home: InstalledHome, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    with RawClient(home) as client:
        name = client.names()["acme-echo-speak"]
        client.start("tools/call", name=name, arguments={"words": "one"})
        daemon = int((tmp_path / "one.told").read_text())
        os.kill(client.pid, number)
        envelope = client.receive()["result"]["structuredContent"]
        assert (envelope["outcome"], envelope["reason"]["code"]) == ("cancelled", "scope_closed")
        assert gone(daemon)
    assert client.status == status
    assert client.errors.startswith(b"rukh: the connection ended")
    assert client.errors.count(b"\n") == 1
    assert os.listdir(f"{home.path}/db") == ["rukh.sqlite3"]


@pytest.mark.requirement("RK-MCP-044", "RK-STORE-021")
def test_a_host_whose_client_ends_its_input_says_nothing(home: InstalledHome) -> None:
    with RawClient(home) as client:
        client.request("server/discover")
    assert (client.status, client.errors) == (0, b"")
    assert os.listdir(f"{home.path}/db") == ["rukh.sqlite3"]
