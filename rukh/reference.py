"""The reference CLI `rukh`: the builder with nothing added. It ships in the core's distribution (decision 0004)."""

from __future__ import annotations

from rukh import __version__
from rukh.app import Application

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """The console script `rukh`."""
    Application("rukh", __version__).main()


if __name__ == "__main__":
    main()
