"""The life of one invocation's process, from preparation to its one outcome. Pure: no I/O, no clock.

    preparing ──▶ starting ──▶ running ──▶ finalizing ──▶ finished
        └────────────┴─── refused, failed, stopped ──▲

Nothing runs while *preparing*. *Starting* is between the spawn and the confirmed session. *Running* is between the
dispatched request and the first event that ends it. *Finalizing* collects the evidence: report, exit status,
cleanup. *Finished* is behind the commit of the outcome. RK-LIFE-001

**Who decides.** The first accepted of rejection, failure and cancellation decides the outcome and its reason; all
later ones change nothing of it. Without one of them the evidence decides, when the commit is asked for: report,
exit status and cleanup must agree. RK-LIFE-010 RK-LIFE-011

**What is heard first.** When several things are ready in one wake-up they are taken in this order: cancellation,
deadline, the channel until it is drained, the streams until they are drained, the exit, the rungs of the ladder. So a
cancellation that was there beats the report that was there too, and a report beats the exit that came with it; and
whoever left in time is not judged late. RK-LIFE-012

**Cancellation and result.** A cancellation is accepted until the commit is asked for, also behind a valid report; from
then on it changes nothing. A failure that was there first stays: the cancellation then only silences the answer.
A deadline is a cancellation with its own cause. RK-LIFE-013

**One budget.** Finalization has one budget, which starts with it and is never renewed: a further event may make the
stop more urgent, never longer. RK-LIFE-020 The ladder below says what is done within it.

**Cleanup.** A child that left by itself may leave descendants; they are killed, and once all are confirmed gone they
do not change the outcome. A child that must be told to leave behind its valid report has lingered: the failure
`cleanup_unconfirmed`. So is anything that cannot be confirmed gone within the budget. RK-LIFE-022 RK-LIFE-023
"""

from __future__ import annotations

from rukh.machines.channel import LAST_EXIT_CODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PHASES = ("preparing", "starting", "running", "finalizing", "finished")

# (phase, event) -> (phase, action). An event that is not in the table cannot come in that phase. The action is a
# ladder (below), a rung of it, `execute`, or nothing.
MOVES = {
    ("preparing", "rejected"): ("finalizing", ""),
    ("preparing", "failed"): ("finalizing", ""),
    ("preparing", "cancelled"): ("finalizing", ""),
    ("preparing", "started"): ("starting", ""),
    ("starting", "confirmed"): ("running", "execute"),
    ("starting", "failed"): ("finalizing", "force"),
    ("starting", "cancelled"): ("finalizing", "force"),
    ("starting", "closed"): ("finalizing", "settle"),
    ("starting", "ended"): ("finalizing", ""),
    ("starting", "lost"): ("finalizing", ""),
    ("running", "completed"): ("finalizing", "settle"),
    ("running", "failed"): ("finalizing", "force"),
    ("running", "cancelled"): ("finalizing", "ask"),
    ("running", "closed"): ("finalizing", "settle"),
    ("running", "ended"): ("finalizing", ""),
    ("running", "lost"): ("finalizing", ""),
    ("finalizing", "completed"): ("finalizing", ""),
    ("finalizing", "failed"): ("finalizing", "force"),
    ("finalizing", "cancelled"): ("finalizing", "force"),
    ("finalizing", "closed"): ("finalizing", ""),
    ("finalizing", "ended"): ("finalizing", ""),
    ("finalizing", "lost"): ("finalizing", ""),
    ("finalizing", "term_due"): ("finalizing", "term"),
    ("finalizing", "kill_due"): ("finalizing", "kill"),
    ("finalizing", "report_due"): ("finalizing", "report"),
    ("finalizing", "expired"): ("finalizing", ""),
    ("finalizing", "commit_asked"): ("finalizing", ""),
    ("finalizing", "committed"): ("finished", ""),
}

# The stop ladders: each rung's event at a share (percent) of what is left of the budget when the ladder is entered.
#   settle  the child has reported, or closed its channel: it gets most of the budget to leave by itself
#   ask     it was sent a cancel frame: it gets a fifth to answer it
#   force   there is nothing to wait for
# The last tenth is for the supervisor's answer about what could not be stopped. RK-LIFE-021
LADDERS = {
    "settle": (("term_due", 60), ("kill_due", 80), ("report_due", 90), ("expired", 100)),
    "ask": (("term_due", 20), ("kill_due", 60), ("report_due", 90), ("expired", 100)),
    "force": (("term_due", 0), ("kill_due", 20), ("report_due", 90), ("expired", 100)),
}

