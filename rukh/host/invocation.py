"""One call from its resolved command to its committed outcome: validate → admit and capture → execute → commit.

The same path serves every surface. Before the start a check may refuse: the call is then `rejected`, has an identity,
costs nothing and started nothing. Behind the capture there is exactly one outcome, and nothing of it is given to anyone
before the commit: where that fails, the caller learns the invocation id and no outcome.
RK-CAPT-004 … RK-CAPT-011 RK-ADMIT-001
"""

from __future__ import annotations

import os
import time

from rukh.contract.envelope import envelope, reason
from rukh.contract.parameters import bind
from rukh.contract.policy import decide, granted_environment
from rukh.host.invoker import run
from rukh.host.launch import make_work_dir, plan_launch, remove_work_dir
from rukh.store.calls import Kept, Moved, Pinned, new_invocation
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.registry import ENFORCEMENT_PROFILES, EXIT_UNSUPPORTED, LIMIT_RESULT_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rukh.contract.parameters import Bound
    from rukh.host.invoker import Cancel, Report
    from rukh.host.spawner import Launch, Spawner
    from rukh.host.streams import Streams
    from rukh.store.calls import Caller
    from rukh.store.profiles import Active
    from rukh.store.store import Store

# What a refusal at admission is called in the outcome.
_REASONS = {"RKA001": "denied", "RKA003": "denied", "RKA004": "budget_exhausted"}


class CommitFailed(Exception):
    """The call ran and its outcome could not be stored: nothing of it may be shown.

    `invocation` is how it can be asked for; `error` says so to whoever called (RKA010) and advises no repeat.
    """

    def __init__(self, invocation: str, cause: RukhError) -> None:
        super().__init__(f"{invocation}: {cause}")
        self.invocation = invocation
        self.error = RukhError(
            "RKA010",
            f"the call ran, and its outcome could not be recorded: {cause.message} [{cause.rule}]",
            place=invocation,
            mend="what it did may have taken effect: look before you run it again",
        )


class Finished:
    """A committed outcome. `exit_code` is the command's own where it declared one; `wrote` tells of its stdout."""

    __slots__ = ("envelope", "exit_code", "invocation", "outcome", "wrote")

    def __init__(self, invocation: str, document: dict[str, Any], exit_code: int | None, wrote: bool) -> None:
        self.invocation = invocation
        self.envelope = document
        self.outcome: str = document["outcome"]
        self.exit_code = exit_code
        self.wrote = wrote


class Call:
    """A command resolved in one snapshot, with what the caller supplied by parameter id.

    `stdin` is the descriptor that a command gets which declares `stdin: bytes`; -1 for an empty one. RK-CAPT-012
    """

    __slots__ = ("active", "caller", "deadline_ms", "record", "stdin", "supplied")

    def __init__(
        self,
        active: Active,
        record: dict[str, Any],
        supplied: dict[str, Any],
        caller: Caller,
        deadline_ms: int,
        stdin: int = -1,
    ) -> None:
        self.active = active
        self.record = record
        self.supplied = supplied
        self.caller = caller
        self.deadline_ms = deadline_ms
        self.stdin = stdin

    def pinned(self) -> Pinned:
        """What the capture pins."""
        package = self.active.profile["packages"][self.record["package"]]
        return Pinned(self.active.sequence, self.active.revision, self.record["identity"], package["tree"])


