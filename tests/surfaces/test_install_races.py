"""Faults around an installation: another one beside it, locks of the dead, storage that fails, bytes that were swapped,
writers that die amidst a file. Behind each: what is reported is what runs, and the command goes through again."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crashes.program import KILLED, Around, Ended
from rukh.cli.admin.watching import Watch
from tests.support.releases import Publisher
from tests.support.shops import NEW, OLD, PACKAGE, Shop, patched


@pytest.fixture(scope="module")
def publisher(tmp_path_factory: pytest.TempPathFactory) -> Publisher:
    return Publisher.new(tmp_path_factory.mktemp("publisher"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, publisher: Publisher) -> Iterator[Shop]:
    shop = Shop.opened(tmp_path_factory.mktemp("built"), publisher, installed=True)
    yield shop
    shop.close()


@pytest.fixture
def shop(built: Shop, tmp_path: Path) -> Iterator[Shop]:
    """A shop of the test's own, in which the old version is installed and the new one is offered."""
    shop = built.copied(tmp_path / "shop")
    shop.release()
    yield shop
    shop.close()


def code(ended: Ended) -> tuple[int, str]:
    """Status and rule of a refusal under `--json`."""
    assert "" == ended.out
    return ended.status, json.loads(ended.err)["error"]["code"]


# --- an update fails halfway, and the receipt still says old ---


