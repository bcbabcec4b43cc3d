"""Lines as no client writes them, between requests as every client does, through one production session. RK-MCP-045

    python -m tools.mutate_lines N [--seed S] [--workers W]

N lines are made from valid ones of MCP 2026-07-28 by the edits of `_EDITS`, of tokens first and of bytes then. After
each comes one valid request with an id of its own. The session gets them in pieces, reads ahead of a client that takes
its answers late, and has calls in flight meanwhile. Nothing is read, written, started or waited for: no descriptor, no
thread, no clock.

Every batch of lines depends on the seed and its number alone, so that a fault can be had again whatever the number of
workers. An independent reading of each line says which answer it may get:

    a valid request           one result, the same bytes as ever but for the id
    a line with an id         one answer with that id, or one without where the id is in flight, or none: cancelled
    a line without one        one answer without id, or none for what is never answered

and the types of the `mcp` package say whether it is a message of the protocol at all. Whoever runs this from Python may
give a judge of lines besides, which is asked about one answer of each form.

Between batches nothing may be left in the session, and no more memory may be held than after the first batches. Prints
one line; a fault shows the seed, the batch and its last line, and exits 1.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from mcp_types import jsonrpc_message_adapter
from mcp_types.methods import validate_server_result

from rukh.mcp.adapter import Adapter
from rukh.mcp.ports import Binding, Outcome, View
from rukh.mcp.session import Call, Session
from tools.lines import NUMBER_OF_KINDS, SILENT, WITHOUT_ID, expected_answer, known_request, mutated

_BATCH = 64
# Blocks that Python holds and bytes that the process has, above those after the warm-up: caches, never a share of N.
_MORE_BLOCKS = 3_000
_MORE_BYTES = 24 << 20
_WARM_UP = 50
_VERSION = "2026-07-28"
Judge = Callable[[bytes], Any]
# method: a member that only its result has
_RESULTS = {"server/discover": "supportedVersions", "tools/list": "tools", "tools/call": "content"}


class Fault(AssertionError):
    """The session did what it must not do."""


class Port:
    """A host in memory whose commands answer with their arguments."""

    def __init__(self) -> None:
        tail = '{"inputSchema":{"type":"object"},"title":"Line"}'
        tools = [(f"acme.lines/c{number:02d}", tail) for number in range(40)]
        self.launched: Callable[[], None] = lambda: None
        self._view = View("r1-0123456789abcdef", "acme.desk", tools, "v1")

    def view(self, endpoint: str, deadline_at: float) -> View:
        return self._view

    def new_cancel(self) -> Port:
        return self

    def request(self, cause: str) -> bool:
        return True

    def cursor_key(self) -> bytes:
        return b"k" * 32

    def invoke(self, view: View, identity: str, arguments: dict[str, Any], cancel: Any) -> Outcome:
        result = {"kind": "structured", "data": {"arguments": arguments}}
        document = {"commandResult": result, "invocationId": "inv_aaaaaaaaaaaaaaaaaaaaaaaaaa"}
        return Outcome({**document, "outcome": "succeeded"})


class Line:
    """One session, what is still to come of it, and the rule for each answer."""

    def __init__(self, judge: Judge = json.loads) -> None:
        self._ask = judge
        port = Port()
        binding = Binding("desk", "user:local", "agent:desk", "task_aaaaaaaaaaaaaaaaaaaaaaaaaa")
        self._adapter = Adapter(port, binding, name="rukh", version="0", clock=lambda: 0.0)
        self._session = Session(self._adapter, self._start)
        self._calls: list[Call] = []
        self._known: dict[str, int] = {}
        self._ids: Counter[tuple[type, Any]] = Counter()
        self._without_id = 0
        self._in_flight = 0
        self._cancels = 0
        self._number = 0
        self._forms: set[tuple[Any, ...]] = set()
        self.answers = 0
        self.names = self._first_names()
        self._results = [self._first_result(kind) for kind in range(NUMBER_OF_KINDS)]

    def _start(self, call: Call) -> bool:
        self._calls.append(call)
        return True

    def _first_names(self) -> list[str]:
        message, _ = known_request(0, "names", [""])
        self._session.receive(message, 0.0)
        return [tool["name"] for tool in json.loads(self._take())["result"]["tools"]]

    def _first_result(self, kind: int) -> bytes:
        """What a valid request of `kind` gets: judged once, by the package, and the same ever after."""
        message, method = known_request(kind, "first", self.names)
        self._session.receive(message, 0.0)
        self._finish(0)
        line = self._take()
        validate_server_result(method, _VERSION, json.loads(line)["result"])
        self._ask(line)
        return line.replace(b'"id":"first"', b'"id":""', 1)

    def begin(self, number: int) -> None:
        """Valid requests are numbered from here on."""
        self._number = number

    def step(self, random: Random, data: bytes) -> None:
        """A line, and a valid request behind it, arrive; some calls end, and the client reads or does not."""
        for part in data.split(b"\n"):
            self._expect(part)
        data += b"\n" + self._next_known(random)
        cut = random.randrange(len(data))
        self._session.receive(data[:cut], 0.0)
        self._session.receive(data[cut:], 0.0)
        self._finish(random.choice((0, 2, 6)))
        if random.random() < 0.8:
            self._read()

    def settle(self) -> None:
        """Everything that arrived is answered now, and nothing of it is kept."""
        while not self._session.idle:
            before = self.answers, len(self._calls)
            self._finish(0)
            self._read()
            if (self.answers, len(self._calls)) == before:
                raise Fault("the session waits for nothing")
        missing = self._ids.total() - self._in_flight
        if self._known or self._without_id or not 0 <= missing <= self._cancels:
            counts = f"{len(self._known)} known, {self._without_id} without id, {missing} with id"
            raise Fault(f"unanswered: {counts}, {self._cancels} cancelled at most")
        self._ids.clear()
        self._in_flight = self._cancels = 0

    def _next_known(self, random: Random) -> bytes:
        self._number += 1
        kind, identifier = random.randrange(NUMBER_OF_KINDS), f"known-{self._number}"
        self._known[identifier] = kind
        return known_request(kind, identifier, self.names)[0]

    def _expect(self, data: bytes) -> None:
        self._cancels += b"cancelled" in data or b"\\u" in data
        answer = expected_answer(data)
        if answer is WITHOUT_ID:
            self._without_id += 1
        elif answer is not SILENT:
            self._ids[type(answer), answer] += 1

    def _finish(self, leave: int) -> None:
        """Calls end, the oldest first, until `leave` are in flight."""
        while len(self._calls) > leave:
            call = self._calls.pop(0)
            call.line = self._adapter.invoke(call.resolved, call.cancel)
            self._session.finished(call, 0.0)

    def _take(self) -> bytes:
        data = bytes(self._session.queue.head(0.0))
        self._session.queue.wrote(len(data))
        self._session.pump(0.0)
        return data

    def _read(self) -> None:
        while len(self._session.queue):
            self._judge(self._take())

    def _judge(self, line: bytes) -> None:
        self.answers += 1
        if not line.endswith(b"\n") or line.count(b"\n") != 1:
            raise Fault(f"an answer is no line: {line[:200]!r}")
        message = json.loads(line)
        if message.get("id") in self._known:
            self._judge_known(message["id"], line)
            return
        self._judge_form(message, line)
        if "id" not in message:
            self._judge_without_id(message)
        else:
            self._judge_with_id(message["id"])

    def _judge_form(self, message: dict[str, Any], line: bytes) -> None:
        """By the package's types: every result, and one error of each form, since its texts change nothing there."""
        new = self._is_new(message)
        try:
            if "error" not in message:
                method = next(name for name, member in _RESULTS.items() if member in message["result"])
                validate_server_result(method, _VERSION, message["result"])
            elif new:
                jsonrpc_message_adapter.validate_python({"id": None, **message}, strict=True)
            if new:
                self._ask(line)
        except (AssertionError, KeyError, StopIteration, ValueError) as error:
            raise Fault(f"an answer is no message of the protocol: {message}") from error

    def _is_new(self, message: dict[str, Any]) -> bool:
        """Whether no answer of this form was seen before: its members and their types, and the code of an error."""
        body = message.get("error") or message["result"]
        members = [(name, type(value).__name__) for name, value in sorted(body.items())]
        inner = sorted(body.get("data", ()))
        form = (*sorted(message), body.get("code"), *members, *inner)
        new = form not in self._forms
        self._forms.add(form)
        return new

    def _judge_known(self, identifier: str, line: bytes) -> None:
        kind = self._known.pop(identifier)
        if line.replace(f'"id":"{identifier}"'.encode(), b'"id":""', 1) != self._results[kind]:
            raise Fault(f"a valid request got another answer: {line[:400]!r}")

    def _judge_with_id(self, identifier: Any) -> None:
        key = type(identifier), identifier
        if not self._ids[key]:
            raise Fault(f"an answer that nobody asked for: id {identifier!r}")
        self._ids[key] -= 1

    def _judge_without_id(self, message: dict[str, Any]) -> None:
        if message["error"]["data"]["code"] == "RKM005":
            self._in_flight += 1
            return
        self._without_id -= 1
        if self._without_id < 0:
            raise Fault(f"an answer without id although the id can be read: {message}")


