"""A passthrough program: started as the caller's shell would start it, watched to its end, and its end told exactly.

The program gets the caller's words, session, process group, terminal, directory, limits and descriptors. The host
stands beside it in the same process group and stays out of the way:

| what happens                                        | what the host does                                            |
|-----------------------------------------------------|---------------------------------------------------------------|
| a key of the terminal: INT, QUIT, TSTP, or its size | nothing: the program, of the same group, has the signal too   |
| a process sends a signal to the host                | passes it on, unless the sender is the program                |
| a signal comes that the caller ignores              | never sees it; the program was started with it ignored        |
| the program stops, by whatever signal               | stops by the same one, so that whoever watches the host knows |
| the host is continued                               | continues the program where it still stands                   |
| the program ends                                    | commits the outcome, and ends in the same way                 |

The kernel says whether a signal came from a terminal or from a process (`si_code`), and from which; it does not say
whether that process meant the host alone or the whole group. One sent to the group therefore arrives twice: rather
twice than never.

Signals are held back from before the capture until behind the commit and taken one by one, so that none is lost and
none interrupts a transaction. What arrives before there is a program to have it decides what the program would have
decided by default: it is not started. The rest is passed on right behind the start.
RK-PASS-001 … RK-PASS-036
"""

from __future__ import annotations

import os
import signal

from rukh.contract.envelope import reason
from rukh.values.registry import PASSTHROUGH_ENVIRONMENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Any, NoReturn

    from rukh.values.errors import RukhError

# What these mean must not wait, or cannot: they are left as they are.
_NEVER_HELD = frozenset(
    {
        signal.SIGKILL,
        signal.SIGSTOP,
        signal.SIGILL,
        signal.SIGTRAP,
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGSEGV,
        signal.SIGSYS,
    }
)
# What tells of the program, and of stopping: held even where the caller ignores it.
_JOB = frozenset({signal.SIGCHLD, signal.SIGCONT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})
# Passed on right behind the start, in case the program was not there yet: all but those that are of the job, not of it.
_NOT_EARLY = frozenset({signal.SIGCHLD, signal.SIGCONT, signal.SIGTTIN, signal.SIGTTOU})
# Set to ignored by the interpreter, or needed by the host: back to their default in the program. RK-PASS-014
_RESET = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)
# Whom a signal speaks for that ends the program, where the host had it too.
_CAUSES = {
    signal.SIGINT: "caller",
    signal.SIGQUIT: "caller",
    signal.SIGTERM: "scope_closed",
    signal.SIGHUP: "scope_closed",
}
# By default these leave an image of the process behind; the program's own is enough. RK-PASS-031
_DUMPING = frozenset(
    {
        signal.SIGQUIT,
        signal.SIGILL,
        signal.SIGTRAP,
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGSEGV,
        signal.SIGXCPU,
        signal.SIGXFSZ,
        signal.SIGSYS,
    }
)
_SET_DUMPABLE = 4  # PR_SET_DUMPABLE of linux/prctl.h
_SIGNAL_STATUS = 128  # a shell's base for a death by signal
# What the interpreter sets LC_CTYPE to where the caller has no locale.
_COERCED = (b"C.UTF-8", b"C.utf8", b"UTF-8")


class Program:
    """What is executed: `argv` (the first one is the file), `env`, all of them bytes."""

    __slots__ = ("argv", "env")

    def __init__(self, argv: list[bytes], env: dict[bytes, bytes]) -> None:
        self.argv = argv
        self.env = env


class Ended:
    """How it went, as a `Report` says it: nothing of the program's output was seen, and nothing of it is kept.

    `exit_status` is the program's own (negative: the signal that ended it), None where it was never started.
    """

    __slots__ = (
        "command_result",
        "diagnostics",
        "exit_status",
        "outcome",
        "reason",
        "survivors",
        "wrote_stdout",
    )

    def __init__(self, outcome: str, why: dict[str, str] | None, exit_status: int | None) -> None:
        self.outcome = outcome
        self.reason = why
        self.exit_status = exit_status
        self.command_result = None
        self.diagnostics = {"stdout": (b"", 0), "stderr": (b"", 0)}
        self.survivors = 0
        self.wrote_stdout = True


