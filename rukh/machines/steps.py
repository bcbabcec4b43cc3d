"""The steps of a change to a home, as whoever looks on is told of them; what each counts, and when it can be stopped.

    ask        a person is asked                      at once
    discover   sources are asked                      at once
    admit      the decision is recorded               between two steps
    fetch      bytes of the artifact                  at once
    unpack     files written                          between two files
    compile    Python files compiled                  between two files
    check      the whole candidate is judged          at once
    wait       for the turn of the home's releases    at once
    verify     packages whose files are read again    between two packages
    settle     the tree is moved into the home        not, it ends at `stage`
    stage      rows written ahead                     between two transactions
    commit     the change is decided                  at its beginning, and never again
    collect    releases whose files go                between two releases
    sweep      what the dead left behind              not

Who makes a change tells an observer `(step, done, total)` where a step begins and as it goes on; `total` is 0 where
nobody knows it. An observer may raise there, and that stops the change, which then takes back what it wrote. `commit`
is told once, right before the transaction that decides: from there on the change is what its record says, and nothing
stops it any more. In the steps `AT_ONCE` nothing is written, so that a signal may strike at any point of them.
RK-PUB-040 … RK-PUB-044
"""

from __future__ import annotations

from collections.abc import Callable

# Told of (step, done, total); what it raises stops the change.
Observe = Callable[[str, int, int], None]

ASK = "ask"
DISCOVER = "discover"
ADMIT = "admit"
FETCH = "fetch"
UNPACK = "unpack"
COMPILE = "compile"
CHECK = "check"
WAIT = "wait"
VERIFY = "verify"
SETTLE = "settle"
STAGE = "stage"
COMMIT = "commit"
COLLECT = "collect"
SWEEP = "sweep"

AT_ONCE = frozenset({ASK, DISCOVER, FETCH, CHECK, WAIT})


def unobserved(_step: str, _done: int = 0, _total: int = 0) -> None:
    """The observer of a change that nobody looks at and nothing stops."""
