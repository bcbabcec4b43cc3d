"""The release statement `rukh.release/1`: what a publisher signs, and the tree digest in it.

A statement names the package, the version, the artifact (size and SHA-256), the descriptor (SHA-256), the tree
(SHA-256) and when it was issued; it may say when it expires. Times are UTC milliseconds. The tree digest is the
SHA-256 of the canonical JSON of `[[path, mode, size, sha256], …]` sorted by the bytes of the path; directories have no
row, because they are made by the paths of files. RK-TRUST-008, RK-TRUST-009
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rukh.contract import grammar
from rukh.sources.forms import is_count, is_digest, is_package, is_version, members, read_document
from rukh.values.canonical import canonical_bytes
from rukh.values.errors import RukhError
from rukh.values.ids import sha256_hex
from rukh.values.registry import LIMIT_SIGNATURE_BYTES

FORMAT = "rukh.release/1"
DESCRIPTOR_FILE = grammar.DESCRIPTOR_FILE
_FORM = "RKT010"

# path, mode ("644" or "755"), size in bytes, SHA-256 in hexadecimal
Row = tuple[str, str, int, str]


@dataclass(frozen=True, slots=True)
class Release:
    """A release statement; sizes are bytes, times UTC milliseconds, digests SHA-256 in hexadecimal."""

    package: str
    version: str
    artifact_size: int
    artifact: str
    descriptor: str
    tree: str
    issued_at: int
    expires: int | None = None


def tree_digest(rows: Iterable[Row]) -> str:
    """The digest of the files of a release. RK-TRUST-009"""
    return sha256_hex(canonical_bytes([list(row) for row in sorted(rows, key=lambda row: row[0].encode())]))


def build(release: Release) -> bytes:
    """The canonical bytes of the statement; raises RukhError RKT010 where it would not be accepted."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "package": release.package,
        "version": release.version,
        "artifact": {"size": release.artifact_size, "sha256": release.artifact},
        "descriptor": {"sha256": release.descriptor},
        "tree": {"sha256": release.tree},
        "issuedAt": release.issued_at,
    }
    if release.expires is not None:
        document["expires"] = release.expires
    payload = canonical_bytes(document)
    parse(payload)
    return payload


def parse(payload: bytes) -> Release:
    """Read a signed payload; raises RukhError RKT010 with the place of what is wrong."""
    document = members(
        read_document(payload, LIMIT_SIGNATURE_BYTES, _FORM, "the signed payload"),
        {
            "format": lambda value: value == FORMAT,
            "package": is_package,
            "version": is_version,
            "artifact": _is_object,
            "descriptor": _is_object,
            "tree": _is_object,
            "issuedAt": is_count,
        },
        _FORM,
        "",
        {"expires": is_count},
    )
    artifact = members(document["artifact"], {"size": is_count, "sha256": is_digest}, _FORM, "/artifact")
    expires = document.get("expires")
    if expires is not None and expires <= document["issuedAt"]:
        raise RukhError(_FORM, "it expires before it was issued", place="/expires", mend="name a later time")
    return Release(
        package=document["package"],
        version=document["version"],
        artifact_size=artifact["size"],
        artifact=artifact["sha256"],
        descriptor=_digest(document, "descriptor"),
        tree=_digest(document, "tree"),
        issued_at=document["issuedAt"],
        expires=expires,
    )


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _digest(document: dict[str, Any], name: str) -> str:
    digest: str = members(document[name], {"sha256": is_digest}, _FORM, f"/{name}")["sha256"]
    return digest
