"""Homes with a really installed extension: packed, signed, trusted, installed and exposed, by the production path."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rukh.contract.profile import read_owner_profile
from rukh.host.ledger import StoreLedger, apply_owner_part
from rukh.mcp.endpoint import binding_of
from rukh.sources.install import Installer
from rukh.store.home import open_home
from rukh.store.store import Store
from tests.support.releases import NOW, Publisher

PROGRAM = str(Path(sys.executable).with_name("rukh"))
# A hung process fails its test; a green run never waits for it.
PATIENCE = 60

OWNER_FILE = """
format = "rukh.profile/1"

[presets.assistant]
deadline = "30s"
budget = {{ calls = {calls} }}

[endpoints.desk]
transport = "stdio"
namespace = "acme.desk"
preset = "assistant"
actor = "agent:desk"
packages = ["{package}"]

[[rules]]
action = "run"
actors = ["user:local", "agent:desk"]
commands = ["{allowed}"]
decision = "allow"

[[rules]]
action = "install"
actors = ["user:local"]
packages = ["*"]
decision = "allow"
{more}
"""


class InstalledHome:
    """A home in `place`, with `package` installed from the files of an extension, and its endpoint `desk`."""

    def __init__(self, place: Path, package: str = "acme.echo") -> None:
        self.place = place
        self.package = package
        self.path = str(place / "home")
        self.publisher = Publisher.new(place / "keys")
        self.catalog = place / "releases"

    def install(self, files: Mapping[str, str], *, version: str = "1.0.0", **descriptor: Any) -> None:
        """Release `version` and install it, or update to it."""
        self.publisher.release(self.catalog, self.package, version, files=files, **descriptor)
        self.settle()

    def install_tree(self, source: Path) -> None:
        """Release the extension that lies in `source`, and install it."""
        from rukh.sources.catalog import build_catalog
        from rukh.sources.pack import pack, sign

        self.catalog.mkdir(parents=True, exist_ok=True)
        artifact = str(self.catalog / "release.tar.gz")
        pack(str(source), artifact)
        sign(artifact, self.publisher.key_path, NOW)
        build_catalog(str(self.catalog))
        self.settle()

    def settle(self) -> None:
        """Install or update to what the catalog offers; the owner consents to whatever an update changes."""
        store = Store(open_home(self.path, create=True))
        try:
            ledger = StoreLedger(store)
            store.trust.add_key(self.package, self.publisher.key_id, self.publisher.pem, subject="user:local")
            store.trust.add_source("local", str(self.catalog), subject="user:local")
            installer = Installer(ledger, store.home, lambda: NOW, ask=lambda _difference: True)
            if self.package in ledger.active().profile["packages"]:
                installer.update(self.package)
            else:
                installer.install(self.package)
        finally:
            store.close()

    def expose(self, *, calls: int = 1_000_000, allowed: str = "*", more: str = "") -> None:
        """Apply the owner's file and issue a task for the endpoint."""
        text = OWNER_FILE.format(package=self.package, calls=calls, allowed=allowed, more=more)
        store = Store(open_home(self.path, create=False))
        try:
            apply_owner_part(StoreLedger(store), store.home, read_owner_profile(text))
            active = store.profiles.active()
            assert active is not None
            binding = binding_of(active, "desk")
            store.tasks.issue("desk", binding, binding["calls"], binding["windowMs"], subject="user:local")
        finally:
            store.close()

    def environment(self) -> dict[str, str]:
        """The environment of a process that works in this home."""
        return {**os.environ, "RUKH_HOME": self.path}

    def run(self, *words: str | bytes, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """One `rukh` command line."""
        return subprocess.run(
            [PROGRAM, *words],
            input=stdin,
            capture_output=True,
            env=self.environment(),
            timeout=PATIENCE,
            check=False,
        )
