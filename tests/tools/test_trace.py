"""The trace gate on miniature trees: one that passes, and one for each fault that differs from it in one place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.trees import write_tree
from tools import conformance, trace

PAGE = """# Values

- **RK-VAL-001** A reader MUST refuse a doubled name. {D03 D15}
- **RK-VAL-002** A reader SHOULD give positions. {-}
"""
TEST = """import pytest

@pytest.mark.requirement("RK-VAL-001")
@pytest.mark.parametrize("text", ["a", "b"])
def test_a_doubled_name_is_refused(text: str) -> None:
    pass

class TestPositions:
    @pytest.mark.requirement("RK-VAL-002")
    def test_a_line_is_given(self) -> None:
        pass
"""
FILES = {
    "spec/values.md": PAGE,
    "spec/clauses.json": json.dumps(
        {"clauses": {"D03": "Unknown formats", "D15": "Null", "Z04": "Outcomes"}}
    ),
    "tests/values/test_reader.py": TEST,
    "rukh/values/reader.py": "# RK-VAL-001\n",
}
DOCUMENT = "# Title\n<!-- written by tools/trace.py --update -->\n<!-- end -->\nAfter\n"
SOURCE = "tests/values/test_reader.py::test_a_doubled_name_is_refused"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A tree whose gate is open."""
    write_tree(tmp_path, FILES)
    assert [] == trace.update(tmp_path)
    return tmp_path


def found(base: Path) -> list[tuple[str, str]]:
    return kinds(trace.faults(trace.read_tree(base)))


def kinds(faults: list[trace.Fault]) -> list[tuple[str, str]]:
    return [(fault.kind, fault.text) for fault in faults]


def edit(base: Path, name: str, old: str, new: str) -> None:
    text = (base / name).read_text(encoding="utf-8")
    assert old in text
    (base / name).write_text(text.replace(old, new, 1), encoding="utf-8")


def document(base: Path, name: str) -> dict[str, object]:
    value: dict[str, object] = json.loads((base / "spec" / f"{name}.json").read_text(encoding="utf-8"))
    return value


