"""Lines in, messages out: the framing of MCP over stdio, without a descriptor or a clock.

**In.** A message is one line ended by LF; every other character, U+2028, U+2029 and U+0085 included, is data. A line
holds at most 1 MiB before its LF. A longer one is reported once, when the limit is passed, and skipped to its LF. A
line has two seconds from its first byte; more bytes do not renew them (RK-MCP-004).

**What a line is.** The first row that holds decides:

    longer than its limit                          refused   -32700   without id
    not one JSON document within depth and members refused   -32700   without id
    not an object (an array is no batch here)      refused   -32600   without id
    `id` present, neither string nor integer       refused   -32600   without id
    `jsonrpc` is not "2.0"                         refused   -32600   with the id, if there is one
    `method` beside `result` or `error`            refused   -32600   with the id, if there is one
    `result` or `error`                            response           dropped: this host asks nothing
    `method` is not a string                       refused   -32600   with the id, if there is one
    no `id`                                        notification       never answered, whatever it holds
    `params` present and not an object             refused   -32600   with the id
    otherwise                                      request

An empty line is no JSON document, and is refused like one. Ids keep their JSON type: `7` and `"7"` are two ids.

**Out.** At most 32 messages or 4 MiB wait, each at most 2 MiB. A write has two seconds from its start; progress does
not renew them (RK-MCP-008). What waits and has not begun to be written can be withdrawn.
"""

from __future__ import annotations

from rukh.values.errors import RukhError
from rukh.values.reader import read
from rukh.values.registry import (
    LIMIT_MESSAGE_DEPTH,
    LIMIT_MESSAGE_IN_BYTES,
    LIMIT_MESSAGE_MEMBERS,
    LIMIT_MESSAGE_OUT_BYTES,
    LIMIT_PARTIAL_MILLISECONDS,
    LIMIT_QUEUE_BYTES,
    LIMIT_QUEUE_MESSAGES,
    RPC_INVALID_REQUEST,
    RPC_PARSE_ERROR,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Id = str | int

PATIENCE = LIMIT_PARTIAL_MILLISECONDS / 1000
# A refusal quotes what it refuses; a hostile line must not make the answer long.
_MESSAGE_LENGTH = 200


# What whoever wrote the message can do, by the rule that refused it. RK-MCP-052
MENDS = {
    "RKM001": "send shorter lines",
    "RKM002": "end each line with LF",
    "RKM003": 'send one object a line, with "jsonrpc":"2.0"; there are no batches',
    "RKM004": "give the request a string or an integer as its id",
    "RKM005": "give each request an id of its own",
    "RKM006": "send a method, and an object of params where it has any",
    "RKM007": "send the _meta of 2026-07-28: protocolVersion and clientCapabilities, under io.modelcontextprotocol/",
    "RKM008": "speak a supported version",
    "RKM009": "ask for server/discover, tools/list or tools/call",
    "RKM010": "send the params that 2026-07-28 has for the method",
    "RKM011": "send the request without it",
    "RKM012": "list the tools again: a change of the profile gives them new names",
    "RKM013": "begin the list again, without a cursor",
}


class Oversize:
    """Stands for one line that was too long to keep."""


OVERSIZE = Oversize()


class LineReader:
    """Cuts bytes into lines; keeps at most one unfinished line."""

    __slots__ = ("_limit", "_part", "_since", "_skipping")

    def __init__(self, limit: int = LIMIT_MESSAGE_IN_BYTES) -> None:
        self._limit = limit
        self._part = bytearray()
        self._since: float | None = None
        self._skipping = False

    @property
    def deadline(self) -> float | None:
        """When the unfinished line must have ended; None where none is unfinished."""
        return None if self._since is None else self._since + PATIENCE

    def receive(self, data: bytes, now: float) -> list[bytes | Oversize]:
        """The lines that `data` ends, without their LF, in order."""
        found: list[bytes | Oversize] = []
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._add(piece, found)
            if not self._skipping:
                found.append(bytes(self._part))
            self._restart()
        if rest:
            self._since = now if self._since is None else self._since
            self._add(rest, found)
        return found

    def excuse(self, seconds: float) -> None:
        """Do not count time in which the host itself did not read."""
        if self._since is not None:
            self._since += seconds

    def end(self) -> bool:
        """The input is over; true if it ended inside a line that was not reported yet."""
        unreported = self._since is not None and not self._skipping
        self._restart()
        return unreported

    def _add(self, piece: bytes, found: list[bytes | Oversize]) -> None:
        if self._skipping:
            return
        if len(self._part) + len(piece) > self._limit:
            self._skipping = True
            self._part.clear()
            found.append(OVERSIZE)
        else:
            self._part += piece

    def _restart(self) -> None:
        self._part.clear()
        self._since = None
        self._skipping = False


class Request:
    """A request: `id` is a string or an integer, `params` an object or None where absent."""

    __slots__ = ("id", "method", "params")

    def __init__(self, id: Id, method: str, params: dict[str, Any] | None) -> None:
        self.id = id
        self.method = method
        self.params = params


class Notification:
    """A notification; `params` is None where absent or no object."""

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: dict[str, Any] | None) -> None:
        self.method = method
        self.params = params


