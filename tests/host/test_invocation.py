"""A call whose outcome cannot be stored shows none of it, on either surface."""

from __future__ import annotations

import json
import os
from pathlib import Path

import apsw
import pytest

from rukh.store.home import open_home
from rukh.store.store import Store
from tests.support import echo
from tests.support.homes import InstalledHome
from tests.support.rawmcp import RawClient


@pytest.fixture
def failing(tmp_path: Path) -> InstalledHome:
    """A home in which the commit of an outcome fails, and nothing else: the database itself refuses the row."""
    home = InstalledHome(tmp_path)
    home.install(echo.FILES, commands=echo.commands())
    home.expose()
    connection = apsw.Connection(os.path.join(home.path, "db", "rukh.sqlite3"))
    connection.execute(
        "CREATE TRIGGER full BEFORE UPDATE OF outcome ON invocation BEGIN SELECT RAISE(ABORT, 'no space'); END"
    )
    connection.close()
    return home


@pytest.mark.requirement("RK-CAPT-005", "RK-CAPT-007", "RK-CLI-068", "RK-STORE-016")
def test_the_terminal_shows_no_outcome_that_was_not_committed(failing: InstalledHome) -> None:
    done = failing.run("echo", "speak", "a result that must not be shown", "--json")
    assert (done.returncode, done.stdout) == (70, b"")
    assert b"must not be shown" not in done.stderr
    shown = json.loads(done.stderr)
    assert set(shown) == {"error", "invocationId"}
    assert shown["error"]["code"] == "RKA010"
    assert "[RKS007]" in shown["error"]["message"]
    assert "again" not in shown["error"]["mend"].replace("before you run it again", "")
    assert recorded(failing) == [(shown["invocationId"], None)]


@pytest.mark.requirement("RK-CAPT-005", "RK-CAPT-007")
def test_an_agent_gets_an_error_with_the_invocation_and_no_outcome(failing: InstalledHome) -> None:
    with RawClient(failing) as client:
        name = client.names()["acme-echo-speak"]
        answer = client.request(
            "tools/call", name=name, arguments={"words": "a result that must not be shown"}
        )
    assert answer["error"]["code"] == -32603
    assert "must not be shown" not in json.dumps(answer)
    assert recorded(failing) == [(answer["error"]["data"]["invocationId"], None)]


def recorded(home: InstalledHome) -> list[tuple[str, str | None]]:
    store = Store(open_home(home.path, create=False))
    rows = store.database.rows("SELECT id, outcome FROM invocation")
    store.close()
    return [(invocation, outcome) for invocation, outcome in rows]
