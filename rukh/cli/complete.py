"""`completion --words`: what can stand at the cursor of a shell, for the scripts that `completion SHELL` prints.

A key press asks, so this is the shortest way through the program: no click, no store, one glance at the database, and
nothing is started or written. A question that cannot be answered is answered with nothing; no fault of a home, of a
database or of the line ever shows at a prompt. The questions and the answer: `spec/completion.md`.
"""

from __future__ import annotations

import os

from rukh.cli.complete_offer import offer
from rukh.cli.complete_place import DIRECTORIES, WORDS, Cursor, Offer
from rukh.cli.context import home_of
from rukh.cli.text import printable
from rukh.values.errors import RukhError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from rukh.cli.complete_line import Typed
    from rukh.store.glance import Glance

# More than anybody reads, and little enough to be printed while somebody types.
_MOST_ITEMS = 1000
_LONGEST_SUMMARY = 80


def complete(name: str, request: list[str], environ: Mapping[str, str]) -> bytes:
    """The answer to a request of a shell for the application `name`; empty where there is nothing to say.

    `bash BREAKS LINE BEHIND`: the line up to the cursor and what stands behind it. `zsh N WORD…` and `fish N WORD…`:
    the words behind the program's name, without quotes, of which number N is under the cursor and cut there.
    """
    shell, *rest = request or [""]
    line: Typed | None = None
    if shell == "bash" and len(rest) == 3:
        from rukh.cli.complete_line import typed, words_behind

        line = typed(rest[1], rest[0])
        if line.redirects:
            return b"files 0\n"
        cursor = Cursor(line.words[1:-1], line.words[-1], words_behind(rest[2]))
    elif shell in ("zsh", "fish") and rest and rest[0].isdecimal() and 1 <= int(rest[0]) < len(rest):
        number = int(rest[0])
        cursor = Cursor(rest[1:number], rest[number], rest[number + 1 :])
    else:
        return b""
    found = _found(name, cursor, environ)
    return _of_bash(found, cursor, line) if line is not None else _with_summaries(found, cursor)


def _found(name: str, cursor: Cursor, environ: Mapping[str, str]) -> Offer:
    """What can stand at the cursor. A home that cannot be read offers nothing; the core's words need none."""

    def opened(option: str | None) -> Glance | None:
        try:
            return _glance(home_of(name, _expanded(option), environ))
        except (RukhError, OSError, UnicodeError):
            return None

    try:
        return offer(cursor, opened)
    except RukhError as error:
        # Of the store: opened, and not to be read. Of the words: there is no such call, and nothing to offer.
        return offer(cursor, lambda _: None) if error.rule.startswith("RKS") else Offer()


def _glance(path: str) -> Glance | None:
    from rukh.store.home import exists, look_at

    if not exists(path):
        return None
    home = look_at(path)
    from rukh.store.glance import Glance

    return Glance(home)


def _expanded(option: str | None) -> str | None:
    """The shell would have expanded a leading `~`, and has not been asked to."""
    return os.path.expanduser(option) if option is not None and option.startswith("~/") else option


def _shown(found: Offer, cursor: Cursor) -> list[tuple[str, str]]:
    """What can be shown: words of one line, those that begin like the cursor's first, and not more than are read."""
    items = dict(item for item in found.items if item[0] and item[0].isprintable())
    ordered = sorted(items, key=lambda word: not word.startswith(cursor.word))
    return [(word, _summary(items[word])) for word in ordered[:_MOST_ITEMS]]


def _summary(text: str) -> str:
    shown = printable(" ".join(text.split()))
    return shown if len(shown) <= _LONGEST_SUMMARY else shown[: _LONGEST_SUMMARY - 1] + "…"


def _of_bash(found: Offer, cursor: Cursor, line: Typed) -> bytes:
    """The words alone, without what is kept of the word, quoted for where they are put."""
    from rukh.cli.complete_line import quoted

    if found.kind != WORDS:
        return _paths(found)
    fitting = [word for word, _ in _shown(found, cursor) if word.startswith(cursor.word)]
    lines = [quoted(word[line.kept :], line.quote) for word in fitting]
    return _lines([text for text in lines if text is not None])


def _with_summaries(found: Offer, cursor: Cursor) -> bytes:
    if found.kind != WORDS:
        return _paths(found)
    return _lines([f"{word}\t{summary}" if summary else word for word, summary in _shown(found, cursor)])


def _lines(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in [WORDS, *lines]).encode("utf-8", "replace") if lines else b""


def _paths(found: Offer) -> bytes:
    """`files N` or `directories N`: paths, behind the first N characters of the cursor's word."""
    kind = DIRECTORIES if found.kind == DIRECTORIES else "files"
    return f"{kind} {len(found.prefix)}\n".encode()
