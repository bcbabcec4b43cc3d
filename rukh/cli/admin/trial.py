"""The verb `test`: the cases of an extension, run by the path that its users will take. RK-AUTHOR-052

1. What a check calls an error, in the descriptor, its examples, the code or the cases, is shown, and nothing runs.
2. The extension is packed, signed with a key made for this, and installed in a home made for this.
3. Each case is a call from a terminal and, where the command can be a tool, the same call over MCP, judged by the same
   expectation. Its line is written as soon as it has ended. RK-AUTHOR-063
4. Exit 0 when all passed, 1 when one did not. RK-AUTHOR-055
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from rukh.cli.admin.check_cases import in_file
from rukh.cli.admin.checking import errors_beside
from rukh.cli.admin.shown import Shown, json_option
from rukh.cli.admin.trial_home import TrialHome, described
from rukh.cli.admin.trial_report import Running, document, row, row_text, summary_text
from rukh.cli.admin.trial_surfaces import Agent, Terminal, TimedOut
from rukh.cli.context import Context
from rukh.cli.files import read_named
from rukh.cli.output import write_err, write_out
from rukh.contract import grammar
from rukh.contract.cases import (
    AGENT,
    CASES_FILE,
    MOST_SECONDS,
    SECONDS,
    TERMINAL,
    Case,
    Cases,
    first_fault,
    judge_cases,
)
from rukh.contract.descriptor import check
from rukh.contract.diagnostics import Diagnostic, render_text
from rukh.contract.expectation import Difference, Seen, differences
from rukh.sources.release import DESCRIPTOR_FILE
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_DESCRIPTOR_BYTES

_FAILED = 1
_ENDING = (signal.SIGTERM, signal.SIGHUP)


@click.command("test")
@click.argument("directory", metavar="DIR")
@click.option(
    "--filter", "wanted", default="", metavar="TEXT", help="Only the cases with TEXT in their name."
)
@click.option(
    "--deadline",
    default=f"{SECONDS}s",
    metavar="TIME",
    help="What a case may take that says no seconds, 60s by default.",
)
@json_option
@click.pass_obj
def test_verb(context: Context, directory: str, wanted: str, deadline: str, as_json: bool) -> Shown:
    """Run the cases of the extension in DIR in a throw-away home: exit 0 when all pass, 1 when one fails."""
    seconds = _seconds(deadline)
    try:
        descriptor, cases = _fit(directory, seconds)
    except _Unfit as unfit:
        if as_json:
            raise unfit.refusal from None
        write_err(render_text(unfit.file, unfit.found).encode())
        return Shown(None, json=False, text="", status=context.status(unfit.refusal.exit_code))
    chosen = _chosen(cases, wanted)
    rows = []
    with _unhurried(), TrialHome(directory) as home:
        home.install(descriptor["package"], cases.environment)
        for made in _run(chosen, context.program, home, descriptor, Running(as_json)):
            rows.append(made)
            if not as_json:
                write_out(row_text(made).encode())
    made = document(descriptor, rows)
    return Shown(made, json=as_json, text=summary_text(made), status=_FAILED if made["failed"] else 0)


def _seconds(deadline: str) -> float:
    """The time of a case that says none, of a duration."""
    form = grammar.DURATION
    if not form.matches(deadline) or grammar.milliseconds(deadline) > MOST_SECONDS * 1000:
        raise click.UsageError(
            f"--deadline {deadline!r} is none: write {form.says}; at most {MOST_SECONDS // 3600}h"
        )
    return grammar.milliseconds(deadline) / 1000


class _Unfit(Exception):
    """The extension cannot be tested: `found` says all that is wrong in `file` and beside it, `refusal` the first."""

    def __init__(self, file: str, found: list[Diagnostic], refusal: RukhError) -> None:
        super().__init__(refusal.message)
        self.file = file
        self.found = found
        self.refusal = refusal


def _fit(directory: str, seconds: float) -> tuple[dict[str, Any], Cases]:
    """The descriptor and the cases; raises _Unfit with every fault that a check finds, and RukhError RKT040, RKX015."""
    data = _file(directory, DESCRIPTOR_FILE, "RKT040")
    file = os.path.join(directory, DESCRIPTOR_FILE)
    try:
        descriptor = described(data)
    except RukhError as refusal:
        raise _Unfit(file, check(data).diagnostics, refusal) from refusal
    cases, faults = judge_cases(_file(directory, CASES_FILE, "RKX015"), descriptor, seconds=seconds)
    found = errors_beside(directory) or in_file(faults, os.path.join(directory, CASES_FILE))
    if found or cases is None:
        raise _Unfit(file, found, first_fault(file, found))
    return descriptor, cases


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
    cases: list[Case], program: list[str], home: TrialHome, descriptor: dict[str, Any], running: Running
) -> Iterator[dict[str, Any]]:
    """One row a case and surface, case by case."""
    terminal, agent = Terminal(program, home, descriptor), Agent(program, home, descriptor)
    try:
        for case in cases:
            if TERMINAL in case.surfaces:
                yield _row(case, TERMINAL, terminal, home, running)
            if AGENT in case.surfaces and agent.inputs(case) is not None:
                yield _row(case, AGENT, agent, home, running)
    finally:
        running.show("")
        agent.close()


def _row(
    case: Case, surface: str, way: Terminal | Agent, home: TrialHome, running: Running
) -> dict[str, Any]:
    running.show(f"{surface}  {case.name}")
    try:
        seen = way.call(case)
        found = differences(case, seen)
    except TimedOut as late:
        seen = Seen(None, stderr=late.stderr)
        found = [Difference("time", f"an end within {case.seconds:g} s", "none")]
    running.show("")
    said = home.as_written(way.said(seen)) if found else b""
    return row(case, surface, found, seen, said)
