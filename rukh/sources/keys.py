"""Publisher keys: Ed25519, two PEM files, and an id that is computed and never believed.

- `publisher.key` holds the private key as unencrypted PKCS #8, mode 0600, and is used only while no other user can
  read it. `publisher.pub` holds the public key as SubjectPublicKeyInfo. Neither is ever overwritten.
- The id of a key is the SHA-256 of its SubjectPublicKeyInfo in DER, in hexadecimal. RK-TRUST-001 … RK-TRUST-003
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from rukh.sources.forms import read_file
from rukh.sources.writing import write_new
from rukh.values.errors import RukhError
from rukh.values.ids import sha256_hex

PRIVATE_FILE = "publisher.key"
PUBLIC_FILE = "publisher.pub"
_PEM_LIMIT = 4096  # bytes: an Ed25519 key in PEM has fewer than 200
# A new pair would not help who names the wrong half of one. RK-CLI-097
_PRIVATE_MARK, _PUBLIC_MARK = b"PRIVATE KEY-----", b"BEGIN PUBLIC KEY-----"
_PEM = serialization.Encoding.PEM
_SPKI = serialization.PublicFormat.SubjectPublicKeyInfo


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key: its id, its PEM text, and `verifies`."""

    key_id: str
    pem: str
    _key: Ed25519PublicKey

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Whether this key made `signature` over `message`."""
        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A private key: the public half, and `sign`."""

    public: PublicKey
    _key: Ed25519PrivateKey

    def sign(self, message: bytes) -> bytes:
        """The 64 bytes of the signature over `message`."""
        return self._key.sign(message)


def generate(out_dir: str) -> PublicKey:
    """Write a new pair into the directory `out_dir`; raises RukhError RKT002 where one of the files exists."""
    private = Ed25519PrivateKey.generate()
    public = _public(private.public_key())
    pem = private.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    private_path, public_path = (os.path.join(out_dir, name) for name in (PRIVATE_FILE, PUBLIC_FILE))
    write_new(private_path, pem, 0o600, "RKT002")
    try:
        write_new(public_path, public.pem.encode(), 0o644, "RKT002")
    except BaseException:
        os.unlink(private_path)
        raise
    return public


def load_private(path: str) -> PrivateKey:
    """The private key in the file `path`; raises RukhError RKT001 (no such key) or RKT003 (open to others)."""
    data = _read(path, f"name the {PRIVATE_FILE} that keygen wrote")
    if _PRIVATE_MARK not in data and _PUBLIC_MARK in data:
        raise _other_half(path, "public", PRIVATE_FILE)
    if stat.S_IMODE(os.lstat(path).st_mode) & 0o077:
        raise RukhError("RKT003", "others may read the private key", place=path, mend=f"chmod 600 {path}")
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _no_key(path, "private key as unencrypted PKCS #8") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key(path, "private key as unencrypted PKCS #8")
    return PrivateKey(_public(key.public_key()), key)


def load_public(path: str) -> PublicKey:
    """The public key in the file `path`; raises RukhError RKT001."""
    data = _read(path, f"name the {PUBLIC_FILE} that its publisher gave out")
    if _PRIVATE_MARK in data:
        raise _other_half(path, "private", PUBLIC_FILE)
    return parse_public(data, place=path)


def parse_public(pem: bytes, place: str = "") -> PublicKey:
    """The public key in PEM; raises RukhError RKT001."""
    try:
        key = serialization.load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _no_key(place, "public key") from error
    if not isinstance(key, Ed25519PublicKey):
        raise _no_key(place, "public key")
    return _public(key)


def _public(key: Ed25519PublicKey) -> PublicKey:
    der = key.public_bytes(serialization.Encoding.DER, _SPKI)
    return PublicKey(sha256_hex(der), key.public_bytes(_PEM, _SPKI).decode("ascii"), key)


def _read(path: str, mend: str) -> bytes:
    try:
        return read_file(path, _PEM_LIMIT, "RKT001")
    except RukhError as error:
        error.mend = error.mend or mend
        raise


def _other_half(path: str, half: str, name: str) -> RukhError:
    return RukhError(
        "RKT001", f"this is the {half} half of a pair", place=path, mend=f"name {name}, the other half"
    )


def _no_key(place: str, what: str) -> RukhError:
    return RukhError("RKT001", f"there is no Ed25519 {what}", place=place, mend="make a pair with keygen")
