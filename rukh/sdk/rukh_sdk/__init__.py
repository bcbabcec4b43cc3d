"""What a Rukh extension in Python imports.

    import rukh_sdk

    @rukh_sdk.command("add")
    def add(inputs, context):
        return {"number": 4, "title": inputs["title"]}

The function gets the inputs by parameter id, with defaults applied (an optional parameter without default is absent
when it was not supplied), and a `Context`. It returns the data that the descriptor declares, or raises `Failed`. What
it prints goes to the command's own output and is never the result. An exception that it does not catch is printed on
stderr, and the command has failed with exit status 1.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from ._session import Link

    Function = TypeVar("Function", bound=Callable[..., Any])

__all__ = ["Answer", "Context", "Failed", "command"]

_RESULTS = ("structured", "text", None)
_LAST_EXIT_CODE = 63


def command(identifier: str, *, result: str | None = "structured") -> Callable[[Function], Function]:
    """Bind a function to the command `identifier` of the descriptor.

    `result` repeats what the descriptor declares: `"structured"` (the function returns the data), `"text"` (it
    returns a string) or None. A function that returns None gives no result. RK-SDK-002
    """
    if result not in _RESULTS:
        raise ValueError(f"a result is one of {_RESULTS}, not {result!r}")

    def bind(function: Function) -> Function:
        function.__rukh_command__ = (identifier, result)  # type: ignore[attr-defined]  # a mark on the author's function
        return function

    return bind


class Failed(Exception):
    """The command has failed in a way it knows: `exit_code` is 1 to 63, `result` an optional declared result."""

    def __init__(self, message: str, exit_code: int = 1, *, result: Any = None) -> None:
        super().__init__(message)
        if not 1 <= exit_code <= _LAST_EXIT_CODE:
            raise ValueError(f"an exit code is 1 to {_LAST_EXIT_CODE}, not {exit_code}")
        self.message = message
        self.exit_code = exit_code
        self.result = result


class Answer:
    """What became of an operation: `status` is done, denied, unavailable, refused, uncertain or failed.

    `data` is what it gave, `reason` an object that says why it was not done. Only `done` is true.
    """

    __slots__ = ("data", "reason", "status")

    def __init__(self, status: str, data: Any = None, reason: dict[str, Any] | None = None) -> None:
        self.status = status
        self.data = data
        self.reason = reason

    def __bool__(self) -> bool:
        return self.status == "done"


class Context:
    """The call: `command` as the host named it, `supplied` the parameter ids that the caller gave."""

    __slots__ = ("_link", "command", "supplied")

    def __init__(self, link: Link, name: str, supplied: list[str]) -> None:
        self._link = link
        self.command = name
        self.supplied = frozenset(supplied)

    @property
    def cancelled(self) -> bool:
        """Whether the host has asked for an end. A command that looks here ends well; one that does not is ended."""
        return self._link.cancelled()

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the work is. It is shown to a person or to nobody, and never prolongs a deadline."""
        frame = {"type": "progress", "progress": progress, "total": total, "message": message}
        self._link.send({name: value for name, value in frame.items() if value is not None})

    def operation(self, operation: str, resource: str, input: dict[str, Any]) -> Answer:
        """Ask the host to act, such as `files.write/1` on a declared resource; blocks until it has answered."""
        answer = self._link.operation(operation, resource, input)
        return Answer(answer["status"], answer.get("data"), answer.get("reason"))
