"""Changes that a signal stops: real verbs in processes of their own, struck at each step and in the middle of some."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from unittest.mock import patch

import pytest

from crashes.program import KILLED, Ended, forked
from crashes.scenes import INSTALL, NEW, OLD, SCENES, UPDATE, Scene, Stage, remove
from rukh.sources.staging import releases_turn
from rukh.store.home import Home
from rukh.store.turnstile import Turnstile, _Waiting
from tests.support.alone import alone
from tests.support.homes import PATIENCE
from tests.support.struck import Moment, insisting, steps_of, struck, struck_waiting

STEP = "rukh.cli.admin.watching.Watch.__call__"
APPLY = Scene("apply", ("profile", "apply", "{place}/other.toml"), NEW, NEW, (INSTALL, UPDATE))
BY_NAME = {scene.name: scene for scene in (*SCENES, APPLY)}

_BRING = "discover admit fetch fetch unpack unpack unpack compile check wait settle stage stage stage commit"
# What each verb tells its observer, in this order: the points at which it can be stopped.
STEPS = {
    "install": _BRING,
    "update": _BRING,
    "remove": "check stage commit",
    "apply": "check stage stage stage commit",
    "rollback": "wait verify check stage stage stage commit",
}
PLACES = [(verb, number) for verb, steps in STEPS.items() for number in range(1, len(steps.split()) + 1)]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    place = tmp_path_factory.mktemp("interrupts")
    yield Stage(place)
    remove(place)


class Copied:
    """A home of a scene, and what can be seen of it from outside."""

    def __init__(self, stage: Stage, verb: str, place: Path) -> None:
        self.scene = BY_NAME[verb]
        self.words = stage.words(self.scene)
        self.path = stage.copy(self.scene, place / "home")

    def answer(self, *words: str) -> str:
        ended = forked(os.fspath(self.path), list(words))
        assert (ended.status, ended.err) == (0, "")
        return ended.out

    def seen(self) -> tuple[str, list[str]]:
        """Revision, packages and commands, and every file but the records and the locks of turns."""
        inside = sorted(str(path.relative_to(self.path)) for path in self.path.rglob("*"))
        files = [
            name for name in inside if not name.startswith(("db", "locks/gate", "locks/lock", "locks/rel"))
        ]
        return self.answer("list", "--json"), files

    def goes_through(self) -> None:
        """The verb once more, undisturbed."""
        self.answer(*self.words)
        assert self.scene.after == self.version()

    def version(self) -> str:
        packages = json.loads(self.answer("list", "--json"))["packages"]
        return packages[0]["version"] if packages else ""


@pytest.fixture
def copied(stage: Stage, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Copied]:
    """The home for the verb that the test names; it has a revision."""
    made = Copied(stage, request.param, tmp_path)
    made.answer("profile", "show")
    yield made
    remove(tmp_path)


def stopped(ended: Ended, number: signal.Signals = signal.SIGINT) -> bool:
    """Whether a verb ended as one that this signal stopped, said so, and said nothing else."""
    status, rule = {signal.SIGINT: (130, "RKO006")}.get(number, (125, "RKO007"))
    first, *details = ended.err.splitlines()
    assert f"rukh: {number.name} stopped it, and nothing was published" == first
    assert ["mend: run the same command again", f"rule: {rule}"] == [
        " ".join(each.split()) for each in details
    ]
    return (ended.status, ended.out) == (status, "")


@pytest.mark.parametrize(("copied", "steps"), STEPS.items(), ids=STEPS, indirect=["copied"])
def test_each_verb_goes_through_the_steps_of_the_table(copied: Copied, steps: str) -> None:
    assert steps.split() == steps_of(copied.path, copied.words)


@pytest.mark.requirement("RK-PUB-019", "RK-PUB-040", "RK-PUB-042", "RK-PUB-046")
@pytest.mark.parametrize(("copied", "number"), PLACES, indirect=["copied"])
def test_a_change_is_stopped_at_each_of_its_steps_and_goes_through_again(copied: Copied, number: int) -> None:
    before = copied.seen()

    assert stopped(struck(copied.path, copied.words, Moment(STEP, number)))

    assert before == copied.seen()
    assert "Nothing was left behind.\n" == copied.answer("recover")
    copied.goes_through()


# --- where nothing is written, and where something is ---

AMIDST = {
    "a file is written": "rukh.sources.staging._write_file",
    "a file is synced": "rukh.sources.staging.sync",
    "a file is compiled": "rukh.sources.staging._compiled",
    "the tree is moved": "os.rename",
    "byte code is moved": "os.replace",
    "the operation begins": "rukh.store.publications.Publications.begin",
    "rows are written": "rukh.store.database.Transaction.each",
    "it is validated": "rukh.store.publications.Publications.validate",
    "the decision is recorded": "rukh.store.trust.Trust.record_admission",
}


@pytest.mark.requirement("RK-PUB-040", "RK-PUB-042")
@pytest.mark.parametrize("function", AMIDST.values(), ids=AMIDST)
@pytest.mark.parametrize("copied", ["update"], indirect=True)
def test_a_signal_amidst_a_step_leaves_nothing_of_it(copied: Copied, function: str) -> None:
    before = copied.seen()
    assert stopped(struck(copied.path, copied.words, Moment(function)))
    assert before == copied.seen()


OF_THE_SESSION = [
    (number, place) for number in (signal.SIGTERM, signal.SIGHUP) for place in ("fetch", "settle", "commit")
]


@pytest.mark.requirement("RK-PUB-040", "RK-PUB-042")
@pytest.mark.parametrize(("number", "step"), OF_THE_SESSION)
@pytest.mark.parametrize("copied", ["update"], indirect=True)
def test_the_end_of_the_session_stops_a_change_with_a_status_of_its_own(
    copied: Copied, number: signal.Signals, step: str
) -> None:
    before = copied.seen()
    moment = Moment(STEP, STEPS["update"].split().index(step) + 1, number)
    assert stopped(struck(copied.path, copied.words, moment), number)
    assert before == copied.seen()


@pytest.mark.requirement("RK-PUB-042")
@pytest.mark.parametrize("copied", ["update"], indirect=True)
def test_a_program_is_told_in_its_own_form(copied: Copied) -> None:
    ended = struck(copied.path, [*copied.words, "--json"], Moment(STEP, 5))
    refusal = {
        "code": "RKO006",
        "mend": "run the same command again",
        "message": "SIGINT stopped it, and nothing was published",
    }
    assert (130, "", {"error": refusal}) == (ended.status, ended.out, json.loads(ended.err))


@pytest.mark.requirement("RK-PUB-045")
@pytest.mark.parametrize("copied", ["update"], indirect=True)
def test_a_signal_that_is_ignored_stays_ignored(copied: Copied) -> None:
    moments = [Moment(STEP, 4), Moment("os.rename", number=signal.SIGHUP)]
    ended = struck(copied.path, copied.words, *moments, ignored=[signal.SIGINT, signal.SIGHUP])
    assert (0, "", NEW) == (ended.status, ended.err, copied.version())


# --- too late ---

COMMIT = "rukh.store.publications.Publications.commit"
LATE = {
    "before the transaction": Moment(COMMIT),
    "in the transaction": Moment("rukh.store.publications._flip"),
    "behind the transaction": Moment(COMMIT, behind=True),
    "at the acknowledgement": Moment("rukh.store.publications.Publications.acknowledge"),
    "as the home is closed": Moment("rukh.store.store.Store.close"),
    "as the answer is written": Moment("rukh.cli.admin.write_out"),
    "by the end of the session": Moment(COMMIT, number=signal.SIGTERM),
}


@pytest.mark.requirement("RK-PUB-041", "RK-PUB-019")
@pytest.mark.parametrize("moment", LATE.values(), ids=LATE)
@pytest.mark.parametrize("copied", ["update"], indirect=True)
def test_what_was_asked_to_be_committed_is_not_stopped_any_more(copied: Copied, moment: Moment) -> None:
    ended = struck(copied.path, copied.words, moment)
    assert (0, NEW) == (ended.status, copied.version())
    assert ended.out.startswith("action:   updated\n")
    assert f"rukh: {moment.number.name} came too late to stop it: it is published\n" == ended.err
    assert "Nothing was left behind.\n" == copied.answer("recover")


@pytest.mark.requirement("RK-PUB-041")
@pytest.mark.parametrize("copied", STEPS, indirect=True)
def test_every_verb_gives_its_answer_when_the_signal_came_too_late(copied: Copied) -> None:
    ended = struck(copied.path, [*copied.words, "--json"], Moment(COMMIT))
    revision = json.loads(copied.answer("list", "--json"))["revision"]
    assert (0, "", revision) == (ended.status, ended.err, json.loads(ended.out)["revision"])


@pytest.mark.requirement("RK-PUB-042")
@pytest.mark.parametrize("copied", ["update"], indirect=True)
def test_an_update_that_finds_nothing_newer_is_stopped_although_it_had_nothing_to_publish(
    copied: Copied,
) -> None:
    copied.goes_through()
    before = copied.seen()
    moment = Moment("rukh.sources.install._change", behind=True)
    assert stopped(struck(copied.path, copied.words, moment))
    assert before == copied.seen()


@pytest.mark.requirement("RK-PUB-042", "RK-PUB-043")
@pytest.mark.parametrize("copied", ["update"], indirect=True)
def test_a_signal_behind_a_refusal_or_an_answer_without_a_publication_changes_neither(copied: Copied) -> None:
    """`update` refuses a package that is not there, and says so when there is nothing newer."""
    refused = struck(copied.path, ["update", "acme.nothing"], Moment("rukh.cli.output.show_error"))
    assert (64, True) == (refused.status, "RKT056" in refused.err)
    missing = struck(copied.path, [*UPDATE[:1], "acme.echo@7.7.7"], Moment("rukh.cli.output.show_error"))
    assert (69, True) == (missing.status, "RKT052" in missing.err)
    copied.goes_through()
    unchanged = struck(copied.path, copied.words, Moment("rukh.cli.admin.write_out"))
    assert (0, "", True) == (unchanged.status, unchanged.err, "unchanged" in unchanged.out)


# --- once more ---

AGAIN = {
    "as the tree is taken back": "rukh.sources.install.discard",
    "as a directory goes": "rukh.sources.staging.remove_tree",
    "as the operation is aborted": "rukh.store.publications.Publications.abort",
    "as its record is read": "rukh.store.publications.Publications.operation",
    "as the home is closed": "rukh.store.store.Store.close",
    "as the refusal is shown": "rukh.cli.output.show_error",
}


@pytest.mark.requirement("RK-PUB-043", "RK-PUB-040")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("function", AGAIN.values(), ids=AGAIN)
@pytest.mark.parametrize("copied", ["update"], indirect=True)
def test_a_second_signal_does_not_interrupt_what_is_taken_back(
    copied: Copied, function: str, number: signal.Signals
) -> None:
    before = copied.seen()
    last = Moment(STEP, len(STEPS["update"].split()))
    assert stopped(struck(copied.path, copied.words, last, Moment(function, number=number)))
    assert before == copied.seen()
    copied.goes_through()


@pytest.mark.requirement("RK-PUB-043")
@pytest.mark.parametrize("copied", ["update"], indirect=True)
def test_a_kill_amidst_taking_back_is_settled_by_recovery(copied: Copied) -> None:
    before = copied.seen()
    last = Moment(STEP, len(STEPS["update"].split()))
    kill = Moment("rukh.sources.install.discard", number=signal.SIGKILL)
    assert KILLED == struck(copied.path, copied.words, last, kill).status
    assert OLD == copied.version()
    found = json.loads(copied.answer("recover", "--json"))
    assert (1, 1) == (len(found["staging"]), len(found["locks"]))
    assert 1 == len(json.loads(copied.answer("gc", "--json"))["releases"])
    assert before == copied.seen()
    copied.goes_through()


# --- waiting ---


@pytest.mark.requirement("RK-PUB-044")
@pytest.mark.parametrize("copied", ["install", "update", "rollback"], indirect=True)
def test_a_change_that_waits_for_another_one_is_stopped_at_once(copied: Copied) -> None:
    """The other one holds its turn all the time; the signal is sent when the wait has begun."""
    before = copied.seen()
    with releases_turn(Home(str(copied.path))):
        assert stopped(struck_waiting(copied.path, copied.words))
    assert before == copied.seen()
    copied.goes_through()


@alone
def test_a_wait_that_was_interrupted_takes_no_turn_that_comes_late(tmp_path: Path) -> None:
    """In a process that lives on, the lock that comes behind the interrupt is let go again."""
    wait, heard, over = _Waiting._block, threading.Event(), threading.Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        if not heard.is_set():
            heard.set()
            raise KeyboardInterrupt

    def block(waiting: _Waiting) -> None:
        threading.Thread(target=insisting, args=(signal.SIGINT, heard)).start()
        wait(waiting)
        over.set()

    signal.signal(signal.SIGINT, interrupt)

    with open(tmp_path / "lock", "wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with patch.object(_Waiting, "_block", block), pytest.raises(KeyboardInterrupt):
            Turnstile(str(tmp_path), 60_000).enter()
    assert over.wait(PATIENCE)
    Turnstile(str(tmp_path), 1).enter()


# --- a home that is new, and collection ---


@pytest.mark.requirement("RK-PUB-040", "RK-PUB-046")
@pytest.mark.parametrize("step", [1, 2, 3])
def test_the_first_change_of_a_home_is_stopped_too(stage: Stage, tmp_path: Path, step: int) -> None:
    """Its first revision, of the fresh profile, is published on the way: it may be there or not."""
    copied = Copied(stage, "install", tmp_path)
    assert stopped(struck(copied.path, copied.words, Moment(STEP, step)))
    assert "" == copied.version()
    copied.goes_through()
    remove(tmp_path)


@pytest.mark.requirement("RK-PUB-047", "RK-PUB-023")
@pytest.mark.parametrize("copied", ["gc"], indirect=True)
def test_a_collection_that_is_stopped_keeps_its_record_and_the_next_one_removes_the_files(
    copied: Copied,
) -> None:
    (tree,) = json.loads(copied.answer("gc", "--dry-run", "--json"))["releases"]
    ended = struck(copied.path, copied.words, Moment(STEP, 4))
    assert (130, "") == (ended.status, ended.out)
    assert ended.err.startswith("rukh: SIGINT stopped it, and what it did so far stays\n")
    assert (copied.path / "releases" / tree).exists()
    assert f"release {tree} went\n" == copied.answer("gc")
    assert not (copied.path / "releases" / tree).exists()


@pytest.mark.requirement("RK-PUB-047")
@pytest.mark.parametrize("copied", ["gc"], indirect=True)
def test_a_collection_that_was_done_when_the_signal_came_gives_its_answer(copied: Copied) -> None:
    ended = struck(copied.path, copied.words, Moment("rukh.host.upkeep.discard"))
    assert (0, "") == (ended.status, ended.err)
    assert "Nothing to give back.\n" == copied.answer("gc")
