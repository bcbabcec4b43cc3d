"""Sources: publishers' keys and signatures, artifacts, catalogs, and the path of an installation.

The rules of the room:

- Nothing that comes from outside is believed before a key that the owner trusts for the package has signed it, and
  then exactly what was signed; the catalog only says where to look.
- Documents are closed and read by the strict reader; artifacts are read by an own block reader that knows what it
  accepts and refuses the rest by name; files are read up to a limit.
- Nothing of a release is run while it is installed.
- Where a step refuses, nothing is left behind.

Decisions are pure (`dsse`, `release`, `ustar`, `resolve`, `verify`); `staging` and `pack` touch the disk; `install`
joins them with the store through `ports`. Each name is loaded from its module on first use; `pack.pack` bears the name
of its module, and is had from there.
"""

from __future__ import annotations

from rukh.values.front import front

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.sources.catalog import Catalogued, Offer, build_catalog, read_catalog
    from rukh.sources.consent import Consent, Unconsented
    from rukh.sources.directory import DirectorySource, check_source
    from rukh.sources.install import Change, Installer, installed_descriptors
    from rukh.sources.keys import PublicKey, generate, load_public
    from rukh.sources.pack import Packed, sign
    from rukh.sources.ports import Installed
    from rukh.sources.staging import verify_tree

__all__ = [
    "Catalogued",
    "Change",
    "Consent",
    "DirectorySource",
    "Installed",
    "Installer",
    "Offer",
    "Packed",
    "PublicKey",
    "Unconsented",
    "build_catalog",
    "check_source",
    "generate",
    "installed_descriptors",
    "load_public",
    "read_catalog",
    "sign",
    "verify_tree",
]

_HOMES = {
    "catalog": "Catalogued Offer build_catalog read_catalog",
    "directory": "DirectorySource check_source",
    "consent": "Consent Unconsented",
    "install": "Change Installer installed_descriptors",
    "keys": "PublicKey generate load_public",
    "pack": "Packed sign",
    "ports": "Installed",
    "staging": "verify_tree",
}

__getattr__ = front(__name__, _HOMES)
