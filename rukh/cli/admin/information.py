"""The verb info: what is known of one package, installed or only offered. Nothing of it is fetched or started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from rukh.cli.admin.homes import looked_at
from rukh.cli.admin.shown import Shown, json_option
from rukh.cli.admin.trusting import check_package
from rukh.cli.context import Context
from rukh.contract.grammar import version_key
from rukh.sources.catalog import Offer, read_catalog
from rukh.sources.directory import DirectorySource
from rukh.sources.staging import verify_tree
from rukh.store.profiles import Active
from rukh.store.store import Records
from rukh.values.errors import RukhError
from rukh.values.nearest import nearest


@click.command("info")
@click.argument("package")
@json_option
@click.pass_obj
def info_verb(context: Context, package: str, as_json: bool) -> Shown:
    """Say what is installed of PACKAGE, by whom it is signed, and what the sources offer."""
    check_package(package)
    with looked_at(context) as (records, active):
        offered, unread = _offered(records)
        entry = active.profile["packages"].get(package)
        installed = _installed(records, active, package, entry) if entry else None
    offers = sorted(
        (row for row in offered if row[1].package == package),
        key=lambda row: version_key(row[1].version),
        reverse=True,
    )
    if installed is None and not offers:
        raise _unknown(
            package, {*active.profile["packages"], *(offer.package for _, offer in offered)}, unread
        )
    document = {
        "package": package,
        "revision": active.revision,
        "installed": installed,
        "offers": [
            {
                "source": source,
                "version": offer.version,
                "size": offer.size,
                "newer": entry is not None and version_key(offer.version) > version_key(entry["version"]),
            }
            for source, offer in offers
        ],
        "unread": unread,
    }
    return Shown(document, json=as_json)


def _installed(records: Records, active: Active, package: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    exports = records.profiles.projected(active.projection)
    paths: dict[str, list[str]] = {}
    for path, _kind, identity, _summary in records.profiles.routes(active.generation):
        paths.setdefault(identity, []).append(" ".join(path))  # a group's is "", which no command has
    return {
        "version": entry["version"],
        "mount": " ".join(entry["mount"]),
        "signer": entry["signer"],
        "signerState": _signer_state(records, package, entry["signer"]),
        "from": records.trust.origin(package, entry["version"]),
        "tree": entry["tree"],
        "files": _files(records, entry["tree"]),
        "commands": [
            {
                "identity": record["identity"],
                "paths": paths.get(record["identity"], []),
                "endpoints": sorted(
                    name for name, pairs in exports.items() if _names(pairs, record["identity"])
                ),
            }
            for record in records.profiles.commands(active.generation, package)
        ],
    }


def _files(records: Records, tree: str) -> str:
    """`verified`, or why they are not: read anew from the disk."""
    try:
        verify_tree(records.home, tree)
    except RukhError as error:
        return f"{error.message}: see doctor"
    return "verified"


def _names(pairs: list[tuple[str, str]], identity: str) -> bool:
    return any(exported == identity for exported, _tail in pairs)


def _signer_state(records: Records, package: str, signer: str) -> str:
    """`trusted`, `revoked`, or `unknown` for a key that is not on record."""
    for key in records.trust.all_keys(package):
        if key.key_id == signer:
            return "trusted" if key.revoked_ms is None else "revoked"
    return "unknown"


def _offered(records: Records) -> tuple[list[tuple[str, Offer]], list[dict[str, str]]]:
    """Every offer with its source, and the sources that could not be read, each with the reason."""
    found: list[tuple[str, Offer]] = []
    unread = []
    for name, location in records.trust.sources():
        try:
            found += [(name, offer) for offer in read_catalog(DirectorySource(name, location).catalog())]
        except RukhError as error:
            unread.append({"source": name, "code": error.rule, "message": error.message})
    return found, unread


def _unknown(package: str, known: set[str], unread: list[dict[str, str]]) -> RukhError:
    near = nearest(package, known)
    mend = f"did you mean {near}?" if near else "see what is installed: list"
    if unread:
        mend += f" The source {unread[0]['source']} could not be read: {unread[0]['message']}"
    message = "it is neither installed nor offered by a source"
    return RukhError("RKT075", f"{message} that can be read" if unread else message, place=package, mend=mend)
