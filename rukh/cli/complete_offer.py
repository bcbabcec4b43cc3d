"""What can stand where the cursor is: found from declarations alone, with the grammar that reads a real call. {H01}

The words in front of the cursor are read by `reading`, as for a call, up to the one under the cursor. What then may
stand there is, by the first row that fits:

| in front                                   | offered                                                         |
|--------------------------------------------|-----------------------------------------------------------------|
| an option that still needs its value       | the values of that option                                       |
| `--`                                       | values of the next positional parameter                         |
| nothing special, and the word is `--x=…`   | the values of `--x`, behind the `=`                             |
| nothing special, and it begins with `-`    | options that may still be given                                 |
| a path that is not at its end              | the words that lead on: commands, groups, aliases, core words   |
| a path of a command                        | values of the next positional parameter                         |

Only a choice has values of its own; a string is the caller's text, and no file (S11), so nothing is offered for it.
Words that a call would refuse have no continuation, and nothing is offered behind them. RK-COMP-010 … RK-COMP-017
"""

from __future__ import annotations

from rukh.cli.argv import leading_words
from rukh.cli.complete_place import DIRECTORIES, FILES, WORDS, Cursor, Offer, Place, Sought
from rukh.cli.reading import GLOBAL_OPTIONS, INPUTS_OPTION, SHORT_HELP, Option
from rukh.cli.verbs import GROUPS, VERBS, record_of
from rukh.cli.words import BUILT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rukh.store.glance import Glance

# Options of the core, as completion describes them; `--wait` is reserved, and nobody is led to it.
_CORE = {
    "--json": "Print the result as one JSON document",
    "--envelope": "Print the whole outcome as one JSON document",
    "--read": "Fill a string parameter from a file",
    "--help": "Show the help of this",
}
_GLOBALS = {
    "--home": "The home to work in",
    "--help": "Show the help",
    "--version": "Show the version",
}
_INPUTS = "Take the inputs as one JSON object by parameter id"
# Kinds of values that a shell looks up itself.
_SHELLS = {"file": FILES, "directory": DIRECTORIES}


def offer(cursor: Cursor, opened: Callable[[str | None], Glance | None]) -> Offer:
    """What can stand at the cursor; `opened` gives a glance at the home that `--home` names, or None without one.

    Raises RukhError where the words in front are none that could be called, or the home cannot be read.
    """
    core = Sought(cursor.before, {name: Option(name, takes) for name, takes in GLOBAL_OPTIONS.items()})
    core.table[SHORT_HELP] = core.table["--help"]
    home: str | None = None
    while core.at < len(cursor.before) and not core.is_value(cursor.before[core.at]):
        for _, option, value in core.options(core.take()):
            core.note(option, value)
            home = value if option.subject == "--home" else home
    rest = cursor.before[core.at :]
    if core.pending is not None:
        return Offer(kind=DIRECTORIES)
    if not rest and cursor.word.startswith("-"):
        return _global_options(core, cursor)
    if rest and core.given & {"--help", "--version"}:
        return Offer()
    return _behind(Cursor(rest, cursor.word, cursor.behind), opened(home))


def _global_options(core: Sought, cursor: Cursor) -> Offer:
    if cursor.word.startswith("--home="):
        return Offer(kind=DIRECTORIES, prefix="--home=")
    return Offer((name, says) for name, says in _GLOBALS.items() if name not in core.given)


def _behind(cursor: Cursor, glance: Glance | None) -> Offer:
    """What follows the options before the path."""
    word = cursor.before[0] if cursor.before else ""
    if word == "help":
        return _path(cursor.before[1:], glance) if not cursor.word.startswith("-") else Offer()
    if word == "run":
        return _identity(cursor, glance)
    if word in BUILT:
        return _verb(cursor, glance)
    return _installed(cursor, glance)


def _path(path: list[str], glance: Glance | None) -> Offer:
    """The words that lead on behind `path`, those of the core included."""
    if path and path[0] in BUILT:
        return Offer(GROUPS.get(path[0], {}).items() if len(path) == 1 else ())
    found = [] if glance is None else glance.below(path)
    items = [(word, summary or _kind(kind)) for word, kind, _, summary in found]
    return Offer(items + ([] if path else list(BUILT.items())))


def _kind(kind: str) -> str:
    return "group" if kind == "group" else ""


def _identity(cursor: Cursor, glance: Glance | None) -> Offer:
    if len(cursor.before) == 1:
        if cursor.word.startswith("-"):
            return Offer([("--help", _CORE["--help"])])
        return Offer([] if glance is None else glance.identities())
    identity, tokens = cursor.before[1], cursor.before[2:]
    return _command(identity, Cursor(tokens, cursor.word, cursor.behind), glance, inputs=True)


def _verb(cursor: Cursor, glance: Glance | None) -> Offer:
    first, second = (*cursor.before, "", "")[:2]
    verb = f"{first} {second}" if first in GROUPS else first
    if verb in VERBS:
        tokens = cursor.before[len(verb.split(" ")) :]
        record = record_of(verb)
        return Place(record, Cursor(tokens, cursor.word, cursor.behind), {"--help": _CORE["--help"]}).offer(
            lambda parameter: _looked_up(parameter, glance)
        )
    return _path([first], None) if len(cursor.before) == 1 and first in GROUPS else Offer()


def _looked_up(parameter: dict[str, Any], glance: Glance | None) -> Offer:
    """The values of a verb's argument or option."""
    declared = parameter["type"]
    kind = declared["items"]["kind"] if "items" in declared else declared["kind"]
    if kind in _SHELLS:
        return Offer(kind=_SHELLS[kind])
    if kind == "choice":
        return Offer((value, "") for value in declared["values"])
    if kind == "rule":
        from rukh.values.rules import RULES

        return Offer((rule, row[3]) for rule, row in RULES.items())
    if kind == "schema":
        from rukh.cli.specification import schemas

        return Offer((name, "") for name in schemas())
    if glance is None or kind not in ("identity", "package", "endpoint", "revision"):
        return Offer()
    return Offer(
        {
            "identity": glance.identities,
            "package": glance.packages,
            "endpoint": glance.endpoints,
            "revision": glance.revisions,
        }[kind]()
    )


def _installed(cursor: Cursor, glance: Glance | None) -> Offer:
    """Of a path of installed commands, at its end or not; a path may lead to a command and further."""
    path = leading_words(cursor.before)
    route = glance.resolve(path) if glance is not None and path else None
    whole = len(path) == len(cursor.before)
    further = _path(path, glance) if whole and not cursor.word.startswith("-") else Offer()
    if route is None or route[0] == "group":
        asks = whole and route is not None and cursor.word.startswith("-")
        return Offer([("--help", _CORE["--help"])]) if asks else further
    tokens = cursor.before[route[2] :]
    of_command = _command(route[1], Cursor(tokens, cursor.word, cursor.behind), glance, inputs=False)
    if of_command.kind == WORDS and not of_command.prefix:
        of_command.items = further.items + of_command.items
    return of_command


def _command(identity: str, cursor: Cursor, glance: Glance | None, *, inputs: bool) -> Offer:
    record = glance.command(identity) if glance is not None else None
    if record is None or glance is None:
        return Offer()
    if record["mapping"]["kind"] == "passthrough":
        return Offer(kind=FILES)  # its words are its program's; what a shell does of itself is the best guess
    core = {name: says for name, says in _CORE.items() if name != "--json" or record["result"] is not None}
    if inputs:
        core[INPUTS_OPTION] = _INPUTS
    return Place(record, cursor, core).offer(
        lambda parameter: Offer((value, "") for value in glance.choices(identity, parameter["id"]))
    )
