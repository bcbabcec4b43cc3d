"""`mcp tools --explain`: what it says of a command is what list and call then do, over every way to be no tool."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rukh.contract import candidate, policy, projection
from rukh.contract.descriptor import check
from rukh.host import invocation
from rukh.host.ledger import StoreLedger
from rukh.host.spawner import Spawner
from rukh.mcp import conditions, endpoint
from rukh.mcp.explain import CONDITIONS
from rukh.sources import staging
from rukh.sources.install import Installer
from rukh.values.rules import RULES as RULE_NAMES
from tests.support import echo
from tests.support.homes import InstalledHome
from tests.support.kits import (
    NOW,
    PACKAGE,
    RULES,
    SCHEMA,
    SELECTIONS,
    SPEC,
    Happened,
    Kit,
    condition,
    copied,
    kit_command,
    kit_home,
    misname_preset,
    outgrow_page,
    revoke,
    steps,
    unknown,
    unmet,
    without_interpreter,
)
from tests.support.rawmcp import RawClient
from tests.support.stubs import rows


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kit_home(tmp_path_factory.mktemp("kit"))


@pytest.fixture
def kit(original: Path, tmp_path: Path) -> Iterator[Kit]:
    with copied(original, tmp_path) as found:
        yield found


# name: (what happened, the command, the conditions that are unmet with their rules, tool, admitted)
CASES: dict[str, tuple[Happened, str, dict[str, str], bool, bool]] = {
    "all is well": (lambda kit: kit.apply(), "say", {}, True, True),
    "it may ask, and need not": (lambda kit: kit.apply(), "maybe", {}, True, True),
    "named by itself": (lambda kit: kit.apply(selection="by command"), "say", {}, True, True),
    "not eligible": (lambda kit: kit.apply(), "shy", {"eligible": "RKP011", "listed": "RKM012"}, False, False),
    "says nothing of machines": (
        lambda kit: kit.apply(), "plain", {"eligible": "RKP011", "listed": "RKM012"}, False, False,
    ),
    "needs a person": (
        lambda kit: kit.apply(), "asks", {"interaction": "RKP012", "listed": "RKM012"}, False, False,
    ),
    "an opaque program": (
        lambda kit: kit.apply(),
        "raw",
        {"managed": "RKP013", "eligible": "RKP011", "listed": "RKM012"},
        False,
        False,
    ),
    "reads its input": (
        lambda kit: kit.apply(),
        "reads",
        {"stdin": "RKD028", "eligible": "RKP011", "listed": "RKM012"},
        False,
        False,
    ),
    "declares no result": (
        lambda kit: kit.apply(),
        "mute",
        {"result": "RKD026", "eligible": "RKP011", "listed": "RKM012"},
        False,
        False,
    ),
    "requires no feature": (
        lambda kit: kit.apply(),
        "bare",
        {"eligible": "RKP011", "features": "RKD027", "listed": "RKM012"},
        False,
        False,
    ),
    "the interpreter is gone": (
        steps(lambda kit: kit.apply(), without_interpreter), "say", {"runtime": "RKH001"}, True, False,
    ),
    "wants an operation": (lambda kit: kit.apply(), "wants", {"support": "RKA009"}, True, False),
    "no such command": (lambda kit: kit.apply(), "sya", {"command": "RKP010", "listed": "RKM012"}, False, False),
    "selected by nothing": (
        lambda kit: kit.apply(selection="nothing"),
        "say",
        {"selected": "RKM012", "listed": "RKM012"},
        False,
        False,
    ),
    "another is selected": (
        lambda kit: kit.apply(selection="by command"),
        "maybe",
        {"selected": "RKM012", "listed": "RKM012"},
        False,
        False,
    ),
    "no rule": (lambda kit: kit.apply(rule="allowed to another"), "say", {"rule": "RKA001"}, True, False),
    "a rule denies": (lambda kit: kit.apply(rule="denied"), "say", {"rule": "RKA001"}, True, False),
    "a rule denies another": (lambda kit: kit.apply(rule="denied"), "maybe", {}, True, True),
    "no budget": (lambda kit: kit.apply(calls=0), "say", {"budget": "RKA004"}, True, False),
    "the actor was changed behind the task": (
        steps(lambda kit: kit.apply(), lambda kit: kit.apply(actor="other", issue=False)), "say", {}, True, True,
    ),
    "the signer was revoked": (
        steps(lambda kit: kit.apply(), revoke), "say", {"trusted": "RKA011"}, True, False,
    ),
    "the files are gone": (
        steps(lambda kit: kit.apply(), lambda kit: shutil.rmtree(kit.release())),
        "say",
        {"present": "RKH004", "unmodified": "RKT063"},
        True,
        False,
    ),
    "a file was changed": (
        steps(lambda kit: kit.apply(), lambda kit: kit.spoil("acme_kit.py")),
        "say",
        {"unmodified": "RKT063"},
        True,
        True,
    ),
    "the descriptor was changed": (
        steps(lambda kit: kit.apply(), lambda kit: kit.spoil("rukh-extension.json")),
        "say",
        {"unmodified": "RKT063"},
        True,
        True,
    ),
    "the stored preset has another name": (
        steps(lambda kit: kit.apply(), misname_preset),
        "say",
        {"preset": "RKP009", "listed": "RKS006"},
        False,
        False,
    ),
    "the stored record has outgrown a page": (
        steps(lambda kit: kit.apply(), outgrow_page), "say", {"page": "RKP014"}, True, True,
    ),
    "a stored tool is missing": (
        steps(lambda kit: kit.apply(), lambda kit: kit.run("DELETE FROM tail")),
        "say",
        {"listed": "RKS006"},
        False,
        False,
    ),
}  # fmt: skip


@pytest.mark.requirement("RK-EXPL-001", "RK-EXPL-002", "RK-EXPL-003", "RK-EXPL-004", "RK-EXPL-005")
@pytest.mark.parametrize("case", CASES)
def test_what_is_explained_is_what_list_and_call_do(kit: Kit, case: str) -> None:
    happened, command, expected, tool, admitted = CASES[case]
    happened(kit)
    document = kit.explained(command)
    assert unmet(document) == expected
    assert (document["tool"], document["admitted"]) == (tool, admitted)
    assert document.get("name") == kit.listed(command)
    assert (document["tool"] and kit.admits(command)) is admitted


# Conditions that no case above leaves unmet. condition: (what happened, the identity, the endpoint)
MORE: dict[str, tuple[Happened, str, str]] = {
    "installed": (lambda kit: kit.apply(), "acme.nought/say", "desk"),
    "active": (lambda kit: kit.apply(), "acme.nought/say", "desk"),
    "endpoint": (lambda kit: kit.apply(), "say", "dusk"),
    "task": (lambda kit: kit.run("UPDATE task SET state = 'replaced'"), "say", "desk"),
}
CONDITION_CASES = {
    name: (happened, command, "desk")
    for happened, command, expected, _, _ in CASES.values()
    for name in expected
} | MORE


@pytest.mark.requirement("RK-EXPL-002")
@pytest.mark.parametrize("name", CONDITION_CASES)
def test_an_unmet_condition_names_its_rule_its_place_and_what_mends_it(kit: Kit, name: str) -> None:
    happened, command, served = CONDITION_CASES[name]
    kit.apply()
    assert condition(kit.explained("say"), name)["state"] == "met"
    happened(kit)
    found = condition(kit.explained(command, served), name)
    assert (found["state"], found["rule"] in RULE_NAMES) == ("unmet", True)
    assert all(found[member] for member in ("found", "place", "mend"))


@pytest.mark.requirement("RK-EXPL-001")
def test_each_condition_is_unmet_somewhere_but_the_one_that_no_descriptor_can_leave_unmet() -> None:
    """`format` is, for a descriptor of format 1, below; no descriptor can name another lifetime."""
    assert set(CONDITION_CASES) | {"format", "foreground"} == {name for name, *_ in CONDITIONS}
    command = kit_command("say", execute={"lifetime": "foreground"})
    document = {
        "format": "rukh.extension/2",
        "package": PACKAGE,
        "version": "1.0.0",
        "runtime": {"kind": "python"},
        "commands": [command],
    }
    assert check(json.dumps(document).encode()).diagnostics == []
    command["execute"]["lifetime"] = "background"
    (found,) = check(json.dumps(document).encode()).diagnostics
    assert (found.rule, found.pointer) == ("RKD006", "/commands/0/execute/lifetime")


@pytest.mark.requirement("RK-EXPL-001")
def test_the_walk_is_the_table_of_the_page_whatever_is_asked(kit: Kit) -> None:
    kit.apply()
    page = (SPEC / "explain.md").read_text("utf-8")
    order = re.findall(r"^\| `([a-z]+)` \| the (?:next )?([a-z]+) \|", page, re.MULTILINE)
    assert [(name, decides) for name, decides, _, _ in CONDITIONS] == order
    for command, served in [
        ("say", "desk"),
        ("sya", "desk"),
        ("say", "nowhere"),
        ("acme.none/x", "nowhere"),
    ]:
        document = kit.explained(command, served)
        assert [each["condition"] for each in document["conditions"]] == [name for name, _ in order]


@pytest.mark.requirement("RK-EXPL-006", "RK-EXPL-008")
def test_what_is_not_there_is_explained_too(kit: Kit) -> None:
    """Nothing installed, nothing selected: what can be looked at is, and the rest is unknown, never met."""
    kit.apply()
    stranger = kit.explained("acme.nought/say")
    assert unmet(stranger) == {
        "trusted": "RKT008", "installed": "RKP010", "active": "RKP010", "listed": "RKM012",
    }  # fmt: skip
    met = {"endpoint", "preset", "task", "budget"}
    assert unknown(stranger) == {name for name, *_ in CONDITIONS} - set(unmet(stranger)) - met
    assert "install acme.nought" in condition(stranger, "installed")["mend"]
    typo = kit.explained("acme.kti/say")
    assert condition(typo, "active")["mend"] == "did you mean acme.kit?"
    assert condition(kit.explained("sya"), "command")["mend"] == "did you mean acme.kit/say?"
    nowhere = kit.explained("say", "dusk")
    assert unmet(nowhere) == {"endpoint": "RKA005"}
    assert "it has desk" in condition(nowhere, "endpoint")["found"]


@pytest.mark.requirement("RK-EXPL-008")
def test_a_package_that_was_removed_is_in_the_home_and_not_active(kit: Kit) -> None:
    kit.apply(selection="nothing")
    Installer(StoreLedger(kit.store), kit.store.home, lambda: NOW).remove(PACKAGE)
    document = kit.explained("say")
    assert condition(document, "installed")["state"] == "met"
    assert condition(document, "active")["state"] == "unmet"
    assert not document["tool"]


@pytest.mark.requirement("RK-EXPL-002")
def test_the_rule_that_decides_is_named_by_its_number(kit: Kit) -> None:
    kit.apply(rule="denied")
    denied, allowed = condition(kit.explained("say"), "rule"), condition(kit.explained("maybe"), "rule")
    assert (denied["place"], "in front of rule 1" in denied["mend"]) == ("/rules/0", True)
    assert allowed["found"] == "rule 2 allows agent:desk"
    kit.apply(rule="allowed to another")
    nobody = condition(kit.explained("say"), "rule")
    assert (nobody["place"], 'actors = ["agent:desk"]' in nobody["mend"]) == ("/rules", True)


@pytest.mark.requirement("RK-EXPL-002")
def test_without_a_task_the_rule_is_asked_for_whom_a_task_would_bind(kit: Kit) -> None:
    kit.apply(issue=False)
    document = kit.explained("say")
    assert unmet(document) == {"task": "RKA002"}
    assert condition(document, "task")["mend"] == "issue one: rukh task issue --endpoint desk"
    assert condition(document, "rule")["found"] == "rule 1 allows agent:desk"
    assert (document["tool"], document["admitted"]) == (True, False)


@pytest.mark.requirement("RK-EXPL-004")
def test_a_budget_that_is_used_up_and_a_window_that_passed_are_seen_as_a_call_sees_them(kit: Kit) -> None:
    kit.apply(calls=1)
    assert kit.admits("say")
    assert (kit.explained("say")["admitted"], kit.admits("say")) == (False, False)
    kit.run(f"UPDATE task SET window_ms = 1000, window_from_ms = {NOW - 1000} WHERE state = 'active'")
    assert condition(kit.explained("say"), "budget")["found"] == "0 of 1 calls used"
    kit.run(f"UPDATE task SET window_from_ms = {NOW - 999} WHERE state = 'active'")
    assert unmet(kit.explained("say")) == {"budget": "RKA004"}


@pytest.mark.requirement("RK-EXPL-001", "RK-EXPL-002")
@pytest.mark.parametrize("number", [1, 2])
def test_a_descriptor_of_format_1_has_no_machine_contract_and_is_named_as_the_reason(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = InstalledHome(tmp_path, PACKAGE)
    home.install(
        {"acme_kit.py": ""}, commands=[kit_command("say", result=False)], format=f"rukh.extension/{number}"
    )
    kit = Kit(Path(home.path), monkeypatch)
    kit.apply()
    document = kit.explained("say")
    of_format = {"format": "RKP011"} if number == 1 else {}
    expected = {**of_format, "result": "RKD026", "eligible": "RKP011", "listed": "RKM012"}
    assert (unmet(document), kit.listed("say")) == (expected, None)
    kit.store.close()


SETTINGS = st.fixed_dictionaries(
    {
        "calls": st.sampled_from([0, 1, 100]),
        "actor": st.sampled_from(["desk", "other"]),
        "selection": st.sampled_from(sorted(SELECTIONS)),
        "rule": st.sampled_from(sorted(RULES)),
        "issue": st.booleans(),
    }
)


def spoiled(kit: Kit) -> None:
    """Unless the files are gone already."""
    if kit.release().is_dir():
        kit.spoil("rukh-extension.json")


SINCE: dict[str, Happened] = {
    "revoked": revoke,
    "gone": lambda kit: shutil.rmtree(kit.release()),
    "spoiled": spoiled,
    "no tail": lambda kit: kit.run("DELETE FROM tail"),
    "one export less": lambda kit: kit.run("DELETE FROM export WHERE identity = 'acme.kit/wants'"),
    "replaced": lambda kit: kit.run("UPDATE task SET state = 'replaced'"),
}


@pytest.mark.requirement("RK-EXPL-003", "RK-EXPL-004")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=SETTINGS, then=SETTINGS, since=st.sets(st.sampled_from(sorted(SINCE)), max_size=2))
def test_whatever_the_owner_did_the_explanation_is_what_happens(
    original: Path, tmp_path: Path, first: dict[str, Any], then: dict[str, Any], since: set[str]
) -> None:
    with copied(original, tmp_path) as kit:
        kit.apply(**first)
        kit.apply(**then)
        for name in sorted(since):
            SINCE[name](kit)
        served = kit.store.tasks.of_endpoint("desk") is not None
        for command in ("say", "shy", "raw", "maybe", "wants"):
            document = kit.explained(command)
            if served:
                assert document.get("name") == kit.listed(command)
            assert document["admitted"] is (document["tool"] and kit.admits(command))


@pytest.mark.requirement("RK-EXPL-005")
def test_no_condition_has_a_rule_of_its_own() -> None:
    """Each asks the function that publication, list or call ask: what it refuses there it refuses here."""
    homes: dict[str, Any] = {
        "fitted_tail": candidate,
        "check_preset": candidate,
        "selected_by": candidate,
        "export_conditions": projection,
        "deciding": policy,
        "check_access": invocation,
        "check_support": invocation,
        "release_of": invocation,
        "attach": endpoint,
        "entry_of": endpoint,
        "view_of": endpoint,
        "verify_tree": staging,
    }
    for name, home in homes.items():
        assert vars(conditions)[name] is vars(home)[name]


# Through the program.


@pytest.mark.requirement("RK-EXPL-006", "RK-EXPL-007", "RK-PAR-010")
def test_the_verb_starts_nothing_writes_nothing_and_its_status_is_the_verdict(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    home = InstalledHome(tmp_path)
    home.install(
        {"acme_echo.py": f"open({str(marker)!r}, 'w').close()\n" + echo.MODULE}, commands=echo.commands()
    )
    home.expose(allowed="acme.echo/say")
    tables = (
        "SELECT (SELECT count(*) FROM invocation), (SELECT count(*) FROM audit), "
        "(SELECT sum(calls_used) FROM task)"
    )
    before = rows(home, tables)
    words = ["mcp", "tools", "--endpoint", "desk", "--explain"]
    with RawClient(home) as client:
        names = client.names()
    for command, status, admitted in [("say", 0, True), ("speak", 0, False), ("sya", 1, False)]:
        plain = home.run(*words, f"acme.echo/{command}")
        document = json.loads(home.run(*words, f"acme.echo/{command}", "--json").stdout)
        SCHEMA.validate(document)
        assert (plain.returncode, plain.stderr) == (status, b"")
        assert (document["tool"], document["admitted"]) == (status == 0, admitted)
        assert document.get("name") == names.get(f"acme-echo-{command}")
        says = [each["says"] for each in document["conditions"]]
        assert [line for line in plain.stdout.decode().splitlines() if any(each in line for each in says)]
        assert all(each in plain.stdout.decode() for each in says)
    assert b"mend: put" not in home.run(*words, "acme.echo/speak").stdout
    assert (rows(home, tables), marker.exists()) == (before, False)


@pytest.mark.requirement("RK-EXPL-002", "RK-EXPL-006")
def test_a_program_that_is_not_on_the_path_is_named_with_what_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call would be refused, the tool is listed; once the program is there, it is admitted, and nothing ran."""
    home = InstalledHome(tmp_path, PACKAGE)
    command = {**kit_command("say", machine={"eligible": True, "requiredFeatures": ["command-result/1"]})}
    command["execute"] = {**command["execute"], "mapping": {"kind": "managed", "entry": ["main.mjs"]}}
    home.install({"main.mjs": ""}, commands=[command], runtime={"kind": "node"})
    home.expose()
    ran, programs = tmp_path / "ran", tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    words = ["mcp", "tools", "--endpoint", "desk", "--explain", f"{PACKAGE}/say"]

    def explained() -> dict[str, Any]:
        done = home.run(*words, "--json")
        assert (done.returncode, done.stderr) == (0, b"")
        return cast(dict[str, Any], json.loads(done.stdout))

    gone = explained()
    assert (unmet(gone), gone["tool"], gone["admitted"]) == ({"runtime": "RKH001"}, True, False)
    assert condition(gone, "runtime")["mend"] == "install node"
    assert b"mend: install node" in home.run(*words).stdout
    (programs / "node").write_text(f"#!/bin/sh\n: > {ran}\n")
    (programs / "node").chmod(0o755)
    there = explained()
    assert (unmet(there), there["admitted"], ran.exists()) == ({}, True, False)


