"""A minimal click program for the same command: it parses, starts the same child over the same channel, and prints.

The child's argument vector and environment come as JSON in BENCH_CHILD, so that it is exactly the one that Rukh starts.
"""

from __future__ import annotations

import json
import os
import sys

import click

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from bench import baseline_child


@click.group()
def program() -> None:
    """Bench."""


@program.group()
def bench() -> None:
    """Bench."""


@bench.command()
@click.argument("title")
@click.option("--tag", "tags", multiple=True)
@click.option("--priority", type=click.IntRange(0, 9), default=3)
@click.option("--json", "as_json", is_flag=True)
def c00(title: str, tags: tuple[str, ...], priority: int, as_json: bool) -> None:
    """Add a note."""
    child = json.loads(os.environ["BENCH_CHILD"])
    inputs = {"title": title, "tags": list(tags), "priority": priority}
    execute = {"command": "c00", "inputs": inputs, "supplied": ["title", "tags"]}
    completion = baseline_child.call(child["argv"], child["env"], execute)
    if completion["status"] != "succeeded":
        raise SystemExit(1)
    data = completion["commandResult"]["data"]
    click.echo(json.dumps(data) if as_json else "\n".join(f"{name}: {value}" for name, value in data.items()))


if __name__ == "__main__":
    program()
