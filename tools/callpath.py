"""What a call of an installed command may import, against what the code says and what a real run did.

    python tools/callpath.py                       compares tools/callpath.txt with the source, executing nothing
    python tools/callpath.py --run HOME WORD…      runs `rukh WORD…` on that home and compares what it imported

RK-PROC-003, RK-PROC-004. The list holds two kinds of lines: modules of rukh, and modules from outside that these
import themselves. What a listed outside module loads on its own account belongs to it: a bare interpreter that imports
the listed ones is the measure, so the list holds for every Python release. Some modules are forbidden however they
arrive: each costs more than the rest of the path together, or invites work that no call needs.

The run is observed from outside the program: a driver runs the same `main` and writes `sys.modules` down when the
process leaves, by return, by exception or by `os._exit`, in the first process and in every process forked from it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.modules import Module, read_modules

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tools" / "callpath.txt"
ENTRY = "rukh.reference:main"
FORBIDDEN = ("click", "pydantic", "asyncio", "mcp", "logging", "tempfile", "shutil", "uuid")

DRIVER = """\
import os, sys
directory, entry, *words = sys.argv[1:]
def write():
    fd = os.open(directory + "/" + str(os.getpid()), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(fd, "\\n".join(sys.modules).encode())
    os.close(fd)
leave = os._exit
def observed(code):
    write()
    leave(code)
os._exit = observed
sys.argv = ["rukh", *words]
module, function = entry.split(":")
try:
    sys.exit(getattr(__import__(module, fromlist=["main"]), function)())
finally:
    write()
"""


@dataclass(frozen=True, slots=True)
class Listed:
    """The committed list: modules of rukh, and modules from outside."""

    own: frozenset[str]
    outside: frozenset[str]


@dataclass(frozen=True, slots=True)
class Observed:
    """One real run: its exit status, both streams, and every module that any of its processes had loaded."""

    status: int
    stdout: bytes
    stderr: bytes
    modules: frozenset[str]


def read_list(path: Path = LIST) -> Listed:
    """The names of the list; `#` begins a comment."""
    rows = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    names = {row for row in rows if row}
    own = frozenset(name for name in names if name.split(".")[0] == "rukh")
    return Listed(own, frozenset(names - own))


def parents(names: Iterable[str]) -> set[str]:
    """`a.b.c` stands for `a` and `a.b` too: importing it loads them."""
    return {
        ".".join(parts[: end + 1])
        for parts in (name.split(".") for name in names)
        for end in range(len(parts))
    }


def source_faults(listed: Listed, modules: Mapping[str, Module]) -> list[str]:
    """What the listed modules import when they are loaded, and the list does not hold; and names without a module."""
    own = parents(listed.own)
    faults = [f"{name}: listed, and there is no such module" for name in sorted(listed.own - modules.keys())]
    for name in sorted(own & modules.keys()):
        for one in modules[name].imports:
            target = _module_of(one.target, modules)
            if one.when == "module" and target not in own | listed.outside:
                faults.append(f"{name}:{one.line}: imports {target}, which the list does not hold")
    faults += [f"{name}: forbidden on the path of a call" for name in sorted(_forbidden(listed.outside))]
    return faults


def _module_of(target: str, modules: Mapping[str, Module]) -> str:
    """The module behind `package.name`: the longest known one, or for what is not ours the name before the last dot."""
    if target in modules or target in sys.builtin_module_names:
        return target
    head = target.rpartition(".")[0]
    return head or target


def _forbidden(names: Iterable[str]) -> set[str]:
    return {name for name in names if name.split(".")[0] in FORBIDDEN}


def beyond(listed: Listed, runs: Sequence[Observed], closure: frozenset[str]) -> list[str]:
    """What the runs loaded that is forbidden, or that neither the list nor the closure of its outside part holds."""
    seen = loaded(runs)
    own = {name for name in seen if name.split(".")[0] == "rukh"}
    strange = (own - parents(listed.own)) | (seen - own - closure)
    faults = [f"{name}: forbidden, and loaded" for name in sorted(_forbidden(seen))]
    return faults + [f"{name}: loaded, and not in the list" for name in sorted(strange - _forbidden(seen))]


def unused(listed: Listed, runs: Sequence[Observed]) -> list[str]:
    """What the list holds and none of the runs loaded: it would let something in that no call needs."""
    return [
        f"{name}: in the list, and never loaded"
        for name in sorted((listed.own | listed.outside) - loaded(runs))
    ]


def loaded(runs: Sequence[Observed]) -> frozenset[str]:
    """The modules of all processes of all runs."""
    return frozenset().union(*(run.modules for run in runs))


def outside_closure(listed: Listed, python: str = sys.executable) -> frozenset[str]:
    """What a bare interpreter holds after importing the listed outside modules, with those it holds anyway."""
    imports = "".join(f"import {name}\n" for name in sorted(listed.outside))
    program = f"import os\n{imports}import sys\nprint('\\n'.join(sys.modules))"
    result = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    return frozenset(result.stdout.split())


def observe(
    words: Sequence[str],
    environment: Mapping[str, str],
    *,
    entry: str = ENTRY,
    python: str = sys.executable,
) -> Observed:
    """Run the program on `words` and collect the modules of its processes; the children it executes are not ours."""
    with tempfile.TemporaryDirectory() as directory:
        result = subprocess.run(
            [python, "-c", DRIVER, directory, entry, *words],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        dumps = [path.read_text(encoding="utf-8").split() for path in Path(directory).iterdir()]
    modules = frozenset(name for dump in dumps for name in dump)
    return Observed(result.returncode, result.stdout, result.stderr, modules)


def _report(faults: Sequence[str], listed: Listed) -> int:
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"callpath: own {len(listed.own)} outside {len(listed.outside)} faults {len(faults)}")
    return 1 if faults else 0


def main(arguments: Sequence[str]) -> int:
    listed = read_list()
    if arguments[:1] != ["--run"]:
        return _report(source_faults(listed, read_modules(ROOT, "rukh")), listed)
    home, *words = arguments[1:]
    run = observe(words, {"RUKH_HOME": home, "HOME": home, "PATH": "/usr/bin:/bin"})
    sys.stderr.buffer.write(run.stderr)
    return _report(beyond(listed, [run], outside_closure(listed)), listed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
