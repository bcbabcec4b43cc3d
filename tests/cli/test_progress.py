"""Progress: what the line says, how often it is drawn, who gets to see it, and that nothing of it stays."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from rukh.cli.admin import progress
from rukh.cli.admin.progress import StatusLine, said
from rukh.machines import steps
from rukh.sources.staging import releases_turn
from rukh.store.home import Home
from tests.support import echo
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.jobs import Shell, heeding
from tests.support.terminals import Terminal

MIB = 1 << 20
SAID = [
    ((steps.DISCOVER, 0, 0), "asking the sources"),
    ((steps.FETCH, 0, 0), "fetching"),
    ((steps.FETCH, 0, 64 * MIB), "fetching 0.0 of 64.0 MiB"),
    ((steps.FETCH, 12 * MIB, 64 * MIB), "fetching 12.0 of 64.0 MiB"),
    ((steps.FETCH, 1536, 4096), "fetching 1.5 of 4.0 KiB"),
    ((steps.FETCH, 7, 9), "fetching 7 of 9 bytes"),
    ((steps.UNPACK, 0, 0), "unpacking"),
    ((steps.UNPACK, 17, 0), "unpacking 17 files"),
    ((steps.COMPILE, 0, 8), "compiling 0 of 8 files"),
    ((steps.STAGE, 256, 2048), "writing the revision 256 of 2048 rows"),
    ((steps.COMMIT, 0, 0), "publishing"),
    ((steps.ASK, 0, 0), ""),
]


@pytest.mark.requirement("RK-PROG-002")
@pytest.mark.parametrize(("told", "text"), SAID, ids=[text or told[0] for told, text in SAID])
def test_a_step_is_said_with_how_far_it_came(told: tuple[str, int, int], text: str) -> None:
    assert text == said(*told)


def test_every_step_is_known_here_but_the_one_that_shows_something_else() -> None:
    every = {value for name, value in vars(steps).items() if name.isupper() and isinstance(value, str)}
    assert {steps.ASK} == every - set(progress._SHOWN)


class Screen:
    """A line whose clock, width and bytes are the test's."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.columns: int | None = 80
        self.written = b""
        patch.setattr(progress, "write_err", self._write)
        self.line = StatusLine("rukh", lambda: self.now, lambda: self.columns)

    def _write(self, data: bytes) -> None:
        self.written += data

    def drawn(self, *told: tuple[str, int, int]) -> bytes:
        """What these steps add."""
        before = len(self.written)
        for each in told:
            self.line(*each)
        return self.written[before:]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    return Screen(monkeypatch)


def line(text: str) -> bytes:
    return f"\rrukh: {text}\x1b[K".encode()


@pytest.mark.requirement("RK-PROG-003")
def test_a_step_is_drawn_where_it_begins_and_then_ten_times_a_second(screen: Screen) -> None:
    assert line("unpacking") == screen.drawn((steps.UNPACK, 0, 0))
    assert b"" == screen.drawn((steps.UNPACK, 1, 0), (steps.UNPACK, 2, 0))
    screen.now += 0.09
    assert b"" == screen.drawn((steps.UNPACK, 3, 0))
    screen.now += 0.02
    assert line("unpacking 4 files") == screen.drawn((steps.UNPACK, 4, 0), (steps.UNPACK, 5, 0))
    assert line("checking") == screen.drawn((steps.CHECK, 0, 0))


@pytest.mark.requirement("RK-PROG-004")
def test_the_line_is_shorter_than_the_terminal_is_at_that_moment(screen: Screen) -> None:
    screen.columns = 20
    assert line("asking the so"[:13]) == screen.drawn((steps.DISCOVER, 0, 0))
    screen.columns = 8
    assert line("c") == screen.drawn((steps.CHECK, 0, 0))
    for columns in (1, 0):
        screen.columns = columns
        assert b"\r\x1b[K" == screen.drawn((steps.WAIT, columns, 0), (steps.SETTLE, 0, 0))[-4:]


@pytest.mark.requirement("RK-PROG-005")
def test_the_line_goes_where_something_else_is_shown_and_goes_once(screen: Screen) -> None:
    screen.line.erase()
    assert b"" == screen.written
    screen.drawn((steps.CHECK, 0, 0))
    assert b"\r\x1b[K" == screen.drawn((steps.ASK, 0, 0))
    screen.line.erase()
    assert line("checking") + b"\r\x1b[K" == screen.written


