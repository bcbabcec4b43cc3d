"""Values and names that other tools bent or let through: great integers at every entry, names, foreign modules."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rukh.contract.descriptor import check
from rukh.contract.profile import read_owner_profile
from rukh.sources.catalog import read_catalog
from rukh.values.errors import RukhError
from tests.contract.documents import command, descriptor, encoded, parameter
from tests.support import echo
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.mcp_messages import sent
from tests.support.rawmcp import RawClient
from tests.support.releases import write_extension
from tests.surfaces.test_public_faults import said

GREATEST = 2**53 - 1
# Spellings of one integer too great, and of the greatest one.
BEYOND = ["9007199254740992", "9007199254740992.0", "9.007199254740992e15", "-9007199254740992", "1e300"]
GREAT = ["9007199254740991", "9007199254740991.0", "9.007199254740991e15", "-9007199254740991"]


def value_of(text: str) -> int:
    return -GREATEST if text.startswith("-") else GREATEST


# Integers at every entry: none is rounded into another one.


@pytest.mark.requirement("RK-PAR-013", "RK-INP-005")
@pytest.mark.parametrize("text", GREAT + BEYOND)
def test_an_integer_of_words_is_exact_or_refused(home: InstalledHome, text: str) -> None:
    if text in GREAT:
        assert said(home, "--integer", text)["inputs"]["integer"] == value_of(text)
    else:
        done = home.run("echo", "say", "--integer", text, "--envelope")
        envelope = json.loads(done.stderr)
        assert (done.returncode, done.stdout, envelope["reason"]["code"]) == (64, b"", "invalid_input")
        assert "[RKI006]" in envelope["reason"]["message"]


@pytest.mark.requirement("RK-PAR-013", "RK-INP-005")
@pytest.mark.parametrize("text", GREAT + BEYOND)
def test_an_integer_of_a_document_or_of_an_agent_is_exact_or_refused(
    home: InstalledHome, server: RawClient, text: str
) -> None:
    inputs = f'{{"integer":{text}}}'
    done = home.run("run", "acme.echo/say", "--inputs", "-", "--envelope", stdin=inputs.encode())
    terminal = json.loads(done.stdout or done.stderr)
    name = server.names()["acme-echo-say"]
    params = json.dumps({"_meta": rawmeta(), "name": name, "arguments": {"integer": "?"}}).replace(
        '"?"', text
    )
    server.send(f'{{"jsonrpc":"2.0","id":"great","method":"tools/call","params":{params}}}'.encode())
    agent = server.receive()["result"]["structuredContent"]
    for envelope in (terminal, agent):
        if text in GREAT:
            given = json.loads(envelope["commandResult"]["data"]["given"])
            assert given["inputs"]["integer"] == value_of(text)
        else:
            assert (envelope["outcome"], envelope["reason"]["place"]) == ("rejected", "/integer")
            assert "[RKI006]" in envelope["reason"]["message"]


def rawmeta() -> dict[str, Any]:
    from tests.support.rawmcp import META

    return META


def rule_of(read: Any, *given: Any) -> tuple[str, str]:
    try:
        read(*given)
    except RukhError as refusal:
        return refusal.rule, refusal.place
    return "", ""


def found(**members: Any) -> list[tuple[str, str]]:
    document = descriptor(commands=[command(parameters=[parameter("integer", **members)])])
    return [
        (each.rule, each.pointer) for each in check(encoded(document)).diagnostics if each.severity == "error"
    ]


def owner(calls: int) -> str:
    return f'format = "rukh.profile/1"\n[presets.a]\ndeadline = "1s"\nbudget = {{ calls = {calls} }}\n'


def catalog(size: int) -> bytes:
    offer = {
        "package": "acme.notes", "version": "1.2.0", "artifact": "n.tar.gz", "size": size, "sha256": "0" * 64,
        "signature": "n.tar.gz.dsse.json",
    }  # fmt: skip
    return json.dumps({"format": "rukh.catalog/1", "releases": [offer]}).encode()


@pytest.mark.requirement("RK-PAR-013")
def test_an_integer_of_a_publisher_or_an_owner_is_exact_or_refused() -> None:
    parameters = "/commands/0/parameters/0"
    for value, refused in [(GREATEST, False), (GREATEST + 1, True), (-GREATEST - 1, True)]:
        bound = {"kind": "integer", "maximum": value} if value > 0 else {"kind": "integer", "minimum": value}
        least = "maximum" if value > 0 else "minimum"
        assert found(default=value) == ([("RKD023", f"{parameters}/default")] if refused else [])
        assert found(type=bound) == ([("RKD005", f"{parameters}/type/{least}")] if refused else [])
        assert rule_of(read_owner_profile, owner(value)) == (
            ("RKF009", "/presets/a/budget/calls") if refused else ("", "")
        )
        assert rule_of(read_catalog, catalog(value)) == (
            ("RKT046", "/releases/0/size") if refused else ("", "")
        )


@pytest.mark.requirement("RK-PAR-013")
def test_an_integer_of_a_case_comes_to_the_host_as_it_was_written(tmp_path: Path) -> None:
    """A case may expect the refusal; a rounded value would not be refused."""
    source = tmp_path / "source"
    document = {
        "format": "rukh.extension/2",
        "package": "acme.echo",
        "version": "1.0.0",
        "runtime": {"kind": "python"},
        "commands": echo.commands(),
    }
    cases = [
        {"name": "beyond", "command": "say", "inputs": {"integer": GREATEST + 1},
         "expect": {"reason": "invalid_input"}},
        {"name": "beyond in words", "argv": ["echo", "say", "--integer", str(GREATEST + 1)],
         "expect": {"reason": "invalid_input"}},
        {"name": "the greatest", "command": "say", "inputs": {"integer": GREATEST}, "expect": {"outcome": "succeeded"}},
    ]  # fmt: skip
    text = json.dumps({"format": "rukh.cases/1", "cases": cases})
    write_extension(source, document, {**echo.FILES, "rukh-cases.json": text})
    environment = {**InstalledHome(tmp_path / "other").environment()}
    done = subprocess.run(
        [PROGRAM, "test", str(source), "--json"],
        capture_output=True,
        env=environment,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert [row["passed"] for row in json.loads(done.stdout)["cases"]] == [True] * 6


# Names.


def named(member: str, name: Any) -> dict[str, Any]:
    own: dict[str, Any] = command()
    if member == "package":
        return descriptor(package=name)
    if member == "path":
        own = command(path=["notes", name])
    elif member == "alias":
        own = command(aliases=[["notes", name]])
    elif member == "id":
        own = {**command(), "id": name}
    elif member == "parameter":
        own = command(parameters=[parameter("string", id=name)])
    elif member == "option":
        own = command(parameters=[parameter("string", names=[name])])
    return descriptor(commands=[own])


ILLEGAL = [
    "",
    "É",
    "naïve",
    "a b",
    "a.b.",
    "a/b",
    "../a",
    "a\n",
    "-rf",
    "a\u200bb",
    "\u0430",
    "A",
    "a:b",
    "a\0",
]
MEMBERS = {
    "package": "RKD007",
    "path": "RKD010",
    "alias": "RKD010",
    "id": "RKD009",
    "parameter": "RKD009",
    "option": "RKD011",
}
FINE = {
    "package": "acme.ledger",
    "path": "a-1",
    "alias": "a-1",
    "id": "a_1",
    "parameter": "a_1",
    "option": "--a-1",
}


@pytest.mark.requirement("RK-PAR-014", "RK-DESC-011")
@pytest.mark.parametrize("member", MEMBERS)
def test_a_name_of_illegal_characters_never_becomes_a_command_a_tool_or_a_property(member: str) -> None:
    def rules(name: Any) -> set[str]:
        errors = [
            each for each in check(encoded(named(member, name))).diagnostics if each.severity == "error"
        ]
        return {each.rule for each in errors}

    assert rules(FINE[member]) == set()
    for name in [*ILLEGAL, "a" * 65]:
        assert rules(name) & {MEMBERS[member], "RKV005"}, name


@pytest.mark.requirement("RK-PAR-014")
def test_every_name_on_the_wire_is_of_characters_that_every_client_takes(server: RawClient) -> None:
    tools = server.request("tools/list")["result"]["tools"]
    assert len(tools) == 3
    for tool in tools:
        assert re.fullmatch(r"[a-z0-9_-]{1,48}__[0-9a-f]{64}", tool["name"])
        assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in tool["inputSchema"]["properties"])


# Words of an extension that look like ours.


@pytest.mark.requirement("RK-PAR-015")
@pytest.mark.parametrize(
    "words", [["--string=--help"], ["--", "--help"], ["--string=-h", "--", "--version"]], ids=" ".join
)
def test_a_value_that_looks_like_an_option_of_ours_reaches_the_extension(
    home: InstalledHome, words: list[str]
) -> None:
    """`--help` alone asks for the command's help; behind `--`, or joined to an option, it is a value."""
    given = said(home, *words)["inputs"]
    assert set(given.values()) & {"--help", "-h", "--version"}
    shown = home.run("echo", "say", "--help")
    assert (shown.returncode, b"--string" in shown.stdout) == (0, True)


