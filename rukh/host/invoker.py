"""One call from its launch to its proposed outcome: a blocking loop around the channel and the lifecycle.

The loop waits on five things and on the clock, and never polls: the cancellation, the channel, stdout, stderr, and the
supervisor. What woke it together is taken in one order (`machines/lifecycle.py`, RK-LIFE-012): cancel → deadline →
channel → streams → exit → rungs. The exit is only taken behind everything that was written before it: the supervisor
reports when nobody is left to write, so that channel and streams are then read until they are empty.

While a child runs, each wake-up reads at most one piece of each stream and four of the channel: however much it writes,
the cancellation and the clock are looked at in between. RK-EXEC-033

Behind the exit a reader may still be slow to take what was relayed. The loop goes on for it, without a budget but
within the deadline and for as long as nobody cancels: a terminal loses nothing. RK-EXEC-032

`run` gives a proposal and closes the cancellation: from then on the commit is asked for. What it gives is shown to
nobody before that commit. RK-LIFE-013
"""

from __future__ import annotations

import _socket
import errno
import os
import select
import time

from rukh.contract.envelope import reason
from rukh.host.conversation import Conversation
from rukh.host.streams import Source
from rukh.machines.channel import HostChannel
from rukh.machines.lifecycle import Lifecycle, rungs
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_RESULT_BYTES, LIMIT_START_MILLISECONDS, LIMIT_STOP_MILLISECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rukh.host.cancel import Cancel
    from rukh.host.spawner import Launch, Session, Spawner
    from rukh.host.streams import Streams
    from rukh.machines.channel import Event

_CHANNEL_PIECES = 4  # reads of the channel in one wake-up
# Reads of one source behind the exit. Nobody is left to write, unless something could not be stopped.
_LAST_PIECES = 1024
_LONGEST_WAIT_MS = 2**31 - 1  # what poll can be told; a later deadline is waited for in pieces
_WORD_BYTES = 256  # the supervisor's last word
_COMMANDS = {"term": b"T", "kill": b"K", "report": b"R"}
_NOT_CONFIRMED = "the child did not confirm its session in time"


class Report:
    """What is proposed for the commit, and what is kept for the owner.

    `reason` is the outcome reason or None; `command_result` the validated result or None; `exit_status` the child's
    (negative: a signal; None: unknown). `diagnostics` maps `stdout` and `stderr` to the kept bytes and the number of
    dropped ones. `killed` descendants were left behind and ended; `survivors` could not be, or are not known to be: 0
    means that all is confirmed gone, and only then may what the call refers to be let go.
    """

    __slots__ = (
        "command_result",
        "diagnostics",
        "exit_status",
        "killed",
        "outcome",
        "reason",
        "survivors",
        "wrote_stdout",
    )

    def __init__(self, machine: Lifecycle, streams: Streams, wrote_stdout: bool) -> None:
        proposal = machine.commit_asked()
        self.outcome = proposal.outcome
        self.reason = proposal.reason
        self.command_result = proposal.result
        self.exit_status = machine.exit_status
        self.killed = machine.killed
        self.survivors = machine.survivors
        self.wrote_stdout = wrote_stdout
        self.diagnostics = {"stdout": streams.stdout.kept(), "stderr": streams.stderr.kept()}


def run(
    spawner: Spawner,
    launch: Launch,
    *,
    execute: dict[str, Any],
    declared: dict[str, Any] | None,
    deadline_at: float,
    streams: Streams,
    cancel: Cancel,
    start_ms: int = LIMIT_START_MILLISECONDS,
    stop_ms: int = LIMIT_STOP_MILLISECONDS,
    result_bytes: int = LIMIT_RESULT_BYTES,
) -> Report:
    """Run one managed call and propose its outcome.

    `execute` holds command, inputs and supplied ids; `declared` is the record's result; `deadline_at` a time of
    `time.monotonic`. `start_ms`, `stop_ms` and `result_bytes` can be tighter than the defaults, never wider. Nothing
    is raised for what the child does: it is in the report.
    """
    machine = Lifecycle(declared=declared is not None)
    call: _Call | None = None
    try:
        session = _launched(machine, spawner, launch, deadline_at, cancel)
        if session is not None:
            call = _Call(session, machine, execute, declared, deadline_at, streams, cancel)
            call.result_bytes = result_bytes
            call.stop_seconds = min(stop_ms, LIMIT_STOP_MILLISECONDS) / 1000
            call.begin(min(start_ms, LIMIT_START_MILLISECONDS) / 1000)
            call.loop()
        # From here on the commit is asked for. A cause that came after the last wake-up was still accepted.
        cause = cancel.close()
        if cause is not None:
            machine.cancelled(cause)
        return Report(machine, streams, call is not None and call.wrote_stdout)
    finally:
        streams.close()
        if call is not None:
            call.close()


def _launched(
    machine: Lifecycle, spawner: Spawner, launch: Launch, deadline_at: float, cancel: Cancel
) -> Session | None:
    """Have the child started; None when it was stopped before, or cannot be."""
    if time.monotonic() >= deadline_at:
        cancel.request("deadline")
    if cancel.cause is not None:
        machine.cancelled(cancel.cause)
        return None
    try:
        session = spawner.launch(launch)
    except RukhError as error:
        machine.failed(_reason("spawn_failed", error))
        return None
    machine.started()
    cancel.launched()
    return session