# (status of the report, class of the exit status) -> outcome; every other pair is `exit_mismatch`. RK-LIFE-011
AGREEMENT = {
    ("succeeded", "zero"): "succeeded",
    ("command_failed", "declared"): "command_failed",
}

# What it means that the supervisor vanished without a word, by whether the session was confirmed before.
LOST = {False: "spawn_failed", True: "cleanup_unconfirmed"}

_OUTCOME_OF = {"rejected": "rejected", "failed": "execution_failed", "cancelled": "cancelled"}
_CANCEL_MESSAGES = {
    "caller": "the caller cancelled the call",
    "owner": "the owner cancelled the call",
    "deadline": "the deadline passed",
    "scope_closed": "the scope of the call was closed",
}


def rungs(ladder: str, now: float, end: float) -> list[tuple[float, str]]:
    """When each rung's event is due: pairs of a time on the clock of `now` and `end` (seconds) and the event."""
    return [(now + (end - now) * share / 100, event) for event, share in LADDERS[ladder]]


def exit_class(status: int | None, declared: int | None) -> str:
    """`zero`, `declared` (1 to 63, and the one the report names, if it does) or `other`; signals are negative."""
    if status == 0:
        return "zero"
    if status is not None and 1 <= status <= LAST_EXIT_CODE and declared in (None, status):
        return "declared"
    return "other"


class Proposal:
    """The outcome to commit: `reason` is `{code, message, place?, mend?}` or None, `result` the command result."""

    __slots__ = ("outcome", "reason", "result")

    def __init__(
        self, outcome: str, reason: dict[str, str] | None, result: dict[str, Any] | None = None
    ) -> None:
        self.outcome = outcome
        self.reason = reason
        self.result = result


