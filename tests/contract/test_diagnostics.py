"""Diagnostics: order, text and JSON."""

from __future__ import annotations

import pytest

from rukh.contract.descriptor import check
from rukh.contract.diagnostics import (
    Diagnostic,
    counts,
    has_errors,
    in_order,
    render_json,
    render_list,
    render_text,
)

TEXT = b"""{
  "format": "rukh.extension/2",
  "package": "Acme",
  "version": "1.0.0",
  "runtime": {"kind": "pythn"},
  "commands": [],
  "licence": "MIT"
}
"""
EXPECTED = [
    ("RKD007", "/package", 3, 14),
    ("RKD006", "/runtime/kind", 5, 23),
    ("RKD013", "/commands", 6, 15),
    ("RKD003", "/licence", 7, 3),
]


@pytest.mark.requirement("RK-DESC-002", "RK-DESC-003")
def test_every_fault_is_found_in_one_run_and_stands_in_order_of_place() -> None:
    found = check(TEXT).diagnostics
    assert [(one.rule, one.pointer, one.line, one.column) for one in found] == EXPECTED


@pytest.mark.requirement("RK-DESC-003")
def test_text_names_place_severity_rule_message_and_mend() -> None:
    lines = render_text("x/rukh-extension.json", check(TEXT).diagnostics).splitlines()
    assert len(lines) == 2 * len(EXPECTED)
    assert lines[2] == (
        "x/rukh-extension.json:5:23: error RKD006 'pythn' is not one of those known here at /runtime/kind"
    )
    assert lines[3] == '    mend: did you mean "python"?'


@pytest.mark.requirement("RK-DESC-003")
def test_json_says_the_same_as_text() -> None:
    found = check(TEXT).diagnostics
    document = render_json("f", found)
    assert (document["format"], document["file"], document["clean"]) == ("rukh.diagnostics/1", "f", False)
    assert document["diagnostics"][1] == {
        "rule": "RKD006",
        "severity": "error",
        "pointer": "/runtime/kind",
        "line": 5,
        "column": 23,
        "message": "'pythn' is not one of those known here",
        "mend": 'did you mean "python"?',
    }
    text = render_text("f", found)
    assert all(row["message"] in text and row["mend"] in text for row in document["diagnostics"])


@pytest.mark.requirement("RK-DESC-003")
def test_a_clean_file_prints_nothing() -> None:
    assert render_text("f", []) == ""
    assert render_json("f", []) == {
        "format": "rukh.diagnostics/1",
        "file": "f",
        "clean": True,
        "diagnostics": [],
    }


@pytest.mark.requirement("RK-DESC-003")
def test_a_hostile_name_cannot_steer_the_terminal() -> None:
    text = render_text("f", check(b'{"format": "rukh.extension/2", "a\\u001b[2J\\u2028b": 1}').diagnostics)
    assert "\x1b" not in text
    assert "\u2028" not in text
    assert "/a\\u001b[2J\\u2028b" in text


def test_findings_at_one_place_are_ordered_by_rule() -> None:
    later = Diagnostic("RKD010", "", 1, 1, "b", "b")
    first = Diagnostic("RKD004", "", 1, 1, "a", "a")
    assert in_order([later, first]) == [first, later]
    assert has_errors([first])
    assert not has_errors([])


ERROR = Diagnostic("RKD012", "/title", 4, 12, "it is empty", "write some")
WARNING = Diagnostic("RKW002", "/commands/0", 7, 5, "no title", "add one")
IN_CODE = Diagnostic("RKK008", "/commands/0/execute/mapping/entry", 3, 1, "unbound", "bind it", "x/code.py")


@pytest.mark.requirement("RK-CHECK-011")
def test_what_lies_in_the_code_stands_behind_the_descriptor_at_its_own_file() -> None:
    assert [ERROR, WARNING, IN_CODE] == in_order([IN_CODE, WARNING, ERROR])
    assert render_text("x/d.json", [IN_CODE]).startswith(
        "x/code.py:3:1: error RKK008 unbound at /commands/0/"
    )
    assert "x/code.py" == render_json("x/d.json", [IN_CODE])["diagnostics"][0]["file"]
    assert "file" not in render_json("x/d.json", [ERROR])["diagnostics"][0]


@pytest.mark.requirement("RK-CHECK-004")
def test_a_list_holds_the_object_of_each_document_and_the_numbers() -> None:
    files = [("a", [ERROR, WARNING, IN_CODE]), ("b", [])]
    document = render_list(files)
    assert {"format": "rukh.check/1", "clean": False, "errors": 2, "warnings": 1} == {
        name: value for name, value in document.items() if name != "files"
    }
    assert [render_json(file, found) for file, found in files] == document["files"]
    assert render_list([("b", [])])["clean"]
    assert not render_list([("b", [WARNING])])["clean"]


def test_errors_and_warnings_are_counted_apart() -> None:
    assert (2, 1) == counts([ERROR, WARNING, IN_CODE])
    assert has_errors([WARNING, ERROR])
    assert not has_errors([WARNING])
