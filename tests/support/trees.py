"""Miniature source trees for the tests of the tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_tree(base: Path, files: Mapping[str, str]) -> Path:
    """Write each text at its path below `base`, making folders as needed; answers `base`."""
    for name, text in files.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return base
