"""Help: what is installed and what the core has, read from declarations; nothing is started. {H01}"""

from __future__ import annotations

import os

from rukh.cli.help import command_help, group_help, root_help, unknown_command
from rukh.cli.lexer import leading_words
from rukh.cli.output import STDERR, STDOUT, output_form, write_err, write_out
from rukh.cli.words import BUILT
from rukh.store.home import exists, open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rukh.cli.context import Context
    from rukh.store.profiles import Active

_WIDTH = 80


def terminal_width(descriptor: int) -> int:
    """The columns of a terminal, or 80 where there is none."""
    try:
        return os.get_terminal_size(descriptor).columns or _WIDTH
    except OSError:
        return _WIDTH


def command_page(context: Context, record: dict[str, Any], *, run: bool = False) -> str:
    """Help of one command; under `run` it accepts a document of inputs too."""
    return command_help(context.name, record, terminal_width(STDOUT), run=run)


def run_page(context: Context) -> int:
    """Help of `run` itself."""
    write_out(
        f"Usage: {context.name} run PACKAGE/COMMAND [OPTIONS] ...\n\n"
        "Run a command by its identity, wherever it is mounted; its own options and these:\n\n"
        "  --inputs FILE|-  Take the inputs as one JSON object by parameter id\n"
        "  --json           Print the result as one JSON document\n"
        "  --envelope       Print the whole outcome as one JSON document\n\n"
        f"{context.name} list names the identities; {context.name} run PACKAGE/COMMAND --help shows one.\n".encode()
    )
    return 0


def group_page(context: Context, store: Store, active: Active, words: list[str]) -> int:
    """A group without a command: its help, on standard output when asked for and else as a refusal. RK-CLI-055"""
    path = tuple(leading_words(words))
    routes = store.profiles.routes(active.generation)
    if not any(route[0][: len(path)] == path for route in routes):
        raise unknown_command(context.name, list(path), routes, list(BUILT))
    options = words[: words.index("--")] if "--" in words else words
    asked = "--help" in options or "-h" in options
    page = group_help(context.name, path, routes, terminal_width(STDOUT if asked else STDERR))
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


def unknown(context: Context, store: Store, active: Active, words: list[str]) -> int:
    """Words that lead nowhere: the page of what lies below them, or a refusal that names the nearest command."""
    path, routes = leading_words(words), store.profiles.routes(active.generation)
    if path and any(route[0][: len(path)] == tuple(path) for route in routes):
        return group_page(context, store, active, words)
    raise unknown_command(context.name, path, routes, list(BUILT))


def unknown_in_empty_home(context: Context, words: list[str]) -> RukhError:
    """The refusal of a command where there is no home yet."""
    return unknown_command(context.name, leading_words(words), [], list(BUILT))


def root_page(context: Context) -> int:
    """The application's help."""
    routes = _routes(context)
    write_out(root_help(context.name, routes, list(BUILT.items()), terminal_width(STDOUT)).encode())
    return 0


def _routes(context: Context) -> list[tuple[tuple[str, ...], str, str, str]]:
    if not exists(context.home):
        return []
    store = Store(open_home(context.home, create=False))
    active = store.profiles.active()
    return store.profiles.routes(active.generation) if active is not None else []
