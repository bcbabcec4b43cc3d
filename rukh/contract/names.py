"""Tool names: readable in front, exact behind.

A name is `SLUG__FINGERPRINT`. The slug is for people and may be shared by many tools; the fingerprint is the
SHA-256 of what the name stands for: endpoint namespace, active profile revision and command identity. So
every publication changes every name, and an old name finds nothing. A name is read from its end: two
underscores and 64 lowercase hexadecimal characters, whatever the slug holds. RK-NAME-001 RK-NAME-003
"""

from __future__ import annotations

import re

from rukh.values.canonical import canonical_bytes
from rukh.values.ids import sha256_hex
from rukh.values.registry import LIMIT_SLUG_LENGTH

TOOL_FORMAT = "rukh.mcp-tool/1"
_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER = str.maketrans(_UPPER, _UPPER.lower())  # ASCII alone: no table of Unicode decides about a name
_OUTSIDE = re.compile("[^a-z0-9_-]+")
_NAME = re.compile(f"([a-z0-9_-]{{1,{LIMIT_SLUG_LENGTH}}})__([0-9a-f]{{64}})")


def slug(identity: str) -> str:
    """The readable part for an identity: 1 to 48 characters of `a-z 0-9 _ -`. RK-NAME-002"""
    words = _OUTSIDE.sub("-", identity.translate(_LOWER)).strip("-")
    return words[:LIMIT_SLUG_LENGTH] or "x"


def fingerprint(namespace: str, revision: str, identity: str) -> str:
    """What the name stands for, as 64 lowercase hexadecimal characters. RK-NAME-001"""
    return sha256_hex(canonical_bytes([TOOL_FORMAT, namespace, revision, identity]))


def tool_name(namespace: str, revision: str, identity: str) -> str:
    """The name of a command at one endpoint under one revision; at most 114 characters. RK-NAME-001"""
    return f"{slug(identity)}__{fingerprint(namespace, revision, identity)}"


def parse_tool_name(name: str) -> tuple[str, str] | None:
    """Slug and fingerprint of a well-formed name, else None. The slug resolves nothing. RK-NAME-003

    For whoever reads a name without the projection it is of; a host looks the whole name up in its own.
    """
    match = _NAME.fullmatch(name)
    return (match.group(1), match.group(2)) if match else None
