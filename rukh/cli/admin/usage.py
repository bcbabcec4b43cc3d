"""click's complaints in the words of this program: what is wrong, at which word, and what to write instead. RK-CLI-093

One row a kind of complaint, the special ones first. Each says `(word, message, mend)`: the word that is wrong or
missing, and what to write; the verb and the way to its help are named in any case. What a verb itself complains of
keeps its own message. RK-ADM-002
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from rukh.cli.argv import cut, place_of
from rukh.cli.meant import unknown_option
from rukh.cli.verbs import GROUPS
from rukh.values.errors import RukhError
from rukh.values.nearest import nearest

Said = tuple[str, str, str]

_EXTRA = re.compile(r"Got unexpected extra arguments? \((?P<first>\S*).*\)", re.DOTALL)
_CHOICE = re.compile(r"'(?P<value>.*)' is not one of .*", re.DOTALL)


def refusal(error: click.ClickException, program: str, words: list[str], before: int) -> RukhError:
    """The refusal RKL028 of the command line `words`, with the `before` words in front of it."""
    verb = words[:1] + [word for word in words[1:2] if word in GROUPS.get(words[0], {})]
    at = " ".join([program, *verb])
    word, message, mend = next(says(error) for kind, says in _SAYS if isinstance(error, kind))
    numbers = [number for number, spelled in enumerate(words, before + 1) if word and _begins(spelled, word)]
    # A word that is there is named by its number too, as everywhere; one that is missing by its name.
    place = place_of(numbers[0], word) if numbers else cut(word)
    help_at = f"see {at} --help"
    return RukhError(
        "RKL028",
        message,
        place=f"{at}, {place}" if place else at,
        mend=f"{mend}{' ' if mend.endswith('?') else '; '}{help_at}" if mend else help_at,
    )


def _begins(word: str, name: str) -> bool:
    """Whether `word` is `name`, or that option with a value or among others."""
    return (
        word == name
        or word.startswith(f"{name}=")
        or (len(name) == 2 and name[1] in word[1:] and word[0] == "-")
    )


def _bare(error: Any) -> Said:
    return "", "a verb is missing", ""


def _unknown(error: Any) -> Said:
    known = [name for param in error.ctx.command.params for name in [*param.opts, *param.secondary_opts]]
    name = error.option_name
    _, _, message, mend = unknown_option(name, name, [known_ for known_ in known if known_.startswith("-")])
    return name, message, mend if "--help lists" not in mend else ""


def _missing(error: Any) -> Said:
    param = error.param
    name = _name(param)
    choices = ", ".join(param.type.choices) if isinstance(param.type, click.Choice) else ""
    return name, f"{name} is missing", f"write one of {choices}" if choices else ""


def _option(error: Any) -> Said:
    name = error.option_name
    if "does not take a value" in error.message:
        return name, f"{name} is a flag and takes no value", f"write {name} alone"
    return name, f"{name} needs a value", f"write {name} VALUE"


def _value(error: Any) -> Said:
    found = _CHOICE.fullmatch(error.message)
    if found is None or not isinstance(error.param.type, click.Choice):
        return _name(error.param) if error.param is not None else "", error.message.removesuffix("."), ""
    value, choices = found["value"], list(error.param.type.choices)
    near = nearest(value, choices)
    mend = f"did you mean {near}?" if near else f"write one of {', '.join(choices)}"
    return value, f"{cut(value)!r} is no {_name(error.param)}", mend


def _other(error: Any) -> Said:
    found = _EXTRA.fullmatch(error.format_message())
    if found is None:
        return "", error.format_message(), ""
    return found["first"], f"{cut(found['first'])!r} is one word too many", ""


def _name(param: click.Parameter) -> str:
    if isinstance(param, click.Argument):
        return str(param.metavar or (param.name or "").upper()).strip("[]").removesuffix("...").strip()
    return max(param.opts, key=len)


_SAYS: tuple[tuple[type[click.ClickException], Callable[[Any], Said]], ...] = (
    (click.exceptions.NoArgsIsHelpError, _bare),
    (click.exceptions.NoSuchOption, _unknown),
    (click.exceptions.MissingParameter, _missing),
    (click.exceptions.BadOptionUsage, _option),
    (click.exceptions.BadParameter, _value),
    (click.ClickException, _other),
)
