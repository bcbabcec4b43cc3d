"""The one strict JSON reader, for every document, frame and message that enters.

Beyond the grammar of RFC 8259 it refuses, while reading: bytes that are not UTF-8 or begin with a byte order
mark, a member named twice, lone surrogates, NUL, numbers out of range (see `numbers`), and anything beyond
the limits that the caller names. The root has depth 1; every member and every element counts once. Positions
are kept on request only.

RK-VAL-010 RK-VAL-011 RK-VAL-012 RK-VAL-013 RK-VAL-014 RK-VAL-015 RK-VAL-016
"""

from __future__ import annotations

import re

from rukh.values.errors import RukhError
from rukh.values.numbers import NUMBER, token_value
from rukh.values.pointer import join
from rukh.values.unicode import check_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Value = Any

_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN_STRING = re.compile('"([^"\\\\\x00-\x1f]*)"')
# One step for what nearly every member has: a name without escapes, the colon, and the space around it.
_NAME = re.compile('"([^"\\\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')
_BETWEEN = re.compile(r"[ \t\n\r]*([\]},])[ \t\n\r]*")
_CHUNK = re.compile('([^"\\\\\x00-\x1f]*)("|\\\\(?:u[0-9A-Fa-f]{4}|["\\\\/bfnrt]))')
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_GRAMMAR, _NO_COMMENT = "see the grammar of JSON", "leave the comment out: JSON has none"
_SURROGATE_OR_NUL = re.compile("[\x00\ud800-\udfff]")


class Positions:
    """Where each value of a document stands: lines and columns (in code points) count from 1."""

    def __init__(self, text: str, values: dict[str, int], names: dict[str, int]) -> None:
        self._text = text
        self._values = values
        self._names = names
        self._lines: list[int] = []

    def at(self, pointer: str) -> tuple[int, int]:
        """Line and column of the value at `pointer`, or of the nearest value around it."""
        return self._nearest(pointer, self._values)

    def key(self, pointer: str) -> tuple[int, int]:
        """Line and column of the member name at `pointer`; of the value where it is not a member."""
        if pointer in self._names:
            return self._place(self._names[pointer])
        return self.at(pointer)

    def _nearest(self, pointer: str, offsets: dict[str, int]) -> tuple[int, int]:
        while pointer and pointer not in offsets:
            pointer = pointer.rpartition("/")[0]
        return self._place(offsets[pointer])

    def _place(self, offset: int) -> tuple[int, int]:
        from bisect import bisect_right

        if not self._lines:
            self._lines = [0] + [match.end() for match in re.finditer("\n", self._text)]
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1


def read(data: bytes, *, max_bytes: int, max_depth: int, max_members: int) -> Value:
    """The document in `data` (UTF-8) as None, bool, int, float, str, list or dict.

    Raises RukhError RKV001–RKV011 with line and column.
    """
    return _Reading(_text(data, max_bytes), max_depth, max_members).document()


def read_located(data: bytes, *, max_bytes: int, max_depth: int, max_members: int) -> tuple[Value, Positions]:
    """As `read`, and the positions of every value and member name."""
    reading = _Reading(_text(data, max_bytes), max_depth, max_members, located=True)
    value = reading.document()
    return value, Positions(reading.text, reading.values, reading.names)


def _text(data: bytes, max_bytes: int) -> str:
    if len(data) > max_bytes:
        raise RukhError("RKV009", f"{len(data)} bytes, the limit is {max_bytes}", mend="send less")
    if data[:3] == b"\xef\xbb\xbf":
        raise RukhError(
            "RKV001",
            "the document begins with a byte order mark",
            line=1,
            column=1,
            mend="save it as UTF-8 without one",
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode()) + 1
        raise RukhError(
            "RKV001", f"byte {error.start} is not UTF-8", line=line, column=column, mend="save it as UTF-8"
        ) from None


