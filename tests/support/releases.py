"""Small extensions, packed and signed in a temporary directory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from rukh.sources import dsse
from rukh.sources.catalog import CATALOG_FILE, build_catalog
from rukh.sources.keys import generate, load_private
from rukh.sources.pack import SIGNATURE_SUFFIX, pack, sign
from rukh.sources.release import DESCRIPTOR_FILE, Release, build
from rukh.values.ids import sha256_hex

NOW = 1_800_000_000_000  # UTC ms: the clock of these tests
DAY = 86_400_000  # ms


def descriptor(package: str = "acme.notes", version: str = "1.0.0", **changes: Any) -> dict[str, Any]:
    """A Python extension with one command, `PACKAGE/add`."""
    word = package.rpartition(".")[2]
    command = {
        "id": "add",
        "path": [word, "add"],
        "summary": "Add one",
        "parameters": [
            {
                "id": "title",
                "form": "positional",
                "required": True,
                "type": {"kind": "string", "maxLength": 200},
            }
        ],
        "execute": {
            "mapping": {"kind": "managed", "entry": f"{module_name(package)}:add"},
            "result": {"kind": "text"},
        },
        "machine": {"eligible": True, "requiredFeatures": ["command-result/1"]},
    }
    document: dict[str, Any] = {
        "format": "rukh.extension/2",
        "package": package,
        "version": version,
        "runtime": {"kind": "python"},
        "commands": [command],
    }
    return document | changes


def module_name(package: str) -> str:
    """The Python module of a test extension."""
    return package.replace(".", "_").replace("-", "_")


def extension_files(document: Mapping[str, Any]) -> dict[str, str]:
    """The files of an extension: its descriptor and its module."""
    source = '"""A test extension."""\n\n\ndef add(inputs, context):\n    return inputs["title"]\n'
    return {
        DESCRIPTOR_FILE: json.dumps(document, indent=2),
        f"{module_name(document['package'])}.py": source,
    }


def write_extension(
    directory: Path, document: Mapping[str, Any], files: Mapping[str, str] | None = None
) -> Path:
    """Write the extension (and further `files`) into `directory`, made if need be."""
    for name, text in {**extension_files(document), **(files or {})}.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755 if text.startswith("#!") else 0o644)
    return directory


@dataclass(frozen=True)
class Publisher:
    """A publisher with a key pair in `directory`."""

    directory: Path
    key_id: str
    pem: str

    @classmethod
    def new(cls, directory: Path) -> Publisher:
        directory.mkdir(parents=True, exist_ok=True)
        public = generate(str(directory))
        return cls(directory, public.key_id, public.pem)

    @property
    def key_path(self) -> str:
        return str(self.directory / "publisher.key")

    def release(
        self,
        place: Path,
        package: str = "acme.notes",
        version: str = "1.0.0",
        *,
        files: Mapping[str, str] | None = None,
        expires: int | None = None,
        **changes: Any,
    ) -> Path:
        """Pack and sign one release into the catalog directory `place`, and write its catalog; the artifact's path."""
        place.mkdir(parents=True, exist_ok=True)
        source = Path(mkdtemp(prefix="work-", dir=place.parent))
        write_extension(source, descriptor(package, version, **changes), files)
        artifact = place / f"{package}-{version}.tar.gz"
        pack(str(source), str(artifact))
        sign(str(artifact), self.key_path, NOW, expires)
        build_catalog(str(place))
        return artifact

    def sign_as(self, artifact: Path, /, **claims: Any) -> None:
        """Sign a statement that claims anything about the artifact, and list it: for releases that must be refused.

        Claims are members of `Release`; size and digest of the artifact are true unless claimed otherwise.
        """
        data = artifact.read_bytes()
        statement = Release(
            **{
                "package": "acme.notes",
                "version": "1.0.0",
                "artifact_size": len(data),
                "artifact": sha256_hex(data),
                "descriptor": "0" * 64,
                "tree": "0" * 64,
                "issued_at": NOW,
                **claims,
            }
        )
        signature = dsse.sign(build(statement), load_private(self.key_path))
        artifact.with_name(artifact.name + SIGNATURE_SUFFIX).write_bytes(signature)
        list_artifact(artifact)


def list_artifact(artifact: Path, package: str = "acme.notes", version: str = "1.0.0") -> None:
    """Write a catalog that lists `artifact` truly as `package` and `version`, whatever lies beside it."""
    data = artifact.read_bytes()
    entry = {
        "package": package,
        "version": version,
        "artifact": artifact.name,
        "size": len(data),
        "sha256": sha256_hex(data),
        "signature": artifact.name + SIGNATURE_SUFFIX,
    }
    catalog = {"format": "rukh.catalog/1", "releases": [entry]}
    (artifact.parent / CATALOG_FILE).write_text(json.dumps(catalog), encoding="utf-8")


def list_again(artifact: Path) -> None:
    """Let the catalog follow the artifact's bytes: what somebody does who changes both."""
    path = artifact.parent / CATALOG_FILE
    catalog = json.loads(path.read_text(encoding="utf-8"))
    data = artifact.read_bytes()
    for entry in catalog["releases"]:
        if entry["artifact"] == artifact.name:
            entry |= {"size": len(data), "sha256": sha256_hex(data)}
    path.write_text(json.dumps(catalog), encoding="utf-8")
