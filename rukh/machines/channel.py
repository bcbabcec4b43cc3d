"""One session of `rukh.channel/1`, seen from either end. Sans-I/O: bytes in, events out; events in, bytes out.

A frame is one JSON object a line, ended by LF, at most 256 KiB with its LF, read by the strict reader under
the channel's limits. U+2028, U+2029 and U+0085 are data. Every frame names itself in `type` and is closed: a
member that its type does not have is a violation, so that a child never sets what belongs to the core.
RK-CHAN-001 RK-CHAN-003

    opened ──hello──▶ greeted ──confirm──▶ confirmed ──execute──▶ executing ──completion──▶ reported
                                              └──describe──▶ describing ──description, completion──▶ reported

The host greets with a fresh session id; the child proves with that id and the one-time token that it is the process
that was started; then one request is dispatched, once. While executing, the child may have one operation outstanding,
numbered from 1 without gaps, and may report progress. A `cancel` may come once, at any time behind the greeting, also
crossing the child's last frame. Behind its report the child says nothing more. RK-CHAN-010 RK-CHAN-012

Whatever breaks a rule is a violation: it is given as the last event, with the rule, and the session is over; nothing
that comes later is read. A closed channel is an event, not a violation, unless it cuts a frame; what a missing report
means is decided by the lifecycle. RK-CHAN-020
"""

from __future__ import annotations

