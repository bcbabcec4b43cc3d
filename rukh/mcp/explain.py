"""Why a command is, or is not, a tool of an endpoint: every condition in order, judged as production judges it.

`CONDITIONS` is the walk. Each row asks one question through the predicate that publication, list or call themselves
use, so that the answer here is theirs (RK-EXPL-005):

    unmet      the refusal that the predicate gives: rule, place, mend
    met        a few words of what was found
    unknown    something before it is missing, so that there is nothing to look at

A command that cannot be a tool, whatever the owner writes, makes what the owner would write moot: those conditions are
unknown then, and give no advice that could not help. RK-EXPL-040

What a condition *decides* is where production looks: a list looks at nothing that only decides a call, and the next
publication alone looks again at the files of a release and at the size of a tool. The command is a tool when every
condition of the list is met, and a call is admitted when those of the call are met too; the version of a Node runtime
is asked by the call itself, because asking it starts a program. Nothing here starts or writes anything. RK-EXPL-003
RK-EXPL-004 RK-EXPL-006
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rukh.mcp import conditions
from rukh.mcp.conditions import Subject
from rukh.store.profiles import Active
from rukh.store.store import Records
from rukh.values.errors import RukhError

DOCUMENT = "rukh.explain/1"
LIST, CALL, PUBLICATION = "list", "call", "publication"
Judge = Callable[[Subject], str | None]

# Name, what it decides, what it says, and who judges. The order is that of spec/explain.md. RK-EXPL-001
CONDITIONS: tuple[tuple[str, str, str, Judge], ...] = (
    ("trusted", CALL, "its publisher's key is trusted", conditions.trusted),
    ("installed", LIST, "a release of the package is in the home", conditions.installed),
    ("active", LIST, "the active revision binds it", conditions.active),
    ("present", CALL, "the files of the release are there", conditions.present),
    ("unmodified", PUBLICATION, "they are those that were verified", conditions.unmodified),
    ("command", LIST, "the release has the command", conditions.command),
    ("format", LIST, "its descriptor can carry a machine contract", conditions.descriptor_format),
    ("managed", LIST, "the command is a managed one", conditions.exportable("managed")),
    ("foreground", LIST, "it stays in the foreground", conditions.baseline("foreground")),
    ("result", LIST, "it declares a result", conditions.baseline("result")),
    ("stdin", LIST, "it wants no standard input", conditions.baseline("stdin")),
    ("eligible", LIST, "its publisher says that it is eligible", conditions.exportable("eligible")),
    ("interaction", LIST, "it can do without a person", conditions.exportable("interaction")),
    ("features", LIST, "the features that it requires are known", conditions.baseline("features")),
    ("support", CALL, "this host has the confinement and operations that it asks for", conditions.supported),
    ("runtime", CALL, "what runs it is there", conditions.runtime),
    ("endpoint", LIST, "the profile has the endpoint", conditions.endpoint),
    ("selected", LIST, "the endpoint names the command or its package", conditions.selected),
    ("preset", LIST, "the preset of the endpoint exists", conditions.preset),
    ("page", PUBLICATION, "the tool fits one page", conditions.fits_page),
    ("listed", LIST, "the active revision lists the tool", conditions.listed),
    ("task", CALL, "the endpoint has a task", conditions.task),
    ("budget", CALL, "a call of the task is left", conditions.budget),
    ("rule", CALL, "a rule lets the actor of the task run it", conditions.rule),
)

# What an owner's file says of one command, and what must be met before it can help.
_OWNERS = frozenset({"selected", "rule"})
_NAMES = [name for name, *_ in CONDITIONS]
_BARRIERS = frozenset(name for name, decides, *_ in CONDITIONS[: _NAMES.index("endpoint")] if decides == LIST)


def explain(
    store: Records, active: Active, identity: str, endpoint: str, *, program: str, now: int
) -> dict[str, Any]:
    """The document `rukh.explain/1` about the command `identity` at `endpoint`; `now` is UTC milliseconds."""
    subject = Subject(store, active, identity, endpoint, program, now)
    judged: list[dict[str, Any]] = []
    barred = False
    for name, decides, says, judge in CONDITIONS:
        judged.append(_judged(subject, name, decides, says, _moot if barred and name in _OWNERS else judge))
        barred = barred or (name in _BARRIERS and judged[-1]["state"] == "unmet")
    tool = all(found["state"] == "met" for found in judged if found["decides"] == LIST)
    admitted = tool and not any(found["state"] == "unmet" for found in judged if found["decides"] == CALL)
    document = {
        "format": DOCUMENT,
        "identity": identity,
        "endpoint": endpoint,
        "revision": active.revision,
        "tool": tool,
        "admitted": admitted,
        "conditions": judged,
    }
    return document | ({"name": subject.name} if tool else {})


def _moot(_subject: Subject) -> None:
    """Not looked at: the command is no tool before something else is mended."""


def _judged(subject: Subject, name: str, decides: str, says: str, judge: Judge) -> dict[str, Any]:
    condition = {"condition": name, "decides": decides, "says": says}
    try:
        found = judge(subject)
    except RukhError as refusal:
        told = {"rule": refusal.rule, "found": refusal.message, "place": refusal.place, "mend": refusal.mend}
        return condition | {"state": "unmet"} | told
    if found is None:
        return condition | {"state": "unknown"}
    return condition | {"state": "met"} | ({"found": found} if found else {})
