"""The bare child: started, fed and reaped with nothing around it, and what two commits cost alone.

The child is the one that Rukh starts for the same command, by the same argument vector and environment. Around it
stands the least that its channel needs: descriptor 3 the channel, descriptor 4 the token, then hello, confirm, execute
and completion. No validation, no supervision, no cleanup, no record.
"""

from __future__ import annotations

import json
import os
import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

TOKEN = "0123456789abcdef0123456789abcdef"
SESSION = "fedcba9876543210fedcba9876543210"


def start(argv: Sequence[str], env: Mapping[str, str]) -> tuple[int, socket.socket]:
    """Spawn the child with its descriptors in place; its process id and our end of the channel."""
    ours, theirs = socket.socketpair()
    token, token_end = os.pipe()
    os.write(token_end, TOKEN.encode())
    os.close(token_end)
    null = os.open(os.devnull, os.O_RDWR)
    # Moved out of the way first: a source that stands on 0 to 4 would be overwritten before it is placed.
    sources = [null, null, null, theirs.fileno(), token]
    moves = [(os.POSIX_SPAWN_DUP2, source, 100 + place) for place, source in enumerate(sources)]
    places = [(os.POSIX_SPAWN_DUP2, 100 + place, place) for place in range(5)]
    closes = [(os.POSIX_SPAWN_CLOSE, 100 + place) for place in range(5)]
    process = os.posix_spawn(argv[0], list(argv), dict(env), file_actions=[*moves, *places, *closes])
    theirs.close()
    os.close(token)
    os.close(null)
    return process, ours


def call(argv: Sequence[str], env: Mapping[str, str], execute: Mapping[str, Any]) -> dict[str, Any]:
    """One call of the bare child, reaped; its completion frame."""
    process, channel = start(argv, env)
    with channel, channel.makefile("rwb") as stream:
        _send(stream, {"type": "hello", "protocol": "rukh.channel/1", "session": SESSION})
        confirm = json.loads(stream.readline())
        if confirm["token"] != TOKEN:
            raise SystemExit("the child did not confirm its session")
        _send(stream, {"type": "execute", **execute})
        completion: dict[str, Any] = json.loads(stream.readline())
        stream.read()
    os.waitpid(process, 0)
    return completion


def _send(stream: Any, frame: Mapping[str, Any]) -> None:
    stream.write(json.dumps(frame).encode() + b"\n")
    stream.flush()


class Ledger:
    """Two bare commits of the durability class of a call without effects: WAL with `synchronous=NORMAL`."""

    def __init__(self, path: str) -> None:
        import apsw

        self._connection = apsw.Connection(path)
        for statement in (
            "PRAGMA journal_mode=WAL",
            "PRAGMA synchronous=NORMAL",
            "PRAGMA wal_autocheckpoint=0",
        ):
            self._connection.execute(statement).fetchall()
        self._connection.execute(
            "CREATE TABLE calls (id INTEGER PRIMARY KEY, state TEXT, document TEXT) STRICT"
        )
        self._next = 0

    def commit_two(self, document: str) -> None:
        """One row captured, then finished: two transactions, as two connections of a call would make them."""
        self._next += 1
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("INSERT INTO calls VALUES (?, 'running', '')", (self._next,))
        self._connection.execute("COMMIT")
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute(
            "UPDATE calls SET state = 'finished', document = ? WHERE id = ?", (document, self._next)
        )
        self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()
