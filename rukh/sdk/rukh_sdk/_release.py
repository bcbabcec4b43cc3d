"""Imports from a release: source from its read-only tree, byte code from the host's cache.

Byte code lies at `<cache>/<path without .py>.<cache tag>.pyc`, made when the release was staged. It names its
source by hash and is not checked against it, because the tree of a release never changes. Where there is none, or it
is of another interpreter, the source is compiled and nothing is written. RK-SDK-006
"""

from __future__ import annotations

import _frozen_importlib_external as machinery
import _imp
import sys
from marshal import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any

_HEADER = 16  # bytes: magic number, flags, hash of the source (PEP 552)
_UNCHECKED = b"\x01\x00\x00\x00"  # by hash, and not to be checked


def install(release: str, cache: str) -> None:
    """Put `release` first on the path, as the directory of a script is."""
    loaders: list[tuple[Any, list[str]]] = [
        (machinery.ExtensionFileLoader, _imp.extension_suffixes()),
        (_loader(release, cache), [".py"]),
    ]
    hook = machinery.FileFinder.path_hook(*loaders)

    def inside(path: str) -> Any:
        if path != release and not path.startswith(release + "/"):
            raise ImportError
        return hook(path)

    sys.path_hooks.insert(0, inside)
    sys.path.insert(0, release)
    sys.dont_write_bytecode = True


def _loader(release: str, cache: str) -> Callable[[str, str], CachedLoader]:
    def make(name: str, path: str) -> CachedLoader:
        inside = path[len(release) : -len(".py")]
        return CachedLoader(name, path, f"{cache}{inside}.{sys.implementation.cache_tag}.pyc")

    return make


class CachedLoader(machinery.SourceFileLoader):
    """A source file whose byte code may lie at `cached`."""

    def __init__(self, name: str, path: str, cached: str) -> None:
        super().__init__(name, path)
        self._cached = cached

    def get_code(self, fullname: str) -> CodeType | None:
        try:
            data = self.get_data(self._cached)
        except OSError:
            return super().get_code(fullname)
        if data[:8] != machinery.MAGIC_NUMBER + _UNCHECKED:
            return super().get_code(fullname)
        code: CodeType = loads(memoryview(data)[_HEADER:])
        _imp._fix_co_filename(code, self.path)  # type: ignore[attr-defined]  # tracebacks name the release, not the staging directory
        return code
