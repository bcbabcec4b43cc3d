"""The candidate: everything that a publication would make true, built and judged before anything is committed.

One build takes the whole profile and the descriptors of its active packages, and gives the compiled commands,
the routes of the terminal and the exports of every endpoint. It publishes nothing and keeps nothing. The
first of these faults refuses it, in this order, and a fault between two things names both (RK-PROF-030):

1. an active package that is not the one of its descriptor, mount words out of form, an identity that stands
   twice;
2. routes: a word of the core at the root, two commands on one path, a command on the path of a group, an
   alias on or through another path;
3. endpoints: one namespace twice, an unknown preset, an unknown command or package, a command that cannot be
   exported, a tool whose metadata does not fit one page.

Routes are one space: a path is a command, an alias or a group, never two of them. A group is derived from the
paths of the commands below it, and is no tool. The beginnings of an alias are reserved for it, and listed
nowhere.

Nothing depends on the order in which packages were installed: commands and exports stand in order of
identity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rukh.contract import grammar
from rukh.contract.compile import Record, compile_commands
from rukh.contract.grammar import FORMAT, FORMAT_1
from rukh.contract.projection import export_refusal, tool_tail
from rukh.values.canonical import canonical, canonical_bytes
from rukh.values.errors import RukhError
from rukh.values.ids import sha256_hex
from rukh.values.nearest import nearest
from rukh.values.registry import LIMIT_PAGE_BYTES, LIMIT_PAGE_ROOM_BYTES, LIMIT_PATH_WORDS, RESERVED_WORDS

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Route:
    """One path of the terminal: `kind` is command, alias or group; a group has no identity."""

    path: Path
    kind: str
    identity: str
    summary: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """What would be published. `generation` is the digest of commands and routes; `exports` pairs identity and tail
    digest by endpoint; `tails` holds the canonical JSON of each tail by its SHA-256."""

    generation: str
    commands: list[Record]
    routes: list[Route]
    exports: dict[str, list[tuple[str, str]]]
    tails: dict[str, str]


def build_candidate(profile: dict[str, Any], descriptors: dict[str, dict[str, Any]]) -> Candidate:
    """Compile and judge a whole profile; `descriptors` holds the checked descriptor of each active package.

    Raises RukhError RKP001–RKP015. RK-PROF-030
    """
    commands = _commands(profile, descriptors)
    routes = _routes(commands, descriptors)
    exports, tails = _exports(profile, {record["identity"]: record for record in commands}, descriptors)
    listing = [[list(route.path), route.kind, route.identity, route.summary] for route in routes]
    generation = sha256_hex(canonical_bytes({"commands": commands, "routes": listing}))
    return Candidate(generation, commands, routes, exports, tails)


def check_unnamed(profile: Mapping[str, Any], package: str) -> None:
    """Refuse (RKP010) to take out a package that an endpoint names, by itself or by a command. RK-PROF-013"""
    for name, endpoint in sorted(profile["endpoints"].items()):
        for member in ("packages", "commands"):
            for word in endpoint[member]:
                if word.partition("/")[0] == package:
                    message = f"{name} names {word}, and would lose it with {package}"
                    mend = f"take it out of the endpoint in your profile file and apply that; then remove {package}"
                    raise RukhError("RKP010", message, place=f"/endpoints/{name}/{member}", mend=mend)


def check_namespaces_kept(published: dict[str, str], profile: dict[str, Any]) -> None:
    """Refuse (RKP008) a profile that gives an endpoint another namespace than it was `published` with. RK-PROF-011"""
    for name, namespace in published.items():
        after = profile["endpoints"].get(name)
        if after is not None and after["namespace"] != namespace:
            raise RukhError(
                "RKP008",
                f"the namespace of {name} would change from {namespace} to {after['namespace']}",
                place=f"/endpoints/{name}/namespace",
                mend="keep the namespace, or make a new endpoint",
            )


# Commands.


def _commands(profile: dict[str, Any], descriptors: dict[str, dict[str, Any]]) -> list[Record]:
    records: dict[str, Record] = {}
    for package, active in sorted(profile["packages"].items()):
        _check_package(package, active, descriptors.get(package))
        for record in compile_commands(descriptors[package], active["mount"]):
            if record["identity"] in records:
                raise _identity_twice(record["identity"])
            records[record["identity"]] = record
    return [records[identity] for identity in sorted(records)]


def _check_package(package: str, active: dict[str, Any], descriptor: dict[str, Any] | None) -> None:
    found = (descriptor["package"], descriptor["version"]) if descriptor else None
    if found != (package, active["version"]):
        shown = f"{found[0]} {found[1]}" if found else "none"
        message = f"{package} {active['version']} is active, and its descriptor is {shown}"
        raise RukhError("RKP015", message, place=f"/packages/{package}", mend="install the package again")
    mount = active["mount"]
    if len(mount) > LIMIT_PATH_WORDS or not all(grammar.WORD.matches(word) for word in mount):
        mend = f"use at most {LIMIT_PATH_WORDS} words of the form: {grammar.WORD.says}"
        message = f"{' '.join(mount)!r} are no mount words"
        raise RukhError("RKP006", message, place=f"/packages/{package}/mount", mend=mend)


def _identity_twice(identity: str) -> RukhError:
    message = f"the identity {identity} stands for two commands"
    return RukhError(
        "RKP005", message, place=identity, mend="ask the publisher for a release with distinct ids"
    )


# Routes.


def _routes(commands: list[Record], descriptors: dict[str, dict[str, Any]]) -> list[Route]:
    """Every path that the terminal knows, in order of path; raises RKP001–RKP004. RK-PROF-031"""
    paths = _command_paths(commands)
    groups = _groups(commands, paths)
    aliases = _alias_paths(commands, paths, groups)
    routes = [Route(path, "command", record["identity"], record["summary"]) for path, record in paths.items()]
    routes += [
        Route(path, "alias", record["identity"], record["summary"]) for path, record in aliases.items()
    ]
    routes += [Route(path, "group", "", _group_summary(below, descriptors)) for path, below in groups.items()]
    return sorted(routes, key=lambda route: route.path)


def _command_paths(commands: list[Record]) -> dict[Path, Record]:
    paths: dict[Path, Record] = {}
    for record in commands:
        path = tuple(record["path"])
        _refuse_core_word(path, record)
        if path in paths:
            raise _collision("RKP001", path, f"the path of {record['identity']}", paths[path]["identity"])
        paths[path] = record
    return paths


def _groups(commands: list[Record], paths: dict[Path, Record]) -> dict[Path, list[Record]]:
    """The commands below each proper beginning of a path."""
    groups: dict[Path, list[Record]] = {}
    for record in commands:
        for path in _beginnings(tuple(record["path"])):
            if path in paths:
                raise _collision(
                    "RKP002", path, f"the group of {record['identity']}", paths[path]["identity"]
                )
            groups.setdefault(path, []).append(record)
    return groups


def _alias_paths(
    commands: list[Record], paths: dict[Path, Record], groups: dict[Path, list[Record]]
) -> dict[Path, Record]:
    """The aliases; none stands on another path, and none leads through a command or another alias. RK-PROF-032"""
    aliases: dict[Path, Record] = {}
    for record in commands:
        for alias in record["aliases"]:
            path = tuple(alias)
            _refuse_core_word(path, record)
            taken = _taken(path, paths, aliases) or (
                f"the group of {groups[path][0]['identity']}" if path in groups else ""
            )
            if taken:
                raise _collision("RKP003", path, f"an alias of {record['identity']}", taken)
            aliases[path] = record
    for path, record in aliases.items():
        for beginning in _beginnings(path):
            taken = _taken(beginning, paths, aliases)
            if taken:
                raise _collision("RKP003", path, f"an alias of {record['identity']}", f"{taken} on its way")
    return aliases


def _taken(path: Path, *holders: dict[Path, Record]) -> str:
    """The identity that `path` stands for already, or ""."""
    return next((holder[path]["identity"] for holder in holders if path in holder), "")


def _beginnings(path: Path) -> Iterator[Path]:
    return (path[:length] for length in range(1, len(path)))


def _refuse_core_word(path: Path, record: Record) -> None:
    """No package takes a word of the core, nor does its metadata reach administration. RK-PROF-033"""
    if path[0] in RESERVED_WORDS:
        message = f"{' '.join(path)!r} of {record['identity']} begins with {path[0]!r}, a word of the core"
        raise RukhError("RKP004", message, place=record["identity"], mend="give the package mount words")


def _collision(rule: str, path: Path, newcomer: str, holder: str) -> RukhError:
    message = f"{' '.join(path)!r} would be {newcomer}, and is taken by {holder}"
    return RukhError(rule, message, place=" ".join(path), mend="give one of the packages other mount words")


def _group_summary(below: list[Record], descriptors: dict[str, dict[str, Any]]) -> str:
    """The package's own summary where the whole group is of one package."""
    packages = {record["package"] for record in below}
    return str(descriptors[packages.pop()].get("summary", "")) if len(packages) == 1 else ""


