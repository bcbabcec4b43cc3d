"""Releases in each language that an extension is written in, and a host that is played to them line by line."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rukh.host.launch import plan_launch
from rukh.host.spawner import Launch
from tests.support.children import PATIENCE, PYTHON

ROOT = Path(__file__).resolve().parents[2]
SDK = ROOT / "rukh" / "sdk"
CHILD_IN_C = ROOT / "tests" / "sdk" / "child.c"

TEXT: dict[str, Any] = {"kind": "text"}
LARGEST = 2**53 - 1  # the largest integer of a value

# A result schema with a member of each scalar type that the tests below need.
DECLARED: dict[str, Any] = {
    "kind": "structured",
    "schema": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "text": {"type": "string"},
            "number": {"type": "number"},
            "integer": {"type": "integer"},
            "flag": {"type": "boolean"},
            "list": {"type": "array", "maxItems": 9, "items": {"type": "string"}},
        },
    },
}


def launch_of(directory: Path, kind: str, entry: list[str]) -> Launch:
    """The launch of a command whose release lies in `directory/release`."""
    (directory / "work").mkdir(exist_ok=True)
    record = {"runtime": {"kind": kind}, "mapping": {"kind": "managed", "entry": entry}}
    return plan_launch(
        record, str(directory / "release"), str(directory / "cache"), str(directory / "work"), {}
    )


def node_script(directory: Path, source: str) -> Launch:
    """An extension in JavaScript whose `main.mjs` is `source`."""
    release = directory / "release"
    release.mkdir(exist_ok=True)
    shutil.copy(SDK / "node" / "rukh_sdk.mjs", release)
    (release / "main.mjs").write_text(source, encoding="utf-8")
    return launch_of(directory, "node", ["main.mjs"])


def node_function(directory: Path, body: str) -> Launch:
    """The same with `body` as the function of the command `add`."""
    head = 'import { Failed, serve, text } from "./rukh_sdk.mjs";\n'
    return node_script(
        directory, f"{head}await serve({{ add: async (inputs, context) => {{\n{body}\n}} }});\n"
    )


def shell_script(directory: Path, body: str) -> Launch:
    """An extension whose script is `body` behind the line that sources `lib/rukh.sh`."""
    release = directory / "release"
    for name in ("bin", "lib"):
        (release / name).mkdir(parents=True, exist_ok=True)
    program = release / "lib" / "rukh-sh"
    shutil.copy(SDK / "sh" / "rukh_sh.py", program)
    program.chmod(0o755)
    shutil.copy(SDK / "sh" / "rukh.sh", release / "lib")
    (release / "bin" / "add").write_text(f'. "${{0%/*}}/../lib/rukh.sh"\n{body}\n', encoding="utf-8")
    return launch_of(directory, "native", ["lib/rukh-sh", "bin/add"])


def compiled(program: Path) -> Path:
    """The child in C, compiled to `program`."""
    program.parent.mkdir(parents=True, exist_ok=True)
    words = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(CHILD_IN_C)]
    subprocess.run(words, check=True, timeout=PATIENCE * 6)
    return program


@dataclass(frozen=True)
class Played:
    """What a child said to a host that was played to it, and how it ended."""

    status: int
    frames: list[dict[str, Any]]
    stdout: bytes
    stderr: bytes


def _send(host: socket.socket, lines: Sequence[bytes], ended: bool) -> None:
    try:
        host.sendall(b"".join(line + b"\n" for line in lines))
        if ended:
            host.shutdown(socket.SHUT_WR)
    except ConnectionError:
        pass  # the child has left without reading all of it


def _heard(host: socket.socket, until: bytes = b"") -> bytes:
    """What the child says, to the end of the line that holds `until`, or to its last."""
    said = b""
    try:
        while not (until and until in said and said.endswith(b"\n")):
            data = host.recv(65536)
            if not data:
                break
            said += data
    except ConnectionError:
        pass  # it has left without reading all that was sent
    return said


HELLO = b'{"type":"hello","protocol":"rukh.channel/1","session":"s"}'
EXECUTE = b'{"type":"execute","command":"add","inputs":{},"supplied":[]}'

# Puts the two descriptors in their places and becomes the child.
_PLACED = (
    "import os, sys; os.dup2({channel}, 3); os.dup2({token}, 4); os.execve({argv!r}[0], {argv!r}, {env!r})"
)


def played(
    launch: Launch, lines: Sequence[bytes], *, answers: Sequence[bytes] = (), ended: bool = False
) -> Played:
    """Run `launch` against a host that sends `lines` at once, `answers` when it is asked for an operation.

    With `ended` the host has gone behind its last line.
    """
    host, child = socket.socketpair()
    host.settimeout(PATIENCE)
    child.setsockopt(
        socket.SOL_SOCKET, socket.SO_SNDBUF, 4096
    )  # a child that says much must wait for its host
    reader, writer = os.pipe()
    os.write(writer, b"t")
    os.close(writer)
    source = _PLACED.format(channel=child.fileno(), token=reader, argv=launch.argv, env=launch.env)
    process = subprocess.Popen(
        [PYTHON, "-I", "-S", "-c", source],
        pass_fds=[child.fileno(), reader],
        cwd=launch.cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    child.close()
    os.close(reader)
    try:
        _send(host, lines, ended and not answers)
        said = _heard(host, until=b'"operation"') if answers else b""
        _send(host, answers, ended)
        said += _heard(host)
        stdout, stderr = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
        host.close()
    return Played(process.returncode, [json.loads(line) for line in said.splitlines()], stdout, stderr)
