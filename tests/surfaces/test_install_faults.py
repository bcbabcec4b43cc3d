"""Deliveries with one fault each, by every path that brings a release in: refused by name, and nothing is changed.

Every row goes through the real program, as an installation into a home without the package and as an update of a home
that has it. What is looked at behind each: revision, profile, recorded releases, files, and the version that runs.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from crashes.program import forked
from rukh.sources.pack import read_artifact
from rukh.values.rules import RULES
from tests.support.archives import HOSTILE, file, header, packed
from tests.support.releases import DAY, Publisher, list_again, list_artifact
from tests.support.shops import NEW, OLD, PACKAGE, Shop

SIGNATURE = ".dsse.json"
PATHS = {"install": ("install", PACKAGE), "update": ("update", PACKAGE)}
PATHS |= {f"{verb} by version": (verb, f"{PACKAGE}@{NEW}") for verb in ("install", "update")}


@pytest.fixture(scope="module")
def publisher(tmp_path_factory: pytest.TempPathFactory) -> Publisher:
    return Publisher.new(tmp_path_factory.mktemp("publisher"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Publisher:
    return Publisher.new(tmp_path_factory.mktemp("stranger"))


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory, publisher: Publisher) -> Iterator[dict[str, Shop]]:
    """A shop for each verb. What is refused leaves it as it was, so that many faults can be tried in one."""
    made = {
        verb: Shop.opened(tmp_path_factory.mktemp(verb), publisher, installed=verb == "update")
        for verb in ("install", "update")
    }
    yield made
    for shop in made.values():
        shop.close()


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def shop(shops: dict[str, Shop], path: str) -> Shop:
    return shops[PATHS[path][0]]


def refused(shop: Shop, path: str, before: object) -> tuple[int, str]:
    """Status and rule of the refusal, once it is shown that it changed nothing and said nothing else."""
    ended = shop.run(*PATHS[path], "--json")
    assert "" == ended.out
    assert before == shop.seen()
    return ended.status, json.loads(ended.err)["error"]["code"]


def beside(artifact: Path) -> Path:
    return artifact.with_name(artifact.name + SIGNATURE)


def rewrite(artifact: Path, **members: Any) -> None:
    document = json.loads(beside(artifact).read_text(encoding="utf-8"))
    beside(artifact).write_text(json.dumps(document | members), encoding="utf-8")


def claims(artifact: Path) -> dict[str, Any]:
    """What a true statement says about a release of the new version."""
    held = read_artifact(artifact.read_bytes())
    return {"package": PACKAGE, "version": NEW, "descriptor": held.descriptor, "tree": held.tree}


def listed(artifact: Path) -> None:
    list_artifact(artifact, PACKAGE, NEW)


# --- signatures ---


def missing(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    beside(artifact).unlink()


def empty(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    beside(artifact).write_bytes(b"")


def without_signatures(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    rewrite(artifact, signatures=[])


def foreign(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    stranger.sign_as(artifact, **claims(artifact))
    listed(artifact)


def foreign_under_the_trusted_id(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    foreign(artifact, by, stranger)
    text = beside(artifact).read_text(encoding="utf-8")
    beside(artifact).write_text(text.replace(stranger.key_id, by.key_id), encoding="utf-8")


def of_another_file(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    """The signature of the same version's other build lies beside it."""
    by.sign_as(artifact, **claims(artifact), artifact="1" * 64)
    listed(artifact)


