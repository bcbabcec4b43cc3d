"""A glance at the published profile, for completion: no parsing of records.

What a key press asks for is read by a few queries, from the columns and with SQLite's own JSON functions, through a
database that is opened for reading only. RK-COMP-003 RK-COMP-004
"""

from __future__ import annotations

from rukh.store.reading import Reading
from rukh.values.errors import RukhError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rukh.store.home import Home

    Row = tuple[str, str]

_ACTIVE = "(SELECT r.generation FROM active JOIN revision r USING (sequence))"
_PROFILE = "(SELECT r.profile FROM active JOIN revision r USING (sequence))"
# The next character behind the space that joins the words of a path.
_BEHIND_SPACE = "!"


class Glance:
    """The active profile of one home. Every method raises RKS006 where the database cannot be read."""

    def __init__(self, home: Home) -> None:
        reading = Reading(home)
        if not reading.is_current:
            raise RukhError("RKS006", "the database is of another program or version", place=reading.path)
        self._rows = reading.rows

    def below(self, path: Sequence[str]) -> list[tuple[str, str, str, str]]:
        """What stands directly below `path`: (word, kind, identity, summary), in order of the words.

        The beginning of an alias is no route of its own, and leads on like a group.
        """
        start = "".join(f"{word} " for word in path)
        behind = start[:-1] + _BEHIND_SPACE if start else "\U0010ffff"
        rows = self._rows(
            "WITH below AS (SELECT substr(path, ?) AS rest, kind, identity, summary FROM route"
            f" WHERE generation = {_ACTIVE} AND path >= ? AND path < ?)"
            " SELECT DISTINCT substr(rest, 1, instr(rest, ' ') - 1), 'group', '', '' FROM below"
            " WHERE instr(rest, ' ') > 0 UNION ALL"
            " SELECT rest, kind, identity, summary FROM below WHERE instr(rest, ' ') = 0",
            (len(start) + 1, start, behind),
        )
        found = {word: (word, kind, identity, summary) for word, kind, identity, summary in rows}
        return [found[word] for word in sorted(found)]

    def resolve(self, words: Sequence[str]) -> tuple[str, str, int] | None:
        """The route with the most leading words of `words`: (kind, identity, number of its words)."""
        paths = {" ".join(words[:count]): count for count in range(1, len(words) + 1)}
        rows = self._rows(
            f"SELECT path, kind, identity FROM route WHERE generation = {_ACTIVE}"
            f" AND path IN ({','.join('?' * len(paths))})",
            tuple(paths),
        )
        found = [(kind, identity, paths[path]) for path, kind, identity in rows]
        return max(found, key=lambda route: route[2], default=None)

    def command(self, identity: str) -> dict[str, Any] | None:
        """Of a command's record what completion needs: `mapping.kind`, `result` or None, and the `parameters`."""
        row = self._rows(
            "SELECT json_extract(record, '$.mapping.kind'), json_extract(record, '$.result.kind') FROM command"
            f" WHERE generation = {_ACTIVE} AND identity = ?",
            (identity,),
        )
        if not row:
            return None
        parameters = self._rows(
            "SELECT json_extract(p.value, '$.id'), json_extract(p.value, '$.form'),"
            " json_extract(p.value, '$.summary'), json_extract(p.value, '$.type.kind'),"
            " json_extract(p.value, '$.type.items.kind'),"
            " (SELECT group_concat(n.value, ' ') FROM json_each(p.value, '$.names') n)"
            f" FROM command, json_each(record, '$.parameters') p WHERE generation = {_ACTIVE} AND identity = ?"
            " ORDER BY p.key",
            (identity,),
        )
        return {
            "mapping": {"kind": row[0][0]},
            "result": row[0][1],
            "parameters": [_parameter(*parameter) for parameter in parameters],
        }

    def choices(self, identity: str, parameter: str) -> list[str]:
        """The values of a choice, or of a list of choices; of any other parameter none."""
        rows = self._rows(
            "SELECT c.value FROM command, json_each(record, '$.parameters') p,"
            " json_each(coalesce(json_extract(p.value, '$.type.items.values'),"
            " json_extract(p.value, '$.type.values'), '[]')) c"
            f" WHERE generation = {_ACTIVE} AND identity = ? AND json_extract(p.value, '$.id') = ? ORDER BY c.key",
            (identity, parameter),
        )
        return [row[0] for row in rows]

    def identities(self) -> list[Row]:
        """Every installed command: (identity, summary)."""
        return self._pairs(
            f"SELECT identity, summary FROM route WHERE generation = {_ACTIVE} AND kind = 'command' ORDER BY identity"
        )

    def texts(self) -> list[tuple[str, str, list[tuple[str, str]]]]:
        """What every installed command says of itself: (path, summary, texts), a text with where it stands."""
        aliases: dict[str, list[tuple[str, str]]] = {}
        for identity, alias in self._pairs(
            f"SELECT identity, path FROM route WHERE generation = {_ACTIVE} AND kind = 'alias' ORDER BY path"
        ):
            aliases.setdefault(identity, []).append((f"alias {alias}", alias))
        parameters: dict[str, list[tuple[str, str]]] = {}
        for identity, name, summary in self._rows(
            "SELECT identity, coalesce(json_extract(p.value, '$.names[0]'), json_extract(p.value, '$.id')),"
            " concat_ws(' ', (SELECT group_concat(n.value, ' ') FROM json_each(p.value, '$.names') n),"
            " json_extract(p.value, '$.id'), json_extract(p.value, '$.summary'))"
            f" FROM command, json_each(record, '$.parameters') p WHERE generation = {_ACTIVE} ORDER BY identity, p.key",
            (),
        ):
            kind = "option" if name.startswith("-") else "argument"
            parameters.setdefault(identity, []).append((f"{kind} {name}", summary))
        commands = self._rows(
            "SELECT r.path, r.summary, r.identity, json_extract(c.record, '$.title'),"
            " json_extract(c.record, '$.description') FROM route r JOIN command c USING (generation, identity)"
            f" WHERE generation = {_ACTIVE} AND r.kind = 'command' ORDER BY r.path",
            (),
        )
        return [
            (
                path,
                summary,
                [
                    *aliases.get(identity, []),
                    ("identity", identity),
                    ("title", title or ""),
                    ("summary", summary),
                    *parameters.get(identity, []),
                    ("description", description or ""),
                ],
            )
            for path, summary, identity, title, description in commands
        ]

    def packages(self) -> list[Row]:
        """Every installed package: (name, version)."""
        return self._pairs(
            "SELECT key, json_extract(value, '$.version') FROM json_each("
            + _PROFILE
            + ", '$.packages') ORDER BY key"
        )

    def endpoints(self) -> list[Row]:
        """Every endpoint of the profile: (name, namespace)."""
        return self._pairs(
            "SELECT key, json_extract(value, '$.namespace') FROM json_each(" + _PROFILE + ", '$.endpoints')"
            " ORDER BY key"
        )

    def revisions(self) -> list[Row]:
        """Every kept revision, the newest first: (id, nothing)."""
        return self._pairs("SELECT id, '' FROM revision ORDER BY sequence DESC")

    def _pairs(self, sql: str) -> list[Row]:
        return [(name, text or "") for name, text in self._rows(sql, ())]


def _parameter(
    identity: str, form: str, summary: str | None, kind: str, items: str | None, names: str | None
) -> dict[str, Any]:
    declared: dict[str, Any] = {"kind": kind}
    if items is not None:
        declared["items"] = {"kind": items}
    return {
        "id": identity,
        "form": form,
        "summary": summary or "",
        "type": declared,
        "names": (names or "").split(),
    }
