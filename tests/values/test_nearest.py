"""rukh/values/nearest.py: which known word was probably meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukh.values.nearest import nearest

KNOWN = ["install", "update", "remove", "list", "--tag", "--title", "a", "authentication-token"]
MEANT = {
    "a letter missing": ("instal", "install"),
    "a letter too many": ("updatee", "update"),
    "another letter": ("remuve", "remove"),
    "two neighbours swapped": ("isntall", "install"),
    "the word itself": ("list", "list"),
    "an option": ("--tilte", "--title"),
    "the bound of a third": ("rexxve", "remove"),
    "beyond a third": ("rxxxve", None),
    "four edits of a long word": ("authenticaxxxx-token", "authentication-token"),
    "five edits of a long word": ("authenticxxxxx-token", None),
    "another word": ("catalog", None),
    "nothing": ("", "a"),
    "much too long": ("list" * 40, None),
}


@pytest.mark.requirement("RK-VAL-004")
@pytest.mark.parametrize("name", MEANT)
def test_the_nearest_word_is_within_a_third_of_the_longer_one(name: str) -> None:
    word, meant = MEANT[name]
    assert nearest(word, KNOWN) == meant


@pytest.mark.requirement("RK-VAL-004")
@pytest.mark.parametrize("known", [["cat", "bat"], ["bat", "cat"]])
def test_a_tie_goes_to_the_first_in_code_point_order(known: list[str]) -> None:
    assert nearest("rat", known) == "bat"


def test_nothing_known_is_nothing_near() -> None:
    assert nearest("list", []) is None


def plain_distance(left: str, right: str) -> int:
    """Optimal string alignment over the whole table, to judge the band by."""
    rows = [[i + j if i * j == 0 else 0 for j in range(len(right) + 1)] for i in range(len(left) + 1)]
    for i in range(1, len(left) + 1):
        for j in range(1, len(right) + 1):
            swapped = i > 1 and j > 1 and (left[i - 1], left[i - 2]) == (right[j - 2], right[j - 1])
            rows[i][j] = min(
                rows[i - 1][j] + 1,
                rows[i][j - 1] + 1,
                rows[i - 1][j - 1] + (left[i - 1] != right[j - 1]),
                rows[i - 2][j - 2] + 1 if swapped else 99,
            )
    return rows[-1][-1]


WORDS = st.text("abc-", max_size=14)


@pytest.mark.requirement("RK-VAL-004")
@given(WORDS, st.lists(WORDS, max_size=5))
def test_the_band_finds_what_the_whole_table_finds(word: str, known: list[str]) -> None:
    near = [
        (plain_distance(word, other), other)
        for other in known
        if plain_distance(word, other) <= min(4, max(1, max(len(word), len(other)) // 3))
    ]
    assert nearest(word, known) == (min(near)[1] if near else None)
