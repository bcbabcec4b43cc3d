"""What is on record of everything that was decided: one home brought through every event of the registry."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rukh.store.calls import Caller, Kept, Pinned
from rukh.store.database import PROCESS
from rukh.store.home import open_home
from rukh.store.profiles import NO_REVISION, Staged
from rukh.store.publications import Intent, Published
from rukh.store.store import Store
from rukh.values.registry import AUDIT_EVENTS
from tests.support.stores import Clock, contents, profile

ROOT = Path(__file__).resolve().parents[2]
ME, AGENT = "user:local", Caller("mcp", "user:agent", "agent:desk")
Row = tuple[str, str, str, str]


class Life:
    """A home, another process of it, and what the audit says."""

    def __init__(self, place: Path) -> None:
        self.clock = Clock()
        self.store = Store(open_home(str(place / "home"), create=True), self.clock)
        self.other = Store(self.store.home, self.clock)
        self.revisions: list[str] = []

    def close(self) -> None:
        self.other.close()
        self.store.close()

    def intent(self, mark: str, tree: str, expected: str | None = None) -> Intent:
        packages = {"acme.x": {"tree": tree, "signer": "key"}}
        staged = Staged("acme.x", f"{mark}.0.0", "key", tree, "a", "d", f"{mark}.0.0")
        return Intent(f"op_{mark}", self.active() if expected is None else expected,
                      {**profile(mark), "packages": packages}, contents(f"g{mark}", mark),
                      subject=ME, surface="cli", staged=staged)  # fmt: skip

    def active(self) -> str:
        found = self.store.profiles.active()
        return found.revision if found else NO_REVISION

    def publish(self, mark: str, tree: str, expected: str | None = None) -> Published:
        asked = self.intent(mark, tree, expected)
        doing = self.store.publications
        doing.begin(asked)
        doing.stage(asked)
        done = doing.validate(asked) or doing.commit(asked)
        self.revisions.append(self.active())
        return done

    def rows(self, event: str) -> list[Row]:
        """Surface, subject, about and detail of each row of one event, in order."""
        found = self.store.database.rows(
            "SELECT surface, subject, about, detail FROM audit WHERE event = ? ORDER BY sequence", (event,)
        )
        return [(row[0], row[1], row[2], row[3]) for row in found]


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """Every event once, but for the two revisions that are published."""
    life = Life(tmp_path_factory.mktemp("life"))
    store, calls, trust = life.store, life.store.calls, life.store.trust
    trust.add_key("acme.x", "key", "PEM", subject=ME)
    trust.add_source("here", "/a", subject=ME)
    trust.remove_source("here", subject=ME)
    trust.record_admission(True, "acme.x", "1.0.0", "{}", subject=ME)
    trust.record_admission(False, "acme.x", "9.0.0", "{}", subject=ME)
    trust.record_consent(True, "acme.x@2.0.0", '{"by":"answer"}', subject=ME)
    trust.record_consent(False, "acme.x@3.0.0", '{"by":"answer"}', subject=ME)
    assert life.publish("1", "t1").state == "committed"
    pinned = Pinned(1, life.active(), "acme.x/run", "t1")
    calls.capture("inv_1", AGENT, pinned)
    calls.commit("inv_1", AGENT, "succeeded", "{}", Kept(), release=True)
    calls.reject("inv_2", AGENT, pinned, "{}")
    life.other.calls.capture("inv_3", AGENT, pinned)
    life.other.publications.begin(life.intent("5", "t5"))
    life.other.holder.leave()
    store.recovery.operations()
    store.recovery.calls(lambda _invocation: "{}")
    assert life.publish("2", "t2").state == "committed"
    assert life.publish("3", "t3", life.revisions[0]).state == "conflicted"
    trust.revoke_key("acme.x", "key", subject=ME)
    assert life.publish("4", "t4").state == "refused"
    collected = store.collection.collect(dry_run=False, keep=1, subject=ME)
    assert (len(collected.revisions), collected.releases) == (1, ["t1"])
    store.tasks.issue("desk", {}, 1, None, subject=ME)
    yield life
    life.close()


def expected(life: Life) -> dict[str, list[Row]]:
    first, second = life.revisions[0], life.active()
    (task,) = life.store.database.rows("SELECT id FROM task")
    agent = ("mcp", "user:agent")
    mine = ("cli", ME)
    return {
        "invocation.captured": [(*agent, "inv_1", "acme.x/run"), (*agent, "inv_3", "acme.x/run")],
        "invocation.rejected": [(*agent, "inv_2", "acme.x/run")],
        "invocation.finished": [(*agent, "inv_1", "succeeded")],
        "invocation.lost": [(*agent, "inv_3", "host_lost")],
        "profile.published": [(*mine, first, "op_1"), (*mine, second, "op_2")],
        "profile.conflicted": [(*mine, second, "op_3")],
        "profile.refused": [(*mine, second, "op_4")],
        "profile.aborted": [("cli", "", NO_REVISION, "op_5")],
        "release.staged": [(*mine, "acme.x@1.0.0", "key"), (*mine, "acme.x@2.0.0", "key")],
        "release.collected": [(*mine, "t1", "")],
        "revision.collected": [(*mine, first, "")],
        "trust.added": [(*mine, "acme.x", "key")],
        "trust.revoked": [(*mine, "acme.x", "key")],
        "source.added": [(*mine, "here", "/a")],
        "source.removed": [(*mine, "here", "")],
        "task.issued": [(*mine, task[0], "desk")],
        "install.admitted": [(*mine, "acme.x@1.0.0", "{}")],
        "install.denied": [(*mine, "acme.x@9.0.0", "{}")],
        "consent.given": [(*mine, "acme.x@2.0.0", '{"by":"answer"}')],
        "consent.refused": [(*mine, "acme.x@3.0.0", '{"by":"answer"}')],
    }


@pytest.mark.requirement("RK-CAPT-013", "RK-CAPT-009")
@pytest.mark.parametrize("event", AUDIT_EVENTS)
def test_what_happened_is_on_record_with_its_surface_its_subject_and_what_it_is_about(
    life: Life, event: str
) -> None:
    assert life.rows(event) == expected(life)[event]


@pytest.mark.requirement("RK-CAPT-013")
def test_nothing_else_is_on_record(life: Life) -> None:
    assert set(expected(life)) == set(AUDIT_EVENTS)
    (count,) = life.store.database.rows("SELECT count(*) FROM audit")
    assert count[0] == sum(map(len, expected(life).values()))


@pytest.mark.requirement("RK-CAPT-013")
def test_an_event_that_is_not_in_the_registry_is_not_written_and_takes_its_transaction_with_it(
    tmp_path: Path,
) -> None:
    life = Life(tmp_path)
    with (
        pytest.raises(ValueError, match=r"trust\.taken is no audit event"),
        life.store.database.write(PROCESS) as tx,
    ):
        tx.audit("trust.added", "cli", ME, "acme.x", "key")
        tx.audit("trust.taken", "cli", ME, "acme.x", "key")
    assert life.store.database.rows("SELECT event FROM audit") == []
    life.store.trust.add_key("acme.x", "key", "PEM", subject=ME)
    assert life.rows("trust.added") == [("cli", ME, "acme.x", "key")]
    life.close()


@pytest.mark.requirement("RK-CAPT-013")
def test_production_names_the_events_of_the_registry_and_the_page_says_what_each_is_about() -> None:
    event = re.compile(r"[a-z]+\.[a-z]+")
    kinds = {name.partition(".")[0] for name in AUDIT_EVENTS}
    named = {
        node.value
        for path in (ROOT / "rukh" / "store").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if event.fullmatch(node.value) and node.value.partition(".")[0] in kinds
    }
    page = (ROOT / "spec" / "store.md").read_text("utf-8")
    rows = [
        line.split("|")[1]
        for line in page.partition("## Audit")[2].partition("## Tasks")[0].splitlines()
        if line.startswith("| `")
    ]
    assert named == set(AUDIT_EVENTS) == {name for row in rows for name in event.findall(row)}
