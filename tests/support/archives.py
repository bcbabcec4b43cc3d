"""Archives of every dialect, built byte by byte: what an honest packer never writes."""

from __future__ import annotations

import gzip

BLOCK = 512
END = bytes(2 * BLOCK)
USTAR = b"ustar\x0000"
GNU = b"ustar  \x00"


def header(
    name: bytes,
    *,
    kind: bytes = b"0",
    size: int | bytes = 0,
    mode: bytes = b"0000644",
    magic: bytes = USTAR,
    prefix: bytes = b"",
    linkname: bytes = b"",
    filler: bytes = b"",
    checksum: bytes = b"",
) -> bytes:
    """One header block; `size` and `checksum` as bytes stand there as they are."""
    block = bytearray(BLOCK)
    fields = {
        0: name,
        100: mode,
        108: b"0000000",
        116: b"0000000",
        124: size if isinstance(size, bytes) else b"%011o" % size,
        136: b"00000000000",
        148: b" " * 8,
        156: kind,
        157: linkname,
        257: magic,
        345: prefix,
        500: filler,
    }
    for start, value in fields.items():
        block[start : start + len(value)] = value
    block[148:156] = checksum or b"%06o\x00 " % sum(block)
    return bytes(block)


def file(name: bytes, content: bytes = b"x", *, kind: bytes = b"0", mode: bytes = b"0000644") -> bytes:
    """A header, the content, and its padding."""
    return header(name, kind=kind, size=len(content), mode=mode) + content + bytes(-len(content) % BLOCK)


def directory(name: bytes) -> bytes:
    """A directory entry."""
    return header(name, kind=b"5", mode=b"0000755")


def packed(*parts: bytes, end: bytes = END) -> bytes:
    """The parts and an end of archive, as one gzip member."""
    return gzip.compress(b"".join(parts) + end, 6, mtime=0)


PAX_RECORD = b"30 path=somewhere/else/x.txt\n\n"

