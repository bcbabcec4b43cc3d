"""Store: one home, one database, every transition one transaction.

Rules of the room:

- The database is the only truth; files of a home are addressed by digest and say nothing by being there.
- A write is a transaction behind the turnstile, with a durability class that the specification names.
- Time comes from outside and never runs backwards in the records.
- No connection crosses a fork, and nothing else in the process opens the file.

The names below are the room's public ones; each is loaded from its module on first use.
"""

from __future__ import annotations

from rukh.values.front import front

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.store.calls import Caller, Calls, Kept, Moved, Pinned, new_invocation
    from rukh.store.collection import Collected, Collection
    from rukh.store.database import POWER, PROCESS, Database
    from rukh.store.history import History, Revision, differences
    from rukh.store.holders import Holder, is_alive
    from rukh.store.home import Home, default_home, exists, open_home
    from rukh.store.profiles import Active, Contents, Profiles, Route, Staged
    from rukh.store.publications import Intent, Publications, Published
    from rukh.store.recovery import Found, Recovery
    from rukh.store.store import Store
    from rukh.store.tasks import Task, Tasks
    from rukh.store.trust import Trust
    from rukh.store.turnstile import Turnstile

__all__ = [
    "Active",
    "Caller",
    "Calls",
    "Collected",
    "Collection",
    "Contents",
    "Database",
    "Found",
    "History",
    "Holder",
    "Home",
    "Intent",
    "Kept",
    "Moved",
    "POWER",
    "PROCESS",
    "Pinned",
    "Profiles",
    "Publications",
    "Published",
    "Recovery",
    "Revision",
    "Route",
    "Staged",
    "Store",
    "Task",
    "Tasks",
    "Trust",
    "Turnstile",
    "default_home",
    "differences",
    "exists",
    "is_alive",
    "new_invocation",
    "open_home",
]

_HOMES = {
    "calls": "Caller Calls Kept Moved Pinned new_invocation",
    "collection": "Collected Collection",
    "database": "POWER PROCESS Database",
    "history": "History Revision differences",
    "holders": "Holder is_alive",
    "home": "Home default_home exists open_home",
    "profiles": "Active Contents Profiles Route Staged",
    "publications": "Intent Publications Published",
    "recovery": "Found Recovery",
    "store": "Store",
    "tasks": "Task Tasks",
    "trust": "Trust",
    "turnstile": "Turnstile",
}

__getattr__ = front(__name__, _HOMES)
