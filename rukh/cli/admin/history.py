"""The owner's verbs about published revisions: profile history, profile diff, profile rollback."""

from __future__ import annotations

from typing import Any

import click

from rukh.cli.admin.homes import looked_at, opened
from rukh.cli.admin.shown import Shown, json_option, when
from rukh.cli.admin.watching import Watch
from rukh.cli.context import Context
from rukh.host.upkeep import rollback
from rukh.values.canonical import canonical


@click.command("history")
@json_option
@click.pass_obj
def profile_history(context: Context, as_json: bool) -> Shown:
    """List the kept revisions, the newest first."""
    with looked_at(context) as (records, _):
        kept = records.history.revisions()
    rows: list[dict[str, Any]] = [
        {
            "revision": one.id,
            "publishedMs": one.published_ms,
            "operation": one.operation,
            "packages": {name: entry["version"] for name, entry in one.profile["packages"].items()},
        }
        for one in kept
    ]
    text = "".join(
        f"{row['revision']}  {when(row['publishedMs'])}  {_packages(row['packages'])}\n" for row in rows
    )
    return Shown({"revisions": rows}, json=as_json, text=text)


@click.command("diff")
@click.argument("one")
@click.argument("other")
@json_option
@click.pass_obj
def profile_diff(context: Context, one: str, other: str, as_json: bool) -> Shown:
    """Show where the revisions ONE and OTHER differ."""
    with looked_at(context) as (records, _):
        found = records.history.diff(one, other)
    text = "".join(f"{place}\n  - {_value(before)}\n  + {_value(after)}\n" for place, before, after in found)
    document = [{"place": place, "one": before, "other": after} for place, before, after in found]
    return Shown({"differences": document}, json=as_json, text=text or "They do not differ.\n")


@click.command("rollback")
@click.argument("revision")
@json_option
@click.pass_obj
def profile_rollback(context: Context, revision: str, as_json: bool) -> Shown:
    """Publish anew what the kept REVISION held, as a revision of its own."""
    with Watch(context, as_json) as watch, opened(context, create=False) as store:
        published = rollback(store, revision, observe=watch)
    return Shown({"revision": published.revision}, json=as_json)


def _packages(packages: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(packages.items())) or "no packages"


def _value(value: Any) -> str:
    return "nothing" if value is None else canonical(value)
