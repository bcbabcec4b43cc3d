"""What the host and one child say to each other: frames of the channel's machine in, bytes of its socket out.

Nothing here waits. What the child does not take at once is kept and said when the socket takes more; what it says is
handed on piece by piece, so that the loop of the call can look at other things in between. RK-EXEC-033

Once the session is over, by its end or by a violation, nothing more is said and nothing more is heard. RK-CHAN-023
"""

from __future__ import annotations

import _socket

from rukh.host.streams import READ_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rukh.machines.channel import Event, HostChannel


class Conversation:
    """The channel of one call. `hearing` until the child has left or broke a rule."""

    __slots__ = ("_machine", "_output", "_socket", "hearing")

    def __init__(self, socket: _socket.socket, machine: HostChannel) -> None:
        self._socket = socket
        self._machine = machine
        self._output = b""
        self.hearing = True

    @property
    def unsaid(self) -> bool:
        """Whether bytes are held until the child takes them."""
        return self._output != b""

    def fileno(self) -> int:
        """Readable when the child said something, writable when it takes more."""
        return self._socket.fileno()

    def greet(self) -> None:
        """Say the greeting."""
        self._say(self._machine.hello())

    def send(self, frame: dict[str, Any]) -> None:
        """Say it, unless the session is over: one read may bring a frame and the violation behind it. RK-CHAN-023"""
        if not self._machine.over:
            self._say(self._machine.send(frame))

    def flush(self) -> None:
        """Say what the child takes now of what is held."""
        if self._output:
            self._say(b"")

    def hear(self) -> list[Event] | None:
        """The events of one read; None when there is nothing to read now."""
        try:
            data = self._socket.recv(READ_BYTES)
        except BlockingIOError:
            return None
        except ConnectionError:
            data = b""  # it left without reading all that we said
        self.hearing = data != b""
        return self._machine.receive(data)

    def _say(self, data: bytes) -> None:
        self._output += data
        try:
            while self._output:
                sent = self._socket.send(self._output, _socket.MSG_NOSIGNAL)
                self._output = self._output[sent:]
        except BlockingIOError:
            pass
        except ConnectionError:
            self._output = b""  # nobody listens any more; that it left is said by the channel's end
