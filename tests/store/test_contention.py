"""Processes that publish and call in one home at the same time; `make verify` runs the whole show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import contention


@pytest.mark.requirement("RK-PUB-036", "RK-PUB-003", "RK-CAPT-001", "RK-CAPT-002")
def test_one_winner_a_revision_and_no_torn_read(tmp_path: Path) -> None:
    found = contention.run(str(tmp_path), publications=60, publishers=2, callers=2)
    assert (found["faults"], found["publications"], found["torn"]) == ([], 60, 0)
    assert found["captures"] > 0
