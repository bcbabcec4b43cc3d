"""Faults that users of other tools met, each with its own input. None of them is met here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import echo
from tests.support.homes import InstalledHome
from tests.support.rawmcp import META, RawClient


def said(home: InstalledHome, *words: str) -> dict[str, Any]:
    """What the child was given for these words."""
    done = (
        home.run("echo", "say", *words, "--json")
        if "--" not in words
        else home.run("echo", "say", "--json", *words)
    )
    assert (done.returncode, done.stderr) == (0, b"")
    given: dict[str, Any] = json.loads(json.loads(done.stdout)["given"])
    return given


NUMBERS: list[tuple[list[str], dict[str, Any]]] = [
    (["--integer", "-4"], {"integer": -4}),
    (["--integer=-4"], {"integer": -4}),
    (["-4"], {"first": "-4"}),
    (["--", "-4"], {"first": "-4"}),
    (["--string="], {"string": ""}),
    (["--string", ""], {"string": ""}),
    (["--no-on"], {"on": False}),
    (["--string-list", "a,b", "--string-list", "c"], {"string_list": ["a,b", "c"]}),
]


@pytest.mark.requirement("RK-PAR-001")
@pytest.mark.parametrize(("words", "expected"), NUMBERS, ids=[" ".join(words) for words, _ in NUMBERS])
def test_words_that_other_parsers_misread_mean_what_they_say(
    home: InstalledHome, words: list[str], expected: dict[str, Any]
) -> None:
    given = said(home, *words)
    assert {name: given["inputs"][name] for name in given["supplied"]} == expected


@pytest.mark.requirement("RK-PAR-005")
def test_null_is_not_omission_and_omitted_arguments_are_no_arguments(server: RawClient) -> None:
    name = server.names()["acme-echo-say"]
    omitted = server.request("tools/call", name=name)["result"]["structuredContent"]
    empty = server.request("tools/call", name=name, arguments={})["result"]["structuredContent"]
    null_member = server.request("tools/call", name=name, arguments={"string": None})["result"][
        "structuredContent"
    ]
    null_arguments = server.request("tools/call", name=name, arguments=None)
    assert omitted["outcome"] == empty["outcome"] == "succeeded"
    assert omitted["commandResult"] == empty["commandResult"]
    assert (null_member["outcome"], null_member["reason"]["place"]) == ("rejected", "/string")
    assert null_arguments["error"]["code"] == -32602


@pytest.mark.requirement("RK-PAR-006")
def test_an_unknown_property_is_refused_and_the_nearest_is_named(server: RawClient) -> None:
    refused = server.call("acme-echo-say", {"strng": "x"})
    assert refused["outcome"] == "rejected"
    assert refused["reason"]["place"] == "/strng"
    assert "string" in refused["reason"]["mend"] + refused["reason"]["message"]
    assert server.call("acme-echo-say", {"string": "x"})["outcome"] == "succeeded"


@pytest.mark.requirement("RK-PAR-006")
def test_an_unknown_option_is_refused_and_the_nearest_is_named(home: InstalledHome) -> None:
    done = home.run("echo", "say", "--strng", "x")
    assert (done.returncode, done.stdout) == (64, b"")
    assert b"--string" in done.stderr


@pytest.mark.requirement("RK-PAR-007")
def test_nothing_but_the_document_is_on_stdout_under_json(tmp_path: Path) -> None:
    module = echo.MODULE.replace(
        "def speak(inputs, context):\n", 'def speak(inputs, context):\n    print("noise")\n'
    )
    home = InstalledHome(tmp_path)
    home.install({"acme_echo.py": "print('a banner at import')\n" + module}, commands=echo.commands())
    home.expose()
    plain, document = home.run("echo", "speak", "hi"), home.run("echo", "speak", "hi", "--json")
    assert document.stdout == b'"hi"\n'
    assert b"noise" in document.stderr
    assert plain.stdout == b"a banner at import\nnoise\n"
    with RawClient(home) as client:
        envelope = client.call("acme-echo-speak", {"words": "hi"})
    assert envelope["commandResult"] == {"kind": "text", "text": "hi"}
    assert client.errors == b""
    assert client.status == 0


@pytest.mark.requirement("RK-PAR-008")
def test_discovery_without_client_information_is_answered(server: RawClient) -> None:
    assert "io.modelcontextprotocol/clientInfo" not in META
    assert server.request("server/discover")["result"]["supportedVersions"] == ["2026-07-28"]


@pytest.mark.requirement("RK-PAR-009")
def test_an_alias_that_shadows_a_core_word_is_refused_at_installation(tmp_path: Path) -> None:
    from rukh.values.errors import RukhError

    home = InstalledHome(tmp_path)
    shadowing = echo.commands()
    shadowing[0]["aliases"] = [["install"]]
    with pytest.raises(RukhError) as refused:
        home.install(echo.FILES, commands=shadowing)
    assert refused.value.rule.startswith("RKP")
    assert "install" in refused.value.message
    fine = echo.commands()
    fine[0]["aliases"] = [["instal"]]
    home.publisher = type(home.publisher).new(tmp_path / "other")
    home.catalog = tmp_path / "again"
    home.install(echo.FILES, version="1.0.1", commands=fine)


@pytest.mark.requirement("RK-PAR-010")
def test_listing_starts_no_process_of_an_extension(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    home = InstalledHome(tmp_path)
    home.install(
        {"acme_echo.py": f"open({str(marker)!r}, 'w').close()\n" + echo.MODULE}, commands=echo.commands()
    )
    home.expose()
    with RawClient(home) as client:
        assert len(client.names()) == 3
        assert not marker.exists()
        assert client.call("acme-echo-speak", {"words": "x"})["outcome"] == "succeeded"
        assert marker.exists()
    marker.unlink()
    for words in (
        ["--help"],
        ["echo", "--help"],
        ["echo", "say", "--help"],
        ["list"],
        ["mcp", "tools", "--endpoint", "desk"],
    ):
        assert home.run(*words).returncode == 0
    assert not marker.exists()


def test_no_traceback_reaches_a_user_when_the_extension_fails(home: InstalledHome) -> None:
    done = home.run("echo", "fail", "it was not to be", "--code", "7")
    assert (done.returncode, done.stdout) == (7, b"")
    assert b"it was not to be" in done.stderr
    assert b"Traceback" not in done.stderr
