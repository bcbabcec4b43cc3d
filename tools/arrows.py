"""The arrow test: which room of rukh imports which. RK-PROC-001, RK-PROC-002

    python tools/arrows.py        prints every import that no arrow allows, and exits 1 if there is one

A room is a package under `rukh/`. It imports the rooms named behind it below and nothing else of rukh, wherever the
import stands: an import inside a function or for types alone is still knowledge of another room. What a room may import
from outside the standard library stands in the second table. The machines touch neither clock nor operating system.
What an extension author imports (`sdk`) is of the standard library alone, because it runs in children without us.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tools.modules import Import, Module, read_modules

ROOT = Path(__file__).resolve().parent.parent

ARROWS = {
    "values": (),
    "contract": ("values",),
    "machines": ("values",),
    "store": ("machines", "values"),
    "sources": ("store", "contract", "machines", "values"),
    "host": ("sources", "store", "machines", "contract", "values"),
    "cli": ("host", "sources", "store", "machines", "contract", "values"),
    "mcp": ("host", "sources", "store", "machines", "contract", "values"),
    "sdk": (),
    # Two modules that are no rooms: the builder of a branded command line, and the program that is built with it.
    "app": ("cli", "mcp", "host", "sources", "store", "machines", "contract", "values"),
    "reference": ("app",),
}

# `mcp` is a mode of the command line (clause M01): these modules open that door, and no other of their room knows it.
DOORS = {
    "rukh.cli.serve": ("mcp",),
    "rukh.cli.admin.endpoints": ("mcp",),
    "rukh.cli.admin.trial_home": ("mcp",),
    "rukh.cli.admin.trial_surfaces": ("mcp",),
}

OUTSIDE = {
    "contract": ("tomli_w",),
    "store": ("apsw",),
    "sources": ("cryptography",),
    "cli": ("click",),
}

# A machine decides; it neither waits nor looks at anything that it was not handed.
IMPURE = frozenset(
    "asyncio ctypes datetime fcntl io multiprocessing os pathlib random secrets select selectors shutil signal socket"
    " subprocess tempfile threading time _thread".split()
)
PURE_ROOMS = ("machines",)


def room_of(name: str) -> str:
    """`rukh.values.reader` -> `values`; the root itself belongs to no room."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


def findings(base: Path) -> list[str]:
    """One line for each import under `base/rukh` that no arrow allows, in order of file and line."""
    lines = []
    for module in read_modules(base, "rukh").values():
        where = module.path.relative_to(base)
        if room_of(module.name) not in ("", *ARROWS):
            lines.append(f"{where}: `{room_of(module.name)}` is no room")
            continue
        lines += [f"{where}:{line}: {text}" for line, text in _faults(module, _own_names(base))]
    return lines


def _own_names(base: Path) -> set[str]:
    """Top-level names that the sdk offers its children: its own modules."""
    return (
        {path.stem for path in (base / "rukh" / "sdk").iterdir()}
        if (base / "rukh" / "sdk").is_dir()
        else set()
    )


def _faults(module: Module, sdk_names: set[str]) -> Iterator[tuple[int, str]]:
    room = room_of(module.name)
    for one in module.imports:
        top = one.target.split(".")[0]
        if top == "rukh":
            text = _arrow_fault(room, one, DOORS.get(module.name, ()))
        elif top in sys.stdlib_module_names:
            text = f"{room} is pure and may not import {top}" if room in PURE_ROOMS and top in IMPURE else ""
        elif room == "sdk" and top in sdk_names:
            text = ""
        else:
            text = "" if top in OUTSIDE.get(room, ()) else f"{room or 'rukh'} may not import {top}"
        if text:
            yield one.line, text


def _arrow_fault(room: str, one: Import, doors: tuple[str, ...]) -> str:
    target = room_of(one.target)
    if target == room and room:
        return ""
    if room == "sdk":
        return "sdk may not import rukh"
    # `from rukh import __version__` names no room.
    if target not in ARROWS or target in ARROWS.get(room, ()) or target in doors:
        return ""
    return f"{room or 'rukh'} may not import {target}"


def main() -> int:
    lines = findings(ROOT)
    print(*lines, sep="\n", end="\n" if lines else "")
    modules = read_modules(ROOT, "rukh")
    imports = sum(len(module.imports) for module in modules.values())
    print(f"arrows: modules {len(modules)} imports {imports} faults {len(lines)}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
