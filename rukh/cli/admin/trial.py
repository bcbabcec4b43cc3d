"""The verb `test`: the cases of an extension, run by the path that its users will take. RK-AUTHOR-052

The extension is packed, signed with a key made for this, and installed in a home made for this; then each case is a
call from a terminal and, where the command can be a tool, the same call over MCP, judged by the same expectation. Exit
0 when all passed, 1 when one did not. RK-AUTHOR-055
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from rukh.cli.admin.shown import Shown, json_option
from rukh.cli.admin.trial_home import TrialHome, described
from rukh.cli.admin.trial_surfaces import Agent, Terminal, TimedOut
from rukh.cli.context import Context
from rukh.cli.files import read_named
from rukh.cli.text import printable
from rukh.contract.cases import AGENT, CASES_FILE, TERMINAL, Case, Cases, read_cases
from rukh.contract.expectation import ABSENT, Difference, differences
from rukh.sources.release import DESCRIPTOR_FILE
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_DESCRIPTOR_BYTES

FORMAT = "rukh.trial/1"
_FAILED = 1
_SHOWN = 400  # characters of a value in a difference
_ENDING = (signal.SIGTERM, signal.SIGHUP)


@click.command("test")
@click.argument("directory", metavar="DIR")
@click.option(
    "--filter", "wanted", default="", metavar="TEXT", help="Only the cases with TEXT in their name."
)
@json_option
@click.pass_obj
def test_verb(context: Context, directory: str, wanted: str, as_json: bool) -> Shown:
    """Run the cases of the extension in DIR in a throw-away home: exit 0 when all pass, 1 when one fails."""
    descriptor = described(_file(directory, DESCRIPTOR_FILE, "RKT040"))
    cases = read_cases(_file(directory, CASES_FILE, "RKX015"), descriptor)
    chosen = _chosen(cases, wanted)
    with _unhurried(), TrialHome(directory) as home:
        home.install(descriptor["package"], cases.environment)
        rows = list(_run(chosen, context.program, home, descriptor))
    failed = sum(not row["passed"] for row in rows)
    document = {
        "format": FORMAT,
        "package": descriptor["package"],
        "version": descriptor["version"],
        "passed": len(rows) - failed,
        "failed": failed,
        "cases": rows,
    }
    return Shown(document, json=as_json, text=_text(document), status=_FAILED if failed else 0)


def _file(directory: str, name: str, rule: str) -> bytes:
    path = os.path.join(directory, name)
    if not os.path.exists(path):
        mend = "name the directory of an extension" if rule != "RKX015" else f"write {name}; see rukh new"
        raise RukhError(rule, f"there is no {name}", place=directory, mend=mend)
    return read_named(path, LIMIT_DESCRIPTOR_BYTES)


def _chosen(cases: Cases, wanted: str) -> list[Case]:
    chosen = [case for case in cases.cases if wanted in case.name]
    if not chosen:
        names = ", ".join(case.name for case in cases.cases)
        raise RukhError(
            "RKX016", f"no case has {wanted!r} in its name", place="--filter", mend=f"they are: {names}"
        )
    return chosen


@contextmanager
def _unhurried() -> Iterator[None]:
    """Have a signal that ends this process unwind it, so that nothing of the test is left. RK-AUTHOR-054"""
    before = {number: signal.signal(number, signal.default_int_handler) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(
    cases: list[Case], program: list[str], home: TrialHome, descriptor: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """One row a case and surface, case by case."""
    terminal, agent = Terminal(program, home, descriptor), Agent(program, home, descriptor)
    try:
        for case in cases:
            if TERMINAL in case.surfaces:
                yield _row(case, TERMINAL, terminal)
            if AGENT in case.surfaces and agent.inputs(case) is not None:
                yield _row(case, AGENT, agent)
    finally:
        agent.close()


def _row(case: Case, surface: str, way: Terminal | Agent) -> dict[str, Any]:
    try:
        found = differences(case, way.call(case))
    except TimedOut:
        found = [Difference("time", f"an end within {case.seconds} s", "none")]
    shown = [_difference(each) for each in found]
    return {"name": case.name, "surface": surface, "passed": not shown, "differences": shown}


def _difference(found: Difference) -> dict[str, Any]:
    sides = (("expected", found.expected), ("actual", found.actual))
    return {"place": found.place, **{name: value for name, value in sides if value is not ABSENT}}


def _text(document: dict[str, Any]) -> str:
    lines = []
    for row in document["cases"]:
        mark = "ok  " if row["passed"] else "FAIL"
        lines.append(f"{mark}  {row['surface']:<8}  {printable(row['name'])}")
        for found in row["differences"]:
            lines.append(f"        {printable(found['place'])}")
            lines += [f"            {name}: {_value(found, name)}" for name in ("expected", "actual")]
    lines.append(f"{document['package']} {document['version']}: {_summary(document)}")
    return "\n".join(lines) + "\n"


def _value(found: dict[str, Any], name: str) -> str:
    if name not in found:
        return "nothing"
    text = canonical(found[name])
    return printable(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _summary(document: dict[str, Any]) -> str:
    return f"{document['passed']} passed, {document['failed']} failed"
