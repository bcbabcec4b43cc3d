"""Passthrough programs as a person uses them: what reaches the program, how it ends, who may start it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from tests.support import echo, probe
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.jobs import heeding
from tests.support.probe import recorded, start
from tests.support.rawmcp import RawClient
from tests.support.stubs import apply


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    """A home with the probing programs, shared by the tests that change nothing in it but its records."""
    return probe.probing_home(tmp_path_factory.mktemp("probing"))


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    with heeding():
        yield


# ---- words

WORDS: dict[str, list[bytes]] = {
    "none": [],
    "an empty one": [b""],
    "empty ones around another": [b"", b"a", b""],
    "the end of options, twice": [b"--", b"--"],
    "options of the core": [b"--help", b"-h", b"--json", b"--envelope", b"--wait", b"--read", b"--version"],
    "options before the path": [b"--home", b"/nowhere", b"--home=/nowhere"],
    "inputs of run": [b"--inputs", b"-"],
    "no utf-8": [b"\xff", b"\xc3", b"a\x80b", b"\xed\xa0\x80", b"\xed\xb2\x80"],
    "every byte": [bytes(range(1, 256))],
    "what a shell would read": [
        b"$HOME",
        b"*",
        b"a b",
        b"'",
        b'"',
        b"\\",
        b"`id`",
        b"$(id)",
        b";",
        b"\n",
        b"|",
    ],
    "words of the path": [b"tools", b"probe"],
    "long ones": [b"x" * 100_000, b"y"],
    "many": [b"%d" % number for number in range(5_000)],
}


@pytest.mark.requirement("RK-PASS-001", "RK-PASS-003")
@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("path", [["tools", "probe"], ["p"], ["run", "acme.tools/probe"]], ids=" ".join)
def test_every_word_behind_the_path_reaches_the_program_byte_for_byte(
    home: InstalledHome, path: list[str], name: str
) -> None:
    done = home.run(*path, "tell", *WORDS[name])
    assert (0, b"") == (done.returncode, done.stderr)
    assert WORDS[name] == probe.told(done.stdout)["words"]


@pytest.mark.requirement("RK-PASS-002")
def test_fixed_words_come_first_and_the_file_is_that_of_the_release(home: InstalledHome) -> None:
    told = probe.told(home.run("tools", "fixed", "mine").stdout)
    assert [b"--fixed", b"two words", b"mine"] == told["words"]
    (release,) = Path(home.path, "releases").iterdir()
    assert str(release / "bin" / "probe") == told["file"]


@pytest.mark.requirement("RK-PASS-003")
def test_options_of_the_core_stand_before_the_path(home: InstalledHome, tmp_path: Path) -> None:
    environment = {**os.environ, "RUKH_HOME": str(tmp_path / "other")}
    told = start(home, "--home", home.path, "tools", "probe", "tell", "--home", "x", env=environment)
    assert [b"--home", b"x"] == probe.told(told.stdout)["words"]
    refused = home.run("--json", "tools", "probe")
    assert (64, True) == (refused.returncode, b"RKL017" in refused.stderr)


# name: (words, rule, place)
UNDECODED: dict[str, tuple[list[str | bytes], bytes, bytes]] = {
    "in a path": (["tools", b"pro\xffbe", "x"], b"RKL008", b"argument 2: pro\\xffbe"),
    "before a path": (["--home", b"\xff", "tools", "probe"], b"RKL008", b"argument 2: \\xff"),
    "before another fault": (["--nope", b"\xff"], b"RKL008", b"argument 2: \\xff"),
    "behind a word of the core": (["list", b"\xff"], b"RKL008", b"argument 2: \\xff"),
    "in an identity": (["run", b"acme.tools/\xff"], b"RKL008", b"argument 2: acme.tools/\\xff"),
    "behind a group": (["tools", b"\xff"], b"RKL008", b"argument 2: \\xff"),
    "behind nothing known": (["nope", "x", b"\xff"], b"RKL008", b"argument 3: \\xff"),
}


@pytest.mark.requirement("RK-PASS-004", "RK-CLI-002")
@pytest.mark.parametrize("name", UNDECODED)
def test_a_word_that_is_not_utf8_is_refused_everywhere_else(home: InstalledHome, name: str) -> None:
    words, rule, place = UNDECODED[name]
    done = home.run(*words)
    assert (64, b"") == (done.returncode, done.stdout)
    assert (True, True) == (rule in done.stderr, place in done.stderr)


@pytest.mark.requirement("RK-PASS-004", "RK-CLI-002")
@pytest.mark.parametrize("place", ["a managed command", "a home that is not there"])
def test_a_word_that_is_not_utf8_is_refused_of_a_managed_command_and_without_a_home(
    tmp_path: Path, place: str
) -> None:
    home = InstalledHome(tmp_path)
    if place == "a managed command":
        home.install(echo.FILES, commands=echo.commands())
        assert b"hi\n" == home.run("echo", "speak", "hi").stdout
    done = home.run("echo", "speak", b"h\xff")
    assert (64, True) == (done.returncode, b"argument 3: h\\xff" in done.stderr)


@pytest.mark.requirement("RK-PASS-005")
@pytest.mark.parametrize("words", [["tools", "probe"], ["p"], ["run", "acme.tools/probe"]], ids=" ".join)
def test_help_in_front_is_the_cores_and_help_behind_is_the_programs(
    home: InstalledHome, words: list[str]
) -> None:
    before = recorded(home)
    page = home.run("help", *words)
    assert (0, b"") == (page.returncode, page.stderr)
    assert page.stdout.startswith(b"Usage: rukh tools probe [ARGUMENT ...]")
    assert b"goes to the program unread" in page.stdout
    assert before == recorded(home)
    assert [b"--help"] == probe.told(home.run(*words, "tell", "--help").stdout)["words"]


# ---- what the program gets


@pytest.mark.requirement("RK-PASS-010")
def test_directory_umask_limits_group_and_session_are_the_callers(
    home: InstalledHome, tmp_path: Path
) -> None:
    def prepare() -> None:
        import resource

        os.umask(0o137)
        resource.setrlimit(resource.RLIMIT_NOFILE, (77, 88))

    place = tmp_path / "place"
    place.mkdir()
    told = probe.told(start(home, "tools", "probe", cwd=place, preexec_fn=prepare).stdout)
    assert (str(place), 0o137, [77, 88]) == (told["cwd"], told["umask"], told["limits"])
    assert (os.getpgid(0), os.getsid(0)) == (told["group"], told["session"])


def closing(*descriptors: int) -> Callable[[], None]:
    def close() -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    return close


@pytest.mark.requirement("RK-PASS-011")
def test_the_callers_descriptors_are_there_at_their_numbers_and_no_other(
    home: InstalledHome, tmp_path: Path
) -> None:
    given = os.open(tmp_path, os.O_RDONLY)
    high = os.dup2(given, 63)
    told = probe.told(start(home, "tools", "probe", pass_fds=(given, high)).stdout)["descriptors"]
    os.close(given)
    os.close(high)
    assert {"0", "1", "2", str(given), "63"} == set(told)
    assert (str(tmp_path), str(tmp_path), "/dev/null") == (told[str(given)], told["63"], told["0"])
    assert ["0", "1", "2"] == sorted(probe.told(start(home, "tools", "probe").stdout)["descriptors"])


@pytest.mark.requirement("RK-PASS-011")
def test_a_stream_that_the_caller_closed_stays_closed(home: InstalledHome) -> None:
    closed = start(home, "tools", "status", preexec_fn=closing(0))
    assert (0, b"") == (closed.returncode, closed.stderr)
    told = probe.told(start(home, "tools", "probe", preexec_fn=closing(2)).stdout)["descriptors"]
    assert ["0", "1"] == sorted(told)


def masks(output: bytes) -> dict[str, set[int]]:
    """The sets of signals in `/proc/self/status`, without the two that the C library keeps for itself."""
    pairs = re.findall(rb"Sig(Ign|Blk|Cgt):\s*([0-9a-f]+)", output)
    return {
        name.decode(): {
            number for number in {*range(1, 32), *range(34, 65)} if int(text, 16) >> (number - 1) & 1
        }
        for name, text in pairs
    }


@pytest.mark.requirement("RK-PASS-013", "RK-PASS-014")
def test_signals_are_ignored_and_blocked_in_the_program_as_they_are_for_its_caller(
    home: InstalledHome,
) -> None:
    def prepare() -> None:
        for number in (signal.SIGHUP, signal.SIGTSTP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM})

    caller = masks(subprocess.run(["/bin/cat", "/proc/self/status"], capture_output=True, check=True).stdout)
    assert {"Ign", "Blk", "Cgt"} == set(caller)
    assert caller == masks(start(home, "tools", "status").stdout)
    told = masks(start(home, "tools", "status", preexec_fn=prepare).stdout)
    assert {"Ign": caller["Ign"] | {1, 20}, "Blk": caller["Blk"] | {12, 15}, "Cgt": set()} == told


@pytest.mark.requirement("RK-PASS-015")
def test_planted_secrets_stay_behind_and_the_owners_values_win(home: InstalledHome) -> None:
    listed = {
        "PATH": "/usr/bin:/bin",
        "TERM": "dumb",
        "EDITOR": "callers-editor",
        "LC_ALL": "C",
        "HOME": "/h",
    }
    planted = {
        "AWS_SECRET_ACCESS_KEY": "planted",
        "LC_SECRET": "planted",
        "PROBE_PLACE": "planted",
        "UNSET": "planted",
        "SSH_AUTH_SOCK": "planted",
        "LD_LIBRARY_PATH": "planted",
        "PYTHONPATH": "planted",
        "RUKH_HOME": home.path,
    }
    told = probe.told(start(home, "tools", "probe", env={**listed, **planted}).stdout)["environment"]
    expected = {**listed, "EDITOR": "owners-editor", "PROBE_PLACE": "/h/place"}
    assert {name.encode(): value.encode() for name, value in expected.items()} == told


@pytest.mark.requirement("RK-PASS-015")
def test_a_value_that_is_not_utf8_arrives_as_it_is(home: InstalledHome) -> None:
    environment = {b"RUKH_HOME": os.fsencode(home.path), b"PAGER": b"\xff\xfe", b"LANG": b""}
    told = probe.told(start(home, "tools", "probe", env=environment).stdout)["environment"]
    assert (b"\xff\xfe", b"") == (told[b"PAGER"], told[b"LANG"])
    assert b"LC_CTYPE" not in told


@pytest.mark.requirement("RK-PASS-010")
def test_streams_are_the_callers_own(home: InstalledHome) -> None:
    done = start(home, "tools", "probe", "listen", input=b"one\nexit 4\n", stdin=None)
    assert 4 == done.returncode
    assert re.fullmatch(rb"<ready \d+ \d+>\n<one done>\n", done.stdout)


# ---- its end


@pytest.mark.requirement("RK-PASS-031", "RK-PASS-032", "RK-PASS-033", "RK-PASS-035")
@pytest.mark.parametrize("status", [0, 1, 2, 63, 64, 65, 70, 77, 124, 125, 126, 127, 128, 130, 143, 254, 255])
def test_an_exit_status_is_the_hosts_and_is_recorded(home: InstalledHome, status: int) -> None:
    done = home.run("tools", "probe", "exit", str(status))
    assert (status, b"out\n", b"") == (done.returncode, done.stdout, done.stderr)
    expected = ("command_failed", "command") if status else ("succeeded", None)
    assert expected == recorded(home)[0]


@pytest.mark.requirement("RK-PASS-031", "RK-PASS-032", "RK-PASS-035")
@pytest.mark.parametrize("number", [1, 2, 3, 6, 9, 10, 11, 13, 14, 15, 34])
def test_a_death_by_signal_is_the_hosts_and_is_recorded(
    home: InstalledHome, tmp_path: Path, number: int
) -> None:
    done = start(home, "tools", "probe", "die", str(number), cwd=tmp_path)
    assert (-number, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert ("execution_failed", "exited_early") == recorded(home)[0]


@pytest.mark.requirement("RK-PASS-031")
def test_a_shell_sees_what_it_would_see_of_the_program_itself(home: InstalledHome) -> None:
    script = '"$0" tools probe die 15; echo $?; "$0" tools probe exit 9; echo $?'
    done = subprocess.run(
        ["/bin/sh", "-c", script, PROGRAM],
        env=home.environment(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert b"143\nout\n9\n" == done.stdout


@pytest.mark.requirement("RK-PASS-032")
@pytest.mark.parametrize("broken", ["its interpreter is missing", "it may not be executed", "it is gone"])
def test_a_program_that_cannot_be_executed_fails_with_its_reason(tmp_path: Path, broken: str) -> None:
    home = probe.probing_home(tmp_path)
    assert 0 == home.run("tools", "nothing").returncode
    (release,) = Path(home.path, "releases").iterdir()
    (release / "bin").chmod(0o755)
    if broken == "it may not be executed":
        (release / "bin" / "nothing").chmod(0o644)
    elif broken == "it is gone":
        (release / "bin" / "nothing").unlink()
    done = home.run("tools", "lost" if broken.startswith("its") else "nothing")
    assert (70, b"") == (done.returncode, done.stdout)
    assert b"the program could not be started: " in done.stderr
    assert (b"interpreter" in done.stderr) == broken.startswith("its")
    assert [("execution_failed", "spawn_failed"), ("succeeded", None)] == recorded(home)


def refusing(home: InstalledHome, when: str) -> None:
    """Have the database itself refuse `when`."""
    connection = apsw.Connection(os.path.join(home.path, "db", "rukh.sqlite3"))
    connection.execute(f"CREATE TRIGGER full BEFORE {when} BEGIN SELECT RAISE(ABORT, 'no space'); END")
    connection.close()


@pytest.mark.requirement("RK-PASS-035", "RK-PASS-036")
def test_an_outcome_that_cannot_be_recorded_ends_with_that_fault(tmp_path: Path) -> None:
    home = probe.probing_home(tmp_path)
    assert 7 == home.run("tools", "probe", "exit", "7", "--json").returncode
    refusing(home, "UPDATE OF outcome ON invocation")
    done = home.run("tools", "probe", "exit", "7", "--json")
    assert (70, b"out\n") == (done.returncode, done.stdout)
    assert done.stderr.startswith(b"rukh: the call ran, and its outcome could not be recorded")
    assert (True, True) == (b"RKA010" in done.stderr, b"inv_" in done.stderr)


@pytest.mark.requirement("RK-PASS-003", "RK-PASS-033")
def test_a_call_that_cannot_be_captured_starts_nothing_and_is_told_in_words(tmp_path: Path) -> None:
    home = probe.probing_home(tmp_path)
    refusing(home, "INSERT ON invocation")
    done = home.run("tools", "probe", "exit", "7", "--json")
    assert (70, b"") == (done.returncode, done.stdout)
    assert done.stderr.startswith(b"rukh: the storage failed")


@pytest.mark.requirement("RK-PASS-014")
def test_a_reader_that_goes_away_ends_the_program_as_in_any_pipeline(home: InstalledHome) -> None:
    script = '"$0" tools flow | head -c 1; echo "${PIPESTATUS[0]}"'
    done = subprocess.run(
        ["/bin/bash", "-c", script, PROGRAM],
        env=home.environment(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (b"y141\n", b"") == (done.stdout, done.stderr)
    assert ("execution_failed", "exited_early") == recorded(home)[0]


# ---- authority


@pytest.mark.requirement("RK-PASS-030", "RK-PROF-023")
def test_the_grant_is_the_one_of_the_revision_of_each_call(tmp_path: Path) -> None:
    home = probe.probing_home(tmp_path)
    assert 0 == home.run("tools", "nothing").returncode
    apply(home, probe.OWNER)
    denied = home.run("tools", "nothing", "--json")
    assert (77, b"") == (denied.returncode, denied.stdout)
    assert b'[passthrough."acme.tools/nothing"]' in denied.stderr
    assert b"[RKA012]" in denied.stderr
    apply(home, probe.OWNER + probe.GRANT.format(command="nothing"))
    assert 0 == home.run("tools", "nothing").returncode
    assert [("succeeded", None), ("rejected", "denied"), ("succeeded", None)] == recorded(home)


@pytest.mark.requirement("RK-PASS-030")
def test_a_grant_stands_in_for_no_rule(home: InstalledHome) -> None:
    denied = home.run("tools", "forbidden")
    assert (77, True) == (denied.returncode, b"[RKA001]" in denied.stderr)


@pytest.mark.requirement("RK-PASS-034")
def test_an_agent_sees_nothing_of_a_passthrough_program_beside_its_neighbours(tmp_path: Path) -> None:
    home = InstalledHome(tmp_path)
    programs = [probe.command("probe", "bin/probe")]
    home.install({**echo.FILES, **probe.FILES}, commands=echo.commands() + programs)
    home.expose(more=probe.GRANT.format(command="probe").replace("acme.tools", "acme.echo"))
    assert [b"a"] == probe.told(home.run("tools", "probe", "tell", "a").stdout)["words"]
    with RawClient(home) as client:
        assert ["acme-echo-fail", "acme-echo-say", "acme-echo-speak"] == sorted(client.names())