# name of the case: (rule, artifact). Each holds one thing that a release must not hold.
HOSTILE: dict[str, tuple[str, bytes]] = {
    "no gzip": ("RKT019", b"PK\x03\x04" + bytes(600)),
    "damaged gzip": ("RKT019", packed(file(b"a"))[:-8] + bytes(8)),
    "empty": ("RKT020", b""),
    "cut gzip": ("RKT020", packed(file(b"a", b"x" * 4000))[:-12]),
    "no end blocks": ("RKT020", packed(file(b"a"), end=b"")),
    "one end block": ("RKT020", packed(file(b"a"), end=bytes(BLOCK))),
    "one end block, then an entry": ("RKT020", packed(file(b"a"), bytes(BLOCK), file(b"b"))),
    "body cut off": ("RKT020", packed(header(b"a", size=4096), bytes(512), end=b"")),
    "entry behind the end": ("RKT021", packed(file(b"a"), END, file(b"b"))),
    "bytes behind the gzip stream": ("RKT021", packed(file(b"a")) + b"x"),
    "second gzip member": ("RKT021", packed(file(b"a")) + packed(file(b"b"))),
    "wrong checksum": ("RKT022", packed(header(b"a", checksum=b"000001\x00 "))),
    "checksum is no number": ("RKT022", packed(header(b"a", checksum=b"zzzzzz\x00 "))),
    "old tar": ("RKT023", packed(header(b"a", magic=bytes(8)))),
    "size in base 256": ("RKT023", packed(header(b"a", size=b"\x80" + bytes(10) + b"\x01"))),
    "size is no number": ("RKT023", packed(header(b"a", size=b"00000000 1 "))),
    "mode is no number": ("RKT023", packed(header(b"a", mode=b"rw-r--r"))),
    "directory with a body": ("RKT023", packed(header(b"a", kind=b"5", size=4))),
    "bytes in the filler": ("RKT023", packed(header(b"a", filler=b"\x01"))),
    "a link name on a file": ("RKT023", packed(header(b"a", linkname=b"/etc/passwd"))),
    "bytes behind the name": ("RKT023", packed(header(b"a\x00b"))),
    "padding that is not zero": ("RKT023", packed(header(b"a", size=1), b"x" * BLOCK)),
    "pax header": ("RKT024", packed(file(b"pax", PAX_RECORD, kind=b"x"), file(b"a"))),
    "extended header of Solaris": ("RKT024", packed(file(b"pax", PAX_RECORD, kind=b"X"), file(b"a"))),
    "global pax header": ("RKT024", packed(file(b"pax", PAX_RECORD, kind=b"g"), file(b"a"))),
    "GNU long name": ("RKT025", packed(file(b"././@LongLink", b"a" * 120, kind=b"L"))),
    "GNU long link": ("RKT025", packed(file(b"././@LongLink", b"a" * 120, kind=b"K"))),
    "GNU sparse file": ("RKT025", packed(header(b"a", kind=b"S"))),
    "GNU header": ("RKT025", packed(header(b"a", magic=GNU))),
    "symbolic link": ("RKT026", packed(header(b"a", kind=b"2", linkname=b"/etc/passwd"))),
    "hard link": ("RKT027", packed(header(b"a", kind=b"1", linkname=b"b"))),
    "character device": ("RKT028", packed(header(b"a", kind=b"3"))),
    "block device": ("RKT028", packed(header(b"a", kind=b"4"))),
    "pipe": ("RKT028", packed(header(b"a", kind=b"6"))),
    "contiguous file": ("RKT029", packed(header(b"a", kind=b"7"))),
    "absolute name": ("RKT030", packed(file(b"/etc/cron.d/x"))),
    "absolute through the prefix": ("RKT030", packed(header(b"x", prefix=b"/etc"))),
    "traversal": ("RKT031", packed(file(b"../../x"))),
    "traversal inside": ("RKT031", packed(file(b"a/../../x"))),
    "traversal through the prefix": ("RKT031", packed(header(b"x", prefix=b".."))),
    "dot segment": ("RKT031", packed(file(b"./a"))),
    "traversal as a directory": ("RKT031", packed(directory(b"../"))),
    "empty name": ("RKT032", packed(file(b""))),
    "empty segment": ("RKT032", packed(file(b"a//b"))),
    "file that ends in a slash": ("RKT032", packed(file(b"a/"))),
    "directory that ends in two": ("RKT032", packed(directory(b"a//"))),
    "name in Latin-1": ("RKT033", packed(file("ä".encode("latin-1")))),
    "line feed in a name": ("RKT034", packed(file(b"a\nb"))),
    "escape in a name": ("RKT034", packed(file(b"a\x1b[2Jb"))),
    "backslash in a name": ("RKT034", packed(file(b"a\\b"))),
    "twice": ("RKT035", packed(file(b"a"), file(b"a", b"y"))),
    "file and directory of one name": ("RKT035", packed(file(b"a"), directory(b"a/"))),
    "directory twice": ("RKT035", packed(directory(b"a/"), directory(b"a"))),
    "case": ("RKT036", packed(file(b"read.me"), file(b"READ.me"))),
    "case in a directory": ("RKT036", packed(file(b"lib/a"), file(b"LIB/b"))),
    "case that folds longer": ("RKT036", packed(file("straße".encode()), file(b"STRASSE"))),
    "Unicode form": ("RKT036", packed(file("\u00e9".encode()), file("e\u0301".encode()))),
    "through a file": ("RKT037", packed(file(b"a"), file(b"a/b"))),
    "file where a directory is": ("RKT037", packed(file(b"a/b"), file(b"a"))),
}

# name of the case: the sibling that differs in one thing and is read; the names and modes that it holds.
HARMLESS: dict[str, tuple[bytes, list[tuple[str, str]]]] = {
    "plain": (packed(file(b"a")), [("a", "644")]),
    "more zero blocks at the end": (packed(file(b"a"), end=bytes(20 * BLOCK)), [("a", "644")]),
    "no entries": (packed(), []),
    "type NUL": (packed(header(b"a", kind=b"\x00")), [("a", "644")]),
    "directories and their files": (packed(directory(b"a/"), file(b"a/b")), [("a/b", "644")]),
    "a directory that is said later": (packed(file(b"a/b"), directory(b"a/")), [("a/b", "644")]),
    "an empty directory": (packed(directory(b"a/")), []),
    "prefix": (packed(header(b"b", prefix=b"some/where")), [("some/where/b", "644")]),
    "full name field": (packed(file(b"n" * 100)), [("n" * 100, "644")]),
    "dots in names": (packed(file(b"..a/b..c/...")), [("..a/b..c/...", "644")]),
    "UTF-8": (packed(file("ä/日本".encode())), [("ä/日本", "644")]),
    "equal ends, other directories": (packed(file(b"x/a"), file(b"y/a")), [("x/a", "644"), ("y/a", "644")]),
    "executable": (packed(file(b"a", mode=b"0000755")), [("a", "755")]),
    "executable for others alone": (packed(file(b"a", mode=b"0000655")), [("a", "644")]),
    "set user id": (packed(file(b"a", mode=b"0004755")), [("a", "755")]),
    "set group id and sticky": (packed(file(b"a", mode=b"0003666")), [("a", "644")]),
}