from rukh.values.canonical import canonical_bytes
from rukh.values.errors import RukhError
from rukh.values.nearest import nearest
from rukh.values.reader import read
from rukh.values.registry import (
    LIMIT_CHANNEL_DEPTH,
    LIMIT_CHANNEL_FRAME_BYTES,
    LIMIT_CHANNEL_MEMBERS,
    LIMIT_CHANNEL_MESSAGE,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Frame = dict[str, Any]

PROTOCOL = "rukh.channel/1"
CAUSES = ("caller", "owner", "deadline", "scope_closed")
COMPLETION_STATUSES = ("succeeded", "command_failed")
OPERATION_STATUSES = ("done", "denied", "unavailable", "refused", "uncertain", "failed")
# The statuses that a managed command may end with on its own account; formats, `managed exit status`.
LAST_EXIT_CODE = 63

# (state, frame type) -> state. What is not in the table is not legal. RK-CHAN-010
LEGAL = {
    ("opened", "hello"): "greeted",
    ("greeted", "confirm"): "confirmed",
    ("greeted", "cancel"): "greeted",
    ("confirmed", "execute"): "executing",
    ("confirmed", "describe"): "describing",
    ("confirmed", "cancel"): "confirmed",
    ("executing", "operation"): "executing",
    ("executing", "operation_result"): "executing",
    ("executing", "progress"): "executing",
    ("executing", "completion"): "reported",
    ("executing", "cancel"): "executing",
    ("describing", "description"): "reported",
    ("describing", "completion"): "reported",
    ("describing", "cancel"): "describing",
    ("reported", "cancel"): "reported",
}
SENDERS = {
    "hello": "host",
    "execute": "host",
    "describe": "host",
    "operation_result": "host",
    "cancel": "host",
    "confirm": "child",
    "operation": "child",
    "progress": "child",
    "completion": "child",
    "description": "child",
}


def _text(value: Any) -> bool:
    return type(value) is str


def _name(value: Any) -> bool:
    return type(value) is str and 0 < len(value) <= 128


def _message(value: Any) -> bool:
    return type(value) is str and len(value) <= LIMIT_CHANNEL_MESSAGE


def _texts(value: Any) -> bool:
    return type(value) is list and all(type(item) is str for item in value)


def _object(value: Any) -> bool:
    return type(value) is dict


def _number(value: Any) -> bool:
    return type(value) in (int, float)


def _ordinal(value: Any) -> bool:
    return type(value) is int and value >= 1


def _exit_code(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LAST_EXIT_CODE


def _any(value: Any) -> bool:
    return True


def _one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: type(value) is str and value in words


# type: (required members, optional members), each with the form of its value. RK-CHAN-004
# The inside of `commandResult` is judged by the declaration, not here: what is wrong with it is a fault of the result.
MEMBERS: dict[str, tuple[dict[str, Callable[[Any], bool]], dict[str, Callable[[Any], bool]]]] = {
    "hello": ({"protocol": _one_of(PROTOCOL), "session": _name}, {}),
    "confirm": ({"session": _name, "token": _name, "sdk": _name}, {}),
    "execute": ({"command": _name, "inputs": _object, "supplied": _texts}, {}),
    "describe": ({"command": _name, "path": _texts}, {}),
    "operation": ({"n": _ordinal, "operation": _name, "resource": _text, "input": _object}, {}),
    "operation_result": (
        {"n": _ordinal, "status": _one_of(*OPERATION_STATUSES)},
        {"data": _any, "reason": _object},
    ),
    "progress": ({"progress": _number}, {"total": _number, "message": _message}),
    "completion": (
        {"status": _one_of(*COMPLETION_STATUSES)},
        {"exitCode": _exit_code, "commandResult": _any, "message": _message},
    ),
    "description": ({"help": _object}, {}),
    "cancel": ({"cause": _one_of(*CAUSES)}, {}),
}


class Event:
    """What the other end did. `kind` is a frame type, `closed` or `violation`; `frame` holds the frame's members."""

    __slots__ = ("error", "frame", "kind")

    def __init__(self, kind: str, frame: Frame | None = None, error: RukhError | None = None) -> None:
        self.kind = kind
        self.frame: Frame = {} if frame is None else frame
        self.error = error


class _Channel:
    """What both ends share; each adds the frames that only it can make."""

    side = ""

    __slots__ = ("_buffer", "_cancelled", "_last", "_pending", "_searched", "state")

    def __init__(self) -> None:
        self.state = "opened"
        self._buffer = bytearray()
        self._searched = 0
        self._pending = 0  # the operation that waits for its result; 0 when there is none
        self._last = 0  # the number of the last operation
        self._cancelled = False

    @property
    def over(self) -> bool:
        """Whether nothing more is heard or may be said: the other end left, or broke a rule. RK-CHAN-023"""
        return self.state in ("broken", "closed")

    def receive(self, data: bytes) -> list[Event]:
        """The events of the next bytes of the other end; empty `data` is the end of the channel.

        A violation is the last event ever given; afterwards the answer is always empty.
        """
        if self.over:
            return []
        if not data:
            return [self._end()]
        self._buffer += data
        events: list[Event] = []
        try:
            while (line := self._next_line()) is not None:
                events.append(self._take(line))
        except RukhError as error:
            events.append(self._violation(error))
        return events

    def send(self, frame: Frame) -> bytes:
        """The bytes of `frame`; raises RukhError RKC… when this end may not say it now."""
        data = canonical_bytes(frame) + b"\n"
        if len(data) > LIMIT_CHANNEL_FRAME_BYTES:
            raise _too_large()
        self._advance(frame, self.side)
        return data

    def _end(self) -> Event:
        if self._buffer:
            return self._violation(_refusal("RKC010", f"{len(self._buffer)} bytes stand behind the last LF"))
        self.state = "closed"
        return Event("closed")

    def _violation(self, error: RukhError) -> Event:
        self.state = "broken"
        self._buffer = bytearray()
        return Event("violation", error=error)

    def _next_line(self) -> bytes | None:
        """The next whole line without its LF, or None; never keeps more than one frame's bytes. RK-CHAN-002"""
        end = self._buffer.find(b"\n", self._searched, LIMIT_CHANNEL_FRAME_BYTES)
        if end < 0:
            self._searched = len(self._buffer)
            if self._searched >= LIMIT_CHANNEL_FRAME_BYTES:
                raise _too_large()
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return line

    def _take(self, line: bytes) -> Event:
        frame = _frame(line)
        self._advance(frame, "child" if self.side == "host" else "host")
        self._judge(frame)
        return Event(frame["type"], frame)

    def _advance(self, frame: Frame, sender: str) -> None:
        """Check `frame` of `sender` against the tables and the counters, and move on."""
        kind = frame.get("type")
        if type(kind) is not str or kind not in MEMBERS:
            raise _refusal("RKC003", f"{kind!r} is no frame type", "/type")
        after = LEGAL.get((self.state, kind))
        if after is None or SENDERS[kind] != sender:
            raise _refusal(
                "RKC004", f"the {sender} may not send {kind} in a session that is {self.state}", "/type"
            )
        _check_members(kind, frame)
        if kind in self._CHECKS:
            self._CHECKS[kind](self, frame)
        self.state = after

    def _operation(self, frame: Frame) -> None:
        if self._pending:
            raise _refusal("RKC004", f"operation {self._pending} is still pending", "/n")
        if frame["n"] != self._last + 1:
            raise _refusal("RKC004", f"operation {frame['n']} follows operation {self._last}", "/n")
        self._pending = self._last = frame["n"]

    def _operation_result(self, frame: Frame) -> None:
        if frame["n"] != self._pending:
            raise _refusal("RKC004", f"operation {frame['n']} is not pending", "/n")
        self._pending = 0

    def _completion(self, frame: Frame) -> None:
        if self._pending:
            raise _refusal("RKC009", f"operation {self._pending} is still pending", "/type")
        if self.state == "describing" and "commandResult" in frame:
            raise _refusal("RKC005", "a describe request has no command result", "/commandResult")
        code = frame.get("exitCode")
        if code is not None and (code == 0) is not (frame["status"] == "succeeded"):
            raise _refusal("RKC007", f"exit code {code} does not fit {frame['status']}", "/exitCode")

    def _cancel(self, frame: Frame) -> None:
        if self._cancelled:
            raise _refusal("RKC004", "the session is cancelled already", "/type")
        self._cancelled = True

    def _judge(self, frame: Frame) -> None:
        """What only this end can check of a frame that came in."""

    # What no table can say.
    _CHECKS: dict[str, Callable[[_Channel, Frame], None]] = {
        "operation": _operation,
        "operation_result": _operation_result,
        "completion": _completion,
        "cancel": _cancel,
    }


class HostChannel(_Channel):
    """The host's end. `session` and `token` are fresh random text for this one child."""

    side = "host"

    __slots__ = ("session", "token")

    def __init__(self, session: str, token: str) -> None:
        super().__init__()
        self.session = session
        self.token = token

    def hello(self) -> bytes:
        """The greeting."""
        return self.send({"type": "hello", "protocol": PROTOCOL, "session": self.session})

    def _judge(self, frame: Frame) -> None:
        # A plain comparison: one wrong answer ends the session, so its timing teaches nothing.
        if frame["type"] == "confirm" and (frame["session"], frame["token"]) != (self.session, self.token):
            raise _refusal("RKC008", "this is not the child that was started", "/token")


class ChildChannel(_Channel):
    """The child's end, for tests and for checks; the SDK has its own. `token` is what descriptor 4 gave."""

    side = "child"

    __slots__ = ("session", "token")

    def __init__(self, token: str) -> None:
        super().__init__()
        self.session = ""
        self.token = token

    def confirm(self, sdk: str) -> bytes:
        """The confirmation of the session greeted; `sdk` names the implementation."""
        return self.send({"type": "confirm", "session": self.session, "token": self.token, "sdk": sdk})

    def _judge(self, frame: Frame) -> None:
        if frame["type"] == "hello":
            self.session = frame["session"]


def _frame(line: bytes) -> Frame:
    """The object in `line`; raises RKC002."""
    try:
        value = read(
            line,
            max_bytes=LIMIT_CHANNEL_FRAME_BYTES,
            max_depth=LIMIT_CHANNEL_DEPTH,
            max_members=LIMIT_CHANNEL_MEMBERS,
        )
    except RukhError as error:
        raise RukhError("RKC002", f"{error.message} [{error.rule}]", line=1, column=error.column) from None
    if type(value) is not dict:
        raise _refusal("RKC002", "the line is no object")
    return value


def _check_members(kind: str, frame: Frame) -> None:
    required, optional = MEMBERS[kind]
    for name in required:
        if name not in frame:
            raise _refusal("RKC006", f"{kind} lacks {name!r}", f"/{name}")
    for name, value in frame.items():
        form = required.get(name) or optional.get(name)
        if form is None and name != "type":
            near = nearest(name, [*required, *optional])
            raise _refusal(
                "RKC005", f"{name!r} is no member of {kind}", mend=f"did you mean {near!r}?" if near else ""
            )
        if form is not None and not form(value):
            raise _refusal("RKC007", f"{name!r} of {kind} has not the form of the protocol", f"/{name}")


def _refusal(rule: str, message: str, place: str = "", mend: str = "") -> RukhError:
    return RukhError(rule, message, place=place, mend=mend)


def _too_large() -> RukhError:
    return _refusal(
        "RKC001",
        f"the limit is {LIMIT_CHANNEL_FRAME_BYTES} bytes with the LF",
        mend="send less; a command result may hold 128 KiB",
    )
