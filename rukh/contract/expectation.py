"""What a case expected against what a call has shown: the differences, each with its place. RK-AUTHOR-056

Places are JSON Pointers into the outcome envelope (`/commandResult/data/total`), or the name of what only a terminal
shows: `exit status`, `stdout`, `stderr`. A member or element that one side does not have is `ABSENT` there.

What a case does not say is not judged, but for this: it expects success where it says nothing of a failure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rukh.contract.cases import Case
from rukh.values.pointer import join

MOST = 20  # differences of one value: who has more looks at the value
_OWN_STATUSES = range(1, 64)


class _Absent:
    """Stands where there is nothing."""


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class Difference:
    """At `place` stood `actual` where `expected` belongs; either may be ABSENT."""

    place: str
    expected: Any
    actual: Any


@dataclass(frozen=True, slots=True)
class Seen:
    """What one surface showed. An agent sees no status and no streams (None); an outcome may be missing."""

    outcome: dict[str, Any] | None
    status: int | None = None
    stdout: bytes | None = None
    stderr: bytes | None = None


def differences(case: Case, seen: Seen) -> list[Difference]:
    """Where `seen` is not as `case` expects; empty when the case passed."""
    found = _of_process(case, seen)
    if case.managed:
        found += _of_outcome(case.expect, seen)
    return found


def _of_process(case: Case, seen: Seen) -> list[Difference]:
    """Status and streams, where the surface has them."""
    if seen.status is None:
        return []
    expect, found = case.expect, []
    wanted = expect.get("exitCode", None if case.managed else 0)
    if wanted is not None and seen.status != wanted:
        found.append(Difference("exit status", wanted, seen.status))
    stdout, stderr = (_shown(stream) for stream in (seen.stdout, seen.stderr))
    if expect.get("stdout", stdout) != stdout:
        found.append(Difference("stdout", expect["stdout"], stdout))
    if expect.get("stderrContains", "") not in stderr:
        found.append(Difference("stderr", expect["stderrContains"], stderr))
    return found


def _shown(stream: bytes | None) -> str:
    return (stream or b"").decode(errors="backslashreplace")


def _of_outcome(expect: dict[str, Any], seen: Seen) -> list[Difference]:
    """The members of the envelope that the case speaks of."""
    wanted = expect.get("outcome", _implied(expect))
    if seen.outcome is None:
        said = _shown(seen.stderr).strip() or "the call has shown no outcome"
        return [Difference("/outcome", wanted or "an outcome", said)]
    envelope = seen.outcome
    reason = envelope.get("reason", {})
    if wanted is not None and envelope["outcome"] != wanted:
        why = f" ({reason['code']}: {reason['message']})" if reason else ""
        return [Difference("/outcome", wanted, envelope["outcome"] + why)]
    found = []
    if expect.get("reason", reason.get("code")) != reason.get("code"):
        found.append(Difference("/reason/code", expect["reason"], reason.get("code", ABSENT)))
    if expect.get("messageContains", "") not in reason.get("message", ""):
        found.append(Difference("/reason/message", expect["messageContains"], reason.get("message", ABSENT)))
    result = envelope.get("commandResult", {})
    for name in ("data", "text"):
        if name in expect:
            found += compare(expect[name], result.get(name, ABSENT), f"/commandResult/{name}")
    return found


def _implied(expect: dict[str, Any]) -> str | None:
    """The outcome that a case means without naming one; None where its status or reason leaves that open."""
    status = expect.get("exitCode", 0)
    if status in _OWN_STATUSES:
        return "command_failed"
    return "succeeded" if status == 0 and "reason" not in expect else None


def compare(expected: Any, actual: Any, place: str = "") -> list[Difference]:
    """The differences of two JSON values, at most `MOST`; true is not 1, and the order of members says nothing."""
    found: list[Difference] = []
    pending = [(expected, actual, place)]
    while pending and len(found) < MOST:
        left, right, where = pending.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            names = [*left, *(name for name in right if name not in left)]
            pending += [(left.get(n, ABSENT), right.get(n, ABSENT), join(where, n)) for n in reversed(names)]
        elif isinstance(left, list) and isinstance(right, list):
            indices = range(max(len(left), len(right)))
            pending += [(_at(left, i), _at(right, i), join(where, i)) for i in reversed(indices)]
        elif left != right or isinstance(left, bool) is not isinstance(right, bool):
            found.append(Difference(where, left, right))
    return found


def _at(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else ABSENT
