"""`help`: of the root, of one of the core's words, of an installed command or group. Starts nothing. {H01}"""

from __future__ import annotations

import click

from rukh.cli.browse import search_page
from rukh.cli.context import Context
from rukh.cli.help import nothing_below
from rukh.cli.verbs import GROUPS
from rukh.cli.words import BUILT
from rukh.values.errors import RukhError

# The path names no command.
_UNKNOWN = "RKL018"
# The home or its database cannot be read: the core's words have something to say all the same. RK-CLI-091
_STORE = "RKS"


@click.command("help")
@click.argument("words", nargs=-1, metavar="[WORD ...]")
@click.pass_obj
def help_verb(context: Context, words: tuple[str, ...]) -> int:
    """Help for a command, a group or a word; for any other WORD, what has to do with it."""
    from rukh.cli.main import dispatch_words

    try:
        _require_no_more(context, words)
        return dispatch_words(context, [*words, "--help"] if words else [], help_alone=True)
    except RukhError as error:
        return _searched(context, words, error)


def _searched(context: Context, words: tuple[str, ...], error: RukhError) -> int:
    """What has to do with `words`, which led to no page; `error` itself where that is not for a search to answer."""
    unread = error.rule.startswith(_STORE)
    if not (unread or error.rule == _UNKNOWN) or not all(word.strip() for word in words):
        raise error
    try:
        return search_page(context, list(words), error)
    except RukhError as nothing:
        raise (error if unread else nothing) from None


def _require_no_more(context: Context, words: tuple[str, ...]) -> None:
    """Refuse words behind one of the core's, which has nothing below it. RK-CLI-098"""
    if not words or words[0] not in BUILT:
        return
    known = 2 if words[0] in GROUPS or words[0] == "run" else 1
    if len(words) > known:
        raise nothing_below(context.name, list(words), known)
