"""What is asked of a home after a fault. Each answer is a sentence that says what was found; none is good news."""

from __future__ import annotations

import json
from pathlib import Path

from crashes.program import Ended, forked
from crashes.scenes import ABSENT, PACKAGE, Scene

INTERRUPTED = 130  # the status of a verb that an interrupt stopped


def look(scene: Scene, words: list[str], home: Path, ended: Ended) -> tuple[str, list[str]]:
    """The version that is there after the scene's verb `ended`, and everything that is wrong. None wrong: no loss."""
    found = [*_behaviour(ended), *_interrupted(ended, home)]
    first, wrong = _seen(home)
    found += wrong
    if first not in (scene.before, scene.after):
        found.append(f"version {first!r} is neither the old nor the new one")
    if ended.status == 0 and first != scene.after:
        found.append(f"acknowledged, and version {first!r} is there")
    if ended.status == INTERRUPTED and first != scene.before:
        found.append(f"said to be stopped, and version {first!r} is there")
    found += _must(home, ["recover"])
    second, wrong = _seen(home)
    found += wrong
    if second != first:
        found.append(f"recovery changed version {first!r} to {second!r}")
    found += _again(scene, words, home)
    found += [f"{path.name} is left in staging" for path in sorted((home / "staging").iterdir())]
    return first, found


def version(home: Path) -> str:
    """The version that the program reports, `ABSENT` for none; raises ValueError where it cannot say."""
    listed = forked(str(home), ["list", "--json"])
    if listed.status:
        raise ValueError(f"list: {listed.status} {listed.err}")
    packages = {each["package"]: each["version"] for each in json.loads(listed.out)["packages"]}
    return str(packages.get(PACKAGE, ABSENT))


def _behaviour(ended: Ended) -> list[str]:
    if "Traceback" in ended.err or "RKL026" in ended.err:
        return [f"an inner fault was shown: {ended.err.strip()}"]
    return []


def _interrupted(ended: Ended, home: Path) -> list[str]:
    """What a verb that was stopped must have said, and must have done by itself, without any recovery."""
    if ended.status != INTERRUPTED:
        return []
    told = ended.err.strip()  # one that was struck before it began has nothing to say
    said = [] if "RKO006" in told or not told else [f"it was stopped and said {told!r}"]
    return said + [f"{path.name} was left in staging" for path in sorted((home / "staging").iterdir())]


def _seen(home: Path) -> tuple[str, list[str]]:
    """The reported version, and where what runs differs from it."""
    try:
        reported = version(home)
    except ValueError as error:
        return "?", [str(error)]
    ran = forked(str(home), ["run", f"{PACKAGE}/say"])
    if reported == ABSENT:
        return reported, [] if ran.status else [f"nothing is installed, and {ran.out.strip()} runs"]
    if (ran.status, ran.out.strip()) != (0, reported):
        return reported, [
            f"{reported} is reported, and this runs: {ran.status} {ran.out.strip()} {ran.err.strip()}"
        ]
    return reported, []


def _again(scene: Scene, words: list[str], home: Path) -> list[str]:
    """The verb once more: it goes through, or says that it did."""
    again = forked(str(home), words)
    if again.status and not any(rule in again.err for rule in scene.done):
        return [f"tried again: {again.status} {again.err.strip()}"]
    last, wrong = _seen(home)
    return [*wrong, *([] if last == scene.after else [f"tried again, and version {last!r} is there"])]


def _must(home: Path, words: list[str]) -> list[str]:
    ended = forked(str(home), words)
    return [f"{' '.join(words)}: {ended.status} {ended.err.strip()}"] if ended.status else []
