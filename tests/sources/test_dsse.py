"""The signature file: DSSE's own example, strict base64, the closed form, and that the key id decides nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rukh.sources import dsse
from rukh.sources.keys import load_private, load_public
from rukh.values.errors import RukhError
from tests.support.releases import Publisher


@pytest.mark.requirement("RK-TRUST-006")
def test_type_and_payload_are_signed_with_their_lengths() -> None:
    """The first line is the example of the DSSE specification; lengths are bytes, not characters."""
    assert b"DSSEv1 29 http://example.com/HelloWorld 11 hello world" == dsse.pre_authentication(
        "http://example.com/HelloWorld", b"hello world"
    )
    assert b"DSSEv1 2 \xc3\xa9 3 \x00 \xff" == dsse.pre_authentication("é", b"\x00 \xff")


def envelope(publisher: Publisher, payload: bytes = b"{}") -> dict[str, Any]:
    document: dict[str, Any] = json.loads(dsse.sign(payload, load_private(publisher.key_path)))
    return document


def read(document: Any) -> dsse.Envelope:
    return dsse.parse(json.dumps(document).encode())


@pytest.mark.requirement("RK-TRUST-004", "RK-TRUST-007")
def test_a_signature_is_read_and_its_key_found(publisher: Publisher, stranger: Publisher) -> None:
    keys = [load_public(str(who.directory / "publisher.pub")) for who in (stranger, publisher)]
    found = read(envelope(publisher))

    assert b"{}" == found.payload
    assert publisher.key_id == dsse.signer_of(found, keys).key_id
    with pytest.raises(RukhError) as error:
        dsse.signer_of(found, keys[:1])
    assert "RKT009" == error.value.rule


@pytest.mark.requirement("RK-TRUST-006")
def test_a_signature_over_the_payload_alone_or_over_another_type_does_not_hold(publisher: Publisher) -> None:
    key = load_private(publisher.key_path)
    signed = {
        "payload alone": (b"{}", False),
        "another type": (dsse.pre_authentication("application/json", b"{}"), False),
        "as it should be": (dsse.pre_authentication(dsse.PAYLOAD_TYPE, b"{}"), True),
    }

    for message, holds in signed.values():
        found = dsse.Envelope(b"{}", (key.sign(message),))
        if holds:
            assert publisher.key_id == dsse.signer_of(found, [key.public]).key_id
        else:
            with pytest.raises(RukhError) as error:
                dsse.signer_of(found, [key.public])
            assert "RKT009" == error.value.rule


# What replaces a member of a good envelope, and the rule that refuses it.
WRONG: dict[str, tuple[str, dict[str, Any]]] = {
    "another type": ("RKT007", {"payloadType": "application/vnd.in-toto+json"}),
    "no signatures": ("RKT004", {"signatures": []}),
    "nine signatures": ("RKT005", {"signatures": [{"sig": "AAAA"}] * 9}),
    "signatures are no list": ("RKT005", {"signatures": {"sig": "AAAA"}}),
    "a signature with another member": ("RKT005", {"signatures": [{"sig": "AAAA", "cert": "x"}]}),
    "a signature without bytes": ("RKT005", {"signatures": [{"keyid": "x"}]}),
    "a key id that is null": ("RKT005", {"signatures": [{"sig": "AAAA", "keyid": None}]}),
    "another member": ("RKT005", {"extra": 1}),
    "a payload that is no text": ("RKT005", {"payload": 1}),
    "base64 with a line feed": ("RKT006", {"payload": "e30=\n"}),
    "base64 with a space": ("RKT006", {"payload": "e3 0="}),
    "base64 without its padding": ("RKT006", {"payload": "e30"}),
    "base64 with bits that say nothing": ("RKT006", {"payload": "e31="}),
    "base64 of the web": ("RKT006", {"payload": "-_-_"}),
    "base64 with text behind it": ("RKT006", {"payload": "e30=e30="}),
    "base64 that is no ASCII": ("RKT006", {"payload": "é30="}),
    "a signature that is no base64": ("RKT006", {"signatures": [{"sig": "%"}]}),
}
RIGHT: dict[str, dict[str, Any]] = {
    "as it was": {},
    "eight signatures": {"signatures": [{"sig": "AAAA"}] * 8},
    "a signature without a hint": {"signatures": [{"sig": "AAAA"}]},
    "an empty hint": {"signatures": [{"sig": "AAAA", "keyid": ""}]},
    "base64 with padding": {"payload": "e30="},
    "an empty payload": {"payload": ""},
}


@pytest.mark.requirement("RK-TRUST-004", "RK-TRUST-005")
@pytest.mark.parametrize("case", WRONG)
def test_an_envelope_of_another_form_is_refused(publisher: Publisher, case: str) -> None:
    rule, change = WRONG[case]

    with pytest.raises(RukhError) as error:
        read(envelope(publisher) | change)
    assert rule == error.value.rule


@pytest.mark.requirement("RK-TRUST-004", "RK-TRUST-005")
@pytest.mark.parametrize("case", RIGHT)
def test_an_envelope_of_the_form_is_read(publisher: Publisher, case: str) -> None:
    document = envelope(publisher) | RIGHT[case]

    assert len(document["signatures"]) == len(read(document).signatures)


@pytest.mark.requirement("RK-TRUST-004")
@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b'{"payload":"","payload":""}', b"\xef\xbb\xbf{}", b'{"a":' * 20, b" " * 65537],
    ids=["nothing", "a list", "a name twice", "a byte order mark", "too deep", "too long"],
)
def test_bytes_that_the_strict_reader_refuses_are_no_envelope(data: bytes) -> None:
    with pytest.raises(RukhError) as error:
        dsse.parse(data)
    assert ("RKT005", 66) == (error.value.rule, error.value.exit_code)
