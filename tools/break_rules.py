"""Each rule broken, one place at a time, and the tests that name it: every break must be seen. RK-PROC-019

    python -m tools.break_rules [--workers W] [--out FILE] [RULE …]

A place is where production writes a rule's name: in a statement that refuses, or in a table. A statement that does
nothing else (`raise …`, `report.add(…)`) is taken out; of any other the rule is changed into another one with the same
exit status, so that only whoever looks at the rule can tell. Breaks stand in copies of the tree with an environment of
their own, never in the tree itself. The tests of a break are the files that name the rule, by themselves or through a
vector file, and those that name the broken module or are of its room: first the tests that name the rule themselves,
then whole files, the likeliest first, and the first red ends it. At the end every test that saw a break runs without
any, and must pass.

Prints a line for each break that no test saw, and one line at the end; exits 1 where `_ALIKE` does not say why such a
break changes nothing that anybody could see.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rukh.values.rules import RULES

ROOT = Path(__file__).resolve().parent.parent
_RULE = re.compile(r"RK[A-Z][0-9]{3}")
_LISTS = {"rules.py", "registry.py"}
# How a test takes a vector file, and a module of helpers.
_VECTORS = r'["/]{}(?:\.json)?"'
_HELPER = r"tests\.support(?:\.{0} import| import [^\n]*\b{0}\b)"
_SECONDS = 300  # for one file of tests; a break that never ends is seen too
_NEVER = "a run that never ends"
_FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+)", re.MULTILINE)
# Whoever runs this in the background may have these signals ignored, and would hand that down to the tests.
_PYTEST = """import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)
runpy.run_module("pytest", run_name="__main__")"""
_NO_TESTS = 5  # the exit status of pytest where nothing was selected
# What a copy of the tree does not need.
_LEFT = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__", ".*_cache", ".hypothesis")
# "file rule text": why no test can tell. The text is the first line of the statement.
_ALIKE = {
    'rukh/sources/staging.py RKT063 data = read_file(path, LIMIT_DESCRIPTOR_BYTES, "RKT063")': (
        "whatever the reading says becomes RKT063 two lines below"
    ),
    'rukh/mcp/conditions.py RKD006 "foreground": ("RKD006",),': (
        "no release holds another lifetime, whatever else its descriptor says"
    ),
    'rukh/mcp/conditions.py RKD029 "features": ("RKD027", "RKD029"),': (
        "no release holds an unknown feature, whatever else its descriptor says"
    ),
    "rukh/host/mending.py RKS007 failures[finding] = "
    'RukhError("RKS007", reason, place=finding.place, mend=finding.mend)': (
        "a finding that is left keeps its own rule, and takes the message"
    ),
}


class Break(NamedTuple):
    """One changed statement: the lines `first` to `last` (from 1) of `file` become `text`."""

    rule: str
    file: str
    first: int
    last: int
    text: str
    kind: str

    def applied(self, source: str) -> str:
        """The source of the file with the break in it."""
        lines = source.splitlines(keepends=True)
        return "".join([*lines[: self.first - 1], self.text, *lines[self.last :]])


def breaks(root: Path = ROOT) -> list[Break]:
    """Every break of production below `root`, in the order of its files."""
    found: list[Break] = []
    for path in sorted((root / "rukh").rglob("*.py")):
        if path.name not in _LISTS:
            found += _of_file(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
    return found


def _of_file(source: str, file: str) -> Iterator[Break]:
    lines = source.splitlines(keepends=True)
    for statement in ast.walk(ast.parse(source)):
        if not isinstance(statement, ast.stmt):
            continue
        for constant in _rules_in(statement):
            yield _break(constant, statement, lines, file)


def _rules_in(statement: ast.stmt) -> Iterator[ast.Constant]:
    """The rules that are named in `statement`, and in no statement inside it."""
    waiting: list[ast.AST] = list(ast.iter_child_nodes(statement))
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _RULE.fullmatch(node.value):
            yield node
        if not isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            waiting += ast.iter_child_nodes(node)


def _break(constant: ast.Constant, statement: ast.stmt, lines: Sequence[str], file: str) -> Break:
    rule = constant.value
    assert isinstance(rule, str)
    if isinstance(statement, ast.Raise | ast.Expr):
        last = statement.end_lineno or statement.lineno
        begin = lines[statement.lineno - 1][: statement.col_offset]
        return Break(rule, file, statement.lineno, last, f"{begin}pass\n", "taken out")
    line = lines[constant.lineno - 1].encode()
    start, end = constant.col_offset, constant.end_col_offset
    changed = line[:start] + b'"' + _other(rule).encode() + b'"' + line[end:]
    return Break(rule, file, constant.lineno, constant.lineno, changed.decode(), "changed")


def _other(rule: str) -> str:
    """The rule most like `rule`: by its exit status first, then by whose fault it is, then of its family."""
    own = RULES[rule]

    def likeness(name: str) -> tuple[bool, ...]:
        row = RULES[name]
        return row[2] == own[2], row[:2] == own[:2], name[:3] == rule[:3]

    return max((name for name in RULES if name != rule), key=likeness)


def files_of(rule: str, root: Path = ROOT) -> list[str]:
    """The test files that name `rule`, or take vectors or helpers that do; those that name it most often first."""
    carriers = [
        pattern.format(path.stem)
        for folder, pattern in (("spec/vectors", _VECTORS), ("tests/support", _HELPER))
        for path in sorted((root / folder).iterdir())
        if path.is_file() and f'"{rule}"' in path.read_text(encoding="utf-8")
    ]
    found: list[tuple[int, int, str]] = []
    for path in _test_files(root):
        text = path.read_text(encoding="utf-8")
        named = text.count(rule) + 5 * sum(re.search(pattern, text) is not None for pattern in carriers)
        if named:
            found.append((-named, len(text), path.relative_to(root).as_posix()))
    return [file for _, _, file in sorted(found)]


def _test_files(root: Path) -> list[Path]:
    """All files of tests but those of the tools, which judge the tree and not what it does."""
    return [path for path in sorted((root / "tests").rglob("test_*.py")) if path.parent.name != "tools"]


def naming_tests(rule: str, file: str, root: Path = ROOT) -> list[str]:
    """The tests of `file` that name `rule` themselves, or by something that the file defines."""
    source = (root / file).read_text(encoding="utf-8")
    tree = ast.parse(source)
    parts = {statement: ast.get_source_segment(source, statement) or "" for statement in tree.body}
    naming = {name for part, text in parts.items() if rule in text for name in _defined(part)}
    return [
        f"{file}::{statement.name}"
        for statement, text in parts.items()
        if isinstance(statement, ast.FunctionDef) and statement.name.startswith("test_")
        if rule in _whole(source, statement, text)
        or naming.intersection(re.findall(r"\w+", _whole(source, statement, text)))
    ]


def _whole(source: str, statement: ast.FunctionDef, text: str) -> str:
    """A function with its decorators, which its own text leaves out."""
    return " ".join(
        [text, *(ast.get_source_segment(source, each) or "" for each in statement.decorator_list)]
    )


def _defined(statement: ast.stmt) -> set[str]:
    """The names that a statement of a module gives a meaning."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _speaking_of(module: str, root: Path) -> list[str]:
    """The test files in which the name of a module stands."""
    word = re.compile(rf"\b{module}\b")
    paths = sorted((root / "tests").rglob("test_*.py"))
    return [
        path.relative_to(root).as_posix() for path in paths if word.search(path.read_text(encoding="utf-8"))
    ]


