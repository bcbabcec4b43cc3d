"""One installed home and one serving host for the tests that only read through them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import echo
from tests.support.homes import InstalledHome
from tests.support.rawmcp import RawClient


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    """A home with the echo extension, exposed at the endpoint `desk`."""
    return echo.exposed_home(tmp_path_factory.mktemp("echo"))


@pytest.fixture(scope="session")
def server(home: InstalledHome) -> Iterator[RawClient]:
    """A serving host of that home."""
    with RawClient(home) as client:
        yield client