@pytest.mark.requirement("RK-PROC-014")
def test_a_whole_tree_passes_and_ends_with_its_sum(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == trace.main([], base)
    assert "trace: clauses 2/3 requirements 2 evidence 2" == capsys.readouterr().out.splitlines()[-1]


def test_the_committed_files_say_what_leads_where(base: Path) -> None:
    assert {
        "format": "rukh.trace/1",
        "clauses": {"D03": ["RK-VAL-001"], "D15": ["RK-VAL-001"]},
        "requirements": {
            "RK-VAL-001": [SOURCE],
            "RK-VAL-002": ["tests/values/test_reader.py::TestPositions::test_a_line_is_given"],
        },
    } == document(base, "trace")
    assert {"format": "rukh.open/1", "clauses": {"Z04": "Outcomes"}, "requirements": []} == document(
        base, "open"
    )
    assert ["RK-VAL-001", "RK-VAL-002"] == list(document(base, "register")["sentences"])  # type: ignore[call-overload]


@pytest.mark.requirement("RK-PROC-018")
def test_the_table_of_conformance_is_written_and_what_surrounds_it_stays(base: Path) -> None:
    write_tree(base, {"CONFORMANCE.md": DOCUMENT})
    assert [] == trace.update(base)

    assert [
        "# Title",
        "<!-- written by tools/trace.py --update -->",
        "| page | areas | requirements | tests | status |",
        "|---|---|---|---|---|",
        "| [values.md](spec/values.md) | RK-VAL | 2 | 2 | evidence for all |",
        "<!-- end -->",
        "After",
    ] == (base / "CONFORMANCE.md").read_text(encoding="utf-8").splitlines()


@pytest.mark.requirement("RK-PROC-018")
def test_a_row_counts_its_tests_once_and_names_what_is_open() -> None:
    places = [("RK-B-001", "spec/b.md:9"), ("RK-A-002", "spec/b.md:3"), ("RK-C-001", "spec/a.md:1")]
    places.append(("RK-B-002", "spec/b.md:10"))
    one = ["tests/x.py::t"]
    found = conformance.rows(places, {"RK-B-001": one, "RK-B-002": one, "RK-C-001": one})

    assert [
        "| [a.md](spec/a.md) | RK-C | 1 | 1 | evidence for all |",
        "| [b.md](spec/b.md) | RK-A RK-B | 3 | 1 | open: RK-A-002 |",
    ] == [row.line() for row in found]


@pytest.mark.requirement("RK-PROC-018")
def test_a_table_that_claims_more_keeps_the_gate_shut(base: Path) -> None:
    write_tree(base, {"CONFORMANCE.md": DOCUMENT})
    assert [] == trace.update(base)
    assert [] == found(base)

    edit(base, "CONFORMANCE.md", "| 2 | 2 |", "| 3 | 3 |")

    assert [("unrecorded", "CONFORMANCE.md: its table says something else")] == found(base)
    assert [] == trace.update(base)
    assert [] == found(base)


# What is edited in the tree that passes: (file, old, new); and every fault that follows.
BREAKS = {
    "a line without clauses": (
        ("spec/values.md", " {-}", ""),
        [
            ("malformed", "spec/values.md:4: - **RK-VAL-002** A reader SHOULD give positions."),
            ("removed", "RK-VAL-002"),
            (
                "unknown-requirement",
                "tests/values/test_reader.py::TestPositions::test_a_line_is_given: RK-VAL-002",
            ),
            ("lost", "RK-VAL-002=tests/values/test_reader.py::TestPositions::test_a_line_is_given"),
        ],
    ),
    "a sentence that binds nobody": (
        ("spec/values.md", "- **RK-VAL-001**", "- **RK-VAL-003** A reader refuses. {D03}\n- **RK-VAL-001**"),
        [("malformed", "spec/values.md:3: - **RK-VAL-003** A reader refuses. {D03}")],
    ),
    "one id on two lines": (
        ("spec/values.md", "# Values\n", "# Values\n- **RK-VAL-002** A reader SHOULD give positions. {-}\n"),
        [("duplicate", "RK-VAL-002 stands at spec/values.md:2, spec/values.md:5")],
    ),
    "an id that went away": (
        ("spec/values.md", "- **RK-VAL-002** A reader SHOULD give positions. {-}\n", ""),
        [
            ("removed", "RK-VAL-002"),
            (
                "unknown-requirement",
                "tests/values/test_reader.py::TestPositions::test_a_line_is_given: RK-VAL-002",
            ),
            ("lost", "RK-VAL-002=tests/values/test_reader.py::TestPositions::test_a_line_is_given"),
        ],
    ),
    "an unknown clause": (
        ("spec/values.md", "{D03 D15}", "{D03 D15 D99}"),
        [
            ("unknown-clause", "spec/values.md:3: RK-VAL-001 names D99"),
        ],
    ),
    "an unknown requirement in a test": (
        ("tests/values/test_reader.py", '"RK-VAL-001"', '"RK-VAL-001", "RK-VAL-009"'),
        [("unknown-requirement", f"{SOURCE}: RK-VAL-009")],
    ),
    "an unknown requirement in code": (
        ("rukh/values/reader.py", "# RK-VAL-001", "# RK-VAL-008"),
        [("unknown-requirement", "rukh/values/reader.py:1: RK-VAL-008")],
    ),
    "a changed sentence": (
        ("spec/values.md", "a doubled name", "every doubled name"),
        [("changed", f"spec/values.md:3: RK-VAL-001, cited by {SOURCE}")],
    ),
    "a test that no longer cites": (
        ("tests/values/test_reader.py", '@pytest.mark.requirement("RK-VAL-001")\n', ""),
        [
            ("lost", f"RK-VAL-001={SOURCE}"),
            ("no-evidence", "D03"),
            ("no-evidence", "D15"),
            ("no-evidence", "RK-VAL-001"),
        ],
    ),
    "a requirement that no longer serves its clause": (
        ("spec/values.md", "{D03 D15}", "{D03}"),
        [("lost", "D15=RK-VAL-001"), ("no-evidence", "D15")],
    ),
    "a new requirement without a test": (
        ("spec/values.md", "# Values\n", "# Values\n- **RK-VAL-003** A reader MUST stop. {-}\n"),
        [
            ("no-evidence", "RK-VAL-003"),
            ("unregistered", "spec/values.md:2: RK-VAL-003"),
        ],
    ),
    "an open clause that has evidence": (
        ("spec/values.md", "{D03 D15}", "{D03 D15 Z04}"),
        [("not-open", "Z04"), ("unrecorded", "1 citations, the first Z04=RK-VAL-001")],
    ),
    "a clause missing from the open list": (
        ("spec/open.json", '"Z04": "Outcomes"', ""),
        [("no-evidence", "Z04")],
    ),
    "a mark on a function that is no test": (
        (
            "tests/values/test_reader.py",
            "class TestPositions",
            '@pytest.mark.requirement("RK-VAL-001")\ndef f(): ...\nclass TestPositions',
        ),
        [("uncounted", "tests/values/test_reader.py:8: pytest does not collect f as a test")],
    ),
    "a mark that computes its id": (
        ("tests/values/test_reader.py", '"RK-VAL-001"', '"RK-VAL-001", str()'),
        [("uncounted", "tests/values/test_reader.py:3: a requirement is cited by literal ids alone")],
    ),
}


@pytest.mark.requirement(
    "RK-PROC-007", "RK-PROC-008", "RK-PROC-009", "RK-PROC-010", "RK-PROC-011", "RK-PROC-012", "RK-PROC-013"
)
@pytest.mark.parametrize("name", BREAKS)
def test_one_break_gives_exactly_its_faults(base: Path, name: str) -> None:
    (path, old, new), expected = BREAKS[name]
    edit(base, path, old, new)

    assert expected == found(base)
    assert 1 == trace.main([], base)


@pytest.mark.requirement("RK-PROC-008")
def test_a_retired_id_stays_retired(base: Path) -> None:
    line = "- **RK-VAL-002** A reader SHOULD give positions. {-}\n"
    assert [("reused", "spec/values.md:4: RK-VAL-002")] == kinds(trace.retire(base, ["RK-VAL-002"]))

    edit(base, "spec/values.md", line, "")
    edit(base, "tests/values/test_reader.py", '@pytest.mark.requirement("RK-VAL-002")', "@pytest.mark.other")
    assert [] == trace.retire(base, ["RK-VAL-002"])
    assert [] == found(base)

    edit(base, "spec/values.md", "# Values\n", "# Values\n" + line.replace("positions", "lines"))
    assert ("reused", "spec/values.md:2: RK-VAL-002 was retired") in found(base)
    assert [("reused", "spec/values.md:2: RK-VAL-002 was retired")] == [
        fault for fault in kinds(trace.update(base)) if fault[0] == "reused"
    ]


@pytest.mark.requirement("RK-PROC-009")
def test_a_changed_sentence_passes_once_it_was_accepted_and_no_refresh_accepts_it(base: Path) -> None:
    edit(base, "spec/values.md", "a doubled name", "every doubled name")
    assert ["changed"] == [fault.kind for fault in trace.update(base)]

    assert [("unknown-requirement", "RK-VAL-007")] == kinds(trace.accept(base, ["RK-VAL-001", "RK-VAL-007"]))
    assert ["changed"] == [kind for kind, _ in found(base)]

    assert [] == trace.accept(base, ["RK-VAL-001"])
    assert [] == found(base)


@pytest.mark.requirement("RK-PROC-010")
def test_a_refresh_keeps_the_snapshot_when_a_citation_is_lost(base: Path) -> None:
    before = document(base, "trace")
    edit(
        base,
        "tests/values/test_reader.py",
        "test_a_doubled_name_is_refused",
        "test_a_doubled_member_is_refused",
    )

    assert [("lost", f"RK-VAL-001={SOURCE}")] == kinds(trace.update(base))
    assert before == document(base, "trace")


@pytest.mark.requirement("RK-PROC-010")
def test_a_lost_citation_is_given_up_by_its_name_alone(base: Path) -> None:
    edit(
        base,
        "tests/values/test_reader.py",
        "test_a_doubled_name_is_refused",
        "test_a_doubled_member_is_refused",
    )
    other = "RK-VAL-002=tests/values/test_reader.py::TestPositions::test_a_line_is_given"

    assert [("lost", f"{other} is not a lost citation")] == kinds(trace.drop(base, [other]))
    assert [] == trace.drop(base, [f"RK-VAL-001={SOURCE}"])
    assert [] == trace.update(base)
    assert [] == found(base)


@pytest.mark.requirement("RK-PROC-012")
def test_a_refresh_takes_off_the_open_list_and_never_adds_to_it(base: Path) -> None:
    edit(base, "spec/values.md", "{D03 D15}", "{D03 D15 Z04}")
    assert [] == trace.update(base)
    assert {} == document(base, "open")["clauses"]

    edit(base, "spec/values.md", "# Values\n", "# Values\n- **RK-VAL-003** A reader MUST stop. {-}\n")
    assert [("no-evidence", "RK-VAL-003")] == kinds(trace.update(base))
    assert [] == document(base, "open")["requirements"]


@pytest.mark.requirement("RK-PROC-011")
def test_a_class_a_module_a_row_and_a_table_count_as_the_test_that_runs_them(base: Path) -> None:
    text = """import pytest
pytestmark = pytest.mark.requirement("RK-VAL-001")
ROWS = [pytest.param(1, marks=pytest.mark.requirement("RK-VAL-002"))]
@pytest.mark.requirement("RK-VAL-002")
class TestAll:
    @pytest.mark.parametrize("n", ROWS)
    def test_one(self) -> None: ...
@pytest.mark.parametrize("n", [pytest.param(2, marks=[pytest.mark.requirement("RK-VAL-002")])])
async def test_two() -> None: ...
UNUSED = [pytest.param(1, marks=pytest.mark.requirement("RK-VAL-002"))]
"""
    write_tree(base, {"tests/test_kinds.py": text, "tests/support/rows.py": text})
    evidence = trace.read_tree(base).evidence

    assert {
        ("RK-VAL-001", "tests/test_kinds.py"),
        ("RK-VAL-002", "tests/test_kinds.py::ROWS"),
        ("RK-VAL-002", "tests/test_kinds.py::TestAll"),
        ("RK-VAL-002", "tests/test_kinds.py::test_two"),
    } == {(c.requirement, c.source) for c in evidence.citations if "test_kinds" in c.source}
    assert ("tests/test_kinds.py:10: pytest does not collect UNUSED as a test") in evidence.faults
    assert 5 == sum(fault.startswith("tests/support/rows.py") for fault in evidence.faults)


ARGUMENTS = {
    "an unknown word": ["--renew"],
    "an id to accept is missing": ["--accept"],
    "a refresh of one id": ["--update", "RK-VAL-001"],
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_that_say_nothing_change_nothing(base: Path, name: str) -> None:
    assert 2 == trace.main(ARGUMENTS[name], base)
    assert 0 == trace.main(["--update"], base)
