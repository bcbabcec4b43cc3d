"""The grammar of the words behind a program's name: words in, typed inputs by parameter id out. RK-CLI-001

A word is read by the first of these rules that fits it, from left to right:

1. Behind `--` every word is positional, whatever it looks like.
2. `--` ends the options. It is never a value.
3. `--name`, `--name=value`: a long option, a flag, or `--no-name` of a flag. Names are never abbreviated.
4. `-` alone, and a word that looks like a negative number where no short option has that character: a value.
5. `-abc`: a cluster of short flags. One that takes a value takes the rest of the word, or the next word.
6. Every other word, the empty one included, is positional.

The value of an option is what follows `=`, or the rest of its cluster, or the next word. The next word is
taken only where it could stand as a positional (rules 4 and 6): `--x -y` is refused, `--x=-y` is not. A value
is never split.

Positional words are dealt out once all options are read: to the positional parameters in the order of
declaration, without those that `--read` fills; a list takes all that is left.

`--help` ends the reading: nothing behind it is looked at, and nothing counts as supplied, since nothing will
run. The first fault in this order refuses, with one rule and one place. What is not judged here (decimals,
choices, lengths, bounds, what is required) is judged by the semantic validator, the same for every surface.
"""

from __future__ import annotations

from rukh.cli.argv import cut
from rukh.cli.reading import INPUTS_OPTION, Reading, accepted
from rukh.values.errors import RukhError
from rukh.values.numbers import parse_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rukh.cli.reading import Option


class CoreOptions:
    """What is asked of the core: `reads` maps parameter ids to files, `inputs` names a document."""

    __slots__ = ("envelope", "help", "inputs", "json", "reads")

    def __init__(self) -> None:
        self.help = False
        self.json = False
        self.envelope = False
        self.inputs: str | None = None
        self.reads: dict[str, str] = {}


class Lexed:
    """`supplied`: typed values by parameter id, as given, without defaults; `core`: the core's options."""

    __slots__ = ("core", "supplied")

    def __init__(self, supplied: dict[str, Any], core: CoreOptions) -> None:
        self.supplied = supplied
        self.core = core


def lex(record: dict[str, Any], tokens: list[str], before: int = 0, inputs: bool = False) -> Lexed:
    """The typed inputs and core options said by `tokens`, the words behind a managed command's path.

    `before` is how many words stand in front of `tokens`, for places; `inputs` admits `--inputs FILE`, as on
    `run`. Raises one RKL rule, whose place is `argument N: WORD`. RK-CLI-001
    """
    call = _Call(record, tokens, before, inputs)
    call.read()
    return Lexed({} if call.core.help else call.supplied, call.core)


class _Call(Reading):
    """One command's words: the rules of the module's head, applied to its parameters."""

    def __init__(self, record: dict[str, Any], tokens: list[str], before: int, inputs: bool) -> None:
        super().__init__(tokens, before, accepted(record, inputs))
        self.parameters: list[dict[str, Any]] = record["parameters"]
        self.declares_result = record["result"] is not None
        self.core = CoreOptions()
        self.supplied: dict[str, Any] = {}
        self.positionals: list[tuple[int, str]] = []

    def read(self) -> None:
        options_end = False
        while self.at < len(self.tokens) and not self.core.help:
            token = self.take()
            if options_end or self.is_value(token):
                self.positionals.append((self.number, token))
            elif token == "--":
                options_end = True
            else:
                self._read_options(token)
        if not self.core.help:
            self._deal_positionals()
            self._check_one_source()

    def _read_options(self, token: str) -> None:
        for name, option, value in self.options(token):
            if option.parameter is None:
                self._core_option(name, option, value)
            elif option.takes:
                self._give(option.parameter, value, name)
            else:
                self.once(name, option.subject)
                self.supplied[option.subject] = option.sets
            if self.core.help:
                return

    def _core_option(self, name: str, option: Option, value: str) -> None:
        if option.subject == "--read":
            self._read_file(value)
            return
        self.once(name, option.subject)
        if option.subject == "--json" and not self.declares_result:
            self.refuse("RKL014", name, "the command declares no result to print", "leave --json out")
        setattr(self.core, option.subject[2:], value if option.takes else True)

    def _read_file(self, value: str) -> None:
        identity, _, file = value.partition("=")
        if not identity or not file:
            self.refuse("RKL011", "--read", f"{cut(value)!r} is not ID=FILE", "write --read ID=FILE")
        kinds = {parameter["id"]: parameter["type"]["kind"] for parameter in self.parameters}
        if identity not in kinds:
            from rukh.cli.meant import mend_parameter

            mend = mend_parameter(identity, kinds)
            self.refuse("RKL012", "--read", f"the command has no parameter {cut(identity)}", mend)
        if kinds[identity] != "string":
            message = f"a file fills only a string, and {identity} is of type {kinds[identity]}"
            self.refuse("RKL013", "--read", message, f"give {identity} as an argument")
        self.once("--read", identity)
        self.core.reads[identity] = file

    def _give(self, parameter: dict[str, Any], value: str, word: str) -> None:
        """Supply one value, typed; an item where the parameter is a list."""
        kind, identity = parameter["type"]["kind"], parameter["id"]
        if kind == "list":
            item = self._typed(parameter["type"]["items"]["kind"], value, word)
            self.supplied.setdefault(identity, []).append(item)
        else:
            self.once(word, identity)
            self.supplied[identity] = self._typed(kind, value, word)

    def _typed(self, kind: str, value: str, word: str) -> Any:
        """Numbers are typed here; decimals and choices go to the validator as they are."""
        if kind in ("integer", "number"):
            return self._number(value, word)
        return value

    def _number(self, value: str, word: str) -> int | float:
        try:
            return parse_number(value)
        except RukhError as error:
            if error.rule != "RKV012":
                self.refuse("RKL009", word, error.message, error.mend)
        from rukh.cli.meant import mend_number

        self.refuse("RKL009", word, f"{cut(value)!r} is not a number", mend_number(value))

    def _deal_positionals(self) -> None:
        free = [p for p in self.parameters if p["form"] == "positional" and p["id"] not in self.core.reads]
        for number, token in self.positionals:
            self.number = number
            if not free:
                message = "the command takes no further argument"
                self.refuse("RKL007", token, message, "leave it out; --help names the arguments")
            self._give(free[0], token, token)
            if free[0]["type"]["kind"] != "list":
                del free[0]

    def _check_one_source(self) -> None:
        """A document of inputs is whole: what it leaves out is omitted, so nothing may stand beside it."""
        given = [*self.supplied, *self.core.reads]
        if self.core.inputs is not None and given:
            message = f"{given[0]} is given beside a document of inputs"
            mend = "say all inputs in the document, or none"
            raise RukhError("RKL016", message, place=INPUTS_OPTION, mend=mend)
