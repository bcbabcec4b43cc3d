"""The findings of a check as one SARIF 2.1.0 log, for viewers and for services that annotate code.

- One run. Its driver is the application; its rules are those of which something was found, sorted by id, and each
  result names its rule by id and by index into them.
- A file is named by a relative URI, percent-encoded, as it was reached from the working directory; an absolute path
  stays one, as `file:`. Standard input, which is no file, is called `stdin`.
- Columns count code points, which the run says. The JSON Pointer is the logical location of a finding in the
  descriptor, and stands among the properties of every result.
- Messages are text alone: what would be a link or a placeholder in one is taken apart, so that no name in a file puts
  a link of its own into somebody's viewer.
- Equal findings give equal documents: no time, no identifiers made anew, no environment. RK-CHECK-030 RK-CHECK-031
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from rukh.contract.diagnostics import Diagnostic, one_line
from rukh.values.rules import RULES

VERSION = "2.1.0"
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_STDIN = "-"

Files = Sequence[tuple[str, Sequence[Diagnostic]]]
Explanations = Mapping[str, Mapping[str, Any]]


def render_sarif(name: str, version: str, files: Files, explanations: Explanations) -> dict[str, Any]:
    """The log of the application `name` over `files`, with the texts of `explanations` by rule. RK-CHECK-030"""
    used = sorted({found.rule for _file, diagnostics in files for found in diagnostics})
    index = {rule: number for number, rule in enumerate(used)}
    return {
        "$schema": SCHEMA,
        "version": VERSION,
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": name,
                        "version": version,
                        "rules": [_rule(rule, explanations.get(rule, {})) for rule in used],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "artifacts": [
                    {"location": {"uri": place}} for place in dict.fromkeys(uri(file) for file, _ in files)
                ],
                "results": [
                    _result(file, found, index[found.rule])
                    for file, diagnostics in files
                    for found in diagnostics
                ],
            }
        ],
    }


def _rule(rule: str, explained: Mapping[str, Any]) -> dict[str, Any]:
    severity, fault, _exit, title = RULES[rule]
    descriptor = {
        "id": rule,
        "shortDescription": {"text": _plain(title)},
        "fullDescription": {"text": _plain(explained.get("why", title))},
        "defaultConfiguration": {"level": severity},
        "properties": {"fault": fault, "requirements": list(explained.get("requirements", ()))},
    }
    return descriptor | ({"help": {"text": _plain(explained["mend"])}} if "mend" in explained else {})


def _result(file: str, found: Diagnostic, index: int) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": uri(found.file or file)},
            "region": {"startLine": found.line, "startColumn": found.column},
        }
    }
    if found.pointer and not found.file:
        location["logicalLocations"] = [{"fullyQualifiedName": found.pointer}]
    return {
        "ruleId": found.rule,
        "ruleIndex": index,
        "level": found.severity,
        "message": {"text": _plain(f"{found.message}. Mend: {found.mend}")},
        "locations": [location],
        "properties": {"pointer": found.pointer},
    }


def _plain(text: str) -> str:
    """Text in which a viewer finds neither an embedded link nor a placeholder; the standard doubles braces."""
    return one_line(text).replace("](", "] (").replace("{", "{{").replace("}", "}}")


def uri(file: str) -> str:
    """The URI reference of a path as the caller wrote it; `-` is `stdin`. RK-CHECK-031"""
    if file == _STDIN:
        return "stdin"
    path = quote(posixpath.normpath(file).encode("utf-8", "surrogateescape"), safe="/")
    return f"file://{path}" if path.startswith("/") else path
