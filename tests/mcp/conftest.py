"""One home of more tools than a page holds, for the tests that serve it in processes of their own."""

from __future__ import annotations

import pytest

from tests.support.homes import InstalledHome
from tests.support.mcp_wide import wide_home


@pytest.fixture(scope="session")
def wide(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    """40 tools at the endpoints `desk` and `other`."""
    return wide_home(tmp_path_factory.mktemp("wide"))
