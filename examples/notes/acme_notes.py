"""The extension `acme.notes`: notes in one JSON file of the directory that the owner names in NOTES_DIR.

Inputs arrive checked and complete, as the descriptor declares them; an optional one that was left out is absent. What a
function returns is checked against the declared result. Two calls at once are safe: a lock file orders the writers, and
the notes are replaced as a whole.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rukh_sdk

Note = dict[str, Any]

SHOWN = 32  # as many as the result schemas admit
NO_DIRECTORY = 2
UNREADABLE = 3


@rukh_sdk.command("add")
def add(inputs: dict[str, Any], context: Any) -> dict[str, Any]:
    """Write one note; its number is one more than the highest there is."""
    with locked() as directory:
        notes = read_notes(directory)
        number = max((note["number"] for note in notes), default=0) + 1
        notes.append({"number": number, "tags": [], **inputs})
        write_notes(directory, notes)
    return {"number": number, "title": inputs["title"]}


@rukh_sdk.command("list")
def list_notes(inputs: dict[str, Any], context: Any) -> dict[str, Any]:
    """Pinned notes first, then the newest."""
    tag = inputs.get("tag")
    notes = [note for note in newest_first() if tag is None or tag in note["tags"]]
    notes.sort(key=lambda note: not note["pinned"])
    return {"total": len(notes), "notes": notes[:SHOWN]}


@rukh_sdk.command("search")
def search(inputs: dict[str, Any], context: Any) -> dict[str, Any]:
    """Notes whose title holds the text, whatever the case of its letters."""
    wanted = inputs["text"].casefold()
    found = [note for note in newest_first() if wanted in note["title"].casefold()]
    matches = [{"number": note["number"], "title": note["title"]} for note in found[:SHOWN]]
    return {"total": len(found), "matches": matches}


def newest_first() -> list[Note]:
    with locked() as directory:
        return sorted(read_notes(directory), key=lambda note: -note["number"])


@contextmanager
def locked() -> Iterator[str]:
    """The directory of the notes, while no other call reads or writes in it."""
    directory = os.environ.get("NOTES_DIR")
    if not directory:
        raise rukh_sdk.Failed(
            'NOTES_DIR is not set; give it a value under [environment."acme.notes"] of the profile',
            exit_code=NO_DIRECTORY,
        )
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "notes.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield directory


def read_notes(directory: str) -> list[Note]:
    try:
        with open(os.path.join(directory, "notes.json"), encoding="utf-8") as file:
            notes: list[Note] = json.load(file)
    except FileNotFoundError:
        return []
    except ValueError:
        raise rukh_sdk.Failed("notes.json is no JSON; move it away", exit_code=UNREADABLE) from None
    return notes


def write_notes(directory: str, notes: list[Note]) -> None:
    """Replace the notes as a whole: a call that dies leaves the old ones."""
    path = os.path.join(directory, "notes.json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(notes, file, ensure_ascii=False, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)
