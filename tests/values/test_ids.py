"""rukh/values/ids.py: identifiers and digests."""

from __future__ import annotations

import hashlib
import re

import pytest

from rukh.values import ids


@pytest.mark.requirement("RK-VAL-041")
@pytest.mark.parametrize("prefix", ["inv", "eff", "op", "task"])
def test_an_identifier_is_a_prefix_and_26_characters(prefix: str) -> None:
    assert re.fullmatch(f"{prefix}_[a-z2-7]{{26}}", ids.new_id(prefix))


BITS = {
    "all zeros": (bytes(16), "aaaaaaaaaaaaaaaaaaaaaaaaaa"),
    "all ones": (b"\xff" * 16, "h7777777777777777777777777"),
    "the last bit": (bytes(15) + b"\x01", "aaaaaaaaaaaaaaaaaaaaaaaaab"),
    "the first bit": (b"\x80" + bytes(15), "eaaaaaaaaaaaaaaaaaaaaaaaaa"),
}


@pytest.mark.requirement("RK-VAL-041")
@pytest.mark.parametrize("name", BITS)
def test_an_identifier_holds_every_random_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, written = BITS[name]
    monkeypatch.setattr("os.urandom", {16: drawn}.__getitem__)
    assert ids.new_id("inv") == f"inv_{written}"


def test_a_digest_is_lowercase_hexadecimal() -> None:
    assert ids.sha256_hex(b"abc") == hashlib.sha256(b"abc").hexdigest()
    assert ids.sha256_hex(b"").startswith("e3b0c44298fc1c14")
