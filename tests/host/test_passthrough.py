"""A passthrough program in this process's hands: what is executed, what becomes of signals, how its end is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rukh.host.invocation import Call, Host, Moved, check
from rukh.host.passthrough import Ended, Held, Program, ended, environment, plan_program, run_program
from rukh.store.calls import Caller
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError
from rukh.values.registry import PASSTHROUGH_ENVIRONMENT
from tests.support import probe
from tests.support.alone import alone
from tests.support.homes import PATIENCE
from tests.support.jobs import heeding
from tests.support.stubs import apply

CLI = Caller("cli", "user:local", "user:local")
SHELL = b"/bin/sh"


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    with heeding():
        yield


def run(
    *argv: bytes, env: dict[bytes, bytes] | None = None, before: Callable[[], None] | None = None
) -> Ended:
    """Run a program to its end; `before` happens when signals are held and nothing is started."""
    with Held() as held:
        if before is not None:
            before()
        return run_program(Program(list(argv), env or {}), held)


def send(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


def outcome(done: Ended) -> tuple[str, str | None, int | None]:
    return done.outcome, done.reason["code"] if done.reason else None, done.exit_status


@pytest.mark.requirement("RK-PASS-031", "RK-PASS-032")
@alone
def test_every_exit_status_is_told_exactly() -> None:
    expected = [("succeeded", None, 0)] + [("command_failed", "command", n) for n in range(1, 256)]
    assert expected == [outcome(run(SHELL, b"-c", b"exit %d" % number)) for number in range(256)]


FATAL = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 29, 30, 31, 34, 64]


@pytest.mark.requirement("RK-PASS-014", "RK-PASS-031", "RK-PASS-032")
@alone
def test_every_signal_that_ends_the_program_is_told_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some of them leave an image of the program behind
    expected = [("execution_failed", "exited_early", -number) for number in FATAL]
    # `exec`: the signal must reach the program itself, and one that it gives to itself is not the caller's.
    assert expected == [outcome(run(SHELL, b"-c", b"kill -%d $$" % number)) for number in FATAL]


# name: (status of the program, signals that the host had, outcome, code)
ENDS = {
    "nothing to say": (0, set(), "succeeded", None),
    "success after an interrupt": (0, {2}, "succeeded", None),
    "the status of an interrupted program": (130, {2}, "command_failed", "command"),
    "the highest status": (255, set(), "command_failed", "command"),
    "an interrupt": (-2, {2}, "cancelled", "caller"),
    "a quit": (-3, {3}, "cancelled", "caller"),
    "an end": (-15, {15}, "cancelled", "scope_closed"),
    "a hangup": (-1, {1, 15}, "cancelled", "scope_closed"),
    "another signal than the host had": (-9, {15}, "execution_failed", "exited_early"),
    "a signal that the host did not have": (-15, set(), "execution_failed", "exited_early"),
    "a signal that means nobody": (-10, {10}, "execution_failed", "exited_early"),
    "a real-time signal": (-35, {35}, "execution_failed", "exited_early"),
}


@pytest.mark.requirement("RK-PASS-032")
@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_a_program_decides_the_outcome(name: str) -> None:
    status, received, expected, code = ENDS[name]
    assert (expected, code, status) == outcome(ended(status, received))


@pytest.mark.requirement("RK-PASS-002")
def test_the_program_is_the_file_of_the_release_with_its_fixed_words_in_front() -> None:
    record = {"mapping": {"kind": "passthrough", "program": ["bin/é", "--fixed", ""]}}
    plan = plan_program(record, "/releases/x", [b"\xff", b"", b"--"], {}, {})
    assert ["/releases/x/bin/é".encode(), b"--fixed", b"", b"\xff", b"", b"--"] == plan.argv


@pytest.mark.requirement("RK-PASS-001", "RK-PASS-002")
@alone
def test_a_program_sees_its_own_absolute_path_and_every_byte_of_its_words(
    capfd: pytest.CaptureFixture[str],
) -> None:
    every = bytes(range(1, 256))
    assert ("succeeded", None, 0) == outcome(run(b"/bin/cat", b"/proc/self/cmdline"))
    assert "/bin/cat\0/proc/self/cmdline\0" == capfd.readouterr().out
    assert 0 == run(SHELL, b"-c", b'test "$1" = "$X"', b"-", every, env={b"X": every}).exit_status
    assert 1 == run(SHELL, b"-c", b'test "$1" = "$X"', b"-", every, env={b"X": every[:-1]}).exit_status


@pytest.mark.requirement("RK-PASS-015")
def test_the_environment_is_the_list_and_what_the_owner_gives() -> None:
    caller = {name.encode(): b"\xff=" + name.encode() for name in PASSTHROUGH_ENVIRONMENT}
    planted = {
        b"TOKEN": b"secret",
        b"LC_TOKEN": b"secret",
        b"PATH2": b"x",
        b"LD_PRELOAD": b"x",
        b"RUKH_HOME": b"x",
    }
    assert caller == environment({**planted, **caller}, {})
    given = {"TERM": "owners", "DECLARED": "é"}
    assert {**caller, b"TERM": b"owners", b"DECLARED": "é".encode()} == environment(caller, given)


@pytest.mark.requirement("RK-PASS-024")
@pytest.mark.parametrize(
    ("number", "code"), [(2, "caller"), (3, "caller"), (15, "scope_closed"), (1, "scope_closed")]
)
@alone
def test_a_signal_before_the_start_keeps_the_program_from_being_started(
    tmp_path: Path, number: int, code: str
) -> None:
    mark = os.fsencode(tmp_path / "ran")
    done = run(SHELL, b"-c", b'>"$0"', mark, before=send(number))
    assert ("cancelled", code, -number) == outcome(done)
    assert done.reason is not None
    assert done.reason["message"].endswith(" came before the program was started")
    assert ("cancelled", code, -number) == outcome(run(b"/nowhere/program", before=send(number)))
    assert [] == os.listdir(tmp_path)
    assert ("succeeded", None, 0) == outcome(run(SHELL, b"-c", b'>"$0"', mark))
    assert ["ran"] == os.listdir(tmp_path)


@pytest.mark.requirement("RK-PASS-022", "RK-PASS-024")
@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGALRM, signal.SIGRTMIN])
@alone
def test_a_signal_that_does_not_decide_is_passed_on_to_the_program_once_it_is_there(number: int) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(reader, True)
    waiting = (b"/bin/cat", b"/proc/self/fd/%d" % reader)
    assert -number == run(*waiting, before=send(number)).exit_status
    os.close(writer)
    assert 0 == run(*waiting).exit_status
    os.close(reader)


@pytest.mark.requirement("RK-PASS-024")
@alone
def test_a_signal_of_the_kernel_that_came_before_the_program_reaches_it_all_the_same() -> None:
    """From the kernel, as a key of the terminal is: later ones are not passed on, since the program has them itself."""

    def ring() -> None:
        signal.setitimer(signal.ITIMER_REAL, 1e-6)
        while signal.SIGALRM not in signal.sigpending():
            os.sched_yield()

    reader, writer = os.pipe()
    os.set_inheritable(reader, True)
    assert -signal.SIGALRM == run(b"/bin/cat", b"/proc/self/fd/%d" % reader, before=ring).exit_status
    os.close(reader)
    os.close(writer)


class Arrived(Exception):
    """Raised by a handler that was called."""


@pytest.fixture
def handled() -> Iterator[None]:
    def arrived(number: int, _frame: object) -> None:
        raise Arrived(number)

    before = {number: signal.signal(number, arrived) for number in (signal.SIGINT, signal.SIGUSR1)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.requirement("RK-PASS-024")
@alone
def test_signals_are_delivered_later_where_no_program_was_started_and_dropped_where_one_was(
    handled: None,
) -> None:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with pytest.raises(Arrived), Held():
        os.kill(os.getpid(), signal.SIGINT)
    with Held() as held:
        done = run_program(Program([SHELL, b"-c", b"exit 3"], {}), held)
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGUSR1)
    assert (3, mask) == (done.exit_status, signal.pthread_sigmask(signal.SIG_BLOCK, ()))


STOPPING = """
import os, signal
from rukh.host.passthrough import Held
with Held() as held:
    held.stop({number})
    print({number} in signal.pthread_sigmask(0, ()), signal.getsignal({number}) == signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGCONT)
    held.stop({number})
    print("continued before it stopped")
