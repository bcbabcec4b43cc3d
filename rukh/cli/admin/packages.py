"""The owner's verbs about packages: install, update, remove, list."""

from __future__ import annotations

import re
from typing import Any

import click

from rukh.cli.admin.asking import asking, showing
from rukh.cli.admin.homes import looked_at, now_ms, opened
from rukh.cli.admin.shown import Shown, json_option
from rukh.cli.admin.watching import Watch
from rukh.cli.context import Context
from rukh.host.ledger import StoreLedger
from rukh.machines.steps import Observe
from rukh.sources.consent import Ask, Consent, nobody
from rukh.sources.install import Change, Installer
from rukh.store.store import Store

_DIGEST = re.compile("[0-9a-f]{64}")


@click.command("install")
@click.argument("package")
@click.option("--mount", default="", metavar="WORDS", help="Words in front of the package's paths.")
@click.option("--allow-prerelease", is_flag=True, help="Let a pre-release be chosen.")
@click.option("--allow-downgrade", is_flag=True, help="Let it go below the highest version seen.")
@json_option
@click.pass_obj
def install_verb(
    context: Context, package: str, mount: str, allow_prerelease: bool, allow_downgrade: bool, as_json: bool
) -> Shown:
    """Install PACKAGE (or PACKAGE@VERSION) from the sources: verify, stage, publish."""
    consent = Consent(prereleases=allow_prerelease, downgrade=allow_downgrade)
    with Watch(context, as_json) as watch, opened(context, create=True) as store:
        change = _installer(store, watch).install(package, mount=mount.split(), consent=consent)
    return _changed(change, as_json)


def _digest(_context: click.Context, _option: click.Parameter, value: str) -> str:
    """A digest is named whole: a beginning could be met by a release that was made to. RK-CONS-004"""
    if value and not _DIGEST.fullmatch(value):
        raise click.BadParameter("write all 64 hexadecimal digits.")
    return value


@click.command("update")
@click.argument("package")
@click.option("--allow-prerelease", is_flag=True, help="Let a pre-release be chosen.")
@click.option("--allow-downgrade", is_flag=True, help="Let it go below the highest version seen.")
@click.option("--accept", default="", metavar="DIGEST", callback=_digest, help="Consent to this very change.")
@json_option
@click.pass_obj
def update_verb(
    context: Context, package: str, allow_prerelease: bool, allow_downgrade: bool, accept: str, as_json: bool
) -> Shown:
    """Update PACKAGE to the highest release, or to PACKAGE@VERSION; what it changes needs your consent."""
    consent = Consent(prereleases=allow_prerelease, downgrade=allow_downgrade, accept=accept)
    with showing(as_json), Watch(context, as_json) as watch, opened(context, create=False) as store:
        change = _installer(store, watch, asking(as_json)).update(package, consent=consent)
    return _changed(change, as_json)


@click.command("remove")
@click.argument("package")
@json_option
@click.pass_obj
def remove_verb(context: Context, package: str, as_json: bool) -> Shown:
    """Take PACKAGE out of the profile; calls that run keep their release."""
    with Watch(context, as_json) as watch, opened(context, create=False) as store:
        change = _installer(store, watch).remove(package)
    return _changed(change, as_json)


@click.command("list")
@json_option
@click.pass_obj
def list_verb(context: Context, as_json: bool) -> Shown:
    """List the installed packages and their commands. Starts nothing."""
    with looked_at(context) as (records, active):
        routes = records.profiles.routes(active.generation)
    packages = [
        {
            "package": name,
            "version": entry["version"],
            "signer": entry["signer"][:16],
            "commands": [
                {"path": " ".join(path), "identity": identity, "summary": summary}
                for path, kind, identity, summary in routes
                if kind == "command" and identity.startswith(f"{name}/")
            ],
        }
        for name, entry in sorted(active.profile["packages"].items())
    ]
    document: dict[str, Any] = {"revision": active.revision, "packages": packages}
    return Shown(document, json=as_json)


def _installer(store: Store, observe: Observe, ask: Ask = nobody) -> Installer:
    return Installer(StoreLedger(store, observe), store.home, lambda: now_ms(store), observe=observe, ask=ask)


def _changed(change: Change, as_json: bool) -> Shown:
    document = {
        "action": change.action,
        "package": change.package,
        "version": change.version,
        "revision": change.revision,
    }
    if change.previous:
        document["previous"] = change.previous
    return Shown(document, json=as_json)
