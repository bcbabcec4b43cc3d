"""Help of what is installed, read from a database that is opened for reading only. RK-CLI-090 RK-CLI-091

Who asks for help may stand before a full disk, a read-only mount or a damaged database. So nothing is written for it:
no turnstile, no migration, no log. What cannot be read so is asked of the home as any call asks it, which answers or
says what is wrong. The core's own words need no home at all.
"""

from __future__ import annotations

from rukh.cli.argv import leading_words, require_text
from rukh.cli.browse import command_page, group_page, unknown
from rukh.cli.help import nothing_below
from rukh.cli.lexer import lex
from rukh.cli.output import write_err, write_out
from rukh.store.home import Home, open_home
from rukh.store.profiles import Active, Profiles
from rukh.store.reading import Reading
from rukh.values.errors import RukhError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from rukh.cli.context import Context

    T = TypeVar("T")


def help_page(
    context: Context, words: list[str], identity: str | None, before: int, alone: bool
) -> int | None:
    """Show the help that `words` ask for; None where no help is meant, or where it is not to be had by reading.

    `identity` is that of `run`, and `words` stand behind it; `before` and `alone` as in `call_words`.
    """
    try:
        with_profile = _published(open_home(context.home, create=False))
    except RukhError:
        return None
    if with_profile is None:
        return None
    profiles, active = with_profile
    if identity is not None:
        return _of_command(context, profiles.command(active.generation, identity), words, before, alone, True)
    route = profiles.resolve(active.generation, leading_words(words))
    if route is None or route.kind == "group":
        require_text(words, before)
        return (unknown if route is None else group_page)(context, profiles, active, words)
    record = profiles.command(active.generation, route.identity)
    if alone and len(words) > route.used + 1:  # the last one is the `--help` that was put there
        raise nothing_below(context.name, words, route.used)
    return _of_command(context, record, words[route.used :], before + route.used, alone, False)


def group_in_sight(context: Context, words: list[str], refusal: RukhError) -> int:
    """What stands at `words` in a home that can be read and not opened; raises `refusal` where that is a command."""
    try:
        with_profile = _published(open_home(context.home, create=False))
    except RukhError:
        raise refusal from None
    if with_profile is None:
        raise refusal
    profiles, active = with_profile
    route = profiles.resolve(active.generation, leading_words(words))
    if route is not None and route.kind != "group":
        raise refusal
    return (unknown if route is None else group_page)(context, profiles, active, words)


def _published(home: Home) -> tuple[Profiles, Active] | None:
    """The active revision, read; None where there is none or the schema is another."""
    reading = Reading(home)
    if not reading.is_current:
        return None
    profiles = Profiles(reading)
    active = profiles.active()
    return None if active is None else (profiles, active)


def _of_command(
    context: Context, record: Any | None, words: list[str], before: int, alone: bool, run: bool
) -> int | None:
    if record is None or (record["mapping"]["kind"] == "passthrough" and not alone):
        return None
    if record["mapping"]["kind"] != "passthrough":
        try:
            require_text(words, before)
            if not lex(record, words, before, inputs=run).core.help:
                return None
        except RukhError:
            return None  # a call with a fault, which is refused and recorded as one
    write_out(command_page(context, record, run=run).encode())
    return 0


def installed(context: Context, read: Callable[[Home], T], empty: T) -> T:
    """What `read` finds in the home; `empty` with one line on standard error where that cannot be had. RK-CLI-091"""
    from rukh.cli.text import printable

    try:
        return read(open_home(context.home, create=False))
    except RukhError as error:
        said = f"{error.rule} {error.message}" + (f": {error.place}" if error.place else "")
        text = f"{context.name}: the installed commands cannot be listed: {said}"
        write_err(f"{printable(text)}\n".encode("utf-8", "backslashreplace"))
        return empty


def routes_of(home: Home) -> list[tuple[tuple[str, ...], str, str, str]]:
    """The routes of the active revision, read; none before the first publication."""
    with_profile = _published(home)
    if with_profile is None:
        from rukh.store.store import Store

        store = Store(home)
        active = store.profiles.active()
        return store.profiles.routes(active.generation) if active is not None else []
    profiles, active = with_profile
    return profiles.routes(active.generation)
