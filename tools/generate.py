"""Write the constants of `spec/registry.json` into Python, so that no code and no number is written twice.

python tools/generate.py            writes rukh/values/registry.py and rukh/values/rules.py
python tools/generate.py --check    exits 1 when they differ from what the registry says
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REGISTRY = ROOT / "spec" / "registry.json"
HEADER = '"""Generated from spec/registry.json by tools/generate.py: {what}."""\n\n'


def snake(name: str) -> str:
    """`inputBytes` -> `INPUT_BYTES`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


def tuple_literal(values: list[str]) -> str:
    return "(\n" + "".join(f"    {json.dumps(value)},\n" for value in values) + ")\n"


def constants(registry: dict[str, Any]) -> str:
    """The numbers and closed lists, for every path."""
    lines = [HEADER.format(what="closed lists, codes and limits"), "# Exit codes of the command line.\n"]
    lines += [f"EXIT_{name.upper()} = {code}\n" for name, code in registry["exitCodes"].items()]
    lines.append(
        "\n# The same by the name of the class, which an application may give another number.\nEXIT_CODES = {\n"
    )
    lines += [f'    "{name}": {code},\n' for name, code in registry["exitCodes"].items()]
    lines.append("}\n\n# JSON-RPC error codes of MCP over stdio.\n")
    lines += [f"RPC_{name.upper()} = {code}\n" for name, code in registry["jsonRpcErrors"].items()]
    lines.append("\n# Limits, each with its unit and its reason.\n")
    for name, limit in registry["limits"].items():
        lines.append(f"LIMIT_{snake(name)} = {limit['value']}  # {limit['unit']}: {limit['why']}\n")
    lines.append("\n# Outcome reasons and the exit code of each.\nREASON_EXITS = {\n")
    lines += [
        f'    "{reason}": {registry["exitCodes"][name]},\n' for reason, name in registry["reasons"].items()
    ]
    lines.append("}\n\n")
    for constant, key in (
        ("OUTCOMES", "outcomes"),
        ("FEATURES", "features"),
        ("OPERATIONS", "operations"),
        ("ENFORCEMENT_PROFILES", "enforcementProfiles"),
        ("AUDIT_EVENTS", "auditEvents"),
        ("RESERVED_WORDS", "reservedWords"),
        ("CORE_OPTIONS", "coreOptions"),
        ("PASSTHROUGH_ENVIRONMENT", "passthroughEnvironment"),
    ):
        lines.append(f"{constant} = {tuple_literal(registry[key])}\n")
    return "".join(lines).rstrip("\n") + "\n"


def rules(registry: dict[str, Any]) -> str:
    """The table of rules, read only when something is refused or explained."""
    lines = [
        HEADER.format(what="every rule, by its id"),
        "# id: (severity, fault, exit code, title)\nRULES = {\n",
    ]
    for family in registry["rules"].values():
        for rule in family:
            code = registry["exitCodes"][rule["exit"]]
            row = [rule["severity"], rule["fault"], code, rule["title"]]
            cells = ", ".join(json.dumps(cell, ensure_ascii=False) for cell in row)
            lines.append(f'    "{rule["id"]}": ({cells}),\n')
    return "".join(lines) + "}\n"


def check_ids(registry: dict[str, Any]) -> None:
    """Ids are in order, unique and of their family."""
    for family, rows in registry["rules"].items():
        expected = [f"{family}{number:03d}" for number in range(1, len(rows) + 1)]
        if [row["id"] for row in rows] != expected:
            raise SystemExit(f"spec/registry.json: the ids of family {family} are not {family}001… in order")


def main() -> int:
    registry = json.loads(REGISTRY.read_text(encoding="utf-8"))
    check_ids(registry)
    outputs = {"registry.py": constants(registry), "rules.py": rules(registry)}
    stale = []
    for name, text in outputs.items():
        path = ROOT / "rukh" / "values" / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"stale: {', '.join(stale)}; run python tools/generate.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