def of_another_version(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    by.sign_as(artifact, **{**claims(artifact), "version": OLD})
    listed(artifact)


def of_another_package(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    by.sign_as(artifact, **{**claims(artifact), "package": "acme.other"})
    listed(artifact)


def of_another_tree(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    by.sign_as(artifact, **{**claims(artifact), "tree": "1" * 64})
    listed(artifact)


def of_another_descriptor(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    by.sign_as(artifact, **{**claims(artifact), "descriptor": "1" * 64})
    listed(artifact)


def expired(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    by.sign_as(artifact, **claims(artifact), issued_at=DAY, expires=2 * DAY)
    listed(artifact)


def changed_behind_the_signature(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    data = bytearray(artifact.read_bytes())
    data[len(data) // 2] ^= 1
    artifact.write_bytes(data)
    list_again(artifact)


def changed_behind_the_catalog(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    data = bytearray(artifact.read_bytes())
    data[len(data) // 2] ^= 1
    artifact.write_bytes(data)


# --- files of the source ---


def pipe_for(choose: Callable[[Path], Path]) -> Callable[[Path, Publisher, Publisher], None]:
    """A named pipe that nobody writes, instead of a file: whoever opened it plainly would wait for ever."""

    def make(artifact: Path, by: Publisher, stranger: Publisher) -> None:
        choose(artifact).unlink()
        os.mkfifo(choose(artifact))

    return make


def link_for(choose: Callable[[Path], Path]) -> Callable[[Path, Publisher, Publisher], None]:
    def make(artifact: Path, by: Publisher, stranger: Publisher) -> None:
        path = choose(artifact)
        path.rename(path.with_name("elsewhere"))
        path.symlink_to("elsewhere")

    return make


def directory_for(choose: Callable[[Path], Path]) -> Callable[[Path, Publisher, Publisher], None]:
    def make(artifact: Path, by: Publisher, stranger: Publisher) -> None:
        choose(artifact).unlink()
        choose(artifact).mkdir()

    return make


def catalog(artifact: Path) -> Path:
    return artifact.with_name("catalog.json")


def itself(artifact: Path) -> Path:
    return artifact


def cut_catalog(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    """What a writer leaves that truncates the file before it writes."""
    catalog(artifact).write_bytes(b"")


def no_source(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    shutil.rmtree(artifact.parent)


# --- archives ---


@cache
def bomb(name: str) -> bytes:
    """Small to fetch; each promises or unpacks to more than a release may."""
    made = {
        "a bomb of 288 MiB in 9 files": lambda: [
            file(b"f%d" % number, bytes(32 << 20)) for number in range(9)
        ],
        "a promise of 8 GiB": lambda: [header(b"a", size=b"77777777777")],
        "4,097 files": lambda: [file(b"f%d" % number, b"") for number in range(4097)],
    }
    return packed(*made[name]())


def archive(data: Callable[[], bytes]) -> Callable[[Path, Publisher, Publisher], None]:
    """A well-signed artifact of these bytes."""

    def make(artifact: Path, by: Publisher, stranger: Publisher) -> None:
        artifact.write_bytes(data())
        by.sign_as(artifact, version=NEW)
        listed(artifact)

    return make


# the fault: (how it is made of a good release, the rule, the exit status)
Fault = tuple[Callable[[Path, Publisher, Publisher], None], str, int]
FAULTS: dict[str, Fault] = {
    "a missing signature": (missing, "RKT004", 66),
    "an empty signature file": (empty, "RKT005", 66),
    "an envelope without signatures": (without_signatures, "RKT004", 66),
    "a foreign signature": (foreign, "RKT009", 66),
    "a foreign signature under the trusted id": (foreign_under_the_trusted_id, "RKT009", 66),
    "a signature of another file": (of_another_file, "RKT013", 66),
    "a signature of another version": (of_another_version, "RKT012", 66),
    "a signature of another package": (of_another_package, "RKT011", 66),
    "a signature of another tree": (of_another_tree, "RKT017", 66),
    "a signature of another descriptor": (of_another_descriptor, "RKT016", 66),
    "an expired signature": (expired, "RKT014", 66),
    "bytes changed behind the signature": (changed_behind_the_signature, "RKT013", 66),
    "bytes changed behind the catalog": (changed_behind_the_catalog, "RKT015", 66),
    "a pipe for a catalog": (pipe_for(catalog), "RKT049", 69),
    "a pipe for an artifact": (pipe_for(itself), "RKT049", 69),
    "a pipe for a signature": (pipe_for(beside), "RKT004", 66),
    "a link for a catalog": (link_for(catalog), "RKT049", 69),
    "a link for an artifact": (link_for(itself), "RKT049", 69),
    "a link for a signature": (link_for(beside), "RKT004", 66),
    "a directory for an artifact": (directory_for(itself), "RKT049", 69),
    "a catalog that was cut": (cut_catalog, "RKT046", 64),
    "a source that is gone": (no_source, "RKT049", 69),
    "a bomb of 288 MiB in 9 files": (archive(lambda: bomb("a bomb of 288 MiB in 9 files")), "RKT039", 64),
    "a promise of 8 GiB": (archive(lambda: bomb("a promise of 8 GiB")), "RKT039", 64),
    "4,097 files": (archive(lambda: bomb("4,097 files")), "RKT038", 64),
}


@pytest.mark.requirement(
    "RK-TRUST-007", "RK-TRUST-025", "RK-TRUST-028", "RK-TRUST-029", "RK-TRUST-030", "RK-TRUST-031", "RK-TRUST-042",
    "RK-ADM-004",
)  # fmt: skip
@pytest.mark.parametrize("fault", FAULTS)
def test_a_delivery_with_one_fault_is_refused_by_name_and_changes_nothing(
    shop: Shop, path: str, stranger: Publisher, fault: str
) -> None:
    make, rule, status = FAULTS[fault]
    before = shop.seen()
    make(shop.release(), shop.publisher, stranger)
    assert (status, rule) == refused(shop, path, before)


def as_it_is(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    """The release as its publisher made it."""


def by_hand(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    by.sign_as(artifact, **claims(artifact))
    listed(artifact)


def not_expired_yet(artifact: Path, by: Publisher, stranger: Publisher) -> None:
    by.sign_as(artifact, **claims(artifact), issued_at=DAY, expires=10**15)
    listed(artifact)


ACCEPTED = {
    "as it is": as_it_is,
    "a statement made by hand": by_hand,
    "a signature that has not expired yet": not_expired_yet,
}


@pytest.mark.requirement("RK-TRUST-007", "RK-TRUST-027", "RK-TRUST-030")
@pytest.mark.parametrize("sibling", ACCEPTED)
def test_the_sibling_without_the_fault_goes_through_by_every_path(
    shops: dict[str, Shop], path: str, stranger: Publisher, tmp_path: Path, sibling: str
) -> None:
    shop = shops[PATHS[path][0]].copied(tmp_path / "shop")
    ACCEPTED[sibling](shop.release(), shop.publisher, stranger)
    shop.must(*PATHS[path])
    assert (NEW, NEW) == (shop.listed(), shop.says())
    shop.close()


@pytest.mark.requirement("RK-TRUST-017", "RK-TRUST-018", "RK-TRUST-019", "RK-TRUST-042")
@pytest.mark.parametrize("path", ["install", "update"], indirect=True)
@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_archive_is_refused_by_name_although_a_trusted_key_signed_it(
    shop: Shop, path: str, case: str
) -> None:
    rule, data = HOSTILE[case]
    before = shop.seen()
    archive(lambda: data)(shop.release(), shop.publisher, shop.publisher)
    assert (RULES[rule][2], rule) == refused(shop, path, before)


@pytest.mark.requirement("RK-TRUST-017")
@pytest.mark.parametrize("case", HOSTILE)
def test_no_signature_is_made_of_a_hostile_archive(tmp_path: Path, publisher: Publisher, case: str) -> None:
    """What reads artifacts besides an installation: the tool that signs them."""
    rule, data = HOSTILE[case]
    artifact = tmp_path / "a.tar.gz"
    artifact.write_bytes(data)
    ended = forked(str(tmp_path / "home"), ["sign", str(artifact), "--key", publisher.key_path, "--json"])
    assert (RULES[rule][2], rule) == (ended.status, json.loads(ended.err)["error"]["code"])
    assert ["a.tar.gz"] == os.listdir(tmp_path)
