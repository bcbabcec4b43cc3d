"""rukh/values/numbers.py: the published vectors, and exact arithmetic as the oracle over drawn tokens."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.numbers import compare_decimals, is_number_token, normalize_decimal, parse_number
from tests.support import vectors

LIMIT = 2**53 - 1


@pytest.mark.requirement("RK-VAL-020", "RK-VAL-021", "RK-VAL-022", "RK-VAL-023")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("numbers", "tokens", refused=False))
def test_a_token_has_a_kind_and_a_value(case: vectors.Case) -> None:
    value = parse_number(case["token"])
    kind = "integer" if type(value) is int else "number"
    assert (kind, canonical(value)) == (case["kind"], case["canonical"])


@pytest.mark.requirement("RK-VAL-001", "RK-VAL-021", "RK-VAL-022", "RK-VAL-023")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("numbers", "tokens", refused=True))
def test_a_token_is_refused(case: vectors.Case) -> None:
    with pytest.raises(RukhError) as refused:
        parse_number(case["token"])
    assert refused.value.rule == case["rule"]
    assert refused.value.mend


@pytest.mark.parametrize("case", vectors.cases("numbers", "tokens"))
def test_a_number_token_is_one_by_its_grammar_alone(case: vectors.Case) -> None:
    assert is_number_token(case["token"]) is (case.get("rule") != "RKV012")


@pytest.mark.requirement("RK-VAL-024")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("numbers", "decimals", refused=False))
def test_a_decimal_has_one_form(case: vectors.Case) -> None:
    assert normalize_decimal(case["decimal"]) == case["normal"]


@pytest.mark.requirement("RK-VAL-024")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("numbers", "decimals", refused=True))
def test_a_decimal_is_refused(case: vectors.Case) -> None:
    with pytest.raises(RukhError) as refused:
        normalize_decimal(case["decimal"])
    assert refused.value.rule == case["rule"]
    assert refused.value.mend


@pytest.mark.requirement("RK-VAL-024")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("case", vectors.cases("numbers", "comparisons"))
def test_decimals_compare_exactly(case: vectors.Case) -> None:
    left, right = normalize_decimal(case["left"]), normalize_decimal(case["right"])
    assert (compare_decimals(left, right), compare_decimals(right, left)) == (case["order"], -case["order"])


@pytest.mark.parametrize("group", ["tokens", "decimals"])
def test_each_refused_vector_stands_beside_an_accepted_one(group: str) -> None:
    assert vectors.without_sibling("numbers", group) == []
    assert vectors.far_from_sibling("numbers", group) == []


def test_the_vectors_show_every_rule_of_numbers() -> None:
    shown = vectors.rules("numbers", "tokens") | vectors.rules("numbers", "decimals")
    assert shown == {"RKV006", "RKV007", "RKV008", "RKV012", "RKV013"}


def exact(token: str) -> Fraction:
    return Fraction(Decimal(token))


def expected(token: str) -> int | float | str:
    """What the page says of a token, by exact arithmetic: a value, or the rule that refuses it."""
    value = exact(token)
    if value.denominator == 1 and abs(value) <= LIMIT:
        return int(value)
    nearest = float(token)
    if token.lstrip("-").isdigit():
        return nearest if rfc8785.dumps(nearest) == token.encode() else "RKV006"
    if nearest in (float("inf"), float("-inf")):
        return "RKV007"
    return nearest if nearest else "RKV008"


DIGITS = st.text("0123456789", min_size=1, max_size=20)
WHOLE = st.just("0") | st.integers(1, 10**20).map(str) | st.integers(-3, 3).map(lambda n: str(LIMIT + n))
EXPONENT = st.builds(
    "{}{}{}{}".format,
    st.sampled_from("eE"),
    st.sampled_from(["", "+", "-"]),
    st.sampled_from(["", "00"]),
    st.integers(0, 330),
)
TOKENS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-"]),
    WHOLE,
    st.just("") | DIGITS.map(".{}".format),
    st.just("") | EXPONENT,
)


@pytest.mark.requirement("RK-VAL-020", "RK-VAL-021", "RK-VAL-022", "RK-VAL-023")
@given(TOKENS)
@example("1e0002")
@example("9007199254740992.0")
def test_every_token_is_read_as_exact_arithmetic_says(token: str) -> None:
    try:
        found: int | float | str = parse_number(token)
    except RukhError as refusal:
        found = refusal.rule
    assert (type(found), found) == (type(expected(token)), expected(token))


DECIMALS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "-"]),
    st.text("0123456789", min_size=1, max_size=17),
    st.just("") | st.text("0123456789", min_size=1, max_size=17).map(".{}".format),
)


@pytest.mark.requirement("RK-VAL-024")
@given(DECIMALS, DECIMALS)
def test_decimals_keep_their_value_and_their_order(left: str, right: str) -> None:
    a, b = normalize_decimal(left), normalize_decimal(right)
    assert (exact(a), exact(b)) == (exact(left), exact(right))
    assert compare_decimals(a, b) == (exact(left) > exact(right)) - (exact(left) < exact(right))
    assert (a == b) is (exact(left) == exact(right))
    assert normalize_decimal(a) == a


@pytest.mark.parametrize("token", ["1" + "0" * 400_000 + "e-400000", "0." + "0" * 400_000 + "1e400001"])
def test_a_long_token_of_a_small_integer_is_read_exactly_and_at_once(token: str) -> None:
    assert parse_number(token) == 1
    assert type(parse_number(token)) is int
