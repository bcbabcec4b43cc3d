"""A fresh home's profile, and changes of the owner's part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rukh.contract.candidate import Candidate, build_candidate
from rukh.contract.policy import decide
from rukh.contract.profile import read_owner_profile
from rukh.host.ledger import StoreLedger, apply_owner_part
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(open_home(str(tmp_path / "home"), create=True))
    yield opened
    opened.close()


@pytest.mark.requirement("RK-PUB-007")
def test_a_fresh_home_lets_the_local_user_run_and_install_and_nobody_else(store: Store) -> None:
    rules = StoreLedger(store).active().profile["rules"]
    decisions = {
        (action, actor): decide(rules, action, actor, target)
        for action, target in (("run", "acme.notes/add"), ("install", "acme.notes"))
        for actor in ("user:local", "agent:desk", "user:other")
    }
    assert decisions == {
        ("run", "user:local"): "allowed",
        ("run", "agent:desk"): "denied",
        ("run", "user:other"): "denied",
        ("install", "user:local"): "allowed",
        ("install", "agent:desk"): "denied",
        ("install", "user:other"): "denied",
    }


ENDPOINT = """
format = "rukh.profile/1"
[presets.p]
deadline = "1s"
budget = { calls = 1 }
[endpoints.desk]
transport = "stdio"
namespace = "%s"
preset = "p"
actor = "agent:desk"
"""
LIMITED = "[limits]\nconcurrency = 3\n"


@pytest.mark.requirement("RK-PROF-011")
def test_an_owners_file_that_moves_an_endpoint_to_another_namespace_changes_nothing(store: Store) -> None:
    ledger = StoreLedger(store)
    kept = apply_owner_part(ledger, store.home, read_owner_profile(ENDPOINT % "acme.desk"))
    with pytest.raises(RukhError) as refused:
        apply_owner_part(ledger, store.home, read_owner_profile(ENDPOINT % "acme.other"))
    assert refused.value.rule == "RKP008"
    assert ledger.active().revision == kept.revision
    other = apply_owner_part(ledger, store.home, read_owner_profile(ENDPOINT % "acme.desk" + LIMITED))
    assert other.revision != kept.revision


@pytest.mark.requirement("RK-ADM-019")
def test_what_is_active_already_is_not_published_again(store: Store) -> None:
    ledger = StoreLedger(store)
    kept = apply_owner_part(ledger, store.home, read_owner_profile(ENDPOINT % "acme.desk"))
    same = apply_owner_part(ledger, store.home, read_owner_profile(ENDPOINT % "acme.desk"))
    assert (same.state, same.revision) == ("committed", kept.revision)
    assert len(store.history.revisions()) == 2  # that of a fresh home, and this one


@pytest.mark.requirement("RK-ADM-019")
def test_the_same_profile_that_compiles_to_something_else_is_published(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = StoreLedger(store)
    kept = apply_owner_part(ledger, store.home, read_owner_profile(ENDPOINT % "acme.desk"))
    built = build_candidate

    def otherwise(*given: Any) -> Candidate:
        return replace(built(*given), generation="another")

    monkeypatch.setattr("rukh.host.ledger.build_candidate", otherwise)
    other = apply_owner_part(ledger, store.home, read_owner_profile(ENDPOINT % "acme.desk"))
    assert other.revision != kept.revision
