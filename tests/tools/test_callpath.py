"""The list of the call path: against the source, against small programs, and against a real call."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support import echo, probe
from tests.support.homes import InstalledHome
from tests.support.trees import write_tree
from tools import callpath
from tools.callpath import Listed, Observed
from tools.modules import read_modules

LISTED = Listed(frozenset({"rukh.app", "rukh.values.reader"}), frozenset({"__future__", "os", "apsw"}))
SOURCE = {
    "rukh/__init__.py": "",
    "rukh/app.py": "from __future__ import annotations\nimport os\nfrom os import sep\nfrom rukh.values import reader",
    "rukh/values/__init__.py": "",
    "rukh/values/reader.py": "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import typing\ndef f():\n    import json\n",
    "rukh/cli/help.py": "import click\n",
}

# name: (file, its text, every fault)
SOURCE_BREAKS = {
    "an outside module": (
        "rukh/app.py",
        "import json\n",
        ["rukh.app:1: imports json, which the list does not hold"],
    ),
    "a name of one": (
        "rukh/app.py",
        "from dataclasses import dataclass\n",
        ["rukh.app:1: imports dataclasses, which the list does not hold"],
    ),
    "a module of ours": (
        "rukh/app.py",
        "from rukh.cli import help\n",
        ["rukh.app:1: imports rukh.cli.help, which the list does not hold"],
    ),
    "in the front of a listed module's room": (
        "rukh/values/__init__.py",
        "import json\n",
        ["rukh.values:1: imports json, which the list does not hold"],
    ),
    "inside a class": (
        "rukh/app.py",
        "class A:\n    import json\n",
        ["rukh.app:2: imports json, which the list does not hold"],
    ),
}


def test_the_committed_list_agrees_with_the_source() -> None:
    listed = callpath.read_list()

    assert [] == callpath.source_faults(listed, read_modules(callpath.ROOT, "rukh"))
    assert "rukh.reference" in listed.own


def test_lazy_imports_and_imports_for_types_are_no_part_of_loading(tmp_path: Path) -> None:
    modules = read_modules(write_tree(tmp_path, SOURCE), "rukh")

    assert [] == callpath.source_faults(LISTED, modules)


@pytest.mark.requirement("RK-PROC-003")
@pytest.mark.parametrize("name", SOURCE_BREAKS)
def test_a_listed_module_that_loads_more_is_named(tmp_path: Path, name: str) -> None:
    path, text, expected = SOURCE_BREAKS[name]
    modules = read_modules(write_tree(tmp_path, SOURCE | {path: text}), "rukh")

    assert expected == callpath.source_faults(LISTED, modules)


@pytest.mark.requirement("RK-PROC-003", "RK-PROC-004")
def test_a_listed_name_without_module_and_a_forbidden_one_are_named(tmp_path: Path) -> None:
    modules = read_modules(write_tree(tmp_path, SOURCE), "rukh")
    listed = Listed(LISTED.own | {"rukh.gone"}, LISTED.outside | {"uuid"})

    assert ["rukh.gone: listed, and there is no such module", "uuid: forbidden on the path of a call"] == (
        callpath.source_faults(listed, modules)
    )


def run(*modules: str) -> Observed:
    return Observed(0, b"", b"", frozenset(modules))


CLOSURE = frozenset({"__future__", "os", "posix", "apsw", "collections"})
WHOLE = run(
    "__future__",
    "rukh",
    "rukh.app",
    "rukh.values",
    "rukh.values.reader",
    "os",
    "posix",
    "apsw",
    "collections",
)

# name: (modules of the run, every fault)
RUN_BREAKS = {
    "a module of ours": (("rukh.cli",), ["rukh.cli: loaded, and not in the list"]),
    "an outside module": (("json",), ["json: loaded, and not in the list"]),
    "a part of a forbidden one": (("logging.handlers",), ["logging.handlers: forbidden, and loaded"]),
}


def test_runs_that_load_together_what_is_listed_are_accepted() -> None:
    runs = [run("rukh", "rukh.app", "os"), run("rukh.values.reader", "apsw", "__future__")]

    assert [] == callpath.beyond(LISTED, [WHOLE], CLOSURE)
    assert [] == callpath.beyond(LISTED, runs, CLOSURE)
    assert [] == callpath.unused(LISTED, runs)


@pytest.mark.requirement("RK-PROC-003", "RK-PROC-004")
@pytest.mark.parametrize("name", RUN_BREAKS)
def test_a_run_that_loads_more_is_named(name: str) -> None:
    extra, expected = RUN_BREAKS[name]

    assert expected == callpath.beyond(LISTED, [WHOLE, run(*extra)], CLOSURE)


@pytest.mark.requirement("RK-PROC-003")
def test_a_listed_module_that_no_run_loads_is_named() -> None:
    assert ["apsw: in the list, and never loaded"] == callpath.unused(
        LISTED, [run(*WHOLE.modules - {"apsw"})]
    )


PROGRAM = """\
import os, sys
def main():
    child = os.fork()
    if child == 0:
        import colorsys
        os._exit(0)
    os.waitpid(child, 0)
    import stringprep
    print(*sys.argv)
    os._exit(7)
"""


@pytest.mark.requirement("RK-PROC-003", "RK-PROC-004")
def test_what_a_forked_process_loads_is_observed_too(tmp_path: Path) -> None:
    base = write_tree(tmp_path, {"program.py": PROGRAM})
    seen = callpath.observe(["a", "b"], {"PYTHONPATH": os.fspath(base)}, entry="program:main")

    assert (7, b"") == (seen.status, seen.stderr)
    assert {"program", "colorsys", "stringprep"} <= seen.modules


def test_the_closure_of_the_outside_part_is_what_a_bare_interpreter_loads_for_it() -> None:
    closure = callpath.outside_closure(Listed(frozenset(), frozenset({"selectors"})), sys.executable)

    assert {"selectors", "select", "os"} <= closure
    assert "json" not in closure


CALLS = {
    "a result for a person": ["echo", "say", "one", "--decimal", "1.20", "--string-list=a"],
    "one document": ["echo", "say", "--json", "--no-on", "--", "-4"],
    "the envelope of a text": ["echo", "speak", "words", "--envelope"],
    "a passthrough program": ["tools", "nothing", "--any", "words"],
}


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[Observed]:
    """Real calls of an installed command from the terminal, with every module that their processes loaded."""
    home = InstalledHome(tmp_path_factory.mktemp("calls"))
    home.install(
        {**echo.FILES, **probe.FILES}, commands=[*echo.commands(), probe.command("nothing", "bin/nothing")]
    )
    home.expose(more=probe.GRANT.format(command="nothing").replace(probe.PACKAGE, home.package))
    environment = {"RUKH_HOME": home.path, "HOME": home.path, "PATH": "/usr/bin:/bin"}
    return [callpath.observe(words, environment) for words in CALLS.values()]


@pytest.mark.requirement("RK-PROC-003", "RK-PROC-004")
def test_real_calls_load_together_exactly_what_is_listed(calls: list[Observed]) -> None:
    listed = callpath.read_list()

    assert [(0, b"")] * len(CALLS) == [(call.status, call.stderr) for call in calls]
    assert [] == callpath.beyond(listed, calls, callpath.outside_closure(listed))
    assert [] == callpath.unused(listed, calls)
