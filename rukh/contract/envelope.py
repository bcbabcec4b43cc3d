"""The outcome envelope: what every surface says of a finished call, in one member order.

Members in order: `invocationId`, `outcome`, `reason`, `commandResult`, `effects`; one that has nothing to say
is left out. All of them are the core's: publisher data stands in `commandResult` alone. RK-RES-030 RK-RES-031

A reason stands beside every outcome but `succeeded`; its code is one of the registry's closed list.
RK-RES-032
"""

from __future__ import annotations

from rukh.values.registry import OUTCOMES, REASON_EXITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def envelope(
    invocation_id: str,
    outcome: str,
    *,
    reason: dict[str, str] | None = None,
    command_result: dict[str, Any] | None = None,
    effects: Sequence[dict[str, str]] = (),
) -> dict[str, Any]:
    """The envelope as a JSON object, of a `reason` made by the function below and a validated
    `command_result`.

    Raises ValueError where the host contradicts itself: an unknown outcome, success with a reason, another
    outcome without one.
    """
    if outcome not in OUTCOMES:
        raise ValueError(f"{outcome!r} is no outcome")
    if (outcome == "succeeded") != (reason is None):
        raise ValueError("a reason stands beside every outcome but succeeded")
    document: dict[str, Any] = {"invocationId": invocation_id, "outcome": outcome}
    if reason is not None:
        document["reason"] = reason
    if command_result is not None:
        document["commandResult"] = command_result
    if effects:
        document["effects"] = list(effects)
    return document


def reason(code: str, message: str, place: str = "", mend: str = "") -> dict[str, str]:
    """Why a call did not succeed: `{code, message, place?, mend?}`; ValueError for an unregistered code."""
    if code not in REASON_EXITS:
        raise ValueError(f"{code!r} is no reason")
    document = {"code": code, "message": message}
    if place:
        document["place"] = place
    if mend:
        document["mend"] = mend
    return document
