"""The candidate: what would be published, and everything that refuses it, naming both sides."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rukh.contract.candidate import Candidate, build_candidate, check_namespaces_kept
from rukh.contract.descriptor import check
from rukh.contract.policy import decide, passthrough_granted
from rukh.contract.profile import DEFAULT_PROFILE
from rukh.contract.projection import tool_tail
from rukh.values import registry
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.ids import sha256_hex
from rukh.values.rules import RULES as REGISTERED
from tests.contract.documents import command, descriptor, encoded, parameter

PRESET = {
    "deadline": 1000,
    "budget": {"calls": 1, "effects": 0, "bytes": 0, "cost": "0"},
    "approval": "none",
    "enforcement": "host-trusted/1",
}
NOTES, TOOLS = "acme.notes", "acme.tools"


def endpoint(**members: Any) -> dict[str, Any]:
    return {
        "transport": "stdio",
        "namespace": "acme.desktop",
        "preset": "assistant",
        "actor": "agent:desktop",
        "commands": [],
        "packages": [],
        **members,
    }


def profile(packages: list[dict[str, Any]], mounts: Any = None, **members: Any) -> dict[str, Any]:
    active = {
        one["package"]: {
            "version": one["version"],
            "tree": "0" * 64,
            "descriptor": "0" * 64,
            "signer": "key",
            "mount": (mounts or {}).get(one["package"], []),
        }
        for one in packages
    }
    return {**DEFAULT_PROFILE, "presets": {"assistant": PRESET}, "packages": active, **members}


def build(*packages: dict[str, Any], mounts: Any = None, **members: Any) -> Candidate:
    for one in packages:
        assert check(encoded(one)).diagnostics == []
    descriptors = {one["package"]: one for one in packages}
    return build_candidate(profile(list(packages), mounts, **members), descriptors)


def refusal(*packages: dict[str, Any], mounts: Any = None, **members: Any) -> RukhError:
    with pytest.raises(RukhError) as caught:
        build(*packages, mounts=mounts, **members)
    assert caught.value.mend
    return caught.value


def notes(*commands: dict[str, Any]) -> dict[str, Any]:
    return descriptor(NOTES, commands=list(commands) or [command()])


def tools(*commands: dict[str, Any]) -> dict[str, Any]:
    return descriptor(TOOLS, commands=list(commands) or [command("fmt", ["tools", "fmt"])])


# What is built


@pytest.mark.requirement("RK-PROF-016", "RK-PROF-024")
def test_a_fresh_home_is_a_candidate_that_exports_nothing() -> None:
    empty = build_candidate(DEFAULT_PROFILE, {})
    assert (empty.commands, empty.routes, empty.exports, empty.tails) == ([], [], {}, {})


@pytest.mark.requirement("RK-PROF-016")
def test_eligible_commands_without_an_endpoint_are_no_tools() -> None:
    candidate = build(notes(), tools())
    assert len(candidate.commands) == 2
    assert (candidate.exports, candidate.tails) == ({}, {})


@pytest.mark.requirement("RK-PROF-031", "RK-DESC-031")
def test_routes_are_commands_aliases_and_groups_in_order() -> None:
    candidate = build(notes(command(aliases=[["n", "a"]]), command("list")), mounts={NOTES: ["my"]})
    assert [(" ".join(route.path), route.kind, route.identity) for route in candidate.routes] == [
        ("my", "group", ""),
        ("my n a", "alias", "acme.notes/add"),
        ("my notes", "group", ""),
        ("my notes add", "command", "acme.notes/add"),
        ("my notes list", "command", "acme.notes/list"),
    ]


def test_a_group_of_one_package_has_its_summary_and_a_shared_one_has_none() -> None:
    shared = tools(command("fmt", ["notes", "fmt"]), command("x", ["tools", "x"]))
    summaries = {" ".join(route.path): route.summary for route in build(notes(), shared).routes}
    assert summaries["tools"] == "The package acme.tools"
    assert summaries["notes"] == ""
    assert summaries["notes add"] == "The command add"


@pytest.mark.requirement("RK-PROF-035")
def test_nothing_depends_on_the_order_of_installation() -> None:
    first, second = build(notes(), tools()), build(tools(), notes())
    assert first == second
    assert [record["identity"] for record in first.commands] == ["acme.notes/add", "acme.tools/fmt"]


@pytest.mark.requirement("RK-PROF-035")
def test_the_first_fault_does_not_depend_on_the_order_of_installation_either() -> None:
    wrong = {NOTES: ["My"], TOOLS: ["My"]}
    places = {refusal(*packages, mounts=wrong).place for packages in ((notes(), tools()), (tools(), notes()))}
    assert places == {"/packages/acme.notes/mount"}


@pytest.mark.requirement("RK-PROF-035")
def test_the_generation_is_of_commands_and_routes() -> None:
    candidate = build(notes())
    routes = [[list(route.path), route.kind, route.identity, route.summary] for route in candidate.routes]
    content = {"commands": candidate.commands, "routes": routes}
    assert candidate.generation == sha256_hex(canonical(content).encode())
    assert build(notes(), endpoints={"desktop": endpoint()}).generation == candidate.generation
    assert build(notes(), mounts={NOTES: ["my"]}).generation != candidate.generation
    assert build({**notes(), "summary": "x"}).generation != candidate.generation


@pytest.mark.requirement("RK-PROF-013", "RK-PROF-014")
def test_exports_are_named_commands_and_what_named_packages_offer() -> None:
    hidden = command("hidden", machine={"eligible": False})
    asking = command("ask", machine={**command()["machine"], "interaction": "required"})
    packages = (notes(command(), command("list"), hidden, asking), tools())
    endpoints = {
        "both": endpoint(commands=["acme.notes/list"], packages=[TOOLS]),
        "whole": endpoint(namespace="acme.whole", commands=["acme.notes/add"], packages=[NOTES]),
    }
    exports = build(*packages, endpoints=endpoints).exports
    assert {name: [identity for identity, _ in rows] for name, rows in exports.items()} == {
        "both": ["acme.notes/list", "acme.tools/fmt"],
        "whole": ["acme.notes/add", "acme.notes/list"],
    }


@pytest.mark.requirement("RK-PROF-014", "RK-PROJ-001")
def test_groups_and_aliases_make_no_tools() -> None:
    aliased = notes(command(aliases=[["n", "a"], ["note"]]))
    rows = build(aliased, endpoints={"desktop": endpoint(packages=[NOTES])}).exports["desktop"]
    assert [identity for identity, _ in rows] == ["acme.notes/add"]


@pytest.mark.requirement("RK-PROJ-002")
def test_a_tail_is_kept_once_by_its_digest() -> None:
    endpoints = {"a": endpoint(packages=[NOTES]), "b": endpoint(namespace="acme.b", packages=[NOTES])}
    candidate = build(notes(), endpoints=endpoints)
    assert candidate.exports["a"] == candidate.exports["b"]
    [(digest, tail)] = candidate.tails.items()
    assert digest == sha256_hex(tail.encode()) == candidate.exports["a"][0][1]
    assert json.loads(tail) == tool_tail(candidate.commands[0])


# Routes that collide. name: (packages, mount words, rule, what the refusal names)
COLLISIONS: dict[str, tuple[list[dict[str, Any]], Any, str, list[str]]] = {
    "two commands on one path": (
        [notes(), tools(command("plus", ["notes", "add"]))], {}, "RKP001",
        ["notes add", "acme.notes/add", "acme.tools/plus"],
    ),
    "one path by mount words": (
        [notes(command(path=["add"])), tools(command("plus", ["notes", "add"]))], {NOTES: ["notes"]}, "RKP001",
        ["notes add", "acme.notes/add", "acme.tools/plus"],
    ),
    "a command on a group": (
        [notes(), tools(command("all", ["notes"]))], {}, "RKP002",
        ["'notes'", "acme.notes/add", "acme.tools/all"],
    ),
    "a command on a group deep below": (
        [notes(command(path=["a", "b", "c"])), tools(command("all", ["a", "b"]))], {}, "RKP002",
        ["'a b'", "acme.notes/add", "acme.tools/all"],
    ),
    "an alias on a command": (
        [notes(), tools(command("plus", ["plus"], aliases=[["notes", "add"]]))], {}, "RKP003",
        ["notes add", "acme.notes/add", "acme.tools/plus"],
    ),
    "an alias on an alias": (
        [notes(command(aliases=[["n"]])), tools(command("plus", ["plus"], aliases=[["n"]]))], {}, "RKP003",
        ["'n'", "acme.notes/add", "acme.tools/plus"],
    ),
    "an alias on a group": (
        [notes(), tools(command("plus", ["plus"], aliases=[["notes"]]))], {}, "RKP003",
        ["'notes'", "acme.notes/add", "acme.tools/plus"],
    ),
    "an alias through a command": (
        [notes(), tools(command("plus", ["plus"], aliases=[["notes", "add", "x"]]))], {}, "RKP003",
        ["notes add x", "acme.notes/add", "acme.tools/plus"],
    ),
    "an alias through an alias": (
        [notes(command(aliases=[["n"]])), tools(command("plus", ["plus"], aliases=[["n", "x"]]))], {}, "RKP003",
        ["n x", "acme.notes/add", "acme.tools/plus"],
    ),
    "a command on the beginning of an alias": (
        [notes(command(aliases=[["n", "a"]])), tools(command("n", ["n"]))], {}, "RKP003",
        ["n a", "acme.notes/add", "acme.tools/n"],
    ),
    "a path of the core": ([notes(command(path=["install", "x"]))], {}, "RKP004", ["install x", "acme.notes/add"]),
    "an alias of the core": ([notes(command(aliases=[["run"]]))], {}, "RKP004", ["run", "acme.notes/add"]),
    "mount words of the core": ([notes()], {NOTES: ["mcp"]}, "RKP004", ["mcp notes add", "acme.notes/add"]),
}  # fmt: skip


@pytest.mark.requirement("RK-PROF-030", "RK-PROF-031", "RK-PROF-032", "RK-PROF-033")
@pytest.mark.parametrize("name", COLLISIONS)
def test_a_collision_is_refused_and_both_sides_are_named(name: str) -> None:
    """The accepted sibling is the same set with other mount words for the last package."""
    packages, mounts, rule, words = COLLISIONS[name]
    apart = {**mounts, packages[-1]["package"]: ["apart"]}
    assert build(*packages, mounts=apart).commands
    error = refusal(*packages, mounts=mounts)
    assert error.rule == rule
    assert [word for word in words if word not in error.message] == []


@pytest.mark.requirement("RK-PROF-033")
@pytest.mark.parametrize("word", registry.RESERVED_WORDS)
def test_no_word_of_the_core_begins_a_path(word: str) -> None:
    assert build(notes(command(path=["x", word]))).commands
    assert refusal(notes(command(path=[word, "x"]))).rule == "RKP004"


# Endpoints. name: (members of the endpoint, rule, what the refusal names); the sibling is the plain endpoint
ENDPOINTS: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "an unknown preset": ({"preset": "asistant"}, "RKP009", ["desktop", "asistant"]),
    "an unknown command": ({"commands": ["acme.notes/ad"]}, "RKP010", ["desktop", "acme.notes/ad"]),
    "an unknown package": ({"packages": ["acme.note"]}, "RKP010", ["desktop", "acme.note"]),
    "a command that is not eligible": ({"commands": ["acme.notes/hidden"]}, "RKP011", ["desktop", "acme.notes/hidden"]),
    "a command that asks a person": ({"commands": ["acme.notes/ask"]}, "RKP012", ["desktop", "acme.notes/ask"]),
    "a passthrough program": ({"commands": ["acme.notes/git"]}, "RKP013", ["desktop", "acme.notes/git"]),
}  # fmt: skip


@pytest.mark.requirement("RK-PROF-012", "RK-PROF-013", "RK-PROJ-001")
@pytest.mark.parametrize("name", ENDPOINTS)
def test_an_endpoint_that_cannot_be_is_refused_with_the_reason(name: str) -> None:
    members, rule, words = ENDPOINTS[name]
    package = notes(
        command(),
        command("hidden", machine={"eligible": False}),
        command("ask", machine={**command()["machine"], "interaction": "required"}),
        {
            "id": "git",
            "path": ["notes", "git"],
            "summary": "x",
            "execute": {"mapping": {"kind": "passthrough", "program": ["bin/git"]}},
        },
    )
    sibling = endpoint(commands=["acme.notes/add"], packages=[NOTES])
    assert len(build(package, endpoints={"desktop": sibling}).exports["desktop"]) == 1
    error = refusal(package, endpoints={"desktop": {**sibling, **members}})
    assert error.rule == rule
    assert error.place.startswith("/endpoints/desktop/")
    assert [word for word in words if word not in error.message] == []


@pytest.mark.requirement("RK-PROF-013")
def test_an_unknown_command_names_the_nearest() -> None:
    error = refusal(notes(), endpoints={"desktop": endpoint(commands=["acme.notes/ad"])})
    assert error.mend == "did you mean acme.notes/add?"


@pytest.mark.requirement("RK-PROF-010")
def test_two_endpoints_with_one_namespace_are_refused() -> None:
    apart = {"a": endpoint(), "b": endpoint(namespace="acme.other")}
    assert set(build(notes(), endpoints=apart).exports) == {"a", "b"}
    error = refusal(notes(), endpoints={"a": endpoint(), "b": endpoint()})
    assert error.rule == "RKP007"
    assert [word for word in ("a", "b", "acme.desktop") if word not in error.message] == []


@pytest.mark.requirement("RK-PROF-011")
def test_the_namespace_of_a_published_endpoint_stays() -> None:
    published = {"desktop": endpoint()["namespace"]}
    other = profile([notes()], endpoints={"desktop": endpoint(preset="x"), "new": endpoint(namespace="a.b")})
    check_namespaces_kept(published, other)
    check_namespaces_kept(published, profile([notes()]))
    with pytest.raises(RukhError) as caught:
        check_namespaces_kept(published, profile([], endpoints={"desktop": endpoint(namespace="acme.other")}))
    assert (caught.value.rule, caught.value.place) == ("RKP008", "/endpoints/desktop/namespace")
    assert "acme.desktop" in caught.value.message
    assert "acme.other" in caught.value.message


@pytest.mark.requirement("RK-PROF-036")
def test_a_change_of_policy_alone_is_judged_like_any_other() -> None:
    """The packages are the same; one preset goes, and the endpoint that names it refuses the whole candidate."""
    endpoints = {"desktop": endpoint(packages=[NOTES])}
    assert build(notes(), endpoints=endpoints).exports["desktop"]
    assert refusal(notes(), endpoints=endpoints, presets={"other": PRESET}).rule == "RKP009"


# Packages


def rebuilt(active: dict[str, Any], document: dict[str, Any] | None) -> Candidate:
    whole = profile([notes()])
    whole["packages"][NOTES].update(active)
    return build_candidate(whole, {NOTES: document} if document else {})


@pytest.mark.requirement("RK-PROF-034")
def test_an_active_package_is_the_one_of_its_descriptor() -> None:
    assert rebuilt({}, notes()).commands
    for active, document in (
        ({"version": "2.0.0"}, notes()),
        ({}, {**notes(), "package": "acme.other"}),
        ({}, None),
    ):
        with pytest.raises(RukhError) as caught:
            rebuilt(active, document)
        assert (caught.value.rule, caught.value.place) == ("RKP015", "/packages/acme.notes")


@pytest.mark.requirement("RK-PROF-034")
@pytest.mark.parametrize("mount", [["My"], [""], ["a b"], ["-a"], ["a", "b", "c", "d", "e"]])
def test_mount_words_have_a_form(mount: list[str]) -> None:
    assert rebuilt({"mount": ["a", "b", "c", "d"]}, notes()).commands
    with pytest.raises(RukhError) as caught:
        rebuilt({"mount": mount}, notes())
    assert caught.value.rule == "RKP006"


@pytest.mark.requirement("RK-PROF-034")
def test_an_identity_stands_for_one_command() -> None:
    """The checker refuses such a descriptor already (RKD014); the candidate does not rely on it."""
    assert rebuilt({}, notes(command(), command("list"))).commands
    with pytest.raises(RukhError) as caught:
        rebuilt({}, notes(command(), command("add", ["notes", "list"])))
    assert (caught.value.rule, caught.value.place) == ("RKP005", "acme.notes/add")


# One page


def choosing(characters: int) -> dict[str, Any]:
    """A command with choices of that many characters in all; each value is 100 long and takes 103 bytes."""
    values = [f"{number:0100d}" for number in range(characters // 100)]
    declared = []
    for n in range(0, len(values), registry.LIMIT_CHOICE_VALUES):
        kind = {"kind": "choice", "values": values[n : n + registry.LIMIT_CHOICE_VALUES]}
        declared.append(parameter("choice", id=f"p{n}", names=[f"--p{n}"], type=kind))
    return notes(command(parameters=declared))


@pytest.mark.requirement("RK-PROJ-007")
def test_the_metadata_of_a_tool_fits_one_page() -> None:
    whole = {"desktop": endpoint(packages=[NOTES])}
    room = registry.LIMIT_PAGE_BYTES - registry.LIMIT_PAGE_ROOM_BYTES
    fitting = room // 103 * 100 - 2_000
    [tail] = build(choosing(fitting), endpoints=whole).tails.values()
    assert room - 4_000 < len(tail.encode()) <= room
    error = refusal(choosing(fitting + 4_000), endpoints=whole)
    assert (error.rule, error.place, error.fault) == ("RKP014", "acme.notes/add", "publisher")
    assert build(choosing(fitting + 4_000)).exports == {}


def test_every_rule_of_the_family_is_refused_somewhere() -> None:
    tables = {row[2] for row in COLLISIONS.values()} | {row[1] for row in ENDPOINTS.values()}
    alone = {"RKP005", "RKP006", "RKP007", "RKP008", "RKP014", "RKP015"}
    assert tables | alone == {rule for rule in REGISTERED if rule.startswith("RKP")}


# Opaque programs, and wrappers of them


def opaque(**members: Any) -> dict[str, Any]:
    program = {"mapping": {"kind": "passthrough", "program": ["bin/git"]}}
    return descriptor(
        TOOLS,
        runtime={"kind": "native"},
        commands=[{"id": "git", "path": ["tools", "git"], "summary": "Git", "execute": program, **members}],
    )


def wrapper(**execute: Any) -> dict[str, Any]:
    """A managed command around a program, of another package."""
    managed = {"mapping": {"kind": "managed", "entry": ["bin/log"]}, "result": {"kind": "text"}}
    one = command("log", ["log"], execute={**managed, **execute}, parameters=[parameter("string")])
    return descriptor("acme.wrap", runtime={"kind": "native"}, commands=[one])


NAMES: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "another id": ({"id": "safe_log"}, "acme.tools/safe_log", []),
    "another path": ({"path": ["log", "show"]}, "acme.tools/git", []),
    "an alias": ({"aliases": [["log"]]}, "acme.tools/git", []),
    "mount words": ({}, "acme.tools/git", ["safe"]),
    "a harmless title": ({"title": "Read only", "description": "Reads the log."}, "acme.tools/git", []),
}


@pytest.mark.requirement("RK-DESC-038", "RK-PROF-014")
@pytest.mark.parametrize("name", NAMES)
def test_an_opaque_program_is_no_tool_whatever_it_is_called(name: str) -> None:
    members, identity, mount = NAMES[name]
    package = opaque(**members)
    desk = {"desktop": endpoint(commands=[identity])}
    assert refusal(package, mounts={TOOLS: mount}, endpoints=desk).rule == "RKP013"
    whole = {"desktop": endpoint(packages=[TOOLS])}
    assert build(package, mounts={TOOLS: mount}, endpoints=whole).exports == {"desktop": []}


@pytest.mark.requirement("RK-DESC-038", "RK-DESC-026", "RK-DESC-027")
def test_a_wrapper_becomes_a_tool_by_its_own_contract_alone() -> None:
    made = build(wrapper(), endpoints={"desktop": endpoint(commands=["acme.wrap/log"])})
    ((identity, digest),) = made.exports["desktop"]
    tail = json.loads(made.tails[digest])
    assert (identity, list(tail["inputSchema"]["properties"])) == ("acme.wrap/log", ["value"])
    assert tail["inputSchema"]["additionalProperties"] is False
    bare = wrapper()
    del bare["commands"][0]["execute"]["result"]
    assert [found.rule for found in check(encoded(bare)).diagnostics] == ["RKD026"]
    typed = opaque(parameters=[parameter("string")])
    assert [found.rule for found in check(encoded(typed)).diagnostics] == ["RKD037"]


@pytest.mark.requirement("RK-DESC-038", "RK-PROF-023")
def test_permission_of_a_wrapper_is_none_of_the_program_and_the_other_way_round() -> None:
    allowing = {
        "action": "run", "actors": ["user:local"], "commands": ["acme.wrap/log"], "decision": "allow",
    }  # fmt: skip
    owner = profile([opaque()], rules=[allowing])
    assert decide(owner["rules"], "run", "user:local", "acme.wrap/log") == "allowed"
    assert decide(owner["rules"], "run", "user:local", "acme.tools/git") == "denied"
    granting = profile([opaque()], passthrough={"acme.tools/git": {"arguments": "unrestricted"}})
    assert passthrough_granted(granting, "acme.tools/git") is True
    assert passthrough_granted(granting, "acme.wrap/log") is False
    assert passthrough_granted(granting, "acme.wrap/git") is False