def plan_program(
    record: Mapping[str, Any],
    release: str,
    words: Sequence[bytes],
    caller: Mapping[bytes, bytes],
    given: Mapping[str, str],
) -> Program:
    """The program of `record` below the directory `release`, its fixed words, then the caller's.

    `caller` is the caller's environment, `given` the declared variables that the owner gives. RK-PASS-002 RK-PASS-015
    """
    program, *fixed = record["mapping"]["program"]
    argv = [os.fsencode(word) for word in (os.path.join(release, program), *fixed)]
    return Program([*argv, *words], environment(caller, given))


def environment(caller: Mapping[bytes, bytes], given: Mapping[str, str]) -> dict[bytes, bytes]:
    """The closed list's variables as the caller has them, and what the owner gives, which wins. RK-PASS-015"""
    listed = {name: caller[name] for name in map(str.encode, PASSTHROUGH_ENVIRONMENT) if name in caller}
    if listed.get(b"LC_CTYPE") in _COERCED and not _started_with(b"LC_CTYPE="):
        del listed[b"LC_CTYPE"]  # the interpreter's own, in place of a locale that the caller does not have
    return {**listed, **{os.fsencode(name): os.fsencode(value) for name, value in given.items()}}


def _started_with(prefix: bytes) -> bool:
    """Whether this process was started with a variable of that name."""
    with open("/proc/self/environ", "rb", buffering=0) as file:
        return any(entry.startswith(prefix) for entry in (file.readall() or b"").split(b"\0"))


# Seconds after which the program is looked at without having been heard of.
_PATIENCE = 1.0


