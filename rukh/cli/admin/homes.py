"""Opening the home for an administrative verb: the store is closed when the verb is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rukh.cli.context import Context
from rukh.host.ledger import StoreLedger
from rukh.store.database import utc_ms
from rukh.store.home import open_home
from rukh.store.profiles import Active
from rukh.store.store import Store


@contextmanager
def opened(context: Context, *, create: bool) -> Iterator[Store]:
    """The store of the home; `create` makes a home where there is none."""
    store = Store(open_home(context.home, create=create))
    try:
        yield store
    finally:
        store.database.fold()
        store.close()


def active_of(store: Store) -> Active:
    """The active revision of a home that may be fresh."""
    return StoreLedger(store).active()


def now_ms(store: Store) -> int:
    """Now, or the home's high-water mark where the clock was turned back: expiries gain nothing by that."""
    row = store.database.row("SELECT value FROM meta WHERE name = 'high_water_ms'")
    return max(utc_ms(), row[0] if row else 0)
