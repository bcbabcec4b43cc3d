"""`rukh check` beyond the descriptor: examples are tried, entries looked up, and nothing is run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rukh.cli.admin.check_python import Module, Unreadable
from tests.contract.documents import load, patched
from tests.support.commandline import Answer, Run

ROOT = Path(__file__).resolve().parents[2]
NOTES = ROOT / "examples" / "notes"
EXPLANATIONS = load("spec/explanations.json")
BASE = EXPLANATIONS["base"]
MODULE = EXPLANATIONS["rules"]["RKK007"]["right"]
DESCRIPTOR = "rukh-extension.json"
E = "/commands/0/execute/mapping/entry"


def changed(*patch: tuple[str, Any]) -> Any:
    return patched(BASE, [{"op": "replace", "path": path, "value": value} for path, value in patch])


def release(
    descriptor: Any = BASE, module: str = MODULE, mode: int = 0o755, name: str = "acme_notes.py"
) -> None:
    """The release `x` in the working directory."""
    for path, text in {f"x/{name}": module, "x/bin/open": "#!/bin/sh\n"}.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).write_text(text)
    os.chmod("x/bin/open", mode)
    Path("x", DESCRIPTOR).write_text(json.dumps(descriptor, indent=1))


def findings(shown: Answer) -> list[dict[str, Any]]:
    (file,) = json.loads(shown[1])["files"]
    return list(file["diagnostics"])


def found(run: Run, *words: str) -> list[tuple[str, str]]:
    return [(one["rule"], one["pointer"]) for one in findings(run("check", "x", "--json", *words))]


# Files


@pytest.mark.requirement("RK-CHECK-011")
def test_what_is_there_and_executable_is_fine(run: Run) -> None:
    release()
    assert (0, f"x/{DESCRIPTOR}: no findings\n", "") == run("check", "x", "--strict")


def with_runtime(kind: str, entry: list[str]) -> Any:
    return changed(("/runtime", {"kind": kind}), (E, entry))


def gone(path: str) -> None:
    os.remove(path)


def linked(path: str) -> None:
    os.replace(path, "x/real")
    os.symlink(os.path.relpath("x/real", os.path.dirname(path)), path)


def directory(path: str) -> None:
    os.remove(path)
    os.mkdir(path)


def plain(path: str) -> None:
    os.chmod(path, 0o644)


PROGRAM = "/commands/1/execute/mapping/program/0"
# What is done to which file, and the finding; without it there is none.
FILES: dict[str, tuple[Callable[[str], None], str, str, str]] = {
    "no module": (gone, "x/acme_notes.py", "RKK004", E),
    "a link in place of a module": (linked, "x/acme_notes.py", "RKK004", E),
    "no program": (gone, "x/bin/open", "RKK004", PROGRAM),
    "a directory in place of a program": (directory, "x/bin/open", "RKK004", PROGRAM),
    "a program that is not executable": (plain, "x/bin/open", "RKK005", PROGRAM),
}


@pytest.mark.requirement("RK-CHECK-011")
@pytest.mark.parametrize("name", FILES)
def test_an_entry_that_leads_nowhere_is_an_error_at_the_entry(run: Run, name: str) -> None:
    breaks, path, rule, pointer = FILES[name]
    release()
    assert [] == found(run)
    breaks(path)
    assert [(rule, pointer)] == found(run)
    assert 1 == run("check", "x")[0]


@pytest.mark.requirement("RK-CHECK-011")
def test_a_native_program_must_be_executable_and_a_script_need_not(run: Run) -> None:
    release(with_runtime("native", ["lib/add", "fixed"]))
    os.mkdir("x/lib")
    Path("x/lib/add").write_text("")
    assert [("RKK005", f"{E}/0")] == found(run)
    os.chmod("x/lib/add", 0o755)
    assert [] == found(run)
    release(with_runtime("node", ["lib/add.cjs"]))
    Path("x/lib/add.cjs").write_text("")
    assert [] == found(run)


@pytest.mark.requirement("RK-CHECK-011")
@pytest.mark.parametrize("name", ["acme/notes.py", "acme/notes/__init__.py"])
def test_a_dotted_module_is_a_file_or_a_package(run: Run, name: str) -> None:
    release(changed((E, "acme.notes:add")), name=name)
    assert [] == found(run)
    os.remove(f"x/{name}")
    assert [("RKK004", E)] == found(run)


@pytest.mark.requirement("RK-CHECK-016")
def test_descriptor_only_looks_at_no_other_file(run: Run) -> None:
    release(changed(("/commands/0/examples", [{"argv": ["notes", "add", "--nope"]}])))
    os.remove("x/acme_notes.py")
    assert [("RKK010", "/commands/0/examples/0/argv/2"), ("RKK004", E)] == found(run)
    assert [("RKK010", "/commands/0/examples/0/argv/2")] == found(run, "--descriptor-only")


@pytest.mark.requirement("RK-CHECK-011", "RK-CHECK-001")
def test_a_descriptor_of_another_name_stands_alone(run: Run) -> None:
    release()
    os.remove("x/acme_notes.py")
    os.replace(f"x/{DESCRIPTOR}", "x/draft.json")
    assert 0 == run("check", "x/draft.json")[0]
    os.replace("x/draft.json", f"x/{DESCRIPTOR}")
    assert 1 == run("check", f"x/{DESCRIPTOR}")[0]


# Python

S = "import rukh_sdk\n"
D = '@rukh_sdk.command("add")\n'
F = "def add(inputs, context):\n    return {}\n"

# Source, the rule, and line and column in it.
WRONG = {
    "an error of syntax": (S + D + "def add(:\n", "RKK006", 3, 9),
    "no source": ("\x00", "RKK006", 1, 1),
    "brackets without end": ("(" * 300, "RKK006", 1, 200),
    "no such function": (S + D + "def ad(inputs, context):\n    return {}\n", "RKK007", 1, 1),
    "a function inside of another": (
        S + "def make():\n    def add(inputs, context):\n        return {}\n", "RKK007", 1, 1),
    "imported under another name": ("from acme_more import add as other\n", "RKK007", 1, 1),
    "a method": (S + "class A:\n    def add(self):\n        return {}\n", "RKK007", 1, 1),
    "bound to no command": (S + F, "RKK008", 2, 1),
    "no SDK at all": (F, "RKK008", 1, 1),
    "bound to another command": (S + '@rukh_sdk.command("list")\n' + F, "RKK008", 3, 1),
    "bound by keyword to another": (S + '@rukh_sdk.command(identifier="list")\n' + F, "RKK008", 3, 1),
    "bound under another name to another": (
        "from rukh_sdk import command as c\n@c('list')\n" + F, "RKK008", 3, 1),
    "bound by the module under another name to another": (
        "import rukh_sdk as r\n@r.command('list')\n" + F, "RKK008", 3, 1),
    "bound twice, the outer one wrong": (S + '@rukh_sdk.command("list")\n' + D + F, "RKK008", 4, 1),
    "bound to another around something unknown": (
        S + '@rukh_sdk.command("list")\n@cache\n' + F, "RKK008", 4, 1),
    "another kind of result": (S + '@rukh_sdk.command("add", result="text")\n' + F, "RKK009", 3, 1),
    "no result": (S + '@rukh_sdk.command("add", result=None)\n' + F, "RKK009", 3, 1),
    "below a condition": (S + "if 1:\n    " + F.replace("\n", "\n    "), "RKK008", 3, 5),
}  # fmt: skip


@pytest.mark.requirement("RK-CHECK-013")
@pytest.mark.parametrize("name", WRONG)
def test_what_is_plainly_wrong_in_a_module_is_an_error_at_its_line(run: Run, name: str) -> None:
    source, rule, line, column = WRONG[name]
    release(module=source)
    (one,) = findings(run("check", "x", "--json"))
    assert (rule, E, "x/acme_notes.py") == (one["rule"], one["pointer"], one["file"])
    assert line == one["line"]
    assert column == one["column"] or name == "brackets without end"
    release(module=S + D + F)
    assert [] == found(run)


# Nothing plain is wrong with any of these, whatever running them would do.
OPEN = {
    "imported from elsewhere": "from acme_more import add\n",
    "imported whole": "from acme_more import *\n",
    "assigned": S + 'add = rukh_sdk.command("add")(lambda inputs, context: {})\n',
    "bound by a call": S + F + 'rukh_sdk.command("add")(add)\n',
    "bound by a name of its own": "import rukh_sdk as r\nbind = r.command\n@bind('add')\n" + F,
    "decorated by something unknown": S + "from acme_more import wrap\n@wrap\n" + F,
    "defined twice": S + "if 1:\n    def add(): ...\nelse:\n    " + D + "    " + F.replace("\n", "\n    "),
    "written into globals": S + "globals()['add'] = 1\n",
    "made by an exec": "exec('def add(): ...')\n",
    "asked for by name": "def __getattr__(name):\n    return 1\n",
    "set on the module": "import sys\nsetattr(sys.modules[__name__], 'add', 1)\n",
    "assigned by a function": "def make():\n    global add\n    add = 1\nmake()\n",
    "marked by hand": F + "add.__rukh_command__ = ('add', 'structured')\n",
    "an id that is no literal": S + "ID = 'add'\n@rukh_sdk.command(ID)\n" + F,
    "a result that is no literal": S + "R = 'structured'\n@rukh_sdk.command('add', result=R)\n" + F,
    "arguments from elsewhere": S + "A = ('add',)\n@rukh_sdk.command(*A)\n" + F,
    "options from elsewhere": S + "O = {'identifier': 'add'}\n@rukh_sdk.command(**O)\n" + F,
    "an unknown decorator around the right one": S + "import functools\n@functools.cache\n" + D + F,
    "an unknown decorator around a wrong one": S + '@wrap\n@rukh_sdk.command("list")\n' + F,
    "bound in a with": "with open('x') as add:\n    pass\n",
    "bound by a walrus": "(add := 1)\n",
    "bound by a match of a list": "match 1:\n    case [*add]:\n        pass\n",
    "bound by a match of a mapping": "match 1:\n    case {**add}:\n        pass\n",
    "bound by a decorator of a like name": "from .rukh_sdk import command\n@command('list')\n" + F,
    "bound by an except": "try:\n    pass\nexcept OSError as add:\n    pass\n",
    "a class": "class add:\n    pass\n",
    "a string that Python warns of": S + D + F + 'X = "\\d"\n',
}


@pytest.mark.requirement("RK-CHECK-013")
@pytest.mark.parametrize("name", OPEN)
def test_what_the_source_leaves_open_is_no_finding(run: Run, name: str) -> None:
    release(module=OPEN[name])
    assert [] == found(run)
    release(module="x = 1\n")
    assert ["RKK007"] == [rule for rule, _ in found(run)]


@pytest.mark.requirement("RK-CHECK-013")
def test_the_decorator_of_a_text_result_is_judged_by_the_declared_kind(run: Run) -> None:
    text = changed(("/commands/0/execute/result", {"kind": "text"}))
    release(text, S + D + F)
    assert ["RKW010", "RKK009"] == [rule for rule, _ in found(run)]
    for known in ('result="text"', "**OPTIONS"):
        release(text, S + f'OPTIONS = {{"result": "text"}}\n@rukh_sdk.command("add", {known})\n' + F)
        assert ["RKW010"] == [rule for rule, _ in found(run)]


@pytest.mark.requirement("RK-CHECK-013")
def test_a_function_without_declared_result_may_be_bound_with_the_usual_kind(run: Run) -> None:
    execute = {"mapping": {"kind": "managed", "entry": "acme_notes:add"}}
    release(
        changed(("/commands/0/execute", execute), ("/commands/0/machine", {"eligible": False})), S + D + F
    )
    assert [] == found(run)


@pytest.mark.requirement("RK-CHECK-013")
def test_a_module_of_two_commands_that_does_not_parse_is_one_finding(run: Run) -> None:
    second = {
        **BASE["commands"][0],
        "id": "more",
        "path": ["notes", "more"],
        "aliases": [],
        "examples": [{"argv": ["notes", "more", "x"]}],
    }
    release({**BASE, "commands": [*BASE["commands"], second]}, "def (\n")
    assert [("RKK006", E)] == found(run)


@pytest.mark.requirement("RK-CHECK-011")
def test_code_in_the_working_directory_is_named_as_people_name_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    release(module=S + F)
    assert ["x/acme_notes.py"] == [one["file"] for one in findings(run("check", "x", "--json"))]
    monkeypatch.chdir("x")
    assert ["acme_notes.py"] == [one["file"] for one in findings(run("check", ".", "--json"))]


@pytest.mark.requirement("RK-CHECK-013")
def test_the_nearest_function_is_named(run: Run) -> None:
    release(module=S + D.replace("add", "ad") + F.replace("add", "adds"))
    (one,) = findings(run("check", "x", "--json"))
    assert ("the module has no add", "did you mean adds?") == (one["message"], one["mend"])


@pytest.mark.requirement("RK-CHECK-015")
def test_nothing_of_what_is_checked_runs(run: Run, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    release(module=f"open({str(mark)!r}, 'w')\n" + S + D + F)
    Path("x/bin/open").write_text(f"#!/bin/sh\ntouch {mark}\n")
    Path("x/rukh_sdk.py").write_text(f"open({str(mark)!r}, 'w')\n")
    assert [] == found(run)
    assert not mark.exists()
    assert not list(Path("x").rglob("*.pyc"))


@pytest.mark.requirement("RK-CHECK-013")
def test_a_module_reads_what_it_binds() -> None:
    module = Module((S + D + F + "X, (Y, *Z) = 1, (2, 3)\nfor i in []: pass\nimport os.path\n").encode())
    assert {"rukh_sdk", "add", "X", "Y", "Z", "i", "os"} == module.names
    assert ["add"] == list(module.functions)
    bound = module.functions["add"].bound
    assert bound is not None
    assert ("add", "structured", True) == (bound.identifier, bound.result, bound.known)


@pytest.mark.requirement("RK-CHECK-013")
@pytest.mark.parametrize("source", [b"\xff = 1\n", b"(" * 300, b"# coding: nope\n"])
def test_what_no_parser_takes_is_unreadable_and_never_more(source: bytes) -> None:
    assert {"x"} == Module(b"x = 1\n").names
    with pytest.raises(Unreadable) as refused:
        Module(source)
    assert refused.value.line >= 1 and refused.value.column >= 1 and str(refused.value)


@pytest.mark.requirement("RK-CHECK-013")
@pytest.mark.parametrize("source", ["-" * 200_000, "x" + ".a" * 200_000, "lambda:" * 100_000 + "0"])
def test_what_is_too_deep_for_a_tree_is_left_to_python(run: Run, source: str) -> None:
    assert Module(source.encode()).open
    release(module=source)
    assert [] == found(run)
    release(module="x = 1\n")
    assert ["RKK007"] == [rule for rule, _ in found(run)]


# Examples

A = "/commands/0/examples/0/argv"
# The words, the place, and the rule that a call with them would break.
EXAMPLES = {
    "an unknown option": (["notes", "add", "x", "--colur", "red"], f"{A}/3", "RKL001"),
    "an unknown option by an alias": (["n", "add", "x", "--colur", "red"], f"{A}/3", "RKL001"),
    "a word too many": (["notes", "add", "x", "y"], f"{A}/3", "RKL007"),
    "no value": (["notes", "add", "x", "--tag"], f"{A}/3", "RKL004"),
    "no number": (["notes", "add", "x", "--priority", "high"], f"{A}/3", "RKL009"),
    "a number out of bounds": (["notes", "add", "x", "--priority", "12"], A, "RKI010"),
    "no choice": (["notes", "add", "x", "--colour", "green"], A, "RKI014"),
    "a missing word": (["notes", "add"], A, "RKI002"),
    "a word too long": (["notes", "add", "x" * 201], A, "RKI012"),
}
FINE = {
    "every option": [
        "notes",
        "add",
        "x",
        "--tag=a",
        "-tb",
        "--priority",
        "9",
        "--colour",
        "red",
        "--no-pinned",
    ],
    "help": ["notes", "add", "--help"],
    "a result as JSON": ["notes", "add", "x", "--json"],
    "a word from a file": ["notes", "add", "--read", "title=note.txt"],
    "by an alias": ["n", "add", "x"],
}


@pytest.mark.requirement("RK-CHECK-012")
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_that_its_command_refuses_is_an_error_at_its_word(run: Run, name: str) -> None:
    argv, pointer, rule = EXAMPLES[name]
    release(changed(("/commands/0/examples", [{"argv": argv}])))
    (one,) = findings(run("check", "x", "--json"))
    assert ("RKK010", pointer, rule) == (one["rule"], one["pointer"], one["message"].split()[0])
    assert one["mend"] and one["line"] > 1
    assert 1 == run("check", "x")[0]


@pytest.mark.requirement("RK-CHECK-012")
@pytest.mark.parametrize("name", FINE)
def test_an_example_as_it_would_be_called_is_fine(run: Run, name: str) -> None:
    release(changed(("/commands/0/examples", [{"argv": FINE[name]}])))
    assert [] == found(run)


@pytest.mark.requirement("RK-CHECK-012")
def test_the_words_of_an_opaque_program_are_its_own(run: Run) -> None:
    release(changed(("/commands/1/examples", [{"argv": ["notes", "open", "--whatever", "-x"]}])))
    assert [] == found(run)


# Packing

REFUSED = {
    "code": (BASE, S + F, "RKK008", "x/acme_notes.py, /commands/0/execute/mapping/entry"),
    "an example": (
        changed(("/commands/0/examples", [{"argv": ["notes", "add"]}])), MODULE, "RKK010", f"{DESCRIPTOR}, {A}"),
}  # fmt: skip


@pytest.mark.requirement("RK-CHECK-014")
@pytest.mark.parametrize("name", REFUSED)
def test_pack_refuses_what_a_check_calls_an_error(run: Run, name: str) -> None:
    descriptor, module, rule, place = REFUSED[name]
    release(descriptor, module)
    status, _, err = run("pack", "x", "--out", "n.tar.gz", "--json")
    error = json.loads(err)["error"]
    assert (64, rule, place) == (status, error["code"], error["place"])
    assert error["line"] >= 1
    assert not os.path.exists("n.tar.gz")
    release()
    assert 0 == run("pack", "x", "--out", "n.tar.gz")[0]


@pytest.mark.requirement("RK-CHECK-014")
def test_pack_takes_what_is_only_unwise_and_names_the_faults_of_a_descriptor_itself(run: Run) -> None:
    release(changed(("/commands/0/parameters/0/type", {"kind": "string"})))
    assert ["RKW008"] == [rule for rule, _ in found(run)]
    assert 0 == run("pack", "x", "--out", "n.tar.gz")[0]
    release(changed(("/title", "")))
    status, _, err = run("pack", "x", "--out", "m.tar.gz", "--json")
    assert (64, "RKT043") == (status, json.loads(err)["error"]["code"])
    os.remove(f"x/{DESCRIPTOR}")
    assert "RKT040" == json.loads(run("pack", "x", "--out", "m.tar.gz", "--json")[2])["error"]["code"]


@pytest.mark.requirement("RK-CHECK-010", "RK-CHECK-020")
def test_the_shipped_example_and_every_new_extension_have_no_finding(run: Run) -> None:
    assert 0 == run("check", str(NOTES), "--strict")[0]
    for language in ("python", "node", "sh"):
        assert 0 == run("new", f"acme.{language}", "--lang", language, "--out", language)[0]
        assert (0, f"{language}/{DESCRIPTOR}: no findings\n", "") == run("check", language, "--strict")