# Modules of wherever one stands.

FOREIGN = (
    "json",
    "rukh",
    "rukh_sdk",
    "acme_echo",
    "apsw",
    "select",
    "sitecustomize",
    "usercustomize",
    "_json",
    "os",
)


@pytest.mark.requirement("RK-PAR-016")
def test_no_module_of_the_working_directory_is_imported(home: InstalledHome, tmp_path: Path) -> None:
    """A directory full of modules by well-known names: neither host, nor spawner, nor child looks at them."""
    marker = tmp_path / "imported"
    for name in FOREIGN:
        (tmp_path / f"{name}.py").write_text(
            f"open({str(marker)!r}, 'a').write('{name} ')\nraise SystemExit(99)\n"
        )
    environment = {**home.environment(), "PYTHONPATH": "", "PYTHONSTARTUP": str(tmp_path / "os.py")}

    def run(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [PROGRAM, *words],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env=environment,
            timeout=PATIENCE,
            check=False,
        )

    assert run("echo", "speak", "x", "--json").stdout == b'"x"\n'
    assert run("list").returncode == 0
    listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": rawmeta()}}
    first = run("mcp", "serve", "--endpoint", "desk", stdin=json.dumps(listed).encode() + b"\n")
    (name,) = (
        tool["name"]
        for tool in sent(first.stdout)["result"]["tools"]
        if tool["name"].startswith("acme-echo-speak__")
    )
    call = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"_meta": rawmeta(), "name": name, "arguments": {"words": "y"}},
    }
    second = run("mcp", "serve", "--endpoint", "desk", stdin=json.dumps(call).encode() + b"\n")
    assert sent(second.stdout)["result"]["structuredContent"]["commandResult"]["text"] == "y"
    assert not marker.exists()


