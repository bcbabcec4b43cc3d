"""The working directories of a server's calls: clean for each, used again, and none left behind the server."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support import echo
from tests.support.homes import InstalledHome
from tests.support.rawmcp import RawClient

BODY = """import json, os
    found = os.stat(".")
    told = json.dumps([os.getcwd(), found.st_ino, found.st_mode & 0o7777, os.listdir(".")])
    if inputs["words"] == "writes":
        open("left", "w").close()
    if inputs["words"] == "opens":
        os.chmod(".", 0o777)
    return told"""


@pytest.fixture
def home(tmp_path: Path) -> InstalledHome:
    made = InstalledHome(tmp_path)
    made.install(
        {"acme_echo.py": echo.MODULE.replace('return inputs["words"]', BODY)}, commands=echo.commands()
    )
    made.expose()
    return made


def _told(client: RawClient, words: str = "looks") -> list[Any]:
    envelope = client.call("acme-echo-speak", {"words": words})
    assert envelope["outcome"] == "succeeded"
    told: list[Any] = json.loads(envelope["commandResult"]["text"])
    assert os.path.basename(told[0]) == envelope["invocationId"]
    return told


def _in_run(home: InstalledHome) -> list[str]:
    return os.listdir(Path(home.path, "run"))


@pytest.mark.requirement("RK-EXEC-037", "RK-EXEC-022")
def test_each_call_of_a_server_has_a_clean_directory_and_the_server_leaves_none(home: InstalledHome) -> None:
    with RawClient(home) as client:
        told = [_told(client) for _ in range(3)]
        assert [rest for _, _, *rest in told] == [[0o700, []]] * 3
        assert len({place for place, *_ in told}) == 3
        assert len({number for _, number, *_ in told}) == 1
        for words in ("writes", "opens"):
            _told(client, words)
            assert _in_run(home) == []
            assert _told(client)[2:] == [0o700, []]
        assert len(_in_run(home)) == 1
        assert home.run("doctor").returncode == 0
    assert (client.status, _in_run(home)) == (0, [])


@pytest.mark.requirement("RK-EXEC-037", "RK-PUB-029")
def test_what_a_killed_server_kept_is_found_and_goes(home: InstalledHome) -> None:
    with RawClient(home) as client:
        _told(client)
        os.kill(client.pid, signal.SIGKILL)
    (kept,) = _in_run(home)
    assert f"run/{kept}: warning RKU006".encode() in home.run("doctor").stdout
    assert home.run("doctor", "--fix").returncode == 0
    assert _in_run(home) == []


@pytest.mark.requirement("RK-EXEC-022")
def test_a_call_in_the_terminal_leaves_no_directory(home: InstalledHome) -> None:
    assert home.run("echo", "speak", "looks").returncode == 0
    assert _in_run(home) == []
