"""The files around the code: lock, README, and what the distribution says of itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PIN = re.compile(r"([A-Za-z0-9._-]+)==(\S+) \\((?:\n    --hash=sha256:[0-9a-f]{64}(?: \\)?)+)")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def asked_for() -> set[str]:
    """The names that the project file asks for, for use and for development."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    return {normal(re.split(r"[<>=~! ;\[]", name)[0]) for name in names}


@pytest.mark.requirement("RK-PROC-015")
def test_the_lock_pins_everything_by_hash_and_names_no_address() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = {normal(match[1]) for match in PIN.finditer(text)}
    rest = [line for line in PIN.sub("", text).splitlines() if not line.lstrip().startswith("#")]

    assert set() == asked_for() - pinned
    assert [] == [line for line in rest if line]
    assert "://" not in text


@pytest.mark.requirement("RK-PROC-015")
@pytest.mark.parametrize(
    "line", ["apsw==3.54.1.0", "--index-url x", "apsw>=3 \\\n    --hash=sha256:" + "0" * 64]
)
def test_a_line_without_exact_pin_and_hash_is_no_pin(line: str) -> None:
    good = "apsw==3.54.1.0 \\\n    --hash=sha256:" + "0" * 64

    assert "" == PIN.sub("", good)
    assert line == PIN.sub("", line)


# What README has to say plainly: the statement, and words without which it is not said.
NOT_CLAIMED = {
    "an agent may follow prose": ("malicious", "prose"),
    "other tools are outside": ("other tools",),
    "annotations show nothing": ("annotations", "isolation", "intent"),
    "no planner": ("planner",),
    "no model runtime": ("model runtime",),
    "no gateway": ("gateway",),
    "no job service": ("job service",),
    "no sampling": ("sampling",),
    "no apps": ("MCP Apps",),
    "no data-flow tracking": ("data-flow tracking",),
}


@pytest.mark.requirement("RK-PROC-016")
@pytest.mark.parametrize("name", NOT_CLAIMED)
def test_readme_says_what_is_not_claimed(name: str) -> None:
    section = (
        (ROOT / "README.md")
        .read_text(encoding="utf-8")
        .split("## What is not claimed", 1)[1]
        .split("\n## ")[0]
    )

    assert [] == [word for word in NOT_CLAIMED[name] if word not in " ".join(section.split())]
