"""`help`: of the root, of one of the core's words, of an installed command or group. Starts nothing. {H01}"""

from __future__ import annotations

import click

from rukh.cli.browse import search_page
from rukh.cli.context import Context
from rukh.values.errors import RukhError

# The path names no command.
_UNKNOWN = "RKL018"


@click.command("help")
@click.argument("words", nargs=-1, metavar="[WORD ...]")
@click.pass_obj
def help_verb(context: Context, words: tuple[str, ...]) -> int:
    """Help for a command, a group or a word; for any other WORD, what has to do with it."""
    from rukh.cli.main import dispatch_words

    try:
        return dispatch_words(context, [*words, "--help"] if words else [], help_alone=True)
    except RukhError as error:
        if error.rule != _UNKNOWN:
            raise
        return search_page(context, list(words), error)