# Exports.


def _exports(
    profile: dict[str, Any], commands: dict[str, Record], descriptors: dict[str, dict[str, Any]]
) -> tuple[dict[str, list[tuple[str, str]]], dict[str, str]]:
    tails: dict[str, str] = {}
    exports: dict[str, list[tuple[str, str]]] = {}
    _check_endpoints(profile)
    for name in sorted(profile["endpoints"]):
        exports[name] = []
        for identity in _exported(profile, name, commands, descriptors):
            tail = fitted_tail(commands[identity])
            digest = sha256_hex(tail.encode())
            tails[digest] = tail
            exports[name].append((identity, digest))
    return exports, tails


def _check_endpoints(profile: dict[str, Any]) -> None:
    """RK-PROF-010 RK-PROF-012"""
    owners: dict[str, str] = {}
    for name, endpoint in sorted(profile["endpoints"].items()):
        place = f"/endpoints/{name}"
        holder = owners.setdefault(endpoint["namespace"], name)
        if holder != name:
            message = f"{holder} and {name} have the namespace {endpoint['namespace']}"
            raise RukhError("RKP007", message, place=f"{place}/namespace", mend="give each endpoint its own")
        check_preset(profile, name)


def check_preset(profile: dict[str, Any], name: str) -> None:
    """Refuse (RKP009) an endpoint whose preset the profile does not have. RK-PROF-012"""
    preset = profile["endpoints"][name]["preset"]
    if preset not in profile["presets"]:
        message = f"{name} names the preset {preset}, which the profile does not have"
        mend = _meant(preset, profile["presets"], "add the preset")
        raise RukhError("RKP009", message, place=f"/endpoints/{name}/preset", mend=mend)


