"""Every test of this room leaves no process behind, and says nothing that the channel's schema does not know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crashes.scenes import remove
from tests.support.children import every_frame_judged, nothing_left
from tests.support.sick import Sick, copy, make


@pytest.fixture(autouse=True)
def no_process_stays() -> Iterator[None]:
    with nothing_left(), every_frame_judged():
        yield


@pytest.fixture(scope="session")
def sick_template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    base = tmp_path_factory.mktemp("doctor") / "made"
    make(base)
    yield base
    remove(base)


@pytest.fixture
def sick(sick_template: Path, tmp_path: Path) -> Iterator[Sick]:
    """A home to be broken."""
    with copy(sick_template, tmp_path / "copy") as copied:
        yield copied
