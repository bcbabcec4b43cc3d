"""The life of an invocation: which event leads where, who decides, what the evidence says."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import pytest

from rukh.machines.lifecycle import LADDERS, MOVES, PHASES, Lifecycle, exit_class, rungs

TEXT = {"kind": "text", "text": "x"}
OK = {"type": "completion", "status": "succeeded", "commandResult": TEXT}
BAD = {"type": "completion", "status": "command_failed", "exitCode": 3, "message": "no milk"}


def fault(code: str = "protocol_violation") -> dict[str, str]:
    return {"code": code, "message": "m"}


def running() -> Lifecycle:
    machine = Lifecycle(declared=True)
    machine.started()
    machine.confirmed()
    return machine


def proposed(machine: Lifecycle) -> tuple[str, str, Any]:
    """Outcome, code of the reason, command result."""
    proposal = machine.commit_asked()
    return proposal.outcome, "" if proposal.reason is None else proposal.reason["code"], proposal.result


# Every event, with what it carries.
EVENTS: dict[str, Any] = {
    "rejected": lambda machine: machine.rejected(fault("denied")),
    "started": lambda machine: machine.started(),
    "confirmed": lambda machine: machine.confirmed(),
    "completed": lambda machine: machine.completed(OK, None),
    "failed": lambda machine: machine.failed(fault()),
    "cancelled": lambda machine: machine.cancelled("caller"),
    "closed": lambda machine: machine.closed(),
    "ended": lambda machine: machine.ended(0, 0, 0),
    "lost": lambda machine: machine.lost(),
    "term_due": lambda machine: machine.due("term_due"),
    "kill_due": lambda machine: machine.due("kill_due"),
    "report_due": lambda machine: machine.due("report_due"),
    "expired": lambda machine: machine.due("expired"),
}
# phase: the events that lead there.
PATHS = {
    "preparing": (),
    "starting": ("started",),
    "running": ("started", "confirmed"),
    "finalizing": ("started", "confirmed", "completed"),
}


def after(*events: str) -> Lifecycle:
    machine = Lifecycle(declared=True)
    for event in events:
        EVENTS[event](machine)
    return machine


@pytest.mark.requirement("RK-LIFE-001", "RK-LIFE-002")
@pytest.mark.parametrize(("phase", "event"), list(product(PATHS, EVENTS)))
def test_every_event_moves_by_the_table_or_cannot_come(phase: str, event: str) -> None:
    machine = after(*PATHS[phase])
    assert phase == machine.phase

    if (phase, event) not in MOVES:
        with pytest.raises(ValueError, match="cannot come"):
            EVENTS[event](machine)
        assert phase == machine.phase
        return
    target, action = MOVES[phase, event]

    assert ("" if event in ("ended", "lost", "expired") else action) == EVENTS[event](machine)
    assert target == machine.phase


# (phase, event): what is done, as the page on the lifecycle has it; everything else does nothing.
DONE = {
    ("starting", "confirmed"): "execute",
    ("starting", "failed"): "force",
    ("starting", "cancelled"): "force",
    ("starting", "closed"): "settle",
    ("running", "completed"): "settle",
    ("running", "failed"): "force",
    ("running", "cancelled"): "ask",
    ("running", "closed"): "settle",
    ("finalizing", "failed"): "force",
    ("finalizing", "cancelled"): "force",
    ("finalizing", "term_due"): "term",
    ("finalizing", "kill_due"): "kill",
    ("finalizing", "report_due"): "report",
}


@pytest.mark.requirement("RK-LIFE-021")
def test_the_ladders_are_entered_as_the_page_says() -> None:
    assert DONE == {move: action for move, (_, action) in MOVES.items() if action}


@pytest.mark.requirement("RK-LIFE-001")
def test_phases_only_go_forward() -> None:
    order = {phase: place for place, phase in enumerate(PHASES)}

    assert all(order[before] <= order[after] for (before, _), (after, _) in MOVES.items())


@pytest.mark.requirement("RK-LIFE-002")
def test_a_request_is_dispatched_by_one_move_alone() -> None:
    assert [("starting", "confirmed")] == [move for move, (_, action) in MOVES.items() if action == "execute"]


DECISIVE: dict[str, tuple[Any, str, str]] = {
    "failed": (lambda machine: machine.failed(fault()), "execution_failed", "protocol_violation"),
    "caller": (lambda machine: machine.cancelled("caller"), "cancelled", "caller"),
    "deadline": (lambda machine: machine.cancelled("deadline"), "cancelled", "deadline"),
    "invalid": (
        lambda machine: machine.completed(OK, fault("result_invalid")),
        "execution_failed",
        "result_invalid",
    ),
}


@pytest.mark.requirement("RK-LIFE-010", "RK-LIFE-014")
@pytest.mark.parametrize("order", list(permutations(DECISIVE, 2)))
def test_of_two_verdicts_the_first_stays(order: tuple[str, str]) -> None:
    first, second = (DECISIVE[name] for name in order)
    machine = running()
    first[0](machine)
    second[0](machine)
    machine.ended(0, 0, 0)

    assert (first[1], first[2], None) == proposed(machine)


@pytest.mark.requirement("RK-LIFE-010")
def test_a_rejection_before_the_start_is_an_outcome_of_its_own() -> None:
    machine = after("rejected")
    machine.cancelled("caller")

    assert machine.settled
    assert ("rejected", "denied", None) == proposed(machine)


# report, exit status → outcome, reason. RK-LIFE-011
AGREEMENTS = [
    (OK, 0, "succeeded", ""),
    (OK | {"exitCode": 0}, 0, "succeeded", ""),
    (OK, 1, "execution_failed", "exit_mismatch"),
    (OK, -9, "execution_failed", "exit_mismatch"),
    (BAD, 3, "command_failed", "command"),
    (BAD, 4, "execution_failed", "exit_mismatch"),
    (BAD, 0, "execution_failed", "exit_mismatch"),
    ({"type": "completion", "status": "command_failed"}, 1, "command_failed", "command"),
    ({"type": "completion", "status": "command_failed"}, 63, "command_failed", "command"),
    ({"type": "completion", "status": "command_failed"}, 64, "execution_failed", "exit_mismatch"),
    ({"type": "completion", "status": "command_failed"}, 0, "execution_failed", "exit_mismatch"),
    ({"type": "completion", "status": "command_failed"}, -15, "execution_failed", "exit_mismatch"),
]


@pytest.mark.requirement("RK-LIFE-011")
@pytest.mark.parametrize(("report", "status", "outcome", "code"), AGREEMENTS)
def test_report_and_exit_status_agree_or_the_attempt_failed(
    report: dict[str, Any], status: int, outcome: str, code: str
) -> None:
    machine = running()
    machine.completed(report, None)
    machine.ended(status, 0, 0)
    result = report.get("commandResult") if outcome != "execution_failed" else None

    assert (outcome, code, result) == proposed(machine)


@pytest.mark.requirement("RK-LIFE-015")
def test_a_failed_command_keeps_its_message_and_its_result() -> None:
    machine = running()
    machine.completed(BAD | {"commandResult": TEXT}, None)
    machine.ended(3, 0, 0)
    proposal = machine.commit_asked()

    assert ({"code": "command", "message": "no milk"}, TEXT) == (proposal.reason, proposal.result)


@pytest.mark.requirement("RK-LIFE-014")
@pytest.mark.parametrize(
    ("declared", "report", "expected"),
    [
        (True, {"type": "completion", "status": "succeeded"}, ("execution_failed", "result_missing", None)),
        (False, {"type": "completion", "status": "succeeded"}, ("succeeded", "", None)),
        (True, OK, ("succeeded", "", TEXT)),
    ],
)
def test_a_declared_result_must_be_there(declared: bool, report: dict[str, Any], expected: Any) -> None:
    machine = Lifecycle(declared=declared)
    machine.started()
    machine.confirmed()
    machine.completed(report, None)
    machine.ended(0, 0, 0)

    assert expected == proposed(machine)


@pytest.mark.requirement("RK-LIFE-014")
def test_a_missing_result_behind_an_accepted_cancellation_changes_nothing() -> None:
    machine = running()
    machine.cancelled("caller")
    machine.completed({"type": "completion", "status": "succeeded"}, None)
    machine.ended(0, 0, 0)

    assert ("cancelled", "caller", None) == proposed(machine)


@pytest.mark.requirement("RK-LIFE-016")
@pytest.mark.parametrize("status", [0, 3, -11])
def test_an_exit_without_a_report_is_early(status: int) -> None:
    machine = running()
    machine.closed()
    machine.ended(status, 0, 0)

    assert ("execution_failed", "exited_early", None) == proposed(machine)


@pytest.mark.requirement("RK-LIFE-010")
def test_the_end_of_the_channel_alone_is_no_verdict_yet() -> None:
    """Why the channel ended is said by the supervisor: here, that nothing was ever started."""
    machine = after("started", "closed")
    machine.failed(fault("spawn_failed"))
    machine.ended(None, 0, 0)

    assert ("execution_failed", "spawn_failed", None) == proposed(machine)


@pytest.mark.requirement("RK-LIFE-022")
def test_a_child_that_must_be_told_to_leave_behind_its_report_has_lingered() -> None:
    lingering, leaving = (
        after("started", "confirmed", "completed"),
        after("started", "confirmed", "completed"),
    )
    assert "term" == lingering.due("term_due")
    for machine in (lingering, leaving):
        machine.ended(0, 0, 0)

    assert ("execution_failed", "cleanup_unconfirmed", None) == proposed(lingering)
    assert ("succeeded", "", TEXT) == proposed(leaving)


@pytest.mark.requirement("RK-LIFE-023", "RK-LIFE-024")
@pytest.mark.parametrize(
    ("killed", "survivors", "expected"),
    [
        (0, 0, ("succeeded", "", TEXT)),
        (2, 0, ("succeeded", "", TEXT)),
        (2, 1, ("execution_failed", "cleanup_unconfirmed", None)),
    ],
)
def test_what_was_left_behind_matters_only_while_it_is_there(
    killed: int, survivors: int, expected: Any
) -> None:
    machine = after("started", "confirmed", "completed")
    machine.ended(0, killed, survivors)

    assert (killed, survivors) == (machine.killed, machine.survivors)
    assert expected == proposed(machine)


@pytest.mark.requirement("RK-LIFE-023")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("completed",), ("execution_failed", "cleanup_unconfirmed", None)),
        (("cancelled",), ("cancelled", "caller", None)),
        (("failed",), ("execution_failed", "protocol_violation", None)),
    ],
)
def test_the_end_of_the_budget_settles_with_what_decided_before(path: tuple[str, ...], expected: Any) -> None:
    machine = after("started", "confirmed", *path)
    open_before = machine.settled
    machine.due("expired")

    assert (False, True, 1) == (open_before, machine.settled, machine.survivors)
    assert expected == proposed(machine)


@pytest.mark.requirement("RK-EXEC-016")
@pytest.mark.parametrize(
    ("path", "code"),
    [
        (("started",), "spawn_failed"),
        (("started", "closed"), "spawn_failed"),
        (("started", "confirmed"), "cleanup_unconfirmed"),
        (("started", "confirmed", "completed"), "cleanup_unconfirmed"),
    ],
)
def test_a_lost_supervisor_is_a_failure_of_the_attempt(path: tuple[str, ...], code: str) -> None:
    machine = after(*path, "lost")

    assert (("execution_failed", code, None), 1) == (proposed(machine), machine.survivors)


@pytest.mark.requirement("RK-LIFE-013")
def test_a_cancellation_counts_until_the_commit_is_asked_for_and_not_after() -> None:
    before, behind = (after("started", "confirmed", "completed", "ended") for _ in range(2))

    assert "" == before.cancelled("owner")
    assert ("cancelled", "owner", None) == proposed(before)
    assert ("succeeded", "", TEXT) == proposed(behind)
    assert "" == behind.cancelled("owner")
    assert ("succeeded", "", TEXT) == proposed(behind)
    assert ("", "finished") == (behind.committed(), behind.phase)


def test_a_commit_needs_the_evidence_and_is_asked_for_before_it_is_had() -> None:
    with pytest.raises(ValueError, match="not complete"):
        running().commit_asked()
    with pytest.raises(ValueError, match="no commit"):
        after("started", "confirmed", "completed", "ended").committed()


@pytest.mark.requirement("RK-LIFE-021")
def test_the_ladders_rise_and_leave_the_last_tenth_for_the_answer() -> None:
    for ladder, steps in LADDERS.items():
        shares = [share for _, share in steps]
        assert ["term_due", "kill_due", "report_due", "expired"] == [event for event, _ in steps], ladder
        assert sorted(shares) == shares
        assert [90, 100] == shares[2:]
    assert {"settle": 60, "ask": 20, "force": 0} == {name: steps[0][1] for name, steps in LADDERS.items()}
    assert {"settle": 80, "ask": 60, "force": 20} == {name: steps[1][1] for name, steps in LADDERS.items()}


@pytest.mark.requirement("RK-LIFE-020")
def test_a_ladder_entered_later_ends_with_the_same_budget() -> None:
    first, later = rungs("settle", 10.0, 15.0), rungs("force", 14.0, 15.0)

    assert [(13.0, "term_due"), (14.0, "kill_due"), (14.5, "report_due"), (15.0, "expired")] == first
    assert [(14.0, "term_due"), (14.2, "kill_due"), (14.9, "report_due"), (15.0, "expired")] == later


@pytest.mark.requirement("RK-LIFE-020")
def test_a_stop_under_way_only_becomes_more_urgent() -> None:
    for event in ("cancelled", "failed"):
        assert "force" == EVENTS[event](after("started", "confirmed", "cancelled"))
    assert "" == EVENTS["completed"](after("started", "confirmed", "cancelled"))


@pytest.mark.parametrize(
    ("status", "declared", "expected"),
    [
        (0, None, "zero"),
        (0, 3, "zero"),
        (3, 3, "declared"),
        (3, None, "declared"),
        (4, 3, "other"),
        (63, None, "declared"),
        (64, None, "other"),
        (-9, None, "other"),
        (None, None, "other"),
    ],
)
def test_exit_statuses_fall_into_three_classes(
    status: int | None, declared: int | None, expected: str
) -> None:
    assert expected == exit_class(status, declared)
