"""Tool names: every vector is judged here by hashlib and json alone, then the code is held to the vectors."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukh.contract.names import fingerprint, parse_tool_name, slug, tool_name
from tests.contract.documents import ROOT, load
from tests.support import vectors

VECTORS = load("spec/vectors/tool-names.json")
NAMES = VECTORS["names"]


def plain_fingerprint(row: dict[str, str]) -> str:
    """The fingerprint without any code of ours: for ASCII strings compact JSON is canonical JSON."""
    array = ["rukh.mcp-tool/1", row["namespace"], row["revision"], row["identity"]]
    return hashlib.sha256(json.dumps(array, separators=(",", ":")).encode()).hexdigest()


@pytest.mark.requirement("RK-NAME-001")
def test_the_vectors_hold_by_public_means_alone() -> None:
    assert len(NAMES) == 12
    for row in NAMES:
        assert row["fingerprint"] == plain_fingerprint(row)
        assert row["name"] == f"{row['slug']}__{row['fingerprint']}"


@pytest.mark.requirement("RK-NAME-001", "RK-NAME-002")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("row", NAMES, ids=lambda row: row["slug"])
def test_a_name_is_slug_and_fingerprint(row: dict[str, str]) -> None:
    parts = (row["namespace"], row["revision"], row["identity"])
    assert row["fingerprint"] == fingerprint(*parts)
    assert row["name"] == tool_name(*parts)
    assert (row["slug"], row["fingerprint"]) == parse_tool_name(row["name"])


@pytest.mark.requirement("RK-NAME-002")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("row", VECTORS["slugs"], ids=lambda row: repr(row["identity"]))
def test_a_slug_is_made_from_any_text(row: dict[str, str]) -> None:
    assert row["slug"] == slug(row["identity"])


WELL_FORMED = {row["title"]: row["name"] for row in VECTORS["wellFormed"]}


@pytest.mark.requirement("RK-NAME-003")
@pytest.mark.parametrize("title", WELL_FORMED)
def test_a_well_formed_name_is_read_whatever_it_stands_for(title: str) -> None:
    name = WELL_FORMED[title]
    assert parse_tool_name(name) == (name[:-66], name[-64:])


@pytest.mark.requirement("RK-NAME-003")
@pytest.mark.requirement("RK-VEC-004")
@pytest.mark.parametrize("row", VECTORS["malformed"], ids=lambda row: str(row["title"]))
def test_a_malformed_name_is_no_name(row: dict[str, str]) -> None:
    assert parse_tool_name(WELL_FORMED[row["sibling"]]) is not None
    assert parse_tool_name(row["name"]) is None


@pytest.mark.requirement("RK-VEC-002")
def test_a_malformed_name_and_its_sibling_differ_in_one_part_or_one_short_span() -> None:
    for row in VECTORS["malformed"]:
        name, sibling = row["name"], WELL_FORMED[row["sibling"]]
        parts, its_parts = name.rpartition("__"), sibling.rpartition("__")
        near = vectors.is_near(name.encode(), sibling.encode())
        assert near or not parts[1] or (parts[0] == its_parts[0]) != (parts[2] == its_parts[2]), row["title"]


@pytest.mark.requirement("RK-NAME-003")
def test_a_name_is_read_from_its_end_whatever_the_slug_holds() -> None:
    tail = NAMES[0]["fingerprint"]
    assert parse_tool_name(f"a__{'0' * 40}__{tail}") == (f"a__{'0' * 40}", tail)


@pytest.mark.requirement("RK-NAME-004")
def test_every_part_changes_the_name() -> None:
    assert len({row["name"] for row in NAMES}) == len(NAMES)
    first = NAMES[0]
    for part in ("namespace", "revision", "identity"):
        other = {**first, part: first[part] + "x"}
        assert tool_name(other["namespace"], other["revision"], other["identity"]) != first["name"]


@pytest.mark.requirement("RK-NAME-004")
def test_two_identities_with_one_slug_have_two_names() -> None:
    twins = [row for row in NAMES if row["slug"] == "acme-no-tes-add"]
    assert [row["identity"] for row in twins] == ["acme.no-tes/add", "acme.no.tes/add"]
    assert twins[0]["fingerprint"] != twins[1]["fingerprint"]


@pytest.mark.requirement("RK-NAME-002")
@given(st.text())
def test_a_slug_is_always_short_and_plain(text: str) -> None:
    assert re.fullmatch(r"[a-z0-9_-]{1,48}", slug(text))


@pytest.mark.requirement("RK-NAME-001", "RK-NAME-002")
def test_the_page_computes_one_name_with_public_tools() -> None:
    """Each shell line of the page prints what the block behind it says, and together they are the name."""
    page = (ROOT / "docs" / "tool-names.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(sh)?\n(.*?)\n```", page, re.DOTALL)
    printed = []
    for (kind, line), (_, said) in pairwise(blocks):
        if kind == "sh":
            run = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
            assert run.stdout.strip() == said
            printed.append(said)
    digest, words = printed
    first = NAMES[0]
    assert f"{words}__{digest}" == tool_name(first["namespace"], first["revision"], first["identity"])
    assert f"{words}__{digest}" in page
    assert NAMES[1]["name"] in page