class Copy:
    """A copy of the tree with an environment of its own, whose `rukh` is the copy's."""

    def __init__(self, base: Path) -> None:
        base.mkdir()
        self.root = base / "tree"
        shutil.copytree(ROOT, self.root, ignore=_LEFT)
        shared = ROOT.parent / "shared"
        if shared.exists():
            (base / "shared").symlink_to(shared)
        environment = self.root / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        self.python = environment / "bin" / "python"
        paths = f"{self.root}\n{sysconfig.get_path('purelib')}\n"
        (_site(environment) / "tree.pth").write_text(paths, encoding="utf-8")
        script = environment / "bin" / "rukh"
        script.write_text(f"#!{self.python}\nfrom rukh.reference import main\nmain()\n", encoding="utf-8")
        script.chmod(0o755)
        self._written = time.time_ns()

    def seen(self, each: Break) -> str:
        """The test that saw the break; "" where none did."""
        path = self.root / each.file
        source = path.read_text(encoding="utf-8")
        self._write(path, each.applied(source))
        try:
            return next(filter(None, map(self.red, filter(None, self._runs(each)))), "")
        finally:
            self._write(path, source)

    def _runs(self, each: Break) -> Iterator[list[str]]:
        """What to run until one is red, the likeliest first."""
        files = files_of(each.rule, self.root)
        room = f"tests/{each.file.split('/')[1]}"
        others = [file for file in _speaking_of(Path(each.file).stem, self.root) if file not in files]
        yield [test for file in files for test in naming_tests(each.rule, file, self.root)]
        yield from ([file] for file in files)
        yield others
        yield [room] if (self.root / room).is_dir() else []

    def _write(self, path: Path, text: str) -> None:
        """Byte code is told by the second of a change and the size; no two states of a file share the second."""
        path.write_text(text, encoding="utf-8")
        self._written += 2_000_000_000
        os.utime(path, ns=(self._written, self._written))

    def red(self, words: Sequence[str]) -> str:
        """The first test that fails, without its parameters; "" where all pass, or none was selected."""
        command = [os.fspath(self.python), "-c", _PYTEST, "-x", "-q", "-p", "no:cacheprovider", *words]
        process = subprocess.Popen(
            command,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )
        try:
            said, _ = process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            return _NEVER
        finally:
            _end(process)
        if process.returncode in (0, _NO_TESTS):
            return ""
        failed = _FAILED.search(said)
        return failed[1] if failed else f"exit status {process.returncode}"


