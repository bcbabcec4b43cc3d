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

from rukh.values.errors import RukhError
from rukh.values.numbers import parse_number
from rukh.values.pointer import join
from rukh.values.registry import CORE_OPTIONS, LIMIT_PATH_WORDS

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
# Code points: enough of a word to recognize it by, in a place or a message.
_SHOWN_LENGTH = 64
# How many words can lead to a command: the owner's mount words and the path's own.
_PATH_WORDS = 2 * LIMIT_PATH_WORDS
# A negative number as people write it: wider than the JSON grammar, so that `-.5` is told how to be written.
_NUMBER_LIKE = r"-(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
# Any number as people write it: sign, zeros, whole, fraction, exponent.
_ANY_NUMBER = r"([+-]?)(?=\.?[0-9])0*([0-9]*)\.?([0-9]*)((?:[eE][+-]?[0-9]+)?)"


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


def decode_argv(argv_bytes: list[bytes]) -> list[str]:
    """The words as text, strictly UTF-8; raises RKL008 naming the first word that is not. RK-CLI-002"""
    words = carry_argv(argv_bytes)
    require_text(words)
    return words


def carry_argv(argv_bytes: list[bytes]) -> list[str]:
    """The words as text that no byte is lost of: a byte that is not UTF-8 is carried as a lone surrogate."""
    return [word.decode("utf-8", "surrogateescape") for word in argv_bytes]


def argv_bytes_of(words: list[str]) -> list[bytes]:
    """The bytes that `words` were carried from. RK-PASS-001"""
    return [word.encode("utf-8", "surrogateescape") for word in words]


def require_text(words: list[str], before: int = 0) -> None:
    """Raise RKL008 for the first of the carried `words` that is not UTF-8; `before` as in `lex`. RK-CLI-002"""
    for number, word in enumerate(words, before + 1):
        if not word.isascii():
            _require_text(number, argv_bytes_of([word])[0])


def _require_text(number: int, word: bytes) -> None:
    try:
        word.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RukhError(
            "RKL008",
            f"the word is not UTF-8 from byte {error.start + 1} on",
            place=_place(number, word.decode("utf-8", "backslashreplace")),
            mend="write the word in UTF-8",
        ) from error


def split_core(argv: list[str]) -> tuple[Globals, list[str]]:
    """The options before the path, and the rest: from the first word on that is no option. RK-CLI-028

    Raises RKL001, RKL002, RKL003, RKL004, RKL005 or RKL017.
    """
    found = Globals()
    table = {name: Option(name, takes) for name, takes in GLOBAL_OPTIONS.items()}
    table[SHORT_HELP] = table["--help"]
    reading = _Reading(argv, 0, table)
    while reading.at < len(argv) and not reading.is_value(argv[reading.at]):
        for name, option, value in reading.options(reading.take()):
            reading.once(name, option.subject)
            if option.takes and not value:
                reading.refuse("RKL004", name, f"{name} needs a directory", f"write {name} DIR")
            setattr(found, option.subject[2:], value if option.takes else True)
    return found, argv[reading.at :]


def leading_words(words: list[str]) -> list[str]:
    """The words that a path can be made of: those before the first option, empty word, word with a space or no text."""
    for count, word in enumerate(words[:_PATH_WORDS]):
        if word.startswith("-") or not word or " " in word or not _is_text(word):
            return words[:count]
    return words[:_PATH_WORDS]


def lex(record: dict[str, Any], tokens: list[str], before: int = 0, inputs: bool = False) -> Lexed:
    """The typed inputs and core options said by `tokens`, the words behind a managed command's path.

    `before` is how many words stand in front of `tokens`, for places; `inputs` admits `--inputs FILE`, as on
    `run`. Raises one RKL rule, whose place is `argument N: WORD`. RK-CLI-001
    """
    call = _Call(record, tokens, before, inputs)
    call.read()
    return Lexed({} if call.core.help else call.supplied, call.core)


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


