"""What goes to which stream of the terminal, and with which status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rukh.values.canonical import canonical_bytes
from tests.support import echo
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.rawmcp import RawClient


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    """The echo extension, printing on both streams before it answers."""
    module = echo.MODULE.replace(
        "\n\n@rukh_sdk",
        "\nprint('to stdout')\nprint('to stderr', file=__import__('sys').stderr)\n\n@rukh_sdk",
        1,
    )
    home = InstalledHome(tmp_path_factory.mktemp("noisy"))
    home.install({"acme_echo.py": module}, commands=echo.commands())
    return home


@pytest.mark.requirement("RK-CLI-065", "RK-CLI-067")
def test_under_json_the_childs_stdout_goes_to_stderr_and_the_failure_is_its_last_line(
    noisy: InstalledHome,
) -> None:
    done = noisy.run("echo", "fail", "no luck", "--code", "9", "--json")
    assert (done.returncode, done.stdout) == (9, b"")
    lines = done.stderr.splitlines()
    assert sorted(lines[:-1]) == [b"to stderr", b"to stdout"]
    failure = json.loads(lines[-1])
    assert set(failure) == {"invocationId", "outcome", "reason"}
    assert (failure["outcome"], failure["reason"]["code"]) == ("command_failed", "command")


@pytest.mark.requirement("RK-CLI-066")
def test_the_envelope_is_one_canonical_document_on_the_stream_of_its_outcome(noisy: InstalledHome) -> None:
    good, bad = (
        noisy.run("echo", "speak", "hi", "--envelope"),
        noisy.run("echo", "fail", "no", "--envelope"),
    )
    assert good.stdout == canonical_bytes(json.loads(good.stdout)) + b"\n"
    assert json.loads(good.stdout)["outcome"] == "succeeded"
    last = bad.stderr.splitlines()[-1]
    assert (bad.stdout, bad.returncode) == (b"", 1)
    assert last == canonical_bytes(json.loads(last))
    assert json.loads(last)["outcome"] == "command_failed"


@pytest.mark.requirement("RK-CLI-060", "RK-CLI-065")
def test_a_command_that_prints_for_itself_is_not_followed_by_its_result(
    noisy: InstalledHome, home: InstalledHome
) -> None:
    assert noisy.run("echo", "speak", "hi").stdout == b"to stdout\n"
    assert home.run("echo", "speak", "hi").stdout == b"hi\n"


@pytest.mark.requirement("RK-CLI-065")
def test_a_reader_that_goes_away_is_no_fault(home: InstalledHome) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [PROGRAM, "echo", "speak", "hi", "--json"],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=home.environment(),
        timeout=PATIENCE,
        check=False,
    )
    os.close(writer)
    assert done.stderr == b""


@pytest.mark.requirement("RK-CLI-055")
def test_a_group_is_no_command_and_shows_its_help_where_it_was_asked_for(home: InstalledHome) -> None:
    asked, bare = home.run("echo", "--help"), home.run("echo")
    assert (asked.returncode, asked.stderr) == (0, b"")
    assert (bare.returncode, bare.stdout) == (64, b"")
    assert asked.stdout.startswith(b"Usage: rukh echo COMMAND")
    assert bare.stderr.startswith(asked.stdout)
    assert b"RKL024" in bare.stderr
    assert home.run("ech").returncode == 65


@pytest.mark.requirement("RK-CAPT-012")
def test_only_a_command_that_declares_it_gets_the_standard_input_of_the_terminal(tmp_path: Path) -> None:
    reading = echo.MODULE.replace(
        'return inputs["words"]', "import sys; return repr(sys.stdin.buffer.read())"
    )
    given = {}
    for stdin in ("none", "bytes"):
        command = echo.commands()[1]
        command["execute"]["stdin"] = stdin
        command["machine"] = {"eligible": False}
        home = InstalledHome(tmp_path / stdin)
        home.install({"acme_echo.py": reading}, commands=[command])
        done = home.run("echo", "speak", "x", "--json", stdin=b"\x00\xff raw")
        given[stdin] = json.loads(done.stdout)
    assert given == {"none": "b''", "bytes": repr(b"\x00\xff raw")}


def test_words_that_are_not_utf8_are_named(home: InstalledHome) -> None:
    done = home.run("echo", "speak", b"caf\xe9")
    assert done.returncode == 64
    assert b"RKL008" in done.stderr
    assert b"argument 3" in done.stderr


def test_a_file_fills_a_parameter_and_one_that_cannot_be_read_is_named(
    home: InstalledHome, tmp_path: Path
) -> None:
    (tmp_path / "words").write_text("from a file\n")
    assert (
        home.run("echo", "speak", "--read", f"words={tmp_path}/words", "--json").stdout
        == b'"from a file\\n"\n'
    )
    done = home.run("echo", "speak", "--read", f"words={tmp_path}/missing")
    assert done.returncode == 64
    assert b"RKL023" in done.stderr


@pytest.mark.parametrize(
    ("document", "rule"),
    [(b"[]", b"RKL022"), (b'{"words":"a","words":"b"}', b"RKV003"), (b'{"words":"x"}', None)],
)
def test_a_document_of_inputs_is_read_strictly(
    home: InstalledHome, document: bytes, rule: bytes | None
) -> None:
    done = home.run("run", "acme.echo/speak", "--inputs", "-", "--json", stdin=document)
    if rule is None:
        assert (done.returncode, done.stdout) == (0, b'"x"\n')
    else:
        assert done.returncode == 64
        assert rule in done.stderr


@pytest.mark.requirement("RK-ADM-010")
def test_a_call_imports_nothing_of_the_administration_and_no_endpoint_offers_it(
    home: InstalledHome, server: RawClient
) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", PROGRAM, "echo", "speak", "hi"],
        capture_output=True,
        env=home.environment(),
        timeout=PATIENCE,
        check=True,
    )
    imported = {line.rpartition(b"|")[2].strip().decode() for line in done.stderr.splitlines()}
    assert "rukh.cli.call" in imported
    heavy = {"click", "pydantic", "asyncio", "mcp", "logging", "tempfile", "shutil", "uuid", "rukh.cli.admin"}
    assert imported & heavy == set()
    assert set(server.names()) == {"acme-echo-say", "acme-echo-speak", "acme-echo-fail"}
