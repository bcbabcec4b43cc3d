"""Visibility is a query over what was published. Where it cannot be had, list and call say so, and nothing is shorter.

A real server over a real home, whose database is damaged by other hands while it serves.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import apsw
import pytest

from rukh.store.home import open_home
from rukh.store.store import Store
from tests.support import echo
from tests.support.homes import InstalledHome
from tests.support.rawmcp import RawClient
from tests.support.stubs import apply, owner_text

INVENTED = "acme-echo-speak__" + "0" * 64
SLUGS = {"acme-echo-say", "acme-echo-speak", "acme-echo-fail"}
SAY = "identity = 'acme.echo/say'"

# name: the statements that damage what the active revision needs. Each leaves a database that SQLite finds in order.
DAMAGES: dict[str, str] = {
    "the tools are gone": "DELETE FROM tail",
    "one tool is gone": f"DELETE FROM tail WHERE digest = (SELECT tail FROM export WHERE {SAY} LIMIT 1)",
    "the text of a tool was changed": "UPDATE tail SET document = replace(document, 'Does', 'Undoes')",
    "the text of a tool is cut": "UPDATE tail SET document = substr(document, 1, 20)",
    "an export is gone": f"DELETE FROM export WHERE {SAY}",
    "an export came in": "INSERT INTO export SELECT projection, endpoint, 'acme.echo/zap', tail FROM export "
    f"WHERE {SAY}",
    "an export has the text of another": "UPDATE export SET tail = (SELECT tail FROM export WHERE "
    f"identity = 'acme.echo/fail' LIMIT 1) WHERE {SAY}",
    "the profile was changed": "UPDATE revision SET profile = replace(profile, 'acme.desk', 'acme.dusk')",
    "the profile is cut": "UPDATE revision SET profile = substr(profile, 1, 40)",
    "the profile is another document": "UPDATE revision SET profile = '[]'",
    "the revision has another projection": "UPDATE revision SET projection = 'none'",
    "no revision is active": "DELETE FROM active",
    "the active revision is not there": "UPDATE active SET sequence = 999",
    "the table of exports is gone": "ALTER TABLE export RENAME TO lost",
    "the table of revisions has other columns": "ALTER TABLE revision RENAME COLUMN profile TO lost",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    return echo.exposed_home(tmp_path_factory.mktemp("seen"))


def database(home: InstalledHome) -> str:
    return os.path.join(home.path, "db", "rukh.sqlite3")


@contextmanager
def damaged(home: InstalledHome, statements: str) -> Iterator[None]:
    """What the statements do to the database holds inside; afterwards it is as it was."""
    connection, spare = apsw.Connection(database(home)), apsw.Connection(":memory:")
    connection.set_busy_timeout(5000)
    with spare.backup("main", connection, "main") as copy:
        copy.step()
    try:
        connection.execute(statements)  # foreign keys are off: those of other hands
        yield
        with connection.backup("main", spare, "main") as copy:
            copy.step()
    finally:
        spare.close()
        connection.close()


def told(response: dict[str, Any]) -> dict[str, Any]:
    """A response without its id."""
    return {name: value for name, value in response.items() if name != "id"}


UNAVAILABLE = {
    "jsonrpc": "2.0",
    "error": {
        "code": -32603,
        "message": "what this endpoint may see cannot be said now",
        "data": {"code": "visibility_unavailable"},
    },
}


_LIMITS = cycle((7, 8))


def another() -> str:
    """A further part of an owner's file that the active revision does not have."""
    return f"\n[limits]\nconcurrency = {next(_LIMITS)}\n"


def answers(client: RawClient, name: str) -> list[dict[str, Any]]:
    """The list, a further page, and calls of a name that is current, one that never was, and one of another form."""
    return [
        told(client.request("tools/list")),
        told(client.request("tools/list", cursor="AAAA")),
        told(client.request("tools/call", name=name, arguments={"words": "x"})),
        told(client.request("tools/call", name=INVENTED, arguments={})),
        told(client.request("tools/call", name="x")),
    ]


