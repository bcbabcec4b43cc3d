"""One connection, without descriptors, threads or a clock: what arrives, what waits, what goes out.

    bytes → lines → held requests → answered → queued → bytes
                                  → call in a thread → ready → queued

**Held.** A request is taken up only while any answer to it would fit the outgoing queue. Until then it is held, up to
32 requests or 1 MiB; beyond that lines wait unread and the connection is not read. A cancellation is never held: it
passes every request before it, so that a client that reads slowly can still stop its calls. Where no waiting line moves
for two seconds, control is lost and the transport is closed (RK-MCP-009). Time in which this host did not read is not
counted against an unfinished line.

**Calls.** At most 16 are in flight; the next is answered busy, never queued. A call is in flight until its response is
queued. Ids are compared with their JSON type. An id in flight is not taken a second time: the answer has no id, because
the id belongs to the first request (RK-MCP-012).

**Cancellation** (RK-MCP-033), of the first of these that has the id. A call in flight: the host is asked to stop it
and, whether it still can or not, no response is sent; a commit that was asked for stands. A response that waits in the
queue: it is withdrawn. A held request: it is dropped. Anything else: nothing happens.

**End.** `end_of_input` lets everything that has arrived finish. `close` cancels the calls with cause `scope_closed` and
still delivers. `lose` does the same for a connection that nobody reads any more: it delivers nothing.
"""

from __future__ import annotations

