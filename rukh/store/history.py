"""The kept history: what was published, by whom, and how two revisions differ. Never on the path of a call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rukh.store.database import Database
from rukh.store.profiles import stored
from rukh.store.reading import Reading
from rukh.values.errors import RukhError

_REVISION = "SELECT sequence, id, profile, operation, published_ms FROM revision"


class Revision:
    """One kept revision; `profile` is the whole profile, packages included. RK-PUB-025"""

    __slots__ = ("id", "operation", "profile", "published_ms", "sequence")

    def __init__(self, sequence: int, id: str, profile: str, operation: str, published_ms: int) -> None:
        self.sequence = sequence
        self.id = id
        self.profile: dict[str, Any] = stored(profile)
        self.operation = operation
        self.published_ms = published_ms


class History:
    """The revisions that were not collected."""

    def __init__(self, database: Database | Reading) -> None:
        self._database = database

    def revisions(self) -> list[Revision]:
        """All of them, the newest first."""
        return [Revision(*row) for row in self._database.rows(f"{_REVISION} ORDER BY sequence DESC")]

    def revision(self, name: str) -> Revision:
        """The one with this id, or with this beginning of it up to the hyphen (`r7`); raises RKO004."""
        row = self._database.row(f"{_REVISION} WHERE id = ? OR id GLOB ? || '-*'", (name, _plain(name)))
        if row is None:
            raise RukhError(
                "RKO004",
                f"{name} is not kept, or was never published",
                place=name,
                mend="see profile history",
            )
        return Revision(*row)

    def diff(self, one: str, other: str) -> list[tuple[str, Any, Any]]:
        """(JSON Pointer, value in `one`, value in `other`) of what differs, in the order of the pointers.

        A place that only one of them has stands there with None in the other.
        """
        return sorted(
            differences(self.revision(one).profile, self.revision(other).profile), key=lambda row: row[0]
        )


def differences(one: Any, other: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two documents differ: objects are compared member by member, anything else as a whole."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        if one != other:
            yield place, one, other
        return
    for name in {**one, **other}:
        escaped = name.replace("~", "~0").replace("/", "~1")
        yield from differences(one.get(name), other.get(name), f"{place}/{escaped}")


def _plain(name: str) -> str:
    """`name` where it is no pattern."""
    return name if name.isalnum() else ""
