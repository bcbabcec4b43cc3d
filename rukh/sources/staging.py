"""Staging: a release on its way from verified bytes to a read-only tree of the home.

    staging/<operation>/tree    files as they are unpacked, each written to the disk before it has a row
    staging/<operation>/cache   byte code of a Python release
    releases/<tree digest>      where the tree is moved in one step, read-only: files 0444 or 0555, directories 0555
    cache/<tree digest>         byte code as `<path without .py>.<cache tag>.pyc`, loaded without a look at the source

1. The directory of an operation is locked by whoever stages in it, for as long as the process lives, and emptied
   whatever happens: a staging directory without a lock is the remains of a dead process.
2. Nothing of the release is run: Python sources are compiled, never imported, and a source that does not compile is
   refused now rather than at its first call.
3. A tree is moved only once it is whole, verified and durable. One that is there already is used after its digest was
   computed again from the disk: trees that running calls use are never written. Byte code is replaced file by file, by
   renaming, so that a call which has a file open keeps it.
4. From the move until the publication is known, the operation holds the turn of the home's releases, so that no other
   one takes a tree for granted which this one may have to take back. RK-TRUST-031 … RK-TRUST-036
"""

from __future__ import annotations

import fcntl
import marshal
import os
import stat
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import MAGIC_NUMBER, source_hash
from types import TracebackType

from rukh.machines.steps import COMPILE, UNPACK, Observe, unobserved
from rukh.sources.forms import read_file
from rukh.sources.ports import HomePlace
from rukh.sources.release import DESCRIPTOR_FILE, Row, tree_digest
from rukh.sources.tree import list_tree, rows_of
from rukh.sources.ustar import Entry, entries
from rukh.sources.writing import sync
from rukh.store.turnstile import Turnstile
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_DESCRIPTOR_BYTES, LIMIT_TURNSTILE_MILLISECONDS, LIMIT_UNPACKED_BYTES

_PRIVATE = 0o700
_READ_ONLY_DIRECTORY = 0o555
_FILE_MODES = {"644": 0o444, "755": 0o555}
# The header of byte code that is valid by decree: a hash stands in it, and nobody compares it (PEP 552).
_UNCHECKED_HASH = (1).to_bytes(4, "little")


class Stage:
    """The staging directory of one operation; a context that leaves nothing behind. `observe` may stop it."""

    def __init__(self, home: HomePlace, operation: str, observe: Observe = unobserved) -> None:
        self._home = home
        self._root = home.at("staging", operation)
        self._tree = os.path.join(self._root, "tree")
        self._cache = os.path.join(self._root, "cache")
        self._observe = observe
        self._lock = -1

    def __enter__(self) -> Stage:
        self._observe(UNPACK, 0, 0)
        with _storage():
            os.mkdir(self._root, _PRIVATE)
            try:
                self._open()
            except BaseException:
                remove_tree(self._root)
                raise
        return self

    def _open(self) -> None:
        self._hold()
        while not os.fstat(self._lock).st_nlink:  # a sweep took it for remains before it was locked
            os.close(self._lock)
            os.mkdir(self._root, _PRIVATE)
            self._hold()
        os.mkdir(self._tree, _PRIVATE)
        os.mkdir(self._cache, _PRIVATE)

    def _hold(self) -> None:
        self._lock = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            remove_tree(self._root)
        except OSError:
            pass  # what the disk does not let go of has no lock any more, and so is known as remains
        finally:
            os.close(self._lock)

    def extract(self, artifact: bytes) -> list[Row]:
        """Unpack `artifact` and give its rows; every byte and name is durable then. Raises as `ustar.entries`."""
        with _storage():
            rows = []
            for entry in entries(artifact):
                rows.append(_write_entry(self._tree, entry))
                self._observe(UNPACK, len(rows), 0)
            _sync_tree(self._tree)
        return rows

    def descriptor(self) -> bytes:
        """The bytes of the staged descriptor; raises RukhError RKT040 or RKT050."""
        return read_file(os.path.join(self._tree, DESCRIPTOR_FILE), LIMIT_DESCRIPTOR_BYTES, "RKT040")

    def compile(self, rows: Sequence[Row], tree: str) -> None:
        """Byte-compile the Python files of the release; raises RukhError RKT060 for the first that does not compile."""
        paths = [path for path, _mode, _size, _digest in rows if path.endswith(".py")]
        for done, path in enumerate(paths):
            self._observe(COMPILE, done, len(paths))
            code = _compiled(os.path.join(self._tree, path), self._home.at("releases", tree, path), path)
            with _storage():
                _write_file(os.path.join(self._cache, cached_name(path)), [code], _FILE_MODES["644"])
        with _storage():
            _sync_tree(self._cache)

    def set_aside(self, tree: str) -> None:
        """Take what lies in the place of a release out of it, whatever it is; it goes with the stage. RK-DOC-013"""
        target, aside = self._home.at("releases", tree), os.path.join(self._root, "aside")
        with _storage():
            if os.path.isdir(target) and not os.path.islink(target):
                os.chmod(target, _PRIVATE)  # a directory that is moved must be writable, its `..` changes
            if os.path.lexists(target):
                os.rename(target, aside)

    def settle(self, tree: str) -> bool:
        """Move the staged tree and its byte code into the home; False where the tree was there already.

        Raises RukhError RKT063 where the one that is there was changed on disk.
        """
        target = self._home.at("releases", tree)
        with _storage():
            if os.path.lexists(target):
                verify_tree(self._home, tree)
                self._finish(target, tree)
                return False
            try:
                _move_tree(self._tree, target)
                self._finish(target, tree)
            except BaseException:
                discard(self._home, tree)
                raise
        return True

    def _finish(self, target: str, tree: str) -> None:
        os.chmod(target, _READ_ONLY_DIRECTORY)
        _move_files(self._cache, self._home.at("cache", tree))


