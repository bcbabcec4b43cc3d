#!/usr/bin/env -S python3 -I -S
"""The program that speaks `rukh.channel/1` for a script of the shell: vendor it into the release as `lib/rukh-sh`.

    "entry": ["lib/rukh-sh", "bin/greet"]        in the descriptor, with the runtime kind `native`

It takes the session, lays the inputs out as files, runs `/bin/sh bin/greet` as its only child, and reports what the
script has left behind and how it ended. The script never holds the channel, so that nothing it starts does. Needs
Python 3.9 or newer at `/usr/local/bin` or `/usr/bin`, and nothing but its standard library. RK-AUTHOR-020

Between this program and `lib/rukh.sh`, which the script sources, stands one directory, `$RUKH_SH`, inside of the
private working directory of the call:

    in/ID            the value of an input: text as it is, a number as its shortest token, true or false
    in/ID/1, 2, …    the items of a list
    supplied/ID      there when the caller gave the input
    cancelled        there when the host has asked for an end
    text, json, fields, failed
                     written by the script: its result in one of three forms, its failure

and one pipe, descriptor 3 of the script, for lines of progress: `NUMBER TAB TOTAL TAB MESSAGE`.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    Frame = dict[str, Any]

PROTOCOL = "rukh.channel/1"
NAME = "rukh-sdk-sh/1"
CHANNEL, TOKEN = 3, 4
SHELL = "/bin/sh"
FRAME_BYTES = 256 * 1024  # one frame with its LF
MESSAGE_LENGTH = 4096  # code points
LARGEST = 2**53 - 1
LAST_EXIT_CODE = 63
FAILED = 1
IDENTIFIER = re.compile("[a-z][a-z0-9_]{0,47}")
INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
TYPES = ("string", "boolean", "integer", "number", "decimal", "list")
# Which frames of the host may come, and their members.
MEMBERS = {
    "hello": {"protocol", "session"},
    "execute": {"command", "inputs", "supplied"},
    "describe": {"command", "path"},
    "cancel": {"cause"},
}


class Wrong(Exception):
    """What the script has left behind is no result: the command has failed, and stderr says why."""


# JSON, strictly.


def read_json(data: bytes) -> Any:
    """The value in `data`; raises ValueError for whatever is not strict JSON within 2^53-1."""
    try:
        return json.loads(
            data.decode(),
            object_pairs_hook=_once,
            parse_int=_exact,
            parse_float=_finite,
            parse_constant=_refuse,
        )
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _once(pairs: list[tuple[str, Any]]) -> Frame:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is named twice")
    return members


def _exact(token: str) -> int | float:
    """An integer within 2^53-1; beyond it a number that is written as RFC 8785 writes that number, and no other."""
    if len(token) <= 17 and abs(int(token)) <= LARGEST:
        return int(token)
    if len(token) > 22 or _plain(float(token)) != token:
        raise ValueError(f"the integer {token[:40]} lies beyond 2^53-1")
    return float(token)


def _plain(number: float) -> str:
    """A whole number below 10^21 with its shortest digits and zeros behind them."""
    mantissa, _, exponent = repr(number).removesuffix(".0").partition("e")
    whole, _, fraction = mantissa.partition(".")
    return whole + fraction + "0" * (int(exponent or 0) - len(fraction))


def _finite(token: str) -> float:
    number = float(token)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {token[:40]} is too large")
    if number == 0 and token.lower().partition("e")[0].strip("-0.") != "":
        raise ValueError(f"the number {token[:40]} is too small")
    return number


def _refuse(token: str) -> NoReturn:
    raise ValueError(f"{token} is no JSON")


def write_json(value: Any) -> bytes:
    """One line; raises ValueError for what JSON does not have, halves of characters too."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


# The channel.


class Channel:
    """The child's end. Whatever the host says against the protocol ends this program, for there is no host then."""

    def __init__(self) -> None:
        self.buffer = b""
        self.open = True

    def take_session(self) -> Frame | None:
        """Confirm, and give the request; None when the call is cancelled before it was made."""
        try:
            os.set_inheritable(CHANNEL, False)
            token = read_all(TOKEN)
        except OSError:
            give_up("this program is started by a host, which gives it descriptors 3 and 4")
        hello = self.next("hello")
        if hello["protocol"] != PROTOCOL:
            give_up(f"the host speaks {hello['protocol']!r}, this program {PROTOCOL}")
        self.say({"type": "confirm", "session": hello["session"], "token": token.decode(), "sdk": NAME})
        request = self.next("execute", "describe", "cancel")
        return None if request["type"] == "cancel" else request

    def next(self, *types: str) -> Frame:
        """The next frame, which must be one of `types`."""
        while b"\n" not in self.buffer:
            if not self.read():
                give_up("the host has gone")
        frame = self.frame()
        if frame["type"] not in types:
            give_up(f"{frame['type']} stands where {' or '.join(types)} belongs")
        return frame

    def read(self) -> bool:
        """Take what there is; false at the end of the channel."""
        try:
            data = os.read(CHANNEL, 65536)
        except ConnectionError:
            data = b""
        self.open = data != b""
        self.buffer += data
        if self.buffer.find(b"\n", 0, FRAME_BYTES) < 0 and len(self.buffer) >= FRAME_BYTES:
            give_up("a frame of the host is too large")
        return self.open

    def frame(self) -> Frame:
        """The frame in front of the buffer."""
        line, _, self.buffer = self.buffer.partition(b"\n")
        try:
            frame = read_json(line)
        except ValueError as error:
            give_up(f"the host's line is no JSON: {error}")
        kind = frame.get("type") if isinstance(frame, dict) else None
        if not isinstance(kind, str) or set(frame) - {"type"} != MEMBERS.get(kind):
            give_up("the host's frame is not as the protocol has it")
        found: Frame = frame
        return found

    def say(self, frame: Frame) -> None:
        """Send one frame; a host that is gone hears nothing."""
        line = write_json(frame)
        try:
            while line:
                line = line[os.write(CHANNEL, line) :]
        except ConnectionError:
            pass


