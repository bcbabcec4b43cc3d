"""What is started for a command, and with which environment.

| runtime | what runs                                                                                       |
|---------|-------------------------------------------------------------------------------------------------|
| python  | the base interpreter, isolated and without site packages, on the SDK's bootstrap and the entry  |
| native  | the program of the release that the entry names                                                 |
| node    | `node` of the owner's PATH on the script of the release                                         |

A native program needs no runtime; the other two must be had and meet the release's requirement before anything is
started: RKH001, RKH002. Which version a `node` has, only itself can say: it is asked once, and the answer is kept under
the identity of its file (path, device, number, size, time of change), because the question costs more than many a call.
A release that requires nothing asks nothing. RK-AUTHOR-010

The environment is the short list below and what the caller of this module was given by the
owner for declared names; nothing is inherited. HOME and TMPDIR are the call's own directory, so that a program that
writes there by habit leaves nothing behind: no protection, only order. RK-EXEC-021 RK-EXEC-022
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from rukh.contract.versions import satisfies
from rukh.host.spawner import Launch
from rukh.values.errors import RukhError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# What every child gets; HOME and TMPDIR are added. RK-EXEC-021
BASE_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
# Isolated, without site packages, UTF-8 whatever LANG says.
_PYTHON_OPTIONS = ("-I", "-S", "-X", "utf8")
_NODE_SECONDS = 5.0  # it answers in 50 ms
_ANSWER_BYTES = 256
_KEPT_BYTES = 8192  # a path and five numbers


def bootstrap_path() -> str:
    """The script that takes the session of a Python child."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "sdk", "bootstrap.py")


def plan_launch(
    record: Mapping[str, Any],
    release_dir: str,
    cache_dir: str,
    work_dir: str,
    environment: Mapping[str, str],
    python: str | None = None,
) -> Launch:
    """The launch of `record` (a compiled managed command) from its release; nothing is made or started.

    `environment` holds the declared variables that the owner gives; `python` replaces the base interpreter. Raises
    RKH001 when the runtime is not there, RKH002 when it does not meet the release's requirement.
    """
    kind = record["runtime"]["kind"]
    argv = _PLANS[kind](record, release_dir, cache_dir, python)
    own = {"HOME": work_dir, "TMPDIR": work_dir}
    return Launch(argv, {**BASE_ENVIRONMENT, **own, **environment}, work_dir)


def _plan_python(record: Mapping[str, Any], release: str, cache: str, python: str | None) -> list[str]:
    interpreter = python or getattr(sys, "_base_executable", "") or sys.executable
    if not os.access(interpreter, os.X_OK):
        raise _unavailable("python", f"{interpreter or 'the interpreter'} cannot be run")
    if python is None:
        _check_version("python", record, sys.version_info[:3])
    return [interpreter, *_PYTHON_OPTIONS, bootstrap_path(), release, cache, record["mapping"]["entry"]]


def _plan_native(record: Mapping[str, Any], release: str, cache: str, python: str | None) -> list[str]:
    program, *arguments = record["mapping"]["entry"]
    return [os.path.join(release, program), *arguments]


def _plan_node(record: Mapping[str, Any], release: str, cache: str, python: str | None) -> list[str]:
    program = _found("node")
    if record["runtime"].get("requires"):
        _check_version("node", record, node_version(program, os.path.dirname(cache)))
    script, *arguments = record["mapping"]["entry"]
    return [program, os.path.join(release, script), *arguments]


_PLANS = {"python": _plan_python, "native": _plan_native, "node": _plan_node}


def _found(name: str) -> str:
    """The program `name` on the owner's PATH; entries that are not absolute are passed over."""
    for directory in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(directory, name)
        if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise _unavailable(name, f"{name} is not on the PATH")


def _check_version(kind: str, record: Mapping[str, Any], version: tuple[int, ...]) -> None:
    requirement = record["runtime"].get("requires")
    if requirement and not satisfies(requirement, version):
        spoken = ".".join(str(part) for part in version)
        raise RukhError(
            "RKH002",
            f"the release wants {kind} {requirement}, here is {spoken}",
            place="/runtime/requires",
            mend=f"install a {kind} that meets it",
        )


def _unavailable(kind: str, message: str) -> RukhError:
    return RukhError("RKH001", message, place="/runtime/kind", mend=f"install {kind}")


def node_version(program: str, cache: str) -> tuple[int, ...]:
    """The version of the Node at `program`, asked of it or known from the file `node-version` of the directory `cache`.

    Raises RKH002 where it does not say. RK-AUTHOR-010
    """
    found = os.stat(program)
    identity = (program, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    key = " ".join(str(part) for part in identity).encode(errors="surrogateescape")
    kept = os.path.join(cache, "node-version")
    answer = _kept_answer(kept, key)
    version = _version_in(answer)
    if not version:
        answer = _asked(program)
        version = _version_in(answer)
        if not version:
            raise RukhError(
                "RKH002",
                f"{program} does not tell its version",
                place="/runtime/requires",
                mend="install a node that answers node --version",
            )
        _keep_answer(kept, key, answer)
    return version


def _version_in(answer: bytes) -> tuple[int, ...]:
    """(20, 11, 1) of `v20.11.1`, a mark of a pre-release behind it or not; empty for anything else."""
    word = answer.decode("ascii", "replace").strip()
    numbers = word[1:].partition("-")[0].split(".")
    fits = word[:1] == "v" and len(numbers) == 3 and all(len(n) < 7 and n.isdecimal() for n in numbers)
    return tuple(int(number) for number in numbers) if fits else ()


def _kept_answer(path: str, key: bytes) -> bytes:
    """What that very file answered before; empty where it is not known."""
    try:
        with open(path, "rb", buffering=0) as file:
            known, _, answer = (file.read(_KEPT_BYTES) or b"").partition(b"\n")
    except OSError:
        return b""
    return answer if known == key else b""


def _keep_answer(path: str, key: bytes, answer: bytes) -> None:
    """Replace the file as a whole; where that cannot be done, the next call asks again."""
    fresh = f"{path}.{os.getpid()}.{time.monotonic_ns()}"
    try:
        with open(fresh, "xb", buffering=0) as file:
            file.write(key + b"\n" + answer)
        os.rename(fresh, path)
    except OSError:
        _unlink(fresh)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _asked(program: str) -> bytes:
    """What `program --version` writes within its time, with the environment of a child; empty where it fails."""
    reader, writer = os.pipe()
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    actions = [
        (os.POSIX_SPAWN_DUP2, null, 0),
        (os.POSIX_SPAWN_DUP2, writer, 1),
        (os.POSIX_SPAWN_DUP2, null, 2),
    ]
    try:
        process = os.posix_spawn(program, [program, "--version"], BASE_ENVIRONMENT, file_actions=actions)
    except OSError:
        os.close(reader)
        return b""
    finally:
        os.close(writer)
        os.close(null)
    answer = _heard(reader)
    os.close(reader)
    os.kill(process, signal.SIGKILL)  # of one that has left, nothing is hit: it was not waited for yet
    os.waitpid(process, 0)
    return answer


def _heard(reader: int) -> bytes:
    """All that comes until the end of the pipe; empty where the time or the bytes run out."""
    end = time.monotonic() + _NODE_SECONDS
    answer = b""
    waiting = select.poll()
    waiting.register(reader, select.POLLIN)
    while len(answer) <= _ANSWER_BYTES and waiting.poll(max(0.0, end - time.monotonic()) * 1000):
        data = os.read(reader, _ANSWER_BYTES)
        if not data:
            return answer
        answer += data
    return b""
