"""Artifacts: a gzip stream around a plain ustar archive, read block by block and written in one way only.

The rules of reading, in the order in which they are applied to each header:

1. The stream is one gzip member. What it inflates to is counted as it comes, padding and headers included, and
   reading stops at the limit, whatever the headers promise.
2. The checksum is right, the magic is `ustar` 00, and the type is a regular file or a directory. Everything else a tar
   can hold is refused by name: pax and GNU headers, links, devices, pipes, unknown types.
3. Numbers are octal digits; a directory has no body; text fields are NUL from their first NUL on; filler is NUL.
4. A name is UTF-8, relative, without empty, `.` or `..` segments, control characters and backslashes. No two names are
   equal, none differ only in case or Unicode form (a file system may fold them), none runs through a file.
5. Owner, group and time say nothing in a release. A mode keeps one bit: 755 where the owner may execute, else 644.
6. After the entries come two zero blocks, then nothing but zero bytes, then the end of the stream and of the artifact.

The reader takes bytes and gives entries: it touches no file system. RK-TRUST-014 … RK-TRUST-021
"""

from __future__ import annotations

import re
import struct
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_ARTIFACT_ENTRIES, LIMIT_UNPACKED_BYTES

BLOCK = 512  # bytes: the unit of a tar archive
CHUNK = 65536  # bytes: what is inflated and handed on at a time
_FEED = 16384  # bytes: what the inflater is fed at a time, so that its leftovers stay cheap to keep
_ZERO = bytes(BLOCK)

# The fields of a header: offset and length in bytes.
_FIELDS = {
    "name": (0, 100), "mode": (100, 8), "uid": (108, 8), "gid": (116, 8), "size": (124, 12), "mtime": (136, 12),
    "checksum": (148, 8), "type": (156, 1), "linkname": (157, 100), "magic": (257, 8), "uname": (265, 32),
    "gname": (297, 32), "devmajor": (329, 8), "devminor": (337, 8), "prefix": (345, 155), "filler": (500, 12),
}  # fmt: skip
_USTAR = b"ustar\x0000"
_GNU = b"ustar  \x00"
_OCTAL = re.compile(rb"([0-7]+)[\x00 ]*")
_FILE_TYPES = frozenset({b"0", b"\x00"})
_DIRECTORY_TYPE = b"5"
# Types that a release never holds: rule and what it is.
_REFUSED_TYPES = {
    b"1": ("RKT027", "a hard link"),
    b"2": ("RKT026", "a symbolic link"),
    b"3": ("RKT028", "a character device"),
    b"4": ("RKT028", "a block device"),
    b"6": ("RKT028", "a pipe"),
    b"g": ("RKT024", "a pax header"),
    b"x": ("RKT024", "a pax header"),
    b"X": ("RKT024", "a pax header"),
    **dict.fromkeys((b"D", b"K", b"L", b"M", b"N", b"S", b"V"), ("RKT025", "a GNU header")),
}
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\\]")
_REPACK = "pack the release with this tool"


@dataclass(frozen=True, slots=True)
class Entry:
    """A regular file of the archive; `chunks` yields its `size` bytes and is drained for whoever does not."""

    path: str
    mode: str
    size: int
    chunks: Iterator[bytes]


def entries(
    artifact: bytes, *, max_entries: int = LIMIT_ARTIFACT_ENTRIES, max_unpacked: int = LIMIT_UNPACKED_BYTES
) -> Iterator[Entry]:
    """The regular files of `artifact`, in its order; directories are checked and not given.

    Raises RukhError RKT019 … RKT039 as soon as a rule is broken: what was given before must then be thrown away.
    """
    stream = _Stream(artifact, max_unpacked)
    names = _Names()
    count = 0
    while (block := stream.take(BLOCK)) != _ZERO:
        count += 1
        if count > max_entries:
            raise _refusal("RKT038", f"there are more than {max_entries} entries")
        header = _Header(block)
        names.admit(header.path, header.is_directory)
        if not header.is_directory:
            chunks = stream.body(header.size, header.path)
            yield Entry(header.path, header.mode, header.size, chunks)
            for _left in chunks:
                pass
    stream.end()


