"""Results: the check of what a child brings back against what its command declares.

A result is `{kind: text, text}` or `{kind: structured, data}`, exactly as declared. It is judged in this
order, and the first refusal is the answer: shape, then depth, members, Unicode and numbers in one walk, then
canonical bytes, then the schema. What is too much fails; nothing is cut. RK-RES-010

Most results break no limit, and a good one is cheap: its members are counted level by level, its canonical form is
written once, and what cannot be told from these two is looked for by the walk, which knows the place.
"""

from __future__ import annotations

import re

from rukh.contract.result_tree import DEFAULT_LIMITS, Schema, Work, check, children
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.pointer import join
from rukh.values.registry import LIMIT_INTEGER
from rukh.values.unicode import check_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rukh.contract.result_tree import Clock, Limits, Value

# The outcome reason of each refusal of a result; every other one is `result_invalid`.
_REASONS = {
    "RKR021": "result_missing",
    "RKR035": "result_too_large",
    "RKR036": "result_too_large",
    "RKR037": "result_too_large",
    "RKR038": "result_timeout",
    "RKR039": "result_timeout",
}
_INFINITY = float("inf")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def reason_of(error: RukhError) -> str:
    """The outcome reason of what `validate_result` raised: one of the four `result_…` codes. RK-RES-015"""
    return _REASONS.get(error.rule, "result_invalid")


def validate_result(
    declared: dict[str, Any] | None,
    command_result: Value,
    *,
    limits: Limits = DEFAULT_LIMITS,
    clock: Clock | None = None,
) -> None:
    """Judge a `commandResult` by the result that the command declares; None for either: there is none.

    `clock` gives monotonic seconds, the system's by default. Raises RukhError RKR021–RKR039 whose `place` is
    a JSON Pointer into the commandResult; `reason_of` gives the outcome reason. RK-RES-010
    """
    if clock is None:
        from time import monotonic as clock
    work = Work(limits, clock)
    if declared is None and command_result is None:
        return
    member = _shape(declared, command_result)
    size = _admit(command_result, work)
    if size > limits.bytes:
        raise RukhError(
            "RKR035", f"{size} canonical bytes, the limit is {limits.bytes}", mend="answer with less at once"
        )
    if declared is not None and member == "data":
        check(Schema(declared["schema"]), command_result["data"], "/data", work)
    work.look("")


def _shape(declared: dict[str, Any] | None, found: Value) -> str:
    """The name of the member that carries the result. RK-RES-010"""
    if declared is None:
        raise RukhError("RKR022", "the command declares no result", mend="declare one, or send none")
    if found is None:
        raise RukhError("RKR021", f"the declared {declared['kind']} result is missing", mend="send it")
    kind = declared["kind"]
    member = {"text": "text", "structured": "data"}[kind]
    if type(found) is not dict or set(found) != {"kind", member} or found["kind"] != kind:
        raise RukhError(
            "RKR022",
            f"not exactly {{kind: {kind}, {member}}}",
            mend=f"send kind {kind} and {member}, nothing else",
        )
    if kind == "text" and type(found["text"]) is not str:
        raise RukhError("RKR022", "text is no string", place="/text", mend="send a string")
    return member


def _admit(result: Value, work: Work) -> int:
    """The canonical bytes of what breaks no limit and no rule of values; else the walk says what does. RK-RES-012"""
    count = _count(result, work.limits)
    if count is not None:
        try:
            text = canonical(result)
        except RukhError:
            text = None
        if text is not None and not _suspect(text):
            work.spend(count, "")
            return len(text) if text.isascii() else len(text.encode())
    _Walk(work).value(result, "", 1)
    return len(canonical(result).encode())


def _suspect(text: str) -> bool:
    """Whether a canonical form may show a lone surrogate or NUL; a backslash before `u0000` only looks like one."""
    return "\\u0000" in text or (not text.isascii() and _SURROGATE.search(text) is not None)


def _count(value: Value, limits: Limits) -> int | None:
    """How many values there are in `value`, itself included; None where it is too deep or has too many members."""
    count, level = 1, [value]
    for _ in range(limits.depth):
        below: list[Value] = []
        for each in level:
            if type(each) is dict:
                below.extend(each.values())
            elif type(each) is list:
                below.extend(each)
        if not below:
            return count
        count += len(below)
        if count - 1 > limits.members:
            return None
        level = below
    return None


class _Walk:
    """The limits and the value rules that hold whatever the schema says. RK-RES-012"""

    __slots__ = ("members", "work")

    def __init__(self, work: Work) -> None:
        self.work = work
        self.members = 0

    def value(self, value: Value, place: str, depth: int) -> None:
        limits = self.work.limits
        if depth > limits.depth:
            raise RukhError(
                "RKR036", f"nested deeper than {limits.depth}", place=place, mend="answer flatter"
            )
        self.work.spend(1, place)
        _admitted(value, place)
        for name, child in children(value):
            self.members += 1
            if self.members > limits.members:
                message = f"more than {limits.members} members and elements"
                raise RukhError("RKR037", message, place=place, mend="answer with less at once")
            inner = join(place, name)
            if type(name) is str:
                _admitted(name, inner)
            self.value(child, inner, depth + 1)


def _admitted(value: Value, place: str) -> None:
    """The Unicode and number rules, equal to those of inputs. RK-RES-011"""
    kind = type(value)
    if kind is str:
        try:
            check_text(value)
        except RukhError as error:
            raise RukhError("RKR033", error.message, place=place, mend=error.mend) from None
    elif kind is int:
        if not -LIMIT_INTEGER <= value <= LIMIT_INTEGER:
            raise RukhError("RKR034", "an integer beyond 2^53-1", place=place, mend="send it as a string")
    elif kind is float and not -_INFINITY < value < _INFINITY:
        raise RukhError("RKR034", f"{value} is not finite", place=place, mend="send a finite number")
