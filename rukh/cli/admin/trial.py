"""The verb `test`: the cases of an extension, run by the path that its users will take. RK-AUTHOR-052

1. What a check calls an error, in the descriptor, its examples, the code or the cases, is shown, and nothing runs.
2. The extension is packed, signed with a key made for this, and installed in a home made for this.
3. Each case is a call from a terminal and, where the command can be a tool, the same call over MCP, judged by the same
   expectation. Its line is written as soon as it has ended. RK-AUTHOR-063
4. Exit 0 when all passed, 1 when one did not. RK-AUTHOR-055
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click

from rukh.cli.admin.check_paths import Target, release
from rukh.cli.admin.checking import errors_beside
from rukh.cli.admin.shown import Shown, json_option
from rukh.cli.admin.trial_home import TrialHome, described
from rukh.cli.admin.trial_report import Running, document, row, row_text, summary_text
from rukh.cli.admin.trial_surfaces import Agent, NoOutcome, Terminal
from rukh.cli.context import Context
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
    judge_cases,
)
from rukh.contract.descriptor import check
from rukh.contract.diagnostics import Diagnostic, first_fault, render_text
from rukh.contract.expectation import Seen, differences
from rukh.sources.release import DESCRIPTOR_FILE
from rukh.values.errors import RukhError

_FAILED = 1
_NAMED = 20  # cases in a refusal: more are a flood


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
    with TrialHome(directory) as home:
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
    target = release(directory)
    data = _file(directory, DESCRIPTOR_FILE, "RKT040", "name the directory of an extension")
    try:
        descriptor = described(data)
    except RukhError as refusal:
        refusal.place = target.shown
        raise _Unfit(target.shown, check(data).diagnostics, refusal) from refusal
    data = _file(directory, CASES_FILE, "RKX015", f"write {CASES_FILE}; the verb new shows one")
    cases, faults = judge_cases(data, descriptor, seconds=seconds)
    found = errors_beside(directory) or faults
    if found or cases is None:
        raise _Unfit(target.shown, found, first_fault(target.shown, found))
    return descriptor, cases


def _file(directory: str, name: str, rule: str, mend: str) -> bytes:
    """The bytes of a file of the extension; raises `rule` where there is none, and RKL023."""
    path = os.path.join(directory, name)
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RukhError(rule, f"there is no {name}", place=directory, mend=mend) from error
    except OSError:
        pass  # reading it says why
    return Target(path).read()


def _chosen(cases: Cases, wanted: str) -> list[Case]:
    chosen = [case for case in cases.cases if wanted in case.name]
    if not chosen:
        names = ", ".join(case.name for case in cases.cases[:_NAMED])
        names += f" and {len(cases.cases) - _NAMED} more" if len(cases.cases) > _NAMED else ""
        raise RukhError(
            "RKX016", f"no case has {wanted!r} in its name", place="--filter", mend=f"they are: {names}"
        )
    return chosen


def _run(
    cases: list[Case], program: list[str], home: TrialHome, descriptor: dict[str, Any], running: Running
) -> Iterator[dict[str, Any]]:
    """One row a case and surface, case by case."""
    terminal, agent = Terminal(program, home, descriptor), Agent(program, home, descriptor)
    try:
        for case in cases:
            if TERMINAL in case.surfaces:
                yield _row(case, TERMINAL, terminal, home, running)
            # Words that only a terminal can say are no call of an agent, unless the case is for agents alone.
            if AGENT in case.surfaces and (TERMINAL not in case.surfaces or agent.can_say(case)):
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
        said = way.said(seen) if found else b""
    except NoOutcome as none:
        seen, found, said = Seen(None), [none.found], none.stderr
    running.show("")
    return row(case, surface, found, seen, home.as_written(said))
