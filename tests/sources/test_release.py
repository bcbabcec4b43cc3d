"""The release statement and the tree digest."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from rukh.sources.release import Release, build, parse, tree_digest
from rukh.values.errors import RukhError

GOOD = Release("acme.notes", "1.2.0", 20480, "a" * 64, "b" * 64, "c" * 64, issued_at=1000)


@pytest.mark.requirement("RK-TRUST-008")
@pytest.mark.parametrize("release", [GOOD, replace(GOOD, expires=1001), replace(GOOD, version="1.0.0-rc.1")])
def test_a_statement_is_read_as_it_was_built(release: Release) -> None:
    assert release == parse(build(release))


@pytest.mark.requirement("RK-TRUST-008")
def test_the_bytes_of_a_statement_are_canonical() -> None:
    expected = (
        f'{{"artifact":{{"sha256":"{GOOD.artifact}","size":20480}},"descriptor":{{"sha256":"{GOOD.descriptor}"}},'
        '"format":"rukh.release/1","issuedAt":1000,"package":"acme.notes",'
        f'"tree":{{"sha256":"{GOOD.tree}"}},"version":"1.2.0"}}'
    )

    assert expected.encode() == build(GOOD)


# What replaces a member of a good statement; all are refused alike.
WRONG: dict[str, dict[str, Any]] = {
    "another format": {"format": "rukh.release/2"},
    "a member more": {"note": "x"},
    "no package name": {"package": "notes"},
    "a package too long": {"package": "a" * 60 + ".bcdef"},
    "no version": {"version": "1.2"},
    "build metadata": {"version": "1.2.0+x"},
    "an artifact that is no object": {"artifact": "a" * 64},
    "an artifact without its size": {"artifact": {"sha256": "a" * 64}},
    "a size below zero": {"artifact": {"sha256": "a" * 64, "size": -1}},
    "a size that is a text": {"artifact": {"sha256": "a" * 64, "size": "1"}},
    "a size that is true": {"artifact": {"sha256": "a" * 64, "size": True}},
    "a size with a fraction": {"artifact": {"sha256": "a" * 64, "size": 1.5}},
    "a digest in capitals": {"descriptor": {"sha256": "B" * 64}},
    "a digest too short": {"tree": {"sha256": "c" * 63}},
    "a second digest": {"tree": {"sha256": "c" * 64, "sha512": "c"}},
    "expired when issued": {"expires": 1000},
    "an expiry that is null": {"expires": None},
    "a date in words": {"issuedAt": "2030-01-01"},
}


@pytest.mark.requirement("RK-TRUST-008")
@pytest.mark.parametrize("case", WRONG)
def test_a_statement_of_another_form_is_refused(case: str) -> None:
    document = json.loads(build(GOOD)) | WRONG[case]

    with pytest.raises(RukhError) as error:
        parse(json.dumps(document).encode())
    assert ("RKT010", 66) == (error.value.rule, error.value.exit_code)


@pytest.mark.requirement("RK-TRUST-008")
@pytest.mark.parametrize(
    "name", ["format", "package", "version", "artifact", "descriptor", "tree", "issuedAt"]
)
def test_a_statement_without_one_of_its_members_is_refused(name: str) -> None:
    document = json.loads(build(GOOD))
    del document[name]

    with pytest.raises(RukhError) as error:
        parse(json.dumps(document).encode())
    assert "RKT010" == error.value.rule


@pytest.mark.requirement("RK-TRUST-009")
def test_the_tree_digest_is_that_of_the_canonical_rows_sorted_by_bytes() -> None:
    """U+FF5E sorts before U+1F600 by UTF-8 bytes and behind it by UTF-16 code units."""
    one, two = sha256(b"1").hexdigest(), sha256(b"22").hexdigest()
    rows = [
        ("\U0001f600", "755", 2, two),
        ("b", "644", 1, one),
        ("\uff5e", "644", 1, one),
        ("a/z", "644", 2, two),
    ]
    text = f'[["a/z","644",2,"{two}"],["b","644",1,"{one}"],["\uff5e","644",1,"{one}"],["\U0001f600","755",2,"{two}"]]'

    assert sha256(text.encode()).hexdigest() == tree_digest(rows) == tree_digest(reversed(rows))


@pytest.mark.requirement("RK-TRUST-009")
@pytest.mark.parametrize(
    "row",
    [
        ("b", "644", 1, "0" * 64),
        ("a", "755", 1, "0" * 64),
        ("a", "644", 2, "0" * 64),
        ("a", "644", 1, "1" * 64),
    ],
    ids=["path", "mode", "size", "content"],
)
def test_any_change_of_a_file_changes_the_tree_digest(row: tuple[str, str, int, str]) -> None:
    assert tree_digest([("a", "644", 1, "0" * 64)]) != tree_digest([row])
