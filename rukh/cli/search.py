"""`help WORD` where WORD names nothing: what is installed or built in and has to do with it. Starts nothing. {H01}

Every word must be found somewhere in an entry, whatever its case. What an entry says is looked through in the order of
its `texts`, best first; a whole word of a path counts more than a part of it. An entry's place among the hits is that
of its worst word, then of all its words, then its path. RK-CLI-072
"""

from __future__ import annotations

import re

from rukh.cli.verbs import GROUPS, VERBS
from rukh.cli.words import BUILT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MOST_HITS = 20
_SHORTEST = 2  # letters of a word that is looked for at the beginning of words only. RK-CLI-099
_PARTS = re.compile(r"[\W_]+")


class Entry:
    """Something that can be called: `texts` are (where, text), the best place first."""

    __slots__ = ("path", "summary", "texts")

    def __init__(self, path: str, summary: str, texts: Sequence[tuple[str, str]]) -> None:
        self.path = path
        self.summary = summary
        self.texts = (("path", path), *texts)


class Hits:
    """The best entries, as (path, summary, where the words were found), and how many there were in all."""

    __slots__ = ("found", "total")

    def __init__(self, found: list[tuple[str, str, str]], total: int) -> None:
        self.found = found
        self.total = total


def search(words: Sequence[str], entries: Iterable[Entry]) -> Hits:
    """The entries that have to do with all of `words`, the nearest first, at most 20 of them."""
    wanted = [word.casefold() for word in words]
    ranked = []
    for entry in entries:
        places = [_place(word, entry) for word in wanted]
        if all(rank is not None for rank, _ in places):
            ranks = [rank for rank, _ in places if rank is not None]
            where = ", ".join(dict.fromkeys(where for _, where in places))
            ranked.append((max(ranks), sum(ranks), entry.path, entry.summary, where))
    ranked.sort()
    return Hits([(path, summary, where) for _, _, path, summary, where in ranked[:_MOST_HITS]], len(ranked))


def _place(word: str, entry: Entry) -> tuple[int | None, str]:
    """Where the word is found first, and the rank of that; None where it is not."""
    if word in entry.path.casefold().split(" "):
        return 0, "path"
    for rank, (where, text) in enumerate(entry.texts, 1):
        if _stands(word, text.casefold()):
            return rank, where
    return None, ""


def _stands(word: str, text: str) -> bool:
    """Whether the word is in the text; one of a letter or two is in nearly everything, and must begin a word there."""
    if len(word) > _SHORTEST:
        return word in text
    return any(part.startswith(word) for part in _PARTS.split(text))


def core_entries() -> list[Entry]:
    """The core's words: each by what it does, and by its options."""
    verbs = {word: says for word, says in BUILT.items() if word not in GROUPS}
    verbs |= {f"{group} {word}": says for group, words in GROUPS.items() for word, says in words.items()}
    return [Entry(verb, says, [("summary", says), *_options(verb)]) for verb, says in verbs.items()]


def _options(verb: str) -> list[tuple[str, str]]:
    rows = VERBS.get(verb, ())
    names = [(f"option {name}", name) for name, _, _ in rows if name.startswith("-")]
    return names + [(f"option {name}", says) for name, _, says in rows if says]
