"""What dead hosts left in the records of a home, settled: the part of a recovery that a server does at its start.

Operations get the outcome that they have or are aborted, calls end as `host_lost`; both are found by index, and where
nothing was left nothing is written. Files are left to `recover` and to collection. A server may run for weeks, and
calls of hosts that were killed meanwhile would else stay without outcome, and keep their releases, until somebody
publishes. Its own calls are never settled while it lives. RK-PUB-055 … RK-PUB-057
"""

from __future__ import annotations

from rukh.contract.envelope import envelope, reason
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.store.store import Store


def settle_records(store: Store) -> None:
    """Settle what can be; where the home cannot be written, it is left to the next recovery."""
    try:
        store.recovery.operations()
        store.recovery.calls(lost_envelope)
    except RukhError:
        pass  # whoever calls is told of it then, and whoever only reads need not be


def lost_envelope(invocation: str) -> str:
    """What is kept for a call whose host died. RK-PUB-014"""
    why = reason("host_lost", "the host died while the call ran; what it did may have taken effect")
    return canonical(envelope(invocation, "execution_failed", reason=why))