class _Stream:
    """The bytes that one gzip member inflates to, counted as they come."""

    def __init__(self, artifact: bytes, limit: int) -> None:
        self._artifact = artifact
        self._fed = 0
        self._limit = limit
        self._unpacked = 0
        self._inflater = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        self._ready = b""

    def take(self, count: int) -> bytes:
        """Exactly `count` bytes; raises RKT020 where the stream ends before."""
        while len(self._ready) < count:
            more = self._inflate()
            if not more:
                raise _refusal("RKT020", "the archive is cut off")
            self._ready += more
        taken, self._ready = self._ready[:count], self._ready[count:]
        return taken

    def body(self, size: int, path: str) -> Iterator[bytes]:
        """The `size` bytes of a file, then its padding."""
        if size > self._limit:
            raise _too_large(self._limit, path)
        left = size
        while left:
            chunk = self.take(min(left, CHUNK))
            left -= len(chunk)
            yield chunk
        if self.take(-size % BLOCK).strip(b"\x00"):
            raise _refusal("RKT023", "the padding of a file is not zero", path)

    def end(self) -> None:
        """The second zero block, zero bytes, the end of the stream, the end of the artifact."""
        if self.take(BLOCK) != _ZERO:
            raise _refusal("RKT020", "one zero block stands where the archive must end with two")
        rest, self._ready = self._ready or self._inflate(), b""
        while rest:
            if rest.strip(b"\x00"):
                raise _refusal("RKT021", "data follows the end of the archive")
            rest = self._inflate()
        if self._fed < len(self._artifact) or self._inflater.unused_data:
            raise _refusal("RKT021", "data follows the end of the gzip stream")

    def _inflate(self) -> bytes:
        """Some more bytes; none at the end of the stream. Raises RKT019, RKT020 or RKT039."""
        while not self._inflater.eof:
            feed = self._inflater.unconsumed_tail or self._feed()
            try:
                more = self._inflater.decompress(feed, CHUNK)
            except zlib.error as error:
                raise _refusal("RKT019", "it is not a gzip stream, or a damaged one") from error
            self._unpacked += len(more)
            if self._unpacked > self._limit:
                raise _too_large(self._limit)
            if more:
                return more
            if not feed and not self._inflater.eof:
                raise _refusal("RKT020", "the gzip stream is cut off")
        return b""

    def _feed(self) -> bytes:
        piece = self._artifact[self._fed : self._fed + _FEED]
        self._fed += len(piece)
        return piece


class _Header:
    """One checked header: `path` without a trailing slash, `mode`, `size` in bytes, `is_directory`."""

    __slots__ = ("is_directory", "mode", "path", "size")

    def __init__(self, block: bytes) -> None:
        fields = {name: block[start : start + length] for name, (start, length) in _FIELDS.items()}
        _check_sum(block, fields["checksum"])
        _check_kind(fields)
        self.is_directory = fields["type"] == _DIRECTORY_TYPE
        self.size = _number(fields["size"], "size")
        self.mode = "755" if _number(fields["mode"], "mode") & 0o100 else "644"
        if self.is_directory and self.size:
            raise _refusal("RKT023", "a directory has a body")
        if fields["filler"].strip(b"\x00") or _text(fields["linkname"]):
            raise _refusal("RKT023", "a field that a file does not use is not empty")
        self.path = _path(fields, self.is_directory)


def _check_sum(block: bytes, field: bytes) -> None:
    start, length = _FIELDS["checksum"]
    total = sum(block) - sum(block[start : start + length]) + length * ord(" ")
    match = _OCTAL.fullmatch(field)
    if match is None or int(match[1], 8) != total:
        raise _refusal("RKT022", "the checksum of a header is wrong")


def _check_kind(fields: dict[str, bytes]) -> None:
    """Type before magic, so that a link or a device of any dialect is refused as what it is."""
    kind = fields["type"]
    if kind in _REFUSED_TYPES:
        rule, what = _REFUSED_TYPES[kind]
        raise _refusal(rule, f"an entry is {what}", _shown(fields))
    if fields["magic"] == _GNU:
        raise _refusal("RKT025", "an entry has a GNU header", _shown(fields))
    if fields["magic"] != _USTAR:
        raise _refusal("RKT023", "an entry has no ustar header", _shown(fields))
    if kind not in _FILE_TYPES and kind != _DIRECTORY_TYPE:
        raise _refusal("RKT029", f"an entry has the type {kind!r}", _shown(fields))


def _number(field: bytes, name: str) -> int:
    match = _OCTAL.fullmatch(field)
    if match is None:
        raise _refusal("RKT023", f"the {name} of an entry is not octal")
    return int(match[1], 8)


def _text(field: bytes) -> bytes:
    text, _, rest = field.partition(b"\x00")
    if rest.strip(b"\x00"):
        raise _refusal("RKT023", "bytes hide behind the end of a name")
    return text


def _path(fields: dict[str, bytes], is_directory: bool) -> str:
    """The checked name of an entry. RK-TRUST-018"""
    prefix, name = _text(fields["prefix"]), _text(fields["name"])
    try:
        path = (prefix + b"/" + name if prefix else name).decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refusal("RKT033", "a name is not UTF-8", _shown(fields)) from error
    if is_directory:
        path = path.removesuffix("/")
    check_path(path)
    return path


