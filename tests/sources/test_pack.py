"""Packing and signing: the same bytes for the same files, nothing left out in silence, nothing overwritten."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from rukh.sources import dsse
from rukh.sources.pack import pack, read_artifact, sign
from rukh.sources.release import parse, tree_digest
from rukh.sources.ustar import entries
from rukh.values.errors import RukhError
from tests.support.releases import NOW, Publisher, descriptor, write_extension


def packed_names(artifact: Path) -> list[str]:
    return [entry.path for entry in entries(artifact.read_bytes())]


@pytest.mark.requirement("RK-TRUST-022", "RK-TRUST-010")
def test_equal_files_give_equal_bytes_whatever_their_times_order_and_modes(tmp_path: Path) -> None:
    files = {"b.txt": "b", "a/z.txt": "z", "a-b.txt": "-"}
    first = write_extension(tmp_path / "first", descriptor(), files)
    second = write_extension(tmp_path / "second", descriptor(), dict(reversed(files.items())))
    (second / "b.txt").chmod(0o600)
    os.utime(second / "b.txt", (1, 1))

    one, two = (pack(str(place), str(place) + ".tar.gz") for place in (first, second))

    assert one == two
    assert (tmp_path / "first.tar.gz").read_bytes() == (tmp_path / "second.tar.gz").read_bytes()
    names = ["a-b.txt", "a/z.txt", "acme_notes.py", "b.txt", "rukh-extension.json"]
    assert names == packed_names(tmp_path / "first.tar.gz")


@pytest.mark.requirement("RK-TRUST-010", "RK-TRUST-021")
def test_what_pack_answers_is_what_lies_in_the_artifact(tmp_path: Path) -> None:
    source = write_extension(tmp_path / "source", descriptor(), {"bin/tool": "#!/bin/sh\n"})
    (source / "bin/tool").chmod(0o700)
    out = tmp_path / "out.tar.gz"

    packed = pack(str(source), str(out))

    rows = [
        (path, mode, len(data), sha256(data).hexdigest())
        for path, mode in [("acme_notes.py", "644"), ("bin/tool", "755"), ("rukh-extension.json", "644")]
        for data in [(source / path).read_bytes()]
    ]
    assert ("acme.notes", "1.0.0") == (packed.package, packed.version)
    assert (out.stat().st_size, sha256(out.read_bytes()).hexdigest()) == (packed.size, packed.artifact)
    assert (rows[2][3], tree_digest(rows)) == (packed.descriptor, packed.tree)
    assert packed == read_artifact(out.read_bytes())


@pytest.mark.requirement("RK-TRUST-023")
def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    source = write_extension(
        tmp_path / "source",
        descriptor(),
        {
            "__pycache__/a.pyc": "x",
            "lib/__pycache__/b.pyc": "x",
            ".git/config": "x",
            ".hidden": "x",
            "lib/c.py": "",
        },
    )
    (source / "empty/inner").mkdir(parents=True)

    packed = pack(str(source), str(tmp_path / "out.tar.gz"))

    assert (".git", "__pycache__", "lib/__pycache__", "empty/inner") == packed.left_out
    assert [".hidden", "acme_notes.py", "lib/c.py", "rukh-extension.json"] == packed_names(
        tmp_path / "out.tar.gz"
    )


def symbolic_link(source: Path) -> None:
    (source / "link").symlink_to("acme_notes.py")


def link_to_a_directory(source: Path) -> None:
    (source / "link").symlink_to("/etc")


def pipe(source: Path) -> None:
    os.mkfifo(source / "pipe")


def unix_socket(source: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(source, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{here}/sock")
        os.close(here)


def not_utf8(source: Path) -> None:
    Path(os.fsdecode(os.fsencode(source) + b"/\xff")).write_text("x")


def control_character(source: Path) -> None:
    (source / "a\x1bb").write_text("x")


def colliding_case(source: Path) -> None:
    (source / "read.me").write_text("x")
    (source / "READ.me").write_text("x")


def long_name(source: Path) -> None:
    (source / ("n" * 120)).write_text("x")


def no_descriptor(source: Path) -> None:
    (source / "rukh-extension.json").unlink()


def no_program(source: Path) -> None:
    (source / "acme_notes.py").unlink()


SOURCES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "a symbolic link": ("RKT041", symbolic_link),
    "a link to a directory": ("RKT041", link_to_a_directory),
    "a pipe": ("RKT041", pipe),
    "a socket": ("RKT041", unix_socket),
    "a name that is not UTF-8": ("RKT033", not_utf8),
    "a control character in a name": ("RKT034", control_character),
    "names that differ in case": ("RKT036", colliding_case),
    "a name that fits no header": ("RKT042", long_name),
    "no descriptor": ("RKT040", no_descriptor),
    "no program": ("RKT062", no_program),
}


@pytest.mark.requirement("RK-TRUST-023", "RK-TRUST-024")
@pytest.mark.parametrize("case", SOURCES)
def test_a_directory_that_cannot_become_a_release_is_refused_and_nothing_is_written(
    tmp_path: Path, case: str
) -> None:
    rule, change = SOURCES[case]
    source = write_extension(tmp_path / "source", descriptor())
    pack(str(source), str(tmp_path / "before.tar.gz"))
    change(source)

    with pytest.raises(RukhError) as error:
        pack(str(source), str(tmp_path / "out.tar.gz"))

    assert rule == error.value.rule
    assert not (tmp_path / "out.tar.gz").exists()


def begins(label: str) -> str:
    return f"-----BEGIN {label}-----"


# What a file may hold -> whether it is packed.
KEYS = {
    "a key": (begins("PRIVATE KEY"), False),
    "a sealed key": (begins("ENCRYPTED PRIVATE KEY"), False),
    "a key of a kind": (begins("EC PRIVATE KEY"), False),
    "a key of another tool": (begins("OPENSSH PRIVATE KEY"), False),
    "a key behind other lines": ("a = 1\n" + begins("PRIVATE KEY") + "\n", False),
    "a key behind lines of another system": ("a\r\n" + begins("PRIVATE KEY") + "\r\n", False),
    "a public key": (begins("PUBLIC KEY"), True),
    "a certificate": (begins("CERTIFICATE"), True),
    "a key's beginning inside of a line": ("MARK = '" + begins("PRIVATE KEY") + "'", True),
    "another label": (begins("NOT A PRIVATE KEYS"), True),
}


@pytest.mark.requirement("RK-TRUST-050")
@pytest.mark.parametrize("case", KEYS)
def test_a_private_key_is_not_packed(tmp_path: Path, case: str) -> None:
    content, packed = KEYS[case]
    source = write_extension(tmp_path / "source", descriptor(), {"lib/some.txt": content})
    out = tmp_path / "out.tar.gz"

    if packed:
        pack(str(source), str(out))
        assert "lib/some.txt" in packed_names(out)
    else:
        with pytest.raises(RukhError) as error:
            pack(str(source), str(out))
        assert ("RKT067", "lib/some.txt") == (error.value.rule, error.value.place)
        assert not out.exists()


@pytest.mark.requirement("RK-TRUST-050")
def test_the_key_that_this_tool_makes_is_one(tmp_path: Path, publisher: Publisher) -> None:
    source = write_extension(tmp_path / "source", descriptor())
    (source / "publisher.key").write_bytes(Path(publisher.key_path).read_bytes())

    with pytest.raises(RukhError) as error:
        pack(str(source), str(tmp_path / "out.tar.gz"))

    assert ("RKT067", "publisher.key") == (error.value.rule, error.value.place)


def mapping(kind: str, entry: Any) -> dict[str, Any]:
    """A descriptor whose one command runs `entry` in the runtime `kind`."""
    commands = descriptor()["commands"]
    commands[0]["execute"]["mapping"] = {"kind": "managed", "entry": entry}
    return descriptor(runtime={"kind": kind}, commands=commands)


def passthrough() -> dict[str, Any]:
    command = {
        "id": "git",
        "path": ["git"],
        "summary": "Run it",
        "execute": {"mapping": {"kind": "passthrough", "program": ["bin/tool"]}},
    }
    return descriptor(runtime={"kind": "native"}, commands=[command])


@pytest.mark.requirement("RK-TRUST-024")
@pytest.mark.parametrize(
    ("document", "name", "mode", "accepted"),
    [
        (mapping("python", "pkg.mod:add"), "pkg/mod.py", 0o644, True),
        (mapping("python", "pkg.mod:add"), "pkg/mod/__init__.py", 0o644, True),
        (mapping("python", "pkg.mod:add"), "pkg/other.py", 0o644, False),
        (mapping("native", ["bin/tool", "-x"]), "bin/tool", 0o755, True),
        (mapping("native", ["bin/tool", "-x"]), "bin/tool", 0o644, False),
        (mapping("native", ["bin/tool", "-x"]), "bin/tool2", 0o755, False),
        (mapping("node", ["main.mjs"]), "main.mjs", 0o644, True),
        (mapping("node", ["main.mjs"]), "main.js", 0o644, False),
        (passthrough(), "bin/tool", 0o755, True),
        (passthrough(), "bin/tool", 0o644, False),
    ],
)
def test_each_command_has_its_program_in_the_release(
    tmp_path: Path, document: dict[str, Any], name: str, mode: int, accepted: bool
) -> None:
    source = write_extension(tmp_path / "source", document, {name: "x"})
    (source / name).chmod(mode)

    if accepted:
        assert "acme.notes" == pack(str(source), str(tmp_path / "out.tar.gz")).package
    else:
        with pytest.raises(RukhError) as error:
            pack(str(source), str(tmp_path / "out.tar.gz"))
        assert "RKT062" == error.value.rule


@pytest.mark.requirement("RK-TRUST-024")
@pytest.mark.parametrize(
    ("change", "rule", "exit_code"),
    [
        ({}, "", 0),
        ({"format": "rukh.extension/1"}, "RKT043", 64),
        ({"format": "rukh.extension/3"}, "RKT044", 69),
        ({"extra": 1}, "RKT043", 64),
        ({"version": "1.0"}, "RKT043", 64),
    ],
)
def test_the_descriptor_is_checked_first(
    tmp_path: Path, change: dict[str, Any], rule: str, exit_code: int
) -> None:
    """Before the files: a private key among them is told of once the descriptor is right."""
    source = write_extension(tmp_path / "source", descriptor() | change)

    if rule:
        (source / "some.txt").write_text(begins("PRIVATE KEY"))
    if not rule:
        assert "1.0.0" == pack(str(source), str(tmp_path / "out.tar.gz")).version
    else:
        with pytest.raises(RukhError) as error:
            pack(str(source), str(tmp_path / "out.tar.gz"))
        assert (rule, exit_code) == (error.value.rule, error.value.exit_code)


@pytest.mark.requirement("RK-TRUST-023")
def test_an_artifact_is_not_overwritten_and_lies_outside_of_what_it_packs(tmp_path: Path) -> None:
    source = write_extension(tmp_path / "source", descriptor())
    out = tmp_path / "out.tar.gz"
    out.write_text("mine")
    (tmp_path / "way").symlink_to(source)

    for place, rule in [
        (out, "RKT045"),
        (source / "out.tar.gz", "RKT066"),
        (tmp_path / "way/x.tar.gz", "RKT066"),
    ]:
        with pytest.raises(RukhError) as error:
            pack(str(source), str(place))
        assert rule == error.value.rule
    assert "mine" == out.read_text()


@pytest.mark.requirement("RK-TRUST-010")
def test_a_signature_states_what_lies_in_the_artifact_and_is_renewed_in_one_step(
    tmp_path: Path, publisher: Publisher
) -> None:
    source = write_extension(tmp_path / "source", descriptor())
    out = tmp_path / "out.tar.gz"
    packed = pack(str(source), str(out))

    for issued, expires in [(NOW, None), (NOW + 1, NOW + 2)]:
        path = Path(sign(str(out), publisher.key_path, issued, expires))
        statement = parse(dsse.parse(path.read_bytes()).payload)
        assert (packed.artifact, packed.descriptor, packed.tree) == (
            statement.artifact,
            statement.descriptor,
            statement.tree,
        )
        assert (packed.size, issued, expires) == (
            statement.artifact_size,
            statement.issued_at,
            statement.expires,
        )
    assert {"source", "out.tar.gz", "out.tar.gz.dsse.json"} == set(os.listdir(tmp_path))


@pytest.mark.parametrize(
    ("data", "expires", "rule"),
    [(b"no archive", None, "RKT019"), (None, NOW, "RKT010"), (None, NOW + 1, "")],
    ids=["no artifact", "expired when issued", "sound"],
)
def test_a_signature_that_no_host_would_take_is_not_made(
    tmp_path: Path, publisher: Publisher, data: bytes | None, expires: int | None, rule: str
) -> None:
    out = tmp_path / "out.tar.gz"
    pack(str(write_extension(tmp_path / "source", descriptor())), str(out))
    if data is not None:
        out.write_bytes(data)

    if not rule:
        assert sign(str(out), publisher.key_path, NOW, expires).endswith(".tar.gz.dsse.json")
    else:
        with pytest.raises(RukhError) as error:
            sign(str(out), publisher.key_path, NOW, expires)
        assert rule == error.value.rule
        assert {"source", "out.tar.gz"} == set(os.listdir(tmp_path))


@pytest.mark.requirement("RK-TRUST-010")
def test_an_artifact_that_is_not_there_is_not_signed(tmp_path: Path, publisher: Publisher) -> None:
    path = tmp_path / "out.tar.gz"
    with pytest.raises(RukhError) as error:
        sign(str(path), publisher.key_path, NOW)
    assert ("RKT019", str(path)) == (error.value.rule, error.value.place)
    assert [] == os.listdir(tmp_path)


@pytest.mark.requirement("RK-TRUST-022")
def test_what_makes_an_artifact_too_large_is_not_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = write_extension(tmp_path / "source", descriptor()), tmp_path / "out.tar.gz"
    size = pack(str(source), str(tmp_path / "sound.tar.gz")).size
    monkeypatch.setattr("rukh.sources.pack.LIMIT_ARTIFACT_BYTES", size - 1)
    with pytest.raises(RukhError) as error:
        pack(str(source), str(out))
    assert ("RKT050", str(out), "leave something out") == (
        error.value.rule,
        error.value.place,
        error.value.mend,
    )
    assert not out.exists()
    monkeypatch.setattr("rukh.sources.pack.LIMIT_ARTIFACT_BYTES", size)
    assert size == pack(str(source), str(out)).size


@pytest.mark.requirement("RK-TRUST-022")
@pytest.mark.parametrize(
    ("name", "rule"),
    [("data", "RKT041"), ("data/a.txt", "RKT041"), ("rukh-extension.json", "RKT040")],
    ids=["directory", "file", "descriptor"],
)
def test_what_cannot_be_read_is_not_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, rule: str
) -> None:
    """Refused to everybody, as it would be to a publisher who is not root."""
    source, out = (
        write_extension(tmp_path / "source", descriptor(), {"data/a.txt": "a"}),
        tmp_path / "out.tar.gz",
    )

    def closed(call: Callable[..., Any]) -> Callable[..., Any]:
        def act(path: str, *rest: Any) -> Any:
            if path == str(source / name):
                raise PermissionError(13, "Permission denied", path)
            return call(path, *rest)

        return act

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", closed(os.scandir))
        patched.setattr(os, "open", closed(os.open))
        with pytest.raises(RukhError) as error:
            pack(str(source), str(out))
    assert (rule, "it cannot be read: Permission denied") == (error.value.rule, error.value.message)
    assert str(error.value.place).endswith(name)
    assert not out.exists()
    pack(str(source), str(out))
