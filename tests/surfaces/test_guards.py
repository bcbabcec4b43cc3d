"""Guards that no ordinary call runs into, each with the situation that does: through real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import echo, homes, rawmcp
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.mcp_messages import sent
from tests.support.rawmcp import META, RawClient
from tests.support.stubs import held, owner_text, program, rows

Swap = Callable[[str], None]


@pytest.fixture
def own(tmp_path: Path) -> InstalledHome:
    """A home of this test alone."""
    return echo.exposed_home(tmp_path)


@pytest.fixture
def swap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Swap:
    """Have both surfaces run a program in which one thing was changed."""

    def swapped(change: str) -> None:
        path = program(tmp_path / "rukh", change)
        monkeypatch.setattr(homes, "PROGRAM", path)
        monkeypatch.setattr(rawmcp, "PROGRAM", path)

    return swapped


def replacing(body: str) -> dict[str, str]:
    """The echo extension with another body of `speak`."""
    return {"acme_echo.py": echo.MODULE.replace('return inputs["words"]', body)}


# Which home.


def in_home(variable: Path, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """One command line whose environment names the home `variable`."""
    return subprocess.run(
        [PROGRAM, *words],
        input=stdin,
        capture_output=True,
        env={**os.environ, "RUKH_HOME": str(variable)},
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.requirement("RK-STORE-004")
def test_the_home_of_the_option_comes_before_that_of_the_environment(
    home: InstalledHome, tmp_path: Path
) -> None:
    nowhere = tmp_path / "nowhere"
    for option in (["--home", home.path], [f"--home={home.path}"]):
        done = in_home(nowhere, *option, "echo", "speak", "x", "--json")
        assert (done.returncode, done.stdout, done.stderr) == (0, b'"x"\n', b"")
        assert b"acme.echo/speak" in in_home(nowhere, *option, "list").stdout
    assert not nowhere.exists()
    other = in_home(Path(home.path), "--home", str(nowhere), "echo", "speak", "x", "--json")
    assert (other.returncode, other.stdout) == (65, b"")


@pytest.mark.requirement("RK-STORE-004")
def test_a_host_serves_the_home_of_the_option(home: InstalledHome, tmp_path: Path) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
    words = ["--home", home.path, "mcp", "serve", "--endpoint", "desk"]
    done = in_home(tmp_path / "nowhere", *words, stdin=json.dumps(asked).encode() + b"\n")
    assert (done.returncode, done.stderr) == (0, b"")
    tools = sent(done.stdout)["result"]["tools"]
    slugs = {tool["name"].rpartition("__")[0] for tool in tools}
    assert slugs == {"acme-echo-say", "acme-echo-speak", "acme-echo-fail"}


# Signals.


@pytest.mark.requirement("RK-ADMIT-005")
def test_a_terminal_that_goes_away_closes_the_scope_of_its_call(tmp_path: Path) -> None:
    home = InstalledHome(tmp_path)
    waiting = 'print("ready", flush=True)\n    import signal\n    while True: signal.pause()'
    home.install(replacing(waiting), commands=echo.commands())
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a suite under `nohup` would hand its own on
    try:
        call = subprocess.Popen(
            [PROGRAM, "echo", "speak", "x", "--envelope"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=home.environment(),
        )
    finally:
        signal.signal(signal.SIGHUP, before)
    try:
        assert call.stderr is not None
        assert call.stderr.readline() == b"ready\n"
        call.send_signal(signal.SIGHUP)
        out, err = call.communicate(timeout=PATIENCE)
    finally:
        call.kill()
        call.communicate()
    assert (call.returncode, out) == (125, b"")
    envelope = json.loads(err)
    assert (envelope["outcome"], envelope["reason"]["code"]) == ("cancelled", "scope_closed")
    assert rows(home, "SELECT id, outcome FROM invocation") == [(envelope["invocationId"], "cancelled")]


# What is recorded.


@pytest.mark.requirement("RK-CAPT-009")
def test_every_row_of_a_call_names_the_surface_that_it_came_from(own: InstalledHome) -> None:
    ran = json.loads(own.run("echo", "speak", "x", "--envelope").stdout)
    refused = json.loads(own.run("echo", "say", "--level", "99", "--envelope").stderr)
    with RawClient(own) as client:
        agent_ran = client.call("acme-echo-speak", {"words": "x"})
        agent_refused = client.call("acme-echo-say", {"level": 99})
    envelopes = {"cli": (ran, refused), "mcp": (agent_ran, agent_refused)}
    for surface, (good, bad) in envelopes.items():
        assert (good["outcome"], bad["outcome"]) == ("succeeded", "rejected")
        assert trail(own, good["invocationId"]) == [
            (surface, "invocation.captured", surface),
            (surface, "invocation.finished", surface),
        ]
        assert trail(own, bad["invocationId"]) == [(surface, "invocation.rejected", surface)]


def trail(home: InstalledHome, call: str) -> list[tuple[Any, ...]]:
    """The surface of a call, with event and surface of each of its audit rows."""
    return rows(
        home,
        "SELECT i.surface, a.event, a.surface FROM audit a JOIN invocation i ON i.id = a.about "
        "WHERE a.about = ? ORDER BY a.sequence",
        call,
    )


@pytest.mark.requirement("RK-EXEC-031")
def test_of_a_noisy_call_the_owners_number_of_bytes_is_kept_and_the_rest_counted(tmp_path: Path) -> None:
    home = InstalledHome(tmp_path)
    noisy = 'import sys; print("o" * 99); print("e" * 63, file=sys.stderr); return "quiet"'
    home.install(replacing(noisy), commands=echo.commands())
    home.expose(more='[limits]\ndiagnosticBytes = "64B"\n')
    with RawClient(home) as client:
        envelope = client.call("acme-echo-speak", {"words": "x"})
    assert envelope["commandResult"] == {"kind": "text", "text": "quiet"}
    kept = rows(home, "SELECT id, stdout, stdout_dropped, stderr, stderr_dropped FROM invocation")
    assert kept == [(envelope["invocationId"], b"o" * 64, 36, b"e" * 63 + b"\n", 0)]


# How many at once.


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    """A FIFO that holds whoever reads a line of it until the test writes one; whatever happens, it lets go at last."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    yield path
    os.close(descriptor)


