"""What an update changes of what its owner consented to: a pure comparison, and one digest over the whole of it.

    signer      whose key signed the release
    authority   what a command asks to be given: variables, standard input, a runtime, a whole program, a confinement,
                an offer to agents, a person who answers
    effects     the operations that it asks for, with their resources and strict conditions
    commands    which commands there are, the words that lead to them, and which of them an endpoint exports
    schema      parameters and results, as the terminal and an agent see them alike

1. Compared are compiled commands, so that leaving a member out and writing its default is no change.
2. A command that is new stands there as one, together with everything that it asks for; a command that is gone, alone.
3. Texts are no change, wherever they stand, nor is an order without a meaning: names of an option, required members.
   The order of positional parameters has one.
4. The changes stand in the order of the kinds above, then of what they are about.
5. The digest is over package, versions, tree, signer and changes: a yes to it is a yes to these bytes and no others.

RK-CONS-001 … RK-CONS-005
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rukh.contract.compile import Record
from rukh.values.canonical import canonical, canonical_bytes
from rukh.values.ids import sha256_hex
from rukh.values.pointer import join

FORMAT = "rukh.difference/1"
SIGNER, AUTHORITY, EFFECTS, COMMANDS, SCHEMA = KINDS = (
    "signer",
    "authority",
    "effects",
    "commands",
    "schema",
)
ADDED, REMOVED, CHANGED = "+", "-", "~"
_TEXTS = ("title", "description")


@dataclass(frozen=True, slots=True)
class Alteration:
    """One change: `what` of `about` (a command, or the package) was `before` and is `after`; None where it is not.

    `sign` is `+` where it came, `-` where it went, `~` where it is another one.
    """

    kind: str
    sign: str
    about: str
    what: str
    before: Any = None
    after: Any = None

    def document(self) -> dict[str, Any]:
        """The change as a JSON object: `from` and `to` are there as the sign says."""
        document = {"kind": self.kind, "sign": self.sign, "about": self.about, "what": self.what}
        if self.sign != ADDED:
            document["from"] = self.before
        if self.sign != REMOVED:
            document["to"] = self.after
        return document


@dataclass(frozen=True, slots=True)
class Difference:
    """What an update of `package` changes; without `changes` nobody has to be asked."""

    package: str
    before: str
    after: str
    tree: str
    signer: str
    changes: tuple[Alteration, ...]

    @property
    def digest(self) -> str:
        """What a yes names: 64 hexadecimal digits. RK-CONS-003"""
        return sha256_hex(canonical_bytes(self._digested()))

    def document(self) -> dict[str, Any]:
        """The difference as the document `rukh.difference/1`, its digest included."""
        return {**self._digested(), "digest": self.digest}

    def _digested(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "package": self.package,
            "from": self.before,
            "to": self.after,
            "tree": self.tree,
            "signer": self.signer,
            "changes": [change.document() for change in self.changes],
        }


class Compiled(Protocol):
    """What is compared of a revision or a candidate; `exports` pairs identity and tail digest by endpoint."""

    @property
    def commands(self) -> Sequence[Record]: ...

    @property
    def exports(self) -> Mapping[str, Sequence[tuple[str, str]]]: ...


@dataclass(frozen=True, slots=True)
class Standing:
    """The compiled commands and exports of a published revision."""

    commands: Sequence[Record]
    exports: Mapping[str, Sequence[tuple[str, str]]]


def difference(
    package: str, was: Mapping[str, Any], becomes: Mapping[str, Any], before: Compiled, after: Compiled
) -> Difference:
    """Compare the package's active entry `was` in `before` with the entry `becomes` in `after`. RK-CONS-001"""
    one, other = _records(before, package), _records(after, package)
    found = [
        *_turned(SIGNER, package, "signer", was["signer"], becomes["signer"]),
        *_existence(one, other),
        *_words(one, other),
        *_exports(package, before, after),
    ]
    for identity, record in other.items():
        found += _command(identity, one.get(identity) or _asking_nothing(record), record)
    found.sort(key=_place)
    return Difference(
        package, was["version"], becomes["version"], becomes["tree"], becomes["signer"], tuple(found)
    )


def _records(compiled: Compiled, package: str) -> dict[str, Record]:
    return {record["identity"]: record for record in compiled.commands if record["package"] == package}


def _asking_nothing(record: Record) -> Record:
    """The new command as if it asked for nothing: what it asks for is then what came with it."""
    return {
        **record,
        "stdin": "none",
        "lifetime": "foreground",
        "mapping": {"kind": "managed"},
        "requires": {"operations": [], "environment": [], "confinement": "host-trusted/1"},
        "machine": {"eligible": False, "interaction": "none", "requiredFeatures": []},
    }


def _place(change: Alteration) -> tuple[Any, ...]:
    values = canonical([change.before, change.after])
    return KINDS.index(change.kind), change.about, change.what, values


# Which commands there are, and what leads to them.


def _existence(one: Mapping[str, Record], other: Mapping[str, Record]) -> Iterator[Alteration]:
    for identity in one.keys() ^ other.keys():
        yield from _turned(
            COMMANDS, identity, "command", _spoken(one.get(identity)), _spoken(other.get(identity))
        )


def _spoken(record: Record | None) -> list[str] | None:
    """All words that lead to the command, its path first."""
    return None if record is None else [" ".join(path) for path in (record["path"], *record["aliases"])]


