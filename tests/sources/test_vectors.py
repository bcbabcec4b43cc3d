"""The published vectors of trust: another implementation that agrees with them signs and reads as this one does."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from rukh.sources import dsse
from rukh.sources.keys import parse_public
from rukh.sources.release import parse, tree_digest
from rukh.sources.ustar import entries
from rukh.values.errors import RukhError
from tests.support import vectors
from tests.support.archives import file, packed

TRUST: dict[str, Any] = vectors.document("trust")


@pytest.mark.requirement("RK-TRUST-003")
def test_the_key_of_the_vectors_has_its_id() -> None:
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(TRUST["key"]["seed"]))
    pem = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )

    assert TRUST["key"]["public"] == pem.decode()
    assert TRUST["key"]["id"] == parse_public(pem).key_id


@pytest.mark.requirement("RK-TRUST-006")
@pytest.mark.parametrize("case", TRUST["encodings"], ids=lambda case: case["type"] or "empty")
def test_the_bytes_that_are_signed_are_those_of_the_vectors(case: dict[str, str]) -> None:
    assert case["signed"] == dsse.pre_authentication(case["type"], bytes.fromhex(case["payload"])).hex()


@pytest.mark.requirement("RK-TRUST-006", "RK-TRUST-008", "RK-TRUST-009")
def test_artifact_tree_and_signature_of_the_vectors_fit_together() -> None:
    artifact = base64.b64decode(TRUST["artifact"]["base64"])
    rows = []
    for entry in entries(artifact):
        content = b"".join(entry.chunks)
        rows.append((entry.path, entry.mode, entry.size, sha256(content).hexdigest()))
    envelope = dsse.parse(json.dumps(TRUST["signature"]["envelope"]).encode())
    statement = parse(envelope.payload)

    assert TRUST["tree"]["sha256"] == tree_digest(rows) == statement.tree
    assert TRUST["tree"]["rows"] == [list(row) for row in sorted(rows, key=lambda row: row[0].encode())]
    assert (len(artifact), sha256(artifact).hexdigest()) == (statement.artifact_size, statement.artifact)
    assert TRUST["signature"]["statement"].encode() == envelope.payload
    assert (
        TRUST["key"]["id"] == dsse.signer_of(envelope, [parse_public(TRUST["key"]["public"].encode())]).key_id
    )


@pytest.mark.requirement("RK-TRUST-018")
@pytest.mark.parametrize("case", TRUST["names"], ids=lambda case: case["name"])
def test_a_name_is_read_or_refused_as_the_vectors_say(case: dict[str, str]) -> None:
    name = bytes.fromhex(case["name"])
    artifact = packed(file(name))

    if "rule" not in case:
        assert [name.decode()] == [entry.path for entry in entries(artifact)]
    else:
        with pytest.raises(RukhError) as error:
            list(entries(artifact))
        assert case["rule"] == error.value.rule
