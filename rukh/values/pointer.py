"""JSON Pointer (RFC 6901)."""

from __future__ import annotations


def join(pointer: str, token: str | int) -> str:
    """`pointer` one step deeper, at member name or element index `token`."""
    if type(token) is str and ("~" in token or "/" in token):
        token = token.replace("~", "~0").replace("/", "~1")
    return f"{pointer}/{token}"
