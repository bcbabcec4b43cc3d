"""What a release declares, checked against what it holds and against this host.

1. The descriptor passes `contract.descriptor.check` without an error: a format that is not known is unsupported,
   anything else is rejected, and the first finding is named.
2. Each command's program is in the release: a native or passthrough program as an executable file, a Node program as
   a file, a Python entry as a module or package.
3. A Python runtime requirement is met by the interpreter that will run it. RK-TRUST-024, RK-TRUST-036
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rukh.contract.descriptor import check
from rukh.contract.diagnostics import Diagnostic
from rukh.contract.versions import satisfies
from rukh.sources.release import DESCRIPTOR_FILE, Row
from rukh.values.errors import RukhError
from rukh.values.registry import EXIT_UNSUPPORTED
from rukh.values.rules import RULES


@dataclass(frozen=True, slots=True)
class Declared:
    """A checked descriptor."""

    descriptor: dict[str, Any]

    @property
    def package(self) -> str:
        """The name that the release gives itself."""
        return str(self.descriptor["package"])

    @property
    def version(self) -> str:
        """The version that the release gives itself."""
        return str(self.descriptor["version"])

    @property
    def is_python(self) -> bool:
        """Whether the host's Python runs the release."""
        return bool(self.descriptor["runtime"]["kind"] == "python")

    def check_programs(self, rows: Sequence[Row]) -> None:
        """Raises RukhError RKT062 for the first command whose program is not among the files `rows`."""
        modes = {path: mode for path, mode, _size, _digest in rows}
        for command in self.descriptor["commands"]:
            wanted = self.programs(command["execute"]["mapping"])
            if not any(modes.get(path) in accepted for path, accepted in wanted):
                names = " or ".join(path for path, _accepted in wanted)
                raise RukhError(
                    "RKT062",
                    f"the program of command {command['id']} is not there, or not executable",
                    place=names,
                    mend="put the file into the release, and chmod +x it where it is a program",
                )

    def check_runtime(self) -> None:
        """Raises RukhError RKT061 where this interpreter does not meet the requirement of a Python release."""
        requirement = self.descriptor["runtime"].get("requires")
        if self.is_python and requirement and not satisfies(requirement, sys.version_info[:3]):
            here = ".".join(str(part) for part in sys.version_info[:3])
            raise RukhError(
                "RKT061",
                f"it requires Python {requirement}, this is {here}",
                mend="run a Python that it supports",
            )

    def programs(self, mapping: dict[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
        """The files of which one must be there, each with the modes that do."""
        if mapping["kind"] == "passthrough":
            return [(mapping["program"][0], ("755",))]
        if self.is_python:
            module = mapping["entry"].partition(":")[0].replace(".", "/")
            return [(f"{module}.py", ("644", "755")), (f"{module}/__init__.py", ("644", "755"))]
        native = self.descriptor["runtime"]["kind"] == "native"
        return [(mapping["entry"][0], ("755",) if native else ("644", "755"))]


def check_descriptor(data: bytes) -> Declared:
    """The descriptor in `data`; raises RukhError RKT043 (errors) or RKT044 (unknown format)."""
    checked = check(data)
    errors = [found for found in checked.diagnostics if found.severity == "error"]
    if checked.descriptor is None or errors:
        raise _refusal(errors)
    return Declared(checked.descriptor)


def _refusal(errors: Sequence[Diagnostic]) -> RukhError:
    first = errors[0]
    rule = "RKT044" if RULES[first.rule][2] == EXIT_UNSUPPORTED else "RKT043"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    where = f" at {first.pointer}" if first.pointer else ""
    return RukhError(
        rule,
        f"{first.rule} {first.message}{where}{more}",
        place=DESCRIPTOR_FILE,
        mend=first.mend,
        line=first.line,
        column=first.column,
    )
