"""Staging: what lies in the home behind an installation, byte code, locks, and storage that fails at any step."""

from __future__ import annotations

import errno
import fcntl
import marshal
import os
import stat
import sys
from collections.abc import Callable
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from rukh.sources.staging import Stage, cached_name, remove_tree, verify_tree
from rukh.values.errors import RukhError
from tests.sources.conftest import Bench, refused
from tests.support.archives import file, packed
from tests.support.releases import Publisher

TAG = sys.implementation.cache_tag


def modes(root: Path) -> dict[str, int]:
    return {
        str(path.relative_to(root)): stat.S_IMODE(path.lstat().st_mode)
        for path in [root, *sorted(root.rglob("*"))]
    }


@pytest.mark.requirement("RK-TRUST-021", "RK-TRUST-034")
def test_an_installed_tree_is_read_only_and_only_the_owners_execute_bit_was_kept(
    bench: Bench, publisher: Publisher
) -> None:
    publisher.release(bench.catalog, files={"lib/deep/data.txt": "x"})

    change = bench.installer().install("acme.notes")

    root = Path(bench.home.at("releases", change.tree))
    expected = {
        ".": 0o555,
        "acme_notes.py": 0o444,
        "lib": 0o555,
        "lib/deep": 0o555,
        "lib/deep/data.txt": 0o444,
        "rukh-extension.json": 0o444,
    }
    assert expected == modes(root)
    verify_tree(bench.home, change.tree)


@pytest.mark.requirement("RK-TRUST-021")
def test_an_executable_file_is_installed_as_one_and_loses_every_other_bit(
    bench: Bench, publisher: Publisher
) -> None:
    """The archive says 4755 and 2666, and lists a directory that nothing is in."""
    with Stage(bench.home, "op_1") as stage:
        rows = stage.extract(packed(file(b"a", mode=b"0004755"), file(b"b", mode=b"0002666")))
        found = modes(Path(bench.home.at("staging", "op_1", "tree")))

    assert [("a", "755"), ("b", "644")] == [(path, mode) for path, mode, _, _ in rows]
    assert (0o555, 0o444) == (found["a"], found["b"])


@pytest.mark.requirement("RK-TRUST-033")
def test_byte_code_lies_beside_no_source_and_is_valid_by_decree(bench: Bench, publisher: Publisher) -> None:
    publisher.release(bench.catalog, files={"pkg/__init__.py": "", "pkg/tool.py": "ANSWER = 42\n"})

    change = bench.installer().install("acme.notes")

    cache, root = (Path(bench.home.at(place, change.tree)) for place in ("cache", "releases"))
    names = [f"acme_notes.{TAG}.pyc", f"pkg/__init__.{TAG}.pyc", f"pkg/tool.{TAG}.pyc"]
    assert names == sorted(str(path.relative_to(cache)) for path in cache.rglob("*.pyc"))
    assert names[2] == cached_name("pkg/tool.py")
    data = (cache / names[2]).read_bytes()
    source = (root / "pkg/tool.py").read_bytes()
    assert (MAGIC_NUMBER, b"\x01\x00\x00\x00", source_hash(source)) == (data[:4], data[4:8], data[8:16])
    code = marshal.loads(data[16:])
    assert isinstance(code, CodeType)
    assert str(root / "pkg/tool.py") == code.co_filename
    scope: dict[str, Any] = {}
    exec(code, scope)
    assert 42 == scope["ANSWER"]


@pytest.mark.requirement("RK-TRUST-033")
@pytest.mark.parametrize(
    ("source", "compiles"),
    [
        ("x = 1\n", True),
        ("# -*- coding: latin-1 -*-\nx = '\\xe9'\n", True),
        ("x = 1 +\n", False),
        ("x = '\0'\n", False),
        ("x = " + "(" * 300 + ")" * 300 + "\n", False),
        ("x = " + "-" * 100_000 + "1\n", False),
        ("return 1\n", False),
        ("# -*- coding: nonsense -*-\n", False),
    ],
    ids=[
        "sound",
        "another encoding",
        "syntax",
        "NUL",
        "nested",
        "deep",
        "return outside",
        "unknown encoding",
    ],
)
def test_a_python_file_that_does_not_compile_stops_the_installation(
    bench: Bench, publisher: Publisher, source: str, compiles: bool
) -> None:
    publisher.release(bench.catalog, files={"other.py": source})

    if compiles:
        assert "installed" == bench.installer().install("acme.notes").action
    else:
        assert "RKT060" == refused(bench, lambda: bench.installer().install("acme.notes"))


@pytest.mark.requirement("RK-TRUST-033")
def test_a_release_that_python_does_not_run_is_not_compiled(
    bench: Bench, publisher: Publisher, tmp_path: Path
) -> None:
    commands = [
        {
            "id": "run",
            "path": ["run-it"],
            "summary": "Run",
            "execute": {"mapping": {"kind": "managed", "entry": ["x.mjs"]}},
        }
    ]
    publisher.release(
        bench.catalog,
        files={"x.mjs": "", "template.py": "{{ x }}"},
        runtime={"kind": "node"},
        commands=commands,
    )

    change = bench.installer().install("acme.notes")

    assert not Path(bench.home.at("cache", change.tree)).exists()


