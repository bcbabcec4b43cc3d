"""The words of a command line as bytes and as text, and what a refusal shows of one. RK-CLI-002

A word that is read is UTF-8. One that is carried to a program keeps each byte that is not as a lone surrogate.
"""

from __future__ import annotations

from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_PATH_WORDS

# Code points: enough of a word to recognize it by, in a place or a message.
_SHOWN_LENGTH = 64
# How many words can lead to a command: the owner's mount words and the path's own.
_PATH_WORDS = 2 * LIMIT_PATH_WORDS


def decode_argv(argv_bytes: list[bytes]) -> list[str]:
    """The words as text, strictly UTF-8; raises RKL008 naming the first word that is not. RK-CLI-002"""
    words = carry_argv(argv_bytes)
    require_text(words)
    return words


def carry_argv(argv_bytes: list[bytes]) -> list[str]:
    """The words as text that no byte is lost of: a byte that is not UTF-8 is carried as a lone surrogate."""
    return [word.decode("utf-8", "surrogateescape") for word in argv_bytes]


def argv_bytes_of(words: list[str]) -> list[bytes]:
    """The bytes that `words` were carried from. RK-PASS-001"""
    return [word.encode("utf-8", "surrogateescape") for word in words]


def require_text(words: list[str], before: int = 0) -> None:
    """Raise RKL008 for the first of the carried `words` that is not UTF-8; `before` as in `lex`. RK-CLI-002"""
    for number, word in enumerate(words, before + 1):
        if not word.isascii():
            _require_text(number, argv_bytes_of([word])[0])


def _require_text(number: int, word: bytes) -> None:
    try:
        word.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RukhError(
            "RKL008",
            f"the word is not UTF-8 from byte {error.start + 1} on",
            place=place_of(number, word.decode("utf-8", "backslashreplace")),
            mend="write the word in UTF-8",
        ) from error


def leading_words(words: list[str]) -> list[str]:
    """The words that a path can be made of: those before the first option, empty word, word with a space or no text."""
    for count, word in enumerate(words[:_PATH_WORDS]):
        if word.startswith("-") or not word or " " in word or not is_text(word):
            return words[:count]
    return words[:_PATH_WORDS]


def is_text(text: str) -> bool:
    """Whether `text` can be the text of a word: no NUL, no lone surrogate."""
    return not any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text)


def place_of(number: int, word: str) -> str:
    """`argument N: WORD`, as refusals name a word. RK-CLI-003"""
    return f"argument {number}: {cut(word)}"


def cut(text: str) -> str:
    """`text`, shortened where it is long."""
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 1] + "…"
