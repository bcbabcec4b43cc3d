"""What can stand at the cursor among the words of one command or verb. RK-COMP-011 … RK-COMP-014"""

from __future__ import annotations

from rukh.cli.reading import INPUTS_OPTION, Option, Reading, accepted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Item = tuple[str, str]

WORDS, FILES, DIRECTORIES = "words", "files", "directories"


class Offer:
    """`items` are (word, summary), each of which begins with `prefix`; or `kind` says that paths follow `prefix`."""

    __slots__ = ("items", "kind", "prefix")

    def __init__(self, items: Iterable[Item] = (), kind: str = WORDS, prefix: str = "") -> None:
        self.items = [(prefix + word, summary) for word, summary in items]
        self.kind = kind
        self.prefix = prefix


class Cursor:
    """The words before the cursor's, that word up to the cursor, and the words behind it."""

    __slots__ = ("before", "behind", "word")

    def __init__(self, before: list[str], word: str, behind: list[str]) -> None:
        self.before = before
        self.word = word
        self.behind = behind


class Sought(Reading):
    """Reads the words in front of the cursor; `pending` is the option whose value the cursor's word would be."""

    def __init__(self, tokens: list[str], table: dict[str, Option]) -> None:
        super().__init__(tokens, 0, table)
        self.pending: Option | None = None
        self.positionals = 0
        self.ended = False
        self.reads: set[str] = set()

    def next_value(self, name: str) -> str:
        """The value of an option; where the words end, it is what is to be completed."""
        if self.at == len(self.tokens):
            self.pending = self.table[name]
            return ""
        return super().next_value(name)

    def note(self, option: Option, value: str) -> None:
        """Keep what was given, so that it is not offered again."""
        self.given.add(option.subject)
        if option.subject == "--read":
            self.reads.add(value.partition("=")[0])

    def read(self) -> None:
        """All words, as a call reads them; raises the RKL rule of a word that no call accepts."""
        while self.at < len(self.tokens):
            token = self.take()
            if self.ended or self.is_value(token):
                self.positionals += 1
            elif token == "--":
                self.ended = True
            else:
                for _, option, value in self.options(token):
                    self.note(option, value)

    def read_behind(self, tokens: list[str]) -> None:
        """What is already given behind the cursor; nothing there is judged."""
        for token in tokens[: tokens.index("--")] if "--" in tokens else tokens:
            name, _, value = token.partition("=")
            if name in self.table:
                self.note(self.table[name], value)


class Place:
    """The cursor among the words behind the path of one command or verb."""

    def __init__(self, record: dict[str, Any], cursor: Cursor, core: dict[str, str]) -> None:
        self.parameters: list[dict[str, Any]] = record["parameters"]
        self.word = cursor.word
        self.core = core
        self.read = Sought(cursor.before, accepted(record, INPUTS_OPTION in core))
        self.read.read()
        self.read.read_behind(cursor.behind)

    def offer(self, values: Callable[[dict[str, Any]], Offer]) -> Offer:
        """What can stand here; `values` gives those of a parameter."""
        read, word = self.read, self.word
        if read.pending is not None:
            return self._values(read.pending, "", values, alone=True)
        if "--help" in read.given:
            return Offer()  # nothing behind it is looked at
        if read.ended or not word.startswith("-"):
            return self._positional(values, any_word=read.ended)
        joined = self._joined()
        if joined is None:
            return Offer(self._options())
        option, prefix = joined
        return self._values(option, prefix, values, alone=False)

    def _joined(self) -> tuple[Option, str] | None:
        """The option that the cursor's word already gives a value to, and the word up to that value."""
        name, equals, _ = self.word.partition("=")
        if name.startswith("--"):
            option, prefix = self.read.table.get(name) if equals else None, f"{name}="
        else:
            option, prefix = self.read.table.get(name[:2]) if len(self.word) > 2 else None, name[:2]
        return (option, prefix) if option is not None and option.takes else None

    def _values(
        self, option: Option, prefix: str, values: Callable[[dict[str, Any]], Offer], *, alone: bool
    ) -> Offer:
        if option.subject == "--read":
            return self._read_values(prefix)
        if option.parameter is None:
            return Offer(kind=FILES, prefix=prefix)
        found = values(option.parameter)
        items = [item for item in found.items if not alone or self.read.is_value(item[0])]
        return Offer(items, found.kind, prefix)

    def _read_values(self, prefix: str) -> Offer:
        """`ID=` of each string parameter that no word gives, and the file behind it."""
        value = self.word[len(prefix) :]
        identity, equals, _ = value.partition("=")
        if equals:
            return Offer(kind=FILES, prefix=f"{prefix}{identity}=")
        taken = self.read.given | self.read.reads
        strings = [
            (f"{parameter['id']}=", parameter["summary"])
            for parameter in self.parameters
            if parameter["type"]["kind"] == "string" and parameter["id"] not in taken
        ]
        return Offer(strings, prefix=prefix)

    def _positional(self, values: Callable[[dict[str, Any]], Offer], *, any_word: bool) -> Offer:
        """Values of the positional parameter whose turn it is; a list takes every turn from its own on."""
        turn = self.read.positionals
        for parameter in self.parameters:
            if parameter["form"] != "positional" or parameter["id"] in self.read.reads:
                continue
            if turn == 0 or parameter["type"]["kind"] == "list":
                found = values(parameter)
                items = [item for item in found.items if any_word or self.read.is_value(item[0])]
                return Offer(items, found.kind)
            turn -= 1
        return Offer()

    def _options(self) -> list[Item]:
        """The options that may still be given: long names, and short ones of those that have no long one."""
        given, whole = self.read.given | self.read.reads, INPUTS_OPTION in self.read.given
        found: list[Item] = []
        for parameter in self.parameters if not whole else ():
            again = parameter["type"]["kind"] == "list" and parameter["id"] not in self.read.reads
            if parameter["form"] != "positional" and (again or parameter["id"] not in given):
                found += [(name, parameter["summary"]) for name in _spellings(parameter)]
        return found + [(name, says) for name, says in self.core.items() if self._still(name)]

    def _still(self, name: str) -> bool:
        """Whether the core's option may still be given: a document of inputs stands alone, files may be many."""
        given = self.read.given
        if name == "--read":
            return INPUTS_OPTION not in given
        beside = self.read.positionals or "--read" in given or given & {p["id"] for p in self.parameters}
        return name not in given and not (name == INPUTS_OPTION and beside)


def _spellings(parameter: dict[str, Any]) -> list[str]:
    names: list[str] = parameter["names"]
    long = [name for name in names if name.startswith("--")]
    if parameter["form"] == "flag" and parameter["type"]["kind"] == "boolean":
        long += [f"--no-{name[2:]}" for name in long]
    return long or names
