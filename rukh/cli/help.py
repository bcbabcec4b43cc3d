"""Base help, from declarations alone: it starts nothing, opens nothing and asks nobody. RK-CLI-050

Every page has the same shape: the usage line, what it is for, then sections of two columns, label and text. What a
publisher wrote passes `printable` before it is laid out on the sheet. RK-CLI-070

A route is `(path, kind, identity, summary)`: `path` a tuple of words, `kind` one of command, alias and group.
"""

from __future__ import annotations

from rukh.cli.paint import plain
from rukh.cli.sheet import Sheet
from rukh.cli.text import columns, printable, quote, wrap
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from rukh.cli.paint import Paint

    Row = tuple[str, str]
    Route = tuple[tuple[str, ...], str, str, str]

# A choice with more text than this is named in the notes, not in the label.
_WIDEST_CHOICE = 24

_METAVARS = {
    "string": "TEXT",
    "integer": "INTEGER",
    "number": "NUMBER",
    "decimal": "DECIMAL",
}
# Of a passthrough command, whose own words are not declared. RK-PASS-005
_UNREAD = (
    "Every word behind the path goes to the program unread, --help and --json among them. Options of the core stand"
    " before the path."
)
_GLOBAL_ROWS = [
    ("    --home DIR", "The home to work in"),
    ("-h, --help", "Show this help"),
    ("    --version", "Show the version"),
]
_JSON_ROW = ("    --json", "Print the result as one JSON document")
_INPUTS_ROW = ("    --inputs FILE|-", "Take the inputs as one JSON object by parameter id")
_CORE_ROWS = [
    ("    --envelope", "Print the whole outcome as one JSON document"),
    ("    --read ID=FILE", "Fill a string parameter from a file"),
]


def command_help(
    app_name: str, record: dict[str, Any], width: int, *, run: bool = False, heading: Paint = plain
) -> str:
    """The page of one compiled command, at most `width` columns where its words allow it; `run` shows `--inputs`."""
    sheet = Sheet(width, heading)
    parameters = record["parameters"]
    arguments = [_argument_row(p) for p in parameters if p["form"] == "positional"]
    options = [_option_row(p) for p in parameters if p["names"]]
    blocks = [
        sheet.usage(_usage(app_name, record)),
        sheet.paragraph(printable(record["summary"] or "")),
        sheet.paragraph(printable(record["description"] or "", multiline=True)),
        sheet.paragraph(_UNREAD if record["mapping"]["kind"] == "passthrough" else ""),
        sheet.section("Arguments", arguments),
        sheet.section("Options", options),
        sheet.section("Options of every command", _core_rows(record, run)),
        sheet.section("Aliases", [(_words(app_name, alias), "") for alias in record["aliases"]]),
        _examples(app_name, record["examples"], sheet),
    ]
    return sheet.page(blocks)


def group_help(
    app_name: str, path: tuple[str, ...], routes: Sequence[Route], width: int, *, heading: Paint = plain
) -> str:
    """The page of the group at `path`: what stands directly below it."""
    sheet = Sheet(width, heading)
    return sheet.page([sheet.usage(f"{_words(app_name, path)} COMMAND ..."), *_below(path, routes, sheet)])


def root_help(
    app_name: str, routes: Sequence[Route], core_words: list[Row], width: int, *, heading: Paint = plain
) -> str:
    """The page of the application: installed commands, the core's words, and the options before the path."""
    sheet = Sheet(width, heading)
    core = [(printable(word), printable(summary)) for word, summary in core_words]
    blocks = [
        sheet.usage(f"{app_name} [OPTIONS] COMMAND ..."),
        *_below((), routes, sheet),
        sheet.section("Core commands", core),
        sheet.section("Options", _GLOBAL_ROWS),
    ]
    return sheet.page(blocks)


