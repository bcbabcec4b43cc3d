"""Text for a terminal: nothing in it moves the cursor, and its width is counted in columns.

- A control character (C0, DEL, C1) or a lone surrogate is shown as an escape, whoever wrote it. RK-CLI-070
- So is what switches the direction of writing or has no width. RK-CLI-096
- Text of one line also shows what would break that line: line and paragraph separators.
- A column is what a terminal gives one Latin letter: wide East Asian ones take two, combining ones none.

Plain ASCII, which is nearly everything, costs neither a table nor an import.
"""

from __future__ import annotations

_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_SEPARATORS = "\u2028\u2029"
# What turns the direction of writing, and what has no width: text with them reads as other text. The joiners of
# scripts and of emoji are not among them.
_DECEIVING = "\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
# What a shell leaves alone, so that a word of them needs no quotes.
_PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"
# Narrower text would be a column of syllables.
NARROWEST = 20


def printable(text: str, multiline: bool = False) -> str:
    """`text` with every character escaped that a terminal might obey; `multiline` keeps newlines and tabs."""
    if text.isprintable():
        return text
    return "".join(_shown(character, multiline) for character in text)


def _shown(character: str, multiline: bool) -> str:
    code = ord(character)
    if code < 0x20 or 0x7F <= code <= 0x9F:
        if multiline and character in "\n\t":
            return character
        return _SHORT.get(character, f"\\x{code:02x}")
    if 0xD800 <= code <= 0xDFFF or character in _DECEIVING or (not multiline and character in _SEPARATORS):
        return f"\\u{code:04x}"
    return character


def columns(text: str) -> int:
    """How many terminal columns one line of printable text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    width = 0
    for character in text:
        if category(character) not in ("Mn", "Me", "Cf"):
            width += 2 if east_asian_width(character) in ("W", "F") else 1
    return width


def pad(text: str, width: int, right: bool = False) -> str:
    """`text` filled with spaces to `width` columns; `right` puts the text at the right edge."""
    fill = " " * (width - columns(text))
    return fill + text if right else text + fill


def wrap(text: str, width: int) -> list[str]:
    """The lines of `text`, of at most `width` columns: broken at spaces, a longer word wherever it must be."""
    width = max(width, NARROWEST)
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines += _filled(paragraph.split(), width)
    return lines


def _filled(words: list[str], width: int) -> list[str]:
    lines = [""]
    for word in words:
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if columns(joined) <= width:
            lines[-1] = joined
        else:
            pieces = _pieces(word, width)
            lines[-1:] = [lines[-1], *pieces] if lines[-1] else pieces
    return lines


def _pieces(word: str, width: int) -> list[str]:
    """`word` cut into pieces of at most `width` columns; text of wide characters is often one long word."""
    pieces = [""]
    for character in word:
        if columns(pieces[-1]) + columns(character) > width:
            pieces.append("")
        pieces[-1] += character
    return pieces


def quote(word: str) -> str:
    """`word` as a POSIX shell must see it to mean one argument; for showing, never for running."""
    if word and all(character in _PLAIN for character in word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"
