"""Opening the home for an administrative verb: what was opened is closed when the verb is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rukh.cli.context import Context
from rukh.host.ledger import StoreLedger
from rukh.store.database import utc_ms
from rukh.store.home import Home, open_home
from rukh.store.profiles import Active
from rukh.store.reading import Reading
from rukh.store.store import Records, Store
from rukh.values.errors import RukhError

# Of a database that is sound, and could not be opened for writing.
_UNWRITABLE = "RKS007"


@contextmanager
def opened(context: Context, *, create: bool) -> Iterator[Store]:
    """The store of the home; `create` makes a home where there is none."""
    store = Store(open_home(context.home, create=create))
    try:
        yield store
    finally:
        store.close()


@contextmanager
def looked_at(context: Context, *, create: bool = False) -> Iterator[tuple[Records, Active]]:
    """The records of the home and its active revision, for a verb that changes nothing. RK-ADM-022

    A home that can be written is opened as any verb opens it, and what is read then is of one moment whoever writes
    meanwhile. A home that cannot be is read as it lies, where it needs nothing to be written first.
    """
    home = open_home(context.home, create=create)
    try:
        store = Store(home)
    except RukhError as refusal:
        if refusal.rule != _UNWRITABLE:
            raise
        with _lying(home, refusal) as found:
            yield found
        return
    try:
        yield store, active_of(store)
    finally:
        store.close()


@contextmanager
def _lying(home: Home, refusal: RukhError) -> Iterator[tuple[Records, Active]]:
    """The records of a home that cannot be written; raises `refusal` where it has to be, to be read."""
    reading = Reading(home)
    try:
        records = Records(home, reading)
        active = records.profiles.active() if reading.is_current else None
        if active is None:
            raise refusal
        yield records, active
    finally:
        reading.close()


def active_of(store: Store) -> Active:
    """The active revision of a home that may be fresh."""
    return StoreLedger(store).active()


def now_ms(store: Records) -> int:
    """Now, or the home's high-water mark where the clock was turned back: expiries gain nothing by that."""
    row = store.database.row("SELECT value FROM meta WHERE name = 'high_water_ms'")
    return max(utc_ms(), row[0] if row else 0)
