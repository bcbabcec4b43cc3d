"""What is started for a command, with which environment, in which directory.

| runtime | what runs                                                                                       |
|---------|-------------------------------------------------------------------------------------------------|
| python  | the base interpreter, isolated and without site packages, on the SDK's bootstrap and the entry  |
| native  | the program of the release that the entry names                                                 |
| node    | `node` of the owner's PATH on the script of the release                                         |

A native program needs no runtime; the other two must be had and meet the release's requirement before anything is
started: RKH001, RKH002. The environment is the short list below and what the caller of this module was given by the
owner for declared names; nothing is inherited. HOME and TMPDIR are the call's own directory, so that a program that
writes there by habit leaves nothing behind: no protection, only order. RK-EXEC-021 RK-EXEC-022
"""

from __future__ import annotations

import os
import sys

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
_PRIVATE = 0o700


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
    if record["runtime"].get("requires"):
        # Its version is only known by running it, and nothing is run to find out.
        raise RukhError("RKH002", "this host cannot tell the version of node", place="/runtime/requires")
    script, *arguments = record["mapping"]["entry"]
    return [_found("node"), os.path.join(release, script), *arguments]


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
            mend="run rukh with an interpreter that meets it",
        )


def _unavailable(kind: str, message: str) -> RukhError:
    return RukhError("RKH001", message, place="/runtime/kind", mend=f"install {kind}")


def make_work_dir(path: str) -> None:
    """Make the private working directory of a call.

    One that cannot be made is not reported here: the start then fails at the step `directory`, as an attempt that
    failed, and the call has its outcome. RK-EXEC-022
    """
    try:
        os.mkdir(path, _PRIVATE)
    except OSError:
        pass


def remove_work_dir(path: str) -> bool:
    """Remove it with all that the child left in it, and follow no link; false when something could not be removed."""
    try:
        os.rmdir(path)
    except OSError:
        return _remove_tree(path)
    return True


def _remove_tree(path: str) -> bool:
    """Bottom up, without recursion: a child may nest deeper than the interpreter's stack."""
    pending = [path]
    while pending:
        directory = pending[-1]
        try:
            inside = _empty_but_directories(directory)
            if not inside:
                os.rmdir(directory)
                pending.pop()
            pending += inside
        except FileNotFoundError:
            pending.pop()
        except OSError:
            return False
    return True


def _empty_but_directories(directory: str) -> list[str]:
    """Unlink what is no directory; gives the directories. One that its maker closed is opened again first."""
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        os.chmod(directory, _PRIVATE)
    inside = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                inside.append(entry.path)
            else:
                os.unlink(entry.path)
    return inside
