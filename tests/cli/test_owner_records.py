"""The owner's records in the terminal: keys, sources, what is known of a package, and what doctor answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from crashes.scenes import remove
from rukh.store.home import open_home
from rukh.store.store import Store
from tests.support.homes import OWNER_FILE, InstalledHome
from tests.support.releases import Publisher

SCHEMA = Path(__file__).resolve().parents[2] / "spec" / "schemas" / "doctor-1.schema.json"
CODE = """import rukh_sdk


@rukh_sdk.command("add", result="text")
def add(inputs, context):
    return "x"
"""
FILES = {"acme_echo.py": CODE}
REVOKED = "trust.revoked"


class Owned(InstalledHome):
    """A home whose owner's records are asked for, in the words of the program."""

    def answer(self, *words: str) -> Any:
        """What a verb that goes through answers under `--json`."""
        done = self.run(*words, "--json")
        assert (0, b"") == (done.returncode, done.stderr)
        return json.loads(done.stdout)

    def text(self, *words: str) -> str:
        done = self.run(*words)
        assert (0, b"") == (done.returncode, done.stderr)
        return done.stdout.decode()

    def refusal(self, *words: str) -> dict[str, Any]:
        done = self.run(*words, "--json")
        assert b"" == done.stdout and done.returncode
        return {**json.loads(done.stderr)["error"], "status": done.returncode}

    def audited(self, event: str) -> list[tuple[str, str, str]]:
        store = Store(open_home(self.path, create=False))
        rows = store.database.rows("SELECT subject, about, detail FROM audit WHERE event = ?", (event,))
        store.close()
        return [(subject, about, detail) for subject, about, detail in rows]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    base = tmp_path_factory.mktemp("owned") / "made"
    base.mkdir()
    made = InstalledHome(base)
    made.install(FILES)
    made.expose()
    made.publisher.release(made.catalog, made.package, "1.2.0", files=FILES)
    yield base
    remove(base)


@pytest.fixture
def owned(template: Path, tmp_path: Path) -> Iterator[Owned]:
    base = tmp_path / "copy"
    shutil.copytree(template, base, symlinks=True)
    found = Owned.__new__(Owned)
    found.place, found.package, found.path = base, "acme.echo", str(base / "home")
    found.catalog = base / "releases"
    found.text("source", "add", "local", str(found.catalog))
    yield found
    remove(base)


@pytest.fixture
def key(owned: Owned) -> str:
    return str(owned.answer("trust", "list")["keys"][0]["keyId"])


# Keys.


@pytest.mark.requirement("RK-ADM-015")
def test_every_key_is_listed_with_its_state_and_what_it_signed(
    owned: Owned, key: str, tmp_path: Path
) -> None:
    other = Publisher.new(tmp_path / "other")
    owned.text("trust", "add", "acme.other", "--key", str(tmp_path / "other" / "publisher.pub"))
    rows = owned.answer("trust", "list")["keys"]
    assert [("acme.echo", key, None, "1.0.0"), ("acme.other", other.key_id, None, None)] == [
        (row["package"], row["keyId"], row["revokedMs"], row["installed"]) for row in rows
    ]
    assert rows[1:] == owned.answer("trust", "list", "acme.other")["keys"]
    lines = owned.text("trust", "list").splitlines()
    assert lines[0].startswith(f"acme.echo  {key}  trusted since ")
    assert lines[0].endswith(" UTC, signed the installed 1.0.0")
    owned.text("trust", "revoke", "acme.echo", key)
    assert f"{key}  revoked at " in owned.text("trust", "list")
    assert owned.answer("trust", "list")["keys"][0]["revokedMs"] >= rows[0]["addedMs"]


@pytest.mark.requirement("RK-ADM-015")
def test_no_key_and_no_source_are_said_in_words(owned: Owned) -> None:
    assert "No key is trusted for acme.none.\n" == owned.text("trust", "list", "acme.none")
    owned.text("source", "remove", "local")
    assert "There is no source.\n" == owned.text("source", "list")
    assert {"sources": []} == owned.answer("source", "list")


