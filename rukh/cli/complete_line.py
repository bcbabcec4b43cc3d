"""A line of bash as words, and a word as bash must see it: nothing of the line is ever evaluated.

bash hands over the line as it was typed, quotes and all, and takes back what replaces the end of it: the part of the
word under the cursor from readline's point of view, which begins behind an open quote, or else behind the last unquoted
character of `COMP_WORDBREAKS`. What stands there must be quoted as the place asks for. RK-COMP-006 RK-COMP-007
"""

from __future__ import annotations

_BLANK = " \t\n"
# What a backslash takes its meaning from inside of double quotes.
_DOUBLE_ESCAPED = '$`"\\\n'
# What needs no backslash in a word without quotes.
_PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"


class Typed:
    """The words of a line without their quotes, the last of them the one under the cursor.

    `kept` is how much of that word stands in front of what is replaced; `quote` is the quote that is open there;
    `redirects` says that the word is where a redirection leads, and no word of the command.
    """

    __slots__ = ("kept", "quote", "redirects", "words")

    def __init__(self, words: list[str], kept: int, quote: str, redirects: bool) -> None:
        self.words = words
        self.kept = kept
        self.quote = quote
        self.redirects = redirects


class _Splitter:
    """Reads a line from left to right; the word under reading is `word`, None between two words."""

    def __init__(self, line: str, breaks: str) -> None:
        self.line = line
        self.breaks = breaks
        self.at = 0
        self.words: list[str] = []
        self.word: str | None = None
        self.kept = 0
        self.quote = ""
        self.target = False  # the next word is the target of a redirection

    def read(self) -> Typed:
        while self.at < len(self.line):
            self._step(self.line[self.at])
        redirects = self.target
        return Typed([*self.words, self.word or ""], self.kept, self.quote, redirects)

    def _step(self, character: str) -> None:
        self.at += 1
        if character in _BLANK:
            self._end()
        elif character in "<>":
            self._redirect()
        elif character == "\\":
            self._add(self.line[self.at : self.at + 1])
            self.at += 1
        elif character in "'\"":
            self._quoted(character)
        else:
            self._add(character)
            if character in self.breaks:
                self.kept = len(self.word or "")

    def _add(self, text: str) -> None:
        self.word = (self.word or "") + text

    def _end(self) -> None:
        if self.word is not None and not self.target:
            self.words.append(self.word)
        if self.word is not None:
            self.target = False
        self.word, self.kept = None, 0

    def _redirect(self) -> None:
        """`2>`, `>>`, `<&`: the digits in front belong to it, and the word behind it is no word of the command."""
        if self.word is not None and (self.word.isdigit() or self.word == "&"):
            self.word = None
        self._end()
        while self.line[self.at : self.at + 1] in ("<", ">", "&", "|"):
            self.at += 1
        self.target = True

    def _quoted(self, quote: str) -> None:
        """Up to the quote's end; where it has none, it is open under the cursor."""
        self._add("")
        before = len(self.word or "")
        while self.at < len(self.line):
            character = self.line[self.at]
            self.at += 1
            if character == quote:
                return
            if (
                character == "\\"
                and quote == '"'
                and self.line[self.at : self.at + 1] in tuple(_DOUBLE_ESCAPED)
            ):
                character = self.line[self.at]
                self.at += 1
            self._add(character)
        self.quote, self.kept = quote, before


def typed(line: str, breaks: str) -> Typed:
    """The words of a line up to the cursor; `breaks` are the characters of `COMP_WORDBREAKS`."""
    return _Splitter(line, breaks).read()


def words_behind(line: str) -> list[str]:
    """The whole words behind the cursor: without the rest of the one that the cursor stands in."""
    words = typed(line, "").words
    return [word for word in (words if line[:1] in tuple(_BLANK) else words[1:]) if word]


def quoted(word: str, quote: str) -> str | None:
    """`word` as it must stand behind the open `quote`, or without one; None where nothing could say it there."""
    if quote == "'":
        return word.replace("'", "'\\''")
    if quote == '"':
        # Inside of double quotes nothing keeps `!` from the history of an interactive shell.
        escaped = "".join(f"\\{c}" if c in _DOUBLE_ESCAPED else c for c in word)
        return None if "!" in word else escaped
    return "".join(c if c in _PLAIN or not c.isascii() else f"\\{c}" for c in word)
