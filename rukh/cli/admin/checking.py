"""The verb `check`: findings about descriptors and the code beside them, in three forms; and what its rules mean.

1. The paths are turned into documents (`check_paths`). RK-CHECK-001
2. Each document is judged by the checker that every host has. Only where that finds no error, its examples are tried,
   advice is given, and, where the document lies in a release, the code and the cases are looked at. RK-CHECK-010
3. The findings of all documents are shown: two lines each, JSON, or SARIF. Exit 1 after an error, under `--strict`
   after a warning too, else 0. RK-CHECK-003

`--rules`, `--explain` and `--schema` answer from what is installed, and look at no file of the caller's. Modules that
only some answers need are loaded by them: editors run a check at each save.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from rukh.cli.admin.check_cases import cases_findings, document_findings, is_cases_file
from rukh.cli.admin.check_paths import (
    Target,
    is_one_document,
    nothing_in,
    release,
    targets,
    unreadable,
)
from rukh.cli.admin.shown import Shown, json_option
from rukh.cli.context import Context
from rukh.contract.advice import advise
from rukh.contract.descriptor import Checked, check
from rukh.contract.diagnostics import (
    Diagnostic,
    counts,
    first_fault,
    in_order,
    one_line,
    render_json,
    render_list,
    render_text,
)
from rukh.contract.grammar import DESCRIPTOR_FILE
from rukh.values.errors import RukhError

_FINDINGS = 1
_TEXT, _JSON, _SARIF = "text", "json", "sarif"

Reports = list[tuple[str, list[Diagnostic]]]


@click.command("check")
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option(
    "--format", "form", type=click.Choice([_TEXT, _JSON, _SARIF]), help="How the findings are shown."
)
@json_option
@click.option("--strict", is_flag=True, help="Exit 1 after a warning too.")
@click.option("--descriptor-only", is_flag=True, help="Look at no file beside a document.")
@click.option("--rules", "listing", is_flag=True, help="List every rule that a check can report.")
@click.option("--explain", "rule", metavar="RULE", help="Explain one rule, of a check or of anything else.")
@click.option(
    "--schema", "schema_name", metavar="NAME", help="Print a JSON Schema for editors, such as descriptor-2."
)
@click.pass_obj
def check_verb(
    context: Context,
    paths: tuple[str, ...],
    form: str | None,
    as_json: bool,
    strict: bool,
    descriptor_only: bool,
    listing: bool,
    rule: str | None,
    schema_name: str | None,
) -> Shown:
    """Check extensions: each PATH is a descriptor, a directory, or - for standard input.

    A directory means its rukh-extension.json with the code and the cases beside it, or, where it has none, every one
    below. Exit 0 without errors, 1 with errors.
    """
    form = _form(form, as_json)
    asked = [name for name, wanted in _asks(paths, listing, rule, schema_name) if wanted]
    if len(asked) != 1:
        raise click.UsageError(
            f"{' and '.join(asked)} ask for different answers" if asked else "name a PATH to check"
        )
    if not paths:
        return _answer(form, listing, rule, schema_name)
    reports = _each_once([(target.shown, _findings(target, descriptor_only)) for target in targets(paths)])
    errors, warnings = counts(found for _file, diagnostics in reports for found in diagnostics)
    status = _FINDINGS if errors or (strict and warnings) else 0
    if form == _SARIF:
        return Shown(_sarif(context, reports), json=True, status=status)
    document = render_json(*reports[0]) if is_one_document(paths) else render_list(reports)
    return Shown(document, json=form == _JSON, text=_text(reports, errors, warnings), status=status)


def errors_beside(directory: str) -> list[Diagnostic]:
    """The errors in the examples, the code and the cases of the extension in a directory. RK-CHECK-014

    A descriptor that is missing or has errors is left to the packing itself.
    """
    target = release(directory)
    try:
        checked = check(target.read())
    except RukhError:
        return []
    return _beyond(target, checked)


def refuse_wrong_code(directory: str) -> None:
    """What `pack` asks before it packs: raises RukhError for the first of `errors_beside`. RK-CHECK-014"""
    errors = errors_beside(directory)
    if errors:
        raise first_fault(DESCRIPTOR_FILE, errors)


def _form(form: str | None, as_json: bool) -> str:
    if as_json and form not in (None, _JSON):
        raise click.UsageError(f"--json and --format {form} ask for two forms")
    return _JSON if as_json else form or _TEXT


def _asks(
    paths: tuple[str, ...], listing: bool, rule: str | None, schema_name: str | None
) -> tuple[tuple[str, bool], ...]:
    return (
        ("a PATH", bool(paths)),
        ("--rules", listing),
        ("--explain", rule is not None),
        ("--schema", schema_name is not None),
    )


def _answer(form: str, listing: bool, rule: str | None, schema_name: str | None) -> Shown:
    """What is asked about the rules and schemas themselves."""
    from rukh.cli.admin import published
    from rukh.contract import explanations

    if form == _SARIF:
        raise click.UsageError("--format sarif shows findings; name a PATH")
    if listing:
        return Shown(explanations.rules_json(), json=form == _JSON, text=explanations.rules_text())
    if rule is not None:
        known = explanations.known_rule(rule)
        explained = published.explanations()["rules"].get(known)
        return Shown(
            explanations.rule_json(known, explained),
            json=form == _JSON,
            text=explanations.rule_text(known, explained),
        )
    return Shown(None, json=False, text=published.schema(schema_name or "").decode())


def _each_once(reports: Reports) -> Reports:
    """The reports without what an earlier one said: a descriptor and its cases each tell of the other. RK-CHECK-001"""
    said: set[Diagnostic] = set()
    kept: Reports = []
    for file, found in reports:
        placed = {each: replace(each, file=each.file or file) for each in found}
        kept.append((file, [each for each in found if placed[each] not in said]))
        said.update(placed.values())
    return kept


def _findings(target: Target, descriptor_only: bool) -> list[Diagnostic]:
    """Everything that is found about one document, in order."""
    if target.fault:
        return [target.fault]
    try:
        data = target.read()
    except RukhError as refusal:
        return [unreadable(refusal.message, mend=refusal.mend)]
    if not data.strip():
        return [nothing_in(target.path)]
    if is_cases_file(target.path):
        return document_findings(data, target.path, descriptor_only)
    checked = check(data)
    if checked.descriptor is None or checked.positions is None:
        return checked.diagnostics
    advice = advise(checked.descriptor, checked.positions)
    beyond = _beyond(target, checked, descriptor_only)
    return in_order([*checked.diagnostics, *advice, *beyond])


def _beyond(target: Target, checked: Checked, descriptor_only: bool = False) -> list[Diagnostic]:
    """The errors that only the examples, the code and the cases can tell of a descriptor without others."""
    if checked.descriptor is None or checked.positions is None:
        return []
    from rukh.cli.admin.check_examples import example_findings

    found = example_findings(checked.descriptor, checked.positions)
    if target.release is not None and not descriptor_only:
        from rukh.cli.admin.check_code import code_findings

        found += code_findings(checked.descriptor, checked.positions, target.release)
        found += cases_findings(checked.descriptor, target.release)
    return found


def _sarif(context: Context, reports: Reports) -> dict[str, Any]:
    from rukh.cli.admin.published import explanations
    from rukh.contract.sarif import render_sarif

    return render_sarif(context.name, context.version, reports, explanations()["rules"])


def _text(reports: Reports, errors: int, warnings: int) -> str:
    """The findings of all documents; then, of one, that there are none, of many, how many there are."""
    text = "".join(render_text(file, diagnostics) for file, diagnostics in reports)
    if len(reports) == 1:
        return text or one_line(f"{reports[0][0]}: no findings") + "\n"
    return f"{text}{len(reports)} documents: {_number(errors, 'error')}, {_number(warnings, 'warning')}\n"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
