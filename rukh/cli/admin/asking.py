"""The one question of this program: what an update changes, and whether it may. RK-CONS-006 … RK-CONS-009

1. It is asked where a person can answer: standard input and standard error are terminals, in the foreground, neither
   in `CI` nor under `--json`. Everywhere else there is nobody, and the update is refused.
2. It is asked on standard error. What was typed before it stood there does not answer it.
3. `y` and `yes` are a yes. Anything else is a no, the end of the input too.
4. Of each kind of change only so many lines are shown, with the number of all: no kind can hide another.
5. What a publisher wrote is shown in quotes and with escapes, where it is more than plain words.
"""

from __future__ import annotations

import os
import re
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rukh.cli.output import STDERR, write_err
from rukh.cli.text import printable
from rukh.contract.difference import KINDS, Alteration, Difference
from rukh.sources.consent import Ask, Unconsented
from rukh.values.canonical import canonical
from rukh.values.registry import LIMIT_SHOWN_CHANGES

STDIN = 0
_YES = ("y", "yes")
_ANSWER_BYTES = 1000  # a longer line is no answer
_VALUE = 120  # characters of one value; a whole key or digest has 64
_PLAIN = re.compile("[A-Za-z0-9](?: ?[A-Za-z0-9._/@:-])*")
_ASKED = "RKT072"  # the refusal behind an answer, which was given with the difference in view


def asking(as_json: bool, environ: Mapping[str, str] = os.environ) -> Ask:
    """What asks the owner at the terminal, for one verb."""

    def ask(difference: Difference) -> bool | None:
        return _answer(difference) if _somebody(as_json, environ) else None

    return ask


@contextmanager
def showing(as_json: bool) -> Iterator[None]:
    """A refusal for want of consent shows the difference first; under `--json` it is part of the refusal itself."""
    try:
        yield
    except Unconsented as error:
        if not as_json and error.rule != _ASKED:
            write_err(shown(error.difference).encode())
        raise


def shown(difference: Difference) -> str:
    """The difference as lines for a person. RK-CONS-009"""
    lines = [f"{difference.package} {difference.before} -> {difference.after} changes:"]
    for kind in KINDS:
        changes = [change for change in difference.changes if change.kind == kind]
        if changes:
            lines += [f"  {kind} ({len(changes)})", *_listed(changes)]
    return "\n".join([*lines, f"digest {difference.digest}"]) + "\n"


def _listed(changes: list[Alteration]) -> list[str]:
    lines = [f"    {_line(change)}" for change in changes[:LIMIT_SHOWN_CHANGES]]
    more = len(changes) - LIMIT_SHOWN_CHANGES
    return [*lines, f"    ... and {more} more, which --json shows"] if more > 0 else lines


def _line(change: Alteration) -> str:
    """`+ acme.notes/add  variable: NOTES_TOKEN`; where something became another thing, both with an arrow."""
    document = change.document()
    values = [_value(document[name]) for name in ("from", "to") if name in document]
    return f"{change.sign} {change.about}  {printable(change.what)}: {' -> '.join(values)}"


def _value(value: Any) -> str:
    if isinstance(value, list) and value and all(_is_plain(item) for item in value):
        text = ", ".join(value)
    else:
        text = value if _is_plain(value) else printable(canonical(value))
    return text if len(text) <= _VALUE else f"{text[:_VALUE]}..."


def _is_plain(value: Any) -> bool:
    return isinstance(value, str) and _PLAIN.fullmatch(value) is not None


def _somebody(as_json: bool, environ: Mapping[str, str]) -> bool:
    """RK-CONS-006"""
    if as_json or environ.get("CI") or not (os.isatty(STDIN) and os.isatty(STDERR)):
        return False
    try:
        return os.tcgetpgrp(STDIN) == os.getpgrp()
    except OSError:
        return True  # a terminal of no session of ours: no other job has it


def _answer(difference: Difference) -> bool:
    write_err(shown(difference).encode())
    termios.tcflush(STDIN, termios.TCIFLUSH)
    write_err(f"Publish {difference.package} {difference.after}? [y/N] ".encode())
    return _line_typed().strip().lower() in _YES


def _line_typed() -> str:
    """The line that is typed now; "" where the input ends, or the terminal goes away, before it is whole."""
    typed = b""
    while not typed.endswith(b"\n") and len(typed) < _ANSWER_BYTES:
        try:
            more = os.read(STDIN, _ANSWER_BYTES)
        except OSError:
            more = b""
        if not more:
            write_err(b"\n")
            return ""
        typed += more
    return typed.decode("utf-8", "replace")