def read_all(descriptor: int) -> bytes:
    """What stands behind `descriptor`, which is then closed."""
    parts = []
    while data := os.read(descriptor, 65536):
        parts.append(data)
    os.close(descriptor)
    return b"".join(parts)


def give_up(message: str) -> NoReturn:
    """There is nobody to report to."""
    print(f"rukh-sh: {message}", file=sys.stderr, flush=True)
    os._exit(FAILED)


# What the script is given.


def lay_out(place: str, request: Frame) -> None:
    """Write the inputs below `place`."""
    for name in ("in", "supplied"):
        os.makedirs(f"{place}/{name}")
    for identifier in (*request["inputs"], *request["supplied"]):
        if not IDENTIFIER.fullmatch(identifier):
            give_up(f"{identifier!r} is no id of a parameter")
    for identifier, value in request["inputs"].items():
        if isinstance(value, list):
            os.mkdir(f"{place}/in/{identifier}")
            for number, item in enumerate(value, 1):
                write_file(f"{place}/in/{identifier}/{number}", spelled(item))
        else:
            write_file(f"{place}/in/{identifier}", spelled(value))
    for identifier in request["supplied"]:
        write_file(f"{place}/supplied/{identifier}", b"")


def spelled(value: Any) -> bytes:
    """A scalar as the script reads it."""
    return value.encode() if isinstance(value, str) else write_json(value)[:-1]


def write_file(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def start(script: str, arguments: list[str], place: str) -> tuple[int, int]:
    """Run the script; its process and the descriptor where its progress can be read."""
    reader, writer = os.pipe()
    process = os.posix_spawn(
        SHELL,
        [SHELL, script, *arguments],
        {**os.environ, "RUKH_SH": place},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, writer, CHANNEL)
        ],  # a descriptor of this process closes by itself
        setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # which an interpreter ignores
    )
    os.close(writer)
    return process, reader


# While it runs.


class Watch:
    """Waits for the script's end, and in between for the host and for progress."""

    def __init__(self, channel: Channel, process: int, progress: int, place: str) -> None:
        self.channel = channel
        self.process = process
        self.progress = progress
        self.place = place
        self.lines = b""
        self.waiting = select.poll()

    def status(self) -> int:
        """How the script ended, as `waitpid` has it."""
        ended = os.pidfd_open(self.process)
        for descriptor in (ended, CHANNEL, self.progress):
            self.waiting.register(descriptor, select.POLLIN)
        self.take_frames()
        while True:
            ready = {descriptor for descriptor, _ in self.waiting.poll()}
            if self.progress in ready:
                self.take_progress()
            if CHANNEL in ready:
                self.take_host()
            if ended in ready:
                os.set_blocking(self.progress, False)
                self.take_progress(last=True)
                return os.waitpid(self.process, 0)[1]

    def take_host(self) -> None:
        """A cancellation, or the end of the host, which asks for the same."""
        if not self.channel.read():
            self.waiting.unregister(CHANNEL)
            write_file(f"{self.place}/cancelled", b"")
        self.take_frames()

    def take_frames(self) -> None:
        while b"\n" in self.channel.buffer:
            if self.channel.frame()["type"] != "cancel":
                give_up("the host said something else than cancel")
            write_file(f"{self.place}/cancelled", b"")

    def take_progress(self, last: bool = False) -> None:
        """Pass on the lines of one piece; of all that is there behind the script's end."""
        data = b"-"
        try:
            while data and (last or data == b"-"):
                data = os.read(self.progress, 65536)
                self.lines += data
        except BlockingIOError:
            pass
        if not data and not last:
            self.waiting.unregister(self.progress)
        *whole, self.lines = self.lines.split(b"\n")
        for line in whole:
            self.pass_on(line)

    def pass_on(self, line: bytes) -> None:
        """One line of progress as a frame; what is no number is told on stderr."""
        words = line.decode(errors="replace").replace("\0", "\ufffd").split("\t", 2)
        frame: Frame = {"type": "progress"}
        try:
            frame["progress"] = typed("number", words[0])
            if words[1:2] not in ([], [""]):
                frame["total"] = typed("number", words[1])
        except ValueError as error:
            print(f"rukh-sh: progress: {error}", file=sys.stderr)
            return
        if words[2:] not in ([], [""]):
            frame["message"] = words[2][:MESSAGE_LENGTH]
        self.channel.say(frame)


