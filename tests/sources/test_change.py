"""Updates, downgrades, signers, removal, and what publication does to files: conflicts, interruptions, reuse."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rukh.sources import staging
from rukh.sources.consent import Consent
from rukh.values.errors import RukhError
from tests.sources.conftest import Bench, refused
from tests.support.ledgers import failing
from tests.support.releases import Publisher

DOWN = Consent(downgrade=True)


def installed(bench: Bench, publisher: Publisher, *versions: str) -> None:
    """Install the first of `versions` and update to the others."""
    for version in versions:
        publisher.release(bench.catalog, version=version)
        if bench.ledger.packages:
            bench.installer().update(f"acme.notes@{version}", consent=DOWN)
        else:
            bench.installer().install("acme.notes", mount=["my"])


@pytest.mark.requirement("RK-TRUST-026", "RK-TRUST-046")
@pytest.mark.parametrize(
    ("offered", "request_text", "consent", "expected"),
    [
        (["1.1.0", "1.2.0"], "acme.notes", Consent(), ("updated", "1.2.0")),
        (["1.1.0", "1.2.0"], "acme.notes@1.1.0", Consent(), ("updated", "1.1.0")),
        (["1.1.0", "1.2.0-rc.1"], "acme.notes", Consent(), ("updated", "1.1.0")),
        (["1.1.0", "1.2.0-rc.1"], "acme.notes", Consent(prereleases=True), ("updated", "1.2.0-rc.1")),
        (["1.1.0", "1.2.0-rc.1"], "acme.notes@1.2.0-rc.1", Consent(), ("updated", "1.2.0-rc.1")),
        (["0.9.0"], "acme.notes", Consent(), ("unchanged", "1.0.0")),
        (["0.9.0"], "acme.notes", DOWN, ("unchanged", "1.0.0")),
        (["1.1.0"], "acme.notes@1.0.0", Consent(), ("unchanged", "1.0.0")),
        (["0.9.0"], "acme.notes@0.9.0", DOWN, ("updated", "0.9.0")),
    ],
)
def test_an_update_goes_to_the_highest_version_above_or_to_the_named_one(
    bench: Bench,
    publisher: Publisher,
    offered: list[str],
    request_text: str,
    consent: Consent,
    expected: tuple[str, str],
) -> None:
    installed(bench, publisher, "1.0.0")
    for version in offered:
        publisher.release(bench.catalog, version=version)

    change = bench.installer().update(request_text, consent=consent)

    assert expected == (change.action, change.version)
    assert (expected[1], ["my"]) == (
        bench.ledger.packages["acme.notes"]["version"],
        bench.ledger.packages["acme.notes"]["mount"],
    )


@pytest.mark.requirement("RK-TRUST-046")
@pytest.mark.parametrize("consent", [Consent(), DOWN], ids=["no yes", "with a yes"])
def test_an_update_without_a_version_never_goes_down(
    bench: Bench, publisher: Publisher, consent: Consent
) -> None:
    """The source took the installed release back and offers an older one."""
    installed(bench, publisher, "1.0.0")
    (bench.catalog / "acme.notes-1.0.0.tar.gz").unlink()
    publisher.release(bench.catalog, version="0.9.0")

    change = bench.installer().update("acme.notes", consent=consent)

    assert ("unchanged", "1.0.0", "r2") == (change.action, change.version, change.revision)


@pytest.mark.requirement("RK-TRUST-046")
@pytest.mark.parametrize(
    ("rule", "call"),
    [
        ("RKT055", lambda bench: bench.installer().install("acme.notes")),
        ("RKT055", lambda bench: bench.installer().install("acme.notes@1.1.0")),
        ("RKT056", lambda bench: bench.installer().update("acme.other")),
        ("RKT056", lambda bench: bench.installer().remove("acme.other")),
        ("RKT051", lambda bench: bench.installer().install("acme.other")),
        ("RKT052", lambda bench: bench.installer().update("acme.notes@7.0.0")),
        ("RKT054", lambda bench: bench.installer().install("notes")),
        ("RKT054", lambda bench: bench.installer().install("acme.notes@")),
        ("RKT054", lambda bench: bench.installer().install("acme.notes@1.0")),
        ("RKT054", lambda bench: bench.installer().update("acme.notes@1.1.0+build")),
    ],
)
def test_a_request_that_does_not_fit_what_is_installed_or_offered_is_refused(
    bench: Bench, publisher: Publisher, rule: str, call: Callable[[Bench], object]
) -> None:
    installed(bench, publisher, "1.0.0")

    assert rule == refused(bench, lambda: call(bench))


@pytest.mark.requirement("RK-TRUST-052")
@pytest.mark.parametrize(
    ("call", "mend"),
    [
        (lambda bench: bench.installer().update("acme.note"), "did you mean acme.notes?"),
        (lambda bench: bench.installer().remove("acme.note"), "did you mean acme.notes?"),
        (lambda bench: bench.installer().install("acme.note"), "did you mean acme.notes?"),
        (lambda bench: bench.installer().update("acme.other"), "use install"),
        (lambda bench: bench.installer().remove("acme.other"), "see what is: list"),
    ],
)
def test_the_package_that_was_meant_is_named(
    bench: Bench, publisher: Publisher, call: Callable[[Bench], object], mend: str
) -> None:
    installed(bench, publisher, "1.0.0")
    with pytest.raises(RukhError) as error:
        call(bench)
    assert mend == error.value.mend


@pytest.mark.requirement("RK-TRUST-040")
def test_going_below_the_highest_version_seen_needs_the_owners_yes(
    bench: Bench, publisher: Publisher
) -> None:
    installed(bench, publisher, "1.0.0", "1.1.0")
    installer = bench.installer()

    assert "RKT058" == refused(bench, lambda: installer.update("acme.notes@1.0.0"))
    assert "1.0.0" == installer.update("acme.notes@1.0.0", consent=DOWN).version
    assert "1.1.0" == installer.update("acme.notes").version


@pytest.mark.requirement("RK-TRUST-040")
def test_the_highest_version_seen_outlives_removal(bench: Bench, publisher: Publisher) -> None:
    """A source that takes a release back cannot bring an older one in as if nothing had been."""
    installed(bench, publisher, "1.0.0", "1.1.0")
    bench.installer().remove("acme.notes")
    (bench.catalog / "acme.notes-1.1.0.tar.gz").unlink()
    publisher.release(bench.catalog, version="0.9.0")

    assert "RKT058" == refused(bench, lambda: bench.installer().install("acme.notes"))
    assert "1.0.0" == bench.installer().install("acme.notes", consent=DOWN).version
    assert "1.1.0" == bench.ledger.seen["acme.notes", publisher.key_id]


@pytest.mark.requirement("RK-TRUST-049")
def test_a_removed_package_leaves_the_profile_and_keeps_its_files(bench: Bench, publisher: Publisher) -> None:
    installed(bench, publisher, "1.0.0")
    files = bench.files()

    change = bench.installer().remove("acme.notes")

    assert ("removed", "1.0.0", "r3") == (change.action, change.version, change.revision)
    assert ({}, files) == (bench.ledger.packages, bench.files())


@pytest.mark.requirement("RK-TRUST-032", "RK-TRUST-034")
def test_an_update_leaves_the_files_of_the_release_before_it(bench: Bench, publisher: Publisher) -> None:
    """What a running call has open stays, byte for byte, where it is."""
    installed(bench, publisher, "1.0.0")
    root = Path(bench.home.at("releases", bench.ledger.packages["acme.notes"]["tree"]))
    before = {path: (path.stat().st_ino, path.read_bytes()) for path in root.iterdir()}

    publisher.release(bench.catalog, version="1.1.0")
    change = bench.installer().update("acme.notes")

    assert ("1.0.0", "1.1.0") == (change.previous, change.version)
    assert before == {path: (path.stat().st_ino, path.read_bytes()) for path in root.iterdir()}
    assert 2 == len(os.listdir(bench.home.at("releases")))


@pytest.mark.requirement("RK-TRUST-044")
def test_of_two_changes_the_second_conflicts_and_takes_its_files_back(
    bench: Bench, publisher: Publisher
) -> None:
    publisher.release(bench.catalog)

    def win() -> None:
        bench.ledger.before_publish = lambda: None
        bench.ledger.number += 1

    bench.ledger.before_publish = win
    before = bench.files()

    with pytest.raises(RukhError) as error:
        bench.installer().install("acme.notes")

    assert ("RKO002", "r2") == (error.value.rule, error.value.place)
    assert (before, {}, []) == (bench.files(), bench.ledger.packages, bench.ledger.releases)
    assert "installed" == bench.installer().install("acme.notes").action


@pytest.mark.requirement("RK-TRUST-044")
def test_a_conflict_spares_a_tree_that_was_there_before(bench: Bench, publisher: Publisher) -> None:
    installed(bench, publisher, "1.0.0")
    bench.installer().remove("acme.notes")
    bench.ledger.before_publish = lambda: setattr(bench.ledger, "number", 9)
    before = bench.files()

    with pytest.raises(RukhError) as error:
        bench.installer().install("acme.notes")

    assert ("RKO002", before) == (error.value.rule, bench.files())


@pytest.mark.requirement("RK-TRUST-042", "RK-TRUST-045")
def test_a_publication_that_fails_before_its_commit_takes_its_files_back(
    bench: Bench, publisher: Publisher
) -> None:
    publisher.release(bench.catalog)
    bench.ledger.before_publish = failing("RKS007")

    assert "RKS007" == refused(bench, lambda: bench.installer().install("acme.notes"))


@pytest.mark.requirement("RK-TRUST-042", "RK-TRUST-044")
def test_an_installation_that_does_not_get_its_turn_is_busy_and_leaves_nothing(
    bench: Bench, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher.release(bench.catalog)
    monkeypatch.setattr(staging, "LIMIT_TURNSTILE_MILLISECONDS", 20)

    with staging.releases_turn(bench.home):
        assert "RKS004" == refused(bench, lambda: bench.installer().install("acme.notes"))
    assert "installed" == bench.installer().install("acme.notes").action


def interrupt() -> None:
    """What a person's Ctrl-C does wherever it strikes."""
    raise KeyboardInterrupt