@pytest.mark.requirement("RK-PROG-001")
def test_nothing_is_drawn_while_another_job_has_the_terminal(screen: Screen) -> None:
    screen.columns = None
    assert b"" == screen.drawn((steps.CHECK, 0, 0))
    screen.columns = 80
    assert line("writing the revision") == screen.drawn((steps.STAGE, 0, 0))
    screen.columns = None
    screen.line.erase()
    assert line("writing the revision") == screen.written


# --- real terminals ---


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    made = InstalledHome(tmp_path_factory.mktemp("progress"))
    made.install(echo.FILES, commands=echo.commands())
    return made


@pytest.fixture
def newer(tmp_path: Path) -> Iterator[InstalledHome]:
    """A home with a release to update to."""
    made = InstalledHome(tmp_path)
    made.install(echo.FILES, commands=echo.commands())
    made.publisher.release(
        made.catalog, made.package, "1.1.0", files={**echo.FILES, "more.txt": "x"}, commands=echo.commands()
    )
    yield made


def environment(home: InstalledHome, **variables: str) -> dict[str, str]:
    kept = {key: value for key, value in home.environment().items() if key not in ("NO_COLOR", "CI")}
    return {**kept, "TERM": "xterm", **variables}


def on_screen(data: bytes) -> list[str]:
    """The lines that a terminal shows in the end."""
    lines, column = [""], 0
    rest = data.decode()
    while rest:
        if rest.startswith("\x1b[K"):
            lines[-1], rest = lines[-1][:column], rest[3:]
            continue
        one, rest = rest[0], rest[1:]
        if one == "\n":
            lines.append("")
        if one in "\r\n":
            column = 0
        else:
            lines[-1] = lines[-1][:column] + one + lines[-1][column + 1 :]
            column += 1
    return lines


def to_the_end(terminal: Terminal) -> bytes:
    """What is shown until the program has gone."""
    data, terminal.seen = terminal.seen, b""
    try:
        while chunk := os.read(terminal.master, 65536):
            data += chunk
    except OSError:
        pass  # EIO: nobody has the other side any more
    return data


@pytest.mark.requirement("RK-PROG-001", "RK-PROG-004", "RK-PROG-005", "RK-PROG-006")
def test_on_a_terminal_an_update_shows_its_steps_in_one_line_and_leaves_its_answer(
    newer: InstalledHome,
) -> None:
    """It waits for a turn that the test has: what is shown then is what a person sees of a long step."""
    words = [PROGRAM, "update", newer.package]
    with releases_turn(Home(newer.path)):
        terminal = Terminal(words, environment(newer), columns=30)
        shown = terminal.until(b"waiting for another cha")
    with terminal:
        shown += to_the_end(terminal)
        assert 0 == terminal.process.wait(PATIENCE)
    steps_shown = [part.partition(b"\x1b")[0] for part in shown.split(b"\rrukh: ")[1:]]
    assert b"asking the sources" == steps_shown[0]
    assert b"publishing" == steps_shown[-1]
    assert {len(b"rukh: " + each) for each in steps_shown} <= set(range(30))
    assert shown.count(b"\x1b[K") == len(steps_shown) + 1 == shown.count(b"\x1b")
    answer = ["action:   updated", "package:  acme.echo", "version:  1.1.0"]
    assert answer == on_screen(shown)[:3]
    assert "" == on_screen(shown)[-1]


@pytest.mark.requirement("RK-PROG-005", "RK-PUB-044", "RK-PUB-042")
def test_ctrl_c_leaves_nothing_of_the_line_and_says_that_nothing_was_published(newer: InstalledHome) -> None:
    words = [PROGRAM, "update", newer.package]
    with (
        releases_turn(Home(newer.path)),
        heeding(),
        Terminal(words, environment(newer, NO_COLOR="1")) as terminal,
    ):
        shown = terminal.until(b"waiting for another change to end\x1b[K")
        terminal.type(b"\x03")
        shown += to_the_end(terminal)
        assert 130 == terminal.process.wait(PATIENCE)
    assert [
        "rukh: SIGINT stopped it, and nothing was published",
        "  mend: run the same command again",
        "  rule: RKO006",
        "",
    ] == on_screen(shown)
    assert [] == os.listdir(Path(newer.path, "staging"))