# What the script has left behind.


def result_in(place: str) -> Frame | None:
    """The command result that the script wrote, or None; raises Wrong."""
    made = [name for name in ("text", "json", "fields") if os.path.exists(f"{place}/{name}")]
    if not made:
        return None
    with open(f"{place}/{made[-1]}", "rb") as file:
        data = file.read(FRAME_BYTES + 1)
    if len(data) > FRAME_BYTES:
        raise Wrong(f"the result is larger than a frame of {FRAME_BYTES} bytes")
    try:
        if made[-1] == "text":
            return {"kind": "text", "text": text_of(data)}
        value = read_json(data) if made[-1] == "json" else fields_of(data)
        write_json(value)  # half a character can be read and not be written
        return {"kind": "structured", "data": value}
    except ValueError as error:
        raise Wrong(f"the result is not as it is said to be: {error}") from None


def text_of(data: bytes) -> str:
    """UTF-8 without NUL."""
    text = data.decode()
    if "\0" in text:
        raise ValueError("NUL stands in a text")
    return text


def fields_of(data: bytes) -> Frame:
    """The object of `NAME:TYPE=VALUE` words, each ended by NUL."""
    members: Frame = {}
    for word in data.decode().split("\0")[:-1]:
        name, colon, rest = word.partition(":")
        kind, equals, value = rest.partition("=")
        adds = name.endswith("+")
        name = name[:-1] if adds else name
        if not colon or not (equals or kind == "list"):
            raise ValueError(f"{word!r} is not NAME:TYPE=VALUE")
        if kind == "list":
            members[name] = []
        elif adds and isinstance(members.setdefault(name, []), list):
            members[name].append(typed(kind, value))
        elif name in members:
            raise ValueError(f"{name} is given twice")
        else:
            members[name] = typed(kind, value)
    return members


def typed(kind: str, value: str) -> Any:
    """`value` as its type says; raises ValueError."""
    if kind == "string":
        return value
    if kind == "boolean" and value in ("true", "false"):
        return value == "true"
    if kind == "integer" and INTEGER.fullmatch(value) and isinstance(_exact(value), int):
        return int(value)
    if kind == "number" and NUMBER.fullmatch(value):
        return _finite(value) if re.search("[.eE]", value) else _exact(value)
    if kind == "decimal" and DECIMAL.fullmatch(value):
        return value
    if kind in TYPES:
        raise ValueError(f"{value!r} is no {kind}")
    raise ValueError(f"{kind!r} is none of {', '.join(TYPES)}")


def outcome(place: str, code: int) -> tuple[Frame, int]:
    """The completion for a script that ended with `code`, and the status to leave with."""
    try:
        result = result_in(place)
    except Wrong as wrong:
        print(f"rukh-sh: {wrong}", file=sys.stderr)
        return completion(FAILED, str(wrong), None)
    if os.path.exists(f"{place}/failed"):
        with open(f"{place}/failed", "rb") as file:
            said, _, message = file.read().decode(errors="replace").partition("\n")
        return completion(int(said), message, result)
    if code == 0:
        return completion(0, "", result)
    return completion(code if code <= LAST_EXIT_CODE else FAILED, f"exit status {code}", None)


def completion(status: int, message: str, result: Frame | None) -> tuple[Frame, int]:
    frame: Frame = {"type": "completion", "status": "command_failed" if status else "succeeded"}
    if status:
        frame.update(exitCode=status, message=message[:MESSAGE_LENGTH].replace("\0", "\ufffd"))
    if result is not None:
        frame["commandResult"] = result
    return frame, status


def main(script: str, arguments: list[str]) -> int:
    """Serve the one request of this process."""
    channel = Channel()
    request = channel.take_session()
    if request is None:
        return 0
    if request["type"] == "describe":
        frame, status = completion(FAILED, "there is no contextual help", None)
        channel.say(frame)
        return status
    place = f"{os.getcwd()}/.rukh"
    lay_out(place, request)
    release = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    process, progress = start(os.path.join(release, script), arguments, place)
    code = os.waitstatus_to_exitcode(Watch(channel, process, progress, place).status())
    if code < 0:
        end_by(-code)
    frame, status = outcome(place, code)
    channel.say(frame)
    return status


def end_by(number: int) -> None:
    """End as the script was ended, and report nothing: a signal is no outcome that a command knows of."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        give_up('the entry names no script: ["lib/rukh-sh", "bin/script"]')
    leave_with = main(sys.argv[1], sys.argv[2:])
    sys.stderr.flush()
    os._exit(leave_with)