class _Call:
    """The loop's state: descriptors outside, machines inside."""

    def __init__(
        self,
        session: Session,
        machine: Lifecycle,
        execute: dict[str, Any],
        declared: dict[str, Any] | None,
        deadline_at: float,
        streams: Streams,
        cancel: Cancel,
    ) -> None:
        self.session = session
        self.machine = machine
        self.execute = execute
        self.declared = declared
        self.deadline_at = deadline_at
        self.streams = streams
        self.cancel = cancel
        self.result_bytes = LIMIT_RESULT_BYTES
        self.stop_seconds = 0.0
        self._channel = Conversation(session.channel, HostChannel(session.session, session.token))
        self._sources = (
            Source(session, session.stdout, streams.stdout),
            Source(session, session.stderr, streams.stderr),
        )
        self._waiting = select.poll()
        self._watched: dict[int, int] = {}
        self._cause_taken = False
        self._control_open = True
        self._start_end = 0.0
        self._budget_end = 0.0
        self._rungs: list[tuple[float, str]] = []

    @property
    def wrote_stdout(self) -> bool:
        """Whether the child wrote anything to its stdout."""
        return self._sources[0].wrote

    def begin(self, start_seconds: float) -> None:
        """Greet the child, which has `start_seconds` to confirm."""
        self._start_end = time.monotonic() + start_seconds
        self._channel.greet()

    def close(self) -> None:
        """Let go of the child."""
        self.session.close()

    def loop(self) -> None:
        """Wait and take what comes, until all evidence is in and all output is delivered."""
        while not self.machine.settled or self._undelivered():
            self._watch_all()
            # Rungs are judged by the time before the look: who left before it was seen to leave.
            now = time.monotonic()
            ready = {descriptor for descriptor, _ in self._waiting.poll(self._timeout(now))}
            self._take_cancel()
            self._take_deadline()
            self._take_ready(ready)
            self._take_rungs(now)

    def _take_ready(self, ready: set[int]) -> None:
        control = self.session.control
        ended = self._control_open and control.fileno() in ready
        if ended or self._channel.fileno() in ready:
            self._take_channel(_LAST_PIECES if ended else _CHANNEL_PIECES)
        for source in self._sources:
            if source.sink.fileno() in ready:
                source.sink.flush()
                source.notice()
            self._take_stream(source, _LAST_PIECES if ended else 1)
        if ended:
            self._take_control(control)

    def _take_stream(self, source: Source, pieces: int) -> None:
        while pieces and source.read():
            pieces -= 1

    def _undelivered(self) -> bool:
        """Whether a reader has still to take something; who cancelled does not wait for one.

        Behind the exit a stream that is empty has ended.
        """
        if self._cause_taken:
            return False
        for source in self._sources:
            self._take_stream(source, _LAST_PIECES)
        return any(source.sink.blocked for source in self._sources)

    # --- what can come, in its order ---

    def _take_cancel(self) -> None:
        cause = self.cancel.cause
        if cause is None or self._cause_taken:
            return
        self._cause_taken = True
        self._do(self.machine.cancelled(cause))

    def _take_deadline(self) -> None:
        if not self._cause_taken and time.monotonic() >= self.deadline_at:
            self.cancel.request("deadline")
            self._take_cancel()

    def _take_channel(self, pieces: int) -> None:
        self._channel.flush()
        while pieces and self._channel.hearing:
            events = self._channel.hear()
            if events is None:
                return
            for event in events:
                self._take_event(event)
            pieces -= 1

    def _take_event(self, event: Event) -> None:
        taken = _EVENTS.get(event.kind)
        if taken is not None:
            taken(self, event)

    def _on_confirm(self, event: Event) -> None:
        if self.machine.phase == "starting":
            self._do(self.machine.confirmed())

    def _on_operation(self, event: Event) -> None:
        # No facility is there yet: the extension is told, and decides. RK-CHAN-016
        self._channel.send({"type": "operation_result", "n": event.frame["n"], "status": "unavailable"})

    def _on_progress(self, event: Event) -> None:
        self.streams.progress(event.frame)

    def _on_completion(self, event: Event) -> None:
        """Report and result are judged on receipt, before anything is decided by them. RK-LIFE-014"""
        fault = None
        if "commandResult" in event.frame:
            fault = self._result_fault(event.frame["commandResult"])
        self._do(self.machine.completed(event.frame, fault))

    def _result_fault(self, result: Any) -> dict[str, str] | None:
        from rukh.contract.result_data import reason_of, validate_result
        from rukh.contract.result_tree import Limits

        try:
            if result is None:
                raise RukhError("RKR022", "commandResult is null", mend="leave it out to send none")
            validate_result(self.declared, result, limits=Limits(bytes=self.result_bytes))
        except RukhError as error:
            return _reason(reason_of(error), error)
        return None

    def _on_closed(self, event: Event) -> None:
        self._do(self.machine.closed())

    def _on_violation(self, event: Event) -> None:
        assert event.error is not None
        self._channel.hearing = False
        self._do(self.machine.failed(_reason("protocol_violation", event.error)))

    def _take_control(self, control: _socket.socket) -> None:
        """The supervisor's last word, or its end."""
        self._control_open = False
        try:
            word, *values = control.recv(_WORD_BYTES).decode().split()
        except (ConnectionError, ValueError):
            self._do(self.machine.lost())
            return
        if word == "failed":
            self.machine.failed(_start_fault(values[0], int(values[1])))
            self.machine.ended(None, 0, 0)
        else:
            status = None if values[0] == "-" else int(values[0])
            self.machine.ended(status, int(values[1]), int(values[2]))

    def _take_rungs(self, now: float) -> None:
        if self.machine.phase == "starting" and now >= self._start_end:
            self._do(self.machine.failed(reason("spawn_failed", _NOT_CONFIRMED)))
        while self._rungs and not self.machine.settled and now >= self._rungs[0][0]:
            self._do(self.machine.due(self._rungs.pop(0)[1]))

    # --- what is done ---

    def _do(self, action: str) -> None:
        if action == "execute":
            self._channel.send({"type": "execute", **self.execute})
        elif action in _COMMANDS:
            self._command(_COMMANDS[action])
        elif action:
            self._enter(action)

    def _enter(self, ladder: str) -> None:
        """Finalize by `ladder`, within the one budget. RK-LIFE-020"""
        now = time.monotonic()
        if not self._budget_end:
            self._budget_end = now + self.stop_seconds
        self._rungs = rungs(ladder, now, self._budget_end)
        if ladder == "ask" and self.cancel.cause is not None:
            self._channel.send({"type": "cancel", "cause": self.cancel.cause})
        self._take_rungs(now)

    def _command(self, command: bytes) -> None:
        try:
            self.session.control.send(command, _socket.MSG_NOSIGNAL)
        except ConnectionError:
            pass  # the supervisor is gone; its last word, or its end, can be read

    # --- what is waited for ---

    def _watch_all(self) -> None:
        settled = self.machine.settled
        self._watch(self.cancel.fileno(), 0 if self._cause_taken else select.POLLIN)
        for source in self._sources:
            reading = source.open and not source.sink.blocked and not settled
            self._watch(source.descriptor, select.POLLIN if reading else 0)
            if source.sink.fileno() >= 0:
                self._watch(source.sink.fileno(), select.POLLOUT if self._blocked(source) else 0)
        writing = select.POLLOUT if self._channel.unsaid else 0
        channel = (select.POLLIN | writing) if self._channel.hearing and not settled else 0
        self._watch(self._channel.fileno(), channel)
        self._watch(self.session.control.fileno(), select.POLLIN if self._control_open and not settled else 0)

    def _blocked(self, source: Source) -> bool:
        """Whether any stream waits for this source's sink; both may have the same."""
        return any(
            other.sink.blocked and other.sink.fileno() == source.sink.fileno() for other in self._sources
        )

    def _watch(self, descriptor: int, mask: int) -> None:
        """A mask of 0 takes the descriptor out: poll would report its hang-up for ever."""
        if self._watched.get(descriptor, 0) == mask:
            return
        self._watched[descriptor] = mask
        if mask:
            self._waiting.register(descriptor, mask)
        else:
            self._waiting.unregister(descriptor)

    def _timeout(self, now: float) -> int | None:
        """Milliseconds to the next thing that the clock brings, rounded up; None when there is none."""
        times = [] if self._cause_taken else [self.deadline_at]
        if self.machine.phase == "starting":
            times.append(self._start_end)
        if self._rungs and not self.machine.settled:
            times.append(self._rungs[0][0])
        if not times:
            return None
        return min(_LONGEST_WAIT_MS, int(max(0.0, min(times) - now) * 1000 + 1))


# What mends a program that was not executed, by the error number.
_UNSTARTED = {
    errno.ENOENT: "install the interpreter that its first line names, or ask its publisher for one that is here",
    errno.EACCES: "ask its publisher for a program that may be executed",
    errno.ENOEXEC: "ask its publisher for a first line that names an interpreter, or a build for this machine",
}
_EVENTS = {
    "confirm": _Call._on_confirm,
    "operation": _Call._on_operation,
    "progress": _Call._on_progress,
    "completion": _Call._on_completion,
    "closed": _Call._on_closed,
    "violation": _Call._on_violation,
}


def _reason(code: str, error: RukhError) -> dict[str, str]:
    """An outcome reason that names the rule."""
    return reason(code, f"{error.message} [{error.rule}]", error.place, error.mend)


def _start_fault(step: str, number: int) -> dict[str, str]:
    """Why a step of the start failed; a program that cannot be executed is named as its descriptor does. RK-EXEC-036"""
    place = "/execute/mapping/entry/0" if step == "exec" else ""
    mend = _UNSTARTED.get(number, "") if step == "exec" else ""
    message = f"{step}: {os.strerror(number)} [RKH003]"
    return reason(
        "spawn_failed", message, place, mend or "see the limits of this user and the home's storage"
    )