class Host:
    """Runs calls of one home; usable from many threads at once. Without a spawner it can only reject."""

    def __init__(self, store: Store, spawner: Spawner | None) -> None:
        self.store = store
        self._spawner = spawner

    def invoke(self, call: Call, streams: Streams, cancel: Cancel) -> Finished:
        """The committed outcome of `call`.

        Raises `Moved` when another revision was published since it was resolved (nothing happened; resolve again),
        RKS… when the home could not be written before an invocation existed, and `CommitFailed` afterwards.
        """
        invocation = new_invocation()
        try:
            bound = check(call)
            launch = self._plan(invocation, call)
            self.store.calls.capture(invocation, call.caller, call.pinned())
        except RukhError as error:
            if error.rule.startswith("RKS"):
                raise  # the home could not be written: no invocation exists, so there is no outcome to invent (Z08)
            return self._reject(invocation, call, error)
        report = self._execute(launch, call, bound, streams, cancel)
        return self._commit(invocation, call, report)

    def reject(self, call: Call, error: RukhError) -> Finished:
        """Record a call that its surface refused before it had inputs to validate."""
        return self._reject(new_invocation(), call, error)

    def _reject(self, invocation: str, call: Call, error: RukhError) -> Finished:
        """Record a refusal; where even that cannot be written no invocation exists, and RKS… says why. RK-CAPT-004"""
        document = envelope(invocation, "rejected", reason=_refusal(error))
        self.store.calls.reject(invocation, call.caller, call.pinned(), canonical(document))
        return Finished(invocation, document, None, wrote=False)

    def _plan(self, invocation: str, call: Call) -> Launch:
        """What will be started, in which environment; nothing is made yet. Raises RKH… where it cannot be had."""
        home, tree = self.store.home, call.pinned().tree
        release = home.at("releases", tree)
        if not os.path.isdir(release):
            raise RukhError(
                "RKH004",
                f"the installed release of {call.record['package']} is not there",
                place=release,
                mend="remove the package and install it again",
            )
        launch = plan_launch(
            call.record,
            release,
            home.at("cache", tree),
            home.at("run", invocation),
            granted_environment(call.active.profile, call.record, os.path.expanduser("~")),
        )
        if call.record["stdin"] == "bytes":
            launch.stdin = call.stdin
        return launch

    def _execute(self, launch: Launch, call: Call, bound: Bound, streams: Streams, cancel: Cancel) -> Report:
        if self._spawner is None:
            raise ValueError("a host without a spawner runs nothing")
        make_work_dir(launch.cwd)
        try:
            return run(
                self._spawner,
                launch,
                execute={
                    "command": call.record["identity"].partition("/")[2],
                    "inputs": bound.inputs,
                    "supplied": bound.supplied,
                },
                declared=call.record["result"],
                deadline_at=time.monotonic() + call.deadline_ms / 1000,
                streams=streams,
                cancel=cancel,
                result_bytes=call.active.profile["limits"].get("resultBytes", LIMIT_RESULT_BYTES),
            )
        finally:
            remove_work_dir(launch.cwd)

    def _commit(self, invocation: str, call: Call, report: Report) -> Finished:
        document = envelope(
            invocation, report.outcome, reason=report.reason, command_result=report.command_result
        )
        try:
            self.store.calls.commit(
                invocation,
                call.caller,
                report.outcome,
                canonical(document),
                Kept(*report.diagnostics["stdout"], *report.diagnostics["stderr"]),
                release=report.survivors == 0,
            )
        except RukhError as failure:
            raise CommitFailed(invocation, failure) from failure
        return Finished(invocation, document, report.exit_status, wrote=report.wrote_stdout)


def check(call: Call) -> Bound:
    """Input, support and access, in this order; raises the rule that refuses."""
    bound = bind(call.record["parameters"], call.supplied)
    missing = unsupported(call.record)
    if missing is not None:
        raise missing
    if decide(call.active.profile["rules"], "run", call.caller.actor, call.record["identity"]) != "allowed":
        raise RukhError(
            "RKA001",
            f"{call.caller.actor} may not run {call.record['identity']}",
            place=call.record["identity"],
            mend="the owner adds a rule to the profile",
        )
    return bound


def unsupported(record: dict[str, Any]) -> RukhError | None:
    """RKA007, RKA008 or RKA009 for a requirement of the declaration that this host does not have. RK-CAPT-010"""
    if record["mapping"]["kind"] != "managed":
        return RukhError(
            "RKA007", "passthrough programs are not run by this version", place="/execute/mapping"
        )
    confinement = record["requires"]["confinement"]
    if confinement not in ENFORCEMENT_PROFILES:
        return RukhError("RKA008", f"this host has no {confinement}", place="/execute/requires/confinement")
    for request in record["requires"]["operations"]:
        return RukhError(
            "RKA009",
            f"this host has no operation {request['operation']} yet",
            place="/execute/requires/operations",
            mend="ask the publisher for a release that works without it",
        )
    return None


def _refusal(error: RukhError) -> dict[str, Any]:
    code = _REASONS.get(error.rule)
    if code is None and error.rule.startswith("RKH"):
        code = "environment_unavailable"
    if code is None:
        code = "unsupported" if error.exit_code == EXIT_UNSUPPORTED else "invalid_input"
    place = error.place or (f"line {error.line}, column {error.column}" if error.line else "")
    return reason(code, f"{error.message} [{error.rule}]", place, error.mend)


__all__ = ["Call", "CommitFailed", "Finished", "Host", "Moved", "check", "unsupported"]