def _end(process: subprocess.Popen[str]) -> None:
    """Nothing of a run of tests is left behind, whatever the break made of it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # the usual end
    process.wait()


def _site(environment: Path) -> Path:
    return Path(sysconfig.get_path("purelib", vars={"base": str(environment), "platbase": str(environment)}))


def _judged_all(
    wanted: Sequence[Break], base: Path, workers: int, out: Path | None
) -> Iterator[tuple[Break, str]]:
    """Every break with the test that saw it, in their order; a line is printed for each that none saw."""
    copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    for number in range(workers):
        copies.put(Copy(base / str(number)))

    def judged(each: Break) -> str:
        copy = copies.get()
        try:
            return copy.seen(each)
        finally:
            copies.put(copy)

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for each, seen in zip(wanted, pool.map(judged, wanted), strict=True):
            if out:
                with out.open("a", encoding="utf-8") as log:
                    log.write(json.dumps({**each._asdict(), "seen": seen}) + "\n")
            if not seen:
                print(f"unseen, {each.kind}: line {each.first}: {_told(each)}", flush=True)
            yield each, seen


def _told(each: Break) -> str:
    line = (ROOT / each.file).read_text(encoding="utf-8").splitlines()[each.first - 1].strip()
    return f"{each.file} {each.rule} {line}"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.break_rules", description=__doc__)
    parser.add_argument("rules", nargs="*", metavar="RULE")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a JSON line for each break, as it is judged")
    options = parser.parse_args(words)
    wanted = [each for each in breaks() if not options.rules or each.rule in options.rules]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rukh-breaks-") as base:
        judged = list(_judged_all(wanted, Path(base), options.workers, options.out))
        sound = Copy(Path(base) / "sound").red(sorted({seen for _, seen in judged if "::" in seen}))
    unseen = [_told(each) for each, seen in judged if not seen]
    alike = [told for told in unseen if told in _ALIKE]
    if sound:
        print(f"red without any break: {sound}")
    print(
        f"breaks={len(wanted)} rules={len({each.rule for each in wanted})} seen={len(wanted) - len(unseen)}"
        f" alike={len(alike)} unseen={len(unseen) - len(alike)} seconds={time.monotonic() - began:.0f}"
    )
    return 0 if len(unseen) == len(alike) and not sound else 1


if __name__ == "__main__":
    sys.exit(main())