@pytest.mark.requirement("RK-EXPL-020", "RK-EXPL-021", "RK-EXPL-022")
@pytest.mark.parametrize("damage", DAMAGES)
def test_what_cannot_be_said_is_an_error_alike_for_every_name_and_never_a_shorter_list(
    home: InstalledHome, damage: str
) -> None:
    with RawClient(home) as client:
        assert set(client.names()) == SLUGS
        apply(home, owner_text(home) + another())  # a revision that the host has not looked at yet
        with damaged(home, DAMAGES[damage]):
            assert answers(client, INVENTED) == [UNAVAILABLE] * 5
            assert "result" in client.request("server/discover")
        names = client.names()
        assert set(names) == SLUGS
        assert client.call("acme-echo-speak", {"words": "x"})["outcome"] == "succeeded"
        assert client.request("tools/call", name=INVENTED)["error"]["code"] == -32602
    assert client.errors == b""


@pytest.mark.requirement("RK-EXPL-020")
def test_an_endpoint_that_shows_nothing_has_an_empty_list_and_unknown_names(tmp_path: Path) -> None:
    """The sibling: nothing selected is an answer, and it is told apart from no answer."""
    home = echo.exposed_home(tmp_path)
    with RawClient(home) as client:
        name = client.names()["acme-echo-speak"]
        apply(home, owner_text(home).replace('packages = ["acme.echo"]', ""))
        assert client.request("tools/list")["result"]["tools"] == []
        gone, never = (client.request("tools/call", name=each) for each in (name, INVENTED))
        assert told(gone) == told(never)
        assert gone["error"]["code"] == -32602


@contextmanager
def overwritten(home: InstalledHome, *tables: str) -> Iterator[None]:
    """The first pages of these tables are noise in the file itself."""
    connection = apsw.Connection(database(home))
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    size = int(str(connection.pragma("page_size")))
    marks = ",".join("?" * len(tables))
    found = connection.execute(
        f"SELECT rootpage FROM sqlite_schema WHERE name IN ({marks})", tables
    ).fetchall()
    connection.close()
    descriptor = os.open(database(home), os.O_RDWR | os.O_CLOEXEC)
    places = [(int(str(root)) - 1) * size for (root,) in found]
    kept = [os.pread(descriptor, size, place) for place in places]
    try:
        for place in places:
            os.pwrite(descriptor, b"\xa5" * size, place)
        yield
    finally:
        for place, page in zip(places, kept, strict=True):
            os.pwrite(descriptor, page, place)
        os.close(descriptor)


@pytest.mark.requirement("RK-EXPL-020", "RK-EXPL-022")
@pytest.mark.parametrize("tables", [("export",), ("tail",), ("export", "tail")], ids="+".join)
def test_a_file_whose_pages_are_noise_is_no_empty_list(tmp_path: Path, tables: tuple[str, ...]) -> None:
    home = echo.exposed_home(tmp_path)
    with RawClient(home) as client:
        assert "result" in client.request(
            "server/discover"
        )  # the host is attached, and has listed nothing yet
        with overwritten(home, *tables):
            assert answers(client, INVENTED) == [UNAVAILABLE] * 5
        store = Store(open_home(home.path, create=False))
        store.secret("another")  # any commit: what the host had read of the pages is read again
        store.close()
        assert set(client.names()) == SLUGS
    assert client.errors == b""


@pytest.mark.requirement("RK-EXPL-021")
def test_what_the_host_has_seen_whole_stays_seen_while_its_revision_stays(tmp_path: Path) -> None:
    """A view is had once a revision; a row that is lost behind it does not make the host forget."""
    home = echo.exposed_home(tmp_path)
    with RawClient(home) as client:
        names = client.names()
        with damaged(home, "DELETE FROM tail"):
            assert client.names() == names
            assert client.call("acme-echo-speak", {"words": "x"})["outcome"] == "succeeded"
            with RawClient(home) as later:
                assert told(later.request("tools/list")) == UNAVAILABLE


@pytest.mark.requirement("RK-EXPL-021")
def test_the_verb_that_prints_the_tools_refuses_what_is_not_as_it_was_published(tmp_path: Path) -> None:
    home = echo.exposed_home(tmp_path)
    assert home.run("mcp", "tools", "--endpoint", "desk").returncode == 0
    with damaged(home, DAMAGES["an export is gone"]):
        done = home.run("mcp", "tools", "--endpoint", "desk")
    assert (done.returncode, done.stdout, b"RKS006" in done.stderr) == (70, b"", True)
