"""From the process's words to its exit status. Administration, and click with it, is loaded only for its own words.

Every refusal arrives here as a `RukhError` and leaves as text or JSON on standard error with the exit status of its
rule; no traceback reaches a user. RK-ADM-011
"""

from __future__ import annotations

import os

from rukh.cli.argv import carry_argv, require_text
from rukh.cli.context import Context, home_of
from rukh.cli.reading import split_core
from rukh.values.errors import RukhError
from rukh.values.registry import EXIT_CALLER_CANCELLED, RESERVED_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from rukh.cli.reading import Globals


# What the scripts of `completion SHELL` ask with. RK-COMP-001
_COMPLETION = [b"completion", b"--words"]
# Damaged, or not to be written: the driver says what it met, and not where. RK-CLI-090
_OF_THE_DATABASE = ("RKS006", "RKS007")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def run(
    name: str,
    version: str,
    program: list[str],
    argv: list[bytes],
    environ: Mapping[str, str],
    exits: Mapping[int, int] | None = None,
) -> int:
    """Run one command line of the application `name`; the exit status, negative for a signal that ended a
    passthrough program. `exits` as in `Context`.

    Words that are not UTF-8 are carried to where they are refused, or to the program that they are for. RK-PASS-004
    """
    if argv[:2] == _COMPLETION:
        return _complete(name, argv[2:], environ)
    context = Context(name, version, "", program, exits)
    try:
        return _answered(context, argv, environ)
    except KeyboardInterrupt:
        return context.status(EXIT_CALLER_CANCELLED)
    finally:
        for end in context.ends:
            end()


def _answered(context: Context, argv: list[bytes], environ: Mapping[str, str]) -> int:
    """The exit status of a command line whose refusal, if it is one, has been shown."""
    # For the form of a refusal alone, which must be known even where a word is not UTF-8.
    shown = [word.decode("utf-8", "replace") for word in argv]
    try:
        words = carry_argv(argv)
        options, rest = _split(words)
        context.home = home_of(context.name, options.home, environ)
        return _dispatch(context, options, rest, len(words) - len(rest))
    except RukhError as error:
        return _refused(context, error, shown)
    except (
        Exception
    ) as fault:  # the outermost border: a fault of ours is reported, never shown as a traceback
        return _refused(context, _internal(fault), shown)


def _complete(name: str, request: list[bytes], environ: Mapping[str, str]) -> int:
    """Answer a shell; whatever goes wrong, nothing is shown at the prompt. RK-COMP-002"""
    try:
        from rukh.cli.complete import complete

        os.write(1, complete(name, carry_argv(request), environ))
    except Exception:  # the outermost border, and a key press is no place for a report
        pass
    return 0


def _dispatch(context: Context, options: Globals, rest: list[str], before: int) -> int:
    if options.version:
        from rukh.cli.output import write_out

        write_out(f"{context.name} {context.version}\n".encode())
        return 0
    return dispatch_words(context, [] if options.help else rest, before)


def _split(words: list[str]) -> tuple[Globals, list[str]]:
    """The options before the path and the rest; a word that is not UTF-8 comes before every other fault of theirs."""
    try:
        options, rest = split_core(words)
    except RukhError:
        require_text(words)
        raise
    require_text(words[: len(words) - len(rest)])
    return options, rest


def dispatch_words(context: Context, rest: list[str], before: int = 0, *, help_alone: bool = False) -> int:
    """Run the words behind the options of the core; without any, the root's help.

    With `help_alone` the words ask for help and end with `--help`, which no program may take for its own.
    """
    if not rest:
        from rukh.cli.browse import root_page

        return root_page(context)
    word = rest[0]
    if word == "run" and rest[1:2] in (["--help"], ["-h"]):
        from rukh.cli.browse import run_page

        return run_page(context)
    if word == "run":
        from rukh.cli.call import call_identity

        return call_identity(context, rest[1:], before=before + 1, help_alone=help_alone)
    if word in RESERVED_WORDS:
        require_text(rest, before)
    if word == "mcp" and rest[1:2] == ["serve"]:
        from rukh.cli.serve import serve_words

        return serve_words(context, rest[2:])
    if word in RESERVED_WORDS:
        from rukh.cli.admin import administer

        return administer(context, rest, before)
    return _call(context, rest, before, help_alone)


def _call(context: Context, rest: list[str], before: int, help_alone: bool) -> int:
    from rukh.store.home import exists

    if not exists(context.home):
        require_text(rest, before)
        from rukh.cli.browse import unknown_in_empty_home

        raise unknown_in_empty_home(context, rest)
    from rukh.cli.call import call_words

    return call_words(context, rest, before=before, help_alone=help_alone)


def _refused(context: Context, error: RukhError, words: list[str]) -> int:
    from rukh.cli.output import output_form, show_error

    if error.rule in _OF_THE_DATABASE and not error.place:
        error.place = context.home
    show_error(context, error, output_form(words))
    return context.status(error.exit_code)


def _internal(fault: Exception) -> RukhError:
    """A fault of this program as a refusal that names where it happened, for a report."""
    where = ""
    trace = fault.__traceback__
    while trace is not None:
        source = trace.tb_frame.f_code.co_filename
        if source.startswith(_PACKAGE):
            where = f"{source.removeprefix(_PACKAGE)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return RukhError(
        "RKL026", f"{type(fault).__name__}: {fault}", place=where, mend="report this fault with what you ran"
    )
