"""What an administrative verb answers: one document, shown readably or as canonical JSON, and an exit status."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import click

from rukh.cli.present import json_document, result_text

F = TypeVar("F", bound=Callable[..., Any])


class Shown:
    """`document` under `--json`; else `text`, or the document laid out readably where there is no text."""

    def __init__(self, document: Any, *, json: bool, text: str | None = None, status: int = 0) -> None:
        self.document = document
        self.json = json
        self.text = text
        self.status = status

    def rendered(self) -> bytes:
        """The bytes for standard output."""
        if self.json:
            return json_document(self.document)
        if self.text is not None:
            return self.text.encode()
        return result_text({"kind": "structured", "data": self.document}).encode()


def json_option(function: F) -> F:
    """The `--json` flag of a verb."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(function)


def when(milliseconds: int) -> str:
    """A time in UTC milliseconds, for a person."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(milliseconds / 1000))
