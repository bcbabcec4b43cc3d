"""Who may call, how often, and under which revision: through real processes, from both surfaces."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rukh.store.home import open_home
from rukh.store.store import Store
from tests.support import echo
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.rawmcp import RawClient


@pytest.fixture
def fresh(tmp_path: Path) -> InstalledHome:
    """A home of this test alone."""
    return echo.exposed_home(tmp_path)


@pytest.fixture
def store(fresh: InstalledHome) -> Iterator[Store]:
    opened = Store(open_home(fresh.path, create=False))
    yield opened
    opened.close()


def speak(client: RawClient, words: str = "x") -> dict[str, Any]:
    return client.call("acme-echo-speak", {"words": words})


@pytest.mark.requirement("RK-TASK-002", "RK-CAPT-004")
def test_the_budget_counts_admitted_calls_and_refuses_the_next(fresh: InstalledHome) -> None:
    fresh.expose(calls=2)
    with RawClient(fresh) as client:
        outcomes = [speak(client)["outcome"]]
        outcomes.append(
            client.call("acme-echo-speak", {"wrds": "x"})["outcome"]
        )  # refused input costs nothing
        outcomes.append(speak(client)["outcome"])
        beyond = speak(client)
    assert outcomes == ["succeeded", "rejected", "succeeded"]
    assert (beyond["outcome"], beyond["reason"]["code"]) == ("rejected", "budget_exhausted")
    with RawClient(fresh) as again:  # a restart does not refill it
        assert speak(again)["reason"]["code"] == "budget_exhausted"


@pytest.mark.requirement("RK-ADMIT-001", "RK-ADMIT-002")
def test_a_visible_command_that_no_rule_allows_is_denied_on_both_surfaces(fresh: InstalledHome) -> None:
    fresh.expose(allowed="acme.other/*")
    with RawClient(fresh) as client:
        assert "acme-echo-speak" in client.names()
        agent = speak(client)
    terminal = fresh.run("echo", "speak", "x", "--envelope")
    assert (agent["outcome"], agent["reason"]["code"]) == ("rejected", "denied")
    assert terminal.returncode == 77
    assert json.loads(terminal.stderr)["reason"]["code"] == "denied"


@pytest.mark.requirement("RK-ADMIT-003")
def test_claims_of_identity_in_a_request_change_nothing(fresh: InstalledHome, store: Store) -> None:
    with RawClient(fresh) as client:
        name = client.names()["acme-echo-speak"]
        claims = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "user:local", "version": "1"},
            "actor": "user:local",
            "task": "task_aaaaaaaaaaaaaaaaaaaaaaaaaa",
        }
        answer = client.request("tools/call", name=name, arguments={"words": "x"}, _meta=claims)
        smuggled = client.call("acme-echo-speak", {"words": "x", "actor": "user:local"})
    envelope = answer["result"]["structuredContent"]
    task = store.tasks.of_endpoint("desk")
    assert task is not None
    rows = store.database.rows(
        "SELECT subject, actor, task, surface FROM invocation WHERE id = ?", (envelope["invocationId"],)
    )
    assert rows == [("user:local", "agent:desk", task.id, "mcp")]
    assert smuggled["outcome"] == "rejected"


@pytest.mark.requirement("RK-CAPT-002", "RK-PUB-006")
def test_after_an_update_the_old_name_is_unknown_and_the_new_one_runs_the_new_release(
    fresh: InstalledHome,
) -> None:
    with RawClient(fresh) as client:
        old = client.names()["acme-echo-speak"]
        newer = {"acme_echo.py": echo.MODULE.replace('return inputs["words"]', 'return "newer"')}
        fresh.install(newer, version="1.1.0", commands=echo.commands())
        stale = client.request("tools/call", name=old, arguments={"words": "x"})
        invented = client.request("tools/call", name="acme-echo-speak__" + "0" * 64, arguments={})
        assert {**stale, "id": 0} == {**invented, "id": 0}
        assert stale["error"]["code"] == -32602
        assert speak(client)["commandResult"] == {"kind": "text", "text": "newer"}


@pytest.mark.requirement("RK-TASK-005")
def test_a_serving_host_keeps_the_task_of_its_start(fresh: InstalledHome, store: Store) -> None:
    with RawClient(fresh) as client:
        first = speak(client)
        fresh.expose()  # a newer profile and a newer task
        second = speak(client)
    assert first["outcome"] == "succeeded"
    assert (second["outcome"], second["reason"]["code"]) == ("rejected", "denied")
    assert "RKA003" in second["reason"]["message"]


@pytest.mark.requirement("RK-TASK-006")
def test_a_host_whose_endpoint_is_gone_refuses_lists_and_calls(fresh: InstalledHome, tmp_path: Path) -> None:
    bare = tmp_path / "bare.toml"
    bare.write_text('format = "rukh.profile/1"\n')
    with RawClient(fresh) as client:
        name = client.names()["acme-echo-speak"]
        assert fresh.run("profile", "apply", str(bare)).returncode == 0
        listed = client.request("tools/list")
        called = client.request("tools/call", name=name, arguments={"words": "x"})
    assert listed["error"]["code"] == called["error"]["code"] == -32603
    assert listed["error"]["data"]["code"] == called["error"]["data"]["code"] == "visibility_unavailable"


@pytest.mark.requirement("RK-TASK-004")
def test_serving_without_a_task_is_refused_and_says_how_one_is_issued(tmp_path: Path) -> None:
    home = InstalledHome(tmp_path)
    home.install(echo.FILES, commands=echo.commands())
    home.expose()
    store = Store(open_home(home.path, create=False))
    with store.database.write("FULL") as tx:
        tx.run("UPDATE task SET state = 'replaced'")
    store.close()
    done = home.run("mcp", "serve", "--endpoint", "desk")
    assert (done.returncode, done.stdout) == (77, b"")
    assert b"task issue --endpoint desk" in done.stderr


@pytest.mark.requirement("RK-CAPT-003", "RK-ADMIT-004")
def test_a_running_call_keeps_its_release_through_an_update(tmp_path: Path) -> None:
    home = InstalledHome(tmp_path)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    waiting = {
        "acme_echo.py": echo.MODULE.replace(
            'return inputs["words"]',
            f'print("ready", flush=True); open({str(gate)!r}).read()\n    import late\n    return late.WORD',
        ),
        "late.py": "WORD = 'old'\n",
    }
    home.install(waiting, commands=echo.commands())
    call = subprocess.Popen(
        [PROGRAM, "echo", "speak", "x", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=home.environment(),
    )
    assert call.stderr is not None
    assert call.stderr.readline() == b"ready\n"
    home.install({**waiting, "late.py": "WORD = 'new'\n"}, version="1.1.0", commands=echo.commands())
    gate.write_text("go")
    out, _ = call.communicate(timeout=PATIENCE)
    assert (call.returncode, out) == (0, b'"old"\n')


@pytest.mark.requirement("RK-ADMIT-005")
@pytest.mark.parametrize(
    ("number", "status", "code"), [(signal.SIGINT, 130, "caller"), (signal.SIGTERM, 125, "scope_closed")]
)
def test_a_signal_cancels_the_call_with_its_cause(
    tmp_path: Path, number: int, status: int, code: str
) -> None:
    home = InstalledHome(tmp_path)
    endless = {
        "acme_echo.py": echo.MODULE.replace(
            'return inputs["words"]',
            'print("ready", flush=True)\n    import signal\n    while True: signal.pause()',
        )
    }
    home.install(endless, commands=echo.commands())
    call = subprocess.Popen(
        [PROGRAM, "echo", "speak", "x", "--envelope"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=home.environment(),
    )
    assert call.stderr is not None
    assert call.stderr.readline() == b"ready\n"
    call.send_signal(number)
    out, err = call.communicate(timeout=PATIENCE)
    envelope = json.loads(err)
    assert (call.returncode, out) == (status, b"")
    assert (envelope["outcome"], envelope["reason"]["code"]) == ("cancelled", code)


@pytest.mark.requirement("RK-CAPT-010")
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"operations": [{"operation": "files.read/1", "resource": "notes"}]}, "RKA009"),
        ({}, None),
    ],
    ids=["asks for an operation", "asks for nothing"],
)
def test_a_requirement_that_the_host_does_not_have_is_rejected_before_the_start(
    tmp_path: Path, change: dict[str, Any], rule: str | None
) -> None:
    marker = tmp_path / "started"
    home = InstalledHome(tmp_path)
    asking = echo.commands()
    if change:
        asking[1]["execute"]["requires"] = change
    home.install({"acme_echo.py": f"open({str(marker)!r}, 'w').close()\n" + echo.MODULE}, commands=asking)
    done = home.run("echo", "speak", "x", "--envelope")
    if rule is None:
        assert (done.returncode, marker.exists()) == (0, True)
    else:
        reason = json.loads(done.stderr)["reason"]
        assert (done.returncode, reason["code"], marker.exists()) == (69, "unsupported", False)
        assert f"[{rule}]" in reason["message"]


@pytest.mark.requirement("RK-CAPT-011")
def test_a_child_gets_the_declared_variables_that_the_owner_gives_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = InstalledHome(tmp_path)
    monkeypatch.setenv("PLANTED_SECRET", "s3cret")
    monkeypatch.setenv("DECLARED", "from the caller")
    declaring = echo.commands()
    declaring[1]["execute"]["requires"] = {"environment": ["DECLARED", "NOT_GIVEN"]}
    telling = echo.MODULE.replace(
        'return inputs["words"]',
        "import os; return ' '.join(f'{k}={v}' for k, v in sorted(os.environ.items()))",
    )
    home.install({"acme_echo.py": telling}, commands=declaring)
    home.expose(more='[environment."acme.echo"]\nDECLARED = "~/x"\nUNDECLARED = "no"\n')
    shown = json.loads(home.run("echo", "speak", "x", "--json").stdout)
    assert f"DECLARED={os.path.expanduser('~')}/x" in shown
    assert "s3cret" not in shown
    assert "NOT_GIVEN" not in shown
    assert "UNDECLARED=" not in shown.replace("DECLARED=/", "")


@pytest.mark.requirement("RK-RES-013")
def test_the_owners_smaller_limit_on_results_wins(fresh: InstalledHome) -> None:
    fresh.expose(more='[limits]\nresultBytes = "64B"\n')
    fits, beyond = "x" * 39, "x" * 40  # {"kind":"text","text":""} takes 25 bytes
    with RawClient(fresh) as client:
        assert speak(client, fits)["commandResult"]["text"] == fits
        refused = speak(client, beyond)
    assert (refused["outcome"], refused["reason"]["code"]) == ("execution_failed", "result_too_large")
    assert "commandResult" not in refused
