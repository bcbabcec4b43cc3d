"""The lines of `tools.mutate_lines`: valid ones, their mutants, and an independent reading of what each may get.

The reading uses the standard library's parser, and adds what a strict reader refuses: it shares nothing with the host.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

SILENT = object()
WITHOUT_ID = object()

_LINE_BYTES = 1 << 20
_DEPTH = 32
_MEMBERS = 4096
_SAFE = 2**53 - 1
_PREFIX = "io.modelcontextprotocol/"
_META = {_PREFIX + "protocolVersion": "2026-07-28", _PREFIX + "clientCapabilities": {}}
_CLIENT = {**_META, _PREFIX + "clientInfo": {"name": "lines", "version": "1"}, "progressToken": 5}

# --- valid requests ---

NUMBER_OF_KINDS = 3


def known_request(kind: int, identifier: str, names: list[str]) -> tuple[bytes, str]:
    """A valid request of one of the kinds, its LF included, and its method."""
    method, params = (
        ("tools/list", ""),
        ("server/discover", ""),
        ("tools/call", f',"name":"{names[0]}","arguments":{{"text":"known"}}'),
    )[kind]
    meta = json.dumps(_META)
    text = (
        f'{{"jsonrpc":"2.0","id":"{identifier}","method":"{method}","params":{{"_meta":{meta}{params}}}}}\n'
    )
    return text.encode(), method


# --- mutants ---

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[-+.\w]+|[{}\[\]:,]|\s+|.', re.DOTALL)


def _templates() -> list[list[bytes]]:
    """The tokens of valid lines; NAME stands for the name of a tool, which a run fills in."""
    call = {
        "name": "NAME",
        "arguments": {"text": "a\u2028b", "list": [1, 2.5, None, True], "deep": {"a": {"b": {}}}},
    }
    bodies: list[dict[str, Any]] = [
        {"id": 1, "method": "server/discover", "params": {"_meta": _META}},
        {"id": "m1", "method": "server/discover", "params": {"_meta": _CLIENT}},
        {"id": 2, "method": "tools/list", "params": {"_meta": _META}},
        {"id": "m2", "method": "tools/list", "params": {"_meta": _CLIENT, "cursor": "0" * 64 + "acme"}},
        {"id": 3, "method": "tools/call", "params": {"_meta": _META, **call}},
        {"id": "m3", "method": "tools/call", "params": {"_meta": _CLIENT, **call}},
        {"method": "notifications/cancelled", "params": {"requestId": 3, "reason": "enough"}},
        {"method": "notifications/cancelled", "params": {"requestId": "m3"}},
        {"id": 4, "result": {"resultType": "complete"}},
        {"id": "m4", "error": {"code": -32603, "message": "no"}},
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **body}, ensure_ascii=False).encode() for body in bodies]
    return [_TOKEN.findall(line) for line in lines]


_TEMPLATES = _templates()
# What is put in the place of a token, or between two.
_ATOMS = [
    *(b"0", b"-0", b"1", b"2", b"3", b"-1", b"1.0", b"1e2", b"0.1", b"1e400", b"1e-400", b"01", b"+1", b".5"),
    *(b"9007199254740991", b"9007199254740992", b"9007199254740993", b"9" * 400, b"NaN", b"Infinity"),
    *(
        b"null",
        b"true",
        b"false",
        b"[]",
        b"{}",
        b"[[]]",
        b'{"a":1,"a":2}',
        b'{"":{}}',
        b"{",
        b"}",
        b",",
        b":",
    ),
    *(b'""', b'"1"', b'"m1"', b'"m3"', b'"\\ud800"', b'"\\ud834\\udd1e"', b'"\\u0000"', b'"\\x"', b'"\xff"'),
    *(b'"\xe2\x80\xa8"', b'"\xed\xa0\x80"', b'"id"', b'"jsonrpc"', b'"method"', b'"params"', b'"result"'),
    *(
        b'"error"',
        b'"requestId"',
        b'"1.0"',
        b'"2.0"',
        b'"initialize"',
        b'"ping"',
        b"\xef\xbb\xbf",
        b"\r",
        b"\x00",
    ),
]


def mutated(random: Random, names: list[str]) -> bytes:
    """A valid line with one to three edits of tokens and none to two of bytes; LFs in it end lines."""
    tokens = list(random.choice(_TEMPLATES))
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        random.choice(_TOKEN_EDITS)(random, tokens)
    data = bytearray(b"".join(tokens).replace(b"NAME", random.choice(names).encode()))
    for _ in range(random.choice((0, 0, 0, 1, 2))):
        random.choice(_BYTE_EDITS)(random, data)
    if random.random() < 0.001:
        data += b" " * (_LINE_BYTES - len(data) + random.randrange(-2, 3))
    return bytes(data)


def _swap(random: Random, tokens: list[bytes]) -> None:
    a, b = random.randrange(len(tokens)), random.randrange(len(tokens))
    tokens[a], tokens[b] = tokens[b], tokens[a]


def _replace(random: Random, tokens: list[bytes]) -> None:
    tokens[random.randrange(len(tokens))] = random.choice(_ATOMS)


def _renumber(random: Random, tokens: list[bytes]) -> None:
    """Another value for the id or for a number."""
    places = [
        at for at, token in enumerate(tokens) if token[:1].isdigit() or tokens[at - 3 : at - 2] == [b'"id"']
    ]
    if places:
        tokens[random.choice(places)] = random.choice(_ATOMS)


def _insert(random: Random, tokens: list[bytes]) -> None:
    tokens.insert(random.randrange(len(tokens) + 1), random.choice(_ATOMS))


def _remove(random: Random, tokens: list[bytes]) -> None:
    at = random.randrange(len(tokens))
    del tokens[at : at + random.randint(1, 4)]
    tokens.append(b"")  # never none at all


def _repeat(random: Random, tokens: list[bytes]) -> None:
    """A run of tokens, so a member or a structure, several times."""
    at = random.randrange(len(tokens))
    run = tokens[at : at + random.randint(1, 12)]
    tokens[at:at] = run * random.choice((1, 1, 1, 2, 40))


def _nest(random: Random, tokens: list[bytes]) -> None:
    """A token deep inside arrays or objects."""
    at, depth = random.randrange(len(tokens)), random.choice((1, 2, 27, 28, 29, 30, 31, 32, 40, 3000))
    begin, end = random.choice(((b"[", b"]"), (b'{"a":', b"}")))
    tokens[at] = begin * depth + tokens[at] + end * random.choice((depth, depth, depth, depth - 1))


def _widen(random: Random, tokens: list[bytes]) -> None:
    """A token behind many members."""
    at = random.randrange(len(tokens))
    times = random.choice((3, 100, 500)) if random.random() < 0.95 else _MEMBERS - random.randrange(40)
    members = b"".join(b'"w%d":%d,' % (number, number) for number in range(times))
    tokens[at] = b"{" + members + b'"w":' + tokens[at] + b"}"


def _truncate(random: Random, tokens: list[bytes]) -> None:
    del tokens[random.randint(1, len(tokens)) :]


# Wide and deep ones cost most; an edit is as likely as it stands here often.
_TOKEN_EDITS: list[Callable[[Random, list[bytes]], None]] = [
    *(_swap, _replace, _renumber, _insert, _remove, _repeat, _truncate) * 3,
    *(_renumber, _nest, _nest, _widen),
]


def _flip(random: Random, data: bytearray) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _put(random: Random, data: bytearray) -> None:
    at = random.randrange(len(data) + 1)
    data[at:at] = random.randbytes(random.randint(1, 4))


def _drop(random: Random, data: bytearray) -> None:
    at = random.randrange(len(data) + 1)
    del data[at : at + random.randint(1, 9)]


_BYTE_EDITS: list[Callable[[Random, bytearray], None]] = [_flip, _put, _drop]


# --- the independent reading ---


class _Unreadable(ValueError):
    """A strict reader refuses the line."""


def expected_answer(line: bytes) -> Any:
    """SILENT, WITHOUT_ID, or the id that the one answer to `line` names, by the table of the page."""
    try:
        value = _parsed(line)
    except (ValueError, RecursionError):
        return WITHOUT_ID
    if type(value) is not dict:
        return WITHOUT_ID
    identifier = value.get("id", WITHOUT_ID)
    if identifier is not WITHOUT_ID and type(identifier) not in (str, int):
        return WITHOUT_ID
    if value.get("jsonrpc") != "2.0":
        return identifier
    if "result" in value or "error" in value:
        return identifier if "method" in value else SILENT
    if type(value.get("method")) is not str:
        return identifier
    return SILENT if identifier is WITHOUT_ID else identifier


def _parsed(line: bytes) -> Any:
    if len(line) > _LINE_BYTES:
        raise _Unreadable
    return _judged(line.decode("utf-8"))


def _judged(text: str) -> Any:
    value = json.loads(
        text, object_pairs_hook=_members, parse_int=_integer, parse_float=_fraction, parse_constant=_constant
    )
    if _counted(value, 1) > _MEMBERS:
        raise _Unreadable
    return value


def _members(found: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(found)
    if len(document) != len(found) or not all(map(_is_text, document)):
        raise _Unreadable
    return document


def _counted(value: Any, depth: int) -> int:
    """How many members and elements `value` holds; refuses depth, NUL and lone surrogates."""
    if depth > _DEPTH or (type(value) is str and not _is_text(value)):
        raise _Unreadable
    if type(value) not in (dict, list):
        return 0
    items = value.values() if type(value) is dict else value
    return len(value) + sum(_counted(item, depth + 1) for item in items)


def _is_text(text: str) -> bool:
    return "\0" not in text and (text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text))


def _integer(text: str) -> int | float:
    """Beyond the safe integers a token is a number only as canonical form writes that number."""
    number = float(text)
    if abs(number) <= _SAFE:
        return int(text)
    if abs(number) >= 1e21 or text != f"{Decimal(repr(number)):f}".removesuffix(".0"):
        raise _Unreadable
    return number


def _fraction(text: str) -> int | float:
    number = float(text)
    if math.isinf(number) or (number == 0 and text.lower().partition("e")[0].strip("-0.")):
        raise _Unreadable
    whole = number.is_integer() and abs(number) <= _SAFE and Decimal(text) == int(number)
    return int(number) if whole else number


def _constant(text: str) -> Any:
    raise _Unreadable
