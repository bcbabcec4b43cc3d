"""What the paths of a check mean: which documents they name. RK-CHECK-001

| path | means |
|---|---|
| a file, or `-` | that document: a descriptor, or cases where it is called `rukh-cases.json` |
| a directory with `rukh-extension.json` | that descriptor, and the code and the cases beside it |
| another directory | every `rukh-extension.json` below it, in the order of their paths |

Links are not followed below a directory, directories that nobody writes by hand are passed over, and the search is
bounded. What cannot be read is a finding of its own; the other paths are checked all the same. RK-CHECK-002
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from rukh.cli.files import STDIN, read_some
from rukh.contract.cases import CASES_FILE
from rukh.contract.diagnostics import Diagnostic
from rukh.contract.grammar import DESCRIPTOR_FILE
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_CHECKED_ENTRIES, LIMIT_CHECKED_FILES, LIMIT_DESCRIPTOR_BYTES

PASSED_OVER = frozenset({".git", ".hg", ".jj", ".svn", ".tox", ".venv", "__pycache__", "node_modules"})


# What a release has under these names is a regular file. RK-CHECK-056
_REGULAR = (DESCRIPTOR_FILE, CASES_FILE)


class Target:
    """One document to check: its `path`, and `fault` where there is none.

    `release` is the directory in which the code lies, None where nothing says that the document belongs to one.
    """

    __slots__ = ("fault", "path", "release")

    def __init__(self, path: str, release: str | None = None, fault: Diagnostic | None = None) -> None:
        self.path = path
        self.release = release
        self.fault = fault

    @property
    def shown(self) -> str:
        """The path as text: a byte of it that is not UTF-8 is escaped."""
        return _as_text(self.path)

    def read(self) -> bytes:
        """The document, and one byte more where it is too large; raises RKL023."""
        if os.path.basename(self.path) in _REGULAR:
            _require_file(self.path)
        return read_some(self.path, LIMIT_DESCRIPTOR_BYTES + 1)


def shown_path(release: str, name: str) -> str:
    """The path of a file in a release as text, as short as the caller wrote the directory."""
    return _as_text(os.path.join(release, name) if release != os.curdir else name)


def _as_text(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def targets(paths: tuple[str, ...]) -> list[Target]:
    """What `paths` name, in their order, each path once."""
    found: dict[str, Target] = {}
    for path in paths:
        for target in _named(path):
            found.setdefault(target.path, target)
    return list(found.values())


def is_one_document(paths: tuple[str, ...]) -> bool:
    """Whether the answer is about one document, whatever it holds: one path, and no directory. RK-CHECK-004"""
    return len(paths) == 1 and not os.path.isdir(paths[0])


def unreadable(message: str, rule: str = "RKK001", mend: str = "name a file that can be read") -> Diagnostic:
    """The finding that a path gives instead of a document."""
    return Diagnostic(rule, "", 1, 1, message, mend)


def nothing_in(path: str) -> Diagnostic:
    """The finding about a document without anything in it."""
    if path == STDIN:
        return Diagnostic("RKV002", "", 1, 1, "nothing came on standard input", "pipe a descriptor into it")
    what = "cases" if os.path.basename(path) == CASES_FILE else "a descriptor"
    return Diagnostic(
        "RKV002", "", 1, 1, "nothing stands in the file", f"write {what}; the verb new shows how"
    )


def _named(path: str) -> Iterator[Target]:
    if not os.path.isdir(path) or path == STDIN:
        named = os.path.basename(path) == DESCRIPTOR_FILE
        yield Target(path, (os.path.dirname(path) or os.curdir) if named else None)
    elif os.path.lexists(os.path.join(path, DESCRIPTOR_FILE)):
        yield release(path)
    else:
        yield from _below(path)


def release(directory: str) -> Target:
    """The descriptor of a directory, and what lies beside it."""
    path = os.path.join(directory, DESCRIPTOR_FILE).removeprefix("./")
    return Target(path, os.path.dirname(path) or os.curdir)


def _below(path: str) -> Iterator[Target]:
    """The descriptors below a directory; where there are none, or too many to look at, a finding about it."""
    seen = found = 0
    waiting = [path]
    while waiting:
        directory = waiting.pop()
        try:
            entries = _listed(directory, LIMIT_CHECKED_ENTRIES - seen)
        except OSError as error:
            said = os.strerror(error.errno or 0)
            yield Target(directory, fault=unreadable(f"the directory cannot be read: {said}"))
            found += 1
            continue
        seen += len(entries)
        if any(entry.name == DESCRIPTOR_FILE and not entry.is_dir() for entry in entries):
            found += 1
            if found <= LIMIT_CHECKED_FILES:
                yield release(directory)
        if seen >= LIMIT_CHECKED_ENTRIES or found > LIMIT_CHECKED_FILES:
            message = (
                f"more than {LIMIT_CHECKED_FILES} descriptors or {LIMIT_CHECKED_ENTRIES} entries lie below"
            )
            mend = "name the directories of the extensions"
            yield Target(path, fault=unreadable(message, "RKK003", mend))
            return
        waiting += _entered(entries)
    if not found:
        mend = f"name a directory with {DESCRIPTOR_FILE}, or one above such a directory"
        yield Target(path, fault=unreadable(f"no {DESCRIPTOR_FILE} lies in it or below", "RKK002", mend))


def _listed(directory: str, most: int) -> list[os.DirEntry[str]]:
    entries = []
    with os.scandir(directory) as scanned:
        for entry in scanned:
            entries.append(entry)
            if len(entries) >= most:
                break
    return sorted(entries, key=lambda entry: os.fsencode(entry.name))


def _entered(entries: list[os.DirEntry[str]]) -> list[str]:
    """The directories to go into, the last first: they are taken from the end."""
    return [
        entry.path
        for entry in reversed(entries)
        if entry.is_dir(follow_symlinks=False) and entry.name not in PASSED_OVER
    ]


def _require_file(path: str) -> None:
    """A release holds files alone; a pipe or a device under such a name is not waited for."""
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):
        return  # reading it says why
    if not stat.S_ISREG(mode):
        raise RukhError("RKL023", f"{path} is no regular file", place=path, mend="put the file itself there")