@pytest.mark.requirement("RK-PROG-005", "RK-PUB-044")
def test_a_question_stands_alone_and_ctrl_c_there_is_told_on_a_line_of_its_own(tmp_path: Path) -> None:
    home = InstalledHome(tmp_path)
    home.install(echo.FILES, commands=echo.commands())
    home.publisher.release(
        home.catalog, home.package, "1.1.0", files=echo.FILES, commands=echo.commands()[:2]
    )
    with heeding(), Terminal([PROGRAM, "update", home.package], environment(home, NO_COLOR="1")) as terminal:
        shown = terminal.until(b"[y/N] ")
        assert [each for each in on_screen(shown) if "checking" in each or "fetching" in each] == []
        terminal.type(b"\x03")
        shown += to_the_end(terminal)
        assert 130 == terminal.process.wait(PATIENCE)
    question, told, *_ = on_screen(shown)[-5:]
    assert question.endswith("[y/N] ^C")
    assert "rukh: SIGINT stopped it, and nothing was published" == told


@pytest.mark.requirement("RK-PROG-005")
def test_a_refusal_stands_where_the_line_was(home: InstalledHome) -> None:
    with Terminal([PROGRAM, "install", "acme.nothing"], environment(home, NO_COLOR="1")) as terminal:
        shown = to_the_end(terminal)
        assert 0 != terminal.process.wait(PATIENCE)
    assert b"asking the sources" in shown
    assert on_screen(shown)[0].startswith("rukh: ")
    assert "asking" not in "".join(on_screen(shown))


# words and variables; whether a terminal is shown progress
SETTINGS: dict[str, tuple[list[str], dict[str, str], bool]] = {
    "as it is": ([], {}, True),
    "NO_COLOR": ([], {"NO_COLOR": "1"}, True),
    "an empty CI": ([], {"CI": ""}, True),
    "CI": ([], {"CI": "true"}, False),
    "a dumb terminal": ([], {"TERM": "dumb"}, False),
    "a terminal without a name": ([], {"TERM": ""}, False),
    "--json": (["--json"], {}, False),
}


def streams(
    home: InstalledHome, words: list[str], variables: Mapping[str, str], terminals: tuple[int, ...]
) -> tuple[int, bytes, bytes]:
    """The status, standard output and standard error, of which `terminals` are terminals and the others pipes."""
    ends = [pty.openpty() if number in terminals else os.pipe() for number in (1, 2)]
    process = subprocess.Popen(
        [PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        stdout=ends[0][1],
        stderr=ends[1][1],
        env=environment(home, **variables),
    )
    for _, inner in ends:
        os.close(inner)
    found = [drained(outer) for outer, _ in ends]
    return process.wait(PATIENCE), found[0], found[1]


def drained(descriptor: int) -> bytes:
    data = b""
    try:
        while chunk := os.read(descriptor, 65536):
            data += chunk
    except OSError:
        pass
    finally:
        os.close(descriptor)
    return data


@pytest.mark.requirement("RK-PROG-001", "RK-PROG-006")
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("verb", [["recover"], ["gc"], ["update", "acme.echo"]], ids=lambda words: words[0])
def test_progress_is_shown_on_a_terminal_and_nowhere_else(
    home: InstalledHome, verb: list[str], setting: str
) -> None:
    words, variables, expected = SETTINGS[setting]
    status, out, err = streams(home, [*verb, *words], variables, (2,))
    piped = streams(home, [*verb, *words], variables, (1,))
    assert (0, expected) == (status, err.startswith(b"\rrukh: "))
    assert [""] == on_screen(err)
    assert (0, out, b"") == (piped[0], piped[1].replace(b"\r\n", b"\n"), piped[2])
    assert b"\x1b" not in out + piped[1]


@pytest.mark.requirement("RK-PROG-001")
@pytest.mark.parametrize("foreground", [True, False], ids=["in the foreground", "in the background"])
def test_a_job_in_the_background_leaves_the_terminal_alone(
    home: InstalledHome, tmp_path: Path, foreground: bool
) -> None:
    with heeding(), Shell(environment(home), tmp_path) as shell:
        shell.start([PROGRAM, "recover"], foreground=foreground)
        shown = shell.until(b"Nothing was left behind.")
        assert {"exited": 0} == shell.wait()
    assert foreground == (b"looking for" in shown)
