"""Identifiers and digests."""

from __future__ import annotations

import os

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_BITS = 128
_LENGTH = 26


def new_id(prefix: str) -> str:
    """`prefix_` and 26 base32 characters that hold 128 random bits; the prefix names the kind, such as `inv`."""
    number = int.from_bytes(os.urandom(_BITS // 8), "big")
    return (
        prefix
        + "_"
        + "".join(_ALPHABET[(number >> (5 * place)) & 31] for place in range(_LENGTH - 1, -1, -1))
    )


def sha256_hex(data: bytes) -> str:
    """The SHA-256 of `data` as 64 lowercase hexadecimal characters."""
    from hashlib import sha256  # 2.6 ms that most calls do not need

    return sha256(data).hexdigest()
