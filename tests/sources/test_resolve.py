"""Which release a request means."""

from __future__ import annotations

import pytest

from rukh.sources.catalog import Offer
from rukh.sources.directory import DirectorySource
from rukh.sources.resolve import Found, Request, parse_request, resolve
from rukh.values.errors import RukhError

FIRST, SECOND = DirectorySource("first", "/a"), DirectorySource("second", "/b")
# From the precedence chapter of SemVer 2.0.0, lowest first.
PRECEDENCE = (
    "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1"
    " 1.0.0 1.0.1 1.2.0 1.10.0"
).split()


def found(version: str, source: DirectorySource = FIRST, digest: str = "a") -> Found:
    return Found(source, Offer("acme.notes", version, "x", 1, digest * 64, "y"))


def chosen(request: str, *versions: str, prereleases: bool = False) -> str:
    offers = [found(version) for version in versions]
    return resolve(parse_request(request), offers, prereleases=prereleases).offer.version


@pytest.mark.requirement("RK-TRUST-026")
@pytest.mark.parametrize("number", range(1, len(PRECEDENCE)))
def test_the_highest_version_is_chosen_by_the_precedence_of_semver(number: int) -> None:
    lower, higher = PRECEDENCE[number - 1 : number + 1]

    assert higher == chosen("acme.notes", lower, higher, prereleases=True)
    assert higher == chosen("acme.notes", higher, lower, prereleases=True)


@pytest.mark.requirement("RK-TRUST-026")
@pytest.mark.parametrize(
    ("request_text", "prereleases", "expected"),
    [
        ("acme.notes", False, "1.1.0"),
        ("acme.notes", True, "1.2.0-rc.1"),
        ("acme.notes@1.2.0-rc.1", False, "1.2.0-rc.1"),
        ("acme.notes@1.0.0", False, "1.0.0"),
    ],
)
def test_a_prerelease_is_chosen_only_when_it_is_asked_for(
    request_text: str, prereleases: bool, expected: str
) -> None:
    assert expected == chosen(request_text, "1.0.0", "1.2.0-rc.1", "1.1.0", prereleases=prereleases)


@pytest.mark.requirement("RK-TRUST-026")
@pytest.mark.parametrize(
    ("request_text", "versions", "rule"),
    [
        ("acme.notes", [], "RKT051"),
        ("acme.notes@1.0.0", [], "RKT051"),
        ("acme.notes@1.0.0", ["1.0.1"], "RKT052"),
        ("acme.notes", ["1.0.0-rc.1"], "RKT052"),
    ],
)
def test_what_nobody_offers_is_not_replaced_by_something_near(
    request_text: str, versions: list[str], rule: str
) -> None:
    with pytest.raises(RukhError) as error:
        chosen(request_text, *versions)
    assert (rule, 69) == (error.value.rule, error.value.exit_code)


@pytest.mark.requirement("RK-TRUST-052", "RK-VAL-004")
@pytest.mark.parametrize(
    ("asked", "mend"),
    [
        ("acme.note", "did you mean acme.notes?"),
        ("acmee.notes", "did you mean acme.notes?"),
        ("acme.nothing", "add a source that has it"),
        ("amce.note", "add a source that has it"),
    ],
)
def test_the_offered_package_that_was_meant_is_named_and_never_taken(asked: str, mend: str) -> None:
    with pytest.raises(RukhError) as error:
        chosen(asked, "1.0.0")
    assert ("RKT051", mend) == (error.value.rule, error.value.mend)


@pytest.mark.requirement("RK-TRUST-027")
def test_of_sources_that_offer_the_same_bytes_the_first_is_used_and_of_others_none() -> None:
    request = Request("acme.notes", None)
    agreed = [found("1.0.0"), found("1.1.0", SECOND), found("1.1.0", FIRST)]

    assert "second" == resolve(request, agreed, prereleases=False).source.name
    assert (
        "1.1.0" == resolve(request, [*agreed, found("1.0.0", SECOND, "b")], prereleases=False).offer.version
    )
    with pytest.raises(RukhError) as error:
        resolve(request, [*agreed, found("1.1.0", SECOND, "b")], prereleases=False)
    assert "RKT053" == error.value.rule


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("acme.notes", Request("acme.notes", None)),
        ("acme.notes@1.2.0-rc.1", Request("acme.notes", "1.2.0-rc.1")),
        ("acme.notes@", None),
        ("acme.notes@latest", None),
        ("acme.notes@1.2.0@1.2.0", None),
        ("acme.notes@1.2.0+linux", None),
        ("acme.notes@01.2.0", None),
        ("notes", None),
        ("", None),
        ("../acme.notes", None),
    ],
)
def test_a_request_names_a_package_and_perhaps_a_version(text: str, expected: Request | None) -> None:
    if expected is not None:
        assert expected == parse_request(text)
    else:
        with pytest.raises(RukhError) as error:
            parse_request(text)
        assert "RKT054" == error.value.rule
