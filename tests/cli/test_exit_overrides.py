"""Exit codes that a branded application overrides: which numbers it may give, and which never change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rukh.app import Application
from rukh.cli.context import Context
from rukh.cli.exits import overrides
from rukh.cli.output import show_error
from rukh.cli.present import exit_code
from rukh.values.errors import RukhError
from rukh.values.registry import EXIT_CODES, REASON_EXITS
from rukh.values.rules import RULES
from tests.support import echo, probe
from tests.support.homes import PATIENCE, InstalledHome

# Each class but success, with a number that no class has by itself.
ALL = {name: 200 + place for place, name in enumerate(EXIT_CODES) if name != "succeeded"}
CLASS_OF = {number: name for name, number in EXIT_CODES.items()}

# name: (what an application asks for, the rule, the place, what the mend says)
REFUSED: dict[str, tuple[Mapping[str, Any], str, str, str]] = {
    "a slip": ({"deneid": 3}, "RKL032", "deneid", "denied"),
    "nothing like a class": ({"weather": 3}, "RKL032", "weather", "command_failed"),
    "a failure as success": ({"denied": 0}, "RKL033", "denied", "1 to 255"),
    "success as a failure": ({"succeeded": 1}, "RKL033", "succeeded", "0"),
    "beyond a byte": ({"denied": 256}, "RKL033", "denied", "1 to 255"),
    "below": ({"denied": -1}, "RKL033", "denied", "1 to 255"),
    "no number": ({"denied": "3"}, "RKL033", "denied", "1 to 255"),
    "a truth": ({"denied": True}, "RKL033", "denied", "1 to 255"),
    "a fraction": ({"denied": 3.0}, "RKL033", "denied", "1 to 255"),
}


@pytest.mark.requirement("RK-CLI-081")
@pytest.mark.parametrize("name", REFUSED)
def test_an_override_that_could_mislead_is_refused_when_the_application_is_made(name: str) -> None:
    asked, rule, place, mend = REFUSED[name]
    with pytest.raises(RukhError) as refused:
        Application("acme", "1", exit_codes=asked)
    assert (rule, place) == (refused.value.rule, refused.value.place)
    assert mend in refused.value.mend
    assert {77: 3} == Application("acme", "1", exit_codes={"denied": 3}).exits


@pytest.mark.requirement("RK-CLI-081")
def test_both_ends_of_a_byte_shared_numbers_and_success_as_it_is_are_accepted() -> None:
    asked = {"denied": 1, "busy": 255, "deadline": 255, "succeeded": 0}
    assert {77: 1, 75: 255, 124: 255, 0: 0} == overrides(asked)


def context(**exit_codes: int) -> Context:
    return Context("acme", "1", "/nowhere", ["acme"], overrides(exit_codes))


def test_a_number_of_the_registry_stands_for_one_class() -> None:
    assert len(EXIT_CODES) == len(CLASS_OF)


@pytest.mark.requirement("RK-CLI-080")
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_ends_with_the_number_of_its_class(rule: str, capfd: pytest.CaptureFixture[str]) -> None:
    error = RukhError(rule, "no")
    assert ALL[CLASS_OF[error.exit_code]] == context(**ALL).status(error.exit_code)
    show_error(context(**ALL), error, "json")
    assert {"error": {"code": rule, "message": "no"}} == json.loads(capfd.readouterr().err)


OUTCOMES = [("rejected", "invalid_input"), ("execution_failed", "spawn_failed"), ("cancelled", "caller")]


@pytest.mark.requirement("RK-CLI-080")
@pytest.mark.parametrize("reason", REASON_EXITS)
def test_every_reason_ends_with_the_number_of_its_class(reason: str) -> None:
    status = context(**ALL).status
    for outcome, _ in OUTCOMES:
        expected = ALL[CLASS_OF[REASON_EXITS[reason]]]
        assert expected == exit_code(outcome, {"code": reason}, None, status)
        assert REASON_EXITS[reason] == exit_code(outcome, {"code": reason}, None)


@pytest.mark.requirement("RK-CLI-082")
def test_what_a_command_declares_and_success_are_never_another_number() -> None:
    status = context(**ALL).status
    assert list(range(1, 64)) == [
        exit_code("command_failed", {"code": "command"}, own, status) for own in range(1, 64)
    ]
    assert ALL["command_failed"] == exit_code("command_failed", {"code": "command"}, None, status)
    assert 0 == exit_code("succeeded", None, 0, status)


PROGRAM = """\
import json, sys
from rukh.app import Application
Application("acme", "1.4.0", exit_codes=json.loads({codes!r})).main()
"""


class Branded:
    """The program `acme` over a home with the echo extension and a passthrough program."""

    def __init__(self, place: Path, codes: Mapping[str, int]) -> None:
        self.home = InstalledHome(place)
        self.home.install(
            {**echo.FILES, **probe.FILES},
            commands=[*echo.commands(), probe.command("nothing", "bin/nothing")],
        )
        self.home.expose(allowed="acme.echo/speak")
        self.program = place / "acme.py"
        self.program.write_text(PROGRAM.format(codes=json.dumps(codes)))

    def run(self, *words: str, codes: bool = True) -> subprocess.CompletedProcess[bytes]:
        program = str(self.program) if codes else "-"
        return subprocess.run(
            [sys.executable, program, *words],
            input=b"" if codes else PROGRAM.format(codes="{}").encode(),
            capture_output=True,
            env={**os.environ, "ACME_HOME": self.home.path},
            timeout=PATIENCE,
            check=False,
        )


@pytest.fixture(scope="module")
def branded(tmp_path_factory: pytest.TempPathFactory) -> Branded:
    return Branded(tmp_path_factory.mktemp("branded"), ALL)


# name: (words, class, or the number that stays)
LINES: dict[str, tuple[list[str], str | int]] = {
    "an unknown command": (["nope"], "unknown_command"),
    "an unknown identity": (["run", "acme.echo/nope"], "unknown_command"),
    "a word too many": (["echo", "speak", "a", "b"], "rejected"),
    "an option that is none": (["--nope"], "rejected"),
    "a group alone": (["echo"], "rejected"),
    "a verb used wrongly": (["install"], "rejected"),
    "what the policy denies": (["echo", "fail", "no"], "denied"),
    "a program without a grant": (["tools", "nothing"], "denied"),
    "an option for later": (["echo", "speak", "hi", "--wait"], "unsupported"),
    "a word for later": (["demo"], "unsupported"),
    "a call that succeeds": (["echo", "speak", "hi"], 0),
    "help": (["--help"], 0),
    "help of a command": (["echo", "speak", "--help"], 0),
    "the version": (["--version"], 0),
    "a check that found something": (["check", os.devnull], 1),
}


@pytest.mark.requirement("RK-CLI-080", "RK-CLI-082", "RK-CLI-083")
@pytest.mark.parametrize("name", LINES)
def test_a_branded_application_ends_with_its_own_numbers(branded: Branded, name: str) -> None:
    words, wanted = LINES[name]
    expected, plain = (wanted, wanted) if isinstance(wanted, int) else (ALL[wanted], EXIT_CODES[wanted])
    done, usual = branded.run(*words), branded.run(*words, codes=False)
    assert (expected, plain) == (done.returncode, usual.returncode)


@pytest.mark.requirement("RK-CLI-083")
def test_what_is_said_about_a_failure_does_not_depend_on_its_number(branded: Branded) -> None:
    own, usual = (branded.run("nope", "--json", codes=codes) for codes in (True, False))
    assert own.stderr == usual.stderr
    assert "RKL018" == json.loads(own.stderr)["error"]["code"]


@pytest.mark.requirement("RK-CLI-082")
def test_a_command_and_a_whole_program_keep_their_own_numbers(tmp_path: Path) -> None:
    own = Branded(tmp_path, {"command_failed": 201, "denied": 5})
    own.home.expose(more=probe.GRANT.format(command="nothing").replace(probe.PACKAGE, own.home.package))
    assert 5 == own.run("echo", "fail", "no", "--code", "5").returncode
    assert 1 == own.run("echo", "fail", "no").returncode
    assert 0 == own.run("tools", "nothing").returncode
