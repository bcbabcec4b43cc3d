"""The static catalog, and a directory as a source: closed, each version once, plain names, bounded reading."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rukh.sources.catalog import Offer, build_catalog, read_catalog
from rukh.sources.directory import DirectorySource, check_source
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_ARTIFACT_BYTES, LIMIT_CATALOG_BYTES, LIMIT_SIGNATURE_BYTES
from tests.support.releases import Publisher

ENTRY: dict[str, Any] = {
    "package": "acme.notes",
    "version": "1.2.0",
    "artifact": "acme.notes-1.2.0.tar.gz",
    "size": 20480,
    "sha256": "a" * 64,
    "signature": "acme.notes-1.2.0.tar.gz.dsse.json",
}


def catalog(*entries: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"format": "rukh.catalog/1", "releases": list(entries), **more}).encode()


@pytest.mark.requirement("RK-TRUST-011")
def test_the_offers_of_a_catalog_are_read_in_its_order() -> None:
    other = ENTRY | {"version": "1.0.0"}

    assert [Offer(**ENTRY), Offer(**other)] == read_catalog(catalog(ENTRY, other))
    assert [] == read_catalog(catalog())


WRONG: dict[str, tuple[str, bytes]] = {
    "another format": ("RKT046", catalog(format="rukh.catalog/2")),
    "another member": ("RKT046", catalog(extra=1)),
    "no list": ("RKT046", b'{"format":"rukh.catalog/1","releases":{}}'),
    "no releases": ("RKT046", b'{"format":"rukh.catalog/1"}'),
    "no JSON": ("RKT046", b"releases:"),
    "a name twice": ("RKT046", b'{"format":"rukh.catalog/1","releases":[],"releases":[]}'),
    "an entry that is no object": ("RKT046", b'{"format":"rukh.catalog/1","releases":["x"]}'),
    "an entry with another member": ("RKT046", catalog(ENTRY | {"url": "x"})),
    "an entry without a member": ("RKT046", catalog({k: v for k, v in ENTRY.items() if k != "size"})),
    "no package": ("RKT046", catalog(ENTRY | {"package": "Notes"})),
    "no version": ("RKT046", catalog(ENTRY | {"version": "v1"})),
    "no digest": ("RKT046", catalog(ENTRY | {"sha256": "a"})),
    "a size below zero": ("RKT046", catalog(ENTRY | {"size": -1})),
    "a version twice": ("RKT047", catalog(ENTRY, ENTRY | {"artifact": "b.tar.gz"})),
    "an artifact elsewhere": ("RKT048", catalog(ENTRY | {"artifact": "../a.tar.gz"})),
    "an absolute artifact": ("RKT048", catalog(ENTRY | {"artifact": "/etc/passwd"})),
    "an artifact at an address": ("RKT048", catalog(ENTRY | {"artifact": "https://x/a.tar.gz"})),
    "a hidden artifact": ("RKT048", catalog(ENTRY | {"artifact": ".a.tar.gz"})),
    "a signature elsewhere": ("RKT048", catalog(ENTRY | {"signature": "sub/a.dsse.json"})),
    "a signature without a name": ("RKT048", catalog(ENTRY | {"signature": ""})),
}


@pytest.mark.requirement("RK-TRUST-011", "RK-TRUST-012")
@pytest.mark.parametrize("case", WRONG)
def test_a_catalog_of_another_form_is_refused(case: str) -> None:
    rule, data = WRONG[case]

    with pytest.raises(RukhError) as error:
        read_catalog(data)
    assert rule == error.value.rule


@pytest.mark.requirement("RK-TRUST-011")
def test_a_catalog_lists_what_has_a_signature_beside_it_by_package_and_version(
    tmp_path: Path, publisher: Publisher
) -> None:
    place = tmp_path / "catalog"
    for package, version in [("acme.notes", "1.10.0"), ("acme.notes", "1.9.0"), ("acme.other", "1.0.0-rc.1")]:
        publisher.release(place, package, version)
    unsigned = publisher.release(place, "acme.notes", "2.0.0")
    unsigned.with_name(unsigned.name + ".dsse.json").unlink()
    (place / "README.txt").write_text("no artifact")

    built = build_catalog(str(place))

    expected = [("acme.notes", "1.9.0"), ("acme.notes", "1.10.0"), ("acme.other", "1.0.0-rc.1")]
    assert expected == [(offer.package, offer.version) for offer in built.offers]
    assert ("acme.notes-2.0.0.tar.gz",) == built.unsigned
    assert list(built.offers) == read_catalog((place / "catalog.json").read_bytes())
    assert [offer.size for offer in built.offers] == [
        os.stat(place / offer.artifact).st_size for offer in built.offers
    ]


def swapped_signature(place: Path, artifact: Path, publisher: Publisher) -> None:
    other = publisher.release(place, version="1.1.0")
    os.replace(f"{other}.dsse.json", f"{artifact}.dsse.json")
    other.unlink()


def renamed_copy(place: Path, artifact: Path, publisher: Publisher) -> None:
    for suffix in ("", ".dsse.json"):
        (place / f"copy.tar.gz{suffix}").write_bytes(Path(f"{artifact}{suffix}").read_bytes())


def strange_name(place: Path, artifact: Path, publisher: Publisher) -> None:
    for suffix in ("", ".dsse.json"):
        Path(f"{artifact}{suffix}").rename(place / f"strange name.tar.gz{suffix}")


def broken_signature(place: Path, artifact: Path, publisher: Publisher) -> None:
    Path(f"{artifact}.dsse.json").write_text("{}")


PLACES: dict[str, tuple[str, Callable[[Path, Path, Publisher], None]]] = {
    "the signature of another file": ("RKT013", swapped_signature),
    "a version in two files": ("RKT047", renamed_copy),
    "a name that is not plain": ("RKT048", strange_name),
    "a signature of no form": ("RKT005", broken_signature),
}


@pytest.mark.requirement("RK-TRUST-011", "RK-TRUST-012")
@pytest.mark.parametrize("case", PLACES)
def test_a_directory_that_no_host_could_use_gets_no_new_catalog(
    tmp_path: Path, publisher: Publisher, case: str
) -> None:
    rule, change = PLACES[case]
    place = tmp_path / "catalog"
    artifact = publisher.release(place)
    build_catalog(str(place))
    change(place, artifact, publisher)
    before = (place / "catalog.json").read_bytes()

    with pytest.raises(RukhError) as error:
        build_catalog(str(place))

    assert (rule, before) == (error.value.rule, (place / "catalog.json").read_bytes())


@pytest.mark.requirement("RK-TRUST-025")
@pytest.mark.parametrize("suffix", ["", ".dsse.json"], ids=["artifact", "signature"])
def test_what_lies_in_the_place_of_a_release_and_is_no_file_is_no_release(
    tmp_path: Path, publisher: Publisher, suffix: str
) -> None:
    place = tmp_path / "catalog"
    path = Path(f"{publisher.release(place)}{suffix}")
    build_catalog(str(place))
    path.rename(tmp_path / "away")
    path.mkdir()
    with pytest.raises(RukhError) as error:
        build_catalog(str(place))
    assert ("RKT049", str(path)) == (error.value.rule, error.value.place)


def test_a_catalog_of_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RukhError) as error:
        build_catalog(str(tmp_path / "nowhere"))
    assert "RKT049" == error.value.rule


OFFER = Offer("acme.notes", "1.0.0", "a.tar.gz", 1, "a" * 64, "a.dsse.json")
READS: dict[str, tuple[str, int, Callable[[DirectorySource], bytes]]] = {
    "catalog": ("catalog.json", LIMIT_CATALOG_BYTES, lambda source: source.catalog()),
    "artifact": ("a.tar.gz", LIMIT_ARTIFACT_BYTES, lambda source: source.artifact(OFFER)),
    "signature": ("a.dsse.json", LIMIT_SIGNATURE_BYTES, lambda source: source.signature(OFFER)),
}


@pytest.mark.requirement("RK-TRUST-012")
@pytest.mark.parametrize("what", READS)
def test_a_file_of_a_source_is_read_up_to_its_limit(tmp_path: Path, what: str) -> None:
    name, limit, read = READS[what]
    source = DirectorySource("local", str(tmp_path))
    (tmp_path / name).touch()

    os.truncate(tmp_path / name, limit)
    assert limit == len(read(source))
    os.truncate(tmp_path / name, limit + 1)
    with pytest.raises(RukhError) as error:
        read(source)
    assert "RKT050" == error.value.rule


def missing(path: Path) -> None:
    """Nothing is there."""


def linked(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def waiting(path: Path) -> None:
    """A pipe that nobody writes into must not make the reader wait."""
    os.mkfifo(path)


@pytest.mark.requirement("RK-TRUST-012", "RK-TRUST-025")
@pytest.mark.parametrize("make", [missing, linked, waiting, Path.mkdir])
@pytest.mark.parametrize("what", READS)
def test_what_is_no_regular_file_is_not_read(tmp_path: Path, what: str, make: Callable[[Path], None]) -> None:
    name, _, read = READS[what]
    make(tmp_path / name)

    with pytest.raises(RukhError) as error:
        read(DirectorySource("local", str(tmp_path)))
    assert ("RKT004" if what == "signature" else "RKT049") == error.value.rule


@pytest.mark.parametrize(
    ("name", "below", "accepted"),
    [
        ("local", "", True),
        ("team-2", "", True),
        ("Local", "", False),
        ("a b", "", False),
        ("local", "nowhere", False),
    ],
)
def test_a_source_is_a_name_and_a_directory(tmp_path: Path, name: str, below: str, accepted: bool) -> None:
    if accepted:
        assert (name, str(tmp_path)) == check_source(name, f"{tmp_path}/{below}")
    else:
        with pytest.raises(RukhError) as error:
            check_source(name, f"{tmp_path}/{below}")
        assert "RKT065" == error.value.rule
