"""The publisher's verbs: keygen, pack, sign, catalog. They need no home."""

from __future__ import annotations

import os

import click

from rukh.cli.admin.checking import refuse_wrong_code
from rukh.cli.admin.shown import Shown, json_option
from rukh.sources.catalog import build_catalog
from rukh.sources.keys import PRIVATE_FILE, PUBLIC_FILE, generate
from rukh.sources.pack import pack, sign
from rukh.store.database import utc_ms
from rukh.values.errors import RukhError


@click.command("keygen")
@click.option("--out", "directory", required=True, metavar="DIR", help="Where the two files are written.")
@json_option
def keygen_verb(directory: str, as_json: bool) -> Shown:
    """Make a publisher's key pair: publisher.key (private, 0600) and publisher.pub."""
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        raise RukhError(
            "RKT064", f"the directory cannot be made: {error.strerror}", place=directory, mend="name another"
        ) from error
    public = generate(directory)
    document = {
        "keyId": public.key_id,
        "private": os.path.join(directory, PRIVATE_FILE),
        "public": os.path.join(directory, PUBLIC_FILE),
    }
    return Shown(document, json=as_json)


@click.command("pack")
@click.argument("directory", metavar="DIR")
@click.option("--out", "file", required=True, metavar="FILE", help="The artifact to write.")
@json_option
def pack_verb(directory: str, file: str, as_json: bool) -> Shown:
    """Pack the extension in DIR into one artifact; the same files give the same bytes."""
    refuse_wrong_code(directory)
    packed = pack(directory, file)
    document = {
        "artifact": file,
        "package": packed.package,
        "version": packed.version,
        "size": packed.size,
        "sha256": packed.artifact,
        "tree": packed.tree,
        "leftOut": list(packed.left_out),
    }
    return Shown(document, json=as_json)


@click.command("sign")
@click.argument("file", metavar="FILE")
@click.option("--key", required=True, metavar="KEY", help="The publisher's private key.")
@json_option
def sign_verb(file: str, key: str, as_json: bool) -> Shown:
    """Sign the artifact FILE; the signature is written beside it."""
    return Shown({"artifact": file, "signature": sign(file, key, utc_ms())}, json=as_json)


@click.command("catalog")
@click.argument("directory", metavar="DIR")
@json_option
def catalog_verb(directory: str, as_json: bool) -> Shown:
    """Write catalog.json from the signed artifacts in DIR."""
    made = build_catalog(directory)
    document = {
        "releases": [{"package": offer.package, "version": offer.version} for offer in made.offers],
        "unsigned": list(made.unsigned),
    }
    return Shown(document, json=as_json)