def failing(*_arguments: Any, **_named: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device", "there")


HALFWAY = {
    "a file is written": ("rukh.sources.staging._write_file", "RKT064"),
    "a file is synced": ("rukh.sources.staging.sync", "RKT064"),
    "the tree is moved": ("os.rename", "RKT064"),
    "byte code is moved": ("os.replace", "RKT064"),
}


@pytest.mark.requirement("RK-TRUST-042", "RK-PUB-038")
@pytest.mark.parametrize("step", HALFWAY)
def test_an_update_that_fails_halfway_leaves_the_old_version_reported_and_running(
    shop: Shop, step: str
) -> None:
    function, rule = HALFWAY[step]
    before = shop.seen()
    ended = shop.run("update", PACKAGE, "--json", around=patched(function, failing))
    assert (69, rule) == code(ended)
    assert (before, OLD) == (shop.seen(), shop.listed())
    shop.must("update", PACKAGE)
    assert (NEW, NEW) == (shop.listed(), shop.says())


# --- two at once ---


class Halted:
    """A command that stands still at the beginning of a step until it is let go on."""

    def __init__(self, shop: Shop, step: str, *words: str) -> None:
        self._at, self._on = (shop.place / name for name in ("at", "on"))
        for fifo in (self._at, self._on):
            os.mkfifo(fifo)
        self._running = shop.start(
            *words, around=patched("rukh.cli.admin.watching.Watch.__call__", self._call(step))
        )
        self._at.read_bytes()

    def _call(self, wanted: str) -> Callable[..., None]:
        real = Watch.__call__

        def call(watch: Watch, step: str, done: int = 0, total: int = 0) -> None:
            real(watch, step, done, total)
            if step == wanted:
                self._at.write_bytes(b".")
                self._on.read_bytes()

        return call

    def goes_on(self) -> Ended:
        """How it ends."""
        self._on.write_bytes(b".")
        return self._running.end()


@pytest.mark.requirement("RK-PUB-003", "RK-TRUST-044")
@pytest.mark.parametrize("step", ["check", "wait"])
def test_of_two_updates_at_once_one_wins_and_the_other_says_so_and_takes_its_files_back(
    shop: Shop, publisher: Publisher, step: str
) -> None:
    """The one that began first comes last; what it brought is not what is published."""
    halted = Halted(shop, step, "update", f"{PACKAGE}@{NEW}", "--json")
    shop.release("1.2.0")
    shop.must("update", PACKAGE)
    won = shop.seen()
    (staged,) = os.listdir(shop.home / "staging")

    assert (67, "RKO002") == code(halted.goes_on())

    kept = [name for name in won[3] if not name.startswith(f"staging/{staged}")]
    assert (*won[:3], kept, "1.2.0") == shop.seen()
    assert "1.2.0" == shop.listed()


@pytest.mark.requirement("RK-PUB-036", "RK-TRUST-044")
def test_of_many_installations_at_once_exactly_one_installs(publisher: Publisher, tmp_path: Path) -> None:
    shop = Shop.opened(tmp_path / "shop", publisher, installed=False)
    shop.release()
    ended = [each.end() for each in [shop.start("install", PACKAGE, "--json") for _ in range(6)]]

    done = [json.loads(one.out) for one in ended if one.status == 0]
    assert ["installed"] == [one["action"] for one in done]
    assert {(67, "RKO002"), (64, "RKT055")} >= {code(one) for one in ended if one.status}
    revision, profile, releases, _kept, says = shop.seen()
    assert (done[0]["revision"], NEW, NEW) == (revision, profile["packages"][PACKAGE]["version"], says)
    assert (releases, []) == (os.listdir(shop.home / "releases"), os.listdir(shop.home / "staging"))
    shop.close()


# --- locks of the dead ---


@pytest.mark.requirement("RK-PUB-010", "RK-PUB-029")
def test_locks_that_name_a_living_process_stop_nobody_when_nobody_holds_them(shop: Shop) -> None:
    """A process died, and its number was given to another one, which lives: this test's."""
    number = str(os.getpid())
    locks = shop.home / "locks"
    for name in ("gate", "lock", "releases/gate", "releases/lock", f"hold_{number}"):
        (locks / name).write_text(number, encoding="ascii")
    remains = shop.home / "staging" / f"op_{number}"
    (remains / "tree").mkdir(parents=True)
    (remains / "pid").write_text(number, encoding="ascii")

    shop.must("update", PACKAGE)

    assert (NEW, NEW) == (shop.listed(), shop.says())
    found = json.loads(shop.must("recover", "--json"))
    assert ([f"hold_{number}"], [f"op_{number}"]) == (found["locks"], found["staging"])


# --- bytes swapped after installation ---


def swap(shop: Shop, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change a file of the old release, whose modes forbid it."""
    with shop.store() as store:
        (row,) = store.database.rows("SELECT tree FROM release WHERE version = ?", (OLD,))
    path = shop.home / "releases" / row[0] / name
    for each in (path.parent, path):
        each.chmod(0o700)
    data = change(path.read_bytes())
    path.unlink()
    path.write_bytes(data)


def in_module(shop: Shop) -> None:
    swap(shop, "acme_notes.py", lambda data: data.replace(b"1.0.0", b"6.6.6"))


def in_descriptor(shop: Shop) -> None:
    swap(shop, "rukh-extension.json", lambda data: data.replace(b"Add one", b"Add two"))


SWAPPED = {"a module": in_module, "the descriptor": in_descriptor}


@pytest.mark.requirement("RK-TRUST-035", "RK-PUB-027")
@pytest.mark.parametrize("what", SWAPPED)
def test_swapped_bytes_are_refused_at_every_activation_of_the_release(shop: Shop, what: str) -> None:
    """A rollback to it, and its installation anew, which finds the tree in the home already."""
    first = json.loads(shop.must("list", "--json"))["revision"]
    shop.must("update", PACKAGE)
    SWAPPED[what](shop)
    before = shop.seen()
    shop.release(OLD)

    assert (66, "RKT063") == code(shop.run("profile", "rollback", first, "--json"))
    back = ("update", f"{PACKAGE}@{OLD}", "--allow-downgrade", "--json")
    assert (66, "RKT063") == code(shop.run(*back))
    assert before == shop.seen()
    assert NEW == shop.says()


@pytest.mark.requirement("RK-TRUST-035")
def test_a_swapped_descriptor_of_an_active_release_stops_what_would_be_compiled_from_it(shop: Shop) -> None:
    profile = shop.place / "profile.toml"
    profile.write_text(shop.must("profile", "show", "--toml"), encoding="utf-8")
    in_descriptor(shop)
    before = shop.seen()
    assert (66, "RKT063") == code(shop.run("profile", "apply", str(profile), "--json"))
    assert before == shop.seen()


@pytest.mark.requirement("RK-TRUST-033")
def test_a_call_runs_the_byte_code_that_was_compiled_from_the_verified_bytes(shop: Shop) -> None:
    """A swapped source is never compiled anew, and an update goes on to the next release."""
    in_module(shop)
    assert OLD == shop.says()
    shop.must("update", PACKAGE)
    assert NEW == shop.says()


# --- revoked ---


@pytest.mark.requirement("RK-PUB-032", "RK-PUB-031")
@pytest.mark.parametrize("verb", ["install", "update"])
def test_a_revoked_signature_brings_nothing_in_by_any_path(
    shop: Shop, publisher: Publisher, verb: str
) -> None:
    if verb == "install":
        shop.must("remove", PACKAGE)
    with shop.store() as store:
        store.trust.revoke_key(PACKAGE, publisher.key_id, subject="user:local")
    before = shop.seen()
    assert (66, "RKT008") == code(shop.run(verb, PACKAGE, "--json"))
    assert before == shop.seen()
    assert "" == shop.says()


# --- a write that truncates before it writes ---


def full(act: Callable[[], int]) -> int:
    """No file may grow beyond ten bytes, as on a disk that is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
    return act()


def killed_at(function: str) -> Around:
    """The process dies where it would call the function."""
    return patched(function, lambda *_arguments: signal.raise_signal(signal.SIGKILL))


def numbered(around: Around) -> Around:
    """The process has the number that an earlier one had."""
    return lambda act: patched("os.getpid", lambda: 4711)(lambda: around(act))


def undisturbed(act: Callable[[], int]) -> int:
    return act()


DEATHS = {
    "the disk is full": (full, 69),
    "it dies before the bytes are durable": (killed_at("os.fsync"), KILLED),
    "it dies before the old file is replaced": (killed_at("os.replace"), KILLED),
}


@pytest.mark.requirement("RK-PUB-048")
@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize("verb", ["sign", "catalog"])
def test_a_file_that_is_renewed_is_whole_whatever_becomes_of_its_writer(
    shop: Shop, publisher: Publisher, verb: str, death: str
) -> None:
    """Twice, as what one dead writer left must not be in the way of the next, whatever its process number."""
    around, status = DEATHS[death]
    (artifact,) = shop.catalog.glob("*.tar.gz")
    words = {
        "sign": ["sign", str(artifact), "--key", publisher.key_path],
        "catalog": ["catalog", str(shop.catalog)],
    }
    path = {
        "sign": artifact.with_name(f"{artifact.name}.dsse.json"),
        "catalog": shop.catalog / "catalog.json",
    }[verb]
    old, inode = path.read_bytes(), path.stat().st_ino

    for _ in range(2):
        assert status == shop.run(*words[verb], around=numbered(around)).status
        assert (old, inode) == (path.read_bytes(), path.stat().st_ino)
    shop.must("update", PACKAGE)

    assert 0 == shop.run(*words[verb], around=numbered(undisturbed)).status
    assert inode != path.stat().st_ino
    assert NEW == shop.says()
