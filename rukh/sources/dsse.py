"""The signature file: a DSSE v1 envelope around one release statement.

1. The envelope is closed: `payload`, `payloadType`, `signatures`; a signature has `sig` and perhaps `keyid`.
2. Base64 is the standard alphabet with padding, and must be what encoding the decoded bytes gives again: one byte
   string has one spelling.
3. What is signed is the pre-authentication encoding of type and payload, never the payload alone.
4. `keyid` is a hint: every given key is tried against every signature, and the key that verifies says who signed.
   RK-TRUST-004 … RK-TRUST-007
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rukh.sources.forms import is_text, members, read_document
from rukh.sources.keys import PrivateKey, PublicKey
from rukh.values.canonical import canonical_bytes
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_SIGNATURE_BYTES

PAYLOAD_TYPE = "application/vnd.rukh.release+json"
_SIGNATURES = 8  # signatures an envelope: bounds the work of trying every key
_FORM = "RKT005"


@dataclass(frozen=True, slots=True)
class Envelope:
    """A read envelope: the payload's bytes and the signatures over it, both still unverified."""

    payload: bytes
    signatures: tuple[bytes, ...]


def pre_authentication(payload_type: str, payload: bytes) -> bytes:
    """The bytes that are signed: `DSSEv1`, and type and payload, each behind its length in bytes."""
    name = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)


def sign(payload: bytes, key: PrivateKey) -> bytes:
    """The bytes of a signature file for `payload` by `key`."""
    signature = key.sign(pre_authentication(PAYLOAD_TYPE, payload))
    return canonical_bytes(
        {
            "payload": base64.b64encode(payload).decode("ascii"),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [{"keyid": key.public.key_id, "sig": base64.b64encode(signature).decode("ascii")}],
        }
    )


def parse(data: bytes) -> Envelope:
    """Read a signature file; raises RukhError RKT004 (no signature), RKT005 (form), RKT006 (base64), RKT007 (type)."""
    document = members(
        read_document(data, LIMIT_SIGNATURE_BYTES, _FORM, "the signature file"),
        {"payload": is_text, "payloadType": is_text, "signatures": _is_list},
        _FORM,
        "",
    )
    if document["payloadType"] != PAYLOAD_TYPE:
        raise RukhError(
            "RKT007",
            f"the type is {document['payloadType']!r}",
            place="/payloadType",
            mend=f"sign {PAYLOAD_TYPE}",
        )
    if not document["signatures"]:
        raise RukhError(
            "RKT004", "the envelope carries no signature", place="/signatures", mend="sign the release"
        )
    signatures = tuple(_signature(item, number) for number, item in enumerate(document["signatures"]))
    return Envelope(_bytes(document["payload"], "/payload"), signatures)


def signer_of(envelope: Envelope, keys: Sequence[PublicKey]) -> PublicKey:
    """The first of `keys` that made a signature of the envelope; raises RukhError RKT009 where none did."""
    message = pre_authentication(PAYLOAD_TYPE, envelope.payload)
    for key in keys:
        if any(key.verifies(signature, message) for signature in envelope.signatures):
            return key
    raise RukhError(
        "RKT009",
        "no trusted key of the package made this signature",
        mend="get the publisher's key and add it with trust add",
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= _SIGNATURES


def _signature(item: Any, number: int) -> bytes:
    place = f"/signatures/{number}"
    return _bytes(members(item, {"sig": is_text}, _FORM, place, {"keyid": is_text})["sig"], f"{place}/sig")


def _bytes(text: str, place: str) -> bytes:
    """Strictly decoded base64: a second spelling of the same bytes is refused."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise RukhError("RKT006", "it is not base64", place=place, mend="sign the release again") from error
    if base64.b64encode(data).decode("ascii") != text:
        raise RukhError(
            "RKT006", "it is base64 in a second spelling", place=place, mend="sign the release again"
        )
    return data