@pytest.mark.requirement("RK-EXPL-007")
@pytest.mark.parametrize(
    ("identity", "status"), [("acme.echo/say", 0), ("acme.echo", 64), ("say", 64), ("", 64)]
)
def test_what_is_no_identity_is_a_fault_of_use(identity: str, status: int, tmp_path_factory: Any) -> None:
    home = InstalledHome(tmp_path_factory.mktemp("use"))
    home.install(echo.FILES, commands=echo.commands())
    home.expose()
    done = home.run("mcp", "tools", "--endpoint", "desk", "--explain", identity)
    assert (done.returncode, b"RKL028" in done.stderr) == (status, status == 64)


@pytest.mark.requirement("RK-EXPL-006")
def test_explaining_needs_no_spawner(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_given: Any, **_more: Any) -> Any:
        raise AssertionError("a process was started")

    kit.apply()
    monkeypatch.setattr(Spawner, "start", never)
    monkeypatch.setattr("os.posix_spawn", never)
    assert kit.explained("say")["tool"]


@pytest.mark.requirement("RK-EXPL-040")
def test_what_an_owner_would_write_is_not_advised_before_it_could_help(kit: Kit) -> None:
    """The sibling that an owner's line does help is told so."""
    kit.apply(selection="nothing")
    moot, helped = kit.explained("acme.nought/say"), kit.explained("say")
    assert "unknown" == condition(moot, "selected")["state"] == condition(moot, "rule")["state"]
    assert "RKM012" == condition(helped, "selected")["rule"]
    assert not any("owner's file" in each.get("mend", "") for each in moot["conditions"])
    kit.apply(rule="allowed to another", selection="nothing")
    assert "rule" in unmet(kit.explained("say"))
    raw = kit.explained("raw")
    assert {"selected", "rule"} <= unknown(raw)
    assert "RKP013" == condition(raw, "managed")["rule"]


@pytest.mark.requirement("RK-EXPL-041")
@pytest.mark.parametrize(
    ("identity", "which", "near"),
    [
        ("acme.kti/say", "active", "did you mean acme.kit?"),
        ("acmee.kit/say", "active", "did you mean acme.kit?"),
        ("acme.zzt/say", "active", "install acme.zzt"),
        ("acme.kit/sya", "command", "did you mean acme.kit/say?"),
        ("acme.kit/zzz", "command", "it has acme.kit/"),
    ],
)
def test_only_a_name_that_is_alike_is_offered(kit: Kit, identity: str, which: str, near: str) -> None:
    kit.apply()
    assert near in condition(kit.explained(identity), which)["mend"]


@pytest.mark.requirement("RK-EXPL-042")
def test_the_verdict_says_that_the_installed_code_was_changed(kit: Kit) -> None:
    from rukh.cli.admin.endpoints import _explain_text

    kit.apply()
    assert _explain_text(kit.explained("say")).split("\n")[0].endswith("; a call would be admitted")
    kit.spoil("acme_kit.py")
    changed = _explain_text(kit.explained("say")).split("\n")[0]
    assert "a call would be admitted, and would run code that was changed" in changed
    assert "doctor --fix" in changed
