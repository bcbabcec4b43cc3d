"""Machines: what may happen next, decided without I/O and without a clock.

A machine is fed events and answers with what is to be done; bytes, time and processes stand outside and are passed in.
Each opens with its rules in prose, then its literal tables, then one small class. It imports `values` and nothing else
of rukh. The names below are the room's public ones; each is loaded from its module on first use.
"""

from __future__ import annotations

from rukh.values.front import front

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.machines.channel import ChildChannel, Event, HostChannel
    from rukh.machines.lifecycle import LADDERS, MOVES, PHASES, Lifecycle, Proposal, rungs
    from rukh.machines.publication import LIFE, TRANSITIONS, after, decide, life, takes
    from rukh.machines.steps import unobserved

__all__ = [
    "LADDERS",
    "LIFE",
    "MOVES",
    "PHASES",
    "TRANSITIONS",
    "ChildChannel",
    "Event",
    "HostChannel",
    "Lifecycle",
    "Proposal",
    "after",
    "decide",
    "life",
    "rungs",
    "takes",
    "unobserved",
]

_HOMES = {
    "channel": "ChildChannel Event HostChannel",
    "lifecycle": "LADDERS MOVES PHASES Lifecycle Proposal rungs",
    "publication": "LIFE TRANSITIONS after decide life takes",
    "steps": "unobserved",
}

__getattr__ = front(__name__, _HOMES)