def run_help(app_name: str, width: int, *, heading: Paint = plain) -> str:
    """The page of `run` itself."""
    sheet = Sheet(width, heading)
    more = f"{app_name} list names the identities; {app_name} run PACKAGE/COMMAND --help shows one."
    blocks = [
        sheet.usage(f"{app_name} run PACKAGE/COMMAND [OPTIONS] ..."),
        sheet.paragraph("Run a command by its identity, wherever it is mounted; its own options and these:"),
        sheet.section("Options", [_INPUTS_ROW, _JSON_ROW, *_CORE_ROWS]),
        sheet.paragraph(more),
    ]
    return sheet.page(blocks)


def unknown_command(
    app_name: str, words: list[str], routes: Sequence[Route], core_words: list[str]
) -> RukhError:
    """The refusal of a path that names no command, with the nearest one; RKL018. RK-CLI-054

    `words` are the words of the path as they were given; `core_words` the words of the core itself.
    """
    groups = {path[:length] for path, _, _, _ in routes for length in range(len(path))}
    known = 0
    while known < len(words) and tuple(words[: known + 1]) in groups:
        known += 1
    group, wrong = tuple(words[:known]), words[known] if known < len(words) else None
    place = " ".join(
        [*group, *([] if wrong is None else [quote(wrong) if " " in wrong or not wrong else wrong])]
    )
    at = _words(app_name, group)
    if wrong is None:
        return RukhError("RKL018", "no command is named", place=place, mend=f"see {at} --help")
    siblings = {path[known] for path, _, _, _ in routes if len(path) > known and path[:known] == group}
    meant = _meant(wrong, siblings.union(() if group else core_words))
    if (*group, *wrong.split()) in {path for path, _, _, _ in routes}:
        meant = " ".join(wrong.split())  # right words, and quotes around them
    mend = f"see {at} --help" if meant is None else f"did you mean {at} {meant}?"
    return RukhError("RKL018", f"{wrong!r} is not a command of {at}", place=place, mend=mend)


def nothing_below(app_name: str, words: list[str], known: int) -> RukhError:
    """The refusal of help for words behind the first `known`, which are a command: nothing stands below it."""
    path = " ".join(words[:known])
    return RukhError(
        "RKL018",
        f"{words[known]!r} stands behind the command {path}, which has none below it",
        place=" ".join(quote(word) for word in words[: known + 1]),
        mend=f"see {app_name} help {path}",
    )


def _meant(wrong: str, known: Iterable[str]) -> str | None:
    """The nearest word, whatever the case; one that has no letter of `wrong` is no slip of it. RK-CLI-098"""
    from rukh.values.nearest import nearest

    folded = {word.casefold(): word for word in sorted(known, reverse=True)}
    meant = nearest(wrong.casefold(), folded)
    return folded[meant] if meant is not None and set(meant) & set(wrong.casefold()) else None


def _words(app_name: str, path: tuple[str, ...] | list[str]) -> str:
    return " ".join([app_name, *path])


def _usage(app_name: str, record: dict[str, Any]) -> str:
    words = ["[ARGUMENT ...]"]
    if record["mapping"]["kind"] != "passthrough":
        positionals = [_usage_word(p) for p in record["parameters"] if p["form"] == "positional"]
        words = ["[OPTIONS]", *positionals]
    return " ".join([_words(app_name, record["path"]), *words])


def _usage_word(parameter: dict[str, Any]) -> str:
    return _label(parameter) if parameter["required"] else f"[{_label(parameter)}]"


def _label(parameter: dict[str, Any]) -> str:
    return f"{parameter['id'].upper()}{_repeats(parameter['type'])}"


def _repeats(declared: dict[str, Any]) -> str:
    return " ..." if declared["kind"] == "list" else ""


def _argument_row(parameter: dict[str, Any]) -> Row:
    metavar = _metavar(parameter["type"])
    return _label(parameter), _text(parameter, [] if metavar in ("TEXT", "CHOICE") else [metavar])


def _option_row(parameter: dict[str, Any]) -> Row:
    short = [name for name in parameter["names"] if not name.startswith("--")]
    long = [name for name in parameter["names"] if name.startswith("--")]
    if parameter["form"] == "flag":
        long += [f"--no-{name[2:]}" for name in long]
        value = ""
    else:
        value = f" {_metavar(parameter['type'])}{_repeats(parameter['type'])}"
    return ("" if short else "    ") + ", ".join([*short, *long]) + value, _text(parameter, [])


