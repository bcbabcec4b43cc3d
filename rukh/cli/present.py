"""What a finished call and a refusal look like: readable for people, one JSON document for programs. RK-CLI-060

- A result in words is for people: text as it is, objects as `name: value` with the values aligned, a list of flat
  objects as a table, anything deeper indented. It is not meant to be parsed; `--json` is.
- A document for programs is canonical JSON and one LF. A failure is one object, and its members say which kind it is:
  `outcome`, `reason` and `invocationId` where a call had begun, `error` where none had.
- Whoever wrote a text, it is made printable before it is laid out. RK-CLI-070
"""

from __future__ import annotations

from rukh.cli.text import columns, pad, printable
from rukh.values.canonical import canonical, canonical_bytes
from rukh.values.registry import (
    EXIT_CALLER_CANCELLED,
    EXIT_COMMAND_FAILED,
    EXIT_EXECUTION_FAILED,
    EXIT_REJECTED,
    EXIT_SUCCEEDED,
    REASON_EXITS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rukh.values.errors import RukhError

# The statuses that a command may choose for its own failures; the rest of the byte is the core's.
_OWN_STATUSES = range(1, 64)
# For an outcome whose reason is not known here: the general status of its class.
_OUTCOME_EXITS = {
    "rejected": EXIT_REJECTED,
    "execution_failed": EXIT_EXECUTION_FAILED,
    "cancelled": EXIT_CALLER_CANCELLED,
}
_INDENT = "  "


def exit_code(
    outcome: str,
    reason: dict[str, Any] | None,
    command_exit: int | None,
    status: Callable[[int], int] = int,
) -> int:
    """The process status of an outcome; `command_exit` is the status that the command itself declared, `status` the
    application's number for a class. RK-CLI-064 RK-CLI-080"""
    if outcome == "succeeded":
        return EXIT_SUCCEEDED
    if outcome != "command_failed":
        return status(REASON_EXITS.get(reason["code"] if reason else "", _OUTCOME_EXITS[outcome]))
    if command_exit is not None and command_exit in _OWN_STATUSES:
        return command_exit
    return status(EXIT_COMMAND_FAILED)


def json_document(value: Any) -> bytes:
    """One document for a program: canonical JSON and LF. RK-CLI-061"""
    return canonical_bytes(value) + b"\n"


def result_json(command_result: dict[str, Any]) -> bytes:
    """What `--json` prints of a commandResult: the structured data, or the text as a JSON string."""
    return json_document(command_result["text" if command_result["kind"] == "text" else "data"])


def result_text(command_result: dict[str, Any]) -> str:
    """What a person reads of a commandResult; empty for empty text, otherwise ended by a newline. RK-CLI-060"""
    if command_result["kind"] == "text":
        text = printable(command_result["text"], multiline=True)
        return text if text.endswith("\n") or not text else text + "\n"
    return "\n".join(_block(command_result["data"])) + "\n"


def failure_text(
    app_name: str,
    outcome: str,
    reason: dict[str, Any],
    invocation_id: str,
    alarm: Callable[[str], str] = str,
) -> str:
    """An outcome other than succeeded, for a person: the message, then what to look at and what to do.

    `alarm` shows the word in front.
    """
    details = [
        ("place", reason.get("place", "")),
        ("mend", reason.get("mend", "")),
        ("outcome", f"{outcome} ({reason['code']})"),
        ("invocation", invocation_id),
    ]
    return _notice(alarm(f"{app_name}:"), reason["message"], details)


def failure_json(outcome: str, reason: dict[str, Any], invocation_id: str) -> bytes:
    """The same for a program: `{"invocationId","outcome","reason"}`. RK-CLI-062"""
    return json_document({"invocationId": invocation_id, "outcome": outcome, "reason": reason})


def error_text(app_name: str, error: RukhError, alarm: Callable[[str], str] = str) -> str:
    """A refusal before any call began, for a person; `alarm` shows the word in front."""
    place = error.place
    if error.line:
        place = f"{place} (line {error.line}, column {error.column})".lstrip()
    details = [("place", place), ("mend", error.mend), ("rule", error.rule)]
    return _notice(alarm(f"{app_name}:"), error.message, details)


def error_json(error: RukhError) -> bytes:
    """The same for a program: `{"error":{"code","message","place"?,"mend"?,"line"?,"column"?}}`. RK-CLI-063"""
    return json_document({"error": _sayable(error.document())})


def _sayable(document: dict[str, Any]) -> dict[str, Any]:
    """A refusal may repeat a path of the environment, which need not be UTF-8: such a byte is told as an escape."""
    return {
        name: value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
        for name, value in document.items()
    }


def _notice(front: str, message: str, details: list[tuple[str, str]]) -> str:
    # A further line of the message is marked, so that it cannot pose as one of the details below it.
    lines = [f"{front} " + printable(message, multiline=True).replace("\n", "\n  | ")]
    rows = [(name, printable(text)) for name, text in details if text]
    return "\n".join(lines + [_INDENT + line for line in _aligned(rows)]) + "\n"


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    width = max((columns(name) for name, _ in rows), default=0) + 1
    return [f"{pad(name + ':', width)} {text}" for name, text in rows]


def _block(value: Any) -> list[str]:
    """A value as lines."""
    if isinstance(value, dict) and value:
        return _object_lines(value)
    if isinstance(value, list) and value:
        return _table(value) if all(_is_flat(item) for item in value) else _list_lines(value)
    return _scalar(value).split("\n")


def _scalar(value: Any) -> str:
    """A value without members; an empty string is shown by its quotes."""
    if isinstance(value, str):
        return printable(value, multiline=True) if value else '""'
    return canonical(value)


def _is_flat(value: Any) -> bool:
    """Whether this is an object of scalars on one line each: a row of a table."""
    return isinstance(value, dict) and bool(value) and all(_on_one_line(member) for member in value.values())


def _on_one_line(value: Any) -> bool:
    return not isinstance(value, (dict, list)) and not (isinstance(value, str) and "\n" in value)


def _object_lines(value: dict[str, Any]) -> list[str]:
    names = {name: printable(name) + ":" for name in value}
    width = max((columns(names[name]) for name, member in value.items() if _stands_beside(member)), default=0)
    lines: list[str] = []
    for name, member in value.items():
        if _stands_beside(member):
            lines.append(f"{pad(names[name], width)} {_scalar(member)}")
        else:
            lines += [names[name], *(_INDENT + line for line in _block(member))]
    return lines


def _stands_beside(value: Any) -> bool:
    """Whether a value fits behind its name; empty objects and lists do."""
    return _on_one_line(value) or value in ({}, [])


def _list_lines(value: list[Any]) -> list[str]:
    lines: list[str] = []
    for item in value:
        first, *further = _block(item)
        lines += [f"- {first}", *(_INDENT + line for line in further)]
    return lines


def _table(rows: list[dict[str, Any]]) -> list[str]:
    """Flat objects as rows under their names, in order of first appearance; numbers at the right edge."""
    names = list({name: None for row in rows for name in row})
    columns_of_text = []
    for name in names:
        present = [row[name] for row in rows if name in row]
        cells = [_cell(row[name]) if name in row else "" for row in rows]
        right = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in present)
        columns_of_text.append(_column([printable(name), *cells], right))
    return ["  ".join(cells).rstrip(" ") for cells in zip(*columns_of_text, strict=True)]


def _cell(value: Any) -> str:
    return printable(_scalar(value))


def _column(cells: list[str], right: bool) -> list[str]:
    width = max(columns(cell) for cell in cells)
    return [pad(cell, width, right) for cell in cells]