"""


@pytest.mark.requirement("RK-PASS-023")
@pytest.mark.parametrize("number", [20, 21, 22])
@alone
def test_a_stopped_host_holds_the_signal_again_and_stops_for_nothing_that_is_over(number: int) -> None:
    # In a group of its own: the kernel stops no group that nobody of its session looks after.
    with subprocess.Popen(
        [sys.executable, "-c", STOPPING.format(number=number)], stdout=subprocess.PIPE, process_group=0
    ) as host:
        _, status = os.waitpid(host.pid, os.WUNTRACED)
        assert (True, number) == (os.WIFSTOPPED(status), os.WSTOPSIG(status))
        os.kill(host.pid, signal.SIGCONT)
        try:
            out, _ = host.communicate(timeout=PATIENCE)
        finally:
            host.kill()  # one that stopped again would be waited for without end
    assert (0, b"True True\ncontinued before it stopped\n") == (host.returncode, out)


@pytest.mark.requirement("RK-PASS-014", "RK-PASS-031")
@alone
def test_a_caller_that_ignores_the_end_of_children_learns_the_status_all_the_same() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert 5 == run(SHELL, b"-c", b"exit 5").exit_status
        assert signal.SIG_IGN == signal.getsignal(signal.SIGCHLD)
    finally:
        signal.signal(signal.SIGCHLD, before)


# name: (argv, what the message says)
UNSTARTED = {
    "nothing there": ([b"/nowhere/program"], "No such file or directory"),
    "no right": ([b"/etc/passwd"], "Permission denied"),
    "too much": ([b"/bin/true", b"x" * 200_000], "Argument list too long"),
}


@pytest.mark.requirement("RK-PASS-032")
@pytest.mark.parametrize("name", UNSTARTED)
@alone
def test_a_program_that_cannot_be_executed_is_an_attempt_that_failed(name: str) -> None:
    argv, says = UNSTARTED[name]
    done = run(*argv)
    assert ("execution_failed", "spawn_failed", None) == outcome(done)
    assert done.reason is not None
    assert done.reason["message"] == f"the program could not be started: {says}"
    assert done.reason["place"] == argv[0].decode()


@pytest.mark.requirement("RK-PASS-002")
@alone
def test_a_file_that_is_no_program_is_not_given_to_a_shell(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("exit 0\n")
    script.chmod(0o755)
    done = run(os.fsencode(script))
    assert ("execution_failed", "spawn_failed", None) == outcome(done)
    script.write_text("#!/bin/sh\nexit 0\n")
    assert ("succeeded", None, 0) == outcome(run(os.fsencode(script)))


def status_of(program: str) -> int:
    """The wait status of a Python program that may leave an image of itself, as far as limits say."""
    process = os.posix_spawn(
        sys.executable, [sys.executable, "-c", "import resource as r\n"
        "r.setrlimit(r.RLIMIT_CORE, (r.getrlimit(r.RLIMIT_CORE)[1],) * 2)\n" + program], os.environ
    )  # fmt: skip
    return os.waitpid(process, 0)[1]


@pytest.mark.requirement("RK-PASS-031")
@pytest.mark.parametrize("number", [1, 2, 3, 6, 9, 11, 13, 15, 34])
def test_the_host_dies_by_any_signal_without_an_image_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.chdir(tmp_path)
    blocked = f"import signal; signal.pthread_sigmask(0, {{{number}}}); "
    status = status_of(f"{blocked}from rukh.host.passthrough import die_by; die_by({number})")
    assert (True, number, False) == (os.WIFSIGNALED(status), os.WTERMSIG(status), os.WCOREDUMP(status))
    assert [] == os.listdir(tmp_path)


@pytest.mark.requirement("RK-PASS-031")
def test_a_signal_that_does_not_end_the_host_leaves_a_shells_status() -> None:
    status = status_of("from rukh.host.passthrough import die_by; die_by(17)")
    assert (True, 128 + 17) == (os.WIFEXITED(status), os.WEXITSTATUS(status))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    home = probe.probing_home(tmp_path_factory.mktemp("probing"))
    opened = Store(open_home(home.path, create=False))
    yield opened
    opened.close()


def call(store: Store, command: str, caller: Caller = CLI) -> Call:
    active = store.profiles.active()
    assert active is not None
    record = store.profiles.command(active.generation, f"acme.tools/{command}")
    assert record is not None
    return Call(active, record, {}, caller, 0)


def refused(finished: Any) -> str:
    message: str = finished.envelope["reason"]["message"]
    return message.rpartition("[")[2].rstrip("]")


@pytest.mark.requirement("RK-PASS-030")
def test_support_rules_and_grant_are_asked_in_this_order_before_anything_starts(store: Store) -> None:
    host = Host(store, None)
    made = call(store, "forbidden")
    made.record = {**made.record, "requires": {**made.record["requires"], "confinement": "vault/9"}}
    rules = [refused(host.pass_through(made, []))]
    rules += [refused(host.pass_through(call(store, name), [])) for name in ("forbidden", "ungranted")]
    assert ["RKA008", "RKA001", "RKA012"] == rules
    assert 0 == host.pass_through(call(store, "nothing"), []).exit_code


@pytest.mark.requirement("RK-PASS-030", "RK-PROF-023")
def test_a_refusal_for_want_of_a_grant_is_denied_and_shows_the_lines(store: Store) -> None:
    finished = Host(store, None).pass_through(call(store, "ungranted"), [b"x"])
    reason = finished.envelope["reason"]
    assert ("rejected", "denied", None) == (finished.outcome, reason["code"], finished.exit_code)
    assert '[passthrough."acme.tools/ungranted"]' in reason["mend"]
    assert 'arguments = "unrestricted"' in reason["mend"]


@pytest.mark.requirement("RK-PASS-034")
@pytest.mark.parametrize("caller", [CLI, Caller("mcp", "user:local", "agent:desk")], ids=["cli", "mcp"])
def test_a_passthrough_command_is_never_run_as_a_managed_one(store: Store, caller: Caller) -> None:
    with pytest.raises(RukhError) as unsupported:
        check(call(store, "probe", caller))
    assert unsupported.value.rule == "RKA007"


@pytest.mark.requirement("RK-PASS-033")
def test_a_call_of_a_replaced_revision_starts_nothing(tmp_path: Path) -> None:
    home = probe.probing_home(tmp_path)
    opened = Store(open_home(home.path, create=False))
    stale = call(opened, "lost")
    apply(home, probe.OWNER)
    with pytest.raises(Moved):
        Host(opened, None).pass_through(stale, [])
    assert [] == opened.database.rows("SELECT * FROM invocation")
    opened.close()


@pytest.mark.requirement("RK-PASS-033")
def test_a_home_that_cannot_be_written_makes_no_invocation(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise RukhError("RKS007", "it is full")

    before = store.database.rows("SELECT count(*) FROM invocation")
    monkeypatch.setattr(store.calls, "capture", full)
    with pytest.raises(RukhError) as unwritten:
        Host(store, None).pass_through(call(store, "nothing"), [])
    assert ("RKS007", before) == (
        unwritten.value.rule,
        store.database.rows("SELECT count(*) FROM invocation"),
    )


@pytest.mark.requirement("RK-PASS-015")
def test_a_locale_that_only_the_interpreter_has_is_not_handed_on() -> None:
    program = "import os; from rukh.host.passthrough import environment; print(environment(os.environb, {}))"
    for given, expected in (({}, {}), ({"LC_CTYPE": "C.UTF-8"}, {b"LC_CTYPE": b"C.UTF-8"})):
        done = subprocess.run([sys.executable, "-c", program], env=given, capture_output=True, check=True)
        assert f"{expected}\n".encode() == done.stdout
