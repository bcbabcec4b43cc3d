"""A cursor is good for one list at one moment, and for nothing else."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukh.mcp.cursor import seal, unseal
from rukh.mcp.ports import Binding, View
from rukh.mcp.wire import Refusal
from rukh.values.registry import LIMIT_CURSOR_BYTES
from tests.support.mcp_messages import INVALID_CURSOR

KEY = bytes(range(32))
LAST = "acme-notes-add__" + "0" * 64
WHO = {"endpoint": "desktop", "subject": "user:local", "actor": "agent:desktop", "task": "task_a"}
WHAT = {"revision": "r1-0123456789abcdef", "namespace": "acme.desktop", "visibility": "v1"}


def binding(**changes: str) -> Binding:
    return Binding(**{**WHO, **changes})


def view(**changes: str) -> View:
    return View(**{**WHAT, **changes}, tools=[])


def sealed() -> str:
    return seal(KEY, binding(), view(), LAST)


@pytest.mark.requirement("RK-MCP-026")
def test_a_cursor_is_what_the_page_says_by_public_means() -> None:
    array = (
        '["rukh.mcp-cursor/1","r1-0123456789abcdef","desktop","user:local","agent:desktop","task_a","v1",'
        f'"{LAST}"]'
    )
    assert sealed() == hmac.new(KEY, array.encode(), hashlib.sha256).hexdigest() + LAST


@pytest.mark.requirement("RK-MCP-026", "RK-MCP-027")
def test_a_cursor_leads_behind_the_name_it_was_made_for() -> None:
    assert unseal(KEY, binding(), view(), sealed()) == LAST


@pytest.mark.requirement("RK-MCP-027")
@pytest.mark.parametrize("changed", WHO)
def test_another_caller_cannot_use_it(changed: str) -> None:
    with pytest.raises(Refusal) as caught:
        unseal(KEY, binding(**{changed: WHO[changed] + "x"}), view(), sealed())
    assert (caught.value.rpc, caught.value.data) == (-32602, INVALID_CURSOR)


@pytest.mark.requirement("RK-MCP-027")
@pytest.mark.parametrize("changed", ["revision", "visibility"])
def test_another_revision_or_visibility_voids_it(changed: str) -> None:
    with pytest.raises(Refusal) as caught:
        unseal(KEY, binding(), view(**{changed: WHAT[changed] + "x"}), sealed())
    assert (caught.value.rpc, caught.value.data) == (-32602, INVALID_CURSOR)


@pytest.mark.requirement("RK-MCP-027")
@given(cursor=st.text(max_size=600) | st.integers(0, 143).map(lambda at: sealed()[:at] + "f" + sealed()[at:]))
def test_a_cursor_that_was_made_up_or_changed_is_refused(cursor: str) -> None:
    with pytest.raises(Refusal, match="not valid"):
        unseal(KEY, binding(), view(), cursor)


@pytest.mark.requirement("RK-MCP-026")
def test_upper_case_is_another_spelling_and_refused() -> None:
    with pytest.raises(Refusal, match="not valid"):
        unseal(KEY, binding(), view(), sealed()[:64].upper() + LAST)


@pytest.mark.requirement("RK-MCP-027")
def test_another_home_cannot_use_it() -> None:
    with pytest.raises(Refusal, match="not valid"):
        unseal(b"x" * 32, binding(), view(), sealed())


@pytest.mark.requirement("RK-MCP-026")
def test_the_longest_name_leaves_room_in_512_bytes_and_a_longer_cursor_is_refused_though_sealed() -> None:
    assert len(seal(KEY, binding(), view(), "s" * 114)) <= LIMIT_CURSOR_BYTES
    fits = "n" * (LIMIT_CURSOR_BYTES - 64)
    assert unseal(KEY, binding(), view(), seal(KEY, binding(), view(), fits)) == fits
    with pytest.raises(Refusal, match="not valid"):
        unseal(KEY, binding(), view(), seal(KEY, binding(), view(), fits + "n"))
