"""A host in memory for tests of the MCP room: tools by behaviour, a view that tests may change."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rukh.mcp.ports import Binding, Busy, Moved, Outcome, Uncommitted, View, VisibilityUnavailable
from rukh.values.errors import RukhError

if TYPE_CHECKING:
    from rukh.mcp.ports import Cancel

BINDING = Binding("desktop", "user:local", "agent:desktop", "task_aaaaaaaaaaaaaaaaaaaaaaaaaa")
INVOCATION = "inv_aaaaaaaaaaaaaaaaaaaaaaaaaa"
NAMESPACE = "acme.desktop"
REVISION = "r1-0123456789abcdef"
# What the `big` tool answers with: more than a message may hold once it is there twice.
BIG = 1_200_000


class FakeCancel:
    """Accepts the first cause until the call has asked for its commit."""

    def __init__(self) -> None:
        self.cause = ""
        self.asked = threading.Event()
        self.causes: list[str] = []
        self.closed = False
        self.launched: Callable[[], None] = lambda: None

    def request(self, cause: str) -> bool:
        self.causes.append(cause)
        if self.closed:
            return False
        self.cause = self.cause or cause
        self.asked.set()
        return True


def envelope(outcome: str, *, data: Any = None, code: str = "") -> dict[str, Any]:
    """An outcome envelope as the host would commit it."""
    document: dict[str, Any] = {"invocationId": INVOCATION, "outcome": outcome}
    if data is not None:
        document["commandResult"] = {"kind": "structured", "data": data}
    if code:
        document["reason"] = {"code": code, "message": f"it was {code}"}
    return document


OUTPUT_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["invocationId", "outcome"],
    "properties": {
        "invocationId": {"type": "string"},
        "outcome": {"enum": ["succeeded", "command_failed", "rejected", "execution_failed", "cancelled"]},
        "reason": {"type": "object"},
        "commandResult": {"type": "object"},
    },
}


def tail(title: str, *, description: str = "") -> str:
    """A stored tail: canonical JSON text without a name."""
    document = {
        "title": title,
        "description": description or f"{title} — with U+2028 \u2028 inside",
        "inputSchema": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"text": {"type": "string"}},
        },
        "outputSchema": OUTPUT_SCHEMA,
    }
    return json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def view(
    *commands: str, revision: str = REVISION, visibility: str = "v1", namespace: str = NAMESPACE
) -> View:
    """A view of `commands` of the package acme.notes."""
    tools = [(f"acme.notes/{command}", tail(command)) for command in sorted(commands)]
    return View(revision, namespace, tools, visibility)


class FakePort:
    """A `HostPort`; every command is one way in which a call may go."""

    COMMANDS = (
        "big",
        "busy",
        "crash",
        "deadline",
        "echo",
        "fail",
        "lost",
        "moved",
        "refuse",
        "storage",
        "wait",
    )

    def __init__(self, seen: View | None = None, *, tell: Callable[[str], None] | None = None) -> None:
        self.seen: View | None = view(*self.COMMANDS) if seen is None else seen
        self.tell = tell or (lambda _event: None)
        self.invoked: list[tuple[str, str, dict[str, Any]]] = []
        self.cancels: list[FakeCancel] = []
        self.views = 0
        self.key = b"k" * 32
        self.release = threading.Event()

    def view(self, endpoint: str, deadline_at: float) -> View:
        assert endpoint == BINDING.endpoint
        self.views += 1
        if self.seen is None:
            raise VisibilityUnavailable
        return self.seen

    def new_cancel(self) -> FakeCancel:
        self.cancels.append(FakeCancel())
        return self.cancels[-1]

    def cursor_key(self) -> bytes:
        return self.key

    def invoke(self, view: View, identity: str, arguments: dict[str, Any], cancel: Cancel) -> Outcome:
        assert isinstance(cancel, FakeCancel)
        self.invoked.append((view.revision, identity, arguments))
        command = identity.partition("/")[2]
        self.tell(f"invoked {command}")
        outcome = self._outcome(command, arguments, cancel)
        cancel.closed = True
        self.tell(f"finished {command} {outcome['outcome']}")
        return Outcome(outcome)

    def _outcome(self, command: str, arguments: dict[str, Any], cancel: FakeCancel) -> dict[str, Any]:
        match command:
            case "wait":
                cancel.asked.wait()
                self.tell(f"cancelled {cancel.cause}")
                return envelope("cancelled", code=cancel.cause)
            case "hold":
                self.release.wait()
            case "moved":
                raise Moved
            case "busy":
                raise Busy
            case "lost":
                raise Uncommitted(INVOCATION)
            case "storage":
                raise RukhError("RKV002", "the store says no")
            case "crash":
                raise ZeroDivisionError(command)
            case "fail":
                return envelope("command_failed", data={"n": 1}, code="command")
            case "refuse":
                return envelope("rejected", code="invalid_input")
            case "deadline":
                return envelope("cancelled", code="deadline")
            case "big":
                return envelope("succeeded", data={"text": "x" * BIG})
        return envelope("succeeded", data={"arguments": arguments})
