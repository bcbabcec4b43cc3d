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
from rukh.contract.policy import decide, granted_environment, passthrough_granted
from rukh.host.invoker import run
from rukh.host.launch import plan_launch
from rukh.host.workdirs import WorkDirs
from rukh.store.calls import Kept, Moved, Pinned, new_invocation
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.registry import ENFORCEMENT_PROFILES, EXIT_UNSUPPORTED, LIMIT_RESULT_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rukh.contract.parameters import Bound
    from rukh.host.cancel import Cancel
    from rukh.host.invoker import Report
    from rukh.host.passthrough import Ended, Held, Program
    from rukh.host.spawner import Launch, Spawner
    from rukh.host.streams import Streams
    from rukh.store.calls import Caller
    from rukh.store.home import Home
    from rukh.store.profiles import Active
    from rukh.store.store import Store

# What a refusal at admission is called in the outcome.
_REASONS = {
    "RKA001": "denied",
    "RKA003": "denied",
    "RKA004": "budget_exhausted",
    "RKA011": "denied",
    "RKA012": "denied",
}


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
    """A committed outcome. `exit_code` is the command's own where it declared one; `wrote` tells of its stdout.

    Of a passthrough program `exit_code` is its status whenever it ran: minus the signal where one ended it.
    """

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
    """Runs calls of one home; usable from many threads at once. Without a spawner it runs no managed command.

    One that is to run many calls may `keep` what it makes for them, and then is closed behind the last one.
    """

    def __init__(self, store: Store, spawner: Spawner | None, *, keep: bool = False) -> None:
        self.store = store
        self._spawner = spawner
        self._user_home = os.path.expanduser("~")
        self._directories = WorkDirs(keep=keep)

    def close(self) -> None:
        """Give back what was kept for later calls."""
        self._directories.close()

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
            launch.holder = self.store.holder.descriptor
        except RukhError as error:
            if error.rule.startswith("RKS"):
                raise  # the home could not be written: no invocation exists, so there is no outcome to invent (Z08)
            return self._reject(invocation, call, error)
        report = self._execute(launch, call, bound, streams, cancel)
        return self._commit(invocation, call, report)

    def pass_through(self, call: Call, words: list[bytes]) -> Finished:
        """The committed outcome of the passthrough program of `call` on `words`; in the main thread of the terminal.

        Raises as `invoke` does. What a spawner holds ready for one call is let go before the program starts, but for
        the process that watches it from aside. RK-PASS-020 RK-PASS-033 RK-PUB-050
        """
        from rukh.host.passthrough import Held, plan_program

        invocation = new_invocation()
        with Held() as held:
            try:
                check_program(call)
                given = self._environment(call)
                program = plan_program(
                    call.record, release_of(self.store.home, call), words, os.environb, given
                )
                self.store.calls.capture(invocation, call.caller, call.pinned())
            except RukhError as error:
                if error.rule.startswith("RKS"):
                    raise  # as in `invoke`
                return self._reject(invocation, call, error)
            return self._watched(invocation, call, program, held)

    def _watched(self, invocation: str, call: Call, program: Program, held: Held) -> Finished:
        """The program run to its end, and its outcome; not started without anybody to keep the lock. RK-PUB-052"""
        from rukh.host.passthrough import run_program, unwatched
        from rukh.host.spawner import Spawner

        # Words that ask the core for help may be the program's own: then nobody was made ready.
        spawner = self._spawner or Spawner.start(one_call=True)
        try:
            watch = spawner.watch(self.store.holder.descriptor)
        except RukhError as error:
            return self._commit(invocation, call, unwatched(error))
        finally:
            spawner.close()
        with watch:
            return self._commit(invocation, call, run_program(program, held, watch.started))

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
        launch = plan_launch(
            call.record,
            release_of(self.store.home, call),
            home.at("cache", tree),
            home.at("run", invocation),
            self._environment(call),
        )
        if call.record["stdin"] == "bytes":
            launch.stdin = call.stdin
        return launch

    def _environment(self, call: Call) -> dict[str, str]:
        return granted_environment(call.active.profile, call.record, self._user_home)

    def _execute(self, launch: Launch, call: Call, bound: Bound, streams: Streams, cancel: Cancel) -> Report:
        if self._spawner is None:
            raise ValueError("a host without a spawner runs nothing")
        self._directories.make(launch.cwd)
        left = True
        try:
            report = run(
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
            left = report.survivors != 0
            return report
        finally:
            self._directories.remove(launch.cwd, left=left)

    def _commit(self, invocation: str, call: Call, report: Report | Ended) -> Finished:
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


def release_of(home: Home, call: Call) -> str:
    """The directory of the pinned release; raises RKH004 where it is gone."""
    release = home.at("releases", call.pinned().tree)
    if not os.path.isdir(release):
        raise RukhError(
            "RKH004",
            f"the installed release of {call.record['package']} is not there",
            place=call.record["package"],  # an agent is told of it, and not where the home is. RK-EXPL-030
            mend="the owner restores it from its source: doctor --fix",
        )
    return release


def check(call: Call) -> Bound:
    """Input, support and access of a managed command, in this order; raises the rule that refuses."""
    bound = bind(call.record["parameters"], call.supplied)
    if call.record["mapping"]["kind"] != "managed":
        raise RukhError(
            "RKA007", "a passthrough program runs in the terminal alone", place="/execute/mapping"
        )
    check_support(call.record)
    check_access(call)
    return bound


def check_program(call: Call) -> None:
    """Support, access and the owner's grant of a passthrough command; its words are nobody's to judge. RK-PASS-030"""
    check_support(call.record)
    check_access(call)
    identity = call.record["identity"]
    if not passthrough_granted(call.active.profile, identity):
        raise RukhError(
            "RKA012",
            f"{identity} takes any words, and the owner has not granted its whole program",
            place=identity,
            mend=f'the owner adds to the profile the table [passthrough."{identity}"] with the line '
            'arguments = "unrestricted"',
        )


def check_access(call: Call) -> None:
    """Raises RKA001 where no rule of the profile lets the caller run the command. RK-ADMIT-001"""
    if decide(call.active.profile["rules"], "run", call.caller.actor, call.record["identity"]) != "allowed":
        raise RukhError(
            "RKA001",
            f"{call.caller.actor} may not run {call.record['identity']}",
            place=call.record["identity"],
            mend="the owner adds a rule to the profile",
        )


def check_support(record: dict[str, Any]) -> None:
    """Raises RKA008 or RKA009 for a requirement of the declaration that this host does not have. RK-CAPT-010"""
    confinement = record["requires"]["confinement"]
    if confinement not in ENFORCEMENT_PROFILES:
        raise RukhError("RKA008", f"this host has no {confinement}", place="/execute/requires/confinement")
    for request in record["requires"]["operations"]:
        raise RukhError(
            "RKA009",
            f"this host has no operation {request['operation']} yet",
            place="/execute/requires/operations",
            mend="ask the publisher for a release that works without it",
        )


def _refusal(error: RukhError) -> dict[str, Any]:
    code = _REASONS.get(error.rule)
    if code is None and error.rule.startswith("RKH"):
        code = "environment_unavailable"
    if code is None:
        code = "unsupported" if error.exit_code == EXIT_UNSUPPORTED else "invalid_input"
    place = error.place or (f"line {error.line}, column {error.column}" if error.line else "")
    return reason(code, f"{error.message} [{error.rule}]", place, error.mend)


__all__ = ["Call", "CommitFailed", "Finished", "Host", "Moved", "check", "check_program"]