@pytest.mark.requirement("RK-TRUST-045")
@pytest.mark.parametrize(
    "strike", [failing("RKS007"), interrupt], ids=["a lost acknowledgement", "an interrupt"]
)
def test_a_publication_that_was_committed_is_found_so_and_keeps_its_files(
    bench: Bench, publisher: Publisher, strike: Callable[[], None]
) -> None:
    publisher.release(bench.catalog)
    bench.ledger.behind_publish = strike

    change = bench.installer().install("acme.notes")

    assert ("installed", "r2") == (change.action, change.revision)
    assert [change.tree] == os.listdir(bench.home.at("releases"))


@pytest.mark.requirement("RK-TRUST-042", "RK-TRUST-045")
def test_an_interrupt_before_the_commit_leaves_nothing(bench: Bench, publisher: Publisher) -> None:
    publisher.release(bench.catalog)
    bench.ledger.before_publish = interrupt
    before = bench.files()

    with pytest.raises(KeyboardInterrupt):
        bench.installer().install("acme.notes")

    assert (before, {}) == (bench.files(), bench.ledger.packages)


@pytest.mark.requirement("RK-TRUST-045")
def test_where_the_record_cannot_be_read_the_files_stay(
    bench: Bench, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The active revision may need them: what is unknown is not a failure."""
    publisher.release(bench.catalog)
    bench.ledger.behind_publish = failing("RKS007")

    def unreadable(operation: str) -> None:
        raise RukhError("RKS006", "told to fail")

    monkeypatch.setattr(bench.ledger, "operation", unreadable)
    with pytest.raises(RukhError) as error:
        bench.installer().install("acme.notes")

    assert "RKS006" == error.value.rule
    assert [bench.ledger.packages["acme.notes"]["tree"]] == os.listdir(bench.home.at("releases"))
    assert [] == os.listdir(bench.home.at("staging"))


@pytest.mark.requirement("RK-TRUST-035")
def test_a_tree_that_is_there_is_used_again_only_while_its_digest_holds(
    bench: Bench, publisher: Publisher
) -> None:
    installed(bench, publisher, "1.0.0")
    bench.installer().remove("acme.notes")
    change = bench.installer().install("acme.notes")
    bench.installer().remove("acme.notes")
    root = Path(bench.home.at("releases", change.tree))
    (root / "acme_notes.py").chmod(0o600)
    (root / "acme_notes.py").write_text("swapped\n")

    assert "RKT063" == refused(bench, lambda: bench.installer().install("acme.notes"))


@pytest.mark.requirement("RK-TRUST-035")
def test_a_change_of_another_package_sees_that_an_installed_descriptor_was_swapped(
    bench: Bench, publisher: Publisher
) -> None:
    installed(bench, publisher, "1.0.0")
    bench.ledger.trust("acme.other", publisher.key_id, publisher.pem)
    publisher.release(bench.catalog, "acme.other")
    path = Path(bench.home.at("releases", bench.ledger.packages["acme.notes"]["tree"], "rukh-extension.json"))
    good = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(good.replace(b"Add one", b"Add two"))

    assert "RKT063" == refused(bench, lambda: bench.installer().install("acme.other"))
    path.write_bytes(good)
    assert "installed" == bench.installer().install("acme.other").action
