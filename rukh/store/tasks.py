"""Tasks: what the owner issued for an endpoint, with its budget. One active task an endpoint; a new one replaces it.

A restart never refills a budget; a window does, once it has passed. Calls are counted where they are admitted, in the
transaction of the capture. RK-TASK-001 … RK-TASK-003
"""

from __future__ import annotations

from rukh.store.database import POWER
from rukh.store.profiles import stored
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.ids import new_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rukh.store.database import Database, Transaction
    from rukh.store.reading import Reading


class Task:
    """An issued task; `binding` is what its endpoint and preset said when it was issued."""

    __slots__ = ("binding", "calls_limit", "calls_used", "endpoint", "id", "state")

    def __init__(
        self,
        id: str,
        endpoint: str,
        binding: dict[str, Any],
        state: str,
        calls_limit: int | None,
        calls_used: int,
    ) -> None:
        self.id = id
        self.endpoint = endpoint
        self.binding = binding
        self.state = state
        self.calls_limit = calls_limit
        self.calls_used = calls_used


class TaskRecords:
    """The tasks, as they are read."""

    def __init__(self, database: Database | Reading) -> None:
        self._database = database

    def of_endpoint(self, endpoint: str) -> Task | None:
        """The active task of an endpoint."""
        row = self._database.row(
            "SELECT id, endpoint, binding, state, calls_limit, calls_used FROM task "
            "WHERE endpoint = ? AND state = 'active'",
            (endpoint,),
        )
        return Task(row[0], row[1], stored(row[2]), row[3], row[4], row[5]) if row else None

    def used(self, task: str, now: int) -> int:
        """How many calls of the present window a call at `now` would find used; raises RKA003 or RKA004 as it would."""
        return _usable(self._database.rows(_USE, (task,)), task, now)[0]


class Tasks(TaskRecords):
    """Issue and look up tasks."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._writes = database

    def issue(
        self,
        endpoint: str,
        binding: dict[str, Any],
        calls: int | None,
        window_ms: int | None,
        *,
        subject: str,
    ) -> Task:
        """A new active task of `endpoint`, with `calls` calls in each window (None: no bound, one window for ever)."""
        task = new_id("task")
        with self._writes.write(POWER) as tx:
            tx.run("UPDATE task SET state = 'replaced' WHERE endpoint = ? AND state = 'active'", (endpoint,))
            tx.run(
                "INSERT INTO task VALUES (?, ?, ?, 'active', ?, 0, ?, ?, ?)",
                (task, endpoint, canonical(binding), calls, window_ms, tx.now, tx.now),
            )
            tx.audit("task.issued", "cli", subject, task, endpoint)
        return Task(task, endpoint, binding, "active", calls, 0)


def count_call(tx: Transaction, task: str) -> None:
    """Count one admitted call of `task` inside the capture; raises RKA003 or RKA004 and counts nothing."""
    used, since = _usable(tx.run(_USE, (task,)), task, tx.now)
    tx.run("UPDATE task SET calls_used = ?, window_from_ms = ? WHERE id = ?", (used + 1, since, task))


_USE = "SELECT state, calls_limit, calls_used, window_ms, window_from_ms FROM task WHERE id = ?"


def _usable(rows: list[tuple[Any, ...]], task: str, now: int) -> tuple[int, int]:
    """What is used up at `now`, and since when it counts; raises RKA003 or RKA004 where no call is left."""
    if not rows or rows[0][0] != "active":
        raise RukhError(
            "RKA003",
            "the task is no longer active",
            place=task,
            mend="the owner issues a new one: task issue",
        )
    _, limit, used, window, since = rows[0]
    if window is not None and now >= since + window:
        used, since = 0, now
    if limit is not None and used >= limit:
        raise RukhError(
            "RKA004",
            f"all {limit} calls of the task are used",
            place=task,
            mend="the owner issues a new task",
        )
    return used, since