class Lifecycle:
    """The machine of one invocation; `declared` says whether its command declares a result.

    Each event is a method that gives the action to take, "" for none; an event that cannot come raises ValueError.
    """

    __slots__ = (
        "_asked",
        "_confirmed",
        "_declared",
        "_ended",
        "_expired",
        "_report",
        "_started",
        "_verdict",
        "exit_status",
        "killed",
        "phase",
        "survivors",
    )

    def __init__(self, *, declared: bool) -> None:
        self.phase = "preparing"
        self.exit_status: int | None = None
        self.killed = 0
        self.survivors = 0
        self._declared = declared
        self._verdict: tuple[str, dict[str, str]] | None = None
        self._report: dict[str, Any] | None = None
        self._started = False
        self._confirmed = False
        self._ended = False
        self._expired = False
        self._asked = False

    @property
    def settled(self) -> bool:
        """Whether all evidence is in, or none will come any more: the commit may be asked for."""
        return self.phase == "finalizing" and (not self._started or self._ended or self._expired)

    def rejected(self, reason: dict[str, str]) -> str:
        """A check before the start refused."""
        action = self._move("rejected")
        self._decide("rejected", reason)
        return action

    def started(self) -> str:
        """The process was handed to its supervisor."""
        action = self._move("started")
        self._started = True
        return action

    def confirmed(self) -> str:
        """The child confirmed the session."""
        action = self._move("confirmed")
        self._confirmed = True
        return action

    def completed(self, report: dict[str, Any], fault: dict[str, str] | None) -> str:
        """The completion frame; `fault` is what the validator says of its result, None where it is valid or absent.

        An invalid result is a failure on receipt, whatever the status says beside it. RK-LIFE-014
        """
        action = self._move("completed")
        self._report = report
        if fault is None and self._declared and _result_missing(report):
            fault = _reason("result_missing", "the command reported success without its declared result")
        if fault is not None:
            self._decide("failed", fault)
        return action

    def failed(self, reason: dict[str, str]) -> str:
        """The attempt failed: the start, the session, a violation."""
        action = self._move("failed")
        self._decide("failed", reason)
        return action

    def cancelled(self, cause: str) -> str:
        """A cancellation or the deadline; without effect once the commit was asked for."""
        if self._asked:
            return ""
        action = self._move("cancelled")
        self._decide("cancelled", _reason(cause, _CANCEL_MESSAGES[cause]))
        return action

    def closed(self) -> str:
        """The child closed its channel. Without a report that is no verdict yet: how it ends will tell why."""
        return self._move("closed")

    def ended(self, status: int | None, killed: int, survivors: int) -> str:
        """The supervisor's last word: exit status (None: still there), descendants killed, processes left."""
        action = self._move("ended")
        self._ended = True
        self.exit_status, self.killed, self.survivors = status, killed, survivors
        if self._report is None:
            self._decide("failed", _reason("exited_early", f"the child made no report; {_spoken(status)}"))
        return action

    def lost(self) -> str:
        """The supervisor vanished: nothing more will be known. RK-EXEC-016"""
        action = self._move("lost")
        self._decide("failed", _reason(LOST[self._confirmed], "the supervisor of the process was lost"))
        self._give_up()
        return action

    def due(self, event: str) -> str:
        """A rung of the ladder is reached."""
        action = self._move(event)
        if event == "term_due" and self._report is not None:
            # Behind a valid report TERM is only sent to a child that did not leave. RK-LIFE-022
            self._decide("failed", _reason("cleanup_unconfirmed", "the child stayed on behind its report"))
        if event == "expired":
            self._decide("failed", _reason("cleanup_unconfirmed", "the stop budget ended first"))
            self._give_up()
        return action

    def _give_up(self) -> None:
        """Nothing more will be known: something may be left, and is counted as one. RK-LIFE-023"""
        self._expired = True
        self.survivors = 1

    def commit_asked(self) -> Proposal:
        """The outcome to commit; from now on cancellations change nothing. Raises ValueError unless settled."""
        if not self.settled:
            raise ValueError("the evidence is not complete")
        self._move("commit_asked")
        self._asked = True
        return self._proposal()

    def committed(self) -> str:
        """The outcome is durable."""
        if not self._asked:
            raise ValueError("no commit was asked for")
        return self._move("committed")

    def _move(self, event: str) -> str:
        try:
            self.phase, action = MOVES[self.phase, event]
        except KeyError:
            raise ValueError(f"{event} cannot come while {self.phase}") from None
        # Once the process is gone there is nothing left to stop.
        return "" if self.settled else action

    def _decide(self, kind: str, reason: dict[str, str]) -> None:
        """The first verdict stays. RK-LIFE-010"""
        if self._verdict is None:
            self._verdict = (kind, reason)

    def _proposal(self) -> Proposal:
        if self._verdict is not None:
            kind, reason = self._verdict
            return Proposal(_OUTCOME_OF[kind], reason)
        return self._agreement(self._report or {})

    def _agreement(self, report: dict[str, Any]) -> Proposal:
        """Report, exit and cleanup, without a verdict: they agree, or the attempt failed. RK-LIFE-011"""
        outcome = AGREEMENT.get((report["status"], exit_class(self.exit_status, report.get("exitCode"))))
        if outcome is None:
            message = f"the report says {_claim(report)}; {_spoken(self.exit_status)}"
            return Proposal("execution_failed", _reason("exit_mismatch", message))
        if self.survivors:
            message = f"{self.survivors} processes of the child could not be stopped"
            return Proposal("execution_failed", _reason("cleanup_unconfirmed", message))
        result = report.get("commandResult")
        if outcome == "succeeded":
            return Proposal(outcome, None, result)
        message = report.get("message") or f"the command failed with exit status {self.exit_status}"
        return Proposal(outcome, _reason("command", message), result)


def _result_missing(report: dict[str, Any]) -> bool:
    return report["status"] == "succeeded" and "commandResult" not in report


def _reason(code: str, message: str) -> dict[str, str]:
    return {"code": code, "message": message}


def _claim(report: dict[str, Any]) -> str:
    code = report.get("exitCode")
    return str(report["status"]) if code is None else f"{report['status']} with exit status {code}"


def _spoken(status: int | None) -> str:
    if status is None:
        return "it did not exit"
    return f"it was ended by signal {-status}" if status < 0 else f"its exit status is {status}"
