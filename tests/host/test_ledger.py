"""A fresh home's profile, and changes of the owner's part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

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


@pytest.mark.requirement("RK-PROF-011")
def test_an_owners_file_that_moves_an_endpoint_to_another_namespace_changes_nothing(store: Store) -> None:
    ledger = StoreLedger(store)
    kept = apply_owner_part(ledger, store.home, read_owner_profile(ENDPOINT % "acme.desk"))
    with pytest.raises(RukhError) as refused:
        apply_owner_part(ledger, store.home, read_owner_profile(ENDPOINT % "acme.other"))
    assert refused.value.rule == "RKP008"
    assert ledger.active().revision == kept.revision
    again = apply_owner_part(ledger, store.home, read_owner_profile(ENDPOINT % "acme.desk"))
    assert again.revision != kept.revision
