"""Terminals and pipes: where there is colour, that nothing asks, and what becomes of a reader that goes away."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pty
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.homes import PATIENCE, PROGRAM, InstalledHome

ESCAPE = b"\x1b"
MODULE = '''"""Writes and reads as it is told."""
import os
import sys

import rukh_sdk


@rukh_sdk.command("flood", result="text")
def flood(inputs, context):
    """Lines without end, until nobody reads them."""
    while True:
        print("x" * 1000)


@rukh_sdk.command("pour", result="text")
def pour(inputs, context):
    for number in range(inputs["lines"]):
        print(f"{number:07d}")
    return ""


@rukh_sdk.command("raw", result="text")
def raw(inputs, context):
    os.write(1, bytes(range(256)))
    return ""


@rukh_sdk.command("careful", result="text")
def careful(inputs, context):
    """Handles what the others leave to the SDK."""
    try:
        while True:
            print("x" * 1000, flush=True)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")
    return "stopped"
'''


def _command(name: str, parameters: list[dict[str, object]] | None = None) -> dict[str, object]:
    return {
        "id": name,
        "path": ["pipe", name],
        "summary": f"Does {name}",
        "parameters": parameters or [],
        "execute": {
            "mapping": {"kind": "managed", "entry": f"acme_pipes:{name}"},
            "result": {"kind": "text"},
        },
    }


@pytest.fixture(scope="module")
def pipes(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    home = InstalledHome(tmp_path_factory.mktemp("pipes"), "acme.pipes")
    lines = {"id": "lines", "form": "positional", "required": True, "type": {"kind": "integer", "minimum": 0}}
    home.install(
        {"acme_pipes.py": MODULE},
        commands=[_command("flood"), _command("pour", [lines]), _command("raw"), _command("careful")],
    )
    return home


def shown(
    home: InstalledHome, words: list[str], *, terminals: tuple[int, ...], variables: Mapping[str, str]
) -> tuple[int, dict[int, bytes]]:
    """The status, and what came to descriptors 1 and 2, of which `terminals` are terminals and the others pipes."""
    ends = {number: pty.openpty() if number in terminals else os.pipe() for number in (1, 2)}
    environment = {key: value for key, value in home.environment().items() if key not in ("NO_COLOR", "CI")}
    process = subprocess.Popen(
        [PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        stdout=ends[1][1],
        stderr=ends[2][1],
        env={**environment, "TERM": "xterm", **variables},
    )
    for _, inner in ends.values():
        os.close(inner)
    found = {number: _drained(outer) for number, (outer, _) in ends.items()}
    return process.wait(PATIENCE), found


def _drained(descriptor: int) -> bytes:
    """All of it; a terminal whose other side is closed ends by an error."""
    data = b""
    try:
        while chunk := os.read(descriptor, 65536):
            data += chunk
    except OSError as error:
        assert error.errno == errno.EIO
    finally:
        os.close(descriptor)
    return data


# --- colour ---

COMBINATIONS: list[tuple[int, ...]] = [(), (1,), (2,), (1, 2)]
# name: (further variables, whether a terminal gets colour)
SETTINGS = {
    "as it is": ({}, True),
    "CI": ({"CI": "1"}, True),
    "an empty NO_COLOR": ({"NO_COLOR": ""}, True),
    "NO_COLOR": ({"NO_COLOR": "1"}, False),
    "a dumb terminal": ({"TERM": "dumb"}, False),
    "no TERM": ({"TERM": ""}, False),
}


@pytest.mark.requirement("RK-CLI-074", "RK-CLI-075")
@pytest.mark.parametrize("terminals", COMBINATIONS, ids=str)
@pytest.mark.parametrize("name", SETTINGS)
def test_only_a_terminal_gets_colour_and_each_stream_is_decided_apart(
    pipes: InstalledHome, name: str, terminals: tuple[int, ...]
) -> None:
    """Help goes to standard output, a refusal to standard error; no one of them waits for an answer."""
    variables, coloured = SETTINGS[name]
    status, help_page = shown(pipes, ["--help"], terminals=terminals, variables=variables)
    assert (0, b"") == (status, help_page[2])
    assert (coloured and 1 in terminals) is (ESCAPE in help_page[1])
    status, refusal = shown(pipes, ["pipe", "nowhere"], terminals=terminals, variables=variables)
    assert (65, b"") == (status, refusal[1])
    assert (coloured and 2 in terminals) is (ESCAPE in refusal[2])


@pytest.mark.requirement("RK-CLI-075", "RK-CLI-079")
@pytest.mark.parametrize("words", [["pipe", "pour", "1"], ["list"], ["install", "acme.none"]], ids=str)
def test_a_terminal_that_nobody_types_at_keeps_nothing_waiting(
    pipes: InstalledHome, words: list[str]
) -> None:
    """Standard input stays open and silent: whoever read it, or asked there, would never end."""
    outer, inner = pty.openpty()
    done = subprocess.run(
        [PROGRAM, *words],
        stdin=inner,
        capture_output=True,
        env=pipes.environment(),
        timeout=PATIENCE,
        check=False,
    )
    os.close(inner)
    os.close(outer)
    assert done.returncode in (0, 69)


# --- readers that go away ---


def gone(home: InstalledHome, *words: str, first: int = 1) -> tuple[int, bytes]:
    """The status and the standard error of a run whose reader takes `first` bytes and leaves."""
    process = subprocess.Popen(
        [PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=home.environment()
    )
    assert process.stdout and process.stderr
    os.read(process.stdout.fileno(), first) if first else None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    return process.wait(PATIENCE), said


@pytest.mark.requirement("RK-CLI-076")
@pytest.mark.parametrize("words", [["list"], ["--help"], ["list", "--json"], ["check", "--rules"]], ids=str)
def test_a_reader_that_leaves_what_the_host_writes_changes_nothing(
    pipes: InstalledHome, words: list[str]
) -> None:
    assert (0, b"") == gone(pipes, *words, first=0)


@pytest.mark.requirement("RK-CLI-077", "RK-SDK-008")
def test_a_child_without_a_reader_ends_quietly_by_sigpipe_and_so_does_its_host(pipes: InstalledHome) -> None:
    assert (-signal.SIGPIPE, b"") == gone(pipes, "pipe", "flood")


@pytest.mark.requirement("RK-SDK-008", "RK-CLI-077")
def test_a_function_that_handles_a_lost_reader_goes_on_to_its_result(pipes: InstalledHome) -> None:
    assert (0, b"") == gone(pipes, "pipe", "careful")


@pytest.mark.requirement("RK-CLI-077")
def test_under_json_the_outcome_of_a_child_without_a_reader_is_told(pipes: InstalledHome) -> None:
    """There the child's output goes to standard error, and what stands last there is the failure object."""
    process = subprocess.Popen(
        [PROGRAM, "pipe", "flood", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=pipes.environment(),
    )
    assert process.stdout and process.stderr
    os.read(process.stderr.fileno(), 1)
    process.stderr.close()
    assert b"" == process.stdout.read()
    process.stdout.close()
    assert 70 == process.wait(PATIENCE)


# --- slow readers, bytes, descriptors that do not wait ---


@pytest.mark.requirement("RK-CLI-079", "RK-CLI-078")
def test_every_byte_reaches_a_reader_that_takes_its_time(pipes: InstalledHome) -> None:
    """Ten times what a pipe holds, read a little at a time: nothing is dropped and nothing reordered."""
    process = subprocess.Popen(
        [PROGRAM, "pipe", "pour", "100000"], stdout=subprocess.PIPE, env=pipes.environment()
    )
    assert process.stdout
    data = b""
    while chunk := os.read(process.stdout.fileno(), 4096):
        data += chunk
    process.stdout.close()
    assert 0 == process.wait(PATIENCE)
    assert [b"%07d" % number for number in range(100_000)] == data.split()


@pytest.mark.requirement("RK-CLI-078")
def test_what_a_child_writes_is_handed_on_byte_for_byte(pipes: InstalledHome) -> None:
    assert bytes(range(256)) == pipes.run("pipe", "raw").stdout


@pytest.mark.requirement("RK-CLI-078")
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["plain", "json"])
def test_a_byte_of_the_environment_that_is_no_text_is_shown_by_an_escape(
    tmp_path: Path, form: list[str]
) -> None:
    done = subprocess.run(
        [PROGRAM, "list", *form],
        env={**os.environb, b"RUKH_HOME": os.fsencode(tmp_path) + b"/no\xfftext"},
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (64, b"") == (done.returncode, done.stdout)
    assert b"\\udcff" in done.stderr.replace(b"\\\\", b"\\")
    if form:
        assert "RKS002" == json.loads(done.stderr)["error"]["code"]
    else:
        assert b"rule:  RKS002" in done.stderr


@pytest.mark.requirement("RK-CLI-079")
def test_output_is_whole_also_through_a_descriptor_that_does_not_wait(pipes: InstalledHome) -> None:
    """Whoever shares the pipe has made it one that does not wait. It holds one page, which is free again only when its
    last byte was taken: byte by byte, that is long behind the next write."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 1)
    os.set_blocking(writing, False)
    process = subprocess.Popen(
        [PROGRAM, "check", "--rules", "--json"], stdout=writing, env=pipes.environment()
    )
    os.close(writing)
    data = bytearray()
    while byte := os.read(reading, 1):
        data += byte
    os.close(reading)
    assert 0 == process.wait(PATIENCE)
    assert len(json.loads(data)) and len(data) > 4096