@pytest.mark.requirement("RK-ADM-016", "RK-PUB-031")
@pytest.mark.parametrize("digits", [12, 64])
def test_a_revoked_key_stops_the_calls_of_what_it_signed(owned: Owned, key: str, digits: int) -> None:
    assert b"x\n" == owned.run("run", "acme.echo/add", "x").stdout
    told = owned.text("trust", "revoke", "acme.echo", key[:digits])
    assert key in told and "acme.echo 1.0.0 is signed by it: its calls are refused" in told
    assert "rukh remove acme.echo" in told
    assert "No key is trusted for acme.echo now" in told and "kept as well" not in told
    assert 77 == owned.run("run", "acme.echo/add", "x").returncode
    assert [("user:local", "acme.echo", key)] == owned.audited(REVOKED)
    owned.text("trust", "revoke", "acme.echo", key)  # final already: nothing more is on record
    assert 1 == len(owned.audited(REVOKED))
    assert "RKT068" == owned.refusal("trust", "add", "acme.echo", "--key", public_key(owned))["code"]


def public_key(owned: Owned) -> str:
    return str(owned.place / "keys" / "publisher.pub")


@pytest.mark.requirement("RK-ADM-016")
def test_a_key_is_named_whole_or_by_a_beginning_that_is_its_alone(owned: Owned, key: str) -> None:
    for words, rule in (
        (("acme.echo", key[:11]), "RKT074"),
        (("acme.echo", "0" * 64), "RKT069"),
        (("acme.other", key), "RKT069"),
        (("Acme", key), "RKT054"),
    ):
        assert (64, rule) == tuple(map(owned.refusal("trust", "revoke", *words).get, ("status", "code")))
    store = Store(open_home(owned.path, create=False))
    store.trust.add_key("acme.echo", key[:20] + "0" * 44, "PEM", subject="user:local")
    store.close()
    assert "RKT074" == owned.refusal("trust", "revoke", "acme.echo", key[:20])["code"]
    assert [] == owned.audited(REVOKED)
    assert key == owned.answer("trust", "revoke", "acme.echo", key.upper())["keyId"]


@pytest.mark.requirement("RK-ADM-016")
def test_a_revocation_tells_what_is_kept_and_which_keys_are_left(
    owned: Owned, key: str, tmp_path: Path
) -> None:
    owned.text("update", "acme.echo")
    other = Publisher.new(tmp_path / "other")
    owned.text("trust", "add", "acme.echo", "--key", str(tmp_path / "other" / "publisher.pub"))
    told = owned.answer("trust", "revoke", "acme.echo", key)
    assert ("1.2.0", ["1.0.0"], [other.key_id]) == (told["installed"], told["kept"], told["trusted"])
    text = owned.text("trust", "revoke", "acme.echo", key)
    assert "so that no rollback goes there: 1.0.0\n" in text and "No key is trusted" not in text
    last = owned.text("trust", "revoke", "acme.echo", other.key_id)
    assert "No key is trusted" in last and "kept as well" not in last


# Sources.


@pytest.mark.requirement("RK-ADM-015", "RK-ADM-017")
def test_sources_are_listed_in_their_order_and_one_can_be_taken_off(owned: Owned, tmp_path: Path) -> None:
    owned.text("source", "add", "more", str(tmp_path))
    local = {"source": "local", "location": str(owned.catalog)}
    more = {"source": "more", "location": str(tmp_path)}
    assert [local, more] == owned.answer("source", "list")["sources"]
    assert f"local  {owned.catalog}\nmore  {tmp_path}\n" == owned.text("source", "list")
    assert {"removed": "local"} == owned.answer("source", "remove", "local")
    assert [more] == owned.answer("source", "list")["sources"]
    assert [("user:local", "local", "")] == owned.audited("source.removed")
    assert b"x\n" == owned.run("run", "acme.echo/add", "x").stdout
    refused = owned.refusal("source", "remove", "local")
    assert (64, "RKT073", "local") == (refused["status"], refused["code"], refused["place"])


@pytest.mark.requirement("RK-ADM-020")
def test_a_source_that_takes_a_used_name_says_what_it_replaced(owned: Owned, tmp_path: Path) -> None:
    first = owned.answer("source", "add", "more", str(owned.catalog))
    assert {"source": "more", "location": str(owned.catalog)} == first
    told = owned.answer("source", "add", "more", str(tmp_path))
    assert (str(tmp_path), str(owned.catalog)) == (told["location"], told["replaced"])
    assert f"replaced: {tmp_path}\n" in owned.text("source", "add", "more", "/")


# Packages.


