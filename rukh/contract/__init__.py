"""Contract: what a publisher declares, what an owner decides, and what follows from both without any I/O.

Descriptor, parameters, result schema, diagnostics, compiled commands, the owner's profile and its policy,
tool names, the projection into tools, and the candidate that a publication judges as a whole. The room uses
`values` alone. The names below are its public ones; each is loaded from its module on first use, so that a
path pays for what it needs. `envelope` bears the name of its module and is bound at once: a module that is
loaded later would otherwise take its place.
"""

from __future__ import annotations

from rukh.contract.envelope import envelope
from rukh.values.front import front

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.contract.candidate import Candidate, Route, build_candidate, check_namespaces_kept
    from rukh.contract.compile import compile_commands
    from rukh.contract.descriptor import Checked, check
    from rukh.contract.diagnostics import Diagnostic, render_json, render_text
    from rukh.contract.difference import Difference
    from rukh.contract.envelope import reason
    from rukh.contract.grammar import version_key
    from rukh.contract.names import parse_tool_name, slug, tool_name
    from rukh.contract.parameters import Bound, bind
    from rukh.contract.policy import LOCAL_USER, decide, granted_environment, passthrough_granted
    from rukh.contract.profile import DEFAULT_PROFILE, export_toml, read_owner_profile
    from rukh.contract.projection import export_refusal, input_schema, output_schema, tool_tail
    from rukh.contract.result_data import validate_result
    from rukh.contract.result_schema import parse_schema
    from rukh.contract.result_tree import Schema
    from rukh.contract.versions import satisfies

__all__ = [
    "Bound",
    "Candidate",
    "Checked",
    "DEFAULT_PROFILE",
    "Diagnostic",
    "Difference",
    "LOCAL_USER",
    "Route",
    "Schema",
    "bind",
    "build_candidate",
    "check",
    "check_namespaces_kept",
    "compile_commands",
    "decide",
    "envelope",
    "export_refusal",
    "export_toml",
    "granted_environment",
    "input_schema",
    "output_schema",
    "parse_schema",
    "parse_tool_name",
    "passthrough_granted",
    "read_owner_profile",
    "reason",
    "render_json",
    "render_text",
    "satisfies",
    "slug",
    "tool_name",
    "tool_tail",
    "validate_result",
    "version_key",
]

_HOMES = {
    "candidate": "Candidate Route build_candidate check_namespaces_kept",
    "compile": "compile_commands",
    "descriptor": "Checked check",
    "diagnostics": "Diagnostic render_json render_text",
    "difference": "Difference",
    "envelope": "reason",
    "grammar": "version_key",
    "names": "parse_tool_name slug tool_name",
    "parameters": "Bound bind",
    "policy": "LOCAL_USER decide granted_environment passthrough_granted",
    "profile": "DEFAULT_PROFILE export_toml read_owner_profile",
    "projection": "export_refusal input_schema output_schema tool_tail",
    "result_data": "validate_result",
    "result_schema": "parse_schema",
    "result_tree": "Schema",
    "versions": "satisfies",
}

__getattr__ = front(__name__, _HOMES)
