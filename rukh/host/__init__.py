"""Host: the invocation core. capture → admit → execute → finalize, the same for every surface.

It uses every room below it. One process is kept apart from all others: `spawner` is forked before the host has threads
or a database, and what it forks (`supervisor`) loads nothing of the store. `invoker` is the loop of one call around the
machines, `conversation` what host and child say to each other in it, `cancel` how it is asked to stop; `launch` says
what is started for a command, `workdirs` in which directory; `streams` what becomes of its output; `invocation` is the
path from a resolved command to its committed outcome. The names below are the room's public ones; each is loaded from
its module on first use.
"""

from __future__ import annotations

from rukh.values.front import front

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.host.cancel import Cancel
    from rukh.host.invocation import Call, CommitFailed, Finished, Host
    from rukh.host.invoker import Report, run
    from rukh.host.launch import plan_launch
    from rukh.host.spawner import Launch, Session, Spawner
    from rukh.host.streams import Streams
    from rukh.host.workdirs import WorkDirs, make_work_dir, remove_work_dir

__all__ = [
    "Call",
    "Cancel",
    "CommitFailed",
    "Finished",
    "Host",
    "Launch",
    "Report",
    "Session",
    "Spawner",
    "Streams",
    "WorkDirs",
    "make_work_dir",
    "plan_launch",
    "remove_work_dir",
    "run",
]

_HOMES = {
    "cancel": "Cancel",
    "invocation": "Call CommitFailed Finished Host",
    "invoker": "Report run",
    "launch": "plan_launch",
    "spawner": "Launch Session Spawner",
    "streams": "Streams",
    "workdirs": "WorkDirs make_work_dir remove_work_dir",
}

__getattr__ = front(__name__, _HOMES)
