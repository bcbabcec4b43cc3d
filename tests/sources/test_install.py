"""The path of an installation: its order, each refusal beside what is accepted, and that a refusal leaves nothing."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rukh.sources.pack import read_artifact
from tests.sources.conftest import Bench, refused
from tests.support.archives import HOSTILE, file, header, packed
from tests.support.releases import DAY, NOW, Publisher, descriptor, list_again, list_artifact

Change = Callable[[Bench, Publisher, Publisher, Path], None]


@pytest.mark.requirement("RK-TRUST-037", "RK-TRUST-038", "RK-TRUST-048")
def test_a_signed_release_of_a_trusted_key_is_installed_in_the_order_of_the_path(
    bench: Bench, publisher: Publisher
) -> None:
    artifact = publisher.release(bench.catalog)
    steps: list[str] = []
    bench.at_read = lambda what: steps.append(f"{what}, {len(bench.ledger.admissions)} admissions")

    change = bench.installer().install("acme.notes", mount=["my"])

    entry = bench.ledger.packages["acme.notes"]
    assert ["catalog, 0 admissions", "artifact, 1 admissions", "signature, 1 admissions"] == steps
    assert ("installed", "1.0.0", "r2", "") == (
        change.action,
        change.version,
        change.revision,
        change.previous,
    )
    assert ("1.0.0", publisher.key_id, ["my"]) == (entry["version"], entry["signer"], entry["mount"])
    assert [(True, "acme.notes", "1.0.0")] == [row[:3] for row in bench.ledger.admissions]
    effects = {"source": "local", "bytes": artifact.stat().st_size, "from": "", "to": "1.0.0"}
    assert effects.items() <= bench.ledger.admissions[0][3].items()
    assert [("acme.notes", "1.0.0", "1.0.0")] == [
        (row.package, row.version, row.highest) for row in bench.ledger.releases
    ]


# A change to a good release or to the owner's trust: what is wrong, and the rule that says so.


def no_signature(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    artifact.with_name(artifact.name + ".dsse.json").unlink()


def empty_signature(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    artifact.with_name(artifact.name + ".dsse.json").write_bytes(b"")


def no_signatures(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    path = artifact.with_name(artifact.name + ".dsse.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"signatures": []}))


def another_key(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    artifact.unlink()
    stranger.release(bench.catalog)


def another_key_with_the_trusted_hint(
    bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path
) -> None:
    another_key(bench, publisher, stranger, artifact)
    path = artifact.with_name(artifact.name + ".dsse.json")
    path.write_text(path.read_text().replace(stranger.key_id, publisher.key_id))


def no_key(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    bench.ledger.keys = {"acme.other": bench.ledger.keys["acme.notes"]}


def another_packages_signature(
    bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path
) -> None:
    publisher.sign_as(artifact, package="acme.other")


def another_versions_signature(
    bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path
) -> None:
    publisher.sign_as(artifact, version="1.0.1")


def another_files_signature(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    publisher.sign_as(artifact, artifact="1" * 64)


def another_size_signed(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    publisher.sign_as(artifact, artifact_size=artifact.stat().st_size + 1)


def byte_of_artifact(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    data = bytearray(artifact.read_bytes())
    data[len(data) // 2] ^= 1
    artifact.write_bytes(data)


def byte_of_artifact_and_catalog(
    bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path
) -> None:
    byte_of_artifact(bench, publisher, stranger, artifact)
    list_again(artifact)


def byte_of_signature(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    path = artifact.with_name(artifact.name + ".dsse.json")
    document = json.loads(path.read_text())
    signature = document["signatures"][0]["sig"]
    document["signatures"][0]["sig"] = ("B" if signature[0] != "B" else "C") + signature[1:]
    path.write_text(json.dumps(document))


def byte_of_statement(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    path = artifact.with_name(artifact.name + ".dsse.json")
    document = json.loads(path.read_text())
    payload = document["payload"]
    document["payload"] = payload[:40] + ("B" if payload[40] != "B" else "C") + payload[41:]
    path.write_text(json.dumps(document))


def descriptor_not_signed(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    publisher.sign_as(artifact, **{**signed(artifact), "descriptor": "1" * 64})


def tree_not_signed(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    publisher.sign_as(artifact, **{**signed(artifact), "tree": "1" * 64})


def expired(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    publisher.sign_as(artifact, **signed(artifact), expires=NOW + DAY)
    bench.time[0] = NOW + DAY


def artifact_gone(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    artifact.unlink()


def artifact_linked(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    artifact.rename(artifact.with_name("moved"))
    artifact.symlink_to(artifact.with_name("moved"))


def catalog_gone(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    (bench.catalog / "catalog.json").unlink()


def second_source_gone(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    bench.ledger.named_sources.append(("other", str(bench.catalog / "nowhere")))


def no_sources(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    bench.ledger.named_sources.clear()


def other_bytes_elsewhere(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    other = bench.catalog.with_name("other")
    publisher.release(other, files={"more.txt": "more"})
    bench.ledger.named_sources.append(("other", str(other)))


def rules_deny(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    bench.ledger.profile["rules"] = [
        rule for rule in bench.ledger.profile["rules"] if rule["action"] == "run"
    ]


def does_not_compile(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    artifact.unlink()
    publisher.release(bench.catalog, files={"extra/broken.py": "def f(:\n"})


def newer_python(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    artifact.unlink()
    publisher.release(bench.catalog, runtime={"kind": "python", "requires": ">=4.0"})


def word_of_the_core(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    artifact.unlink()
    commands = descriptor()["commands"]
    commands[0]["path"] = ["install"]
    publisher.release(bench.catalog, commands=commands)


def staging_full(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    """The home cannot take the release: its staging directory is no directory."""
    shutil.rmtree(bench.home.at("staging"))
    Path(bench.home.at("staging")).write_text("")


def signed(artifact: Path) -> dict[str, Any]:
    """The true claims of a statement about `artifact`."""
    held = read_artifact(artifact.read_bytes())
    return {"descriptor": held.descriptor, "tree": held.tree}


REFUSED: dict[str, tuple[str, Change]] = {
    "no signature": ("RKT004", no_signature),
    "a signature file without a byte": ("RKT005", empty_signature),
    "an envelope without signatures": ("RKT004", no_signatures),
    "another key": ("RKT009", another_key),
    "another key under the id of the trusted one": ("RKT009", another_key_with_the_trusted_hint),
    "no key for this package": ("RKT008", no_key),
    "the signature of another package": ("RKT011", another_packages_signature),
    "the signature of another version": ("RKT012", another_versions_signature),
    "the signature of another file": ("RKT013", another_files_signature),
    "the signature of another size": ("RKT013", another_size_signed),
    "one byte of the artifact": ("RKT015", byte_of_artifact),
    "one byte of the artifact, listed": ("RKT013", byte_of_artifact_and_catalog),
    "one byte of the signature": ("RKT009", byte_of_signature),
    "one byte of the statement": ("RKT009", byte_of_statement),
    "another descriptor than signed": ("RKT016", descriptor_not_signed),
    "other files than signed": ("RKT017", tree_not_signed),
    "expired": ("RKT014", expired),
    "artifact gone": ("RKT049", artifact_gone),
    "artifact behind a link": ("RKT049", artifact_linked),
    "catalog gone": ("RKT049", catalog_gone),
    "one of two sources gone": ("RKT049", second_source_gone),
    "no sources": ("RKT051", no_sources),
    "sources that disagree": ("RKT053", other_bytes_elsewhere),
    "denied by the rules": ("RKT057", rules_deny),
    "a file that does not compile": ("RKT060", does_not_compile),
    "a newer Python": ("RKT061", newer_python),
    "a path of the core": ("RKP004", word_of_the_core),
    "no room in the home": ("RKT064", staging_full),
}


@pytest.mark.requirement(
    "RK-TRUST-007", "RK-TRUST-025", "RK-TRUST-028", "RK-TRUST-029", "RK-TRUST-030", "RK-TRUST-031",
    "RK-TRUST-033", "RK-TRUST-036", "RK-TRUST-039", "RK-TRUST-042", "RK-TRUST-043",
)  # fmt: skip
@pytest.mark.parametrize("case", REFUSED)
def test_a_release_with_one_fault_is_refused_and_leaves_nothing(
    bench: Bench, publisher: Publisher, stranger: Publisher, case: str
) -> None:
    rule, change = REFUSED[case]
    change(bench, publisher, stranger, publisher.release(bench.catalog))

    assert rule == refused(bench, lambda: bench.installer().install("acme.notes"))


def unchanged(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    """The release as its publisher made it."""


def signed_by_two(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    path = artifact.with_name(artifact.name + ".dsse.json")
    mine = json.loads(path.read_text())
    stranger.sign_as(artifact, **signed(artifact))
    theirs = json.loads(path.read_text())["signatures"]
    path.write_text(json.dumps(mine | {"signatures": theirs + mine["signatures"]}))


def wrong_hint(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    path = artifact.with_name(artifact.name + ".dsse.json")
    path.write_text(path.read_text().replace(publisher.key_id, "somebody"))


def no_hint(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    path = artifact.with_name(artifact.name + ".dsse.json")
    document = json.loads(path.read_text())
    del document["signatures"][0]["keyid"]
    path.write_text(json.dumps(document))


def two_keys(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    bench.ledger.keys["acme.notes"].insert(0, (stranger.key_id, stranger.pem))


def about_to_expire(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    publisher.sign_as(artifact, **signed(artifact), expires=NOW + DAY)
    bench.time[0] = NOW + DAY - 1


def true_statement_by_hand(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    publisher.sign_as(artifact, **signed(artifact))


def same_bytes_elsewhere(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    other = bench.catalog.with_name("other")
    shutil.copytree(bench.catalog, other)
    bench.ledger.named_sources.append(("other", str(other)))


def compiles(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    artifact.unlink()
    publisher.release(bench.catalog, files={"extra/sound.py": "def f():\n    return '\\d'\n"})


def this_python(bench: Bench, publisher: Publisher, stranger: Publisher, artifact: Path) -> None:
    artifact.unlink()
    publisher.release(bench.catalog, runtime={"kind": "python", "requires": ">=3.11,<4"})


ACCEPTED: dict[str, Change] = {
    "as it was made": unchanged,
    "signed by a stranger too": signed_by_two,
    "a hint that names nobody": wrong_hint,
    "no hint": no_hint,
    "two trusted keys": two_keys,
    "a millisecond before it expires": about_to_expire,
    "a true statement made by hand": true_statement_by_hand,
    "the same bytes from two sources": same_bytes_elsewhere,
    "a file that compiles with a warning": compiles,
    "a Python that is here": this_python,
}


@pytest.mark.requirement("RK-TRUST-007", "RK-TRUST-027", "RK-TRUST-030")
@pytest.mark.parametrize("case", ACCEPTED)
def test_the_sibling_without_the_fault_is_installed(
    bench: Bench, publisher: Publisher, stranger: Publisher, case: str
) -> None:
    ACCEPTED[case](bench, publisher, stranger, publisher.release(bench.catalog))

    change = bench.installer().install("acme.notes")

    assert ("installed", publisher.key_id) == (change.action, change.signer)
    assert [] == os.listdir(bench.home.at("staging"))


@pytest.mark.requirement("RK-TRUST-017", "RK-TRUST-018", "RK-TRUST-019", "RK-TRUST-042")
@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_archive_is_refused_though_a_trusted_key_signed_it(
    bench: Bench, publisher: Publisher, case: str
) -> None:
    rule, data = HOSTILE[case]
    artifact = bench.catalog / "acme.notes-1.0.0.tar.gz"
    artifact.write_bytes(data)
    publisher.sign_as(artifact)

    assert rule == refused(bench, lambda: bench.installer().install("acme.notes"))


@pytest.mark.requirement("RK-TRUST-015", "RK-TRUST-016", "RK-TRUST-042")
@pytest.mark.parametrize(
    ("rule", "data"),
    [
        ("RKT039", packed(header(b"a", size=b"77777777777"))),
        ("RKT039", packed(*(file(b"f%d" % number, bytes(32 << 20)) for number in range(9)))),
        ("RKT038", packed(*(file(b"f%d" % number, b"") for number in range(4097)))),
        ("RKT040", packed(file(b"a"))),
    ],
    ids=["a promise of 8 GiB", "a bomb of 288 MiB", "4,097 entries", "no descriptor"],
)
def test_an_archive_beyond_a_limit_is_refused(
    bench: Bench, publisher: Publisher, rule: str, data: bytes
) -> None:
    artifact = bench.catalog / "acme.notes-1.0.0.tar.gz"
    artifact.write_bytes(data)
    publisher.sign_as(artifact)

    assert rule == refused(bench, lambda: bench.installer().install("acme.notes"))


@pytest.mark.requirement("RK-TRUST-013", "RK-TRUST-029", "RK-TRUST-031")
def test_a_signed_release_under_another_name_in_the_catalog_is_refused(
    bench: Bench, publisher: Publisher
) -> None:
    """The publisher is trusted for both packages; the catalog passes one off as the other."""
    bench.ledger.trust("acme.other", publisher.key_id, publisher.pem)
    artifact = publisher.release(bench.catalog, "acme.other")
    list_artifact(artifact, "acme.notes")
    assert "RKT011" == refused(bench, lambda: bench.installer().install("acme.notes"))

    publisher.sign_as(artifact, **signed(artifact))
    assert "RKT018" == refused(bench, lambda: bench.installer().install("acme.notes"))

    publisher.release(bench.catalog, "acme.other", "1.0.1")
    assert "installed" == bench.installer().install("acme.other").action


@pytest.mark.requirement("RK-TRUST-038")
@pytest.mark.parametrize(
    ("rules", "installed"),
    [
        ([], False),
        ([{"action": "install", "actors": ["agent:x"], "packages": ["*"], "decision": "allow"}], False),
        (
            [
                {
                    "action": "install",
                    "actors": ["user:local"],
                    "packages": ["acme.other"],
                    "decision": "allow",
                }
            ],
            False,
        ),
        ([{"action": "run", "actors": ["user:local"], "commands": ["*"], "decision": "allow"}], False),
        (
            [
                {
                    "action": "install",
                    "actors": ["user:local"],
                    "packages": ["acme.notes"],
                    "decision": "allow",
                }
            ],
            True,
        ),
    ],
    ids=["no rule", "another actor", "another package", "another action", "a rule"],
)
def test_rules_decide_before_a_byte_of_the_release_is_read(
    bench: Bench, publisher: Publisher, rules: list[dict[str, Any]], installed: bool
) -> None:
    publisher.release(bench.catalog)
    bench.ledger.profile["rules"] = rules

    if installed:
        bench.installer().install("acme.notes")
        assert ["catalog", "artifact", "signature"] == bench.reads
    else:
        assert "RKT057" == refused(bench, lambda: bench.installer().install("acme.notes"))
        assert ["catalog"] == bench.reads
    assert [(installed, "user:local")] == [(row[0], row[4]) for row in bench.ledger.admissions]


@pytest.mark.requirement("RK-TRUST-038")
def test_an_update_that_the_rules_deny_leaves_the_artifact_unread(bench: Bench, publisher: Publisher) -> None:
    publisher.release(bench.catalog)
    bench.installer().install("acme.notes")
    publisher.release(bench.catalog, version="1.1.0")
    bench.ledger.profile = bench.ledger.profile | {"rules": []}
    bench.reads.clear()

    assert "RKT057" == refused(bench, lambda: bench.installer().update("acme.notes"))
    assert ["catalog"] == bench.reads


@pytest.mark.requirement("RK-TRUST-039")
def test_without_a_trusted_key_nothing_of_the_release_is_read(bench: Bench, publisher: Publisher) -> None:
    publisher.release(bench.catalog)
    bench.ledger.keys.clear()

    assert "RKT008" == refused(bench, lambda: bench.installer().install("acme.notes"))
    assert ["catalog"] == bench.reads


@pytest.mark.requirement("RK-TRUST-043")
def test_a_key_that_is_revoked_while_the_release_is_fetched_stops_it(
    bench: Bench, publisher: Publisher
) -> None:
    publisher.release(bench.catalog)

    def revoke(what: str) -> None:
        if what == "signature":
            bench.ledger.keys.clear()

    bench.at_read = revoke

    assert "RKT008" == refused(bench, lambda: bench.installer().install("acme.notes"))


@pytest.mark.requirement("RK-TRUST-043")
@pytest.mark.parametrize(("behind", "rule"), [(DAY, "RKT014"), (DAY - 1, "")], ids=["expired", "not yet"])
def test_a_signature_that_expires_while_the_release_is_staged_stops_it(
    bench: Bench, publisher: Publisher, behind: int, rule: str
) -> None:
    publisher.release(bench.catalog, expires=NOW + DAY)
    times = iter([NOW, NOW + behind])
    installer = bench.installer(now=lambda: next(times))

    if rule:
        assert rule == refused(bench, lambda: installer.install("acme.notes"))
    else:
        assert "installed" == installer.install("acme.notes").action


@pytest.mark.requirement("RK-TRUST-043", "RK-TRUST-042")
def test_the_candidate_is_judged_with_every_other_package(bench: Bench, publisher: Publisher) -> None:
    """Two packages want one path: the second is refused, naming both, until it has mount words of its own."""
    bench.ledger.trust("acme.other", publisher.key_id, publisher.pem)
    commands = descriptor("acme.other")["commands"]
    commands[0]["path"] = ["notes", "add"]
    publisher.release(bench.catalog)
    publisher.release(bench.catalog, "acme.other", commands=commands)
    bench.installer().install("acme.notes")

    assert "RKP001" == refused(bench, lambda: bench.installer().install("acme.other"))
    assert "RKP006" == refused(bench, lambda: bench.installer().install("acme.other", mount=["No Word"]))
    assert "installed" == bench.installer().install("acme.other", mount=["other"]).action


@pytest.mark.requirement("RK-TRUST-047")
def test_nothing_of_a_release_is_run_while_it_is_installed(
    bench: Bench, publisher: Publisher, tmp_path: Path
) -> None:
    """Every place that packers and installers of other tools run, and the module itself, would leave a marker."""
    marker = tmp_path / "ran"
    source = f"open({str(marker)!r}, 'w').close()\n"
    names = ("setup.py", "conftest.py", "sitecustomize.py", "acme_notes.py", "build.py", "__init__.py")
    hooks = {"Makefile": f"all:\n\ttouch {marker}\n", "package.json": '{"scripts": {"install": "touch ran"}}'}
    publisher.release(bench.catalog, files=dict.fromkeys(names, source) | hooks)

    assert "installed" == bench.installer().install("acme.notes").action
    assert not marker.exists()
