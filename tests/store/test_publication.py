"""Publication: compare and flip, one outcome an operation, nothing of a loser is ever resolved."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from rukh.store.home import open_home
from rukh.store.profiles import NO_REVISION, Contents
from rukh.store.store import Store
from rukh.values.errors import RukhError
from tests.support.stores import contents, profile


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(open_home(str(tmp_path / "home"), create=True))
    yield opened
    opened.close()


def publish(
    store: Store, operation: str, expected: str, document: dict[str, Any], parts: Contents
) -> tuple[str, str]:
    done = store.publications.publish(
        operation, expected, document, parts, subject="user:local", surface="cli"
    )
    return done.state, done.revision


@pytest.mark.requirement("RK-PUB-001", "RK-PUB-002")
def test_a_publication_makes_its_revision_the_one_active_one(store: Store) -> None:
    state, revision = publish(store, "op_1", NO_REVISION, profile("one"), contents("g1", "notes add"))
    active = store.profiles.active()
    assert active is not None
    assert (state, active.revision, active.sequence) == ("committed", revision, 1)
    assert active.profile == profile("one")
    assert revision == "r1-" + sha256(canonical(profile("one"))).hexdigest()[:16]


@pytest.mark.requirement("RK-PUB-002")
def test_the_same_profile_published_again_gets_a_new_sequence(store: Store) -> None:
    _, first = publish(store, "op_1", NO_REVISION, profile("one"), contents("g1", "notes add"))
    _, second = publish(store, "op_2", first, profile("one"), contents("g1", "notes add"))
    assert (first[:3], second[:3], first[3:]) == ("r1-", "r2-", second[3:])


@pytest.mark.requirement("RK-PUB-003", "RK-PUB-006")
def test_of_two_changes_from_one_revision_the_second_conflicts_and_leaves_nothing(store: Store) -> None:
    _, base = publish(store, "op_1", NO_REVISION, profile("base"), contents("g1", "notes add"))
    won = publish(store, "op_2", base, profile("winner"), contents("g2", "notes win"))
    lost = publish(store, "op_3", base, profile("loser"), contents("g3", "notes lose"))
    assert won[0] == "committed"
    assert lost == ("conflicted", won[1])
    active = store.profiles.active()
    assert active is not None
    assert active.profile == profile("winner")
    assert store.profiles.resolve(active.generation, ["notes", "lose"]) is None
    assert store.profiles.resolve(active.generation, ["notes", "win"]) is not None


@pytest.mark.requirement("RK-PUB-004")
def test_the_same_operation_is_answered_from_the_record(store: Store) -> None:
    first = publish(store, "op_1", NO_REVISION, profile("one"), contents("g1", "notes add"))
    again = publish(store, "op_1", NO_REVISION, profile("one"), contents("g1", "notes add"))
    assert again == first
    recorded = store.publications.operation("op_1")
    assert recorded is not None
    assert (recorded.state, recorded.revision) == first
    assert store.database.rows("SELECT count(*) FROM revision") == [(1,)]


@pytest.mark.requirement("RK-PUB-004")
def test_the_same_operation_with_other_content_is_refused(store: Store) -> None:
    publish(store, "op_1", NO_REVISION, profile("one"), contents("g1", "notes add"))
    with pytest.raises(RukhError) as refused:
        publish(store, "op_1", NO_REVISION, profile("two"), contents("g1", "notes add"))
    assert refused.value.rule == "RKO001"


def test_the_longest_route_wins(store: Store) -> None:
    publish(store, "op_1", NO_REVISION, profile("one"), contents("g1", "notes", "notes add"))
    route = store.profiles.resolve("g1", ["notes", "add", "Milk"])
    assert route is not None
    assert (route.kind, route.identity, route.used) == ("command", "acme.x/notes_add", 2)


def test_routes_below_a_prefix_do_not_include_words_that_only_begin_alike(store: Store) -> None:
    publish(store, "op_1", NO_REVISION, profile("one"), contents("g1", "notes add", "notesx add"))
    assert [path for path, *_ in store.profiles.routes("g1", ["notes"])] == [("notes", "add")]


def canonical(document: dict[str, Any]) -> bytes:
    from rukh.values.canonical import canonical_bytes

    return canonical_bytes(document)
