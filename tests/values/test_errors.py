"""rukh/values/errors.py: what a refusal says, and what its rule says for it."""

from __future__ import annotations

import pytest

from rukh.values.errors import RukhError
from rukh.values.rules import RULES


@pytest.mark.requirement("RK-VAL-001")
def test_a_refusal_says_rule_message_place_and_mend() -> None:
    refusal = RukhError("RKV003", "the member is named twice", place="/a", mend="keep one", line=2, column=5)
    assert refusal.document() == {
        "code": "RKV003",
        "message": "the member is named twice",
        "place": "/a",
        "mend": "keep one",
        "line": 2,
        "column": 5,
    }


@pytest.mark.requirement("RK-VAL-001")
def test_a_refusal_leaves_out_what_it_has_nothing_to_say_of() -> None:
    assert RukhError("RKV009", "too large").document() == {"code": "RKV009", "message": "too large"}


def test_the_text_of_a_refusal_begins_with_its_rule() -> None:
    assert str(RukhError("RKV009", "too large")) == "RKV009 too large"


@pytest.mark.requirement("RK-VAL-002")
@pytest.mark.parametrize(
    ("rule", "fault", "exit_code"),
    [
        ("RKV003", "caller", 64),
        ("RKI001", "caller", 64),
        ("RKR001", "publisher", 64),
        ("RKR023", "publisher", 70),
    ],
)
def test_fault_and_exit_code_come_from_the_rule(rule: str, fault: str, exit_code: int) -> None:
    refusal = RukhError(rule, "refused")
    assert (refusal.fault, refusal.exit_code, refusal.title) == (fault, exit_code, RULES[rule][3])