def _core_rows(record: dict[str, Any], run: bool) -> list[Row]:
    if record["mapping"]["kind"] == "passthrough":
        return []
    taken = any("-h" in p["names"] for p in record["parameters"] if p["form"] != "positional")
    help_row = ("    --help" if taken else "-h, --help", "Show this help")
    return [
        help_row,
        *([_JSON_ROW] if record["result"] else []),
        *_CORE_ROWS,
        *([_INPUTS_ROW] if run else []),
    ]


def _metavar(declared: dict[str, Any]) -> str:
    kind = declared["kind"]
    if kind == "list":
        return _metavar(declared["items"])
    if kind == "choice":
        words = "|".join(printable(value) for value in declared["values"])
        return words if columns(words) <= _WIDEST_CHOICE else "CHOICE"
    return _METAVARS[kind]


def _text(parameter: dict[str, Any], notes: list[str]) -> str:
    declared = parameter["type"]
    notes = [*notes, *_bounds(declared)]
    if declared["kind"] == "list":
        notes += [*_bounds(declared["items"]), _span(declared, "minItems", "maxItems", " items")]
    if "default" in parameter:
        notes.append(f"default {_default(parameter['default'])}")
    if parameter["required"]:
        notes.append("required")
    note = "; ".join(printable(note) for note in notes if note)
    summary = printable(parameter["summary"] or "")
    return f"{summary} [{note}]".lstrip() if note else summary


def _bounds(declared: dict[str, Any]) -> list[str]:
    kind = declared["kind"]
    if kind == "string":
        return [_span(declared, "minLength", "maxLength", " characters")]
    if kind == "choice" and _metavar(declared) == "CHOICE":
        return ["one of " + ", ".join(declared["values"])]
    return [_span(declared, "minimum", "maximum", "")]


def _span(declared: dict[str, Any], least: str, most: str, unit: str) -> str:
    """`1 to 200 characters`, with one side or none where the other is not declared."""
    low, high = (_number(declared[name]) if name in declared else "" for name in (least, most))
    if low and high:
        return f"{low} to {high}{unit}"
    if low or high:
        return f"at least {low}{unit}" if low else f"at most {high}{unit}"
    return ""


def _number(value: Any) -> str:
    """A bound: a number, or the exact text of a decimal."""
    return value if isinstance(value, str) else canonical(value)


def _default(value: Any) -> str:
    return value if isinstance(value, str) and value else canonical(value)


def _examples(app_name: str, examples: list[dict[str, Any]], sheet: Sheet) -> str:
    lines: list[str] = []
    for example in examples:
        lines.append("  " + printable(" ".join([app_name, *(quote(word) for word in example["argv"])])))
        summary = wrap(printable(example.get("summary") or ""), sheet.width - 6)
        lines += [f"      {line}" for line in summary if line]
    return "\n".join([sheet.title("Examples"), *lines]) if lines else ""


def _below(path: tuple[str, ...], routes: Sequence[Route], sheet: Sheet) -> list[str]:
    """The sections of what stands directly below `path`, by kind, each in order of its words."""
    depth = len(path)
    below = [route for route in sorted(routes, key=lambda route: route[0]) if route[0][:depth] == path]
    commands = {identity: words for words, kind, identity, _ in below if kind == "command"}
    blocks = []
    for title, wanted in (("Commands", "command"), ("Groups", "group"), ("Aliases", "alias")):
        rows = []
        for words, kind, identity, summary in below:
            if len(words) != depth + 1 or kind != wanted:
                continue
            if kind == "alias" and identity in commands:
                summary = f"same as {' '.join(commands[identity])}"
            elif kind == "group" and not summary:
                summary = ", ".join(_children(words, below))
            rows.append((words[-1], printable(summary or "")))
        blocks.append(sheet.section(title, rows))
    return blocks


def _children(path: tuple[str, ...], routes: Sequence[Route]) -> list[str]:
    depth = len(path)
    return [words[-1] for words, _, _, _ in routes if len(words) == depth + 1 and words[:depth] == path]
