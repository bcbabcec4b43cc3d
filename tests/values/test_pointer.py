"""rukh/values/pointer.py: RFC 6901."""

from __future__ import annotations

import pytest

from rukh.values.pointer import join

STEPS: dict[str, tuple[str, str | int, str]] = {
    "a name": ("", "a", "/a"),
    "a name below another": ("/a", "b", "/a/b"),
    "an index": ("/a", 0, "/a/0"),
    "the empty name": ("", "", "/"),
    "a solidus": ("", "a/b", "/a~1b"),
    "a tilde": ("", "m~n", "/m~0n"),
    "a tilde before a digit": ("", "~1", "/~01"),
    "what stands before stays": ("/a~1b", "c", "/a~1b/c"),
    "quotes and percent signs": ("", 'a"%', '/a"%'),
}


@pytest.mark.requirement("RK-VAL-040")
@pytest.mark.parametrize("name", STEPS)
def test_a_step_deeper_is_escaped(name: str) -> None:
    pointer, token, joined = STEPS[name]
    assert join(pointer, token) == joined
