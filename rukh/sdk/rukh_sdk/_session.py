"""The child's side of `rukh.channel/1`, and the one call that it serves.

1. The session is confirmed and the request is there before any line of the extension runs, its imports included. What
   it prints at import goes to the command's stdout: the channel is descriptor 3, and nothing it starts inherits it.
2. The function runs. Whatever it raises ends the command, never the session without a report.
3. Threads that are not daemons are waited for, exit handlers run, the streams are flushed: then the report is sent,
   the last thing the child says, and the process leaves at once. Taking the interpreter apart costs 1.6 ms and is of
   use to nobody. RK-SDK-003 RK-SDK-004 RK-SDK-005
"""

from __future__ import annotations

import os
import sys
from _thread import RLock

from . import Context, Failed
from ._json import decode, encode
from ._release import install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    Frame = dict[str, Any]

PROTOCOL = "rukh.channel/1"
_SDK = "rukh-sdk-python/1"
_CHANNEL, _TOKEN = 3, 4
_READ_BYTES = 65536
_FRAME_BYTES = 256 * 1024  # one frame with its LF
_MESSAGE_LENGTH = 4096  # code points
_LAST_EXIT_CODE = 63
_FAILED = 1
_HERE = os.path.dirname(__file__) + "/"


class Link:
    """The channel of this process. One thread at a time speaks or waits on it."""

    def __init__(self) -> None:
        self._buffer = b""
        self._cause = ""
        self._operations = 0
        self._lock = RLock()

    def open(self) -> Frame:
        """Confirm the session; the request. RK-CHAN-011"""
        try:
            os.set_inheritable(_CHANNEL, False)
            token = _read_all(_TOKEN)
        except OSError:
            sys.exit("this program is started by a host, which gives it descriptors 3 and 4")
        hello = self._next()
        if hello.get("protocol") != PROTOCOL:
            sys.exit(f"the host speaks {hello.get('protocol')!r}, this SDK {PROTOCOL}")
        self.send({"type": "confirm", "session": hello["session"], "token": token, "sdk": _SDK})
        request = self._next()
        if self._cause:
            os._exit(0)  # cancelled before anything was asked of the command
        return request

    def send(self, frame: Frame) -> None:
        """Say `frame`."""
        self.send_line(encode(frame).encode() + b"\n")

    def send_line(self, line: bytes) -> None:
        with self._lock:
            while line:
                line = line[os.write(_CHANNEL, line) :]

    def operation(self, operation: str, resource: str, input: Frame) -> Frame:
        """Ask, and wait for the answer."""
        with self._lock:
            self._operations += 1
            ask = {"type": "operation", "n": self._operations, "operation": operation}
            self.send({**ask, "resource": resource, "input": input})
            answer = self._next()
            while answer["type"] != "operation_result":
                answer = self._next()
            return answer

    def cancelled(self) -> bool:
        """Whether a cancel frame has come; never waits."""
        if not self._cause and self._lock.acquire(blocking=False):
            try:
                os.set_blocking(_CHANNEL, False)
                self._note(os.read(_CHANNEL, _READ_BYTES))
            except BlockingIOError:
                pass
            finally:
                os.set_blocking(_CHANNEL, True)
                self._lock.release()
        return bool(self._cause)

    def _note(self, data: bytes) -> None:
        """Outside an operation the host says nothing but `cancel`; the end of the channel asks for the same."""
        self._buffer += data
        if not data or b"\n" in self._buffer:
            self._cause = self._next()["cause"] if data else "scope_closed"

    def _next(self) -> Frame:
        """The next frame; a cancel frame is noted on its way. Without a host there is nobody left to serve."""
        while b"\n" not in self._buffer:
            data = os.read(_CHANNEL, _READ_BYTES)
            if not data:
                os._exit(_FAILED)
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        frame: Frame = decode(line.decode())
        if frame["type"] == "cancel":
            self._cause = frame["cause"]
        return frame


