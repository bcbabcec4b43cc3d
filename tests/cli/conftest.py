"""Command lines in this process: in a directory and a home of the test, with its streams."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rukh.app import Application
from tests.support.commandline import Answer, Run


@pytest.fixture
def program() -> str:
    """The path that the program believes to be started by; nothing lies there."""
    return "/opt/rukh"


@pytest.fixture
def run(
    program: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Run one command line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RUKH_HOME", str(tmp_path / "home"))

    def one(*words: str) -> Answer:
        status = Application("rukh", "9.9.9", program=[program]).run([os.fsencode(word) for word in words])
        shown = capfd.readouterr()
        return status, shown.out, shown.err

    return one