class _Reading:
    """Words read one after the other against a table of options; knows nothing of values."""

    def __init__(self, tokens: list[str], before: int, table: dict[str, Option]) -> None:
        self.tokens = tokens
        self.before = before
        self.table = table
        self.at = 0
        self.number = 0  # of the word under reading, counted from 1 over all the words
        self.given: set[str] = set()

    def take(self) -> str:
        self.at += 1
        self.number = self.before + self.at
        return self.tokens[self.at - 1]

    def refuse(self, rule: str, word: str, message: str, mend: str) -> NoReturn:
        raise RukhError(rule, message, place=_place(self.number, word), mend=mend)

    def once(self, word: str, subject: str) -> None:
        """Note that `subject` is given; a second time is refused, whatever its spelling. RK-CLI-015"""
        if subject in self.given:
            self.refuse("RKL003", word, f"{_cut(word)} was given before", "leave one of the two out")
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
        yield name, option, value if equals or not option.takes else self._next(name)

    def _cluster(self, token: str) -> Iterator[tuple[str, Option, str]]:
        for position in range(1, len(token)):
            name, rest = "-" + token[position], token[position + 1 :]
            option = self._find(name, token)
            if rest.startswith("="):
                # Read as `=5` by some programs and as `5` by others: nobody is to guess. RK-CLI-014
                self._refuse_equals(name, option)
            if option.takes:
                yield name, option, rest or self._next(name)
                return
            yield name, option, ""

    def _next(self, name: str) -> str:
        """The next word as the value of `name`, where it could not be an option itself. RK-CLI-013"""
        following = self.tokens[self.at] if self.at < len(self.tokens) else None
        joined = f"{name}=" if name.startswith("--") else name
        if following is None:
            self.refuse("RKL004", name, f"{name} needs a value", f"write {name} VALUE")
        if not self.is_value(following):
            message = f"{name} needs a value, and {_cut(following)} could be an option"
            self.refuse("RKL004", name, message, f"write {joined}{_cut(following)} if that is the value")
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
        if name in CORE_OPTIONS:
            message = f"{name} belongs to a command, and none is named before it"
            self.refuse("RKL017", name, message, f"write {name} behind the command")
        longer = sorted(known for known in self.table if len(name) > 2 and known.startswith(name))[:3]
        if longer:
            self.refuse("RKL002", name, f"{_cut(name)} is not a whole name", f"write {' or '.join(longer)}")
        likely = self._likely(name, token)
        mend = f"did you mean {likely}?" if likely else "--help lists the options; values may follow --"
        self.refuse("RKL001", name, f"{_cut(name)} is not an option here", mend)

    def _likely(self, name: str, token: str) -> str | None:
        """The known option that was probably meant."""
        if name.startswith("--"):
            from rukh.values.nearest import nearest

            return nearest(name, (known for known in self.table if known.startswith("--")))
        # `-colour` is a cluster by the grammar, and more often a long option that lost a hyphen.
        for known in ("-" + token.partition("=")[0], name.swapcase()):
            if known in self.table:
                return known
        return None


class _Call(_Reading):
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
            self.refuse("RKL011", "--read", f"{_cut(value)!r} is not ID=FILE", "write --read ID=FILE")
        kinds = {parameter["id"]: parameter["type"]["kind"] for parameter in self.parameters}
        if identity not in kinds:
            from rukh.values.nearest import nearest

            likely = nearest(identity, kinds)
            mend = f"did you mean {likely}?" if likely else "--help names the parameters"
            self.refuse("RKL012", "--read", f"the command has no parameter {_cut(identity)}", mend)
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
        self.refuse("RKL009", word, f"{_cut(value)!r} is not a number", number_mend(value))

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


def number_like(token: str) -> bool:
    """Whether the word starts with `-` and is a number as people write one, of the JSON grammar or not."""
    if token[1:2] not in (".", *"0123456789"):
        return False
    import re  # only for a word that begins like a negative number

    return re.fullmatch(_NUMBER_LIKE, token) is not None


def number_mend(text: str) -> str:
    """How to write the number that `text` probably means, in the JSON grammar."""
    import re

    match = re.fullmatch(_ANY_NUMBER, text)
    if match is None:
        return "write a number as JSON does, such as 4, -0.5 or 1e3"
    sign, whole, fraction, exponent = match.groups()
    return "write " + _cut(f"{sign.strip('+')}{whole or '0'}{'.' if fraction else ''}{fraction}{exponent}")


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
    elif kind in ("string", "decimal", "choice") and isinstance(value, str) and _is_text(value):
        return value
    _refuse_inputs(identity, f"no word says this value of a {kind}")


def _is_exact(number: str) -> bool:
    try:
        parse_number(number)
    except RukhError:
        return False
    return True


def _is_text(text: str) -> bool:
    return not any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text)


def _refuse_inputs(identity: str, why: str) -> NoReturn:
    place = join("", identity)
    raise RukhError("RKL019", f"{identity}: {why}", place=place, mend="give the inputs as a document")


def _place(number: int, word: str) -> str:
    return f"argument {number}: {_cut(word)}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 1] + "…"
