"""The owner's verbs about the profile: show, apply; those about its history stand in `history`."""

from __future__ import annotations

from typing import Any

import click

from rukh.cli.admin.history import profile_diff, profile_history, profile_rollback
from rukh.cli.admin.homes import active_of, looked_at, opened
from rukh.cli.admin.shown import Shown, json_option
from rukh.cli.admin.watching import Watch
from rukh.cli.context import Context
from rukh.cli.files import read_named
from rukh.cli.output import write_err
from rukh.cli.text import printable
from rukh.contract.absent import absent
from rukh.contract.profile import export_toml, read_owner_profile
from rukh.host.ledger import StoreLedger, apply_owner_part
from rukh.store.profiles import Active
from rukh.store.store import Store
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_PROFILE_BYTES


@click.group("profile")
def profile_verb() -> None:
    """The owner's configuration, as it is published."""


@profile_verb.command("show")
@click.option("--toml", "as_toml", is_flag=True, help="As an owner's file, ready to be edited and applied.")
@json_option
@click.pass_obj
def profile_show(context: Context, as_toml: bool, as_json: bool) -> Shown:
    """Show the active profile and its revision."""
    if as_toml and as_json:
        raise click.UsageError("--toml and --json cannot both be had.")
    with looked_at(context, create=True) as (_, active):
        pass  # it is all that is shown
    if as_toml:
        return Shown(active.profile, json=False, text=export_toml(active.profile))
    document: dict[str, Any] = {"revision": active.revision, "profile": active.profile}
    return Shown(document, json=as_json)


@profile_verb.command("apply")
@click.argument("file")
@json_option
@click.pass_obj
def profile_apply(context: Context, file: str, as_json: bool) -> Shown:
    """Publish the owner's FILE as the new profile; installed packages stay."""
    data = read_named(file, LIMIT_PROFILE_BYTES)
    owner = _owner(file, data)
    with Watch(context, as_json) as watch, opened(context, create=True) as store:
        before = active_of(store).revision
        published = apply_owner_part(StoreLedger(store, watch), store.home, owner, watch)
        active = active_of(store)
        warnings = absent(active.profile, _variables(store, active))
    document: dict[str, Any] = {"revision": published.revision, "changed": published.revision != before}
    _warn(context, warnings)
    return Shown(document | ({"warnings": warnings} if warnings and as_json else {}), json=as_json)


for verb in (profile_history, profile_diff, profile_rollback):
    profile_verb.add_command(verb)


def _owner(file: str, data: bytes) -> dict[str, Any]:
    """The owner's part in `file`; a refusal names the file beside the place in it. RK-PROF-051"""
    text = _text(file, data)
    try:
        return read_owner_profile(text)
    except RukhError as error:
        error.place = f"{file}: {error.place}" if error.place else file
        raise


def _variables(store: Store, active: Active) -> dict[str, dict[str, set[str]]]:
    """By package and identity the variables that the commands of `active` declare."""
    return {
        package: {
            record["identity"]: set(record["requires"]["environment"])
            for record in store.profiles.commands(active.generation, package)
        }
        for package in active.profile["packages"]
    }


def _warn(context: Context, warnings: list[dict[str, str]]) -> None:
    for row in warnings:
        text = f"{context.name}: warning: {row['message']} ({row['place']}); {row['mend']}"
        write_err(f"{printable(text)}\n".encode())


def _text(file: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise RukhError(
            "RKV001", f"byte {error.start} is not UTF-8", place=file, mend="save it as UTF-8"
        ) from error
