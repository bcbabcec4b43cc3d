"""The host behind one endpoint: the adapter's port over the store and the invocation core.

A serving host attaches to the endpoint's one task at its start and keeps what it was bound to: endpoint, subject,
actor, namespace, deadline and task. A newer task or a changed profile changes none of it; they can only end what it may
do. What the endpoint sees is asked anew each time and kept only as long as the revision stays.
RK-TASK-004 … RK-TASK-006
"""

from __future__ import annotations

from functools import lru_cache

from rukh.contract.policy import LOCAL_USER
from rukh.host.cancel import Cancel
from rukh.host.invocation import Call, CommitFailed, Host
from rukh.host.invocation import Moved as RevisionMoved
from rukh.host.streams import Streams
from rukh.mcp.ports import Binding, Busy, Moved, Outcome, Uncommitted, View, VisibilityUnavailable
from rukh.store.calls import Caller
from rukh.store.profiles import projection_of, revision_of
from rukh.values.canonical import canonical, canonical_bytes
from rukh.values.errors import RukhError
from rukh.values.ids import sha256_hex
from rukh.values.registry import LIMIT_DIAGNOSTIC_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rukh.mcp.ports import Cancel as PortCancel
    from rukh.store.profiles import Active
    from rukh.store.store import Records
    from rukh.store.tasks import Task

# So many commands are kept as they were read, the last ones called; it bounds memory, and nothing else.
_RECORDS = 64


class Attached:
    """An endpoint as it was when its host started."""

    __slots__ = ("binding", "deadline_ms", "namespace")

    def __init__(self, binding: Binding, namespace: str, deadline_ms: int) -> None:
        self.binding = binding
        self.namespace = namespace
        self.deadline_ms = deadline_ms


def binding_of(active: Active, endpoint: str) -> dict[str, Any]:
    """What a task issued now binds the endpoint to: actor, namespace, and the numbers of its preset."""
    entry = active.profile["endpoints"][endpoint]
    preset = active.profile["presets"][entry["preset"]]
    budget = preset["budget"]
    return {
        "actor": entry["actor"],
        "namespace": entry["namespace"],
        "preset": entry["preset"],
        "deadlineMs": preset["deadline"],
        "calls": budget["calls"],
        "windowMs": budget.get("per"),
    }


def entry_of(active: Active | None, endpoint: str) -> dict[str, Any]:
    """The profile's entry of an endpoint; raises RKA005, naming those that there are."""
    endpoints: dict[str, dict[str, Any]] = active.profile["endpoints"] if active is not None else {}
    if endpoint in endpoints:
        return endpoints[endpoint]
    known = ", ".join(sorted(endpoints)) or "none"
    raise RukhError(
        "RKA005",
        f"the profile has no endpoint {endpoint}; it has {known}",
        place=endpoint,
        mend="add it to the owner's file and apply that: profile apply FILE",
    )


def view_of(store: Records, active: Active, endpoint: str) -> View:
    """What an endpoint of the profile sees under one revision: a query over the projection, never a stored grant. {P05}

    What is stored names itself by its digests, so that a row that is missing or damaged is found, and never makes a
    list shorter; raises RKS006 then, RKS004 or RKS007 where the storage fails, RKA005 for an endpoint that the profile
    does not have. RK-EXPL-021
    """
    _check_published(store, active)
    namespace = entry_of(active, endpoint)["namespace"]
    tools = store.profiles.exports(active.projection, endpoint)
    listed = store.profiles.projected(active.projection).get(endpoint, [])
    if [(identity, sha256_hex(tail.encode())) for identity, tail in tools] != listed:
        raise _damaged("a tool of the endpoint", endpoint)
    visibility = sha256_hex(canonical_bytes([endpoint, [identity for identity, _ in tools]]))
    return View(active.revision, namespace, tools, visibility)


