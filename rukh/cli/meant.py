"""What a refused word was probably meant to be. Loaded once something is refused: not on the path of a call."""

from __future__ import annotations

import re

from rukh.cli.argv import cut
from rukh.values.nearest import nearest
from rukh.values.registry import CORE_OPTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

# Options of the application, which no command has. RK-CLI-094
_BEFORE_THE_PATH = ("--home", "--version")
# Any number as people write it: sign, zeros, whole, fraction, exponent.
_ANY_NUMBER = re.compile(r"([+-]?)(?=\.?[0-9])0*([0-9]*)\.?([0-9]*)((?:[eE][+-]?[0-9]+)?)")


def unknown_option(name: str, token: str, known: Collection[str]) -> tuple[str, str, str, str]:
    """The refusal of the option `name`, spelled within `token`, where `known` are accepted: rule, word, message, mend.

    RK-CLI-016
    """
    if name in CORE_OPTIONS:
        message = f"{name} belongs to a command, and none is named before it"
        return "RKL017", name, message, f"write {name} behind the command"
    longer = sorted(other for other in known if len(name) > 2 and other.startswith(name))[:3]
    if longer:
        return "RKL002", name, f"{cut(name)} is not a whole name", f"write {' or '.join(longer)}"
    if name in _BEFORE_THE_PATH:
        return "RKL001", name, f"{name} belongs before the command", f"write {name} in front of the command"
    likely = _likely(name, token, known)
    mend = f"did you mean {likely}?" if likely else "--help lists the options; values may follow --"
    return "RKL001", name, f"{cut(name)} is not an option here", mend


def _likely(name: str, token: str, known: Collection[str]) -> str | None:
    """The known option that was probably meant."""
    if name.startswith("--"):
        return nearest(name, (other for other in known if other.startswith("--")))
    # `-colour` is a cluster by the grammar, and more often a long option that lost a hyphen.
    for other in ("-" + token.partition("=")[0], name.swapcase()):
        if other in known:
            return other
    return None


def mend_parameter(identity: str, known: Collection[str]) -> str:
    """What to write for the unknown parameter `identity`. RK-CLI-026"""
    likely = nearest(identity, known)
    return f"did you mean {likely}?" if likely else "--help names the parameters"


def mend_number(text: str) -> str:
    """How to write the number that `text` probably means, in the JSON grammar."""
    match = _ANY_NUMBER.fullmatch(text)
    if match is None:
        return "write a number as JSON does, such as 4, -0.5 or 1e3"
    sign, whole, fraction, exponent = match.groups()
    return "write " + cut(f"{sign.strip('+')}{whole or '0'}{'.' if fraction else ''}{fraction}{exponent}")
