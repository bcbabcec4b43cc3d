"""Children that break the channel, as real processes under real hosts: what is told, and who is served next."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rukh.host.workdirs import is_as_made
from tests.support.frames import BY_NAME, CASES, CHILD, PACKAGE, REFUSED, command_id, commands
from tests.support.homes import InstalledHome
from tests.support.rawmcp import RawClient
from tests.support.stubs import rows

MET = [name for name in REFUSED if BY_NAME[name]["state"] != "describing"]
# One case a rule, for the surface on which each call is a process.
EACH_RULE = list({BY_NAME[name]["rule"]: name for name in MET}.values())


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    made = InstalledHome(tmp_path_factory.mktemp("frames"), PACKAGE)
    files = {"bin/child": CHILD, "bin/frames.json": json.dumps(CASES)}
    made.install(files, runtime={"kind": "native"}, commands=commands())
    made.expose()
    return made


@pytest.fixture(scope="module")
def names(server: RawClient) -> dict[str, str]:
    return server.names()


@pytest.fixture(scope="module")
def server(home: InstalledHome) -> Iterator[RawClient]:
    """One host for all the children: none of them may do it any harm."""
    with RawClient(home) as client:
        yield client
    assert (client.status, client.errors) == (0, b"")


def outcome(server: RawClient, names: dict[str, str], name: str) -> dict[str, Any]:
    slug = f"acme-frames-{command_id(name)}"
    response = server.request("tools/call", name=names[slug], arguments={})
    envelope: dict[str, Any] = response["result"]["structuredContent"]
    return envelope


@pytest.mark.requirement("RK-CHAN-020", "RK-CHAN-022", "RK-CHAN-023", "RK-CHAN-005", "RK-CHAN-011")
@pytest.mark.parametrize("name", MET)
def test_a_hostile_child_fails_its_call_alone_and_its_sibling_is_served_next(
    server: RawClient, names: dict[str, str], name: str
) -> None:
    case = BY_NAME[name]
    refused = outcome(server, names, name)
    assert (refused["outcome"], refused["reason"]["code"]) == ("execution_failed", "protocol_violation")
    assert f"[{case['rule']}]" in refused["reason"]["message"]
    assert set(refused) == {"invocationId", "outcome", "reason"}
    # A host that only executes meets no description.
    beside = case["sibling"] if BY_NAME[case["sibling"]]["state"] != "describing" else "progress"
    sibling = outcome(server, names, beside)
    if "completion" in BY_NAME[beside]["events"]:
        assert sibling.get("reason", {}).get("code") != "protocol_violation"
    else:
        assert sibling["commandResult"] == {"kind": "text", "text": "done"}


@pytest.mark.requirement("RK-CHAN-020", "RK-CHAN-022")
@pytest.mark.parametrize("name", EACH_RULE)
def test_a_hostile_child_of_the_terminal_is_a_failed_attempt_with_its_rule(
    home: InstalledHome, name: str
) -> None:
    done = home.run("run", f"{PACKAGE}/{command_id(name)}", "--envelope")
    envelope = json.loads(done.stderr)
    assert (done.returncode, done.stdout) == (70, b"")
    assert (envelope["outcome"], envelope["reason"]["code"]) == ("execution_failed", "protocol_violation")
    assert f"[{BY_NAME[name]['rule']}]" in envelope["reason"]["message"]


@pytest.mark.requirement("RK-CHAN-005", "RK-CHAN-022")
@pytest.mark.parametrize(
    ("name", "claimed"),
    [
        ("a report with an invocation id", "inv_aaaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("a confirmation that names its task", "task_aaaaaaaaaaaaaaaaaaaaaaaaaa"),
    ],
)
def test_what_a_child_claims_of_the_core_is_recorded_nowhere(
    home: InstalledHome, server: RawClient, names: dict[str, str], name: str, claimed: str
) -> None:
    envelope = outcome(server, names, name)
    columns = "id, subject, actor, task, outcome, envelope"
    (row,) = rows(home, f"SELECT {columns} FROM invocation WHERE id = ?", envelope["invocationId"])
    assert row[1:3] + row[4:5] == ("user:local", "agent:desk", "execution_failed")
    assert claimed not in "".join(str(value) for value in row)
    assert rows(home, "SELECT count(*) FROM invocation WHERE id = ? OR task = ?", claimed, claimed) == [(0,)]


def test_nothing_is_left_of_the_children(home: InstalledHome, server: RawClient) -> None:
    """References go with confirmed cleanup, so that none is left when all that was started has been ended."""
    assert server.request("server/discover")["result"]["supportedVersions"] == ["2026-07-28"]
    assert rows(home, "SELECT count(*) FROM reference") == [(0,)]
    kept = [os.fspath(place) for place in Path(home.path, "run").glob("inv_*")]
    assert len(kept) <= 1 and all(map(is_as_made, kept))  # one call at a time, and clean for the next one
