"""The verb doctor: what is wrong with the home, what it means, and what mends it."""

from __future__ import annotations

from collections.abc import Iterable

import click

from rukh.cli.admin.shown import Shown, json_option
from rukh.cli.admin.watching import Watch
from rukh.cli.context import Context
from rukh.contract.diagnostics import one_line
from rukh.host.doctor import Finding, examine
from rukh.host.mending import Mended, fix

FORMAT = "rukh.doctor/1"


@click.command("doctor")
@click.option("--fix", "fixing", is_flag=True, help="Mend what needs no decision of yours.")
@json_option
@click.pass_obj
def doctor_verb(context: Context, fixing: bool, as_json: bool) -> Shown:
    """Look for what is wrong with the home, and say what mends it. Exit 1 while an error is left."""
    with Watch(context, as_json, publishes=False) as watch:
        found = fix(context.home, watch) if fixing else Mended([], examine(context.home, watch))
    errors = sum(finding.severity == "error" for finding in found.left)
    document = {
        "format": FORMAT,
        "clean": not found.left,
        "errors": errors,
        "warnings": len(found.left) - errors,
        "findings": [finding.document() for finding in found.left],
        "mended": [finding.document() for finding in found.mended],
    }
    return Shown(document, json=as_json, text=_text(found), status=1 if errors else 0)


def _text(found: Mended) -> str:
    lines = [*_told("mended", found.mended, mends=False)]
    for severity in ("error", "warning"):
        lines += _told(severity, [one for one in found.left if one.severity == severity], mends=True)
    return "".join(f"{one_line(line)}\n" for line in lines) or "Nothing is wrong.\n"


def _told(word: str, findings: Iterable[Finding], *, mends: bool) -> list[str]:
    lines = []
    for finding in findings:
        lines.append(f"{finding.place}: {word} {finding.rule} {finding.message}")
        lines += [f"    mend: {finding.mend}"] if mends and finding.mend else []
    return lines
