"""Artifacts: what the block reader refuses, each beside what it reads, and that the writer's bytes are its own."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukh.sources.ustar import entries, write_archive
from rukh.values.errors import RukhError
from tests.support.archives import BLOCK, HARMLESS, HOSTILE, directory, file, header, packed


def contents(artifact: bytes, **limits: int) -> dict[str, tuple[str, bytes]]:
    return {entry.path: (entry.mode, b"".join(entry.chunks)) for entry in entries(artifact, **limits)}


@pytest.mark.requirement("RK-TRUST-014", "RK-TRUST-017", "RK-TRUST-018", "RK-TRUST-019", "RK-TRUST-020")
@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_archive_is_refused_by_its_rule(case: str) -> None:
    rule, artifact = HOSTILE[case]

    with pytest.raises(RukhError) as refused:
        contents(artifact)

    assert rule == refused.value.rule


@pytest.mark.requirement("RK-TRUST-017", "RK-TRUST-018", "RK-TRUST-019", "RK-TRUST-020", "RK-TRUST-021")
@pytest.mark.parametrize("case", HARMLESS)
def test_the_harmless_sibling_is_read(case: str) -> None:
    artifact, expected = HARMLESS[case]

    assert expected == [(path, mode) for path, (mode, _) in contents(artifact).items()]


@pytest.mark.requirement("RK-TRUST-015")
def test_unpacked_bytes_are_counted_to_the_limit_and_not_beyond() -> None:
    artifact = packed(file(b"a", b"x" * 1000))
    unpacked = len(gzip.decompress(artifact))

    assert ("644", b"x" * 1000) == contents(artifact, max_unpacked=unpacked)["a"]
    with pytest.raises(RukhError) as refused:
        contents(artifact, max_unpacked=unpacked - 1)
    assert "RKT039" == refused.value.rule


@pytest.mark.requirement("RK-TRUST-015")
@pytest.mark.parametrize(
    "bomb",
    [
        pytest.param(lambda: packed(file(b"a", bytes(8 << 20))), id="in a file"),
        pytest.param(lambda: packed(file(b"a"), end=bytes(8 << 20)), id="behind the end"),
        pytest.param(lambda: packed(header(b"a", size=8 << 20)), id="in a promise"),
    ],
)
def test_a_bomb_is_refused_by_what_it_unpacks_to(bomb: object) -> None:
    """Eight mebibytes of zeros in eight kibibytes, against a limit of one mebibyte."""
    assert callable(bomb)
    artifact = bomb()
    assert len(artifact) < 10_000

    with pytest.raises(RukhError) as refused:
        contents(artifact, max_unpacked=1 << 20)

    assert "RKT039" == refused.value.rule


@pytest.mark.requirement("RK-TRUST-015")
def test_a_bomb_is_not_inflated_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever counts what leaves zlib sees at most one step more than the limit."""
    inflated = 0
    real = zlib.decompressobj

    class Counting:
        def __init__(self, wbits: int) -> None:
            self._inner = real(wbits)

        def decompress(self, data: bytes, limit: int) -> bytes:
            nonlocal inflated
            more = self._inner.decompress(data, limit)
            inflated += len(more)
            return more

        def __getattr__(self, name: str) -> object:
            return getattr(self._inner, name)

    artifact = packed(file(b"a", bytes(8 << 20)))
    monkeypatch.setattr(zlib, "decompressobj", Counting)
    with pytest.raises(RukhError):
        contents(artifact, max_unpacked=1 << 20)

    assert inflated <= (1 << 20) + 65536


@pytest.mark.requirement("RK-TRUST-016")
def test_entries_are_counted_to_the_limit_and_not_beyond() -> None:
    """Directories count, though no directory is made from them."""
    artifact = packed(directory(b"d/"), file(b"d/a"), file(b"d/b"))

    assert ["d/a", "d/b"] == list(contents(artifact, max_entries=3))
    with pytest.raises(RukhError) as refused:
        contents(artifact, max_entries=2)
    assert "RKT038" == refused.value.rule


def test_a_file_is_given_in_pieces_and_skipped_where_nobody_takes_them() -> None:
    artifact = packed(file(b"a", b"x" * 200_000), file(b"b", b"y"))

    assert ["a", "b"] == [entry.path for entry in entries(artifact)]
    sizes = [len(chunk) for entry in entries(artifact) for chunk in entry.chunks]
    assert (200_001, True) == (sum(sizes), max(sizes) <= 65536)


PATHS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="/\\"),
            min_size=1, max_size=12)
    .filter(lambda text: text not in (".", "..")),
    min_size=1,
    max_size=4,
).map("/".join)  # fmt: skip
FILES = st.dictionaries(
    PATHS, st.tuples(st.sampled_from(["644", "755"]), st.binary(max_size=1500)), max_size=5
)


@pytest.mark.requirement("RK-TRUST-022")
@given(FILES)
def test_what_is_written_is_read_back_or_refused_for_its_names(files: dict[str, tuple[str, bytes]]) -> None:
    artifact = write_archive((path, mode, content) for path, (mode, content) in files.items())
    try:
        assert files == contents(artifact)
    except RukhError as error:
        assert error.rule in ("RKT036", "RKT037")


@given(st.sampled_from(sorted(HARMLESS)), st.integers(0, 4096), st.integers(0, 255))
def test_a_changed_byte_of_an_unpacked_archive_is_read_or_refused_by_a_rule(
    case: str, at: int, byte: int
) -> None:
    unpacked = bytearray(gzip.decompress(HARMLESS[case][0]))
    unpacked[at % len(unpacked)] = byte
    try:
        contents(gzip.compress(bytes(unpacked), 1, mtime=0))
    except RukhError as error:
        assert error.rule.startswith("RKT0")


@given(st.binary(max_size=2000))
def test_any_bytes_are_refused_by_a_rule(data: bytes) -> None:
    with pytest.raises(RukhError) as refused:
        contents(data)
    assert refused.value.rule in ("RKT019", "RKT020")


@pytest.mark.requirement("RK-TRUST-022")
def test_another_reader_reads_what_is_written() -> None:
    long = "d" * 60 + "/" + "e" * 60 + "/f"
    artifact = write_archive([("a.txt", "644", b"one"), ("bin/x", "755", b""), (long, "644", b"x" * 513)])

    with tarfile.open(fileobj=io.BytesIO(artifact), mode="r:gz") as archive:
        found = [(member.name, member.mode, member.size, member.mtime, member.uid) for member in archive]

    assert [("a.txt", 0o644, 3, 0, 0), ("bin/x", 0o755, 0, 0, 0), (long, 0o644, 513, 0, 0)] == found
    assert 0 == len(gzip.decompress(artifact)) % BLOCK


@pytest.mark.requirement("RK-TRUST-022")
@pytest.mark.parametrize(
    ("path", "fits"),
    [
        ("n" * 100, True),
        ("n" * 101, False),
        ("p" * 155 + "/" + "n" * 100, True),
        ("p" * 156 + "/" + "n" * 100, False),
        ("ä" * 50, True),
        ("ä" * 51, False),
    ],
)
def test_a_path_is_written_where_it_fits_a_header(path: str, fits: bool) -> None:
    if fits:
        assert {path: ("644", b"x")} == contents(write_archive([(path, "644", b"x")]))
    else:
        with pytest.raises(RukhError) as refused:
            write_archive([(path, "644", b"x")])
        assert "RKT042" == refused.value.rule
