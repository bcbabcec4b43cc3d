"""The arrow test on this tree, and on small trees that break one arrow each beside one that breaks none."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.support.trees import write_tree
from tools import arrows
from tools.modules import read_modules

ACCEPTED = {
    "rukh/__init__.py": "",
    "rukh/values/reader.py": "import json\n",
    "rukh/contract/names.py": "from rukh.values.reader import read\nfrom rukh import __version__\n",
    "rukh/machines/channel.py": "from rukh.values import reader\nimport hashlib\n",
    "rukh/store/store.py": "import apsw\nfrom rukh.machines.channel import Channel\n",
    "rukh/cli/admin/keys.py": "import click\nfrom ..lexer import lex\n",
    "rukh/cli/serve.py": "def serve() -> None:\n    from rukh.mcp import wire\n",
    "rukh/mcp/wire.py": "from rukh.host import invocation\n",
    "rukh/sdk/rukh_sdk.py": "import json\nimport rukh_sdk_json\n",
    "rukh/sdk/rukh_sdk_json.py": "",
    "rukh/app.py": "from rukh.mcp import serve\nfrom rukh.cli import main\n",
}

# name: (file, its text, what is said)
BROKEN = {
    "upwards": (
        "rukh/values/reader.py",
        "from rukh.contract.names import slug\n",
        "rukh/values/reader.py:1: values may not import contract",
    ),
    "in a function": (
        "rukh/contract/names.py",
        "def f() -> None:\n    import rukh.store.store\n",
        "rukh/contract/names.py:2: contract may not import store",
    ),
    "for types alone": (
        "rukh/machines/channel.py",
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from rukh.store import Store\n",
        "rukh/machines/channel.py:3: machines may not import store",
    ),
    "by a relative import": (
        "rukh/cli/admin/keys.py",
        "from ...mcp import wire\n",
        "rukh/cli/admin/keys.py:1: cli may not import mcp",
    ),
    "by name at run time": (
        "rukh/store/store.py",
        "from importlib import import_module\nimport_module(f'rukh.host.{1}')\n",
        "rukh/store/store.py:2: store may not import host",
    ),
    "of the package itself": (
        "rukh/mcp/wire.py",
        "from rukh import cli\n",
        "rukh/mcp/wire.py:1: mcp may not import cli",
    ),
    "through no door": (
        "rukh/cli/call.py",
        "def serve() -> None:\n    from rukh.mcp import wire\n",
        "rukh/cli/call.py:2: cli may not import mcp",
    ),
    "from outside": (
        "rukh/cli/admin/keys.py",
        "import requests\n",
        "rukh/cli/admin/keys.py:1: cli may not import requests",
    ),
    "of the mcp package": (
        "rukh/mcp/wire.py",
        "import mcp.types\n",
        "rukh/mcp/wire.py:1: mcp may not import mcp",
    ),
    "from no room": ("rukh/helpers/x.py", "", "rukh/helpers/x.py: `helpers` is no room"),
    "rukh from the sdk": (
        "rukh/sdk/rukh_sdk.py",
        "from rukh.values import reader\n",
        "rukh/sdk/rukh_sdk.py:1: sdk may not import rukh",
    ),
    "a package from the sdk": (
        "rukh/sdk/rukh_sdk.py",
        "import attrs\n",
        "rukh/sdk/rukh_sdk.py:1: sdk may not import attrs",
    ),
    "a clock from a machine": (
        "rukh/machines/channel.py",
        "import time\n",
        "rukh/machines/channel.py:1: machines is pure and may not import time",
    ),
}


@pytest.mark.requirement("RK-PROC-001", "RK-PROC-002", "RK-PROC-005", "RK-PROC-006")
def test_this_tree_follows_every_arrow() -> None:
    modules = read_modules(arrows.ROOT, "rukh")
    rooms = {arrows.room_of(name) for name in modules}

    assert [] == arrows.findings(arrows.ROOT)
    assert set(arrows.ARROWS) | {""} == rooms


def test_a_tree_that_keeps_to_the_arrows_is_accepted(tmp_path: Path) -> None:
    assert [] == arrows.findings(write_tree(tmp_path, ACCEPTED))


@pytest.mark.requirement("RK-PROC-001", "RK-PROC-002", "RK-PROC-005", "RK-PROC-006")
@pytest.mark.parametrize("name", BROKEN)
def test_one_import_against_the_arrows_is_named_with_its_place(tmp_path: Path, name: str) -> None:
    path, text, said = BROKEN[name]
    base = write_tree(tmp_path, ACCEPTED | {path: text})

    assert [said] == arrows.findings(base)


def test_the_arrows_have_no_circle() -> None:
    """Rooms are listed lowest first, and a door leads to a room that does not know the way back."""
    order = ["sdk", *(room for room in arrows.ARROWS if room != "sdk")]

    for room, below in arrows.ARROWS.items():
        assert all(order.index(one) < order.index(room) for one in below), room
    for module, targets in arrows.DOORS.items():
        assert all(arrows.room_of(module) not in arrows.ARROWS[target] for target in targets), module


@pytest.mark.requirement("RK-PROC-005")
def test_the_distribution_asks_for_what_the_rooms_import_and_no_more() -> None:
    project = tomllib.loads((arrows.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {name.split(">")[0].split("=")[0].replace("-", "_") for name in project["dependencies"]}

    assert {name for names in arrows.OUTSIDE.values() for name in names} == asked
