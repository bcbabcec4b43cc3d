"""An extension whose passthrough programs tell what they were given, and end, wait and listen as they are told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from rukh.store.home import open_home
from rukh.store.store import Store
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.stubs import apply

PACKAGE = "acme.tools"
PYTHON = getattr(sys, "_base_executable", "") or sys.executable

PROBE = (
    f"#!{PYTHON} -IS\n"
    + r"""
import json, os, resource, select, signal, sys

mode, *words = [os.fsencode(word) for word in sys.argv[1:]] or [b"tell"]

def tell():
    "Everything that a program can be given, as one JSON document."
    links = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            links[number] = os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:
            pass  # the one that listed them
    umask = os.umask(0)
    # As it was handed over: an interpreter adds to its own.
    environment = open("/proc/self/environ", "rb").read().split(b"\0")[:-1]
    print(json.dumps({
        "words": [word.hex() for word in words],
        "file": sys.argv[0],
        "cwd": os.getcwd(),
        "environment": {name.hex(): value.hex() for name, value in (entry.split(b"=", 1) for entry in environment)},
        "descriptors": links,
        "umask": umask,
        "limits": resource.getrlimit(resource.RLIMIT_NOFILE),
        "parent": os.getppid(),
        "group": os.getpgid(0),
        "session": os.getsid(0),
    }))

def say(text):
    os.write(1, text.encode() + b"\n")

def listen():
    "Say each signal that arrives, and obey each line of standard input."
    heard = [int(word) for word in words] or [1, 2, 3, 10, 12, 15, 18, 28, 34]
    arrived, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)  # a handler alone may be called only behind the next read
    for number in heard:
        signal.signal(number, lambda number, frame: None)
    say(f"<ready {os.getpid()} {os.getppid()}>")
    unread = b""
    while True:
        for source in select.select([arrived, 0], [], [])[0]:
            data = os.read(source, 4096)
            if source == arrived:
                for number in data:
                    say(f"<got {number}>")
            elif data:
                unread += data
            else:
                return
        *lines, unread = unread.split(b"\n")
        for line in lines:
            obey(line.decode())

def obey(line):
    verb, *rest = line.split()
    if verb == "exit":
        sys.exit(int(rest[0]))
    if verb == "group":
        os.killpg(0, int(rest[0]))
    say(f"<{line} done>")

def die(number):
    if number != 9:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)

if mode == b"tell":
    tell()
elif mode == b"exit":
    print("out", flush=True)
    os._exit(int(words[0]))
elif mode == b"die":
    die(int(words[0]))
elif mode == b"read":
    say(f"<ready {os.getpid()} {os.getppid()}>")
    say(f"<read {sys.stdin.readline().strip()}>")
elif mode == b"listen":
    listen()
elif mode == b"apart":
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    os.kill(os.getpid(), signal.SIGSTOP)
    say("<back>")
elif mode == b"leave":
    if os.fork() == 0:
        os.setsid()
        say(f"<left {os.read(0, 1).decode()}>")
"""
)

FILES = {
    "bin/probe": PROBE,
    "bin/status": "#!/bin/sh\nexec cat /proc/self/status\n",
    "bin/flow": "#!/bin/sh\nexec yes\n",
    "bin/lost": "#!/nowhere/interpreter\n",
    "bin/nothing": "#!/bin/true\n",
}


def command(identity: str, *program: str, **more: Any) -> dict[str, Any]:
    """A passthrough command `tools IDENTITY`."""
    execute = {"mapping": {"kind": "passthrough", "program": list(program)}, **more.pop("execute", {})}
    return {
        "id": identity,
        "path": ["tools", identity],
        "summary": f"The program {identity}",
        "execute": execute,
        **more,
    }


def commands() -> list[dict[str, Any]]:
    """One for each program; `probe` has an alias and a declared variable, `fixed` words of its own."""
    requires = {"requires": {"environment": ["PROBE_PLACE", "EDITOR", "UNSET"]}}
    return [
        command("probe", "bin/probe", aliases=[["p"]], execute=requires),
        command("fixed", "bin/probe", "tell", "--fixed", "two words"),
        command("status", "bin/status"),
        command("flow", "bin/flow"),
        command("lost", "bin/lost"),
        command("nothing", "bin/nothing"),
        command("ungranted", "bin/probe"),
        command("forbidden", "bin/probe"),
    ]


OWNER = """
format = "rukh.profile/1"

[[rules]]
action = "run"
actors = ["*"]
commands = ["acme.tools/forbidden"]
decision = "deny"

[[rules]]
action = "run"
actors = ["user:local"]
commands = ["*"]
decision = "allow"

[environment."acme.tools"]
PROBE_PLACE = "~/place"
EDITOR = "owners-editor"
"""
GRANT = """
[passthrough."acme.tools/{command}"]
arguments = "unrestricted"
"""
GRANTED = ("probe", "fixed", "status", "flow", "lost", "nothing", "forbidden")


def probing_home(place: Path) -> InstalledHome:
    """A home with that extension; all of its programs are granted but `ungranted`, all are allowed but `forbidden`."""
    home = InstalledHome(place, PACKAGE)
    home.install(FILES, commands=commands(), runtime={"kind": "native"})
    apply(home, OWNER + "".join(GRANT.format(command=name) for name in GRANTED))
    return home


def told(output: bytes) -> dict[str, Any]:
    """What `tell` said, with words and environment as bytes."""
    document: dict[str, Any] = json.loads(output)
    document["words"] = [bytes.fromhex(word) for word in document["words"]]
    pairs = document["environment"].items()
    document["environment"] = {bytes.fromhex(name): bytes.fromhex(value) for name, value in pairs}
    return document


_CALLS = """
SELECT outcome, envelope, revision FROM invocation JOIN audit ON about = id
WHERE event IN ('invocation.captured', 'invocation.rejected') ORDER BY sequence DESC
"""


def rows_of(home: InstalledHome) -> list[tuple[Any, ...]]:
    """Outcome, envelope and revision of every call, the latest first."""
    store = Store(open_home(home.path, create=False))
    rows = store.database.rows(_CALLS)
    store.close()
    return rows


def recorded(home: InstalledHome) -> list[tuple[str | None, str | None]]:
    """Outcome and code of the reason of every call, the latest first."""
    return [
        (outcome, json.loads(text or "{}").get("reason", {}).get("code"))
        for outcome, text, _revision in rows_of(home)
    ]


def start(home: InstalledHome, *words: str | bytes, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """One command line, with whatever `subprocess.run` can give it."""
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "env": home.environment(), **more}
    return subprocess.run([PROGRAM, *words], timeout=PATIENCE, check=False, **options)
