"""Trace: clause -> requirement -> evidence, and the gate on it. RK-PROC-005 … RK-PROC-014

    python tools/trace.py                              shows what is open and every fault; exits 1 if there is one
    python tools/trace.py --update                     writes register, snapshot and open list anew; loses nothing
    python tools/trace.py --accept RK-AREA-NNN …       a changed sentence, after its citing tests were looked at
    python tools/trace.py --retire RK-AREA-NNN …       a sentence taken out of its page for good
    python tools/trace.py --drop LEFT=RIGHT …          one citation given up by name: clause=id, or id=test

Read:     spec/*.md            `- **RK-AREA-NNN** A host MUST … . {D16 M28}`, one requirement a line
          spec/clauses.json    every clause with a title
          tests/               the evidence (tools/evidence.py)
Written:  spec/register.json   each requirement with the hash of its sentence as last looked at; retired ids
          spec/trace.json      the snapshot: clause -> requirements, requirement -> evidence
          spec/open.json       clauses and requirements without evidence; it may only shrink
          CONFORMANCE.md       its table of pages, if it is there (tools/conformance.py)

A clause has evidence when a requirement that names it has. The kinds of fault stand in `KINDS`, each with its mend.
`--update` cures three of them; any other stops it before it writes.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import conformance
from tools.evidence import Evidence, read_evidence

ROOT = Path(__file__).resolve().parent.parent
ID = re.compile(r"RK-[A-Z]+-[0-9]{3}")
BEGINNING = re.compile(r"\s*[-*] \*\*RK-")
LINE = re.compile(r"- \*\*(RK-[A-Z]+-[0-9]{3})\*\* (\S.*\S) \{(-|[A-Z][0-9]+(?: [A-Z][0-9]+)*)\}")
KEYWORD = re.compile(r"\b(MUST|SHOULD|MAY)\b")
MENTIONING = ("rukh", "tools", "bench", "demo", "docs", "examples")

KINDS = {
    "malformed": "write it as `- **RK-AREA-NNN** A host MUST … . {D16 M28}` on one line",
    "duplicate": "give the later one a new id",
    "reused": "a retired id is never used again: take a new one",
    "removed": "bring it back, or --retire it",
    "unknown-clause": "name a clause of spec/clauses.json",
    "unknown-requirement": "name a requirement of spec/*.md",
    "uncounted": "put the mark on a test that pytest collects",
    "changed": "look at the tests that cite it, then --accept it",
    "lost": "bring the citation back, or --drop it by name",
    "no-evidence": "write its test: the open list only shrinks",
    "not-open": "it has evidence: --update takes it off the open list",
    "unregistered": "--update enters it",
    "unrecorded": "--update records it",
}
CURED_BY_UPDATE = {"not-open", "unregistered", "unrecorded"}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One normative sentence: where it stands, what it says, the clauses that it serves."""

    id: str
    place: str
    sentence: str
    clauses: tuple[str, ...]

    @property
    def hash(self) -> str:
        """64 bits are enough to notice a change that nobody means to hide."""
        return hashlib.sha256(self.sentence.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Fault:
    """One reason why the gate stays shut: a kind of `KINDS`, and what it is about."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Committed:
    """What earlier runs of --update wrote; empty where nothing was."""

    sentences: dict[str, str]
    retired: list[str]
    clauses: dict[str, list[str]]
    requirements: dict[str, list[str]]
    open_clauses: list[str]
    open_requirements: list[str]
    has_open_list: bool
    conformance: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A source tree as read: the specification, the evidence, and what is committed about both."""

    titles: dict[str, str]
    lines: tuple[Requirement, ...]
    malformed: tuple[str, ...]
    evidence: Evidence
    mentions: tuple[tuple[str, str], ...]
    committed: Committed

    @property
    def requirements(self) -> dict[str, Requirement]:
        return {line.id: line for line in self.lines}

    def evidence_of(self) -> dict[str, list[str]]:
        """Requirement -> its evidence, both sorted; requirements without evidence are absent."""
        found: dict[str, set[str]] = {}
        for citation in self.evidence.citations:
            if citation.requirement in self.requirements:
                found.setdefault(citation.requirement, set()).add(citation.source)
        return {name: sorted(found[name]) for name in sorted(found)}

    def requirements_of(self) -> dict[str, list[str]]:
        """Clause -> the requirements that name it, in the order of the clauses."""
        found: dict[str, set[str]] = {}
        for line in self.lines:
            for clause in line.clauses:
                found.setdefault(clause, set()).add(line.id)
        return {clause: sorted(found[clause]) for clause in self.titles if clause in found}

    def conformance(self) -> str:
        """CONFORMANCE.md with the table of pages as it is now."""
        places = [(line.id, line.place) for line in self.lines]
        found = conformance.rows(places, self.evidence_of())
        return conformance.with_table(self.committed.conformance, found)

    def open_clauses(self) -> list[str]:
        with_evidence = self.evidence_of()
        serving = self.requirements_of()
        return [c for c in self.titles if not any(name in with_evidence for name in serving.get(c, ()))]

    def open_requirements(self) -> list[str]:
        return sorted(self.requirements.keys() - self.evidence_of().keys())


# --- reading -------------------------------------------------------------------------------------------------------


def read_tree(base: Path) -> Tree:
    """Everything that the gate judges, from the tree at `base`."""
    lines, malformed = _read_pages(base)
    titles = _read_json(base / "spec" / "clauses.json").get("clauses", {})
    return Tree(titles, lines, malformed, read_evidence(base), tuple(_mentions(base)), _read_committed(base))


def _read_pages(base: Path) -> tuple[tuple[Requirement, ...], tuple[str, ...]]:
    lines, malformed = [], []
    for path in sorted((base / "spec").glob("*.md")):
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not BEGINNING.match(text):
                continue
            place = f"spec/{path.name}:{number}"
            match = LINE.fullmatch(text)
            if match is None or not KEYWORD.search(match[2]):
                malformed.append(f"{place}: {text[:60]}")
            else:
                clauses = () if match[3] == "-" else tuple(match[3].split())
                lines.append(Requirement(match[1], place, match[2], clauses))
    return tuple(lines), tuple(malformed)


def _mentions(base: Path) -> Iterator[tuple[str, str]]:
    """Every requirement id that code and documents name, with its place."""
    for folder in MENTIONING:
        for path in sorted((base / folder).rglob("*")):
            if path.suffix in (".py", ".md") and path.is_file():
                for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                    for name in ID.findall(text):
                        yield name, f"{path.relative_to(base).as_posix()}:{number}"


def _read_json(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _read_committed(base: Path) -> Committed:
    register = _read_json(base / "spec" / "register.json")
    snapshot = _read_json(base / "spec" / "trace.json")
    opened = _read_json(base / "spec" / "open.json")
    return Committed(
        sentences=register.get("sentences", {}),
        retired=register.get("retired", []),
        clauses=snapshot.get("clauses", {}),
        requirements=snapshot.get("requirements", {}),
        open_clauses=list(opened.get("clauses", {})),
        open_requirements=opened.get("requirements", []),
        has_open_list=bool(opened),
        conformance=_read_text(base / "CONFORMANCE.md"),
    )


# --- the gate ------------------------------------------------------------------------------------------------------


def faults(tree: Tree) -> list[Fault]:
    """Every fault, kind by kind in the order of `KINDS`."""
    found = [fault for rule in RULES for fault in rule(tree)]
    order = list(KINDS)
    return sorted(found, key=lambda fault: order.index(fault.kind))


def _ids(tree: Tree) -> Iterator[Fault]:
    for text in tree.malformed:
        yield Fault("malformed", text)
    for name, count in Counter(line.id for line in tree.lines).items():
        if count > 1:
            places = ", ".join(line.place for line in tree.lines if line.id == name)
            yield Fault("duplicate", f"{name} stands at {places}")
    for line in tree.lines:
        if line.id in tree.committed.retired:
            yield Fault("reused", f"{line.place}: {line.id} was retired")


def _register(tree: Tree) -> Iterator[Fault]:
    sentences = tree.committed.sentences
    for name, line in tree.requirements.items():
        if name not in sentences:
            yield Fault("unregistered", f"{line.place}: {name}")
        elif sentences[name] != line.hash:
            citing = [c.source for c in tree.evidence.citations if c.requirement == name]
            yield Fault("changed", f"{line.place}: {name}, cited by {', '.join(citing) or 'nothing'}")
    for name in sorted(sentences.keys() - tree.requirements.keys()):
        yield Fault("removed", name)


def _references(tree: Tree) -> Iterator[Fault]:
    for line in tree.lines:
        for clause in line.clauses:
            if clause not in tree.titles:
                yield Fault("unknown-clause", f"{line.place}: {line.id} names {clause}")
    for citation in tree.evidence.citations:
        if citation.requirement not in tree.requirements:
            yield Fault("unknown-requirement", f"{citation.source}: {citation.requirement}")
    for name, place in tree.mentions:
        if name not in tree.requirements:
            yield Fault("unknown-requirement", f"{place}: {name}")
    for text in tree.evidence.faults:
        yield Fault("uncounted", text)


def _snapshot(tree: Tree) -> Iterator[Fault]:
    now = _pairs(tree.requirements_of()) | _pairs(tree.evidence_of())
    then = _pairs(tree.committed.clauses) | _pairs(tree.committed.requirements)
    for left, right in sorted(then - now):
        yield Fault("lost", f"{left}={right}")
    if missing := now - then:
        yield Fault("unrecorded", f"{len(missing)} citations, the first {'='.join(min(missing))}")


def _document(tree: Tree) -> Iterator[Fault]:
    if tree.conformance() != tree.committed.conformance:
        yield Fault("unrecorded", "CONFORMANCE.md: its table says something else")


def _pairs(table: dict[str, list[str]]) -> set[tuple[str, str]]:
    return {(left, right) for left, rights in table.items() for right in rights}


def _open_list(tree: Tree) -> Iterator[Fault]:
    committed = tree.committed
    listed = {*committed.open_clauses, *committed.open_requirements}
    actual = {*tree.open_clauses(), *tree.open_requirements()}
    if committed.has_open_list:
        for name in sorted(actual - listed):
            yield Fault("no-evidence", name)
    elif actual:
        yield Fault("unrecorded", "there is no open list yet")
    for name in sorted(listed - actual):
        yield Fault("not-open", name)


RULES: tuple[Callable[[Tree], Iterator[Fault]], ...] = (
    _ids,
    _register,
    _references,
    _snapshot,
    _open_list,
    _document,
)


# --- writing -------------------------------------------------------------------------------------------------------


def update(base: Path) -> list[Fault]:
    """Write register, snapshot and open list from the tree; the faults that forbid it, and then nothing is written."""
    tree = read_tree(base)
    stopping = [fault for fault in faults(tree) if fault.kind not in CURED_BY_UPDATE]
    if not stopping:
        sentences = {name: tree.requirements[name].hash for name in sorted(tree.requirements)}
        _write_register(base, sentences, tree.committed.retired)
        _write_snapshot(base, tree.requirements_of(), tree.evidence_of())
        _write_open(base, {c: tree.titles[c] for c in tree.open_clauses()}, tree.open_requirements())
        if tree.committed.conformance:
            (base / "CONFORMANCE.md").write_text(tree.conformance(), encoding="utf-8")
    return stopping


def accept(base: Path, names: Sequence[str]) -> list[Fault]:
    """Enter the present sentence of each id as looked at; an id that no page holds is a fault and changes nothing."""
    tree = read_tree(base)
    unknown = [Fault("unknown-requirement", name) for name in names if name not in tree.requirements]
    if not unknown:
        changed = {name: tree.requirements[name].hash for name in names}
        _write_register(base, {**tree.committed.sentences, **changed}, tree.committed.retired)
    return unknown


def retire(base: Path, names: Sequence[str]) -> list[Fault]:
    """Move ids that left their page to the retired ones, with their citations; one that still stands is a fault."""
    tree = read_tree(base)
    standing = [
        Fault("reused", f"{tree.requirements[name].place}: {name}")
        for name in names
        if name in tree.requirements
    ]
    if standing:
        return standing
    committed = tree.committed
    sentences = {name: value for name, value in committed.sentences.items() if name not in names}
    _write_register(base, sentences, sorted({*committed.retired, *names}))
    clauses = {c: [r for r in rights if r not in names] for c, rights in committed.clauses.items()}
    kept = {name: sources for name, sources in committed.requirements.items() if name not in names}
    _write_snapshot(base, {c: rights for c, rights in clauses.items() if rights}, kept)
    if committed.has_open_list:
        titles = {c: tree.titles[c] for c in committed.open_clauses}
        _write_open(base, titles, [name for name in committed.open_requirements if name not in names])
    return []


def drop(base: Path, pairs: Sequence[str]) -> list[Fault]:
    """Take citations out of the snapshot, each named as `LEFT=RIGHT`; one that is not lost is a fault."""
    tree = read_tree(base)
    lost = {fault.text for fault in _snapshot(tree) if fault.kind == "lost"}
    if wrong := [Fault("lost", f"{pair} is not a lost citation") for pair in pairs if pair not in lost]:
        return wrong
    tables = []
    for table in (tree.committed.clauses, tree.committed.requirements):
        kept = {left: [r for r in rights if f"{left}={r}" not in pairs] for left, rights in table.items()}
        tables.append({left: rights for left, rights in kept.items() if rights})
    _write_snapshot(base, *tables)
    return []


def _write_register(base: Path, sentences: dict[str, str], retired: list[str]) -> None:
    ordered = {name: sentences[name] for name in sorted(sentences)}
    _write(base, "register", {"sentences": ordered, "retired": retired})


def _write_snapshot(base: Path, clauses: dict[str, list[str]], requirements: dict[str, list[str]]) -> None:
    _write(base, "trace", {"clauses": clauses, "requirements": requirements})


def _write_open(base: Path, clauses: dict[str, str], requirements: list[str]) -> None:
    _write(base, "open", {"clauses": clauses, "requirements": requirements})


def _write(base: Path, name: str, document: dict[str, Any]) -> None:
    text = json.dumps({"format": f"rukh.{name}/1", **document}, indent=1, ensure_ascii=False)
    (base / "spec" / f"{name}.json").write_text(text + "\n", encoding="utf-8")


# --- showing -------------------------------------------------------------------------------------------------------


def summary(tree: Tree) -> str:
    """The last line: clauses with evidence of all, requirements with evidence, tests that are evidence."""
    total = len(tree.titles)
    with_evidence = tree.evidence_of()
    tests = {source for sources in with_evidence.values() for source in sources}
    covered = total - len(tree.open_clauses())
    return f"trace: clauses {covered}/{total} requirements {len(with_evidence)} evidence {len(tests)}"


def report(tree: Tree, found: Sequence[Fault]) -> str:
    """What a person reads: faults with their mend, what is open, the kinds of evidence, and the sum as last line."""
    lines: list[str] = []
    for kind, mend in KINDS.items():
        texts = [fault.text for fault in found if fault.kind == kind]
        if texts:
            lines += [f"{kind} ({len(texts)}): {mend}", *(f"  {text}" for text in texts)]
    lines.append(_listing("clauses without evidence", tree.open_clauses()))
    lines.append(_listing("requirements without evidence", tree.open_requirements()))
    lines.append("evidence: named tests, the models by theirs; conformance checks none yet")
    return "\n".join([*lines, summary(tree)])


def _listing(title: str, names: Sequence[str]) -> str:
    return f"{title} {len(names)}: {' '.join(names) or '-'}"


COMMANDS: dict[str, Callable[[Path, Sequence[str]], list[Fault]]] = {
    "--update": lambda base, _: update(base),
    "--accept": accept,
    "--retire": retire,
    "--drop": drop,
}


def main(arguments: Sequence[str], base: Path = ROOT) -> int:
    """Exit status: 0 the gate is open, 1 it is not, 2 the arguments say nothing."""
    if arguments and (arguments[0] not in COMMANDS or (arguments[0] == "--update") != (len(arguments) == 1)):
        print(__doc__)
        return 2
    refused = COMMANDS[arguments[0]](base, arguments[1:]) if arguments else []
    tree = read_tree(base)
    found = refused or faults(tree)
    print(report(tree, found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
