"""The owner's verbs about whose releases may be installed, and where they are looked for: trust, source."""

from __future__ import annotations

import os
from typing import Any

import click

from rukh.cli.admin.homes import active_of, looked_at, opened
from rukh.cli.admin.shown import Shown, json_option, when
from rukh.cli.context import Context
from rukh.contract.grammar import PACKAGE
from rukh.contract.policy import LOCAL_USER
from rukh.sources.directory import check_source
from rukh.sources.keys import load_public
from rukh.store.store import Store
from rukh.store.trust import TrustedKey
from rukh.values.errors import RukhError

# Hexadecimal digits of a key id that nobody finds a second key for by trying.
_CLEAR = 12


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
    check_package(package)
    public = load_public(os.path.realpath(key))
    with opened(context, create=True) as store:
        store.trust.add_key(package, public.key_id, public.pem, subject=LOCAL_USER)
    return Shown({"package": package, "keyId": public.key_id}, json=as_json)


@trust_verb.command("list")
@click.argument("package", default="")
@json_option
@click.pass_obj
def trust_list(context: Context, package: str, as_json: bool) -> Shown:
    """List the keys that are or were trusted, for PACKAGE or for all."""
    if package:
        check_package(package)
    with looked_at(context) as (records, active):
        keys = records.trust.all_keys(package)
    packages = active.profile["packages"]
    rows = [_key(key, packages.get(key.package, {})) for key in keys]
    text = "".join(f"{_key_line(row)}\n" for row in rows)
    none = f"No key is trusted for {package}.\n" if package else "No key is trusted.\n"
    return Shown({"keys": rows}, json=as_json, text=text or none)


def _key(key: TrustedKey, entry: dict[str, Any]) -> dict[str, Any]:
    """One key; `installed` is the active version that it signed, or null."""
    return {
        "package": key.package,
        "keyId": key.key_id,
        "addedMs": key.added_ms,
        "revokedMs": key.revoked_ms,
        "installed": entry["version"] if entry.get("signer") == key.key_id else None,
    }


def _key_line(row: dict[str, Any]) -> str:
    state = f"trusted since {when(row['addedMs'])}"
    if row["revokedMs"] is not None:
        state = f"revoked at {when(row['revokedMs'])}"
    signed = f", signed the installed {row['installed']}" if row["installed"] else ""
    return f"{row['package']}  {row['keyId']}  {state}{signed}"


@trust_verb.command("revoke")
@click.argument("package")
@click.argument("key_id", metavar="KEY-ID")
@json_option
@click.pass_obj
def trust_revoke(context: Context, package: str, key_id: str, as_json: bool) -> Shown:
    """Take the trust in a key for PACKAGE back, for good; what it signed is not called any more."""
    check_package(package)
    with opened(context, create=False) as store:
        found = _whole(store, package, key_id.lower())
        store.trust.revoke_key(package, found, subject=LOCAL_USER)
        entry = active_of(store).profile["packages"].get(package, {})
        signed = store.trust.signed_by(package, found)
        left = [key for key, _pem in store.trust.keys(package)]
    installed = entry["version"] if entry.get("signer") == found else None
    document = {
        "package": package,
        "keyId": found,
        "installed": installed,
        "kept": [version for version in signed if version != installed],
        "trusted": left,
    }
    return Shown(document, json=as_json, text=_revoked_text(context.name, document))


def _revoked_text(program: str, told: dict[str, Any]) -> str:
    """What the revocation means for what is here, and how to go on. RK-ADM-016"""
    package, installed = told["package"], told["installed"]
    lines = [f"The key {told['keyId']} is not trusted for {package} any more."]
    if installed:
        lines += [
            f"The installed {package} {installed} is signed by it: its calls are refused.",
            f"Update it to a release of another trusted key, or remove it: {program} remove {package}",
        ]
    if told["kept"]:
        lines.append(
            f"It signed what is kept as well, so that no rollback goes there: {', '.join(told['kept'])}"
        )
    if not told["trusted"]:
        lines.append(f"No key is trusted for {package} now, so that nothing of it can be installed.")
    return "".join(f"{line}\n" for line in lines)


def _whole(store: Store, package: str, beginning: str) -> str:
    """The whole id of the one key that begins so; raises RKT069 or RKT074. RK-ADM-016"""
    found = [key.key_id for key in store.trust.all_keys(package) if key.key_id.startswith(beginning)]
    mend = f"see the keys: trust list {package}"
    if not found:
        raise RukhError("RKT069", f"{package} has no such key", place=beginning, mend=mend)
    if len(found) > 1 or len(beginning) < _CLEAR:
        message = f"write the whole id, or at least {_CLEAR} digits that no other key begins with"
        raise RukhError("RKT074", message, place=beginning, mend=mend)
    return found[0]


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
        before = store.trust.add_source(name, location, subject=LOCAL_USER)
    document = {"source": name, "location": location}
    if before is not None:
        document["replaced"] = before
    return Shown(document, json=as_json)


@source_verb.command("list")
@json_option
@click.pass_obj
def source_list(context: Context, as_json: bool) -> Shown:
    """List the sources, in the order in which they are asked."""
    with looked_at(context) as (records, _):
        rows = [{"source": name, "location": location} for name, location in records.trust.sources()]
    text = "".join(f"{row['source']}  {row['location']}\n" for row in rows)
    return Shown({"sources": rows}, json=as_json, text=text or "There is no source.\n")


@source_verb.command("remove")
@click.argument("name")
@json_option
@click.pass_obj
def source_remove(context: Context, name: str, as_json: bool) -> Shown:
    """Take the source NAME off the list; what was installed from it stays."""
    with opened(context, create=False) as store:
        store.trust.remove_source(name, subject=LOCAL_USER)
    return Shown({"removed": name}, json=as_json)


def check_package(package: str) -> None:
    """Raises RukhError RKT054 for what is no package name."""
    if not PACKAGE.matches(package):
        raise RukhError(
            "RKT054", f"{package!r} is no package name", place=package, mend="write it like acme.notes"
        )
