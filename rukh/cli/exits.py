"""Exit codes that an application gives its own numbers: one for a class of outcomes, by the class's name. {S10}

The registry's numbers stand for their classes everywhere in the core, each number for one class. They become the
application's in one place, `Context.status`; what a command declares as its own status, and what a passthrough program
ends with, never passes there. RK-CLI-080 … RK-CLI-083
"""

from __future__ import annotations

from rukh.values.errors import RukhError
from rukh.values.registry import EXIT_CODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_HIGHEST = 255  # of a status of POSIX: eight bits
_SUCCEEDED = "succeeded"


def overrides(exit_codes: Mapping[str, int]) -> dict[int, int]:
    """The application's number by the registry's number of the class.

    Raises RKL032 for a name that is no class, naming the nearest, and RKL033 for a number that is no status or would be
    taken for success: 0 is of `succeeded` alone, which has no other; every other class has 1 to 255.
    """
    found: dict[int, int] = {}
    for name, number in exit_codes.items():
        if name not in EXIT_CODES:
            raise _unknown(name)
        if type(number) is not int or not 0 <= number <= _HIGHEST or (number == 0) != (name == _SUCCEEDED):
            wanted = "0" if name == _SUCCEEDED else f"1 to {_HIGHEST}"
            raise RukhError(
                "RKL033", f"{name} cannot end with {number!r}", place=name, mend=f"give it {wanted}"
            )
        found[EXIT_CODES[name]] = number
    return found


def _unknown(name: str) -> RukhError:
    from rukh.values.nearest import nearest

    likely = nearest(str(name), EXIT_CODES)
    mend = f"did you mean {likely}?" if likely else f"write one of {', '.join(EXIT_CODES)}"
    return RukhError("RKL032", f"{name!r} is no class of outcomes", place=str(name), mend=mend)
