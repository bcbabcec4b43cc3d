"""One publisher, one stranger, and a bench with a home, a ledger and a catalog directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rukh.sources.install import Installer
from rukh.store.home import Home, open_home
from rukh.values.errors import RukhError
from tests.support.ledgers import CountingSource, MemoryLedger
from tests.support.releases import NOW, Publisher


@pytest.fixture(scope="session")
def publisher(tmp_path_factory: pytest.TempPathFactory) -> Publisher:
    """The publisher whose key the owner trusts."""
    return Publisher.new(tmp_path_factory.mktemp("publisher"))


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Publisher:
    """A publisher whose key nobody trusts."""
    return Publisher.new(tmp_path_factory.mktemp("stranger"))


@dataclass
class Bench:
    """An owner's home with one source, `local`, whose reads are noted in `reads`."""

    home: Home
    catalog: Path
    ledger: MemoryLedger
    reads: list[str] = field(default_factory=list)
    time: list[int] = field(default_factory=lambda: [NOW])
    at_read: Callable[[str], None] = lambda what: None

    def installer(self, now: Callable[[], int] | None = None) -> Installer:
        return Installer(self.ledger, self.home, now or (lambda: self.time[0]), open_source=self._source)

    def _source(self, name: str, location: str) -> CountingSource:
        return CountingSource(name, location, self.reads, self.at_read)

    def files(self) -> list[str]:
        """Everything below the home but the locks, as paths."""
        root = Path(self.home.path)
        paths = (str(path.relative_to(root)) for path in root.rglob("*"))
        return sorted(path for path in paths if not path.startswith("locks"))

    def traces(self) -> tuple[object, ...]:
        """What a refusal must not change: files, revision, profile, releases, highest versions."""
        ledger = self.ledger
        return self.files(), ledger.revision, ledger.profile, list(ledger.releases), dict(ledger.seen)


def refused(bench: Bench, call: Callable[[], object]) -> str:
    """The rule that refuses `call`, once it is shown that nothing was left behind."""
    before = bench.traces()
    with pytest.raises(RukhError) as error:
        call()
    assert before == bench.traces()
    return error.value.rule


@pytest.fixture
def bench(tmp_path: Path, publisher: Publisher) -> Bench:
    """A fresh home that trusts the publisher for `acme.notes`."""
    catalog = tmp_path / "catalog"
    catalog.mkdir()
    ledger = MemoryLedger(named_sources=[("local", str(catalog))])
    ledger.trust("acme.notes", publisher.key_id, publisher.pem)
    return Bench(open_home(str(tmp_path / "home"), create=True), catalog, ledger)
