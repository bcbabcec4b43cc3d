"""Small profiles and contents for tests of the store alone."""

from __future__ import annotations

from typing import Any

from rukh.store.profiles import Contents


def profile(mark: str) -> dict[str, Any]:
    """A profile document that differs by `mark`; the store does not look inside."""
    return {
        "format": "rukh.profile/1",
        "mark": mark,
        "packages": {},
        "rules": [],
        "limits": {},
        "environment": {},
        "endpoints": {},
    }


def contents(generation: str, *paths: str) -> Contents:
    """Contents with one command a path, exported by the endpoint `desk`."""
    identities = [(path, "acme.x/" + path.replace(" ", "_")) for path in paths]
    return Contents(
        generation,
        [(identity, {"identity": identity, "package": "acme.x"}) for _, identity in identities],
        [(tuple(path.split(" ")), "command", identity, f"Does {path}") for path, identity in identities],
        {"desk": [(identity, "d" + identity) for _, identity in identities]},
        {"d" + identity: "{}" for _, identity in identities},
    )


class Clock:
    """A clock that only the test moves; UTC milliseconds."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now
