"""The modules of a source tree and what each imports, found by reading them: nothing is executed.

An import is of one of three times. `module`: it happens when the module is loaded. `lazy`: it stands in a function, and
happens when that runs. `types`: it stands under `if TYPE_CHECKING:` and never happens.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DYNAMIC = {"import_module", "__import__"}


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name: `target` is absolute and dotted, `when` is module, lazy or types."""

    target: str
    line: int
    when: str


@dataclass(frozen=True, slots=True)
class Module:
    """One source file: dotted `name`, its `path`, and its imports in the order of their lines."""

    name: str
    path: Path
    imports: tuple[Import, ...]


def module_name(path: Path, base: Path) -> str:
    """`rukh/values/__init__.py` under `base` is `rukh.values`."""
    parts = list(path.relative_to(base).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def read_modules(base: Path, package: str) -> dict[str, Module]:
    """Every module of `base/package`, by dotted name."""
    found = {}
    for path in sorted((base / package).rglob("*.py")):
        name = module_name(path, base)
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        found[name] = Module(name, path, tuple(_imports(tree, name, path.name == "__init__.py")))
    return found


def _imports(tree: ast.Module, name: str, is_package: bool) -> Iterator[Import]:
    for node, when in _walk(tree, "module"):
        for target in _targets(node, name, is_package):
            yield Import(target, getattr(node, "lineno", 0), when)


def _walk(node: ast.AST, when: str) -> Iterator[tuple[ast.AST, str]]:
    """Every node with the time at which it would be reached."""
    for child in ast.iter_child_nodes(node):
        inner = when
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and when == "module":
            inner = "lazy"
        yield child, inner
        if isinstance(child, ast.If) and _is_type_checking(child.test):
            for part in child.body:
                yield part, "types"
                yield from _walk(part, "types")
            for part in child.orelse:
                yield part, inner
                yield from _walk(part, inner)
        else:
            yield from _walk(child, inner)


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _targets(node: ast.AST, name: str, is_package: bool) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return _from_targets(node, name, is_package)
    if isinstance(node, ast.Call):
        return _dynamic_targets(node)
    return []


def _from_targets(node: ast.ImportFrom, name: str, is_package: bool) -> list[str]:
    """`from a.b import c` may mean the name `c` of `a.b` or the module `a.b.c`: it is written as `a.b.c`."""
    base = node.module or ""
    if node.level:
        package = name if is_package else name.rpartition(".")[0]
        for _ in range(node.level - 1):
            package = package.rpartition(".")[0]
        base = f"{package}.{base}" if base else package
    return [f"{base}.{alias.name}" for alias in node.names]


def _dynamic_targets(node: ast.Call) -> list[str]:
    """`import_module("a.b")` with a literal, or with an f-string whose beginning is one."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called not in DYNAMIC or not node.args:
        return []
    first = node.args[0]
    if isinstance(first, ast.JoinedStr) and first.values:
        first = first.values[0]
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return [first.value.rstrip(".")]
    return []
