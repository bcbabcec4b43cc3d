"""`help`: of the root, of one of the core's words, of an installed command or group. Starts nothing. {H01}"""

from __future__ import annotations

import click

from rukh.cli.context import Context


@click.command("help")
@click.argument("words", nargs=-1)
@click.pass_obj
def help_verb(context: Context, words: tuple[str, ...]) -> int:
    """Help for a command, a group or a word."""
    from rukh.cli.main import dispatch_words

    return dispatch_words(context, [*words, "--help"] if words else [], help_alone=True)