from rukh.mcp import protocol, wire
from rukh.mcp.wire import PATIENCE, LineReader, Notification, OutQueue, Oversize, Refusal, Request, Response
from rukh.values.registry import (
    LIMIT_CONCURRENCY,
    LIMIT_MESSAGE_IN_BYTES,
    LIMIT_QUEUE_MESSAGES,
    RPC_INVALID_REQUEST,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rukh.mcp.adapter import Adapter, Resolved
    from rukh.mcp.ports import Cancel
    from rukh.mcp.wire import Id


class Call:
    """One call in flight. Its thread sets `line`; None there means that the thread failed."""

    __slots__ = ("cancel", "line", "resolved", "suppressed")

    def __init__(self, resolved: Resolved, cancel: Cancel) -> None:
        self.resolved = resolved
        self.cancel = cancel
        self.line: bytes | None = None
        self.suppressed = False


class Session:
    """The state of one connection. `start` runs a call in a thread, or says that it cannot."""

    def __init__(
        self, adapter: Adapter, start: Callable[[Call], bool], *, concurrency: int = LIMIT_CONCURRENCY
    ) -> None:
        self._adapter = adapter
        self._start = start
        self._concurrency = min(concurrency, LIMIT_CONCURRENCY)  # an owner tightens, never widens {M31}
        self._reader = LineReader()
        self._lines: list[bytes | Oversize] = []  # the next one last
        self._held: list[tuple[Request | Refusal, int]] = []
        self._held_bytes = 0
        self._calls: dict[Id, Call] = {}
        self._ready: list[Call] = []
        self._paused_at: float | None = None
        self._open = True
        self._lost = False
        self.queue = OutQueue()

    @property
    def reads(self) -> bool:
        """Whether more input is wanted now."""
        return self._open and self._paused_at is None

    @property
    def idle(self) -> bool:
        """Whether nothing that arrived is still to be answered or written."""
        return not (self._calls or self._lines or self._held or len(self.queue))

    @property
    def deadline(self) -> float | None:
        """When `overdue` may next be true."""
        times = [time for _, time in self._deadlines()]
        return min(times) if times else None

    def overdue(self, now: float) -> str | None:
        """The deadline that has passed: `partial_read`, `blocked_write` or `control`; the transport is to be closed."""
        return next((what for what, time in self._deadlines() if now >= time), None)

    def receive(self, data: bytes, now: float) -> None:
        """Take bytes that were read."""
        self._lines[:0] = reversed(self._reader.receive(data, now))
        self.pump(now)

    def end_of_input(self, now: float) -> None:
        """Nothing more will be read; what has arrived is still answered."""
        if self._reader.end():
            self._hold(wire.unended_refusal(), 0)
        self._open = False
        self.pump(now)

    def finished(self, call: Call, now: float) -> None:
        """The thread of `call` has ended."""
        self._ready.append(call)
        self.pump(now)

    def pump(self, now: float) -> None:
        """Move what can move: finished calls first, then lines and held requests in order."""
        self._deliver()
        moved = self._classify()
        while self._held and self.queue.room():
            message, size = self._held.pop(0)
            self._held_bytes -= size
            self._serve(message)
            moved = self._classify() or moved
        self._watch_pause(now, moved)

    def close(self, cause: str) -> None:
        """Take up nothing more and stop every call with `cause`; outcomes are still delivered."""
        self._open = False
        self._paused_at = None
        self._reader.end()
        self._lines.clear()
        self._held.clear()
        self._held_bytes = 0
        for call in list(self._calls.values()):
            call.cancel.request(cause)

    def lose(self) -> None:
        """The connection is gone: close its scope and deliver nothing. A committed outcome stays committed. {M21}"""
        self._lost = True
        self.queue.clear()
        self.close("scope_closed")

    def _deadlines(self) -> list[tuple[str, float]]:
        write, read = self.queue.deadline, self._reader.deadline
        found = []
        if write is not None:
            found.append(("blocked_write", write))
        if self._paused_at is not None:
            found.append(("control", self._paused_at + PATIENCE))
        elif read is not None:
            found.append(("partial_read", read))
        return found

    def _classify(self) -> bool:
        """Read waiting lines while what they ask for can be held; whether any was read."""
        before = len(self._lines)
        while self._lines and not self._full():
            self._arrived(self._lines.pop())
        return len(self._lines) < before

    def _full(self) -> bool:
        return len(self._held) >= LIMIT_QUEUE_MESSAGES or self._held_bytes >= LIMIT_MESSAGE_IN_BYTES

    def _arrived(self, line: bytes | Oversize) -> None:
        if isinstance(line, Oversize):
            self._hold(wire.oversize_refusal(), 0)
            return
        message = wire.parse_message(line)
        if isinstance(message, Notification):
            self._notified(message)
        elif not isinstance(message, Response):
            self._hold(message, len(line))

    def _hold(self, message: Request | Refusal, size: int) -> None:
        self._held.append((message, size))
        self._held_bytes += size

    def _serve(self, message: Request | Refusal) -> None:
        if isinstance(message, Refusal):
            self.queue.put(message.id, protocol.error_line(message, message.id))
            return
        if message.id in self._calls or self.queue.holds(message.id):
            refusal = wire.refused(RPC_INVALID_REQUEST, "RKM005", "a request with this id is in flight")
            self.queue.put(None, protocol.error_line(refusal, None))
            return
        answer = self._adapter.answer(message)
        if isinstance(answer, bytes):
            self.queue.put(message.id, answer)
        elif not self._begin(answer):
            self.queue.put(message.id, self._adapter.busy(message.id))

    def _begin(self, resolved: Resolved) -> bool:
        if len(self._calls) >= self._concurrency:
            return False
        try:
            call = Call(resolved, self._adapter.new_cancel())
        except OSError:  # no descriptor to be had: the same as no room
            return False
        self._calls[resolved.id] = call
        if not self._start(call):
            del self._calls[resolved.id]
            return False
        return True

    def _deliver(self) -> None:
        while self._ready and (self._lost or self._ready[0].suppressed or self.queue.room()):
            call = self._ready.pop(0)
            identifier = call.resolved.id
            del self._calls[identifier]
            if not self._lost and not call.suppressed:
                self.queue.put(identifier, call.line or self._adapter.broken(identifier))

    def _notified(self, notification: Notification) -> None:
        """Act on a cancellation; every other notification, and a malformed one, means nothing here."""
        if notification.method != protocol.CANCELLED:
            return
        identifier = protocol.cancelled_id(notification.params)
        if identifier is None:
            return
        call = self._calls.get(identifier)
        if call is not None:
            # Suppression does not depend on the answer: after the commit was asked for, only the response is stopped.
            call.suppressed = True
            call.cancel.request("caller")
        elif not self.queue.withdraw(identifier):
            self._drop_held(identifier)

    def _drop_held(self, identifier: Id) -> None:
        for index, (message, size) in enumerate(self._held):
            if isinstance(message, Request) and message.id == identifier:
                del self._held[index]
                self._held_bytes -= size
                return

    def _watch_pause(self, now: float, moved: bool) -> None:
        """Note since when no line moved; the time until one did is not the client's."""
        if self._paused_at is not None and (moved or not self._lines):
            self._reader.excuse(now - self._paused_at)
            self._paused_at = None
        if self._lines and self._paused_at is None:
            self._paused_at = now