def check_path(path: str) -> None:
    """Raises RukhError RKT030 … RKT034 where `path` is not a name that a release may hold."""
    segments = path.split("/")
    if path.startswith("/"):
        raise _refusal("RKT030", "a name is absolute", path)
    if "." in segments or ".." in segments:
        raise _refusal("RKT031", "a name has a . or .. segment", path)
    if "" in segments:
        raise _refusal("RKT032", "a name has an empty segment", path)
    if _UNSAFE.search(path):
        raise _refusal("RKT034", "a name holds a control character or a backslash", ascii(path))


def _shown(fields: dict[str, bytes]) -> str:
    """The name of a refused entry, in characters that are safe to show."""
    return ascii(fields["name"].split(b"\x00")[0].decode("utf-8", "replace"))[1:-1]


class _Names:
    """The names so far: files, directories (said or implied), and the spelling of each folded name."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._said: set[str] = set()
        self._directories: set[str] = set()
        self._spelling: dict[str, str] = {}

    def admit(self, path: str, is_directory: bool) -> None:
        """Take one more name; raises RKT035, RKT036 or RKT037. RK-TRUST-019"""
        if path in self._files or path in self._said:
            raise _refusal("RKT035", "a name stands twice", path)
        self._said.add(path)
        for end in [at for at, character in enumerate(path) if character == "/"]:
            self._directory(path[:end])
        if is_directory:
            self._directory(path)
        else:
            self._file(path)

    def _directory(self, path: str) -> None:
        self._fold(path)
        if path in self._files:
            raise _refusal("RKT037", "a name runs through a file", path)
        self._directories.add(path)

    def _file(self, path: str) -> None:
        self._fold(path)
        if path in self._directories:
            raise _refusal("RKT037", "a file stands where a directory is", path)
        self._files.add(path)

    def _fold(self, path: str) -> None:
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())
        if self._spelling.setdefault(folded, path) != path:
            raise _refusal(
                "RKT036", f"it differs from {self._spelling[folded]!r} only in case or Unicode form", path
            )


def write_archive(files: Iterable[tuple[str, str, bytes]]) -> bytes:
    """An artifact of `(path, mode, bytes)`, in the order given; equal files give equal bytes.

    Owner, group and times are zero; there are no directory entries; the gzip header carries no name and no time.
    Raises RukhError RKT042 where a path does not fit a header. RK-TRUST-022
    """
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed, checksum, length = [_GZIP_HEADER], 0, 0
    for piece in _pieces(files):
        packed.append(deflate.compress(piece))
        checksum = zlib.crc32(piece, checksum)
        length += len(piece)
    return b"".join([*packed, deflate.flush(), struct.pack("<II", checksum, length & 0xFFFFFFFF)])


# Magic, deflate, no flags, no time, strongest compression, unknown system.
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"


def _pieces(files: Iterable[tuple[str, str, bytes]]) -> Iterator[bytes]:
    for path, mode, content in files:
        yield _written_header(path, mode, len(content))
        yield content
        yield bytes(-len(content) % BLOCK)
    yield _ZERO + _ZERO


def _written_header(path: str, mode: str, size: int) -> bytes:
    check_path(path)
    prefix, name = _split(path)
    values = {
        "name": name, "mode": b"%07o" % int(mode, 8), "uid": b"0000000", "gid": b"0000000", "size": b"%011o" % size,
        "mtime": b"00000000000", "checksum": b" " * 8, "type": b"0", "magic": _USTAR, "devmajor": b"0000000",
        "devminor": b"0000000", "prefix": prefix,
    }  # fmt: skip
    block = bytearray(BLOCK)
    for field, value in values.items():
        start = _FIELDS[field][0]
        block[start : start + len(value)] = value
    start, length = _FIELDS["checksum"]
    block[start : start + length] = b"%06o\x00 " % sum(block)
    return bytes(block)


def _split(path: str) -> tuple[bytes, bytes]:
    """Prefix and name: the shortest prefix that leaves a name which fits."""
    encoded = path.encode()
    name_length, prefix_length = _FIELDS["name"][1], _FIELDS["prefix"][1]
    if len(encoded) <= name_length:
        return b"", encoded
    for end in [at for at, byte in enumerate(encoded) if byte == ord("/")]:
        if len(encoded) - end - 1 <= name_length and end <= prefix_length:
            return encoded[:end], encoded[end + 1 :]
    raise _refusal("RKT042", "the path does not fit an archive header", path)


def _refusal(rule: str, message: str, place: str = "") -> RukhError:
    return RukhError(rule, message, place=place, mend=_REPACK)


def _too_large(limit: int, place: str = "") -> RukhError:
    return RukhError(
        "RKT039", f"it unpacks to more than {limit} bytes", place=place, mend="make the release smaller"
    )