def serve(release: str, cache: str, entry: str) -> NoReturn:
    """Serve the one request of this process and leave with its exit status."""
    link = Link()
    request = link.open()
    if request["type"] != "execute":
        link.send(
            {"type": "completion", "status": "command_failed", "message": "there is no contextual help"}
        )
        os._exit(_FAILED)
    if sys.stdout is not None:
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # it is read by a person, if at all
    sys.argv = [entry]
    install(release, cache)
    line, status = _attempt(entry, Context(link, request["command"], request["supplied"]), request["inputs"])
    lost = _wind_up()
    if lost is not None and status == 0:
        line, status = _failure(lost)
    if len(line) > _FRAME_BYTES and sys.stderr is not None:
        print(
            f"the result makes a frame of {len(line)} bytes, the channel carries {_FRAME_BYTES}",
            file=sys.stderr,
        )
    link.send_line(line)
    os._exit(status)


def _attempt(entry: str, context: Context, inputs: Frame) -> tuple[bytes, int]:
    """The completion frame and the exit status."""
    try:
        function, kind = _bound(entry, context.command)
        try:
            return _completion("succeeded", kind, function(inputs, context)), 0
        except Failed as failure:
            more = {"exitCode": failure.exit_code, "message": _sayable(failure.message)}
            return _completion("command_failed", kind, failure.result, more), failure.exit_code
    except BaseException as error:  # the border to foreign code, which may raise anything. RK-SDK-004
        return _failure(error)


def _bound(entry: str, name: str) -> tuple[Any, str | None]:
    """The function of `entry` and its kind of result; raises LookupError where it is not bound to the command."""
    module, _, attribute = entry.partition(":")
    __import__(module)
    function = getattr(sys.modules[module], attribute)
    identifier, kind = getattr(function, "__rukh_command__", ("", None))
    if identifier != name.rpartition("/")[2]:
        raise LookupError(f"{entry} is not bound to the command {name}: decorate it with rukh_sdk.command")
    return function, kind


def _completion(status: str, kind: str | None, value: Any, more: Frame | None = None) -> bytes:
    frame: Frame = {"type": "completion", "status": status, **(more or {})}
    if value is not None and kind is not None:
        frame["commandResult"] = {"kind": kind, "text" if kind == "text" else "data": value}
    line: bytes = encode(frame).encode() + b"\n"
    return line


def _failure(error: BaseException) -> tuple[bytes, int]:
    """Print what was not caught, as the interpreter does, without the frames of the SDK in front."""
    status, message = _FAILED, f"{type(error).__name__}: {error}"
    if isinstance(error, SystemExit):
        status, message = _exit_status(error.code)
        if status == 0:
            return _completion("succeeded", None, None), 0
    else:
        if isinstance(error, BrokenPipeError) and _nobody_reads():
            _end_as_unread()
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_HERE):
            trace = trace.tb_next
        sys.__excepthook__(type(error), error.with_traceback(trace), trace)
    return _completion(
        "command_failed", None, None, {"exitCode": status, "message": _sayable(message)}
    ), status


def _nobody_reads() -> bool:
    """Whether standard output has lost its reader."""
    import select

    poll = select.poll()
    poll.register(1, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _end_as_unread() -> NoReturn:
    """End as a program without this SDK does whose output nobody reads: at once and quietly. RK-SDK-008"""
    import signal

    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGPIPE)
    os._exit(_FAILED)  # where the signal is held back


def _sayable(message: str) -> str:
    """A message as the channel carries it: it may hold anything, halves of characters and NUL too."""
    return message.encode(errors="replace").decode().replace("\0", "?")[:_MESSAGE_LENGTH]


def _exit_status(code: Any) -> tuple[int, str]:
    """What `sys.exit(code)` means: nothing is success, a text goes to stderr, a status out of range becomes 1."""
    if code is None:
        return 0, ""
    if isinstance(code, int):
        return (code if 0 <= code <= _LAST_EXIT_CODE else _FAILED), f"exit status {code}"
    print(code, file=sys.stderr)
    return _FAILED, str(code)


def _wind_up() -> OSError | None:
    """What the interpreter does before it goes: threads, exit handlers, streams. The error of a stream, if any."""
    threading: Any = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()
    import atexit

    atexit._run_exitfuncs()
    lost = None
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError as error:
            lost = error
    return lost


def _read_all(descriptor: int) -> str:
    """The text behind `descriptor` to its end, which is then closed."""
    parts = []
    while data := os.read(descriptor, _READ_BYTES):
        parts.append(data)
    os.close(descriptor)
    return b"".join(parts).decode()