class Memory:
    """What the process holds, against what it held after the warm-up."""

    def __init__(self) -> None:
        self._blocks, self._bytes = held()

    def check(self) -> tuple[int, int]:
        """Blocks and bytes above those of the warm-up. Raises Fault where it is more than a cache."""
        blocks, size = held()
        grown = blocks - self._blocks, size - self._bytes
        if grown[0] > _MORE_BLOCKS or grown[1] > _MORE_BYTES:
            raise Fault(f"memory grew by {grown[0]} blocks and {grown[1]} bytes")
        return grown


def held() -> tuple[int, int]:
    """Blocks that Python holds once rubbish is gone, and resident bytes."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return sys.getallocatedblocks(), pages * 4096


def run_batches(seed: int, first: int, lines: int, judge: Judge = json.loads) -> tuple[int, int]:
    """`lines` lines from batch `first` on, through one session; answers, and blocks above the warm-up's.

    Raises Fault, with the seed, the batch and its last line as a note; so does whatever the session itself raises.
    """
    talk, memory, data, fine, grown = Line(judge), None, b"", False, 0
    batch = first
    try:
        for batch in range(first, first + -(-lines // _BATCH)):
            random = Random((seed << 32) + batch)
            talk.begin(batch * _BATCH)
            for _ in range(min(_BATCH, lines - (batch - first) * _BATCH)):
                data = mutated(random, talk.names)
                talk.step(random, data)
            talk.settle()
            if batch - first == _WARM_UP:
                memory = Memory()
        grown = memory.check()[0] if memory else 0
        fine = True
    finally:
        if not fine:
            show(seed, batch, data)
    return talk.answers, grown


def show(seed: int, batch: int, data: bytes) -> None:
    """Say on standard error how to have a fault again."""
    print(f"seed {seed}, batch {batch} of {_BATCH} lines, the last line:\n{data[:4000]!r}", file=sys.stderr)


def run(lines: int, seed: int, workers: int = 1, judge: Judge = json.loads) -> tuple[int, int]:
    """All lines, on `workers` processes; answers, and the most blocks that one held above its warm-up's.

    `judge` is given one line of each form that is answered, and raises what it has against it.
    """
    share = -(-lines // (_BATCH * workers)) * _BATCH
    parts = [(seed, start // _BATCH, min(share, lines - start), judge) for start in range(0, lines, share)]
    if workers == 1:
        done = [run_batches(*part) for part in parts]
    else:
        with multiprocessing.get_context("spawn").Pool(workers) as pool:
            done = pool.starmap(run_batches, parts)
    return sum(answers for answers, _ in done), max(grown for _, grown in done)


def main(arguments: list[str] | None = None, clock: Callable[[], float] = time.monotonic) -> int:
    """Run and print one line; 1 for a fault."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutate_lines", description=__doc__.split("\n")[0])
    parser.add_argument("lines", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args(arguments)
    begun = clock()
    try:
        answers, blocks = run(options.lines, options.seed, options.workers)
    except Fault as fault:
        print(f"fault: {fault}")
        return 1
    taken = f"{clock() - begun:.0f} s, {blocks} blocks more than after the warm-up"
    print(
        f"{options.lines} lines and as many valid requests, seed {options.seed}: {answers} answers, {taken}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
