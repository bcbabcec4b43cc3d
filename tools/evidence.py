"""Which tests are evidence for which requirement, found by reading them.

Evidence is a named test: a function, a class or a module of `tests/` that pytest collects and that carries
`pytest.mark.requirement("RK-AREA-NNN", …)`. A mark on a row of a table counts for the table, if a collected test of the
file is parametrized by it. A mark on anything that pytest does not collect is a fault: it would never run. RK-PROC-011
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Citation:
    """`source` (`tests/values/test_reader.py::test_name`) says that it is evidence for `requirement`."""

    requirement: str
    source: str
    line: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """All citations of a tree, and what cannot count as one: lines that begin with `file:line:`."""

    citations: tuple[Citation, ...]
    faults: tuple[str, ...]


def read_evidence(base: Path) -> Evidence:
    """The evidence under `base/tests`, in order of file and line."""
    citations: list[Citation] = []
    faults: list[str] = []
    for path in sorted((base / "tests").rglob("*.py")):
        _File(path.relative_to(base).as_posix(), citations, faults).read(path.read_text(encoding="utf-8"))
    return Evidence(tuple(citations), tuple(faults))


class _File:
    """One test file: walks its definitions and hands each mark to the definition that bears it."""

    def __init__(self, name: str, citations: list[Citation], faults: list[str]) -> None:
        self.name = name
        self.citations = citations
        self.faults = faults
        self.collected = Path(name).name.startswith("test_")
        self.tables: set[str] = set()

    def read(self, text: str) -> None:
        tree = ast.parse(text, filename=self.name)
        self.tables = {
            node.id
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            and function.name.startswith("test")
            for decorator in function.decorator_list
            for node in ast.walk(decorator)
            if isinstance(node, ast.Name)
        }
        self._body(tree.body, "", self.collected)

    def _body(self, statements: list[ast.stmt], prefix: str, collected: bool) -> None:
        for statement in statements:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                bearer = f"{prefix}::{statement.name}"
                self._marks(statement.decorator_list, bearer, collected and statement.name.startswith("test"))
                self._marks(statement.body, bearer, False)
            elif isinstance(statement, ast.ClassDef):
                bearer = f"{prefix}::{statement.name}"
                inner = collected and statement.name.startswith("Test")
                self._marks(statement.decorator_list, bearer, inner)
                self._body(statement.body, bearer, inner)
            else:
                self._statement(statement, prefix, collected)

    def _statement(self, statement: ast.stmt, prefix: str, collected: bool) -> None:
        """A mark outside a definition: `pytestmark` marks what surrounds it, a table marks itself."""
        target = _assigned(statement)
        if target == "pytestmark":
            self._marks([statement], prefix, collected)
        else:
            self._marks([statement], f"{prefix}::{target}", collected and target in self.tables)

    def _marks(self, nodes: list[ast.expr] | list[ast.stmt], bearer: str, collected: bool) -> None:
        for node in nodes:
            for call in _requirement_calls(node):
                self._mark(call, bearer, collected)

    def _mark(self, call: ast.Call, bearer: str, collected: bool) -> None:
        where = f"{self.name}:{call.lineno}"
        if not collected:
            self.faults.append(
                f"{where}: pytest does not collect {bearer.strip(':') or 'this file'} as a test"
            )
            return
        ids = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        if not ids or len(ids) != len(call.args) or call.keywords:
            self.faults.append(f"{where}: a requirement is cited by literal ids alone")
        self.citations += [Citation(name, f"{self.name}{bearer}", call.lineno) for name in ids]


def _assigned(statement: ast.stmt) -> str:
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    return targets[0].id if targets and isinstance(targets[0], ast.Name) else "<statement>"


def _requirement_calls(node: ast.AST) -> Iterator[ast.Call]:
    """Every `….mark.requirement(…)` at or beneath `node`."""
    for inner in ast.walk(node):
        if (
            isinstance(inner, ast.Call)
            and isinstance(inner.func, ast.Attribute)
            and inner.func.attr == "requirement"
        ):
            value = inner.func.value
            if isinstance(value, ast.Attribute) and value.attr == "mark":
                yield inner
