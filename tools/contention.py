"""Many processes publish and call in one home at once: one winner a revision, no torn read. RK-PUB-036

    python -m tools.contention [--publications N] [--publishers N] [--callers N]

Each publisher publishes what it read, changed, until N publications are committed in all; each caller captures calls
until then. Then the record is judged: every revision stands on the one before it and was published once, every
operation that lost was told so, and every call was captured whole. Prints one line; exits 1 for a fault.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rukh.store.calls import Caller, Kept, Moved, Pinned, new_invocation
from rukh.store.home import open_home
from rukh.store.profiles import NO_REVISION, Active, Contents
from rukh.store.store import Store
from rukh.values.ids import new_id

ROOT = Path(__file__).resolve().parent.parent
_PACKAGE = "acme.x"
_CALLER = Caller("cli", "user:local", "user:local")


def profile(number: int) -> dict[str, Any]:
    """The profile that the publication of sequence `number` publishes; it binds nothing."""
    return {"mark": number, "packages": {}, "endpoints": {"desk": {"namespace": "acme.desk"}}}


def contents(number: int) -> Contents:
    """Contents that only this sequence has."""
    identity = f"{_PACKAGE}/c{number}"
    return Contents(
        f"g{number}",
        [(identity, {"identity": identity})],
        [((f"c{number}",), "command", identity, "Runs")],
        {"desk": [(identity, f"t{number}")]},
        {f"t{number}": "{}"},
    )


def publish(store: Store, until: int) -> dict[str, Any]:
    """Publish on top of what is active until `until` revisions are there."""
    won, lost, longest = 0, 0, 0.0
    while True:
        active = store.profiles.active()
        sequence = active.sequence if active else 0
        if sequence >= until:
            return {"won": won, "lost": lost, "longest": longest}
        expected = active.revision if active else NO_REVISION
        begun = time.monotonic()
        done = store.publications.publish(
            new_id("op"), expected, profile(sequence + 1), contents(sequence + 1), subject="u", surface="cli"
        )
        longest = max(longest, time.monotonic() - begun)
        won, lost = won + (done.state == "committed"), lost + (done.state == "conflicted")


def call(store: Store, until: int) -> dict[str, Any]:
    """Capture calls and end them until `until` revisions are there; `torn` counts snapshots that do not fit."""
    captured, moved, torn, longest = 0, 0, 0, 0.0
    while True:
        active = store.profiles.active()
        if active is not None and active.sequence >= until:
            return {"captured": captured, "moved": moved, "torn": torn, "longest": longest}
        if active is None:
            continue
        torn += not is_whole(store, active)
        invocation = new_invocation()
        begun = time.monotonic()
        try:
            store.calls.capture(
                invocation,
                _CALLER,
                Pinned(active.sequence, active.revision, f"{_PACKAGE}/c{active.sequence}", "t"),
            )
        except Moved:
            moved += 1
            continue
        finally:
            longest = max(longest, time.monotonic() - begun)
        store.calls.commit(invocation, _CALLER, "succeeded", "{}", Kept(), release=True)
        captured += 1


def is_whole(store: Store, active: Active) -> bool:
    """Whether profile, routes and exports of a snapshot are of one publication."""
    number = active.sequence
    route = store.profiles.resolve(active.generation, [f"c{number}"])
    identity = f"{_PACKAGE}/c{number}"
    return (
        active.profile["mark"] == number
        and route is not None
        and route.identity == identity
        and store.profiles.exports(active.projection, "desk") == [(identity, "{}")]
    )


def run(directory: str, publications: int, publishers: int, callers: int) -> dict[str, Any]:
    """The whole show; what came of it, with `faults`."""
    path = f"{directory}/home"
    store = Store(open_home(path, create=True))
    begun = time.monotonic()
    parties = ["publish"] * publishers + ["call"] * callers
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tools.contention", "--party", party, path, str(publications)],
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        for party in parties
    ]
    answers = [json.loads(process.communicate()[0] or b"{}") for process in processes]
    found = {
        "publications": sum(one.get("won", 0) for one in answers),
        "conflicts": sum(one.get("lost", 0) for one in answers),
        "captures": sum(one.get("captured", 0) for one in answers),
        "moved": sum(one.get("moved", 0) for one in answers),
        "torn": sum(one.get("torn", 0) for one in answers),
        "longest": max(one.get("longest", 0.0) for one in answers),
        "seconds": time.monotonic() - begun,
        "faults": [f"a party ended with {one.returncode}" for one in processes if one.returncode],
    }
    found["faults"] += judged(store, found)
    store.close()
    return found


def judged(store: Store, found: dict[str, Any]) -> list[str]:
    """What the record says against the rules."""
    rows = store.database.rows
    chain = rows(
        "SELECT r.sequence, r.id, o.expected, r.profile FROM revision r JOIN operation o ON o.id = r.operation "
        "ORDER BY r.sequence"
    )
    faults = [
        f"revision {sequence} does not stand on {sequence - 1}"
        for (sequence, _, expected, text), before in zip(chain, [(0, NO_REVISION), *chain], strict=False)
        if expected != before[1] or sequence != before[0] + 1 or f'"mark":{sequence},' not in text
    ]
    states = dict(rows("SELECT state, count(*) FROM operation GROUP BY state"))
    if states != {
        state: found[name]
        for state, name in (("committed", "publications"), ("conflicted", "conflicts"))
        if found[name]
    }:
        faults.append(f"the record holds {states}")
    ended = rows("SELECT count(*) FROM invocation WHERE outcome = 'succeeded'")[0][0]
    if ended != found["captures"] or rows("SELECT * FROM reference"):
        faults.append(f"{found['captures']} calls were captured, {ended} have ended")
    return faults + (["a torn read"] if found["torn"] else [])


def main() -> int:
    """The show, or one party of it; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.contention", description=__doc__)
    parser.add_argument("--publications", type=int, default=2000)
    parser.add_argument("--publishers", type=int, default=8)
    parser.add_argument("--callers", type=int, default=8)
    parser.add_argument("--party", nargs=3, metavar=("WHAT", "HOME", "UNTIL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.party:
        what, path, until = options.party
        store = Store(open_home(path, create=False))
        print(json.dumps({"publish": publish, "call": call}[what](store, int(until))))
        store.close()
        return 0
    with tempfile.TemporaryDirectory() as directory:
        found = run(directory, options.publications, options.publishers, options.callers)
    print(
        f"contention publishers={options.publishers} callers={options.callers} "
        f"publications={found['publications']} conflicts={found['conflicts']} captures={found['captures']} "
        f"moved={found['moved']} torn={found['torn']} longest-wait={found['longest'] * 1000:.0f}ms "
        f"seconds={found['seconds']:.0f}"
    )
    print(*found["faults"], sep="\n", end="\n" if found["faults"] else "")
    return 1 if found["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
