"""The owner's verbs about what is left behind: recover, gc."""

from __future__ import annotations

import click

from rukh.cli.admin.homes import opened
from rukh.cli.admin.shown import Shown, json_option
from rukh.cli.admin.watching import Watch
from rukh.cli.context import Context
from rukh.host.upkeep import collect, recover


@click.command("recover")
@json_option
@click.pass_obj
def recover_verb(context: Context, as_json: bool) -> Shown:
    """Settle what dead processes left under way, and remove their files."""
    with Watch(context, as_json, publishes=False) as watch, opened(context, create=False) as store:
        found = recover(store, watch)
    operations = [
        {"operation": one.operation, "state": one.state, "revision": one.revision} for one in found.operations
    ]
    document = {
        "operations": operations,
        "calls": found.calls,
        "locks": found.holders,
        "staging": found.staging,
        "directories": found.directories,
    }
    lines = [f"{one['operation']} was {one['state']}  {one['revision']}".rstrip() for one in operations]
    lines += [f"{call} ended: its host died" for call in found.calls]
    removed = len(found.holders) + len(found.staging) + len(found.directories)
    lines += [f"removed {removed} files and directories of dead processes"] if removed else []
    return Shown(
        document, json=as_json, text="".join(f"{line}\n" for line in lines) or "Nothing was left behind.\n"
    )


@click.command("gc")
@click.option("--dry-run", is_flag=True, help="Say what would go, and change nothing.")
@json_option
@click.pass_obj
def gc_verb(context: Context, dry_run: bool, as_json: bool) -> Shown:
    """Give back revisions and releases that nothing needs any more."""
    with Watch(context, as_json, publishes=False) as watch, opened(context, create=False) as store:
        found = collect(store, dry_run=dry_run, observe=watch)
    document = {"dryRun": dry_run, "revisions": found.revisions, "releases": found.releases}
    word = "would go" if dry_run else "went"
    lines = [f"revision {name} {word}" for name in found.revisions]
    lines += [f"release {name} {word}" for name in found.releases]
    return Shown(
        document, json=as_json, text="".join(f"{line}\n" for line in lines) or "Nothing to give back.\n"
    )