class Response:
    """An answer to a question that this host never asks."""

    __slots__ = ()


class Refusal(Exception):
    """A message that is answered by an error; `id` is None where it could not be read. `data` holds a stable code."""

    def __init__(self, rpc: int, message: str, data: dict[str, Any], id: Id | None = None) -> None:
        super().__init__(message)
        self.rpc = rpc
        self.message = message[:_MESSAGE_LENGTH]
        self.data = data
        self.id = id


def refused(rpc: int, rule: str, message: str, id: Id | None = None, **more: Any) -> Refusal:
    """The refusal by a rule of messages, with what mends it."""
    return Refusal(rpc, message, {"code": rule, "mend": MENDS[rule], **more}, id)


def refusal_of(error: RukhError, rpc: int, id: Id | None = None) -> Refusal:
    """The refusal that tells of `error`: its rule as `code`, its place and how to mend it."""
    data = error.document()
    del data["message"]
    return Refusal(rpc, error.message, data, id)


def oversize_refusal() -> Refusal:
    """The one answer to a line that was too long."""
    message = f"a line is longer than {LIMIT_MESSAGE_IN_BYTES} bytes"
    return refused(RPC_PARSE_ERROR, "RKM001", message)


def unended_refusal() -> Refusal:
    """The answer to a last line without LF."""
    return refused(RPC_PARSE_ERROR, "RKM002", "the input ended inside a line")


def parse_message(line: bytes) -> Request | Notification | Response | Refusal:
    """What `line` is, by the table above."""
    try:
        value = read(
            line,
            max_bytes=LIMIT_MESSAGE_IN_BYTES,
            max_depth=LIMIT_MESSAGE_DEPTH,
            max_members=LIMIT_MESSAGE_MEMBERS,
        )
    except RukhError as error:
        return refusal_of(error, RPC_PARSE_ERROR)
    if type(value) is not dict:
        return _shape("RKM003", "a message is one JSON object", None)
    identifier = value.get("id")
    if "id" in value and type(identifier) is not str and type(identifier) is not int:
        return _shape("RKM004", "an id is a string or an integer", None)
    return _classified(value, identifier)


def _classified(value: dict[str, Any], identifier: Id | None) -> Request | Notification | Response | Refusal:
    if value.get("jsonrpc") != "2.0":
        return _shape("RKM003", 'the member jsonrpc is not "2.0"', identifier)
    if "result" in value or "error" in value:
        if "method" in value:
            return _shape("RKM006", "a message is either a request or a response", identifier)
        return Response()
    method, params = value.get("method"), value.get("params")
    if type(method) is not str:
        return _shape("RKM006", "the member method is not a string", identifier)
    if identifier is None:
        return Notification(method, params if type(params) is dict else None)
    if "params" in value and type(params) is not dict:
        return _shape("RKM006", "the member params is not an object", identifier)
    return Request(identifier, method, params)


def _shape(rule: str, message: str, identifier: Id | None) -> Refusal:
    return refused(RPC_INVALID_REQUEST, rule, message, identifier)


class OutQueue:
    """Encoded messages on their way out, each with the id it answers (None for errors without id)."""

    __slots__ = ("_entries", "_offset", "_since", "bytes")

    def __init__(self) -> None:
        self._entries: list[tuple[Id | None, bytes]] = []
        self._offset = 0
        self._since: float | None = None
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def deadline(self) -> float | None:
        """When the write that has begun must have ended; None where none has begun."""
        return None if self._since is None else self._since + PATIENCE

    def room(self) -> bool:
        """Whether any message, however long it may be, still fits."""
        free = LIMIT_QUEUE_BYTES - self.bytes
        return len(self._entries) < LIMIT_QUEUE_MESSAGES and free >= LIMIT_MESSAGE_OUT_BYTES + 1

    def put(self, id: Id | None, line: bytes) -> None:
        """Append one message with its LF; the caller has asked for `room` before."""
        self._entries.append((id, line))
        self.bytes += len(line)

    def head(self, now: float) -> memoryview:
        """The bytes to write next, of one message; a write begins here, and its two seconds with it."""
        self._since = now if self._since is None else self._since
        return memoryview(self._entries[0][1])[self._offset :]

    def wrote(self, count: int) -> None:
        """`count` bytes of the head are written."""
        self._offset += count
        self.bytes -= count
        if self._offset == len(self._entries[0][1]):
            del self._entries[0]
            self._offset = 0
            self._since = None

    def holds(self, id: Id) -> bool:
        """Whether an answer to `id` waits or is being written."""
        return any(entry[0] == id for entry in self._entries)

    def withdraw(self, id: Id) -> bool:
        """Take back the answer to `id`; false where there is none, or a part of it is out."""
        for index, (owner, line) in enumerate(self._entries):
            if owner == id and not (index == 0 and self._offset):
                del self._entries[index]
                self.bytes -= len(line)
                # The two seconds of a write that has begun pass on to the next message: withdrawing renews nothing.
                self._since = self._since if self._entries else None
                return True
        return False

    def clear(self) -> None:
        """Drop everything: nobody reads it any more."""
        self._entries.clear()
        self._offset = self.bytes = 0
        self._since = None