@pytest.mark.requirement("RK-MCP-035")
def test_where_the_owner_allows_one_call_the_second_at_once_is_busy(tmp_path: Path, gate: Path) -> None:
    home = InstalledHome(tmp_path)
    waits = f'inputs["words"] == "wait" and open({str(gate)!r}).readline(); return inputs["words"]'
    home.install(replacing(waits), commands=echo.commands())
    home.expose(more="[limits]\nconcurrency = 1\n")
    with RawClient(home) as client:
        try:
            name = client.names()["acme-echo-speak"]
            first = client.start("tools/call", name=name, arguments={"words": "wait"})
            second = client.request("tools/call", name=name, arguments={"words": "at once"})
        finally:
            gate.write_text("go\n")
        assert (second["error"]["code"], second["error"]["data"]) == (-32603, {"code": "busy"})
        answer = client.receive()
        assert (answer["id"], answer["result"]["structuredContent"]["outcome"]) == (first, "succeeded")
        call = answer["result"]["structuredContent"]["invocationId"]
        assert rows(home, "SELECT id FROM invocation") == [(call,)]
        assert client.call("acme-echo-speak", {"words": "after"})["outcome"] == "succeeded"


# A home that cannot be written.

HASTY = "import rukh.store.database\nrukh.store.database.LIMIT_TURNSTILE_MILLISECONDS = 20\n"
COUNTS = (
    "SELECT (SELECT count(*) FROM invocation), (SELECT count(*) FROM reference), "
    "(SELECT count(*) FROM audit WHERE event LIKE 'invocation.%'), (SELECT sum(calls_used) FROM task)"
)
NOTHING = [(0, 0, 0, 0)]


