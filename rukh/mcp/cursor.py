"""Cursors: a keyed code over everything a list depends on, and the last name shown.

    cursor = 64 hexadecimal digits of HMAC-SHA-256, then the last name

The code is taken over the canonical JSON array of format, revision, endpoint, subject, actor, task, visibility and last
name. A cursor is good for exactly that list: after any change, and after any change of itself, it is refused, and no
refusal says why. {P18} It has one spelling and at most 64 + 114 of the 512 bytes that are admitted (RK-MCP-026).
"""

from __future__ import annotations

from rukh.mcp.protocol import invalid_cursor
from rukh.values.canonical import canonical_bytes
from rukh.values.registry import LIMIT_CURSOR_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.mcp.ports import Binding, View

_FORMAT = "rukh.mcp-cursor/1"
_CODE_DIGITS = 64


def seal(key: bytes, binding: Binding, view: View, last: str) -> str:
    """The cursor that continues behind the name `last`."""
    return _code(key, binding, view, last) + last


def unseal(key: bytes, binding: Binding, view: View, cursor: str) -> str:
    """The name behind which the list continues; raises Refusal."""
    from hmac import compare_digest  # only a client that pages pays for it

    if not cursor.isascii() or len(cursor) > LIMIT_CURSOR_BYTES:
        raise invalid_cursor()
    last = cursor[_CODE_DIGITS:]
    if not compare_digest(cursor[:_CODE_DIGITS], _code(key, binding, view, last)):
        raise invalid_cursor()
    return last


def _code(key: bytes, binding: Binding, view: View, last: str) -> str:
    from hmac import digest

    who = [binding.endpoint, binding.subject, binding.actor, binding.task]
    parts = [_FORMAT, view.revision, *who, view.visibility, last]
    return digest(key, canonical_bytes(parts), "sha256").hex()
