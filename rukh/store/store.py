"""The store of one home: its parts, over one database."""

from __future__ import annotations

from rukh.store.calls import Calls
from rukh.store.database import POWER, Database, utc_ms
from rukh.store.profiles import Profiles
from rukh.store.tasks import Tasks
from rukh.store.trust import Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rukh.store.home import Home


class Store:
    """Everything durable of one home; usable from any thread, by the process that opened it only."""

    def __init__(self, home: Home, clock: Callable[[], int] = utc_ms) -> None:
        self.home = home
        self.database = Database(home, clock)
        self.profiles = Profiles(self.database)
        self.calls = Calls(self.database)
        self.tasks = Tasks(self.database)
        self.trust = Trust(self.database)

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
        """Close the connection; the store is not used again."""
        self.database.close()
