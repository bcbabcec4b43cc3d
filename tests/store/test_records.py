"""What each record of the store holds, row by row, and what its writers and readers do beside one another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from rukh.store import home as homes
from rukh.store.calls import Caller, Kept, Pinned, new_invocation
from rukh.store.database import PROCESS, Database, storage_error
from rukh.store.home import open_home
from rukh.store.profiles import NO_REVISION, Staged
from rukh.store.publications import Published
from rukh.store.schema import SCHEMA_VERSION
from rukh.store.store import Store
from rukh.store.turnstile import Turnstile
from rukh.values.errors import RukhError
from tests.support.stores import Clock, contents, profile

CLI = Caller("cli", "user:local", "user:local")
WEEK_MS = 7 * 24 * 3600 * 1000


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    opened = Store(open_home(str(tmp_path / "home"), create=True), clock)
    publish(opened, "op_1", NO_REVISION, "one", "g1")
    yield opened
    opened.close()


def publish(
    store: Store, operation: str, expected: str, mark: str, generation: str, staged: Staged | None = None
) -> Published:
    return store.publications.publish(
        operation,
        expected,
        profile(mark),
        contents(generation, "notes add"),
        subject="user:local",
        surface="cli",
        staged=staged,
    )


def pinned(store: Store) -> Pinned:
    active = store.profiles.active()
    assert active is not None
    return Pinned(active.sequence, active.revision, "acme.x/notes_add", "t" * 64)


def audit(store: Store, about: str) -> list[tuple[str, str, str]]:
    return store.database.rows(
        "SELECT event, surface, detail FROM audit WHERE about = ? ORDER BY sequence", (about,)
    )


@pytest.mark.requirement("RK-CAPT-004", "RK-CAPT-005", "RK-CAPT-009")
def test_every_outcome_is_audited_under_the_surface_of_its_call(store: Store) -> None:
    agent = Caller(
        "mcp", "user:local", "agent:desk", store.tasks.issue("desk", {}, 5, None, subject="user:local").id
    )
    refused, done = new_invocation(), new_invocation()
    store.calls.reject(refused, agent, pinned(store), "{}")
    store.calls.capture(done, agent, pinned(store))
    store.calls.commit(done, agent, "cancelled", "{}", Kept(), release=True)
    assert audit(store, refused) == [("invocation.rejected", "mcp", "acme.x/notes_add")]
    assert audit(store, done) == [
        ("invocation.captured", "mcp", "acme.x/notes_add"),
        ("invocation.finished", "mcp", "cancelled"),
    ]
    outcomes = store.database.rows("SELECT id, surface, actor, outcome FROM invocation")
    assert sorted(outcomes) == sorted(
        [(refused, "mcp", "agent:desk", "rejected"), (done, "mcp", "agent:desk", "cancelled")]
    )


@pytest.mark.requirement("RK-CAPT-005", "RK-CAPT-008")
def test_the_end_of_a_call_ends_its_own_reference_and_no_other(store: Store) -> None:
    first, second = new_invocation(), new_invocation()
    for invocation in (first, second):
        store.calls.capture(invocation, CLI, pinned(store))
    store.calls.commit(first, CLI, "succeeded", "{}", Kept(), release=True)
    assert store.database.rows("SELECT invocation FROM reference") == [(second,)]


@pytest.mark.requirement("RK-CAPT-005")
def test_both_streams_of_a_call_are_kept_for_a_week(store: Store, clock: Clock) -> None:
    invocation = new_invocation()
    store.calls.capture(invocation, CLI, pinned(store))
    store.calls.commit(invocation, CLI, "succeeded", "{}", Kept(b"out", 2, b"err", 3), release=True)
    kept = store.calls.diagnostics(invocation)
    assert kept is not None
    assert (kept.stdout, kept.stdout_dropped, kept.stderr, kept.stderr_dropped) == (b"out", 2, b"err", 3)
    assert store.database.rows("SELECT finished_ms, keep_until_ms FROM invocation") == [
        (clock.now, clock.now + WEEK_MS)
    ]


@pytest.mark.requirement("RK-STORE-013", "RK-STORE-014")
def test_each_write_waits_for_what_its_class_promises(store: Store) -> None:
    def waits() -> int:
        level: int = store.database.rows("PRAGMA synchronous")[0][0]
        return level

    invocation, again = new_invocation(), new_invocation()
    calls = store.calls
    levels = {}
    writes: dict[str, Callable[[], object]] = {
        "capture": lambda: calls.capture(invocation, CLI, pinned(store)),
        "issue": lambda: store.tasks.issue("desk", {}, 1, None, subject="user:local"),
        "commit": lambda: calls.commit(invocation, CLI, "succeeded", "{}", Kept(), release=True),
        "trust": lambda: store.trust.add_key("acme.x", "k", "pem", subject="user:local"),
        "reject": lambda: calls.reject(again, CLI, pinned(store), "{}"),
        "source": lambda: store.trust.add_source("s", "/x", subject="user:local"),
    }
    for name, write in writes.items():
        write()
        levels[name] = waits()
    power = {"issue", "trust", "source"}
    assert levels == {name: 2 if name in power else 1 for name in levels}


@pytest.mark.requirement("RK-STORE-015")
def test_the_time_of_the_records_never_runs_backwards(store: Store, clock: Clock) -> None:
    clock.now += 5000
    store.tasks.issue("desk", {}, 1, None, subject="user:local")
    latest = clock.now
    clock.now -= 4000
    store.tasks.issue("desk", {}, 1, None, subject="user:local")
    again = Store(store.home, clock)
    again.tasks.issue("desk", {}, 1, None, subject="user:local")
    again.close()
    times = [at for (at,) in store.database.rows("SELECT at_ms FROM audit ORDER BY sequence")]
    assert times[-3:] == [latest] * 3
    assert times == sorted(times)


@pytest.mark.requirement("RK-STORE-010")
def test_the_references_between_the_tables_are_enforced(store: Store) -> None:
    with pytest.raises(RukhError) as refused, store.database.write(PROCESS) as tx:
        tx.run("INSERT OR REPLACE INTO active VALUES (1, 99)")
    assert refused.value.rule == "RKS007"


@pytest.mark.requirement("RK-STORE-016")
@pytest.mark.parametrize(
    ("error", "rule"),
    [
        (apsw.BusyError, "RKS004"),
        (apsw.LockedError, "RKS004"),
        (apsw.CorruptError, "RKS006"),
        (apsw.NotADBError, "RKS006"),
        (apsw.FullError, "RKS007"),
        (apsw.IOError, "RKS007"),
    ],
)
def test_what_the_storage_said_is_answered_with_its_rule(error: type[apsw.Error], rule: str) -> None:
    assert storage_error(error("said")).rule == rule


@pytest.mark.requirement("RK-STORE-016")
def test_a_commit_that_fails_undoes_its_transaction_and_gives_up_the_turn(store: Store) -> None:
    with pytest.raises(RukhError) as refused, store.database.write(PROCESS) as tx:
        tx.run("PRAGMA defer_foreign_keys=ON")
        tx.run("INSERT OR REPLACE INTO active VALUES (1, 99)")
    assert refused.value.rule == "RKS007"
    assert store.database.rows("SELECT sequence FROM active") == [(1,)]
    store.tasks.issue("desk", {}, 1, None, subject="user:local")


@pytest.mark.requirement("RK-STORE-002")
def test_a_home_of_another_user_or_open_to_others_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = open_home(str(tmp_path / "h"), create=True)
    for mode in (0o701, 0o704, 0o710, 0o702):
        os.chmod(home.path, mode)
        with pytest.raises(RukhError) as refused:
            open_home(home.path, create=False)
        assert refused.value.rule == "RKS002"
    os.chmod(home.path, 0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(RukhError) as foreign:
        open_home(home.path, create=False)
    assert foreign.value.rule == "RKS002"


@pytest.mark.requirement("RK-STORE-003")
def test_the_kernel_is_asked_for_the_type_of_the_mount(tmp_path: Path) -> None:
    assert homes._file_system("/proc") == "proc"
    assert homes._file_system("/sys") == "sysfs"


@pytest.mark.requirement("RK-STORE-011")
def test_a_database_of_a_newer_foreign_program_is_named_as_foreign(tmp_path: Path) -> None:
    home = open_home(str(tmp_path / "h"), create=True)
    foreign = apsw.Connection(home.at("db", "rukh.sqlite3"))
    foreign.execute("CREATE TABLE theirs (a); PRAGMA user_version = 1")
    with pytest.raises(RukhError):
        Database(home)
    assert foreign.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]
    foreign.close()


@pytest.mark.requirement("RK-PUB-001", "RK-PUB-004")
def test_another_expected_revision_under_a_used_id_is_other_content(store: Store) -> None:
    with pytest.raises(RukhError) as refused:
        publish(store, "op_1", "r9-0000000000000000", "one", "g1")
    assert refused.value.rule == "RKO001"


@pytest.mark.requirement("RK-PUB-003", "RK-PUB-006")
def test_a_conflict_is_audited_as_one_and_records_no_release(store: Store) -> None:
    staged = Staged("acme.x", "1.0.0", "s" * 64, "t" * 64, "a", "d", "1.2.0")
    lost = publish(store, "op_2", "r9-0000000000000000", "two", "g2", staged)
    assert lost.state == "conflicted"
    assert store.database.rows("SELECT * FROM release") == []
    assert store.trust.highest_seen("acme.x", "s" * 64) is None
    events = store.database.rows("SELECT event, surface FROM audit WHERE detail = 'op_2'")
    assert events == [("profile.conflicted", "cli")]


@pytest.mark.requirement("RK-PUB-001", "RK-CAPT-009")
def test_a_publication_records_its_release_the_highest_seen_and_both_audit_rows(store: Store) -> None:
    active = store.profiles.active()
    assert active is not None
    staged = Staged("acme.x", "1.0.0", "s" * 64, "t" * 64, "a", "d", "1.2.0")
    won = publish(store, "op_2", active.revision, "two", "g2", staged)
    assert store.trust.highest_seen("acme.x", "s" * 64) == "1.2.0"
    assert store.trust.highest_seen("acme.x", "o" * 64) is None
    assert store.database.rows("SELECT tree, version FROM release") == [("t" * 64, "1.0.0")]
    events = store.database.rows("SELECT event, surface, about, detail FROM audit ORDER BY sequence")
    assert events[-2:] == [
        ("release.staged", "cli", "acme.x@1.0.0", "s" * 64),
        ("profile.published", "cli", won.revision, "op_2"),
    ]


@pytest.mark.requirement("RK-PUB-002")
def test_a_sequence_is_not_used_again_when_its_revision_was_collected(store: Store) -> None:
    active = store.profiles.active()
    assert active is not None
    second = publish(store, "op_2", active.revision, "two", "g2")
    with store.database.write(PROCESS) as tx:
        tx.run("INSERT OR REPLACE INTO active VALUES (1, 1)")
        tx.run("DELETE FROM revision WHERE sequence = 2")
    third = publish(store, "op_3", active.revision, "three", "g3")
    assert (second.revision[:3], third.revision[:3]) == ("r2-", "r3-")


@pytest.mark.requirement("RK-PUB-001")
def test_a_snapshot_of_another_process_is_read_anew_and_only_then(store: Store, clock: Clock) -> None:
    other = Store(store.home, clock)
    seen = other.profiles.active()
    assert seen is not None
    assert other.profiles.active() is seen
    publish(store, "op_2", seen.revision, "two", "g2")
    later = other.profiles.active()
    assert later is not None
    assert (later.sequence, later.profile["mark"]) == (2, "two")
    with store.database.write(PROCESS) as tx:  # what a restored copy of the database looks like
        tx.run("INSERT OR REPLACE INTO active VALUES (1, 1)")
    back = other.profiles.active()
    assert back is not None
    assert back.sequence == 1
    other.close()


@pytest.mark.requirement("RK-PUB-001", "RK-PUB-006")
def test_commands_and_exports_are_those_of_their_generation_and_endpoint(store: Store) -> None:
    mine = store.profiles.active()
    assert mine is not None
    other = contents("g2", "notes win")
    store.publications.publish("op_2", "r9-none", profile("x"), other, subject="user:local", surface="cli")
    assert store.profiles.command("g1", "acme.x/notes_win") is None
    assert store.profiles.command("g2", "acme.x/notes_win") is not None
    assert [identity for identity, _ in store.profiles.exports(mine.projection, "desk")] == [
        "acme.x/notes_add"
    ]
    assert store.profiles.exports(mine.projection, "laptop") == []


@pytest.mark.requirement("RK-TASK-001", "RK-CAPT-009")
def test_a_task_replaces_that_of_its_own_endpoint_alone_and_is_audited(store: Store) -> None:
    desk = store.tasks.issue("desk", {}, 1, None, subject="user:local")
    laptop = store.tasks.issue("laptop", {}, 1, None, subject="user:local")
    found = store.tasks.of_endpoint("desk")
    assert found is not None
    assert found.id == desk.id
    assert audit(store, laptop.id) == [("task.issued", "cli", "laptop")]


@pytest.mark.requirement("RK-TASK-003")
def test_a_window_ends_at_its_length_and_the_next_begins_with_its_first_call(
    store: Store, clock: Clock
) -> None:
    caller = Caller("mcp", "user:local", "agent:desk", store.tasks.issue("desk", {}, 2, 1000, subject="u").id)

    def admitted(at: int) -> bool:
        clock.now = 1_000_000 + at
        try:
            store.calls.capture(new_invocation(), caller, pinned(store))
        except RukhError as refused:
            assert refused.rule == "RKA004"
            return False
        return True

    # The first window runs from the issue, the second from its first call at 1000, the third from that at 2500.
    times = [400, 500, 999, 1000, 1999, 1999, 2500, 3400, 3499, 3500]
    assert [admitted(at) for at in times] == [True, True, False, True, True, False, True, True, False, True]


@pytest.mark.requirement("RK-CAPT-009")
def test_the_owners_decisions_about_trust_and_sources_are_audited(store: Store) -> None:
    store.trust.add_key("acme.x", "key1", "pem1", subject="user:local")
    store.trust.add_key("acme.y", "key2", "pem2", subject="user:local")
    assert store.trust.keys("acme.x") == [("key1", "pem1")]
    store.trust.add_source("here", "/a", subject="user:local")
    store.trust.add_source("here", "/b", subject="user:local")
    assert store.trust.sources() == [("here", "/b")]
    store.trust.record_admission(True, "acme.x", "1.0.0", "d", subject="user:local")
    store.trust.record_admission(False, "acme.x", "1.0.0", "d", subject="user:local")
    events = store.database.rows(
        "SELECT event, surface, about, detail FROM audit WHERE sequence > 1 ORDER BY sequence"
    )
    assert events == [
        ("trust.added", "cli", "acme.x", "key1"),
        ("trust.added", "cli", "acme.y", "key2"),
        ("source.added", "cli", "here", "/a"),
        ("source.added", "cli", "here", "/b"),
        ("install.admitted", "cli", "acme.x@1.0.0", "d"),
        ("install.denied", "cli", "acme.x@1.0.0", "d"),
    ]


@pytest.mark.requirement("RK-STORE-012")
def test_a_thread_that_waited_its_bound_answers_busy_and_the_next_turn_is_free(tmp_path: Path) -> None:
    turnstile = Turnstile(str(tmp_path), 20)
    turnstile.enter()
    other = Turnstile(str(tmp_path), 20)
    for _ in range(2):  # another process's: the locks; the second time tells that the first left nothing
        with pytest.raises(RukhError) as busy:
            other.enter()
        assert busy.value.rule == "RKS004"
    turnstile.leave()
    patient = Turnstile(str(tmp_path), 30_000)
    patient.enter()
    patient.leave()


@pytest.mark.requirement("RK-STORE-012")
def test_a_turnstile_whose_wait_ended_can_be_entered_later(tmp_path: Path) -> None:
    first, second = Turnstile(str(tmp_path), 20), Turnstile(str(tmp_path), 30_000)
    second._wait = 0.02
    first.enter()
    with pytest.raises(RukhError):
        second.enter()
    first.leave()
    second._wait = 1.0
    second.enter()
    second.leave()


def test_a_secret_is_made_once_for_every_process_of_a_home(store: Store, clock: Clock) -> None:
    other = Store(store.home, clock)
    assert store.secret("cursor") == store.secret("cursor") == other.secret("cursor")
    assert len(store.secret("cursor")) == 32
    assert store.secret("other") != store.secret("cursor")
    other.close()


@pytest.mark.requirement("RK-STORE-003")
def test_the_type_of_a_mount_is_what_stands_behind_the_hyphen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    device = os.stat(tmp_path).st_dev
    line = f"36 35 {os.major(device)}:{os.minor(device)} / /x rw shared:1 master:2 - nfs4 server:/x rw\n"
    monkeypatch.setattr(homes, "open", lambda *_, **__: io.StringIO(line), raising=False)
    assert homes._file_system(str(tmp_path)) == "nfs4"


@pytest.mark.requirement("RK-STORE-004")
def test_a_directory_without_a_database_is_no_home(tmp_path: Path) -> None:
    home = open_home(str(tmp_path / "h"), create=True)
    assert not homes.exists(home.path)
    Store(home).close()
    assert homes.exists(home.path)


@pytest.mark.requirement("RK-STORE-010", "RK-STORE-012")
def test_a_home_that_another_process_migrated_meanwhile_is_not_migrated_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = open_home(str(tmp_path / "h"), create=True)
    real = Database._version
    looks: list[int] = []

    def version(database: Database) -> int:
        found = real(database)
        if not looks:
            looks.append(found)
            Database(home).close()  # the other one, between our look and our turn
        return found

    monkeypatch.setattr(Database, "_version", version)
    database = Database(home)
    assert looks == [0]
    assert database.rows("PRAGMA user_version") == [(SCHEMA_VERSION,)]
    database.close()


@pytest.mark.requirement("RK-PUB-003")
def test_a_first_publication_that_expected_another_revision_conflicts(tmp_path: Path) -> None:
    store = Store(open_home(str(tmp_path / "fresh"), create=True))
    lost = publish(store, "op_1", "r1-0000000000000000", "one", "g1")
    assert (lost.state, lost.revision, store.profiles.active()) == ("conflicted", NO_REVISION, None)
    store.close()


@pytest.mark.requirement("RK-STORE-012")
def test_a_thread_behind_another_of_its_process_is_bounded_too(tmp_path: Path) -> None:
    import threading

    turnstile, answers = Turnstile(str(tmp_path), 20), []
    turnstile.enter()

    def wait() -> None:
        try:
            turnstile.enter()
        except RukhError as refused:
            answers.append(refused.rule)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    thread.join(5)
    assert answers == ["RKS004"]
    turnstile.leave()