@pytest.mark.requirement("RK-PROF-013")
def test_a_package_that_an_endpoint_names_is_not_removed_and_says_who_names_it(owned: Owned) -> None:
    refused = owned.refusal("remove", "acme.echo")
    assert ("RKP010", "/endpoints/desk/packages") == (refused["code"], refused["place"])
    assert "desk names acme.echo" in refused["message"] and "install it" not in refused["mend"]
    assert "in your profile file and apply that; then remove acme.echo" in refused["mend"]
    named = owned.place / "named.toml"
    text = OWNER_FILE.format(package="acme.echo", calls=1, allowed="*", more="")
    naming = text.replace('packages = ["acme.echo"]', 'commands = ["acme.echo/add"]')
    named.write_text(naming, encoding="utf-8")
    owned.text("profile", "apply", str(named))
    assert "/endpoints/desk/commands" == owned.refusal("remove", "acme.echo")["place"]
    bare = owned.place / "bare.toml"
    bare.write_text('format = "rukh.profile/1"\n', encoding="utf-8")
    owned.text("profile", "apply", str(bare))
    owned.text("remove", "acme.echo")


@pytest.mark.requirement("RK-ADM-021")
def test_a_package_is_described_with_its_origin_the_state_of_its_files_and_what_is_newer(
    owned: Owned,
) -> None:
    found = owned.answer("info", "acme.echo")
    installed = found["installed"]
    assert ("local", "verified") == (installed["from"], installed["files"])
    assert [("1.2.0", True), ("1.0.0", False)] == [(one["version"], one["newer"]) for one in found["offers"]]
    remove(Path(owned.path) / "releases" / installed["tree"])
    assert owned.answer("info", "acme.echo")["installed"]["files"].endswith(": see doctor")
    done = owned.run("run", "acme.echo/add", "x")
    assert b"RKH004" in done.stderr and b"restores it from its source: doctor --fix" in done.stderr
    store = Store(open_home(owned.path, create=False))
    for detail in ('{"source":"other"}', '{"rollback":"x"}'):
        store.trust.record_admission(True, "acme.echo", "1.0.0", detail, subject="user:local")
    assert "other" == owned.answer("info", "acme.echo")["installed"]["from"]
    with store.database.write("FULL") as tx:
        tx.run("DELETE FROM audit")
    store.close()
    assert owned.answer("info", "acme.echo")["installed"]["from"] is None


@pytest.mark.requirement("RK-STORE-006")
@pytest.mark.parametrize("words", [("recover",), ("gc",), ("run", "acme.echo/add", "x"), ("list",)])
def test_a_copy_of_a_home_that_lost_its_empty_directories_works_with_any_verb(
    owned: Owned, words: tuple[str, ...]
) -> None:
    for name in ("run", "keys", "staging", "locks"):
        shutil.rmtree(Path(owned.path) / name)
    done = owned.run(*words)
    assert (0, b"") == (done.returncode, done.stderr)
    assert "Nothing is wrong.\n" == owned.text("doctor")


@pytest.mark.requirement("RK-STORE-002")
def test_a_file_that_is_named_as_the_home_is_refused_as_one(owned: Owned) -> None:
    for path in ("/dev/null", str(owned.catalog / "catalog.json")):
        assert "RKS002" == owned.refusal("--home", path, "list")["code"]
    assert "RKS008" == owned.refusal("--home", str(owned.place / "none"), "list")["code"]


@pytest.mark.requirement("RK-STORE-019")
@pytest.mark.parametrize(
    "words", [("list",), ("gc",), ("acme.echo",), ("run", "acme.echo/add", "x"), ("recover",)]
)
def test_no_verb_makes_a_fresh_home_of_one_whose_database_was_emptied(
    owned: Owned, words: tuple[str, ...]
) -> None:
    database = Path(owned.path) / "db" / "rukh.sqlite3"
    database.write_bytes(b"")
    done = owned.run(*words)
    assert b"RKS006" in done.stderr and done.returncode
    assert b"" == database.read_bytes() and any((Path(owned.path) / "releases").iterdir())


@pytest.mark.requirement("RK-ADM-018")
def test_a_package_is_described_with_its_signer_its_commands_and_its_offers(owned: Owned, key: str) -> None:
    found = owned.answer("info", "acme.echo")
    installed = found["installed"]
    assert ("1.0.0", key, "trusted", "") == tuple(
        installed[name] for name in ("version", "signer", "signerState", "mount")
    )
    (command,) = installed["commands"]
    assert ("acme.echo/add", ["desk"]) == (command["identity"], command["endpoints"])
    assert command["paths"] and all(
        owned.run(*path.split(), "x").stdout == b"x\n" for path in command["paths"]
    )
    assert [("local", "1.2.0"), ("local", "1.0.0")] == [
        (offer["source"], offer["version"]) for offer in found["offers"]
    ]
    owned.text("trust", "revoke", "acme.echo", key)
    assert "revoked" == owned.answer("info", "acme.echo")["installed"]["signerState"]
    assert "signerState: revoked" in owned.text("info", "acme.echo")