class Held:
    """Signals kept back and taken one by one: `with Held() as held`, in the main thread.

    On leaving, what arrived meanwhile is dropped where a program had been started, since it was its business; else it
    is delivered as if it had never been held.
    """

    def __init__(self) -> None:
        possible = signal.valid_signals() - _NEVER_HELD
        ignored = {number for number in possible if signal.getsignal(number) == signal.SIG_IGN}
        self.numbers = (possible - ignored) | _JOB
        self.before: set[int] = set()
        self.started = False
        self._child: Any = None

    def __enter__(self) -> Held:
        # With an ignored SIGCHLD the kernel would throw the status of the program away.
        self._child = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.before = signal.pthread_sigmask(signal.SIG_BLOCK, self.numbers)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self.started and signal.sigtimedwait(self.numbers, 0) is not None:
            pass
        signal.signal(signal.SIGCHLD, signal.SIG_DFL if self._child is None else self._child)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.before)

    def decided(self) -> signal.Signals | None:
        """A signal that has arrived and would end a program that does nothing about it."""
        arrived = signal.sigpending()
        return next((number for number in _CAUSES if number in self.numbers & arrived), None)

    def early(self) -> set[int]:
        """Take what arrived while there was no program, or may have."""
        arrived = (signal.sigpending() & self.numbers) - _NOT_EARLY
        return {number for number in arrived if signal.sigtimedwait({number}, 0) is not None}

    def next(self) -> signal.struct_siginfo | None:
        """The next one, waited for; None after a while, for what another thread of an embedding program got instead."""
        return signal.sigtimedwait(self.numbers, _PATIENCE)

    def stop(self, number: int) -> None:
        """Stop this process by `number`; returns when it was continued, or cannot be stopped by it."""
        if signal.SIGCONT in signal.sigpending():
            return  # continued already: a stop now would throw that away
        if number == signal.SIGSTOP:
            os.kill(os.getpid(), number)
            return
        known = signal.signal(number, signal.SIG_DFL)
        # Still held, it falls together with the one that the terminal sent to us: we stop once.
        os.kill(os.getpid(), number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        signal.pthread_sigmask(signal.SIG_BLOCK, {number})
        signal.signal(number, signal.SIG_DFL if known is None else known)


def _unheard(process: int) -> None:
    """Nobody is told of a start."""


def run_program(program: Program, held: Held, started: Callable[[int], None] = _unheard) -> Ended:
    """Run it to its end; nothing is raised for what it does. `started` is told of its process first.

    RK-PASS-020 … RK-PASS-026
    """
    decided = held.decided()
    if decided is not None:
        held.started = True  # the signal is taken: it was for what is not started any more
        message = f"signal {decided} ({_name(decided)}) came before the program was started"
        return Ended("cancelled", reason(_CAUSES[decided], message), -decided)
    try:
        process = os.posix_spawn(
            program.argv[0], program.argv, program.env, setsigmask=held.before, setsigdef=_RESET
        )
    except OSError as error:
        return Ended("execution_failed", _not_started(program, error), None)
    started(process)
    held.started = True
    watch = _Watch(process, held)
    return ended(watch.until_end(), watch.received)


def unwatched(error: RukhError) -> Ended:
    """The outcome where nobody can be had that keeps the call's lock: it was not started. RK-PUB-052"""
    return Ended(
        "execution_failed", reason("spawn_failed", f"{error.message} [{error.rule}]", "", error.mend), None
    )


def ended(status: int, received: set[int]) -> Ended:
    """The outcome of a program that ended with `status`, where the host itself had `received`. RK-PASS-032"""
    if status == 0:
        return Ended("succeeded", None, status)
    if status > 0:
        return Ended("command_failed", reason("command", f"the program ended with status {status}"), status)
    message = f"the program was ended by signal {-status} ({_name(-status)})"
    for number, cause in _CAUSES.items():
        if -status == number and number in received:
            return Ended("cancelled", reason(cause, message), status)
    return Ended("execution_failed", reason("exited_early", message), status)


class _Watch:
    """One running program. `received` are the signals that the host had while it ran."""

    def __init__(self, process: int, held: Held) -> None:
        self.received: set[int] = set()
        self._process = process
        self._held = held
        self._stopped = False
        self._status: int | None = None

    def until_end(self) -> int:
        """Its status: an exit status, or minus the signal that ended it."""
        for number in self._held.early():
            self._pass_on(number)
        while self._status is None:
            arrived = self._held.next()
            self._look() if arrived is None else self._take(arrived)
        return self._status

    def _take(self, arrived: signal.struct_siginfo) -> None:
        number = arrived.si_signo
        if number in (signal.SIGCHLD, signal.SIGCONT):
            self._look()
            if number == signal.SIGCONT and self._stopped:
                self._send(number)  # whoever continued us did not reach it
        elif arrived.si_code > 0:
            self.received.add(number)  # of the kernel: the whole group has it
        elif arrived.si_pid != self._process:
            self._pass_on(number)

    def _pass_on(self, number: int) -> None:
        self.received.add(number)
        self._send(number)

    def _send(self, number: int) -> None:
        try:
            os.kill(self._process, number)
        except PermissionError:
            pass  # it runs as another user now; who sent the signal to us may not reach it either

    def _look(self) -> None:
        """What became of the program since the last look; a stop is followed."""
        stop = 0
        flags = os.WNOHANG | os.WUNTRACED | os.WCONTINUED
        while self._status is None:
            process, status = os.waitpid(self._process, flags)
            if process == 0:
                break
            if os.WIFSTOPPED(status) or os.WIFCONTINUED(status):
                stop = os.WSTOPSIG(status) if os.WIFSTOPPED(status) else 0
                self._stopped = stop != 0
            else:
                self._status = os.waitstatus_to_exitcode(status)
        if stop and self._status is None:
            self._held.stop(stop)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "a real-time signal"


def _not_started(program: Program, error: OSError) -> dict[str, str]:
    path = os.fsdecode(program.argv[0])
    message = f"the program could not be started: {error.strerror}"
    mend = "ask the publisher for a release whose program runs on this machine"
    if isinstance(error, FileNotFoundError) and os.path.exists(path):
        message += "; the interpreter that its first line names is not there"
        mend = "install that interpreter"
    return reason("spawn_failed", message, path, mend)


def die_by(number: int) -> NoReturn:
    """End this process by signal `number`, as the program ended, and leave no image of it. RK-PASS-031

    Where the kernel does not let it (a first process of a namespace), with the status that a shell makes of it.
    """
    if number in _DUMPING:
        from rukh.host.supervisor import load_prctl

        load_prctl()(_SET_DUMPABLE, 0)
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    os._exit(_SIGNAL_STATUS + number)
