"""A Python module, read and not run: which functions it has at its top level, and which commands they are bound to.

The source is parsed, never imported or executed; nobody's code runs because somebody checks it. So only what is plain
in the source is reported, and where the source leaves a way to something else (a star import, a name that is bound
twice, a decorator of unknown making, `globals()`), nothing is. RK-CHECK-013
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

SDK = "rukh_sdk"
_COMMAND = "command"
# What can bind a name at the top level, or a function to a command, without being seen in the tree.
_HIDDEN_WAYS = frozenset(
    ("globals", "vars", "locals", "exec", "eval", "setattr", "modules", "__getattr__", "__rukh_command__")
)


class Unreadable(Exception):
    """The source is no Python of this interpreter; `line` and `column` count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class Binding:
    """A command that a function is bound to: its id and kind of result, each None where it is no literal."""

    __slots__ = ("identifier", "known", "result")

    def __init__(self, identifier: str | None, result: str | None, known: bool) -> None:
        self.identifier = identifier
        self.result = result
        self.known = known


class Function:
    """One function of the top level. `bound` is its binding, or None; `certain` whether that is all there can be."""

    __slots__ = ("bound", "certain", "column", "line")

    def __init__(self, line: int, column: int, bound: Binding | None, certain: bool) -> None:
        self.line = line
        self.column = column
        self.bound = bound
        self.certain = certain


class Module:
    """What is plain of a module: its `functions`, all `names` that it binds, and whether it can bind others unseen."""

    def __init__(self, source: bytes) -> None:
        tree = _parse(source)
        self.names: set[str] = set()
        self.functions: dict[str, Function] = {}
        self._modules: set[str] = set()
        self._commands: set[str] = set()
        self.open = tree is None
        if tree is not None:
            self._learn(tree)

    def _learn(self, tree: ast.Module) -> None:
        nodes = list(ast.walk(tree))
        self.open = any(map(_is_hidden_way, nodes))
        self._learn_imports(nodes)
        definitions = [node for node in _top(tree.body) if isinstance(node, ast.FunctionDef)]
        self._used_apart = self._uses(nodes) > sum(len(self._bindings(node)) for node in definitions)
        self._bind(tree, nodes, definitions)

    def _learn_imports(self, nodes: list[ast.AST]) -> None:
        """The names under which the module knows the SDK and its decorator."""
        for node in nodes:
            if isinstance(node, ast.Import):
                self._modules |= {name.asname or name.name for name in node.names if name.name == SDK}
            elif isinstance(node, ast.ImportFrom) and node.module == SDK and not node.level:
                self._commands |= {name.asname or name.name for name in node.names if name.name == _COMMAND}

    def _is_command(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._commands
        return (
            isinstance(node, ast.Attribute)
            and node.attr == _COMMAND
            and isinstance(node.value, ast.Name)
            and node.value.id in self._modules
        )

    def _uses(self, nodes: list[ast.AST]) -> int:
        return sum(self._is_command(node) for node in nodes)

    def _bindings(self, definition: ast.FunctionDef) -> list[Binding]:
        """The bindings by decorators, the one that holds first."""
        return [
            _binding(decorator)
            for decorator in definition.decorator_list
            if isinstance(decorator, ast.Call) and self._is_binding(decorator)
        ]

    def _is_binding(self, decorator: ast.expr) -> bool:
        return isinstance(decorator, ast.Call) and self._is_command(decorator.func)

    def _bind(self, tree: ast.Module, nodes: list[ast.AST], definitions: list[ast.FunctionDef]) -> None:
        bound = [name for node in _top(tree.body) for name in _bound_names(node)]
        bound += [name for node in nodes if isinstance(node, ast.Global) for name in node.names]
        self.names = set(bound)
        for definition in definitions:
            bindings = self._bindings(definition)
            alone = bound.count(definition.name) == 1 and not self.open
            outermost = definition.decorator_list[:1]
            plain = not outermost or self._is_binding(outermost[0])
            self.functions[definition.name] = Function(
                definition.lineno,
                definition.col_offset + 1,
                bindings[0] if bindings else None,
                alone and plain and (bool(bindings) or not self._used_apart),
            )


def _parse(source: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the source, which is not ours
            return ast.parse(source)
    except SyntaxError as error:
        raise Unreadable(error.msg, max(error.lineno or 1, 1), max(error.offset or 1, 1)) from error
    except ValueError as error:
        raise Unreadable(str(error), 1, 1) from error
    except (RecursionError, MemoryError):
        return None  # too deep for a tree, which says nothing of what Python does with it


def _is_hidden_way(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return any(name.name == "*" for name in node.names)
    if isinstance(node, ast.FunctionDef):
        return node.name in _HIDDEN_WAYS
    if isinstance(node, ast.Constant):
        return node.value == "__rukh_command__"
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name in _HIDDEN_WAYS


def _top(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Every node that runs in the module's own scope: not what stands in functions, classes and lambdas."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _bound_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import):
        return [name.asname or name.name.partition(".")[0] for name in node.names]
    if isinstance(node, ast.ImportFrom):
        return [name.asname or name.name for name in node.names]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        return [node.id]
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return [node.name] if node.name else []
    return [node.rest] if isinstance(node, ast.MatchMapping) and node.rest else []


def _binding(call: ast.Call) -> Binding:
    """What `command(identifier, result=…)` says, as far as it says it in literals."""
    given: dict[str, ast.expr] = {"identifier": call.args[0]} if call.args else {}
    given |= {word.arg: word.value for word in call.keywords if word.arg}
    identifier = given.get("identifier")
    result = given.get("result", ast.Constant("structured"))
    literal = isinstance(identifier, ast.Constant) and isinstance(identifier.value, str)
    return Binding(
        identifier.value if literal else None,  # type: ignore[union-attr]  # `literal` is that it is a constant
        # A constant of another type is none of the kinds, and is judged as such.
        result.value if isinstance(result, ast.Constant) else None,  # type: ignore[arg-type]
        literal and isinstance(result, ast.Constant) and all(word.arg for word in call.keywords),
    )
