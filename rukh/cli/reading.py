"""How words are read against a table of options: the rules of `lexer`'s head, without any value's type. RK-CLI-001

The options before the path are read by the same rules as those of a command.
"""

from __future__ import annotations

from rukh.cli.argv import cut, place_of
from rukh.values.errors import RukhError
from rukh.values.registry import CORE_OPTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

# Of the core's own options of a managed command, those that take a value. Declared ones never win.
_VALUED = frozenset({"--read"})
# The core's unless the command declares it.
SHORT_HELP = "-h"
# Stands on `run` alone, before whatever the command declares.
INPUTS_OPTION = "--inputs"
# The options before the path: spelling -> whether it takes a value.
GLOBAL_OPTIONS = {"--home": True, "--help": False, "--version": False}
# A negative number as people write it: wider than the JSON grammar, so that `-.5` is told how to be written.
_NUMBER_LIKE = r"-(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


class Globals:
    """The options before the path; `home` is None where it is not given."""

    __slots__ = ("help", "home", "version")

    def __init__(self) -> None:
        self.home: str | None = None
        self.help = False
        self.version = False


class Option:
    """One accepted option: a parameter's, or the core's own where `parameter` is None.

    `subject` is the parameter's id or the core option's long name; `takes` says whether it takes a value,
    `sets` what a flag means.
    """

    __slots__ = ("parameter", "sets", "subject", "takes")

    def __init__(
        self, subject: str, takes: bool, parameter: dict[str, Any] | None = None, sets: bool = True
    ) -> None:
        self.subject = subject
        self.takes = takes
        self.parameter = parameter
        self.sets = sets


def split_core(argv: list[str]) -> tuple[Globals, list[str]]:
    """The options before the path, and the rest: from the first word on that is no option. RK-CLI-028

    Raises RKL001, RKL002, RKL003, RKL004, RKL005 or RKL017.
    """
    found = Globals()
    table = {name: Option(name, takes) for name, takes in GLOBAL_OPTIONS.items()}
    table[SHORT_HELP] = table["--help"]
    reading = Reading(argv, 0, table)
    while reading.at < len(argv) and not reading.is_value(argv[reading.at]):
        for name, option, value in reading.options(reading.take()):
            reading.once(name, option.subject)
            if option.takes and not value:
                reading.refuse("RKL004", name, f"{name} needs a directory", f"write {name} DIR")
            setattr(found, option.subject[2:], value if option.takes else True)
    return found, argv[reading.at :]


def accepted(record: dict[str, Any], inputs: bool = False) -> dict[str, Option]:
    """Every option that the command accepts, by spelling; `inputs` as in `lex`."""
    table = {SHORT_HELP: Option("--help", False)}
    for parameter in record["parameters"]:
        if parameter["form"] == "flag":
            denied = Option(parameter["id"], False, parameter, sets=False)
            table.update((f"--no-{name[2:]}", denied) for name in parameter["names"] if name.startswith("--"))
    for parameter in record["parameters"]:
        if parameter["form"] != "positional":
            option = Option(parameter["id"], parameter["form"] == "option", parameter)
            table.update((name, option) for name in parameter["names"])
    table.update((name, Option(name, name in _VALUED)) for name in CORE_OPTIONS)
    if inputs:
        table[INPUTS_OPTION] = Option(INPUTS_OPTION, True)
    return table


class Reading:
    """Words read one after the other against a table of options; knows nothing of values."""

    def __init__(self, tokens: list[str], before: int, table: dict[str, Option]) -> None:
        self.tokens = tokens
        self.before = before
        self.table = table
        self.at = 0
        self.number = 0  # of the word under reading, counted from 1 over all the words
        self.given: set[str] = set()

    def take(self) -> str:
        """The next word, which is under reading from now on."""
        self.at += 1
        self.number = self.before + self.at
        return self.tokens[self.at - 1]

    def refuse(self, rule: str, word: str, message: str, mend: str) -> NoReturn:
        """Raise RukhError `rule` of the word under reading; `word` is how it is shown."""
        raise RukhError(rule, message, place=place_of(self.number, word), mend=mend)

    def once(self, word: str, subject: str) -> None:
        """Note that `subject` is given; a second time is refused, whatever its spelling. RK-CLI-015"""
        if subject in self.given:
            self.refuse("RKL003", word, f"{cut(word)} was given before", "leave one of the two out")
        self.given.add(subject)

    def is_value(self, token: str) -> bool:
        """Whether the word could stand as a positional one while options are read. RK-CLI-012"""
        if not token.startswith("-") or token == "-":
            return True
        return token[:2] not in self.table and number_like(token)

    def options(self, token: str) -> Iterator[tuple[str, Option, str]]:
        """The options that one word starting with `-` gives: spelling, option, value ("" for flags)."""
        return self._long(token) if token.startswith("--") else self._cluster(token)

    def _long(self, token: str) -> Iterator[tuple[str, Option, str]]:
        name, equals, value = token.partition("=")
        option = self._find(name)
        if equals and not option.takes:
            self._refuse_flag_value(name)
        yield name, option, value if equals or not option.takes else self.next_value(name)

    def _cluster(self, token: str) -> Iterator[tuple[str, Option, str]]:
        for position in range(1, len(token)):
            name, rest = "-" + token[position], token[position + 1 :]
            option = self._find(name, token)
            if rest.startswith("="):
                # Read as `=5` by some programs and as `5` by others: nobody is to guess. RK-CLI-014
                self._refuse_equals(name, option)
            if option.takes:
                yield name, option, rest or self.next_value(name)
                return
            yield name, option, ""

    def next_value(self, name: str) -> str:
        """The next word as the value of `name`, where it could not be an option itself. RK-CLI-013"""
        following = self.tokens[self.at] if self.at < len(self.tokens) else None
        joined = f"{name}=" if name.startswith("--") else name
        if following is None:
            self.refuse("RKL004", name, f"{name} needs a value", f"write {name} VALUE")
        if not self.is_value(following):
            message = f"{name} needs a value, and {cut(following)} could be an option"
            self.refuse("RKL004", name, message, f"write {joined}{cut(following)} if that is the value")
        self.at += 1
        return following

    def _refuse_equals(self, name: str, option: Option) -> NoReturn:
        if not option.takes:
            self._refuse_flag_value(name)
        self.refuse("RKL006", name, f"{name} is joined with =", f"write {name} VALUE")

    def _refuse_flag_value(self, name: str) -> NoReturn:
        negated = f"--no-{name[2:]}"
        other = f" or {negated}" if negated in self.table else ""
        self.refuse("RKL005", name, f"{name} is a flag and takes no value", f"write {name}{other} alone")

    def _find(self, name: str, token: str = "") -> Option:
        option = self.table.get(name)
        if option is None:
            self._refuse_unknown(name, token)
        if option.subject == "--wait":
            message = "this host cannot wait for a later outcome of a command"
            self.refuse("RKL015", name, message, "leave --wait out, and call again until the answer is there")
        return option

    def _refuse_unknown(self, name: str, token: str) -> NoReturn:
        from rukh.cli.meant import unknown_option

        self.refuse(*unknown_option(name, token, self.table))


def number_like(token: str) -> bool:
    """Whether the word starts with `-` and is a number as people write one, of the JSON grammar or not."""
    if token[1:2] not in (".", *"0123456789"):
        return False
    import re  # only for a word that begins like a negative number

    return re.fullmatch(_NUMBER_LIKE, token) is not None
