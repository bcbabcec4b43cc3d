"""The homes that the sweeps begin from, built by the program itself, and the verbs that they run in them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crashes.program import forked
from rukh.values.registry import LIMIT_KEPT_REVISIONS

PACKAGE = "acme.echo"
# The last one has a command more, so that an update to it needs the owner's consent.
OLD, NEW, GROWN = "1.0.0", "1.1.0", "1.2.0"
ABSENT = ""  # the version of a package that is not installed

_CODE = """\
import rukh_sdk


@rukh_sdk.command("say", result="text")
def say(inputs, context):
    return "{version}"
"""
_SHOUT = """\


@rukh_sdk.command("shout", result="text")
def shout(inputs, context):
    return "{version}!"
"""


@dataclass(frozen=True)
class Scene:
    """A verb, and the version (`ABSENT` for none) before it and after it.

    In its words, `{place}` stands for the stage's directory, `{second}` for the second revision of the home, and
    `{digest}` for what the owner consents to.
    """

    name: str
    words: tuple[str, ...]
    before: str
    after: str
    # What else the program is told to build the home, one command line each.
    built: Sequence[tuple[str, ...]] = ()
    # How a second try may be refused where the first one had gone through after all.
    done: tuple[str, ...] = ()


INSTALL = ("install", f"{PACKAGE}@{OLD}")
# Enough further publications for the old release to be tied to no kept revision any more.
_FORGOTTEN = (("profile", "apply", "{place}/one.toml"), ("profile", "apply", "{place}/other.toml")) * (
    LIMIT_KEPT_REVISIONS // 2 + 1
)
UPDATE = ("update", f"{PACKAGE}@{NEW}")
GROWTH = ("update", f"{PACKAGE}@{GROWN}")
SCENES = (
    Scene("install", INSTALL, ABSENT, OLD, done=("RKT055",)),
    Scene("update", UPDATE, OLD, NEW, (INSTALL,)),
    Scene("consent", (*GROWTH, "--accept", "{digest}"), OLD, GROWN, (INSTALL,), done=("RKT071",)),
    Scene("remove", ("remove", PACKAGE), OLD, ABSENT, (INSTALL,), done=("RKT056",)),
    Scene("rollback", ("profile", "rollback", "{second}"), NEW, OLD, (INSTALL, UPDATE)),
    Scene("gc", ("gc",), NEW, NEW, (INSTALL, UPDATE, *_FORGOTTEN)),
)
_OWNER_FILE = """\
format = "rukh.profile/1"

[[rules]]
action = "run"
actors = ["user:local"]
commands = ["*"]
decision = "allow"

[[rules]]
action = "install"
actors = ["user:local"]
packages = ["*"]
decision = "allow"
"""


class Stage:
    """A directory with a publisher's releases in it and a home for each scene, to be copied."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.releases = place / "releases"
        self._publish()

    def home(self, scene: Scene) -> Path:
        """The home of a scene as its verb finds it, built once."""
        home = self.place / f"home-{scene.name}"
        if not home.exists():
            key = str(self.place / "keys" / "publisher.pub")
            for words in (
                ("trust", "add", PACKAGE, "--key", key),
                ("source", "add", "local", str(self.releases)),
                *scene.built,
            ):
                self._must(home, [self._filled(word, home) for word in words])
        return home

    def words(self, scene: Scene) -> list[str]:
        """The words of the scene's verb."""
        return [self._filled(word, self.home(scene)) for word in scene.words]

    def _filled(self, word: str, home: Path) -> str:
        if word == "{second}":
            history = json.loads(self._must(home, ["profile", "history", "--json"]))["revisions"]
            return str(history[-2]["revision"])
        if word == "{digest}":
            refused = forked(os.fspath(home), [*GROWTH, "--json"])
            return str(json.loads(refused.err)["error"]["difference"]["digest"])
        return word.replace("{place}", os.fspath(self.place))

    def copy(self, scene: Scene, to: Path) -> Path:
        """A fresh copy of the scene's home."""
        shutil.copytree(self.home(scene), to, symlinks=True)
        return to

    def _publish(self) -> None:
        self.releases.mkdir(parents=True)
        (self.place / "one.toml").write_text(_OWNER_FILE, encoding="utf-8")
        (self.place / "other.toml").write_text(
            f"{_OWNER_FILE}\n[limits]\nconcurrency = 4\n", encoding="utf-8"
        )
        nowhere = self.place / "nowhere"
        self._must(nowhere, ("keygen", "--out", str(self.place / "keys")))
        for version in (OLD, NEW, GROWN):
            source = self.place / f"source-{version}"
            source.mkdir()
            (source / "rukh-extension.json").write_text(json.dumps(_descriptor(version)), encoding="utf-8")
            code = _CODE + (_SHOUT if version == GROWN else "")
            (source / "acme_echo.py").write_text(code.format(version=version), encoding="utf-8")
            artifact = str(self.releases / f"{PACKAGE}-{version}.tar.gz")
            self._must(nowhere, ("pack", str(source), "--out", artifact))
            self._must(nowhere, ("sign", artifact, "--key", str(self.place / "keys" / "publisher.key")))
        self._must(nowhere, ("catalog", str(self.releases)))

    def _must(self, home: Path, words: Sequence[str]) -> str:
        ended = forked(os.fspath(home), list(words))
        if ended.status:
            raise SystemExit(f"rukh {' '.join(words)}: {ended.status}\n{ended.err}")
        return ended.out


def remove(home: Path) -> None:
    """Remove a copy, read-only releases included; of a link only the link."""
    if home.is_symlink():
        home.unlink()
        return
    for directory, _, _ in os.walk(home):
        os.chmod(directory, 0o700)
    shutil.rmtree(home)


def _descriptor(version: str) -> dict[str, object]:
    return {
        "format": "rukh.extension/2",
        "package": PACKAGE,
        "version": version,
        "summary": "Says its version",
        "runtime": {"kind": "python"},
        "commands": [_command("say"), *([_command("shout")] if version == GROWN else [])],
    }


def _command(name: str) -> dict[str, object]:
    return {
        "id": name,
        "path": ["echo", name],
        "summary": "Say the version",
        "execute": {
            "mapping": {"kind": "managed", "entry": f"acme_echo:{name}"},
            "result": {"kind": "text"},
        },
        "machine": {"eligible": True, "requiredFeatures": ["command-result/1"]},
    }
