"""From a checked request to its answer: discovery, lists, and calls mapped onto the one invocation core.

    server/discover   a constant
    tools/list        the view at this moment → names → one page; no view, no list {E08}
    tools/call        the view at this moment → exact name → identity → the host's invocation → envelope

A call asks for the view like a list does, so that an unknown, an obsolete and an invisible name cannot be told apart:
all three are one constant (RK-MCP-028). Arguments go to the host as they were read; the host's validator decides on
them, and its verdict is an outcome like any other. What becomes of a call:

    committed outcome                     result, `isError` unless succeeded
    the name went stale before capture    the same error as an unknown name
    no invocation could be made           -32603 `busy`
    ran, not committed                    -32603 `uncommitted` with the invocation id
    an answer longer than 2 MiB           -32603 `response_too_large` with the invocation id

The adapter has no thread and no descriptor. `answer` is used by the serving thread, `invoke` by a thread per call.
"""

from __future__ import annotations

import time

from rukh.mcp import protocol
from rukh.mcp.cursor import seal, unseal
from rukh.mcp.listing import Listing
from rukh.mcp.ports import Busy, Moved, Uncommitted, VisibilityUnavailable
from rukh.mcp.wire import Refusal
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_LIST_MILLISECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from rukh.mcp.ports import Binding, Cancel, HostPort, View
    from rukh.mcp.wire import Id, Request

    T = TypeVar("T")


class Resolved:
    """A call whose name was found: what its thread needs."""

    __slots__ = ("arguments", "id", "identity", "view")

    def __init__(self, id: Id, view: View, identity: str, arguments: dict[str, Any]) -> None:
        self.id = id
        self.view = view
        self.identity = identity
        self.arguments = arguments


class Adapter:
    """The answers of one endpoint; its binding never changes. {E11}"""

    def __init__(
        self,
        port: HostPort,
        binding: Binding,
        *,
        name: str,
        version: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._port = port
        self._binding = binding
        self._results = protocol.Results(name, version)
        self._clock = clock
        self._listing: Listing | None = None

    def answer(self, request: Request) -> bytes | Resolved:
        """The response line, or a call that is to be invoked; every refusal is a response."""
        try:
            params = protocol.check_request(request)
            if request.method == protocol.CALL:
                return self._resolve(request.id, params)
            result = self._results.discover if request.method == protocol.DISCOVER else self._list(params)
        except Refusal as refusal:
            return protocol.error_line(refusal, request.id)
        return self._line(request.id, result)

    def new_cancel(self) -> Cancel:
        """A cancellation for one call."""
        return self._port.new_cancel()

    def invoke(self, call: Resolved, cancel: Cancel) -> bytes:
        """Run one call to its committed outcome; the response line."""
        try:
            outcome = self._port.invoke(call.view, call.identity, call.arguments, cancel)
        except Moved:
            return protocol.error_line(protocol.unknown_tool(), call.id)
        except Busy:
            return self.busy(call.id)
        except Uncommitted as lost:
            message = "the call ran and its outcome could not be committed"
            refusal = protocol.internal("uncommitted", message, invocationId=lost.invocation_id)
            return protocol.error_line(refusal, call.id)
        except RukhError as error:
            refusal = protocol.internal("internal", "the host could not run the call", rule=error.rule)
            return protocol.error_line(refusal, call.id)
        result = self._results.call(outcome.envelope)
        return self._line(call.id, result, invocationId=outcome.envelope["invocationId"])

    def busy(self, id: Id) -> bytes:
        """The response to a call for which there is no room: no invocation, no queue. {M26}"""
        return protocol.error_line(protocol.internal("busy", "too many calls are in flight"), id)

    def broken(self, id: Id) -> bytes:
        """The response to a call whose thread ended without one."""
        return protocol.error_line(protocol.internal("internal", "the host failed in this call"), id)

    def _resolve(self, id: Id, params: dict[str, Any]) -> Resolved:
        listing = self._timely(self._current)
        identity = listing.identity(params["name"])
        if identity is None:
            raise protocol.unknown_tool()
        return Resolved(id, listing.view, identity, params.get("arguments", {}))

    def _list(self, params: dict[str, Any]) -> str:
        return self._timely(lambda deadline: self._page(self._current(deadline), params))

    def _page(self, listing: Listing, params: dict[str, Any]) -> str:
        after = ""
        if "cursor" in params:
            after = unseal(self._port.cursor_key(), self._binding, listing.view, params["cursor"])
        tools, last = listing.page(after)
        cursor = None if last is None else seal(self._port.cursor_key(), self._binding, listing.view, last)
        return self._results.page(tools, cursor)

    def _timely(self, work: Callable[[float], T]) -> T:
        """What `work` finds by the deadline that it is given; raises Refusal where it finds nothing, or too late."""
        deadline = self._clock() + LIMIT_LIST_MILLISECONDS / 1000
        try:
            found = work(deadline)
        except (VisibilityUnavailable, RukhError):
            found = None
        # The time decides first: what came late is no answer, whatever it is. RK-MCP-029
        if self._clock() > deadline:
            raise protocol.internal("deadline", "the list was not had in time")
        if found is None:
            raise protocol.internal("visibility_unavailable", "what this endpoint may see cannot be said now")
        return found

    def _current(self, deadline: float) -> Listing:
        """The endpoint's names at this moment; the same list for every connection. {P16}"""
        view = self._port.view(self._binding.endpoint, deadline)
        key = (view.namespace, view.revision, view.visibility)
        if self._listing is None or self._listing.key != key:
            self._listing = Listing(view)
        return self._listing

    def _line(self, id: Id, result: str, **more: str) -> bytes:
        line = protocol.result_line(result, id)
        if line is None:
            message = "the response is longer than a message may be"
            return protocol.error_line(protocol.internal("response_too_large", message, **more), id)
        return line