def _words(one: Mapping[str, Record], other: Mapping[str, Record]) -> Iterator[Alteration]:
    """Words that came, went or lead elsewhere; those of a command that is new or gone stand beside it already."""
    before, after = _led(one), _led(other)
    for words in before.keys() | after.keys():
        was, becomes = before.get(words), after.get(words)
        if (was is None and becomes not in one) or (becomes is None and was not in other):
            continue
        yield from _turned(COMMANDS, str(becomes or was), f"words {words}", was, becomes)


def _led(records: Mapping[str, Record]) -> dict[str, str]:
    return {words: identity for identity, record in records.items() for words in _spoken(record) or ()}


def _exports(package: str, before: Compiled, after: Compiled) -> Iterator[Alteration]:
    for endpoint in before.exports.keys() | after.exports.keys():
        one, other = _exported(before, endpoint, package), _exported(after, endpoint, package)
        yield from _came_and_went(COMMANDS, f"endpoint {endpoint}", "tool", one, other)


def _exported(compiled: Compiled, endpoint: str, package: str) -> set[str]:
    pairs = compiled.exports.get(endpoint, ())
    return {identity for identity, _tail in pairs if identity.startswith(f"{package}/")}


# One command.


def _command(identity: str, was: Record, becomes: Record) -> Iterator[Alteration]:
    yield from _authority(identity, was, becomes)
    yield from _came_and_went(EFFECTS, identity, "operation", _operations(was), _operations(becomes))
    yield from _schema(identity, was, becomes)


def _authority(identity: str, was: Record, becomes: Record) -> Iterator[Alteration]:
    one, other = _asked(was), _asked(becomes)
    for what in one:
        yield from _turned(AUTHORITY, identity, what, one[what], other[what])
    for what, section, member in (
        ("variable", "requires", "environment"),
        ("feature", "machine", "requiredFeatures"),
    ):
        names = set(was[section][member]), set(becomes[section][member])
        yield from _came_and_went(AUTHORITY, identity, what, *names)


def _asked(record: Record) -> dict[str, Any]:
    """What a command asks to be given, where it is one value. A managed entry is none: the tree decides what runs."""
    return {
        "standard input": record["stdin"],
        "lifetime": record["lifetime"],
        "runtime": record["runtime"]["kind"],
        "mapping": record["mapping"]["kind"],
        "program": record["mapping"].get("program"),
        "confinement": record["requires"]["confinement"],
        "offered to agents": record["machine"]["eligible"],
        "interaction": record["machine"]["interaction"],
    }


def _operations(record: Record) -> set[str]:
    """Each requested operation in words: strict conditions are part of it."""
    return {
        " ".join(
            [
                one["operation"],
                *(["on", one["resource"]] if "resource" in one else []),
                *(["only", *sorted(one["strict"])] if one.get("strict") else []),
            ]
        )
        for one in record["requires"]["operations"]
    }


def _schema(identity: str, was: Record, becomes: Record) -> Iterator[Alteration]:
    one, other = _parameters(was), _parameters(becomes)
    for name in one.keys() | other.keys():
        for pointer, before, after in _leaves(one.get(name), other.get(name)):
            yield from _turned(SCHEMA, identity, f"parameter {name} {pointer}".rstrip(), before, after)
    first, second = _positionals(was), _positionals(becomes)
    if first[: len(second)] != second[: len(first)]:
        yield from _turned(SCHEMA, identity, "order of positionals", first, second)
    for pointer, before, after in _leaves(_result(was["result"]), _result(becomes["result"])):
        yield from _turned(SCHEMA, identity, f"result {pointer}".rstrip(), before, after)


def _parameters(record: Record) -> dict[str, dict[str, Any]]:
    return {
        parameter["id"]: {
            **{name: value for name, value in parameter.items() if name not in ("id", "summary")},
            "names": sorted(parameter["names"]),
            "type": _type(parameter["type"]),
        }
        for parameter in record["parameters"]
    }


def _type(declared: Mapping[str, Any]) -> dict[str, Any]:
    """A type without the order of its choices."""
    told = dict(declared)
    if "values" in told:
        told["values"] = sorted(told["values"])
    if "items" in told:
        told["items"] = _type(told["items"])
    return told


def _positionals(record: Record) -> list[str]:
    return [parameter["id"] for parameter in record["parameters"] if parameter["form"] == "positional"]


def _result(result: dict[str, Any] | None) -> dict[str, Any] | None:
    if result is None or "schema" not in result:
        return result
    return {**result, "schema": _telling(result["schema"])}


def _telling(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A result schema without its texts, and without the order of required members."""
    told = {name: value for name, value in schema.items() if name not in _TEXTS}
    if "required" in told:
        told["required"] = sorted(told["required"])
    if "properties" in told:
        told["properties"] = {name: _telling(value) for name, value in told["properties"].items()}
    if "items" in told:
        told["items"] = _telling(told["items"])
    return told


# Comparing.


def _leaves(before: Any, after: Any, pointer: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two documents differ: objects member by member, anything else as a whole."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        yield pointer, before, after
        return
    for name in before.keys() | after.keys():
        yield from _leaves(before.get(name), after.get(name), join(pointer, name))


def _turned(kind: str, about: str, what: str, before: Any, after: Any) -> Iterator[Alteration]:
    """The change from `before` to `after`, if it is one; canonical text tells 1 from true."""
    if canonical(before) != canonical(after):
        sign = ADDED if before is None else REMOVED if after is None else CHANGED
        yield Alteration(kind, sign, about, what, before, after)


def _came_and_went(
    kind: str, about: str, what: str, before: set[str], after: set[str]
) -> Iterator[Alteration]:
    for name in before ^ after:
        yield from _turned(kind, about, what, *((name, None) if name in before else (None, name)))
