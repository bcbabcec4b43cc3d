"""Where things are shown: results on standard output, everything else on standard error. RK-CLI-065"""

from __future__ import annotations

import os

from rukh.cli.present import (
    error_json,
    error_text,
    exit_code,
    failure_json,
    failure_text,
    json_document,
    result_json,
    result_text,
)
from rukh.values.canonical import canonical_bytes
from rukh.values.errors import RukhError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.cli.context import Context
    from rukh.host.invocation import CommitFailed, Finished

STDOUT = 1
STDERR = 2
# Code points of a message or a place: enough for any path, too little to flood a terminal.
_SHOWN = 1000


def output_form(tokens: list[str]) -> str:
    """`plain`, `json` or `envelope`: asked for before anything is validated, so that refusals keep the form."""
    options = tokens[: tokens.index("--")] if "--" in tokens else tokens
    if "--envelope" in options:
        return "envelope"
    return "json" if "--json" in options else "plain"


def write_out(data: bytes, *, called: bool = False) -> None:
    """All of `data` to standard output; a reader that went away is no fault of the command. RK-CLI-076

    `called` says that it is the result of a call, which has its outcome whatever becomes of the data. RK-CLI-095
    """
    _write(STDOUT, data, called)


def write_err(data: bytes) -> None:
    """All of `data` to standard error."""
    _write(STDERR, data, False)


def unwritable(error: OSError, called: bool) -> RukhError:
    """The refusal of a standard output that takes nothing; a call behind it has its outcome. RK-ADM-014 RK-CLI-095"""
    return RukhError(
        "RKL029",
        f"standard output cannot be written: {os.strerror(error.errno or 0)}",
        mend="the call has its outcome; look at where its output goes"
        if called
        else "look at where its output goes",
    )


def _write(descriptor: int, data: bytes, called: bool) -> None:
    view = memoryview(data)
    try:
        while view:
            try:
                view = view[os.write(descriptor, view) :]
            except BlockingIOError:
                _wait(descriptor)
    except BrokenPipeError:
        return
    except OSError as error:
        if descriptor == STDERR:
            return  # there is nowhere left to say so
        raise unwritable(error, called) from error


def _wait(descriptor: int) -> None:
    """Until the descriptor takes more: whoever shares it may have made it one that does not wait by itself."""
    import select

    select.select([], [descriptor], [])


def show_error(context: Context, error: RukhError, form: str) -> None:
    """A refusal before there was an outcome, in the form that was asked for; what it repeats is shown cut."""
    error.place, error.message = _cut(error.place), _cut(error.message)
    if form != "plain":
        write_err(error_json(error))
        return
    from rukh.cli.paint import alarm, painted

    write_err(error_text(context.name, error, painted(alarm, STDERR)).encode())


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def show_unrecorded(context: Context, failure: CommitFailed, form: str) -> int:
    """A call that ran and whose outcome was not committed: no outcome, and the way to ask for it. RK-CLI-068"""
    error = failure.error
    if form == "plain":
        from rukh.cli.paint import alarm, painted

        write_err(error_text(context.name, error, painted(alarm, STDERR)).encode())
    else:
        write_err(json_document({"error": error.document(), "invocationId": failure.invocation}))
    return context.status(error.exit_code)


def show_outcome(context: Context, finished: Finished, form: str) -> int:
    """Show a committed outcome; the exit status."""
    if finished.outcome == "succeeded":
        _show_result(finished, form)
    else:
        _show_failure(context, finished, form)
    return exit_code(finished.outcome, finished.envelope.get("reason"), finished.exit_code, context.status)


def _show_result(finished: Finished, form: str) -> None:
    result = finished.envelope.get("commandResult")
    if form == "envelope":
        write_out(canonical_bytes(finished.envelope) + b"\n", called=True)
    elif form == "json" and result is not None:
        write_out(result_json(result), called=True)
    elif result is not None and not finished.wrote:
        write_out(result_text(result).encode(), called=True)


def _show_failure(context: Context, finished: Finished, form: str) -> None:
    reason = finished.envelope["reason"]
    if form == "envelope":
        write_err(canonical_bytes(finished.envelope) + b"\n")
    elif form == "json":
        write_err(failure_json(finished.outcome, reason, finished.invocation))
    else:
        from rukh.cli.paint import alarm, painted

        said = (context.name, finished.outcome, reason, finished.invocation)
        write_err(failure_text(*said, painted(alarm, STDERR)).encode())