def selected_by(endpoint: dict[str, Any], identity: str) -> str:
    """Which member of an endpoint selects the command: `commands`, `packages`, or "" for none. RK-PROF-013"""
    if identity in endpoint["commands"]:
        return "commands"
    return "packages" if identity.partition("/")[0] in endpoint["packages"] else ""


def _exported(
    profile: dict[str, Any], name: str, commands: dict[str, Record], descriptors: dict[str, dict[str, Any]]
) -> list[str]:
    """The identities of one endpoint: the named ones, all of which must be possible, and what the named packages
    offer to machines. RK-PROF-013 RK-PROF-014"""
    endpoint, packages = profile["endpoints"][name], profile["packages"]
    for identity in endpoint["commands"]:
        if identity not in commands:
            raise _not_installed(name, "commands", identity, commands)
        record = commands[identity]
        refusal = export_refusal(record)
        if refusal is not None:
            raise _not_exported(name, refusal, descriptors[record["package"]]["format"])
    for package in endpoint["packages"]:
        if package not in packages:
            raise _not_installed(name, "packages", package, packages)
    offered = {
        identity
        for identity, record in commands.items()
        if selected_by(endpoint, identity) == "packages" and export_refusal(record) is None
    }
    return sorted(offered.union(endpoint["commands"]))


def _not_exported(name: str, refusal: RukhError, found: str) -> RukhError:
    """A command of format 1 is no oversight of its publisher: only another release can make it a tool. RK-DESC-036"""
    message, mend = f"{name} cannot export {refusal.message}", refusal.mend
    if refusal.rule == "RKP011" and found == FORMAT_1:
        message += f": {FORMAT_1} has no machine contract"
        mend = f"ask its publisher for a release of format {FORMAT}"
    return RukhError(refusal.rule, message, place=f"/endpoints/{name}/commands", mend=mend)


def _not_installed(name: str, member: str, word: str, known: dict[str, Any]) -> RukhError:
    mend = _meant(word, known, "install it first, or take it out of the endpoint")
    return RukhError("RKP010", f"{name} names {word}, which is not installed", place=f"/endpoints/{name}/{member}",
                     mend=mend)  # fmt: skip


def _meant(word: str, known: dict[str, Any], otherwise: str) -> str:
    near = nearest(word, known)
    return f"did you mean {near}?" if near else otherwise


def fitted_tail(record: Record) -> str:
    """The canonical tail of a tool; refused (RKP014) where a page with this one tool would be too large. RK-PROJ-007"""
    tail = canonical(tool_tail(record))
    size, room = len(tail.encode()), LIMIT_PAGE_BYTES - LIMIT_PAGE_ROOM_BYTES
    if size > room:
        message = f"the tool of {record['identity']} takes {size} bytes, one page has room for {room}"
        mend = "shorten descriptions, choices or the result schema"
        raise RukhError("RKP014", message, place=record["identity"], mend=mend)
    return tail
