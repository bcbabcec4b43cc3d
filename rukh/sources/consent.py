"""Renewed consent: before an update publishes what changes signer, authority, effects, commands or schema, it asks.

    no change                      nobody is asked, unless a digest was named that can mean no such update
    a digest was named beforehand  it is the difference's, or the update is refused
    else                           somebody is asked; yes, no, or nobody is there to be asked

What was decided is on record before anything is published. A refusal carries the difference, so that whoever shows it
can show that too. RK-CONS-001 … RK-CONS-012
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rukh.contract.difference import Difference
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError

# Asks the owner: True or False as the answer, None where there is nobody to be asked.
Ask = Callable[[Difference], bool | None]
# Records a decision, durable when it returns: whether consent was given, what about, and details as canonical JSON.
Record = Callable[[bool, str, str], None]

BY_ANSWER, BY_DIGEST, BY_ROLLBACK, BY_NOBODY = "answer", "digest", "rollback", "nobody"


@dataclass(frozen=True, slots=True)
class Consent:
    """What the owner says yes to beforehand; `accept` is the digest of a difference."""

    prereleases: bool = False
    downgrade: bool = False
    accept: str = ""


NOTHING = Consent()


class Unconsented(RukhError):
    """A refusal for want of consent: `difference` is what would have been published. RK-CONS-008"""

    def __init__(self, rule: str, message: str, difference: Difference, mend: str) -> None:
        super().__init__(rule, message, place=_subject(difference), mend=mend)
        self.difference = difference

    def document(self) -> dict[str, Any]:
        """The refusal with the whole difference as its member `difference`."""
        return {**super().document(), "difference": self.difference.document()}


def nobody(_difference: Difference) -> None:
    """There is nobody to be asked."""


def obtain(difference: Difference, named: str, ask: Ask, record: Record) -> None:
    """Return where the owner consents to exactly this difference, or need not; `named` is a digest given beforehand.

    Raises Unconsented RKT070 (nobody to ask), RKT071 (`named` is another digest), RKT072 (the answer was no).
    """
    if not difference.changes and not named:
        return
    if named:
        _judge(difference, named == difference.digest, BY_DIGEST, record)
        return
    answer = ask(difference)
    _judge(difference, bool(answer), BY_NOBODY if answer is None else BY_ANSWER, record)


def note(difference: Difference, given: bool, how: str, record: Record) -> None:
    """Put a decision on record. RK-CONS-010"""
    detail = {"digest": difference.digest, "from": difference.before, "by": how}
    record(given, _subject(difference), canonical(detail))


def _judge(difference: Difference, given: bool, how: str, record: Record) -> None:
    note(difference, given, how, record)
    if not given:
        raise _REFUSALS[how](difference)


def _unasked(difference: Difference) -> Unconsented:
    count = len(difference.changes)
    message = (
        f"{count} change{'s need' if count > 1 else ' needs'} your consent, and nobody can be asked here"
    )
    return Unconsented("RKT070", message, difference, f"look at it, then: {_retry(difference)}")


def _other(difference: Difference) -> Unconsented:
    if not difference.changes:
        message, mend = "the digest names a change, and this update needs no consent", "leave --accept out"
    else:
        message = "the digest is not the one of this change"
        mend = f"look at it, then: {_retry(difference)}"
    return Unconsented("RKT071", message, difference, mend)


def _declined(difference: Difference) -> Unconsented:
    return Unconsented(
        "RKT072",
        f"{difference.before} stays, and nothing was published",
        difference,
        f"if you change your mind: {_retry(difference)}",
    )


_REFUSALS: dict[str, Callable[[Difference], Unconsented]] = {
    BY_NOBODY: _unasked,
    BY_DIGEST: _other,
    BY_ANSWER: _declined,
}


def _subject(difference: Difference) -> str:
    return f"{difference.package}@{difference.after}"


def _retry(difference: Difference) -> str:
    """The words that consent to it; the version is in them, so that they mean this release and no later one."""
    return f"update {_subject(difference)} --accept {difference.digest}"