@pytest.mark.requirement("RK-ADM-018")
def test_a_package_that_is_only_offered_and_one_that_is_only_installed_are_described(owned: Owned) -> None:
    owned.text("source", "remove", "local")
    assert [] == owned.answer("info", "acme.echo")["offers"]
    owned.text("source", "add", "local", str(owned.catalog))
    bare = owned.place / "bare.toml"
    bare.write_text('format = "rukh.profile/1"\n', encoding="utf-8")
    owned.text("profile", "apply", str(bare))
    owned.text("remove", "acme.echo")
    found = owned.answer("info", "acme.echo")
    assert (None, 2) == (found["installed"], len(found["offers"]))


@pytest.mark.requirement("RK-ADM-018")
def test_an_unknown_package_is_refused_with_the_nearest_name(owned: Owned) -> None:
    refused = owned.refusal("info", "acme.ecco")
    assert (69, "RKT075", "did you mean acme.echo?") == (refused["status"], refused["code"], refused["mend"])
    assert "RKT054" == owned.refusal("info", "acme.echo@1.0.0")["code"]


@pytest.mark.requirement("RK-ADM-018")
def test_a_source_that_cannot_be_read_is_named_and_hides_no_other(owned: Owned, tmp_path: Path) -> None:
    owned.text("source", "add", "bare", str(tmp_path))
    found = owned.answer("info", "acme.echo")
    assert (["bare"], 2) == ([one["source"] for one in found["unread"]], len(found["offers"]))
    refused = owned.refusal("info", "acme.none")
    assert "The source bare could not be read" in refused["mend"]
    assert refused["message"].endswith("offered by a source that can be read")
    owned.text("source", "remove", "bare")
    assert owned.refusal("info", "acme.none")["message"].endswith("offered by a source")


# Doctor.


@pytest.mark.requirement("RK-DOC-005")
def test_doctor_exits_1_as_long_as_an_error_is_left(owned: Owned) -> None:
    assert "Nothing is wrong.\n" == owned.text("doctor")
    lock = Path(owned.path) / "locks" / "hold_x"
    lock.touch()
    assert (
        "locks/hold_x: warning RKU006 the lock of a dead process\n    mend: recover, or doctor --fix\n"
        == (owned.text("doctor"))
    )
    for part in ("releases", "cache"):
        for tree in (Path(owned.path) / part).iterdir():
            remove(tree)
    done = owned.run("doctor")
    assert (1, b"") == (done.returncode, done.stderr)
    assert [b"error", b"warning"] == [line.split()[1] for line in done.stdout.splitlines()[::2]]
    mended = owned.run("doctor", "--fix").stdout.decode().splitlines()
    assert [True, True] == [" mended RKU" in line for line in mended]
    assert "Nothing is wrong.\n" == owned.text("doctor")
    assert b"x\n" == owned.run("run", "acme.echo/add", "x").stdout


@pytest.mark.requirement("RK-DOC-001", "RK-DOC-010")
@pytest.mark.parametrize("fixing", [False, True])
def test_doctor_answers_in_the_published_form(owned: Owned, fixing: bool) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    (Path(owned.path) / "locks" / "hold_x").touch()
    shutil.rmtree(owned.catalog)
    document = owned.answer("doctor", *["--fix"] * fixing)
    assert [] == [error.message for error in Draft202012Validator(schema).iter_errors(document)]
    findings, mended = ([one["rule"] for one in document[name]] for name in ("findings", "mended"))
    assert (["RKU012"], ["RKU006"]) == (findings, mended) if fixing else (["RKU006", "RKU012"], [])
    assert (False, 0, len(findings)) == tuple(document[name] for name in ("clean", "errors", "warnings"))


@pytest.mark.requirement("RK-DOC-006")
def test_doctor_of_no_home_makes_none_and_says_so(tmp_path: Path) -> None:
    nowhere = Owned.__new__(Owned)
    nowhere.path = str(tmp_path / "none")
    done = nowhere.run("doctor", "--json")
    assert (1, b"") == (done.returncode, done.stderr)
    assert ["RKS008"] == [one["rule"] for one in json.loads(done.stdout)["findings"]]
    assert not (tmp_path / "none").exists()
