"""Packing and signing: from a directory to an artifact, and from an artifact to the signature beside it.

- The descriptor is checked first: what cannot be installed is not packed.
- The bytes depend on names, modes and contents alone: sorted, no times, no owners (for one version of zlib).
- Nothing is left out in silence: `__pycache__`, the directories of version control and empty directories are left out
  and named in the answer; a link or a device is refused.
- A file with a private key in PEM is refused: a key beside the code is the likeliest way to publish it. RK-TRUST-050
- An artifact is never overwritten, because a signature may lie beside it. A signature is replaced in one step: signing
  again, with another expiry or key, is how it is renewed.
- Signing reads the artifact itself, as an installing host will: the statement says what is in it, not what was meant.
  RK-TRUST-010, RK-TRUST-022, RK-TRUST-023
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from rukh.sources import dsse
from rukh.sources.declared import check_descriptor
from rukh.sources.forms import read_file
from rukh.sources.keys import load_private
from rukh.sources.release import DESCRIPTOR_FILE, Release, Row, build, tree_digest
from rukh.sources.tree import file_mode, list_tree
from rukh.sources.ustar import entries, write_archive
from rukh.sources.writing import replace_file, write_new
from rukh.values.errors import RukhError
from rukh.values.ids import sha256_hex
from rukh.values.registry import LIMIT_ARTIFACT_BYTES, LIMIT_DESCRIPTOR_BYTES, LIMIT_UNPACKED_BYTES

SIGNATURE_SUFFIX = ".dsse.json"
PASSED_OVER = frozenset({"__pycache__", ".git", ".hg", ".svn", ".bzr", ".jj"})
# Plain, encrypted, and of each kind: the label ends alike. RK-TRUST-050
PRIVATE_KEY = re.compile(rb"^-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY-----", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Packed:
    """What an artifact holds: digests in hexadecimal, `size` in bytes, and what `pack` left out."""

    package: str
    version: str
    size: int
    artifact: str
    descriptor: str
    tree: str
    left_out: tuple[str, ...] = ()


def pack(directory: str, out: str) -> Packed:
    """Write the artifact `out` from the release in `directory`.

    Raises RukhError RKT040, RKT043, RKT044, RKT062 (descriptor), RKT033, RKT041, RKT067 (files), RKT066, RKT045 (out),
    and whatever reading the artifact back would refuse.
    """
    _check_out(directory, out)
    listing = list_tree(directory, PASSED_OVER)
    if DESCRIPTOR_FILE not in listing.files:
        raise _no_descriptor(directory)
    check_descriptor(read_file(os.path.join(directory, DESCRIPTOR_FILE), LIMIT_DESCRIPTOR_BYTES, "RKT040"))
    artifact = write_archive(_contents(directory, listing.files))
    if len(artifact) > LIMIT_ARTIFACT_BYTES:
        raise RukhError(
            "RKT050", f"it has more than {LIMIT_ARTIFACT_BYTES} bytes", place=out, mend="leave something out"
        )
    packed = read_artifact(artifact, tuple(listing.passed_over + listing.empty))
    write_new(out, artifact, 0o644, "RKT045")
    return packed


def read_artifact(artifact: bytes, left_out: tuple[str, ...] = ()) -> Packed:
    """What `artifact` holds, by the rules of an installing host; raises RukhError as `ustar.entries` and `pack` do."""
    rows: list[Row] = []
    data = None
    for entry in entries(artifact):
        content = b"".join(entry.chunks)
        rows.append((entry.path, entry.mode, entry.size, sha256_hex(content)))
        if entry.path == DESCRIPTOR_FILE:
            data = content
    if data is None:
        raise _no_descriptor("")
    declared = check_descriptor(data)
    declared.check_programs(rows)
    return Packed(
        package=declared.package,
        version=declared.version,
        size=len(artifact),
        artifact=sha256_hex(artifact),
        descriptor=sha256_hex(data),
        tree=tree_digest(rows),
        left_out=left_out,
    )


def sign(artifact_path: str, key_path: str, issued_at: int, expires: int | None = None) -> str:
    """Write the signature beside the artifact and return its path; times are UTC milliseconds.

    Raises RukhError RKT001, RKT003 (key), RKT010 (times), RKT050 (size) and as `read_artifact`.
    """
    key = load_private(key_path)
    packed = read_artifact(read_file(artifact_path, LIMIT_ARTIFACT_BYTES, "RKT019"))
    statement = Release(
        package=packed.package,
        version=packed.version,
        artifact_size=packed.size,
        artifact=packed.artifact,
        descriptor=packed.descriptor,
        tree=packed.tree,
        issued_at=issued_at,
        expires=expires,
    )
    path = artifact_path + SIGNATURE_SUFFIX
    replace_file(path, dsse.sign(build(statement), key))
    return path


def _check_out(directory: str, out: str) -> None:
    root, target = os.path.realpath(directory), os.path.realpath(out)
    if os.path.commonpath([root, target]) == root:
        raise RukhError(
            "RKT066", "the artifact would lie in what it packs", place=out, mend="name a file outside"
        )


def _contents(directory: str, files: list[str]) -> Iterator[tuple[str, str, bytes]]:
    for path in files:
        on_disk = os.path.join(directory, path)
        content = read_file(on_disk, LIMIT_UNPACKED_BYTES, "RKT041")
        if PRIVATE_KEY.search(content):
            mend = "keep keys outside of the packed directory"
            raise RukhError("RKT067", "it holds a private key", place=path, mend=mend)
        yield path, file_mode(on_disk), content


def _no_descriptor(place: str) -> RukhError:
    return RukhError(
        "RKT040", f"there is no {DESCRIPTOR_FILE}", place=place, mend="put the descriptor at the root"
    )
