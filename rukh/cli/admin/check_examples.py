"""Examples, tried: the words of each are read by the lexer and judged by the validator that a call would meet.

An example stands in help, and people and agents copy it; one that its own command refuses is worse than none. Nothing
is run. What an option reads from a file is not looked at, and `--help` ends the trial as it ends a call. RK-CHECK-012
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rukh.cli.lexer import lex
from rukh.contract.compile import compile_commands
from rukh.contract.diagnostics import Diagnostic
from rukh.contract.parameters import bind
from rukh.values.errors import RukhError
from rukh.values.reader import Positions

_WORD = re.compile(r"argument ([0-9]+)(?::|$)")


def example_findings(descriptor: dict[str, Any], positions: Positions) -> list[Diagnostic]:
    """One finding for each example that its command refuses; `descriptor` is one that `check` gave back."""
    found = []
    for index, record in enumerate(compile_commands(descriptor, [])):
        for number, refusal, word in _refused(record):
            pointer = f"/commands/{index}/examples/{number}/argv" + ("" if word is None else f"/{word}")
            message = f"{refusal.rule} {refusal.message}"
            mend = refusal.mend or "write the example as it would be called"
            found.append(Diagnostic("RKK010", pointer, *positions.at(pointer), message, mend))
    return found


def _refused(record: dict[str, Any]) -> Iterator[tuple[int, RukhError, int | None]]:
    """Number of the example, its refusal, and the index of the word at fault where one word is."""
    if record["mapping"]["kind"] != "managed":
        return
    for number, example in enumerate(record["examples"]):
        try:
            _try(record, example["argv"])
        except RukhError as refusal:
            place = _WORD.match(refusal.place)
            word = int(place[1]) - 1 if place else None
            yield number, refusal, word if word is not None and word < len(example["argv"]) else None


def _try(record: dict[str, Any], argv: list[str]) -> None:
    """Raises RukhError as a call with these words would before it starts."""
    ways = [way for way in (record["path"], *record["aliases"]) if argv[: len(way)] == way]
    before = max(map(len, ways))
    lexed = lex(record, argv[before:], before)
    if lexed.core.help:
        return
    read = lexed.core.reads
    parameters = [
        parameter | {"required": False} if parameter["id"] in read else parameter
        for parameter in record["parameters"]
    ]
    bind(parameters, lexed.supplied)
