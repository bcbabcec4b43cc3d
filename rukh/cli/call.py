"""A call from the terminal: words → route → typed inputs → the host → what is shown.

The supervisor is forked first, before the database opens, since no connection may cross a fork. Nothing of a result is
shown before its outcome is committed. A revision that is published between resolution and capture sends the words
round again. RK-CAPT-002 RK-CLI-065

What stands behind the path of a passthrough command is its program's: nothing of it is looked at here, not even whether
it is text. Every other command's words are UTF-8 to the last. RK-CLI-002 RK-PASS-003
"""

from __future__ import annotations

import signal

from rukh.cli.argv import argv_bytes_of, leading_words, require_text
from rukh.cli.files import STDIN, read_named
from rukh.cli.lexer import lex
from rukh.cli.output import output_form, show_error, show_outcome, show_unrecorded, unwritable, write_out
from rukh.contract.policy import LOCAL_USER
from rukh.host.cancel import Cancel
from rukh.host.invocation import Call, CommitFailed, Finished, Host, Moved
from rukh.host.spawner import Spawner
from rukh.host.streams import Streams
from rukh.store.calls import Caller
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError
from rukh.values.reader import read
from rukh.values.registry import (
    LIMIT_CLI_DEADLINE_MILLISECONDS,
    LIMIT_INPUT_BYTES,
    LIMIT_MESSAGE_DEPTH,
    LIMIT_MESSAGE_IN_BYTES,
    LIMIT_MESSAGE_MEMBERS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rukh.cli.context import Context
    from rukh.cli.lexer import Lexed
    from rukh.store.home import Home
    from rukh.store.profiles import Active, Route

# How often the words are resolved again because a publication came between.
_ATTEMPTS = 8
# What each signal says about who stops the call.
_CAUSES = {signal.SIGINT: "caller", signal.SIGTERM: "scope_closed", signal.SIGHUP: "scope_closed"}


def call_words(context: Context, words: list[str], *, before: int = 0, help_alone: bool = False) -> int:
    """Run what `words` (path and options) name; the exit status, of a passthrough program negative for a signal.

    `before` counts the words in front, for places. With `help_alone` the core was asked for help of `words`: nothing
    runs, not even a passthrough program that would take `--help` for itself. RK-PASS-005
    """
    return _Terminal(context, words, before, None, help_alone).status()


def call_identity(context: Context, words: list[str], *, before: int = 0, help_alone: bool = False) -> int:
    """`run IDENTITY …`: reaches every installed command, whatever its path, and takes `--inputs`."""
    require_text(words[:1], before)
    if not words or words[0].startswith("-"):
        raise RukhError(
            "RKL020",
            "the identity of a command is missing",
            place="run",
            mend=f"write {context.name} run PACKAGE/COMMAND; see {context.name} list",
        )
    return _Terminal(context, words[1:], before + 1, words[0], help_alone).status()


class _Terminal:
    """One call from its words to its exit status."""

    def __init__(
        self, context: Context, words: list[str], before: int, identity: str | None, help_alone: bool
    ) -> None:
        self.context = context
        self.words = words
        self.before = before
        self.identity = identity
        self.help_alone = help_alone

    def status(self) -> int:
        if asks_for_help(self.words) or "-h" in self.words:
            from rukh.cli.pages import help_page

            shown = help_page(self.context, self.words, self.identity, self.before, self.help_alone)
            if shown is not None:
                return shown
        return self._called(open_home(self.context.home, create=False))

    def _called(self, home: Home) -> int:
        spawner = None if asks_for_help(self.words) else Spawner.start(one_call=True)
        try:
            store = Store(home)
        except RukhError as refusal:
            return self._in_sight(spawner, refusal)
        try:
            return self._attempts(Host(store, spawner), store)
        finally:
            if spawner is not None:
                spawner.close()
            store.close()

    def _in_sight(self, spawner: Spawner | None, refusal: RukhError) -> int:
        """A home that is not to be worked in still shows its groups. RK-CLI-090"""
        if spawner is not None:
            spawner.close()
        if self.identity is not None:
            raise refusal
        from rukh.cli.pages import group_in_sight

        return group_in_sight(self.context, self.words, refusal)

    def _attempts(self, host: Host, store: Store) -> int:
        for _ in range(_ATTEMPTS):
            active = store.profiles.active()
            if active is None:
                raise RukhError(
                    "RKS008",
                    "nothing is installed here yet",
                    place=self.context.home,
                    mend="install an extension",
                )
            try:
                return self._resolved(host, store, active)
            except Moved:
                continue
        raise RukhError("RKS004", "the profile changes faster than a call can start", mend="try again")

    def _resolved(self, host: Host, store: Store, active: Active) -> int:
        if self.identity is not None:
            record = store.profiles.command(active.generation, self.identity)
            if record is None:
                raise RukhError(
                    "RKL021",
                    f"no installed command has the identity {self.identity}",
                    place=self.identity,
                    mend=f"see {self.context.name} list",
                )
            return self._call(host, active, record, self.words, self.before)
        route = store.profiles.resolve(active.generation, leading_words(self.words))
        if route is None or route.kind == "group":
            require_text(self.words, self.before)
            return self._no_command(store, active, route)
        record = store.profiles.command(active.generation, route.identity)
        if record is None:
            raise RukhError(
                "RKS006", f"the record of {route.identity} is missing", mend="restore the database"
            )
        return self._call(host, active, record, self.words[route.used :], self.before + route.used)

    def _no_command(self, store: Store, active: Active, route: Route | None) -> int:
        """Help of a group, or the refusal that names the nearest command."""
        from rukh.cli.browse import group_page, unknown

        return (unknown if route is None else group_page)(self.context, store.profiles, active, self.words)

    def _call(
        self, host: Host, active: Active, record: dict[str, Any], tokens: list[str], before: int
    ) -> int:
        call = Call(
            active, record, {}, Caller("cli", LOCAL_USER, LOCAL_USER), LIMIT_CLI_DEADLINE_MILLISECONDS
        )
        if record["mapping"]["kind"] == "passthrough":
            return self._help(record) if self.help_alone else self._pass_through(host, call, tokens)
        require_text(tokens, before)
        form = output_form(tokens)
        try:
            lexed = lex(record, tokens, before, inputs=self.identity is not None)
            call.supplied = {} if lexed.core.help else supplied(lexed)
            call.stdin = -1 if lexed.core.inputs == STDIN else 0
        except RukhError as error:
            return show_outcome(self.context, host.reject(call, error), form)
        if lexed.core.help:
            return self._help(record)
        return self._run(host, call, form)

    def _pass_through(self, host: Host, call: Call, tokens: list[str]) -> int:
        """The program's own status. Of a program that ran, nothing is shown but by itself. RK-PASS-035"""
        try:
            finished = host.pass_through(call, argv_bytes_of(tokens))
        except CommitFailed as failure:
            return show_unrecorded(self.context, failure, "plain")
        except RukhError as error:
            # Shown here, since its words, `--json` among them, say nothing to the core.
            show_error(self.context, error, "plain")
            return self.context.status(error.exit_code)
        return _shown_status(self.context, finished)

    def _run(self, host: Host, call: Call, form: str) -> int:
        cancel = Cancel()
        for number in _CAUSES:
            # `nohup` and a shell's `&` mean what they say: what they ignore stays ignored. RK-ADMIT-005
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(
                    number, lambda number, _frame: cancel.request(_CAUSES[signal.Signals(number)]) and None
                )
        streams = Streams.live(1 if form == "plain" else 2, 2)
        try:
            finished = host.invoke(call, streams, cancel)
        except CommitFailed as failure:
            return show_unrecorded(self.context, failure, form)
        finally:
            streams.close()
        if _unread(finished, streams) and form == "plain":
            return -signal.SIGPIPE
        status = show_outcome(self.context, finished, form)
        if streams.stdout.fault is not None:
            raise unwritable(streams.stdout.fault, True)
        return status

    def _help(self, record: dict[str, Any]) -> int:
        from rukh.cli.browse import command_page

        write_out(command_page(self.context, record, run=self.identity is not None).encode())
        return 0


def _unread(finished: Finished, streams: Streams) -> bool:
    """Whether the child was ended by writing to a reader that went away, as any program of a pipeline is.

    That is told by the same end, and by nothing else: the reader had what it wanted. RK-CLI-077
    """
    gone = streams.stdout.broken and streams.stdout.fault is None
    return gone and finished.exit_code == -signal.SIGPIPE


def _shown_status(context: Context, finished: Finished) -> int:
    return show_outcome(context, finished, "plain") if finished.exit_code is None else finished.exit_code


def asks_for_help(words: list[str]) -> bool:
    """Whether `--help` stands among the options: nothing will run, so nothing is forked for it. RK-CLI-050"""
    return "--help" in (words[: words.index("--")] if "--" in words else words)


def supplied(lexed: Lexed) -> dict[str, Any]:
    """The inputs by parameter id: those of the words, of `--read`, or of the one document of `--inputs`."""
    if lexed.core.inputs is not None:
        return read_inputs(lexed.core.inputs)
    return {**lexed.supplied, **{name: read_text(name, path) for name, path in lexed.core.reads.items()}}


def read_inputs(path: str) -> dict[str, Any]:
    """The JSON object in a file, or in standard input for `-`; what is in it is the validator's to judge."""
    document = read(
        read_named(path, LIMIT_MESSAGE_IN_BYTES),
        max_bytes=LIMIT_MESSAGE_IN_BYTES,
        max_depth=LIMIT_MESSAGE_DEPTH,
        max_members=LIMIT_MESSAGE_MEMBERS,
    )
    if not isinstance(document, dict):
        raise RukhError(
            "RKL022",
            "the inputs are not a JSON object",
            place="--inputs",
            mend='write {"parameter": value, …}',
        )
    return document


def read_text(name: str, path: str) -> str:
    """The text of a file for the parameter `name`, strictly UTF-8."""
    try:
        return read_named(path, LIMIT_INPUT_BYTES).decode()
    except UnicodeDecodeError as error:
        raise RukhError(
            "RKV001", f"byte {error.start} of {path} is not UTF-8", place=f"/{name}", mend="give a UTF-8 file"
        ) from error
