"""Explanations: which rules a check can report, and what a person reads about one.

The texts are data, the document `rukh.explanations/1` in `spec/`: for each rule why it is there, the requirements that
it belongs to, a wrong snippet, a right one beside it, and how to mend. What a snippet is, says its `in`:

| `in` | the snippet is |
|---|---|
| `descriptor` | the JSON value at `place` of the document's `base`, which is a descriptor without any finding |
| `text` | the text of a whole file |
| `module` | the Python module of the base's first command, beside the descriptor |
| `cases` | the JSON value at `place` of `baseCases`, the cases beside the base, which have no finding either |
| `files` | the files beside the descriptor, a mode and a path each |
| `said` | a sentence, where the thing itself would be too large to print |

A test puts every snippet where it says and finds exactly the rule. RK-CHECK-042
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rukh.contract.diagnostics import one_line
from rukh.values.errors import RukhError
from rukh.values.nearest import nearest
from rukh.values.registry import EXIT_EXECUTION_FAILED
from rukh.values.rules import RULES

FORMAT = "rukh.rule/1"
LIST_FORMAT = "rukh.rules/1"
_FAMILIES = ("RKV", "RKD", "RKR", "RKW", "RKK", "RKX")
# They judge single texts of numbers: in a descriptor RKV002 and RKD024 say what these would.
_NUMBERS = frozenset({"RKV012", "RKV013"})
# What `test` and `new` alone refuse.
_VERBS = frozenset({"RKX015", "RKX016", "RKX017", "RKX018", "RKX019"})


def reported() -> list[str]:
    """Every rule that a check can report, in the order of the registry. RK-CHECK-042

    Of the rules about results, those about schemas: the others judge what a command answers.
    """
    return [
        rule
        for rule, (_severity, _fault, status, _title) in RULES.items()
        if rule[:3] in _FAMILIES and rule not in _NUMBERS | _VERBS and status != EXIT_EXECUTION_FAILED
    ]


def rules_json() -> dict[str, Any]:
    """Every rule of `reported` as one closed object."""
    rows = [{"rule": rule, "severity": RULES[rule][0], "title": RULES[rule][3]} for rule in reported()]
    return {"format": LIST_FORMAT, "rules": rows}


def rules_text() -> str:
    """The same, a line a rule."""
    return "".join(f"{rule}  {RULES[rule][0]:<7}  {RULES[rule][3]}\n" for rule in reported())


def known_rule(word: str) -> str:
    """The id that `word` is, whatever the case of its letters; raises RKL031 naming the nearest one. RK-CHECK-043

    Every rule of the registry is known: a person who asks has met it somewhere, seldom in a check.
    """
    rule = word.upper()
    if rule not in RULES:
        near = nearest(rule, RULES)
        mend = f"did you mean {near}?" if near else "check --rules lists those of a check"
        raise RukhError("RKL031", f"there is no rule {word!r}", place="--explain", mend=mend)
    return rule


def rule_json(rule: str, explained: Mapping[str, Any] | None) -> dict[str, Any]:
    """One rule as a closed object: its row of the registry, and its explanation where it has one. RK-CHECK-054"""
    severity, fault, status, title = RULES[rule]
    row = {
        "format": FORMAT,
        "rule": rule,
        "severity": severity,
        "title": title,
        "fault": fault,
        "exit": status,
    }
    names = ("why", "requirements", "in", "place", "wrong", "right", "mend")
    return row | {name: explained[name] for name in names if explained and name in explained}


def rule_text(rule: str, explained: Mapping[str, Any] | None) -> str:
    """One rule for a person."""
    severity, fault, status, title = RULES[rule]
    lines = [f"{rule} ({severity}): {title}", ""]
    lines += _explanation(explained) if explained else []
    lines.append(f"at fault: the {fault}" + (f"; exit status {status}" if severity == "error" else ""))
    return "".join(one_line(line) + "\n" for line in lines)


def _explanation(explained: Mapping[str, Any]) -> list[str]:
    at = f", at {explained['place']}" if "place" in explained else ""
    lines = [explained["why"], "", f"wrong{at}:"]
    lines += [*_snippet(explained, "wrong"), "right:", *_snippet(explained, "right")]
    lines += ["", f"mend: {explained['mend']}"]
    if explained["requirements"]:
        lines.append(f"requirement: {', '.join(explained['requirements'])}")
    return lines


def _snippet(explained: Mapping[str, Any], name: str) -> list[str]:
    value = explained[name]
    if explained["in"] in ("descriptor", "cases"):
        rows = [json.dumps(value, ensure_ascii=False)]
    elif explained["in"] == "files":
        rows = value or ["(no file)"]
    else:
        rows = value.split("\n")
    return [f"    {row}".rstrip() for row in rows]
