"""The cases of an extension, checked beside its descriptor or as a document of their own.

| what is checked | what is found |
|---|---|
| a release with a `rukh-cases.json` | the faults of the cases, placed in that file |
| a `rukh-cases.json` by its own name | the same as the document's own, and the errors of the descriptor beside it |

Without a descriptor that is free of errors the shape alone is judged. Nothing is run. RK-CHECK-050 RK-CHECK-051
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from rukh.cli.admin.check_paths import Target, nothing_in, shown_path, unreadable
from rukh.cli.files import STDIN
from rukh.contract.cases import CASES_FILE, judge_cases
from rukh.contract.descriptor import check
from rukh.contract.diagnostics import Diagnostic
from rukh.contract.grammar import DESCRIPTOR_FILE
from rukh.values.errors import RukhError


def is_cases_file(path: str) -> bool:
    """Whether a path names cases, and no descriptor."""
    return path != STDIN and os.path.basename(path) == CASES_FILE


def cases_findings(descriptor: dict[str, Any], release: str) -> list[Diagnostic]:
    """What is wrong with the cases in the directory `release`; nothing where it has none. RK-CHECK-050"""
    path = os.path.join(release, CASES_FILE)
    if not os.path.lexists(path):
        return []
    try:
        data = Target(path).read()
        found = judge_cases(data, descriptor)[1] if data.strip() else [nothing_in(path)]
    except RukhError as refusal:
        found = [unreadable(refusal.message, mend=refusal.mend)]
    return _in_file(found, shown_path(release, CASES_FILE))


def _in_file(found: Iterable[Diagnostic], file: str) -> list[Diagnostic]:
    """The findings as those of another file than the one that is checked."""
    return [replace(each, file=file) for each in found]


def document_findings(data: bytes, path: str, descriptor_only: bool) -> list[Diagnostic]:
    """What is wrong with the cases in `data` of the file `path`, and with the descriptor beside it. RK-CHECK-051"""
    if descriptor_only:
        return judge_cases(data, None)[1]
    release = os.path.dirname(path) or os.curdir
    file = shown_path(release, DESCRIPTOR_FILE)
    try:
        checked = check(Target(os.path.join(release, DESCRIPTOR_FILE)).read())
    except RukhError:
        mend = f"put the cases beside the {DESCRIPTOR_FILE} of their extension"
        beside = [unreadable(f"no {DESCRIPTOR_FILE} lies beside it", "RKK002", mend)]
        return [*beside, *judge_cases(data, None)[1]]
    errors = [each for each in checked.diagnostics if each.severity == "error"]
    return [*judge_cases(data, checked.descriptor)[1], *_in_file(errors, file)]
