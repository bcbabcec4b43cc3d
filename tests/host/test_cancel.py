"""rukh/host/cancel.py: the first cause stands, and none comes behind the commit."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rukh.host.cancel import Cancel
from tests.support.children import (
    called,
    readable,
    scripted,
    verdict,
)


def test_of_many_cancellations_one_is_the_first() -> None:
    cancel = Cancel()
    start = threading.Barrier(8)
    causes = ["caller", "owner", "deadline", "scope_closed"] * 2
    asked = [
        threading.Thread(target=lambda cause=cause: (start.wait(), cancel.request(cause))) for cause in causes
    ]
    for thread in asked:
        thread.start()
    for thread in asked:
        thread.join()
    first = cancel.cause

    assert first in causes
    assert readable(cancel.fileno(), 0)
    assert (True, first, False) == (cancel.request("owner"), cancel.close(), cancel.request("caller"))
    assert first == cancel.cause


@pytest.mark.requirement("RK-LIFE-013")
def test_once_the_commit_is_asked_for_no_cancellation_is_accepted(tmp_path: Path) -> None:
    cancel = Cancel()
    report = called(scripted("confirm(); complete(commandResult=text('x'))", tmp_path), cancel=cancel)

    assert (("succeeded", ""), False, None) == (verdict(report), cancel.request("caller"), cancel.cause)
    assert not readable(cancel.fileno(), 0)
