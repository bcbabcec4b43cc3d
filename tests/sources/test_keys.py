"""Publisher keys: what is written, what is never overwritten, and what counts as a key."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from rukh.sources.keys import generate, load_private, load_public
from rukh.values.errors import RukhError

PEM = serialization.Encoding.PEM
SPKI = serialization.PublicFormat.SubjectPublicKeyInfo
PKCS8 = serialization.PrivateFormat.PKCS8


@pytest.mark.requirement("RK-TRUST-001", "RK-TRUST-003")
def test_a_pair_is_written_in_two_files_whose_id_is_the_digest_of_the_public_one(tmp_path: Path) -> None:
    public = generate(str(tmp_path))
    private_file, public_file = tmp_path / "publisher.key", tmp_path / "publisher.pub"

    der = serialization.load_pem_public_key(public_file.read_bytes()).public_bytes(
        serialization.Encoding.DER, SPKI
    )
    assert public.key_id == sha256(der).hexdigest()
    assert private_file.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----\n")
    assert public_file.read_text() == public.pem
    assert [0o600, 0o644] == [stat.S_IMODE(path.stat().st_mode) for path in (private_file, public_file)]
    assert (
        public.key_id == load_private(str(private_file)).public.key_id == load_public(str(public_file)).key_id
    )


@pytest.mark.requirement("RK-TRUST-001")
@pytest.mark.parametrize("name", ["publisher.key", "publisher.pub"])
def test_a_key_file_is_never_overwritten_and_no_half_of_a_pair_is_left(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")

    with pytest.raises(RukhError) as error:
        generate(str(tmp_path))

    assert "RKT002" == error.value.rule
    assert ([name], "mine") == (os.listdir(tmp_path), (tmp_path / name).read_text())


def test_a_pair_for_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RukhError) as error:
        generate(str(tmp_path / "nowhere"))
    assert "RKT064" == error.value.rule


@pytest.mark.requirement("RK-TRUST-002")
@pytest.mark.parametrize(("mode", "accepted"), [(0o600, True), (0o400, True), (0o640, False), (0o604, False)])
def test_a_private_key_is_used_only_while_no_other_user_can_read_it(
    tmp_path: Path, mode: int, accepted: bool
) -> None:
    generate(str(tmp_path))
    path = tmp_path / "publisher.key"
    path.chmod(mode)

    if accepted:
        assert 64 == len(load_private(str(path)).sign(b"message"))
    else:
        with pytest.raises(RukhError) as error:
            load_private(str(path))
        assert "RKT003" == error.value.rule


def of_another_curve() -> bytes:
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(PEM, PKCS8, serialization.NoEncryption())


def encrypted() -> bytes:
    sealed = serialization.BestAvailableEncryption(b"word")
    return ed25519.Ed25519PrivateKey.generate().private_bytes(PEM, PKCS8, sealed)


def public_of_another_curve() -> bytes:
    return ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(PEM, SPKI)


NOT_PRIVATE: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "no PEM": lambda: b"key",
    "another kind": of_another_curve,
    "encrypted": encrypted,
    "a public key": lambda: ed25519.Ed25519PrivateKey.generate().public_key().public_bytes(PEM, SPKI),
}
NOT_PUBLIC: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "no PEM": lambda: b"key",
    "another kind": public_of_another_curve,
    "a private key": lambda: ed25519.Ed25519PrivateKey.generate().private_bytes(
        PEM, PKCS8, serialization.NoEncryption()
    ),
}


@pytest.mark.requirement("RK-TRUST-001")
@pytest.mark.parametrize("case", NOT_PRIVATE)
def test_what_is_no_ed25519_private_key_is_refused(tmp_path: Path, case: str) -> None:
    path = tmp_path / "publisher.key"
    path.write_bytes(NOT_PRIVATE[case]())
    path.chmod(0o600)

    with pytest.raises(RukhError) as error:
        load_private(str(path))
    assert "RKT001" == error.value.rule


@pytest.mark.requirement("RK-TRUST-001")
@pytest.mark.parametrize("case", NOT_PUBLIC)
def test_what_is_no_ed25519_public_key_is_refused(tmp_path: Path, case: str) -> None:
    path = tmp_path / "publisher.pub"
    path.write_bytes(NOT_PUBLIC[case]())

    with pytest.raises(RukhError) as error:
        load_public(str(path))
    assert "RKT001" == error.value.rule


def test_a_key_file_that_is_a_link_or_is_not_there_is_refused(tmp_path: Path) -> None:
    generate(str(tmp_path))
    (tmp_path / "link").symlink_to(tmp_path / "publisher.pub")

    for name in ("link", "nothing", "."):
        with pytest.raises(RukhError) as error:
            load_public(str(tmp_path / name))
        assert "RKT001" == error.value.rule


# name: (what reads, the half that is named, the mode of its file, the mend)
HALVES = {
    "the public half to sign with": (
        load_private,
        "publisher.pub",
        0o644,
        "name publisher.key, the other half",
    ),
    "the private half to trust": (load_public, "publisher.key", 0o600, "name publisher.pub, the other half"),
}


@pytest.mark.requirement("RK-CLI-097")
@pytest.mark.parametrize("case", HALVES)
def test_the_other_half_of_a_pair_is_told_as_that(tmp_path: Path, case: str) -> None:
    read, wrong, mode, mend = HALVES[case]
    public = generate(str(tmp_path))
    (tmp_path / wrong).chmod(mode)
    with pytest.raises(RukhError) as error:
        read(str(tmp_path / wrong))
    assert ("RKT001", mend) == (error.value.rule, error.value.mend)
    right = {"publisher.pub": "publisher.key", "publisher.key": "publisher.pub"}[wrong]
    found: Any = read(str(tmp_path / right))
    assert public.key_id == getattr(found, "public", found).key_id


@pytest.mark.requirement("RK-CLI-097")
@pytest.mark.parametrize("read", [load_private, load_public])
def test_a_key_file_that_is_not_there_has_a_mend(tmp_path: Path, read: Callable[[str], object]) -> None:
    with pytest.raises(RukhError) as error:
        read(str(tmp_path / "nothing"))
    assert ("RKT001", "name the publisher.") == (error.value.rule, error.value.mend[:19])
