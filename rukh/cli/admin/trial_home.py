"""The throw-away home of a test: an extension packed, signed, trusted and installed as an owner's would be.

Everything lies in one temporary directory of mode 0700 and is removed with it: the key, the releases, the home, the
directories that stand for the owner's. Nothing of the owner's own home is read. RK-AUTHOR-052 RK-AUTHOR-054
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from typing import Any

from rukh.cli.admin.trial_processes import Processes
from rukh.contract.descriptor import check
from rukh.contract.policy import LOCAL_USER
from rukh.contract.profile import read_owner_profile
from rukh.contract.projection import export_refusal
from rukh.host.ledger import StoreLedger, apply_owner_part
from rukh.host.workdirs import remove_work_dir
from rukh.mcp.endpoint import binding_of
from rukh.sources.catalog import build_catalog
from rukh.sources.consent import Consent
from rukh.sources.declared import check_descriptor
from rukh.sources.install import Installer
from rukh.sources.keys import PRIVATE_FILE, generate
from rukh.sources.pack import pack, sign
from rukh.store.database import utc_ms
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError

ENDPOINT = "trial"
NAMESPACE = "trial.desk"
_SOURCE = "trial"

_PROFILE = f"""
format = "rukh.profile/1"

[[rules]]
action = "install"
actors = ["{LOCAL_USER}"]
packages = ["*"]
decision = "allow"

[[rules]]
action = "run"
actors = ["*"]
commands = ["*"]
decision = "allow"
"""
_ENDPOINT = f"""
[presets.trial]
deadline = "1h"
budget = {{ calls = 1000000 }}

[endpoints.{ENDPOINT}]
transport = "stdio"
namespace = "{NAMESPACE}"
preset = "trial"
actor = "agent:trial"
packages = ["PACKAGE"]
"""


class TrialHome:
    """A context: the installed extension of `directory`, and room for what its commands do.

    `path` is the home, `records` the compiled commands by id, `exported` the ids that an agent can call, `revision` the
    active one, `processes` what runs in it. Behind the context none of it is there. RK-AUTHOR-054
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.processes = Processes()
        self._place = ""
        self.path = ""
        self.revision = ""
        self.records: dict[str, dict[str, Any]] = {}
        self.exported: frozenset[str] = frozenset()

    def __enter__(self) -> TrialHome:
        self.processes.watch()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.processes.end_all()
        finally:
            removed = not self._place or remove_work_dir(self._place)
            self.processes.release()
        if not removed:
            message = "the throw-away home could not be removed wholly, and a key lies in it"
            raise RukhError("RKX020", message, place=self._place, mend="remove it")

    def at(self, *parts: str) -> str:
        """A path in the temporary directory."""
        return os.path.join(self._place, *parts)

    def as_written(self, data: bytes) -> bytes:
        """`data` with the paths of the installed release as those of the author's directory. RK-AUTHOR-060"""
        releases = re.escape(os.fsencode(os.path.join(self.path, "releases", "")))
        directory = os.fsencode(os.path.join(self.directory, ""))
        return re.sub(releases + b"[0-9a-f]{64}/", lambda _found: directory, data)

    def install(self, package: str, environment: Mapping[str, str]) -> None:
        """Bring the extension in by the steps of a publisher and an owner; raises RukhError of them, or RKX020."""
        with self.processes.whole():
            self._place = _new_directory()
        self.path = self.at("home")
        self._release()
        store = Store(open_home(self.path, create=True))
        try:
            self._trust_and_install(store, package)
            self._apply(store, package, environment)
        finally:
            store.close()

    def _release(self) -> None:
        for name in ("keys", "releases"):
            os.mkdir(self.at(name))
        self._key = generate(self.at("keys"))
        artifact = self.at("releases", "release.tar.gz")
        pack(self.directory, artifact)
        sign(artifact, self.at("keys", PRIVATE_FILE), utc_ms())
        build_catalog(self.at("releases"))

    def _trust_and_install(self, store: Store, package: str) -> None:
        store.trust.add_key(package, self._key.key_id, self._key.pem, subject=LOCAL_USER)
        store.trust.add_source(_SOURCE, self.at("releases"), subject=LOCAL_USER)
        Installer(StoreLedger(store), store.home, utc_ms).install(package, consent=Consent(prereleases=True))

    def _apply(self, store: Store, package: str, environment: Mapping[str, str]) -> None:
        """The owner's part: rules that allow, the environment, whole programs, and an endpoint where it has a use."""
        ledger = StoreLedger(store)
        self._keep(store, ledger.active().generation, package)
        text = _PROFILE + (_ENDPOINT.replace("PACKAGE", package) if self.exported else "")
        owner = read_owner_profile(text)
        owner["environment"] = {package: dict(environment)} if environment else {}
        owner["passthrough"] = {
            record["identity"]: {"arguments": "unrestricted"}
            for record in self.records.values()
            if record["mapping"]["kind"] == "passthrough"
        }
        self.revision = apply_owner_part(ledger, store.home, owner).revision
        if self.exported:
            binding = binding_of(ledger.active(), ENDPOINT)
            store.tasks.issue(ENDPOINT, binding, binding["calls"], binding["windowMs"], subject=LOCAL_USER)

    def _keep(self, store: Store, generation: str, package: str) -> None:
        for _path, kind, identity, _summary in store.profiles.routes(generation):
            record = store.profiles.command(generation, identity) if kind == "command" else None
            if record is not None and record["package"] == package:
                self.records[identity.partition("/")[2]] = record
        refused = {name for name, record in self.records.items() if export_refusal(record) is not None}
        self.exported = frozenset(self.records) - refused


def _new_directory() -> str:
    """A directory for temporary files; without links, so that whoever runs in it calls it by the same name."""
    try:
        return os.path.realpath(tempfile.mkdtemp(prefix="rukh-test-"))
    except OSError as error:
        said = f"no throw-away home can be made: {error.strerror}"
        mend = "set TMPDIR to a directory that can be written"
        raise RukhError("RKX020", said, place=str(error.filename or ""), mend=mend) from error


def described(data: bytes) -> dict[str, Any]:
    """The descriptor in `data`; raises RukhError RKT043 or RKT044 as packing does."""
    check_descriptor(data)
    descriptor = check(data).descriptor
    assert descriptor is not None  # or it would have been refused
    return descriptor
