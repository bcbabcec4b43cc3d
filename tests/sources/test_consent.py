"""Renewed consent on the way of an update: who is asked, what a yes is bound to, what a no leaves behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rukh.contract.difference import Difference
from rukh.machines.steps import ADMIT, ASK
from rukh.sources.consent import Ask, Consent, Unconsented
from rukh.sources.install import Change, Installer
from rukh.values.errors import RukhError
from tests.sources.conftest import Bench, refused
from tests.support.ledgers import failing
from tests.support.releases import DAY, NOW, Publisher, descriptor

NOTES = "acme.notes"


def widened(version: str = "1.1.0", name: str = "wipe") -> list[dict[str, Any]]:
    """The commands of the test release, and one more."""
    (add,) = descriptor(NOTES, version)["commands"]
    return [add, {**add, "id": name, "path": ["notes", name]}]


class Owner:
    """Answers every question in one way, and keeps the questions; `meanwhile` happens while the question stands."""

    def __init__(self, answer: bool | None, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.answer = answer
        self.meanwhile = meanwhile
        self.questions: list[Difference] = []

    def __call__(self, difference: Difference) -> bool | None:
        self.questions.append(difference)
        self.meanwhile()
        return self.answer


@pytest.fixture
def notes(bench: Bench, publisher: Publisher) -> Bench:
    """`acme.notes` 1.0.0 is installed, and 1.1.0 with one command more is offered."""
    publisher.release(bench.catalog)
    bench.installer().install(NOTES, mount=["my"])
    publisher.release(bench.catalog, version="1.1.0", commands=widened())
    return bench


def asked_by(bench: Bench, ask: Ask, steps: list[str] | None = None) -> Installer:
    def observe(step: str, done: int, total: int) -> None:
        if steps is not None:
            steps.append(step)

    return Installer(bench.ledger, bench.home, lambda: bench.time[0], ask=ask, observe=observe)


def update(bench: Bench, ask: Ask, text: str = NOTES, **yes: Any) -> Change:
    return asked_by(bench, ask).update(text, consent=Consent(**yes))


def digest_of(bench: Bench) -> str:
    """The digest that an update names which nobody can be asked about."""
    with pytest.raises(Unconsented) as error:
        update(bench, Owner(None))
    return error.value.difference.digest


@pytest.mark.requirement("RK-CONS-001", "RK-CONS-010")
def test_an_update_that_changes_texts_alone_asks_nobody(bench: Bench, publisher: Publisher) -> None:
    publisher.release(bench.catalog)
    bench.installer().install(NOTES)
    publisher.release(bench.catalog, version="1.1.0", summary="Other words", title="Other")
    owner = Owner(None)

    assert "updated" == update(bench, owner).action
    assert ([], []) == (owner.questions, bench.ledger.consents)


@pytest.mark.requirement("RK-CONS-008", "RK-CONS-010", "RK-CONS-012")
def test_an_update_that_nobody_can_be_asked_about_is_refused_with_what_to_name(notes: Bench) -> None:
    before = notes.traces()

    with pytest.raises(Unconsented) as error:
        update(notes, Owner(None))

    found = error.value.difference
    assert ("RKT070", 76, "acme.notes@1.1.0") == (error.value.rule, error.value.exit_code, error.value.place)
    assert error.value.mend.endswith(f"update acme.notes@1.1.0 --accept {found.digest}")
    assert found.document() == error.value.document()["difference"]
    assert before == notes.traces()
    detail = {"digest": found.digest, "from": "1.0.0", "by": "nobody"}
    assert [(False, "acme.notes@1.1.0", detail, "user:local")] == notes.ledger.consents


def test_an_installer_without_anybody_to_ask_is_one_that_nobody_can_be_asked_by(notes: Bench) -> None:
    assert "RKT070" == refused(notes, lambda: notes.installer().update(NOTES))


@pytest.mark.requirement("RK-CONS-001", "RK-CONS-010")
def test_a_yes_publishes_and_is_on_record_before_that(notes: Bench) -> None:
    owner = Owner(True)
    recorded: list[int] = []
    notes.ledger.before_publish = lambda: recorded.append(len(notes.ledger.consents))

    change = update(notes, owner)

    (question,) = owner.questions
    assert ("updated", "1.1.0", "r3") == (change.action, change.version, change.revision)
    assert [1] == recorded
    detail = {"digest": question.digest, "from": "1.0.0", "by": "answer"}
    assert [(True, "acme.notes@1.1.0", detail, "user:local")] == notes.ledger.consents
    assert (change.tree, change.signer) == (question.tree, question.signer)


@pytest.mark.requirement("RK-CONS-001")
def test_the_question_names_what_the_update_changes(notes: Bench) -> None:
    owner = Owner(True)
    update(notes, owner)
    assert [
        ("authority", "+", "acme.notes/wipe", "feature"),
        ("authority", "~", "acme.notes/wipe", "offered to agents"),
        ("commands", "+", "acme.notes/wipe", "command"),
    ] == [(one.kind, one.sign, one.about, one.what) for one in owner.questions[0].changes]
    assert ["my notes wipe"] == owner.questions[0].changes[2].after


@pytest.mark.requirement("RK-CONS-007", "RK-CONS-010", "RK-CONS-012")
def test_a_no_leaves_everything_as_it_was_and_is_on_record(notes: Bench) -> None:
    assert "RKT072" == refused(notes, lambda: update(notes, Owner(False)))
    assert [(False, "answer")] == [(given, detail["by"]) for given, _, detail, _ in notes.ledger.consents]
    assert "updated" == update(notes, Owner(True)).action


@pytest.mark.requirement("RK-CONS-005", "RK-CONS-010")
def test_the_digest_of_the_difference_is_consent_and_nobody_is_asked(notes: Bench) -> None:
    digest = digest_of(notes)
    owner = Owner(False)

    assert "updated" == update(notes, owner, accept=digest).action
    assert [] == owner.questions
    assert (True, "digest", digest) == (
        notes.ledger.consents[-1][0],
        notes.ledger.consents[-1][2]["by"],
        notes.ledger.consents[-1][2]["digest"],
    )
    assert "unchanged" == update(notes, owner, accept=digest).action


@pytest.mark.requirement("RK-CONS-004", "RK-CONS-005", "RK-CONS-010", "RK-CONS-012")
@pytest.mark.parametrize(
    "wrong", [lambda right: "0" * 64, lambda right: right[:63], lambda right: right[:12]],
    ids=["another digest", "one digit less", "a beginning"],
)  # fmt: skip
def test_any_other_digest_is_refused_with_the_difference_that_there_is(
    notes: Bench, wrong: Callable[[str], str]
) -> None:
    digest = digest_of(notes)
    before = notes.traces()
    owner = Owner(True)

    with pytest.raises(Unconsented) as error:
        update(notes, owner, accept=wrong(digest))

    assert ("RKT071", digest, []) == (error.value.rule, error.value.difference.digest, owner.questions)
    assert error.value.mend.endswith(f"--accept {digest}")
    assert before == notes.traces()
    assert (False, "digest") == (notes.ledger.consents[-1][0], notes.ledger.consents[-1][2]["by"])


@pytest.mark.requirement("RK-CONS-005")
def test_a_digest_is_no_consent_to_an_update_that_needs_none(bench: Bench, publisher: Publisher) -> None:
    """Whoever names one meant another update."""
    publisher.release(bench.catalog)
    bench.installer().install(NOTES)
    publisher.release(bench.catalog, version="1.1.0")

    with pytest.raises(Unconsented) as error:
        update(bench, Owner(True), accept="0" * 64)
    assert ("RKT071", "leave --accept out") == (error.value.rule, error.value.mend)
    assert "updated" == update(bench, Owner(None)).action


@pytest.mark.requirement("RK-CONS-005")
def test_a_digest_counts_for_the_bytes_that_it_was_given_for(notes: Bench, publisher: Publisher) -> None:
    """The same version and the same declared change, and other code."""
    digest = digest_of(notes)
    for path in notes.catalog.glob("acme.notes-1.1.0*"):
        path.unlink()
    publisher.release(notes.catalog, version="1.1.0", commands=widened(), files={"more.py": "MORE = 1\n"})

    assert "RKT071" == refused(notes, lambda: update(notes, Owner(True), accept=digest))
    assert digest_of(notes) != digest


@pytest.mark.requirement("RK-CONS-005")
def test_a_digest_counts_from_the_version_that_it_was_given_at(notes: Bench, publisher: Publisher) -> None:
    digest = digest_of(notes)
    publisher.release(notes.catalog, version="1.0.1")
    update(notes, Owner(None), "acme.notes@1.0.1")

    assert "RKT071" == refused(notes, lambda: update(notes, Owner(True), "acme.notes@1.1.0", accept=digest))


@pytest.mark.requirement("RK-CONS-005")
def test_a_publication_that_changes_nothing_of_the_difference_leaves_the_digest_as_it_is(
    notes: Bench,
) -> None:
    digest = digest_of(notes)
    notes.ledger.number += 1

    assert "updated" == update(notes, Owner(None), accept=digest).action


@pytest.mark.requirement("RK-CONS-011", "RK-CONS-012")
def test_a_yes_does_not_publish_over_what_was_published_while_the_question_stood(notes: Bench) -> None:
    def faster() -> None:
        notes.ledger.number += 1

    files = notes.files()
    with pytest.raises(RukhError) as error:
        update(notes, Owner(True, faster))

    assert ("RKO002", files) == (error.value.rule, notes.files())
    assert "1.0.0" == notes.ledger.packages[NOTES]["version"]


@pytest.mark.requirement("RK-CONS-011", "RK-TRUST-043")
@pytest.mark.parametrize("named", [False, True], ids=["asked", "named"])
def test_a_key_that_was_revoked_while_the_question_stood_is_not_trusted_any_more(
    notes: Bench, named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept = digest_of(notes) if named else ""
    record = notes.ledger.record_consent

    def revoking(given: bool, about: str, detail: str, *, subject: str) -> None:
        record(given, about, detail, subject=subject)
        notes.ledger.keys[NOTES] = []

    monkeypatch.setattr(notes.ledger, "record_consent", revoking)
    assert "RKT008" == refused(notes, lambda: update(notes, Owner(True), accept=accept))


@pytest.mark.requirement("RK-CONS-011", "RK-TRUST-030")
def test_a_signature_that_expires_while_the_question_stands_has_expired(
    bench: Bench, publisher: Publisher
) -> None:
    publisher.release(bench.catalog)
    bench.installer().install(NOTES)
    publisher.release(bench.catalog, version="1.1.0", commands=widened(), expires=NOW + DAY)

    def a_day_later() -> None:
        bench.time[0] = NOW + DAY

    assert "RKT014" == refused(bench, lambda: update(bench, Owner(True, a_day_later)))
    bench.time[0] = NOW
    assert "updated" == update(bench, Owner(True)).action


@pytest.mark.requirement("RK-CONS-012")
def test_an_interrupt_at_the_question_leaves_everything_and_no_decision(notes: Bench) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    before = notes.traces()
    with pytest.raises(KeyboardInterrupt):
        update(notes, Owner(True, interrupt))
    assert (before, []) == (notes.traces(), notes.ledger.consents)


@pytest.mark.requirement("RK-CONS-010")
def test_a_yes_that_cannot_be_put_on_record_publishes_nothing(
    notes: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unwritable(given: bool, about: str, detail: str, *, subject: str) -> None:
        failing("RKS007")()

    monkeypatch.setattr(notes.ledger, "record_consent", unwritable)
    assert "RKS007" == refused(notes, lambda: update(notes, Owner(True)))


def test_whoever_looks_on_is_told_of_the_question_and_of_its_record(notes: Bench) -> None:
    steps: list[str] = []
    asked_by(notes, Owner(True), steps).update(NOTES)
    place = steps.index(ASK)
    assert [ASK, ADMIT] == steps[place : place + 2]
    steps.clear()
    notes.installer().remove(NOTES)
    asked_by(notes, Owner(True), steps).install(NOTES)
    assert ASK not in steps


@pytest.fixture
def successor(notes: Bench, tmp_path: Path) -> Publisher:
    """Another publisher of `acme.notes`, who offers 1.2.0 with what 1.0.0 has."""
    found = Publisher.new(tmp_path / "successor")
    found.release(notes.catalog, version="1.2.0")
    return found


@pytest.mark.requirement("RK-TRUST-041", "RK-CONS-001")
def test_another_signer_is_asked_about_once_its_key_is_trusted(notes: Bench, successor: Publisher) -> None:
    owner = Owner(True)
    assert "RKT009" == refused(notes, lambda: update(notes, owner))
    assert [] == owner.questions
    first = notes.ledger.packages[NOTES]["signer"]
    notes.ledger.trust(NOTES, successor.key_id, successor.pem)

    assert "RKT072" == refused(notes, lambda: update(notes, Owner(False)))
    assert successor.key_id == update(notes, owner).signer
    (change,) = owner.questions[0].changes
    assert ("signer", first, successor.key_id) == (change.kind, change.before, change.after)
    assert successor.key_id == notes.ledger.packages[NOTES]["signer"]


@pytest.mark.requirement("RK-CONS-013", "RK-TRUST-040")
def test_another_signer_does_not_go_below_what_is_installed_without_a_yes_to_that(
    notes: Bench, successor: Publisher
) -> None:
    """It has shown nothing here, so that its own highest version holds nothing back."""
    notes.ledger.trust(NOTES, successor.key_id, successor.pem)
    successor.release(notes.catalog, version="0.9.0")

    assert "RKT058" == refused(notes, lambda: update(notes, Owner(True), "acme.notes@0.9.0"))
    assert "0.9.0" == update(notes, Owner(True), "acme.notes@0.9.0", downgrade=True).version
    assert "0.9.0" == notes.ledger.seen[NOTES, successor.key_id]


@pytest.mark.requirement("RK-CONS-015")
def test_installing_and_removing_ask_nobody_another_signer_behind_a_removal_included(
    notes: Bench, successor: Publisher
) -> None:
    notes.ledger.trust(NOTES, successor.key_id, successor.pem)
    owner = Owner(False)
    installer = asked_by(notes, owner)

    assert "removed" == installer.remove(NOTES).action
    assert successor.key_id == installer.install(NOTES).signer
    assert ([], []) == (owner.questions, notes.ledger.consents)


@pytest.mark.requirement("RK-CONS-001")
def test_what_is_compared_is_what_is_published_and_not_what_lies_on_the_disk(notes: Bench) -> None:
    """A tree that was damaged is what an update mends; the difference does not depend on it."""
    digest = digest_of(notes)
    path = Path(notes.home.at("releases", notes.ledger.packages[NOTES]["tree"], "rukh-extension.json"))
    path.chmod(0o600)
    path.write_text(json.dumps(descriptor(NOTES, "1.0.0", commands=widened())))

    assert digest == digest_of(notes)
    assert "updated" == update(notes, Owner(None), accept=digest).action
