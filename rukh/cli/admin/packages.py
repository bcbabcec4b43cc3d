"""The owner's verbs about packages: trust, source, install, update, remove, list."""

from __future__ import annotations

import os
from typing import Any

import click

from rukh.cli.admin.homes import active_of, now_ms, opened
from rukh.cli.admin.shown import Shown, json_option
from rukh.cli.context import Context
from rukh.contract.grammar import PACKAGE
from rukh.contract.policy import LOCAL_USER
from rukh.host.ledger import StoreLedger
from rukh.sources.directory import check_source
from rukh.sources.install import Change, Consent, Installer
from rukh.sources.keys import load_public
from rukh.store.store import Store
from rukh.values.errors import RukhError


@click.group("trust")
def trust_verb() -> None:
    """Whose releases may be installed."""


@trust_verb.command("add")
@click.argument("package")
@click.option("--key", required=True, metavar="PUB", help="The publisher's public key.")
@json_option
@click.pass_obj
def trust_add(context: Context, package: str, key: str, as_json: bool) -> Shown:
    """Trust the key PUB for releases of PACKAGE, and of no other package."""
    _check_package(package)
    public = load_public(os.path.realpath(key))
    with opened(context, create=True) as store:
        store.trust.add_key(package, public.key_id, public.pem, subject=LOCAL_USER)
    return Shown({"package": package, "keyId": public.key_id}, json=as_json)


@click.group("source")
def source_verb() -> None:
    """Where releases are looked for."""


@source_verb.command("add")
@click.argument("name")
@click.argument("directory", metavar="DIR")
@json_option
@click.pass_obj
def source_add(context: Context, name: str, directory: str, as_json: bool) -> Shown:
    """Name the directory DIR, which holds a catalog.json, as a source."""
    location = os.path.abspath(directory)
    check_source(name, location)
    with opened(context, create=True) as store:
        store.trust.add_source(name, location, subject=LOCAL_USER)
    return Shown({"source": name, "location": location}, json=as_json)


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
    with opened(context, create=True) as store:
        change = _installer(store).install(package, mount=mount.split(), consent=consent)
    return _changed(change, as_json)


@click.command("update")
@click.argument("package")
@click.option("--allow-prerelease", is_flag=True, help="Let a pre-release be chosen.")
@click.option("--allow-downgrade", is_flag=True, help="Let it go below the highest version seen.")
@json_option
@click.pass_obj
def update_verb(
    context: Context, package: str, allow_prerelease: bool, allow_downgrade: bool, as_json: bool
) -> Shown:
    """Update PACKAGE to the highest release, or to PACKAGE@VERSION."""
    consent = Consent(prereleases=allow_prerelease, downgrade=allow_downgrade)
    with opened(context, create=False) as store:
        change = _installer(store).update(package, consent=consent)
    return _changed(change, as_json)


@click.command("remove")
@click.argument("package")
@json_option
@click.pass_obj
def remove_verb(context: Context, package: str, as_json: bool) -> Shown:
    """Take PACKAGE out of the profile; calls that run keep their release."""
    with opened(context, create=False) as store:
        change = _installer(store).remove(package)
    return _changed(change, as_json)


@click.command("list")
@json_option
@click.pass_obj
def list_verb(context: Context, as_json: bool) -> Shown:
    """List the installed packages and their commands. Starts nothing."""
    with opened(context, create=False) as store:
        active = active_of(store)
        routes = store.profiles.routes(active.generation)
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


def _installer(store: Store) -> Installer:
    return Installer(StoreLedger(store), store.home, lambda: now_ms(store))


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


def _check_package(package: str) -> None:
    if not PACKAGE.matches(package):
        raise RukhError(
            "RKT054", f"{package!r} is no package name", place=package, mend="write it like acme.notes"
        )
