"""Every test of this room leaves no process behind, and says nothing that the channel's schema does not know."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.children import every_frame_judged, nothing_left


@pytest.fixture(autouse=True)
def no_process_stays() -> Iterator[None]:
    with nothing_left(), every_frame_judged():
        yield