@pytest.mark.requirement("RK-STORE-012", "RK-CAPT-004")
@pytest.mark.parametrize("lock", ["gate", "lock"])
@pytest.mark.parametrize(
    "words",
    [["speak", "x"], ["say", "--level", "99"], ["say", "--unknown"]],
    ids=["fine", "invalid", "unlexed"],
)
def test_a_home_held_by_another_writer_is_busy_in_the_terminal_and_nothing_is_recorded(
    own: InstalledHome, swap: Swap, lock: str, words: list[str]
) -> None:
    swap(HASTY)
    with held(own, lock):
        done = own.run("echo", *words, "--json")
    assert (done.returncode, done.stdout) == (75, b"")
    document = json.loads(done.stderr)
    assert (set(document), document["error"]["code"]) == ({"error"}, "RKS004")
    assert b"inv_" not in done.stderr
    assert rows(own, COUNTS) == NOTHING
    assert own.run("echo", "speak", "x", "--json").stdout == b'"x"\n'


@pytest.mark.requirement("RK-STORE-012", "RK-CAPT-004")
@pytest.mark.parametrize("arguments", [{"words": "x"}, {"wrds": "x"}], ids=["fine", "invalid"])
def test_a_home_held_by_another_writer_is_busy_for_an_agent_and_nothing_is_recorded(
    own: InstalledHome, swap: Swap, arguments: dict[str, str]
) -> None:
    swap(HASTY)
    with RawClient(own) as client:
        name = client.names()["acme-echo-speak"]
        with held(own, "lock"):
            refused = client.request("tools/call", name=name, arguments=arguments)
    assert (refused["error"]["code"], refused["error"]["data"]) == (-32603, {"code": "busy"})
    assert rows(own, COUNTS) == NOTHING
    with RawClient(own) as again:
        assert again.call("acme-echo-speak", {"words": "x"})["outcome"] == "succeeded"


# A revision that comes between.

PUBLISHED_BETWEEN = """
import subprocess
from rukh.store.calls import Calls

capture = Calls.capture


def late(self, *given):
    Calls.capture = capture
    subprocess.run([{program!r}, "profile", "apply", {owner!r}], stdout=subprocess.DEVNULL, check=True)
    capture(self, *given)


Calls.capture = late
"""
ALWAYS_MOVED = """
from rukh.store.calls import Calls, Moved


def moved(self, *given):
    raise Moved


Calls.capture = moved
"""


@pytest.mark.requirement("RK-CAPT-002")
@pytest.mark.parametrize(
    "words", [["echo", "speak", "x"], ["run", "acme.echo/speak", "x"]], ids=["by path", "by identity"]
)
def test_words_whose_revision_is_replaced_before_the_capture_are_resolved_again(
    own: InstalledHome, swap: Swap, tmp_path: Path, words: list[str]
) -> None:
    owner = tmp_path / "owner.toml"
    owner.write_text(owner_text(own, deadline="40s"))
    [(before,)] = rows(own, "SELECT sequence FROM active")
    swap(PUBLISHED_BETWEEN.format(program=PROGRAM, owner=str(owner)))
    done = own.run(*words, "--json")
    assert (done.returncode, done.stdout, done.stderr) == (0, b'"x"\n', b"")
    [(after, revision)] = rows(own, "SELECT sequence, id FROM active JOIN revision USING (sequence)")
    assert after == before + 1
    assert rows(own, "SELECT revision, outcome FROM invocation") == [(revision, "succeeded")]


@pytest.mark.requirement("RK-CAPT-002")
def test_a_profile_that_never_rests_is_busy_and_nothing_is_recorded(own: InstalledHome, swap: Swap) -> None:
    swap(ALWAYS_MOVED)
    done = own.run("echo", "speak", "x", "--json")
    assert (done.returncode, done.stdout) == (75, b"")
    assert json.loads(done.stderr)["error"]["code"] == "RKS004"
    assert rows(own, COUNTS) == NOTHING