@pytest.mark.requirement("RK-TRUST-032")
def test_a_stage_is_locked_while_it_is_open_and_gone_behind_it(bench: Bench) -> None:
    with Stage(bench.home, "op_1"):
        directory = os.open(bench.home.at("staging", "op_1"), os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(RukhError) as error, Stage(bench.home, "op_1"):
            raise AssertionError("two stages of one operation")
    fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(directory)

    assert ("RKT064", []) == (error.value.rule, os.listdir(bench.home.at("staging")))


class Failing:
    """Calls through to `real`, but fails at call `number`, which counts from 1 over all the replaced functions."""

    def __init__(self, number: int) -> None:
        self.left = number

    def wrap(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*arguments, **named)

        return call


@pytest.mark.requirement("RK-TRUST-042")
def test_storage_that_fails_at_any_step_leaves_nothing_and_a_retry_goes_through(
    bench: Bench, publisher: Publisher
) -> None:
    """Every directory, sync, rename and replacement of an installation fails once."""
    publisher.release(bench.catalog, files={"lib/a.py": "a = 1\n"})
    points = 0
    while True:
        failing = Failing(points + 1)
        with pytest.MonkeyPatch.context() as patch:
            for name in ("mkdir", "fsync", "rename", "replace", "fchmod", "chmod"):
                patch.setattr(os, name, failing.wrap(getattr(os, name)))
            if failing_never_reached(bench, failing):
                break
        points += 1

    assert points > 30, "the sweep no longer reaches what it should"
    assert "acme.notes" in bench.ledger.packages


def failing_never_reached(bench: Bench, failing: Failing) -> bool:
    """Install; True where it went through because the failure lies behind its end."""
    before = bench.traces()
    try:
        bench.installer().install("acme.notes")
    except RukhError as error:
        assert ("RKT064", before) == (error.rule, bench.traces())
        return False
    assert failing.left > 0
    return True


def added_file(root: Path) -> None:
    (root / "added").write_text("x")


def removed_file(root: Path) -> None:
    (root / "acme_notes.py").unlink()


def changed_mode(root: Path) -> None:
    (root / "acme_notes.py").chmod(0o555)


def changed_file(root: Path) -> None:
    (root / "acme_notes.py").chmod(0o644)
    (root / "acme_notes.py").write_text("x")


def added_link(root: Path) -> None:
    (root / "link").symlink_to("/etc/passwd")


def file_as_link(root: Path) -> None:
    data = (root / "acme_notes.py").read_bytes()
    (root / "acme_notes.py").unlink()
    (root.parent / "elsewhere").write_bytes(data)
    (root / "acme_notes.py").symlink_to(root.parent / "elsewhere")


def added_directory(root: Path) -> None:
    (root / "empty").mkdir()


def gone(root: Path) -> None:
    remove_tree(str(root))


@pytest.mark.requirement("RK-TRUST-035")
@pytest.mark.parametrize(
    "change",
    [added_file, removed_file, changed_mode, changed_file, added_link, file_as_link, added_directory, gone],
)
def test_a_changed_tree_is_seen(bench: Bench, publisher: Publisher, change: Callable[[Path], None]) -> None:
    publisher.release(bench.catalog)
    tree = bench.installer().install("acme.notes").tree
    root = Path(bench.home.at("releases", tree))
    verify_tree(bench.home, tree)
    root.chmod(0o755)
    change(root)

    with pytest.raises(RukhError) as error:
        verify_tree(bench.home, tree)
    assert ("RKT063", 66) == (error.value.rule, error.value.exit_code)


def test_a_read_only_tree_can_be_taken_away(tmp_path: Path) -> None:
    inner = tmp_path / "tree" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    (inner / "link").symlink_to(tmp_path)
    inner.chmod(0o555)
    inner.parent.chmod(0o555)

    remove_tree(str(tmp_path / "tree"))
    remove_tree(str(tmp_path / "tree"))

    assert [] == os.listdir(tmp_path)


@pytest.mark.requirement("RK-STORE-018")
@pytest.mark.parametrize("kind", ["a link to a directory", "a file"])
def test_what_lies_in_the_place_of_a_tree_is_removed_and_nothing_behind_it(tmp_path: Path, kind: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    root.symlink_to(outside) if "link" in kind else root.write_text("x")
    remove_tree(str(root))
    assert not os.path.lexists(root)
    assert ["kept"] == os.listdir(outside)


@pytest.mark.requirement("RK-TRUST-033")
def test_a_module_that_cannot_be_read_back_stops_the_staging(
    bench: Bench, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher.release(bench.catalog)
    opened = os.open

    def closed(path: str, flags: int, *rest: Any) -> int:
        if str(path).endswith("acme_notes.py") and flags & os.O_NONBLOCK:  # as a release is read
            raise OSError(errno.EIO, "Input/output error", path)
        return opened(path, flags, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", closed)
        assert "RKT060" == refused(bench, lambda: bench.installer().install("acme.notes"))
    assert "installed" == bench.installer().install("acme.notes").action
