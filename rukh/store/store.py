"""The store of one home: its parts, over one database."""

from __future__ import annotations

from rukh.store.calls import Calls
from rukh.store.database import POWER, Database, utc_ms
from rukh.store.holders import Holder
from rukh.store.profiles import Profiles
from rukh.store.tasks import TaskRecords, Tasks
from rukh.store.trust import Trust, TrustRecords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rukh.store.collection import Collection
    from rukh.store.history import History
    from rukh.store.home import Home
    from rukh.store.publications import Publications
    from rukh.store.reading import Reading
    from rukh.store.recovery import Recovery


class Records:
    """What is on record in one home, as it is read. What only administration needs is loaded when it is asked for."""

    def __init__(self, home: Home, database: Database | Reading) -> None:
        self.home = home
        self.database = database
        self.profiles = Profiles(database)
        self.tasks = TaskRecords(database)
        self.trust = TrustRecords(database)

    @property
    def history(self) -> History:
        """The kept revisions."""
        from rukh.store.history import History

        return History(self.database)


class Store(Records):
    """Everything durable of one home; usable from any thread, by the process that opened it only."""

    database: Database
    tasks: Tasks
    trust: Trust

    def __init__(self, home: Home, clock: Callable[[], int] = utc_ms, holder: Holder | None = None) -> None:
        database = Database(home, clock)
        super().__init__(home, database)
        self.holder = holder or Holder(home)
        self.calls = Calls(database, self.holder)
        self.tasks = Tasks(database)
        self.trust = Trust(database)

    @property
    def recovery(self) -> Recovery:
        """What settles the things that the dead left behind."""
        from rukh.store.recovery import Recovery

        return Recovery(self.database, self.home)

    @property
    def publications(self) -> Publications:
        """What writes the active profile."""
        from rukh.store.publications import Publications

        return Publications(self.database, self.holder, self.recovery)

    @property
    def collection(self) -> Collection:
        """What gives back what nobody needs."""
        from rukh.store.collection import Collection

        return Collection(self.database, self.recovery)

    def secret(self, name: str) -> bytes:
        """A random key of this home (32 bytes), made on first use: for example that of the cursors."""
        row = self.database.row("SELECT value FROM meta WHERE name = ?", (f"secret.{name}",))
        if row is not None:
            return bytes(row[0])
        import os

        with self.database.write(POWER) as tx:
            tx.run("INSERT OR IGNORE INTO meta VALUES (?, ?)", (f"secret.{name}", os.urandom(32)))
            return bytes(tx.run("SELECT value FROM meta WHERE name = ?", (f"secret.{name}",))[0][0])

    def close(self) -> None:
        """Close the connection and give up what is held, behind the last answer; the store is not used again."""
        self.database.fold()  # others may keep the log open
        self.database.close()
        self.holder.leave()
