"""rukh/values/unicode.py: which text is a string."""

from __future__ import annotations

import pytest

from rukh.values.errors import RukhError
from rukh.values.unicode import check_text

REFUSED = {
    "NUL": ("a\x00", "a\x01", "RKV005"),
    "a lone high surrogate": ("a\ud83d", "a\U0001f600", "RKV004"),
    "a lone low surrogate": ("\ude00a", "\U0001f600a", "RKV004"),
    "surrogates that Python keeps apart": ("\ud83d\ude00", "\U0001f600", "RKV004"),
}


@pytest.mark.requirement("RK-VAL-013", "RK-VAL-014", "RK-VAL-017")
@pytest.mark.parametrize("name", REFUSED)
def test_text_that_is_no_string_is_refused_where_it_stands(name: str) -> None:
    text, sibling, rule = REFUSED[name]
    assert check_text(sibling, "/a") == sibling
    with pytest.raises(RukhError) as refused:
        check_text(text, "/a")
    assert (refused.value.rule, refused.value.place) == (rule, "/a")
    assert refused.value.mend


@pytest.mark.requirement("RK-VAL-017")
@pytest.mark.parametrize(
    "text", ["", "e\u0301", "\u00e9", "\u2028\u2029\u0085", "\ufeff", "\U0010ffff", "\ufffe"]
)
def test_every_sequence_of_scalar_values_stays_as_it_is(text: str) -> None:
    assert check_text(text) == text