def _check_published(store: Records, active: Active) -> None:
    """Raises RKS006 where profile or projection are not those that were published as this revision. RK-EXPL-021"""
    if revision_of(active.sequence, canonical(active.profile)) != active.revision:
        raise _damaged("the profile", active.revision)
    exports: dict[str, Any] = {name: [] for name in active.profile["endpoints"]}
    if projection_of(exports | store.profiles.projected(active.projection)) != active.projection:
        raise _damaged("the projection", active.revision)


def _damaged(what: str, place: str) -> RukhError:
    return RukhError(
        "RKS006", f"{what} is not as it was published", place=place, mend="restore the database from a copy"
    )


def attach(store: Records, endpoint: str, program: str) -> Attached:
    """Attach to the endpoint's task; raises RKA005 (no such endpoint) or RKA002 (no task)."""
    active = store.profiles.active()
    entry_of(active, endpoint)
    task = store.tasks.of_endpoint(endpoint)
    if task is None:
        raise RukhError(
            "RKA002",
            f"the endpoint {endpoint} has no task",
            place=endpoint,
            mend=f"issue one: {program} task issue --endpoint {endpoint}",
        )
    return _attached(task)


def _attached(task: Task) -> Attached:
    bound = task.binding
    return Attached(
        Binding(task.endpoint, LOCAL_USER, bound["actor"], task.id), bound["namespace"], bound["deadlineMs"]
    )


class EndpointHost:
    """The port of one attached endpoint."""

    def __init__(self, host: Host, attached: Attached) -> None:
        self._host = host
        self._store = host.store
        self._attached = attached
        self._seen: tuple[Active, View] | None = None
        binding = attached.binding
        self._record = lru_cache(_RECORDS)(self._read_record)
        self._caller = Caller("mcp", binding.subject, binding.actor, binding.task)

    def view(self, endpoint: str, deadline_at: float) -> View:
        """What the endpoint sees now; raises VisibilityUnavailable where that cannot be said by then. {E08}"""
        try:
            with self._store.database.within(deadline_at):
                active = self._store.profiles.active()
                if active is None:
                    raise VisibilityUnavailable("the home has no active revision")
                seen = self._seen
                if seen is None or seen[0] is not active:
                    seen = self._seen = (active, self._view(active))
        except RukhError as error:
            self._store.profiles.forget()  # whoever mends the database is not to be kept waiting. RK-EXPL-022
            raise VisibilityUnavailable(error.message) from error
        return seen[1]

    def _view(self, active: Active) -> View:
        view = view_of(self._store, active, self._attached.binding.endpoint)
        if view.namespace != self._attached.namespace:
            raise VisibilityUnavailable("the endpoint is no longer what this host was started for")
        return view

    def invoke(self, view: View, identity: str, arguments: dict[str, Any], cancel: PortCancel) -> Outcome:
        """Run one call under the revision of `view`; raises Moved, Busy or Uncommitted."""
        own: Any = cancel  # `new_cancel` below made it
        try:
            active = self._store.profiles.active()
            if active is None or active.revision != view.revision:
                raise Moved
            record = self._record(active.generation, identity)
            call = Call(active, record, arguments, self._caller, self._attached.deadline_ms)
            kept = min(
                active.profile["limits"].get("diagnosticBytes", LIMIT_DIAGNOSTIC_BYTES),
                LIMIT_DIAGNOSTIC_BYTES,
            )
            finished = self._host.invoke(call, Streams.drained(kept), own)
        except RevisionMoved:
            raise Moved from None
        except CommitFailed as failure:
            raise Uncommitted(failure.invocation) from failure
        except RukhError as error:
            if error.rule == "RKS004":
                raise Busy from error
            raise
        return Outcome(finished.envelope)

    def _read_record(self, generation: str, identity: str) -> Any:
        """The compiled command; a generation is named by what it holds, so that what was read of it stays true."""
        record = self._store.profiles.command(generation, identity)
        if record is None:  # the view has it, so that it was published
            raise _damaged("the command", identity)
        return record

    def new_cancel(self) -> Cancel:
        """A fresh cancellation."""
        return Cancel()

    def cursor_key(self) -> bytes:
        """The home's secret for cursors."""
        return self._store.secret("cursor")
