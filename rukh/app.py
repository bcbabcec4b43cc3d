"""The builder of a branded command line: a name, a version, and everything behind it. {S05 S07}

    from rukh.app import Application

    def main() -> None:
        Application("acme", "1.4.0").main()

The core imposes no executable: the reference CLI in `rukh.reference` is such an application like any other. Its home is
`<NAME>_HOME` or the user data directory under its own name, so that two applications never share one by accident.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

# The status of a command line that its caller stopped, as in the registry; to be had without an import.
_CANCELLED = 130


class Application:
    """One named command line. `program` is the argument vector that starts it again, for pasted configurations.

    `exit_codes` gives classes of outcomes another exit status, by the class's name in the registry: {"denied": 3}.
    Raises RKL027 for a name that is no word of lower-case letters, digits and hyphens, RKL032 for a class that there is
    not, and RKL033 for a number that a class cannot have. RK-CLI-080
    """

    def __init__(
        self,
        name: str,
        version: str,
        *,
        program: list[str] | None = None,
        exit_codes: Mapping[str, int] | None = None,
    ) -> None:
        if not _is_name(name):
            from rukh.values.errors import RukhError

            raise RukhError("RKL027", f"{name!r} is no name of an application", mend="use [a-z][a-z0-9-]*")
        self.name = name
        self.version = version
        self.program = program
        self.exits: dict[int, int] = {}
        if exit_codes:
            from rukh.cli.exits import overrides

            self.exits = overrides(exit_codes)

    def run(self, argv: list[bytes] | None = None) -> int:
        """Run one command line (without the program's own name); the exit status.

        It is negative for the signal that ended a passthrough program: `main` ends by that signal, others may not.
        """
        from rukh.cli.main import run

        open_missing_streams()
        words = [os.fsencode(word) for word in sys.argv[1:]] if argv is None else argv
        program = self.program or this_program()
        return run(self.name, self.version, program, words, os.environ, self.exits)

    def main(self) -> NoReturn:
        """Run this process's command line and leave with its exit status.

        Leaves without the interpreter's teardown, which would cost more than many a call: nothing is open that an
        ordinary end would save.
        """
        try:
            status = self.run()
            _flush()
        except KeyboardInterrupt:
            # Before the first word was looked at, or behind the last answer. RK-CLI-084
            status = self.exits.get(_CANCELLED, _CANCELLED)
        if status < 0:
            from rukh.host.passthrough import die_by

            die_by(-status)
        os._exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            pass  # the reader went away; there is nobody left to tell


def _is_name(name: str) -> bool:
    return name.isascii() and name[:1].islower() and not name.strip("abcdefghijklmnopqrstuvwxyz0123456789-")


def open_missing_streams() -> None:
    """Open the null device for each of the descriptors 0 to 2 that is closed.

    Whatever is opened next would otherwise become standard output, and be written to. RK-ADM-013
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def this_program() -> list[str]:
    """The argument vector that starts this process's application again."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if spec is not None:
        return [sys.executable, "-m", spec.name.removesuffix(".__main__")]
    path = os.path.abspath(sys.argv[0])
    return [path] if os.access(path, os.X_OK) else [sys.executable, path]
