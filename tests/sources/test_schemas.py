"""The published JSON Schemas accept the documents that are written here and refuse what the readers refuse."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rukh.sources.release import build
from tests.sources import test_catalog, test_dsse, test_release
from tests.support.releases import Publisher

SCHEMAS = Path(__file__).resolve().parents[2] / "spec" / "schemas"


def schema(name: str) -> Draft202012Validator:
    document = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(document)
    return Draft202012Validator(document)


RELEASE, CATALOG, DSSE = (
    schema("release-1.schema.json"),
    schema("catalog-1.schema.json"),
    schema("dsse.schema.json"),
)

# What no schema can say (an order between members, a version twice), and what Python's `$` overlooks (a final LF).
LOOSER = {"expired when issued", "a version twice", "base64 with a line feed"}


@pytest.mark.requirement("RK-TRUST-004", "RK-TRUST-008", "RK-TRUST-011")
@pytest.mark.parametrize("expires", [None, 1_900_000_000_000])
def test_what_is_signed_and_catalogued_here_has_the_published_form(
    tmp_path: Path, publisher: Publisher, expires: int | None
) -> None:
    artifact = publisher.release(tmp_path / "catalog", version="1.2.0-rc.1", expires=expires)

    envelope = json.loads(Path(f"{artifact}.dsse.json").read_text())
    DSSE.validate(envelope)
    RELEASE.validate(json.loads(base64.b64decode(envelope["payload"])))
    CATALOG.validate(json.loads((tmp_path / "catalog" / "catalog.json").read_text()))


@pytest.mark.requirement("RK-TRUST-004", "RK-TRUST-005")
@pytest.mark.parametrize("case", [*test_dsse.WRONG, *test_dsse.RIGHT])
def test_schema_and_reader_agree_about_envelopes(publisher: Publisher, case: str) -> None:
    wrong = case in test_dsse.WRONG
    change: dict[str, Any] = test_dsse.WRONG[case][1] if wrong else test_dsse.RIGHT[case]

    assert (not wrong or case in LOOSER) == DSSE.is_valid(test_dsse.envelope(publisher) | change)


@pytest.mark.requirement("RK-TRUST-008")
@pytest.mark.parametrize("case", test_release.WRONG)
def test_schema_and_reader_agree_about_statements(case: str) -> None:
    document = json.loads(build(test_release.GOOD))

    assert RELEASE.is_valid(document)
    assert (case in LOOSER) == RELEASE.is_valid(document | test_release.WRONG[case])


@pytest.mark.requirement("RK-TRUST-011", "RK-TRUST-012")
@pytest.mark.parametrize("case", sorted(set(test_catalog.WRONG) - {"no JSON", "a name twice"}))
def test_schema_and_reader_agree_about_catalogs(case: str) -> None:
    assert CATALOG.is_valid(json.loads(test_catalog.catalog(test_catalog.ENTRY)))
    assert (case in LOOSER) == CATALOG.is_valid(json.loads(test_catalog.WRONG[case][1]))
