"""Every test of this room leaves no process behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.children import nothing_left


@pytest.fixture(autouse=True)
def no_process_stays() -> Iterator[None]:
    with nothing_left():
        yield