# What a Python extension returns that is no value.

RETURNS: dict[str, tuple[str, tuple[str, str], str]] = {
    "nan": ('return {"given": float("nan")}', ("command_failed", "command"), "not JSON compliant"),
    "infinite": ('return {"given": float("-inf")}', ("command_failed", "command"), "not JSON compliant"),
    "half": ('return {"given": "a\\ud800"}', ("command_failed", "command"), "surrogates not allowed"),
    "thing": ('return {"given": object()}', ("command_failed", "command"), "is not a JSON value"),
    "loop": ("loop = {}; loop['given'] = loop; return loop", ("command_failed", "command"), "Circular"),
    "great": ('return {"number": 2**53}', ("execution_failed", "result_invalid"), "RKR023"),
    "nothing": ("return None", ("execution_failed", "result_missing"), ""),
    "told_half": (
        'raise rukh_sdk.Failed("it \\ud800 broke", exit_code=3)',
        ("command_failed", "command"),
        "it ? broke",
    ),
    "told_nul": (
        'raise rukh_sdk.Failed("it \\0 broke", exit_code=3)',
        ("command_failed", "command"),
        "it ? broke",
    ),
    "progress": (
        'context.progress(1, message="\\ud800"); return {}',
        ("command_failed", "command"),
        "surrogates",
    ),
}


@pytest.fixture(scope="module")
def returning(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    bodies = {
        **{name: row[0] for name, row in RETURNS.items()},
        "fine": 'return {"given": "x", "number": 2**53 - 1}',
    }
    module = "import rukh_sdk\n" + "".join(
        f'\n@rukh_sdk.command("{name}")\ndef {name}(inputs, context):\n    {body}\n'
        for name, body in bodies.items()
    )
    properties = {"given": {"type": "string"}, "number": {"type": "integer"}}
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    commands = [
        {
            "id": name,
            "path": ["echo", name.replace("_", "-")],
            "summary": name,
            "execute": {
                "mapping": {"kind": "managed", "entry": f"acme_echo:{name}"},
                "result": {"kind": "structured", "schema": schema},
            },
            "machine": {"eligible": True, "requiredFeatures": ["command-result/1"]},
        }
        for name in bodies
    ]
    home = InstalledHome(tmp_path_factory.mktemp("returning"))
    home.install({"acme_echo.py": module}, commands=commands)
    home.expose()
    return home


@pytest.mark.requirement("RK-PAR-011", "RK-SDK-004")
def test_what_is_no_value_is_told_and_ends_its_call_alone(returning: InstalledHome) -> None:
    with RawClient(returning) as client:
        for name, (_, expected, words) in RETURNS.items():
            envelope = client.call(f"acme-echo-{name}", {})
            assert (envelope["outcome"], envelope["reason"]["code"]) == expected, name
            assert words in envelope["reason"]["message"], name
            assert "commandResult" not in envelope
            assert client.call("acme-echo-fine", {})["commandResult"]["data"] == {
                "given": "x",
                "number": GREATEST,
            }
    done = returning.run("echo", "told-half", "--json")
    assert (done.returncode, done.stdout) == (3, b"")
    assert json.loads(done.stderr.splitlines()[-1])["reason"]["message"] == "it ? broke"
