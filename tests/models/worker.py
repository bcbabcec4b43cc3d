"""A process that does the steps it is told, with production, in one home: what a test may kill at any time.

    python -m tests.models.worker HOME HOLDER

Each order on standard input is answered on standard output, both as pickles; the end of the input ends the process.
"""

from __future__ import annotations

import pickle
import sys

from models.publication_production import Production
from rukh.store.holders import Holder
from rukh.store.home import Home
from rukh.store.store import Store


def main(path: str, name: str) -> None:
    """Serve until the input ends."""
    home = Home(path)
    production = Production(home)
    store = Store(home, lambda: 1, Holder(home, name))
    assert store.holder.id == name
    while True:
        pickle.dump("ready", sys.stdout.buffer)
        sys.stdout.buffer.flush()
        try:
            clone, step = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(production.act(store, clone, step), sys.stdout.buffer)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
