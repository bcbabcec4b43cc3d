"""Recovery, collection and rollback of a real home: records and files together."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rukh.contract.candidate import build_candidate
from rukh.host.ledger import StoreLedger
from rukh.host.supervisor import descendants
from rukh.host.upkeep import collect, recover, rollback
from rukh.sources.install import installed_descriptors
from rukh.sources.staging import Stage, remove_tree
from rukh.store import collection
from rukh.store.holders import is_alive
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError
from tests.support import echo
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.stubs import apply

# A command that says that it runs, and then runs until it is ended.
ENDLESS = """
import signal
import sys

import rukh_sdk


@rukh_sdk.command("wait", result="text")
def wait(inputs, context):
    print("running", flush=True)
    while True:
        signal.pause()
"""
COMMAND = {
    "id": "wait",
    "path": ["wait"],
    "summary": "Waits",
    "parameters": [],
    "execute": {"mapping": {"kind": "managed", "entry": "acme_echo:wait"}, "result": {"kind": "text"}},
}
ONLY_RUN = """
format = "rukh.profile/1"
[[rules]]
action = "run"
actors = ["user:local"]
commands = ["*"]
decision = "allow"
"""


@pytest.fixture
def home(tmp_path: Path) -> InstalledHome:
    return echo.exposed_home(tmp_path)


@pytest.fixture
def store(home: InstalledHome) -> Iterator[Store]:
    opened = Store(open_home(home.path, create=False))
    yield opened
    opened.close()


def tree(store: Store) -> str:
    found: str = StoreLedger(store).active().profile["packages"]["acme.echo"]["tree"]
    return found


def revisions(store: Store) -> list[str]:
    return [one.id.partition("-")[0] for one in store.history.revisions()]


def update(home: InstalledHome, version: str) -> None:
    files = {**echo.FILES, "more.txt": version}
    home.install(files, version=version, commands=echo.commands())


def keep(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(collection.Collection.collect, "__kwdefaults__", {"keep": count})


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[tuple[Store, subprocess.Popen[bytes]]]:
    """A home, and a process of it whose call runs until it is ended."""
    home = InstalledHome(tmp_path)
    home.install({"acme_echo.py": ENDLESS}, commands=[COMMAND])
    store = Store(open_home(home.path, create=False))
    process = subprocess.Popen(
        [PROGRAM, "wait"], env=home.environment(), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"running\n"
        yield store, process
    finally:
        process.kill()
        process.communicate()
        store.close()


def ended(store: Store, holder: str) -> None:
    """Wait until nobody holds the lock of `holder`."""
    lock = os.open(store.home.at("locks", holder), os.O_RDWR)
    signal.alarm(PATIENCE)
    fcntl.flock(lock, fcntl.LOCK_EX)
    signal.alarm(0)
    os.close(lock)


@pytest.mark.requirement("RK-PUB-011", "RK-PUB-014", "RK-PUB-015", "RK-PUB-029")
def test_a_call_whose_host_was_killed_is_ended_once_its_supervisor_has_ended(
    waiting: tuple[Store, subprocess.Popen[bytes]],
) -> None:
    store, process = waiting
    assert (recover(store).calls, len(os.listdir(store.home.at("run")))) == ([], 1)
    ((holder,),) = store.database.rows("SELECT holder FROM invocation")
    below = [number for number, _ in descendants(process.pid)]
    for number in below:
        os.kill(number, signal.SIGSTOP)
    process.kill()
    process.wait()
    assert (recover(store).calls, is_alive(store.home, holder)) == ([], True)
    for number in below:
        with suppress(ProcessLookupError):  # what waited for orders had nothing to end
            os.kill(number, signal.SIGCONT)
    ended(store, holder)
    found = recover(store)
    ((invocation,),) = store.database.rows("SELECT id FROM invocation")
    assert (found.calls, found.holders, found.directories) == ([invocation], [holder], [invocation])
    envelope = store.calls.envelope(invocation)
    assert envelope is not None
    assert '"outcome":"execution_failed"' in envelope
    assert '"code":"host_lost"' in envelope
    assert store.database.rows("SELECT * FROM reference") == []
    again = recover(store)
    assert (again.calls, again.holders, again.directories, again.operations) == ([], [], [], [])


@pytest.mark.requirement("RK-PUB-010")
def test_a_call_from_the_terminal_leaves_no_lock_behind(home: InstalledHome) -> None:
    assert home.run("echo", "speak", "hello").returncode == 0
    names = os.listdir(Path(home.path, "locks"))
    assert [name for name in names if name.startswith("hold_")] == []


@pytest.mark.requirement("RK-PUB-015", "RK-PUB-029")
def test_a_staging_directory_goes_when_nobody_holds_it(store: Store) -> None:
    os.mkdir(store.home.at("staging", "op_dead"))
    with Stage(store.home, "op_alive"):
        assert recover(store).staging == ["op_dead"]
        assert os.listdir(store.home.at("staging")) == ["op_alive"]


@pytest.mark.requirement("RK-PUB-029")
def test_a_stage_that_was_swept_before_it_was_locked_makes_another(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock
    swept: list[list[str]] = []

    def late(descriptor: int, operation: int) -> None:
        if not swept:
            swept.append(os.listdir(store.home.at("staging")))
            remove_tree(store.home.at("staging", "op_x"))
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with Stage(store.home, "op_x"):
        assert (swept, sorted(os.listdir(store.home.at("staging", "op_x")))) == (
            [["op_x"]],
            ["cache", "tree"],
        )


@pytest.mark.requirement("RK-PUB-023", "RK-PUB-024")
def test_files_of_a_release_go_behind_its_record_and_a_dry_run_touches_none(
    home: InstalledHome, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tree(store)
    update(home, "2.0.0")
    keep(monkeypatch, 1)
    assert collect(store, dry_run=True).releases == [old]
    assert sorted(os.listdir(store.home.at("releases"))) == sorted([old, tree(store)])
    assert collect(store, dry_run=False).releases == [old]
    assert os.listdir(store.home.at("releases")) == [tree(store)]
    assert os.listdir(store.home.at("cache")) == [tree(store)]
    assert home.run("echo", "speak", "still").stdout == b"still\n"


@pytest.mark.requirement("RK-PUB-021", "RK-PUB-023")
def test_a_tree_without_a_record_goes_and_one_that_a_call_refers_to_stays(
    home: InstalledHome, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tree(store)
    with store.database.write("NORMAL") as tx:
        tx.run("INSERT INTO reference VALUES ('inv_left', ?)", (old,))
    update(home, "2.0.0")
    os.mkdir(store.home.at("releases", "f" * 64))
    keep(monkeypatch, 1)
    assert collect(store, dry_run=False).releases == ["f" * 64]
    assert sorted(os.listdir(store.home.at("releases"))) == sorted([old, tree(store)])


@pytest.mark.requirement("RK-PUB-026", "RK-PUB-027")
def test_a_rollback_publishes_the_old_content_as_a_new_revision(home: InstalledHome, store: Store) -> None:
    before = StoreLedger(store).active()
    update(home, "2.0.0")
    done = rollback(store, "r3")
    after = StoreLedger(store).active()
    assert (done.revision, after.revision) == (after.revision, done.revision)
    assert after.profile == before.profile
    assert (revisions(store), after.revision[:3], after.revision[3:]) == (
        ["r5", "r4", "r3", "r2", "r1"],
        "r5-",
        before.revision[3:],
    )
    assert home.run("echo", "speak", "back").stdout == b"back\n"


def refused(store: Store, name: str) -> str:
    before = StoreLedger(store).active().revision
    with pytest.raises(RukhError) as error:
        rollback(store, name)
    assert StoreLedger(store).active().revision == before
    return error.value.rule


def swap_bytes(path: str) -> None:
    os.chmod(path, 0o644)
    Path(path).write_text("swapped")


@pytest.mark.requirement("RK-PUB-027")
def test_a_rollback_refuses_a_tree_that_was_changed_on_disk(home: InstalledHome, store: Store) -> None:
    old = tree(store)
    update(home, "2.0.0")
    path = store.home.at("releases", old, "acme_echo.py")
    content = Path(path).read_text()
    swap_bytes(path)
    assert refused(store, "r3") == "RKT063"
    Path(path).write_text(content)
    os.chmod(path, 0o444)
    assert rollback(store, "r3").state == "committed"


@pytest.mark.requirement("RK-PUB-027")
def test_a_rollback_refuses_a_release_that_is_not_there_any_more(home: InstalledHome, store: Store) -> None:
    old = tree(store)
    update(home, "2.0.0")
    path = store.home.at("releases", old)
    os.rename(path, f"{path}.away")
    with pytest.raises(RukhError) as error:
        rollback(store, "r3")
    assert ("RKO005", "install that version again") == (error.value.rule, error.value.mend)
    os.rename(f"{path}.away", path)
    assert rollback(store, "r3").state == "committed"


@pytest.mark.requirement("RK-PUB-007", "RK-STORE-016")
def test_a_home_whose_first_profile_does_not_stay_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = Store(open_home(str(tmp_path / "fresh"), create=True))
    with monkeypatch.context() as patched:
        patched.setattr(StoreLedger, "publish", lambda *_given: None)
        with pytest.raises(RukhError) as error:
            StoreLedger(fresh).active()
    assert "RKS006" == error.value.rule
    assert StoreLedger(fresh).active().sequence == 1
    fresh.close()


@pytest.mark.requirement("RK-PUB-027", "RK-PUB-032")
def test_a_rollback_refuses_what_a_revoked_key_signed(home: InstalledHome, store: Store) -> None:
    update(home, "2.0.0")
    store.trust.revoke_key("acme.echo", home.publisher.key_id, subject="user:local")
    assert refused(store, "r3") == "RKO005"
    assert rollback(store, "r1").state == "committed"


@pytest.mark.requirement("RK-PUB-027", "RK-PUB-032")
def test_a_rollback_refuses_a_revoked_signer_also_where_the_release_would_only_be_carried_over(
    home: InstalledHome, store: Store
) -> None:
    apply(home, ONLY_RUN)
    store.trust.revoke_key("acme.echo", home.publisher.key_id, subject="user:local")
    assert refused(store, "r3") == "RKO005"
    assert rollback(store, "r1").state == "committed"


@pytest.mark.requirement("RK-PUB-012")
def test_a_refused_publication_is_a_refusal_to_whoever_asked_for_it(store: Store) -> None:
    ledger = StoreLedger(store)
    active = ledger.active()
    entry = {**active.profile["packages"]["acme.echo"], "tree": "f" * 64}
    profile = {**active.profile, "packages": {"acme.echo": entry}}
    candidate = build_candidate(active.profile, installed_descriptors(store.home, active.profile["packages"]))
    with pytest.raises(RukhError) as error:
        ledger.publish("op_bare", active.revision, profile, candidate, None)
    assert (error.value.rule, error.value.message) == ("RKO005", "the release of acme.echo is not installed")
    assert ledger.publish("op_fit", active.revision, active.profile, candidate, None).state == "committed"


@pytest.mark.requirement("RK-PUB-027")
def test_a_rollback_is_admitted_by_the_rules_that_are_active_now(home: InstalledHome, store: Store) -> None:
    update(home, "2.0.0")
    apply(home, ONLY_RUN)
    assert refused(store, "r3") == "RKT057"
    rows = store.database.rows("SELECT event FROM audit WHERE event LIKE 'install%' ORDER BY sequence")
    assert rows[-1] == ("install.denied",)
    assert rollback(store, "r4").state == "committed"


@pytest.mark.requirement("RK-PUB-028")
def test_a_rollback_to_what_was_collected_is_refused(
    home: InstalledHome, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    update(home, "2.0.0")
    update(home, "3.0.0")
    keep(monkeypatch, 2)
    collect(store, dry_run=False)
    assert (refused(store, "r3"), refused(store, "r9")) == ("RKO004", "RKO004")
    assert rollback(store, "r4").state == "committed"


@pytest.mark.requirement("RK-PUB-031", "RK-PUB-034", "RK-PUB-032")
def test_a_revoked_key_stops_calls_and_updates_and_lets_the_package_be_removed(home: InstalledHome) -> None:
    assert home.run("echo", "speak", "hello").returncode == 0
    store = Store(open_home(home.path, create=False))
    store.trust.revoke_key("acme.echo", home.publisher.key_id, subject="user:local")
    store.close()
    call = home.run("echo", "speak", "hello")
    assert (call.returncode, b"RKA011" in call.stderr, call.stdout) == (77, True, b"")
    home.publisher.release(home.catalog, "acme.echo", "2.0.0", files=echo.FILES, commands=echo.commands())
    assert home.run("update", "acme.echo").returncode == 66
    apply(home, ONLY_RUN)  # its endpoint names the package
    assert home.run("remove", "acme.echo").returncode == 0