@contextmanager
def releases_turn(home: HomePlace) -> Iterator[None]:
    """The turn of whoever adds to or takes from `releases/`; raises RukhError RKS004 when the wait is over."""
    directory = home.at("locks", "releases")
    with _storage():
        _make_directory(directory)
    turnstile = Turnstile(directory, LIMIT_TURNSTILE_MILLISECONDS)
    turnstile.enter()
    try:
        yield
    finally:
        turnstile.leave()


def discard(home: HomePlace, tree: str) -> None:
    """Take back a tree that no publication names; called in the turn of the releases."""
    with _storage():
        remove_tree(home.at("releases", tree))
        remove_tree(home.at("cache", tree))


def verify_tree(home: HomePlace, tree: str) -> None:
    """Compute the digest of an installed tree from the disk; raises RukhError RKT063 where it differs. RK-TRUST-035"""
    root = home.at("releases", tree)
    if os.path.islink(root):
        raise _changed(tree, "a symbolic link lies in its place")
    try:
        listing = list_tree(root)
        found = "" if listing.empty else tree_digest(rows_of(root, listing.files))
    except RukhError as error:
        raise _changed(tree, error.message) from error
    if found != tree:
        raise _changed(tree, "its files are not those that were verified")


def installed_descriptor(home: HomePlace, tree: str, digest: str) -> bytes:
    """The descriptor of an installed tree; raises RukhError RKT063 where it is not the one with `digest`."""
    path = home.at("releases", tree, DESCRIPTOR_FILE)
    try:
        data = read_file(path, LIMIT_DESCRIPTOR_BYTES, "RKT063")
    except RukhError as error:
        raise _changed(tree, error.message) from error
    if sha256(data).hexdigest() != digest:
        raise _changed(tree, "its descriptor is not the one that was verified")
    return data


def cached_name(path: str) -> str:
    """Where the byte code of the release's Python file `path` lies in its cache. RK-TRUST-033"""
    return f"{path.removesuffix('.py')}.{sys.implementation.cache_tag}.pyc"


def remove_tree(root: str) -> None:
    """Remove what lies at `root`, read-only directories included; nothing there is nothing to do."""
    if not os.path.lexists(root):
        return
    mode = os.lstat(root).st_mode
    if not stat.S_ISDIR(mode):
        os.unlink(root)
        return
    if stat.S_IMODE(mode) & _PRIVATE != _PRIVATE:
        os.chmod(root, _PRIVATE)
    for item in list(os.scandir(root)):
        if item.is_dir(follow_symlinks=False):
            remove_tree(item.path)
        else:
            os.unlink(item.path)
    os.rmdir(root)


def _write_entry(root: str, entry: Entry) -> Row:
    digest = sha256()

    def hashed() -> Iterator[bytes]:
        for chunk in entry.chunks:
            digest.update(chunk)
            yield chunk

    _write_file(os.path.join(root, entry.path), hashed(), _FILE_MODES[entry.mode])
    return entry.path, entry.mode, entry.size, digest.hexdigest()


def _compiled(path: str, shown: str, name: str) -> bytes:
    """Byte code of the file `path`, whose tracebacks show `shown`."""
    source = read_file(path, LIMIT_UNPACKED_BYTES, "RKT060")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(source, shown, "exec", dont_inherit=True, optimize=0)
            return MAGIC_NUMBER + _UNCHECKED_HASH + source_hash(source) + marshal.dumps(code)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 0
        raise RukhError(
            "RKT060", f"it does not compile: {error}", place=name, line=line, mend="leave it out or mend it"
        ) from error


def _make_directory(path: str) -> None:
    if not os.path.isdir(path):
        os.makedirs(path, _PRIVATE, exist_ok=True)


def _write_file(path: str, chunks: Iterable[bytes], mode: int) -> None:
    _make_directory(os.path.dirname(path))
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        for chunk in chunks:
            file.write(chunk)
        os.fchmod(descriptor, mode)


def _sync_tree(root: str) -> None:
    """Make all below `root` durable, files first; all are written by then, so that the first sync carries the rest."""
    for directory, _names, files in os.walk(root, topdown=False):
        for name in files:
            sync(os.path.join(directory, name))
        sync(directory)


def _move_tree(source: str, target: str) -> None:
    """Below the top everything becomes read-only first; the top itself only behind the move, which must write in it."""
    for directory, _names, _files in os.walk(source, topdown=False):
        if directory != source:
            os.chmod(directory, _READ_ONLY_DIRECTORY)
    os.rename(source, target)
    sync(os.path.dirname(target))


def _move_files(source: str, target: str) -> None:
    for directory, _names, files in os.walk(source):
        place = os.path.normpath(os.path.join(target, os.path.relpath(directory, source)))
        if files:
            _make_directory(place)
            for name in files:
                os.replace(os.path.join(directory, name), os.path.join(place, name))
    if os.path.isdir(target):
        _sync_tree(target)
        sync(os.path.dirname(target))


@contextmanager
def _storage() -> Iterator[None]:
    """What the operating system refuses in the home is a refusal with a rule, not a traceback."""
    try:
        yield
    except OSError as error:
        raise RukhError(
            "RKT064",
            f"the home could not take the release: {error.strerror}",
            place=str(error.filename or ""),
            mend="look at the free space and the permissions of the home",
        ) from error


def _changed(tree: str, message: str) -> RukhError:
    return RukhError("RKT063", message, place=tree, mend="restore it from its source: doctor --fix")
