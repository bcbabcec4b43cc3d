"""What the ledger hands on to the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rukh.contract.candidate import build_candidate
from rukh.contract.profile import read_owner_profile
from rukh.host.ledger import StoreLedger, apply_owner_part
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError
from tests.support import echo
from tests.support.homes import OWNER_FILE, InstalledHome


@pytest.fixture
def home(tmp_path: Path) -> InstalledHome:
    made = InstalledHome(tmp_path)
    made.install(echo.FILES, commands=echo.commands())
    return made


@pytest.fixture
def store(home: InstalledHome) -> Iterator[Store]:
    opened = Store(open_home(home.path, create=False))
    yield opened
    opened.close()


def owner(mark: int) -> dict[str, Any]:
    return read_owner_profile(OWNER_FILE.format(package="acme.echo", calls=mark, allowed="*", more=""))


@pytest.mark.requirement("RK-PUB-003", "RK-ADM-006")
def test_an_owners_file_conflicts_with_what_was_published_while_it_was_compiled(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rukh.host import ledger as module

    ledger, compile_it = StoreLedger(store), build_candidate
    winner: list[str] = []

    def slow(profile: dict[str, Any], descriptors: Any) -> Any:
        monkeypatch.setattr(module, "build_candidate", compile_it)
        winner.append(apply_owner_part(ledger, store.home, owner(2)).revision)
        return compile_it(profile, descriptors)

    monkeypatch.setattr(module, "build_candidate", slow)
    with pytest.raises(RukhError) as refused:
        apply_owner_part(ledger, store.home, owner(1))
    assert (refused.value.rule, refused.value.place) == ("RKO002", winner[0])
    assert ledger.active().revision == winner[0]


@pytest.mark.requirement("RK-PUB-001", "RK-ADM-006")
def test_an_installed_release_is_recorded_and_packages_never_come_from_the_owner(store: Store) -> None:
    ledger = StoreLedger(store)
    packages = ledger.active().profile["packages"]
    tree = packages["acme.echo"]["tree"]
    assert store.database.rows("SELECT tree, package, version FROM release") == [(tree, "acme.echo", "1.0.0")]
    signer = store.database.rows("SELECT signer FROM release")[0][0]
    assert ledger.highest_seen("acme.echo", signer) == "1.0.0"
    apply_owner_part(ledger, store.home, {**owner(1), "packages": {}})
    assert ledger.active().profile["packages"] == packages
