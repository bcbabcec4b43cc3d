"""The code beside a descriptor: whether each entry leads to something, as far as one can tell without running it.

| runtime | looked at |
|---|---|
| native, and every passthrough program | the file is there and executable |
| native with `rukh-sh` | the script of the shell that it is given is there too |
| node | the script is there |
| python | the module is there and parses, has the function, and binds it to the command with its kind of result |

What is wrong with a file or its mode is placed at the entry, what is wrong in a module at its line. RK-CHECK-011
"""

from __future__ import annotations

import os
import stat
from typing import Any

from rukh.cli.admin.check_paths import shown_path
from rukh.cli.admin.check_python import Function, Module, Unreadable
from rukh.contract.diagnostics import Diagnostic, in_order
from rukh.sources.declared import Declared
from rukh.values.nearest import nearest
from rukh.values.reader import Positions

# No module that people write is larger; a larger one is left to Python.
_MODULE_BYTES = 4 << 20
# The program that a release is given for its scripts of the shell, by the name under which it is vendored.
SHELL_PROGRAM = "rukh-sh"
_WRITE_IT = "write it, or name the file that there is; a link is none"


def code_findings(descriptor: dict[str, Any], positions: Positions, release: str) -> list[Diagnostic]:
    """What is wrong with the entries of a descriptor that `check` gave back, in the directory `release`."""
    looking = _Looking(descriptor, positions, release)
    for index, command in enumerate(descriptor["commands"]):
        looking.at_entry(f"/commands/{index}/execute/mapping", command)
    return in_order(looking.found)


class _Looking:
    """One walk over the entries; each module is parsed once."""

    def __init__(self, descriptor: dict[str, Any], positions: Positions, release: str) -> None:
        self.found: list[Diagnostic] = []
        self._declared = Declared(descriptor)
        self._positions = positions
        self._release = release
        self._modules: dict[str, Module | None] = {}

    def at_entry(self, pointer: str, command: dict[str, Any]) -> None:
        mapping = command["execute"]["mapping"]
        member = "entry" if mapping["kind"] == "managed" else "program"
        pointer = f"{pointer}/{member}"
        if isinstance(mapping[member], list):
            pointer += "/0"
        file = self._file(pointer, mapping)
        if file and member == "entry" and os.path.basename(file) == SHELL_PROGRAM:
            self._script(pointer, mapping[member])
        if file and isinstance(mapping[member], str):
            module = self._module(pointer, file)
            if module:
                self._function(pointer, file, module, command)

    def _file(self, pointer: str, mapping: dict[str, Any]) -> str | None:
        """The path in the release of the entry's file; None after a finding."""
        wanted = self._declared.programs(mapping)
        for path, modes in wanted:
            mode = self._mode(path)
            if mode in modes:
                return path
            if mode:
                self._at(pointer, "RKK005", f"{path} is not executable", f"chmod +x {path}")
                return None
        names = " or ".join(path for path, _modes in wanted)
        self._at(pointer, "RKK004", f"there is no file {names}", _WRITE_IT)
        return None

    def _script(self, pointer: str, entry: list[str]) -> None:
        """What stands behind the program for the shell is a file of the release, and no word of its own."""
        place = pointer.removesuffix("0") + "1"
        if not entry[1:]:
            mend = f'name it: ["{entry[0]}", "bin/script"]'
            self._at(pointer, "RKK004", f"{entry[0]} is given no script to run", mend)
        elif not self._mode(entry[1]):
            self._at(place, "RKK004", f"there is no file {entry[1]}", self._near_file(entry[1]))

    def _near_file(self, path: str) -> str:
        directory, _, name = path.rpartition("/")
        try:
            there = sorted(os.listdir(os.path.join(self._release, directory)))
        except (OSError, ValueError):
            there = []
        near = nearest(name, [each for each in there if self._mode(f"{directory}/{each}".lstrip("/"))])
        return f"did you mean {directory + '/' if directory else ''}{near}?" if near else _WRITE_IT

    def _mode(self, path: str) -> str:
        """The mode of a regular file as a release knows it, or ""."""
        try:
            mode = os.lstat(os.path.join(self._release, path)).st_mode
        except (OSError, ValueError):
            return ""
        return ("755" if mode & 0o100 else "644") if stat.S_ISREG(mode) else ""

    def _module(self, pointer: str, path: str) -> Module | None:
        if path in self._modules:
            return self._modules[path]
        self._modules[path] = None
        file = self._shown(path)
        try:
            with open(os.path.join(self._release, path), "rb") as opened:
                source = opened.read(_MODULE_BYTES + 1)
            if len(source) <= _MODULE_BYTES:
                self._modules[path] = Module(source)
        except OSError as error:
            said = os.strerror(error.errno or 0)
            self._in_code(
                pointer, "RKK006", file, 1, 1, f"it cannot be read: {said}", "let its owner read it"
            )
        except Unreadable as fault:
            mend = "mend the line; Python itself says more"
            self._in_code(pointer, "RKK006", file, fault.line, fault.column, str(fault), mend)
        return self._modules[path]

    def _function(self, pointer: str, path: str, module: Module, command: dict[str, Any]) -> None:
        name = command["execute"]["mapping"]["entry"].partition(":")[2]
        if name not in module.names and not module.open:
            near = nearest(name, module.names)
            mend = f"did you mean {near}?" if near else f"define {name} at the top level of the module"
            message = f"the module has no {name}"
            self._in_code(pointer, "RKK007", self._shown(path), 1, 1, message, mend)
        function = module.functions.get(name)
        if function and function.certain:
            self._binding(pointer, self._shown(path), function, command)

    def _binding(self, pointer: str, file: str, function: Function, command: dict[str, Any]) -> None:
        place = (file, function.line, function.column)
        bound, wanted = function.bound, command["id"]
        declared = command["execute"].get("result", {}).get("kind")
        if bound is None or (bound.known and bound.identifier != wanted):
            message = f"it is bound to {bound.identifier!r}" if bound else "it is bound to no command"
            mend = f'decorate it with @rukh_sdk.command("{wanted}")'
            self._in_code(pointer, "RKK008", *place, message, mend)
        elif bound.known and declared and bound.result != declared:
            message = f"it is bound with result={bound.result!r}, the descriptor declares {declared!r}"
            mend = f'write @rukh_sdk.command("{wanted}"' + (
                ")" if declared == "structured" else f', result="{declared}")'
            )
            self._in_code(pointer, "RKK009", *place, message, mend)

    def _shown(self, path: str) -> str:
        return shown_path(self._release, path)

    def _at(self, pointer: str, rule: str, message: str, mend: str) -> None:
        self.found.append(Diagnostic(rule, pointer, *self._positions.at(pointer), message, mend))

    def _in_code(
        self, pointer: str, rule: str, file: str, line: int, column: int, message: str, mend: str
    ) -> None:
        self.found.append(Diagnostic(rule, pointer, line, column, message, mend, file))
