"""What each production write asks of the disk, and who may open a home."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rukh.store.calls import Caller, Kept, Pinned, new_invocation
from rukh.store.database import Transaction
from rukh.store.home import open_home
from rukh.store.profiles import NO_REVISION, Staged
from rukh.store.publications import Published
from rukh.store.store import Store
from rukh.values.errors import RukhError
from tests.support.stores import contents, profile

CLI = Caller("cli", "user:local", "user:local")
# What `PRAGMA synchronous` says inside a transaction: FULL syncs the log with the commit, NORMAL does not.
SYNCED, UNSYNCED = 2, 1


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(open_home(str(tmp_path / "home"), create=True))
    yield opened
    opened.close()


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Each audit event as it is written, with what the commit of its transaction waits for."""
    found: list[tuple[str, int]] = []
    audit = Transaction.audit

    def noting(self: Transaction, event: str, *rest: Any) -> None:
        audit(self, event, *rest)
        found.append((event, self.run("PRAGMA synchronous")[0][0]))

    monkeypatch.setattr(Transaction, "audit", noting)
    return found


def publish(store: Store, operation: str, expected: str, staged: Staged | None = None) -> Published:
    return store.publications.publish(
        operation,
        expected,
        profile(operation),
        contents("g1", "notes add"),
        subject="user:local",
        surface="cli",
        staged=staged,
    )


@pytest.mark.requirement("RK-STORE-013")
def test_trust_sources_publications_and_tasks_are_on_the_disk_when_acknowledged(
    store: Store, written: list[tuple[str, int]]
) -> None:
    store.trust.add_key("acme.x", "k" * 64, "PEM", subject="user:local")
    store.trust.add_source("local", "/releases", subject="user:local")
    publish(store, "op_1", NO_REVISION, Staged("acme.x", "1.0.0", "k", "t", "a", "{}", "1.0.0"))
    assert publish(store, "op_2", NO_REVISION).state == "conflicted"
    store.tasks.issue("desk", {"endpoint": "desk"}, 5, None, subject="user:local")
    assert written == [
        ("trust.added", SYNCED),
        ("source.added", SYNCED),
        ("release.staged", SYNCED),
        ("profile.published", SYNCED),
        ("profile.conflicted", SYNCED),
        ("task.issued", SYNCED),
    ]


@pytest.mark.requirement("RK-CONS-010")
def test_a_decision_about_an_update_is_on_the_disk_before_anything_is_published(
    store: Store, written: list[tuple[str, int]]
) -> None:
    for given in (True, False):
        store.trust.record_consent(given, "acme.x@1.1.0", "{}", subject="user:local")
    assert written == [("consent.given", SYNCED), ("consent.refused", SYNCED)]
    rows = store.database.rows(
        "SELECT surface, subject, about, detail FROM audit WHERE event LIKE 'consent.%'"
    )
    assert rows == [("cli", "user:local", "acme.x@1.1.0", "{}")] * 2


@pytest.mark.requirement("RK-STORE-014")
def test_capture_rejection_and_outcome_do_not_wait_for_the_disk(
    store: Store, written: list[tuple[str, int]]
) -> None:
    pinned = Pinned(1, publish(store, "op_1", NO_REVISION).revision, "acme.x/notes_add", "t" * 64)
    ran, refused = new_invocation(), new_invocation()
    store.calls.capture(ran, CLI, pinned)
    store.calls.commit(ran, CLI, "succeeded", "{}", Kept(), release=True)
    store.calls.reject(refused, CLI, pinned, "{}")
    publish(store, "op_2", pinned.revision)
    assert written == [
        ("profile.published", SYNCED),
        ("invocation.captured", UNSYNCED),
        ("invocation.finished", UNSYNCED),
        ("invocation.rejected", UNSYNCED),
        ("profile.published", SYNCED),
    ]


@pytest.mark.requirement("RK-STORE-002")
@pytest.mark.parametrize("create", [False, True])
def test_a_home_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, create: bool
) -> None:
    made = open_home(str(tmp_path / "home"), create=True)
    Store(made).close()
    path = made.path
    owner = os.stat(path).st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(RukhError) as refused:
        open_home(path, create=create)
    assert (refused.value.rule, refused.value.place) == ("RKS002", path)
    assert refused.value.message == "the home is not a directory of this user"
    monkeypatch.setattr(os, "geteuid", lambda: owner)
    assert open_home(path, create=create).path == path
