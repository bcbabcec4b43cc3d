"""Inputs as words: what `lexer` reads back as exactly these inputs. For tests, trials and reports; no call needs it."""

from __future__ import annotations

from rukh.cli.argv import is_text
from rukh.values.errors import RukhError
from rukh.values.numbers import parse_number
from rukh.values.pointer import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def argv_for(record: dict[str, Any], inputs: dict[str, Any]) -> list[str]:
    """Words that `lex` reads back as exactly `inputs`: options in the order of declaration, then positionals.

    Raises RKL019 for what words cannot say: an unknown parameter, an empty list, a value of another type, NUL
    or a lone surrogate, a later positional without an earlier one, false for a flag of short names only, an option
    whose names are all the core's.
    RK-CLI-030
    """
    declared = {parameter["id"]: parameter for parameter in record["parameters"]}
    for identity in inputs:
        if identity not in declared:
            _refuse_inputs(identity, "the command has no such parameter")
    options: list[str] = []
    positionals: list[str] = []
    left_out = ""
    for identity, parameter in declared.items():
        positional = parameter["form"] == "positional"
        if identity not in inputs:
            left_out = left_out or (identity if positional else "")
        elif not positional:
            options += _option_words(parameter, inputs[identity])
        elif left_out:
            _refuse_inputs(identity, f"it stands behind {left_out}, which is left out")
        else:
            positionals += _words(parameter, inputs[identity])
    if any(word.startswith("-") for word in positionals):
        options.append("--")
    return options + positionals


def _option_words(parameter: dict[str, Any], value: Any) -> list[str]:
    names: list[str] = parameter["names"]
    if not names:
        _refuse_inputs(parameter["id"], "it has no name of its own on the command line")
    name = next((name for name in names if name.startswith("--")), names[0])
    if parameter["form"] == "option":
        return [word for text in _words(parameter, value) for word in _joined(name, text)]
    if not isinstance(value, bool):
        _refuse_inputs(parameter["id"], "a flag is true or false")
    if value:
        return [name]
    if not name.startswith("--"):
        _refuse_inputs(parameter["id"], "a flag of short names only cannot be denied")
    return [f"--no-{name[2:]}"]


def _joined(name: str, text: str) -> list[str]:
    if name.startswith("--"):
        return [f"{name}={text}"]
    return [name + text] if text and not text.startswith("=") else [name, text]


def _words(parameter: dict[str, Any], value: Any) -> list[str]:
    identity, declared = parameter["id"], parameter["type"]
    if declared["kind"] != "list":
        return [_word(identity, declared["kind"], value)]
    if not isinstance(value, list) or not value:
        _refuse_inputs(identity, "a list has at least one item")
    return [_word(identity, declared["items"]["kind"], item) for item in value]


def _word(identity: str, kind: str, value: Any) -> str:
    if kind in ("integer", "number") and isinstance(value, (int, float)) and not isinstance(value, bool):
        # A float's `repr` keeps its point or exponent: 1e16 is not read as an integer beyond the limit.
        if _is_exact(repr(value)):
            return repr(value)
    elif kind in ("string", "decimal", "choice") and isinstance(value, str) and is_text(value):
        return value
    _refuse_inputs(identity, f"no word says this value of a {kind}")


def _is_exact(number: str) -> bool:
    try:
        parse_number(number)
    except RukhError:
        return False
    return True


def _refuse_inputs(identity: str, why: str) -> NoReturn:
    place = join("", identity)
    raise RukhError("RKL019", f"{identity}: {why}", place=place, mend="give the inputs as a document")
