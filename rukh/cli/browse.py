"""Help: what is installed and what the core has, read from declarations; nothing is started. {H01}"""

from __future__ import annotations

import os

from rukh.cli.argv import leading_words
from rukh.cli.help import command_help, group_help, root_help, run_help, unknown_command
from rukh.cli.output import STDERR, STDOUT, output_form, write_err, write_out
from rukh.cli.paint import bold, painted
from rukh.cli.words import BUILT
from rukh.store.home import exists
from rukh.values.errors import RukhError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rukh.cli.context import Context
    from rukh.store.profiles import Active, Profiles

_WIDTH = 80
# What is written longer in `COLUMNS` is no width of anything.
_COLUMNS_DIGITS = 4


def terminal_width(descriptor: int) -> int:
    """The columns that `COLUMNS` names, else those of the terminal, or 80 where there is none. RK-CLI-071"""
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and len(named) <= _COLUMNS_DIGITS and int(named) > 0:
        return int(named)
    try:
        return os.get_terminal_size(descriptor).columns or _WIDTH
    except OSError:
        return _WIDTH


def command_page(context: Context, record: dict[str, Any], *, run: bool = False) -> str:
    """Help of one command; under `run` it accepts a document of inputs too."""
    heading = painted(bold, STDOUT)
    return command_help(context.name, record, terminal_width(STDOUT), run=run, heading=heading)


def run_page(context: Context) -> int:
    """Help of `run` itself."""
    write_out(run_help(context.name, terminal_width(STDOUT), heading=painted(bold, STDOUT)).encode())
    return 0


def group_page(context: Context, profiles: Profiles, active: Active, words: list[str]) -> int:
    """A group without a command: its help, on standard output when asked for and else as a refusal. RK-CLI-055"""
    path = tuple(_path(words))
    routes = profiles.routes(active.generation)
    if not any(route[0][: len(path)] == path for route in routes):
        raise unknown_command(context.name, list(path), routes, list(BUILT))
    options = words[: words.index("--")] if "--" in words else words
    asked = "--help" in options or "-h" in options
    stream = STDOUT if asked else STDERR
    page = group_help(context.name, path, routes, terminal_width(stream), heading=painted(bold, stream))
    if asked:
        write_out(page.encode())
        return 0
    if output_form(words) == "plain":
        write_err(page.encode())
    raise RukhError(
        "RKL024",
        f"{' '.join(path)} is a group: name one of its commands",
        place=" ".join(path),
        mend=f"see {context.name} {' '.join(path)} --help",
    )


def unknown(context: Context, profiles: Profiles, active: Active, words: list[str]) -> int:
    """Words that lead nowhere: the page of what lies below them, or a refusal that names the nearest command."""
    path, routes = _path(words), profiles.routes(active.generation)
    if path and any(route[0][: len(path)] == tuple(path) for route in routes):
        return group_page(context, profiles, active, words)
    raise unknown_command(context.name, path, routes, list(BUILT))


def unknown_in_empty_home(context: Context, words: list[str]) -> RukhError:
    """The refusal of a command where there is no home yet."""
    return unknown_command(context.name, _path(words), [], list(BUILT))


def _path(words: list[str]) -> list[str]:
    """The words that were meant as a path, the first that cannot be a part of one included: empty, or with a space."""
    path = leading_words(words)
    return path + [word for word in words[len(path) : len(path) + 1] if not word.startswith("-")]


def root_page(context: Context) -> int:
    """The application's help."""
    routes = _routes(context)
    width, heading = terminal_width(STDOUT), painted(bold, STDOUT)
    write_out(root_help(context.name, routes, list(BUILT.items()), width, heading=heading).encode())
    return 0


def search_page(context: Context, words: list[str], refusal: RukhError) -> int:
    """What has to do with `words`, which name nothing; raises RKL034 where nothing does, with the mend of `refusal`."""
    from rukh.cli.search import Entry, core_entries, search
    from rukh.cli.sheet import Sheet
    from rukh.cli.text import printable

    words = " ".join(words).split()
    said = " ".join(words)
    installed = [Entry(*texts) for texts in _texts(context)]
    hits = search(words, [*installed, *core_entries()])
    if not hits.found:
        raise RukhError("RKL034", f"nothing here has to do with {said!r}", place=said, mend=refusal.mend)
    sheet = Sheet(terminal_width(STDOUT), painted(bold, STDOUT))
    rows = [
        (printable(path), f"{printable(summary)} [{printable(where)}]") for path, summary, where in hits.found
    ]
    more = f"and {hits.total - len(rows)} more: say another word beside it" if hits.total > len(rows) else ""
    front = (
        f"No command is called {printable(said)}. What has to do with it, and in brackets where that stands:"
    )
    blocks = [sheet.paragraph(front), "\n".join(sheet.rows(rows)), more]
    write_out(sheet.page(blocks).encode("utf-8", "backslashreplace"))
    return 0


def _texts(context: Context) -> list[tuple[str, str, list[tuple[str, str]]]]:
    if not exists(context.home):
        return []
    from rukh.cli.pages import installed
    from rukh.store.glance import Glance

    return installed(context, lambda home: Glance(home).texts(), [])


def _routes(context: Context) -> list[tuple[tuple[str, ...], str, str, str]]:
    if not exists(context.home):
        return []
    from rukh.cli.pages import installed, routes_of

    return installed(context, routes_of, [])
