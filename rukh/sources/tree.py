"""A directory of files, walked strictly: what is packed, and what is verified again where it is installed.

Only regular files and directories are taken; a link, a device, a pipe or a socket is refused by name. Paths are
relative, with `/`, sorted by their UTF-8 bytes. A mode is 755 where the owner may execute the file, else 644.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from rukh.sources.forms import read_file
from rukh.sources.release import Row
from rukh.values.errors import RukhError
from rukh.values.ids import sha256_hex
from rukh.values.registry import LIMIT_UNPACKED_BYTES


@dataclass(slots=True)
class Listing:
    """What lies below a directory: files, directories that were passed over, directories that hold nothing."""

    files: list[str] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)


def list_tree(root: str, pass_over: frozenset[str] = frozenset()) -> Listing:
    """Everything below `root`; directories named in `pass_over` are not entered.

    Raises RukhError RKT041 for what is neither file nor directory, RKT033 for a name that is not UTF-8.
    """
    listing = Listing()
    _walk(root, "", pass_over, listing)
    for names in (listing.files, listing.passed_over, listing.empty):
        names.sort(key=str.encode)
    return listing


def _walk(root: str, below: str, pass_over: frozenset[str], listing: Listing) -> None:
    try:
        found = list(os.scandir(os.path.join(root, below)))
    except OSError as error:
        raise RukhError("RKT041", f"it cannot be read: {error.strerror}", place=below or root) from error
    if not found and below:
        listing.empty.append(below)
    for item in found:
        path = _utf8(f"{below}/{item.name}" if below else item.name)
        if item.is_dir(follow_symlinks=False):
            if item.name in pass_over:
                listing.passed_over.append(path)
            else:
                _walk(root, path, pass_over, listing)
        elif item.is_file(follow_symlinks=False):
            listing.files.append(path)
        else:
            raise RukhError(
                "RKT041",
                "it is neither a regular file nor a directory",
                place=path,
                mend="put the file itself there",
            )


def _utf8(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise RukhError(
            "RKT033", "a name is not UTF-8", place=ascii(path)[1:-1], mend="rename the file"
        ) from error
    return path


def file_mode(path: str) -> str:
    """The mode of a file as a release knows it."""
    return "755" if os.lstat(path).st_mode & 0o100 else "644"


def rows_of(root: str, files: list[str]) -> Iterator[Row]:
    """The rows of a tree digest, read from the disk; raises RukhError RKT041 where a file cannot be read."""
    for path in files:
        on_disk = os.path.join(root, path)
        content = read_file(on_disk, LIMIT_UNPACKED_BYTES, "RKT041")
        yield path, file_mode(on_disk), len(content), sha256_hex(content)
