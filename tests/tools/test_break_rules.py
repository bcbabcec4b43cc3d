"""Each rule stands in production and in a test; and the tool that breaks them one by one breaks and sees."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from rukh.values.rules import RULES
from tools import break_rules
from tools.break_rules import Break, breaks, files_of, naming_tests

ROOT = Path(__file__).resolve().parents[2]
RETIRED = {rule for rule, row in RULES.items() if row[3].startswith("retired: ")}
FUNCTION = '''\
def look(report, value):
    """Raises RKV002."""
    if value:
        raise RukhError(
            "RKV002", "no"
        )
    report.add("RKV003", "é", "twice")
    return ("é", "RKV004") if value else None

TABLE = {"RKD010": "RKV006"}
'''


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of one module and two files of tests, of which one takes a vector file."""
    for folder in ("rukh", "tests/support", "spec/vectors"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "rukh" / "rules.py").write_text('RULES = {"RKV001": ()}\n', encoding="utf-8")
    (tmp_path / "rukh" / "look.py").write_text(FUNCTION, encoding="utf-8")
    (tmp_path / "spec" / "vectors" / "reader.json").write_text('["RKV002"]', encoding="utf-8")
    (tmp_path / "tests" / "test_a.py").write_text('load("reader")\n', encoding="utf-8")
    (tmp_path / "tests" / "test_b.py").write_text(
        'CASES = ["RKV003"]\nOTHER: list[str] = []\n'
        "@mark(CASES)\ndef test_one(): pass\n\ndef test_two(): CASES\n\n"
        'def test_three(): OTHER\n\ndef test_four(): "RKV004"\n',
        encoding="utf-8",
    )
    return tmp_path


@pytest.mark.requirement("RK-PROC-019")
def test_every_rule_that_is_not_retired_is_named_in_production_and_by_a_test() -> None:
    named = {each.rule for each in breaks()}
    assert set(RULES) - RETIRED == named
    assert [] == [rule for rule in sorted(named) if not files_of(rule)]


@pytest.mark.requirement("RK-PROC-019")
def test_a_statement_that_only_refuses_is_taken_out_and_of_any_other_the_rule_is_changed(tree: Path) -> None:
    found = breaks(tree)
    assert [(each.rule, each.kind) for each in sorted(found)] == [
        ("RKD010", "changed"),
        ("RKV002", "taken out"),
        ("RKV003", "taken out"),
        ("RKV004", "changed"),
        ("RKV006", "changed"),
    ]
    broken = {each.rule: each.applied(FUNCTION) for each in found}
    assert all(ast.parse(text) for text in broken.values())
    assert '    if value:\n        pass\n    report.add("RKV003"' in broken["RKV002"]
    assert '        )\n    pass\n    return ("é", "RKV004")' in broken["RKV003"]
    assert all(name not in broken[name] for name in ("RKV003", "RKV004", "RKD010", "RKV006"))


@pytest.mark.requirement("RK-PROC-019")
def test_a_rule_is_changed_into_one_that_ends_as_it_does() -> None:
    lonely = [name for name, row in RULES.items() if [row[2] for row in RULES.values()].count(row[2]) == 1]
    for each in breaks():
        if each.kind == "changed" and each.rule not in lonely:
            changed = set(break_rules._RULE.findall(each.text))
            assert any(RULES[name][2] == RULES[each.rule][2] for name in changed - {each.rule}), each


@pytest.mark.requirement("RK-PROC-019")
def test_the_tests_of_a_rule_are_those_that_name_it_whatever_carries_the_name(tree: Path) -> None:
    assert files_of("RKV002", tree) == ["tests/test_a.py"]
    assert files_of("RKV003", tree) == ["tests/test_b.py"]
    assert files_of("RKV006", tree) == []
    assert naming_tests("RKV003", "tests/test_b.py", tree) == [
        "tests/test_b.py::test_one",
        "tests/test_b.py::test_two",
    ]
    assert naming_tests("RKV004", "tests/test_b.py", tree) == ["tests/test_b.py::test_four"]


@pytest.mark.requirement("RK-PROC-019")
def test_a_break_is_seen_in_a_copy_alone_and_what_no_test_sees_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (seen,) = breaks_of("RKV010")
    before = (ROOT / seen.file).read_text(encoding="utf-8")
    unseen = Break("RKV010", seen.file, 1, 1, before.splitlines(keepends=True)[0], "changed")
    monkeypatch.setattr(break_rules, "breaks", lambda: [seen, unseen])
    monkeypatch.setattr(break_rules.Copy, "_runs", lambda *_: [["tests/values/test_reader.py"]])
    log = tmp_path / "log"
    assert break_rules.main(["--workers", "1", "--out", str(log)]) == 1
    said = capsys.readouterr().out
    assert "unseen, changed: line 1: rukh/values/reader.py RKV010" in said
    assert " seen=1 alike=0 unseen=1 " in said.splitlines()[-1]
    assert '"seen": "tests/values/test_reader.py::' in log.read_text(encoding="utf-8").splitlines()[0]
    assert (ROOT / seen.file).read_text(encoding="utf-8") == before


def breaks_of(rule: str) -> list[Break]:
    return [each for each in breaks() if each.rule == rule]


@pytest.mark.requirement("RK-PROC-019")
def test_production_speaks_of_no_rule_that_there_is_not() -> None:
    named = {
        name
        for path in (ROOT / "rukh").rglob("*.py")
        for name in break_rules._RULE.findall(path.read_text(encoding="utf-8"))
    }
    assert named <= set(RULES)