class _Reading:
    """One pass over one text: recursive descent, bounded by the depth limit."""

    __slots__ = (
        "at",
        "located",
        "max_depth",
        "max_members",
        "members",
        "names",
        "text",
        "values",
    )

    def __init__(self, text: str, max_depth: int, max_members: int, *, located: bool = False) -> None:
        self.text = text
        self.at = 0
        self.max_depth = max_depth
        self.max_members = max_members
        self.members = 0
        self.located = located
        self.values: dict[str, int] = {}
        self.names: dict[str, int] = {}

    def document(self) -> Value:
        self.space()
        value = self.value(1, "")
        self.space()
        if self.at != len(self.text):
            raise self.refusal("RKV002", "more text follows the document", "keep one document")
        return value

    def space(self) -> str:
        """Skip white space; the next character, or "" at the end."""
        first = self.text[self.at : self.at + 1]
        if first > " ":
            return first
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]  # no space matches as well
        return self.text[self.at : self.at + 1]

    def value(self, depth: int, pointer: str) -> Value:
        if depth > self.max_depth:
            raise self.refusal("RKV010", f"nested deeper than {self.max_depth}", "nest less deeply")
        if self.located:
            self.values[pointer] = self.at
        first = self.text[self.at : self.at + 1]
        if first == '"':
            return self.string()
        if first == "{":
            return self.object(depth, pointer)
        if first == "[":
            return self.array(depth, pointer)
        if first in _LITERALS:
            return self.literal(first)
        return self.number()

    def count(self) -> None:
        self.members += 1
        if self.members > self.max_members:
            raise self.refusal("RKV011", f"more than {self.max_members} members and elements", "send fewer")

    def object(self, depth: int, pointer: str) -> dict[str, Value]:
        self.at += 1
        result: dict[str, Value] = {}
        if self.space() == "}":
            self.at += 1
            return result
        while True:
            self.count()
            start = self.at
            plain = _NAME.match(self.text, start)
            if plain is None:
                name = self.member_name()
            else:
                name = plain.group(1)
                self.at = plain.end()
            if name in result:
                self.at = start
                raise self.refusal("RKV003", f"the member {name!r} is named twice", "keep one of them")
            place = join(pointer, name) if self.located else ""
            if self.located:
                self.names[place] = start
            result[name] = self.value(depth + 1, place)
            if self.closed("}"):
                return result

    def member_name(self) -> str:
        if self.text[self.at : self.at + 1] != '"':
            raise self.unnamed()
        name = self.string()
        if self.space() != ":":
            raise self.refusal("RKV002", "a colon is missing here", "put a colon behind the name")
        self.at += 1
        self.space()
        return name

    def unnamed(self) -> RukhError:
        """Why a member begins here without a name; what is no name at all is not to be quoted."""
        mends = {"/": _NO_COMMENT, "#": _NO_COMMENT, "}": "take the last comma away", ",": "keep one comma"}
        mend = mends.get(self.text[self.at : self.at + 1], "quote the name")
        return self.refusal("RKV002", "a member name in double quotes is missing here", mend)

    def array(self, depth: int, pointer: str) -> list[Value]:
        self.at += 1
        result: list[Value] = []
        if self.space() == "]":
            self.at += 1
            return result
        while True:
            self.count()
            result.append(self.value(depth + 1, join(pointer, len(result)) if self.located else ""))
            if self.closed("]"):
                return result

    def closed(self, bracket: str) -> bool:
        """Step over `bracket` (true) or a comma (false), and over the space around it."""
        between = _BETWEEN.match(self.text, self.at)
        found = between.group(1) if between is not None else ""
        if between is None or (found != bracket and found != ","):
            self.space()
            mend = _NO_COMMENT if self.text[self.at : self.at + 1] in ("/", "#") else _GRAMMAR
            raise self.refusal("RKV002", f"a comma or {bracket} is missing here", mend)
        self.at = between.end()
        return found == bracket

    def literal(self, first: str) -> Value:
        word, value = _LITERALS[first]
        if not self.text.startswith(word, self.at):
            raise self.refusal("RKV002", "this is no JSON value", "write true, false or null in lower case")
        self.at += len(word)
        return value

    def number(self) -> int | float:
        match = NUMBER.match(self.text, self.at)
        if match is None:
            what = (
                "the text ends where a value is missing"
                if self.at == len(self.text)
                else "this is no JSON value"
            )
            mend = _NO_COMMENT if self.text[self.at : self.at + 1] in ("/", "#") else _GRAMMAR
            raise self.refusal("RKV002", what, mend)
        try:
            value = token_value(match.group(), match.group(1), match.group(2))
        except RukhError as error:
            raise self.refusal(error.rule, error.message, error.mend) from None
        self.at = match.end()
        return value

    def string(self) -> str:
        plain = _PLAIN_STRING.match(self.text, self.at)
        if plain is not None:
            self.at = plain.end()
            return plain.group(1)
        return self.escaped_string()

    def escaped_string(self) -> str:
        start = self.at
        self.at += 1
        parts: list[str] = []
        while True:
            chunk = _CHUNK.match(self.text, self.at)
            if chunk is None:
                raise self.string_fault(start)
            parts.append(chunk.group(1))
            self.at = chunk.end()
            escape = chunk.group(2)
            if escape == '"':
                break
            parts.append(chr(int(escape[2:], 16)) if escape[1] == "u" else _ESCAPES[escape[1]])
        text = "".join(parts)
        return text if _SURROGATE_OR_NUL.search(text) is None else self.paired(text, start)

    def paired(self, text: str, start: int) -> str:
        """The text with escaped surrogate pairs joined; lone ones and NUL are refused at the string's
        start."""
        joined = _PAIR.sub(lambda pair: pair.group().encode("utf-16", "surrogatepass").decode("utf-16"), text)
        try:
            return check_text(joined)
        except RukhError as error:
            self.at = start
            raise self.refusal(error.rule, error.message, error.mend) from None

    def string_fault(self, start: int) -> RukhError:
        """Why the string that began at `start` could not be read on."""
        match = re.compile('[^"\\\\\x00-\x1f]*').match(self.text, self.at)
        self.at = match.end() if match else self.at
        found = self.text[self.at : self.at + 1]
        if not found:
            self.at = start
            return self.refusal(
                "RKV002", "the string that begins here has no end", "close it with a double quote"
            )
        if found == "\\":
            return self.refusal(
                "RKV002", "this escape is not of JSON", 'use \\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX'
            )
        return self.refusal("RKV002", f"the control character U+{ord(found):04X} is not escaped", "escape it")

    def refusal(self, rule: str, message: str, mend: str) -> RukhError:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - (self.text.rfind("\n", 0, self.at) + 1) + 1
        return RukhError(rule, message, mend=mend, line=line, column=column)
