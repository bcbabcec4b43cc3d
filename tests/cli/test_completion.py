"""Completion as a shell asks for it: what is offered at each place of a line, and what never is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukh.cli import admin, complete_line, verbs
from rukh.cli.admin.completing import script
from rukh.cli.complete import complete
from rukh.cli.specification import schemas
from rukh.cli.words import BUILT
from rukh.store.schema import SCHEMA_VERSION
from rukh.values.rules import RULES
from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.shelves import ODD, shelf_home

# As the console script does; what that imports itself is the installer's.
STARTED = "from rukh.reference import main; main()"
BREAKS = " \t\n\"'@><=;|&(:"
CORE = list(BUILT)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    """A home with the extension that is to be completed."""
    return shelf_home(tmp_path_factory.mktemp("shelf"))


def asked(home: InstalledHome | str, *words: str, behind: tuple[str, ...] = ()) -> list[str]:
    """The lines of the answer to words of which the last one is under the cursor."""
    path = home if isinstance(home, str) else home.path
    request = ["fish", str(len(words)), *words, *behind]
    return complete("rukh", request, {"RUKH_HOME": path, "HOME": "/nowhere"}).decode().splitlines()


def words(lines: list[str]) -> list[str]:
    """The offered words of an answer without their meanings; none for an empty one."""
    assert lines[:1] in ([], ["words"])
    return [line.partition("\t")[0] for line in lines[1:]]


OPTIONS = ["--odd", "--odds", "--size", "--text", "--wide", "--no-wide", "-q", "-m"]
OF_CORE = ["--json", "--envelope", "--read", "--help"]


def without(*names: str) -> list[str]:
    return [name for name in [*OPTIONS, *OF_CORE] if name not in names]


# name: (words up to the cursor, what is offered, the best first)
OFFERS: dict[str, tuple[list[str], list[str]]] = {
    "the root": ([""], ["p", "s", "shelf", "tools", *CORE]),
    "the root, begun": (["sh"], ["shelf", "p", "s", "tools", *CORE]),
    "a group": (["shelf", ""], ["all", "put"]),
    "the beginning of an alias": (["s", ""], ["put"]),
    "a command whose options are meant": (["shelf", "put", "-"], without()),
    "an alias": (["p", "-"], without()),
    "an alias of two words": (["s", "put", "-"], without()),
    "options of a group": (["shelf", "-"], ["--help"]),
    "options before the path": (["-"], ["--home", "--help", "--version"]),
    "one of them given": (["--home", "HOME", "-"], ["--help", "--version"]),
    "a path behind them": (["--home=HOME", "shelf", ""], ["all", "put"]),
    "a path that is none": (["shelf", "nope", ""], []),
    "a flag that is given": (["shelf", "put", "--wide", "-"], without("--wide", "--no-wide")),
    "a flag that is denied": (["shelf", "put", "--no-wide", "-"], without("--wide", "--no-wide")),
    "a flag within a cluster": (["shelf", "put", "-qw", "-"], without("--wide", "--no-wide", "-q")),
    "an option given short": (["shelf", "put", "-o", "it's", "-"], without("--odd")),
    "an option given short and joined": (["shelf", "put", "-oplain", "-"], without("--odd")),
    "a list that is given": (["shelf", "put", "--odds", "plain", "-"], without()),
    "a core option that is given": (["shelf", "put", "--json", "-"], without("--json")),
    "the values of an option": (
        ["shelf", "put", "--odd", ""],
        [value for value in ODD if value != "--json"],
    ),
    "the values behind an equals sign": (
        ["shelf", "put", "--odd=", ""][:3],
        [f"--odd={value}" for value in ODD],
    ),
    "the values behind a short name": (["shelf", "put", "-op"], [f"-o{value}" for value in ODD]),
    "the values of a list": (["shelf", "put", "--odds="], [f"--odds={value}" for value in ODD]),
    "the values of a short option": (["shelf", "put", "-m", ""], ["fast", "slow"]),
    "no value of a number": (["shelf", "put", "--size", ""], []),
    "no value of a text": (["shelf", "put", "--text="], []),
    "no value of a flag": (["shelf", "put", "--wide="], without()),
    "the first argument": (["shelf", "put", ""], ["top", "-4", "two words"]),
    "the first one behind the end of options": (
        ["shelf", "put", "--", ""],
        ["top", "-4", "--low", "two words"],
    ),
    "one that begins like an option behind it": (
        ["shelf", "put", "--", "-"],
        ["-4", "--low", "top", "two words"],
    ),
    "the second argument is text": (["shelf", "put", "top", ""], []),
    "a list takes the rest": (["shelf", "put", "top", "x", "m1", ""], ["m1", "m2"]),
    "an argument that a file fills": (["shelf", "put", "--read", "note=x", "top", ""], ["m1", "m2"]),
    "behind an option's value": (["shelf", "put", "--text", "x", ""], ["top", "-4", "two words"]),
    "what a file can fill": (["shelf", "put", "--read", ""], ["note=", "text="]),
    "the same, joined": (["shelf", "put", "--read="], ["--read=note=", "--read=text="]),
    "without what a word gives": (["shelf", "put", "--text=x", "--read", ""], ["note="]),
    "without what a file gives": (["shelf", "put", "--read", "note=f", "--read", ""], ["text="]),
    "options beside a file": (["shelf", "put", "--read", "text=f", "-"], without("--text")),
    "an unknown option in front": (["shelf", "put", "--nope", ""], []),
    "a value that is missing in front": (["shelf", "put", "--size", "--wide", ""], []),
    "help in front": (["shelf", "put", "--help", "--"], []),
    "help before the path": (["--help", "shelf", ""], []),
    "identities": (["run", ""], ["acme.shelf/nothing", "acme.shelf/put", "acme.shelf/put_all"]),
    "options of run": (["run", "-"], ["--help"]),
    "options behind an identity": (["run", "acme.shelf/put", "-"], [*without(), "--inputs"]),
    "a document beside nothing": (
        ["run", "acme.shelf/put", "--inputs", "f", "--"],
        ["--json", "--envelope", "--help"],
    ),
    "no document beside an input": (["run", "acme.shelf/put", "--size=1", "-"], without("--size")),
    "no document beside an argument": (["run", "acme.shelf/put", "top", "-"], without()),
    "no document beside a file": (["run", "acme.shelf/put", "--read", "text=f", "-"], without("--text")),
    "an unknown identity": (["run", "acme.shelf/nope", "-"], []),
    "values behind an identity": (["run", "acme.shelf/put", "-m", ""], ["fast", "slow"]),
    "a path behind help": (["help", "shelf", ""], ["all", "put"]),
    "the core behind help": (["help", ""], ["p", "s", "shelf", "tools", *CORE]),
    "a group of verbs": (["mcp", ""], ["serve", "tools", "config"]),
    "a group of verbs behind help": (["help", "mcp", ""], ["serve", "tools", "config"]),
    "options of a verb": (["mcp", "tools", "-"], ["--endpoint", "--explain", "--json", "--help"]),
    "one of them given to a verb": (["mcp", "tools", "--json", "-"], ["--endpoint", "--explain", "--help"]),
    "endpoints": (["mcp", "serve", "--endpoint", ""], ["desk"]),
    "endpoints, joined": (["mcp", "serve", "--endpoint="], ["--endpoint=desk"]),
    "identities of an option": (
        ["mcp", "tools", "--explain", ""],
        ["acme.shelf/nothing", "acme.shelf/put", "acme.shelf/put_all"],
    ),
    "choices of a verb": (["new", "--lang", ""], ["python", "node", "sh"]),
    "rules": (["check", "--explain", ""], list(RULES)),
    "schemas": (["check", "--schema", ""], schemas()),
    "packages": (["remove", ""], ["acme.shelf"]),
    "shells": (["completion", ""], ["bash", "zsh", "fish"]),
    "a verb without arguments": (["list", ""], []),
    "a reserved word for later": (["demo", ""], []),
}


@pytest.mark.requirement(
    "RK-COMP-010", "RK-COMP-011", "RK-COMP-012", "RK-COMP-013", "RK-COMP-015", "RK-COMP-016"
)
@pytest.mark.parametrize("name", OFFERS)
def test_each_place_of_a_line_is_offered_what_can_stand_there(shelf: InstalledHome, name: str) -> None:
    line, expected = OFFERS[name]
    assert expected == words(asked(shelf, *(word.replace("HOME", shelf.path) for word in line)))


# name: (words up to the cursor, the one line of the answer)
PATHS = {
    "the home": (["--home", "x"], "directories 0"),
    "the home, joined": (["--home=x"], "directories 7"),
    "the file of a parameter": (["shelf", "put", "--read", "note=x"], "files 5"),
    "the same, joined": (["shelf", "put", "--read=note=x"], "files 12"),
    "a document of inputs": (["run", "acme.shelf/put", "--inputs", ""], "files 0"),
    "the same document, joined": (["run", "acme.shelf/put", "--inputs=x"], "files 9"),
    "words of a whole program": (["tools", "nothing", "--any", ""], "files 0"),
    "a whole program by its identity": (["run", "acme.shelf/nothing", "-"], "files 0"),
    "a key": (["trust", "add", "acme.notes", "--key="], "files 6"),
    "a directory of releases": (["catalog", ""], "directories 0"),
    "the second argument of a verb": (["source", "add", "team", ""], "directories 0"),
    "one of many descriptors": (["check", "a", "b", ""], "files 0"),
}


@pytest.mark.requirement("RK-COMP-014")
@pytest.mark.parametrize("name", PATHS)
def test_paths_are_left_to_the_shell_where_the_core_takes_one(shelf: InstalledHome, name: str) -> None:
    line, expected = PATHS[name]
    assert [expected] == asked(shelf, *line)


@pytest.mark.requirement("RK-COMP-012")
def test_what_is_given_behind_the_cursor_is_not_offered_in_front_of_it(shelf: InstalledHome) -> None:
    behind = ("--no-wide", "--odd=plain", "--", "--size")
    assert without("--wide", "--no-wide", "--odd") == words(asked(shelf, "shelf", "put", "-", behind=behind))


@pytest.mark.requirement("RK-COMP-005")
def test_an_offer_says_what_it_means_where_there_is_something_to_say(shelf: InstalledHome) -> None:
    lines = asked(shelf, "shelf", "put", "--")
    assert ["--odd\tAn odd one", "--odds"] == lines[1:3]
    assert "remove\tRemove a package from the profile" in asked(shelf, "")
    assert "put\tDoes put" in asked(shelf, "shelf", "")


@pytest.mark.requirement("RK-COMP-017")
def test_the_home_of_the_line_is_looked_into_and_no_other(shelf: InstalledHome, tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    assert ["all", "put"] == words(asked(nowhere, "--home", shelf.path, "shelf", ""))
    assert [] == asked(shelf, "--home", nowhere, "shelf", "")
    assert CORE == words(asked(nowhere, ""))
    environment = {"RUKH_HOME": nowhere, "HOME": os.path.dirname(shelf.path)}
    assert b"put\tDoes put\n" in run(environment, "fish", "4", "--home", "~/home", "shelf", "").stdout
    assert not os.path.exists(nowhere)


def tree(path: str) -> list[tuple[str, int, int]]:
    return sorted(
        (str(found), found.stat().st_mtime_ns, found.stat().st_size) for found in Path(path).rglob("*")
    )


def run(
    environment: Mapping[str, str], *request: str | bytes, program: str = PROGRAM
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [program, "completion", "--words", *request],
        capture_output=True,
        env={**os.environ, **environment},
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.requirement("RK-COMP-003")
@pytest.mark.parametrize("logged", [False, True], ids=["at rest", "with a log beside it"])
def test_asking_changes_nothing_in_a_home(shelf: InstalledHome, tmp_path: Path, logged: bool) -> None:
    home = tmp_path / "home"
    shutil.copytree(shelf.path, home, copy_function=shutil.copy2)
    home.chmod(0o700)
    reader = None
    if logged:
        import apsw

        reader = apsw.Connection(str(home / "db" / "rukh.sqlite3"))
        reader.execute("SELECT count(*) FROM route").fetchall()
    for entry in ("db", "locks"):
        (home / entry).chmod(0o700 if logged else 0o500)
    before = tree(str(home))
    assert ["all", "put"] == words(asked(str(home), "shelf", ""))
    done = run({"RUKH_HOME": str(home)}, "fish", "3", "shelf", "put", "-m")
    assert (0, b"") == (done.returncode, done.stderr)
    assert before == tree(str(home))
    if reader is not None:
        reader.close()
    (home / "db").chmod(0o700)


def damage_database(home: Path) -> None:
    (home / "db" / "rukh.sqlite3").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)


def damage_pages(home: Path) -> None:
    database = home / "db" / "rukh.sqlite3"
    data = database.read_bytes()
    database.write_bytes(data[:4096] + b"\x55" * (len(data) - 4096))


def age_database(home: Path) -> None:
    import apsw

    connection = apsw.Connection(str(home / "db" / "rukh.sqlite3"))
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION - 1}")
    connection.close()


def open_to_others(home: Path) -> None:
    home.chmod(0o755)


def make_a_file(home: Path) -> None:
    shutil.rmtree(home)
    home.write_text("no directory")


def take_the_rights(home: Path) -> None:
    shutil.rmtree(home / "db")
    (home / "db").symlink_to("/proc/self/mem")


DAMAGES = [damage_database, damage_pages, age_database, open_to_others, make_a_file, take_the_rights]


@pytest.mark.requirement("RK-COMP-002", "RK-COMP-004")
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_home_that_a_call_would_refuse_is_passed_over_in_silence(
    shelf: InstalledHome, tmp_path: Path, damage: object
) -> None:
    home = tmp_path / "home"
    shutil.copytree(shelf.path, home, copy_function=shutil.copy2)
    home.chmod(0o700)
    assert b"put\tDoes put\n" in run({"RUKH_HOME": str(home)}, "fish", "2", "shelf", "").stdout
    assert callable(damage)
    damage(home)
    for request in (
        ["fish", "2", "shelf", ""],
        ["bash", BREAKS, "rukh run ", ""],
        ["zsh", "2", "remove", ""],
    ):
        done = run({"RUKH_HOME": str(home)}, *request)
        assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert b"install\n" in run({"RUKH_HOME": str(home)}, "bash", BREAKS, "rukh ins", "").stdout


# Requests that no script makes.
NONSENSE: list[list[str | bytes]] = [
    [],
    ["fish"],
    ["fish", "0", "x"],
    ["fish", "2", "x"],
    ["fish", "-1", "x"],
    ["fish", "\u00b2", "x", "y"],
    ["fish", "9" * 5000, "x"],
    ["bash", "rukh "],
    ["bash", "", "", ""],
    ["tcsh", "1", ""],
    ["fish", "1", b"\xff"],
    ["fish", "2", b"\xff", ""],
    ["bash", b"\xff", b"rukh \xff", b"\xff"],
    ["fish", "3", "run", "\ud800".encode("utf-8", "surrogatepass"), "-"],
    ["fish", "3", "--home", b"/\xff", ""],
    ["bash", BREAKS, "rukh 'open", 'and "on'],
]


@pytest.mark.requirement("RK-COMP-002")
@pytest.mark.parametrize("request_", NONSENSE, ids=lambda request: ascii(request)[:40])
def test_nonsense_is_answered_in_silence(shelf: InstalledHome, request_: list[str | bytes]) -> None:
    done = run({"RUKH_HOME": shelf.path}, *request_)
    assert (0, b"") == (done.returncode, done.stderr)


@pytest.mark.requirement("RK-COMP-002")
def test_an_answer_that_nobody_takes_is_silence_too(shelf: InstalledHome) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [PROGRAM, "completion", "--words", "fish", "1", ""],
            stdout=full,
            stderr=subprocess.PIPE,
            env=shelf.environment(),
            timeout=PATIENCE,
            check=False,
        )
    assert (0, b"") == (done.returncode, done.stderr)


ALLOWED = {"os", "sys", "time", "__future__", "apsw"}


@pytest.mark.requirement("RK-COMP-001")
def test_a_request_starts_nothing_and_loads_next_to_nothing(shelf: InstalledHome) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "importtime",
            "-c",
            STARTED,
            "completion",
            "--words",
            "bash",
            BREAKS,
            "rukh p -m f",
            "",
        ],
        capture_output=True,
        env=shelf.environment(),
        timeout=PATIENCE,
        check=True,
    )
    loaded = {line.rpartition(b"|")[2].strip().decode() for line in done.stderr.splitlines()}
    assert b"words\nfast\n" == done.stdout
    assert "rukh.cli.complete" in loaded
    heavy = {
        "click",
        "re",
        "json",
        "subprocess",
        "typing",
        "dataclasses",
        "enum",
        "functools",
        "rukh.cli.admin",
    }
    assert set() == loaded & (
        heavy | {"rukh.cli.call", "rukh.host", "rukh.store.database", "rukh.store.turnstile"}
    )


@pytest.mark.requirement("RK-COMP-001")
def test_a_request_forks_and_executes_nothing(shelf: InstalledHome) -> None:
    program = (
        "import sys\n"
        "sys.addaudithook(lambda event, _: event.split('.')[0] in ('subprocess', 'socket', 'pty') and sys.exit(9))\n"
        "import os\n"
        "os.fork = os.posix_spawn = os.execve = None\n"
        "from rukh.cli.complete import complete\n"
        "sys.stdout.buffer.write(complete('rukh', ['fish', '2', 'shelf', ''], os.environ))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        env=shelf.environment(),
        timeout=PATIENCE,
        check=False,
    )
    assert (0, b"words\nall\tDoes put_all\nput\tDoes put\n", b"") == (
        done.returncode,
        done.stdout,
        done.stderr,
    )


@pytest.mark.requirement("RK-COMP-005")
def test_an_answer_is_bounded_and_the_fitting_come_first(tmp_path: Path) -> None:
    home = InstalledHome(tmp_path, "acme.many")
    many = [
        {
            "id": f"c{number}",
            "path": ["many", f"c{number}"],
            "summary": "long " * 25,
            "parameters": [
                {
                    "id": "pick",
                    "form": "option",
                    "names": ["--pick"],
                    "type": {"kind": "choice", "values": [f"v{value}" for value in range(1024)]},
                }
            ]
            if number == 0
            else [],
            "execute": {"mapping": {"kind": "managed", "entry": "acme_many:c"}, "result": {"kind": "text"}},
        }
        for number in range(3)
    ]
    home.install({"acme_many.py": ""}, commands=many)
    offered = words(asked(home, "many", "c0", "--pick", "v102"))
    assert (1000, ["v102", "v1020"]) == (len(offered), offered[:2])
    (line,) = [line for line in asked(home, "many", "c2") if line.startswith("c2\t")]
    assert 80 == len(line.partition("\t")[2])


# name: (the line up to the cursor, the rest, what replaces the end of the line)
LINES: dict[str, tuple[str, str, list[str]]] = {
    "a word": ("rukh sh", "", ["shelf"]),
    "another name of the program": ("./bin/r sh", "", ["shelf"]),
    "an empty word": ("rukh shelf ", "", ["all", "put"]),
    "two blanks and a tab": ("rukh  shelf\t p", "", ["put"]),
    "a value with a blank": ("rukh p --odd two", "", ["two\\ words"]),
    "the same, escaped already": ("rukh p --odd two\\ w", "", ["two\\ words"]),
    "the same in double quotes": ('rukh p --odd "two w', "", ["two words"]),
    "the same in single quotes": ("rukh p --odd 'two w", "", ["two words"]),
    "quotes that are closed": ("rukh p --odd 'two 'w", "", ["two\\ words"]),
    "behind an equals sign": ("rukh p --odd=two", "", ["two\\ words"]),
    "behind one and a colon": ("rukh p --odd=c:d", "", ["d=e"]),
    "behind two": ("rukh p --odd=c:d=", "", ["e"]),
    "a quoted border is none": ("rukh p --odd='c:d", "", ["c:d=e"]),
    "an escaped border is none": ("rukh p --odd=c\\:d", "", ["c:d=e"]),
    "a quote inside of a word": ("rukh p --odd=it\"'", "", ["'s"]),
    "a single quote": ("rukh p --odd it", "", ["it\\'s"]),
    "a single quote in single quotes": ("rukh p --odd 'it", "", ["it'\\''s"]),
    "double quotes in double quotes": ('rukh p --odd "say', "", ['say \\"x\\"']),
    "a dollar": ("rukh p --odd '$", "", ["$HOME"]),
    "a dollar in double quotes": (
        'rukh p --odd "',
        "",
        [  # `!` cannot be said there
            "plain",
            "two words",
            "it's",
            'say \\"x\\"',
            "\\$HOME",
            "a\\\\b",
            "c:d=e",
            "na\u00efve",
            "-4",
            "~",
            "*",
        ],
    ),
    "a backslash": ("rukh p --odd a\\\\", "", ["a\\\\b"]),
    "a tilde and a star": ("rukh p --odd \\~", "", ["\\~"]),
    "letters of every language": ("rukh p --odd na", "", ["na\u00efve"]),
    "an option in the middle of a word": ("rukh p --si", "ze 3", ["--size"]),
    "an option that is given behind": ("rukh p --w", " --no-wide", []),
    "the rest of the word is not given": ("rukh p --wi", "de", ["--wide"]),
    "a redirection in front": ("rukh 2>/dev/null shelf >>x <y p", "", ["put"]),
    "a redirection to a descriptor": ("rukh 2>&1 shelf p", "", ["put"]),
    "a number that is none of a redirection": ("rukh p -- 2 x m", "", ["m1", "m2"]),
    "a comment is a word": ("rukh #x ", "", []),
    "nothing of it is run": ("rukh shelf $(touch /tmp/rukh-was-run) ", "", []),
}


@pytest.mark.requirement("RK-COMP-006", "RK-COMP-007")
@pytest.mark.parametrize("name", LINES)
def test_a_line_of_bash_gets_what_replaces_its_end(shelf: InstalledHome, name: str) -> None:
    line, behind, expected = LINES[name]
    answer = complete("rukh", ["bash", BREAKS, line, behind], {"RUKH_HOME": shelf.path}).decode()
    assert "".join(f"{text}\n" for text in (["words", *expected] if expected else [])) == answer


@pytest.mark.requirement("RK-COMP-006")
@pytest.mark.parametrize(
    "line", ["rukh list > ", "rukh list >x", "rukh list 2>>", "rukh <", "rukh list &> y"]
)
def test_a_redirection_is_completed_by_files(shelf: InstalledHome, line: str) -> None:
    assert b"files 0\n" == complete("rukh", ["bash", BREAKS, line, ""], {"RUKH_HOME": shelf.path})


@pytest.mark.requirement("RK-COMP-007")
def test_without_borders_a_whole_word_is_replaced(shelf: InstalledHome) -> None:
    answer = complete("rukh", ["bash", " \t\n", "rukh p --odd=c:", ""], {"RUKH_HOME": shelf.path})
    assert b"words\n--odd=c:d=e\n" == answer


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r"), min_size=1, max_size=12)


@pytest.mark.requirement("RK-COMP-007")
@given(TEXT, st.sampled_from(["", "'", '"']), st.integers(0, 12))
def test_what_is_inserted_is_read_back_as_the_offered_word(word: str, quote: str, split: int) -> None:
    """`kept` in front, as somebody typed it, and behind it what is answered: together one word."""
    front, rest = word[:split], word[split:]
    said = complete_line.quoted(rest, quote)
    if said is None:
        assert ('"', True) == (quote, "!" in rest)
        return
    typed_front = complete_line.quoted(front, "")
    assert typed_front is not None
    line = f"rukh {typed_front}{quote}{said}{quote}"
    assert ["rukh", word] == complete_line.typed(line, BREAKS).words


def _declared(command: click.Command, path: str) -> dict[str, list[tuple[str, str, str]]]:
    """The rows that completion should have for a verb, or for all of a group, from what click was told."""
    if isinstance(command, click.Group):
        return {
            k: v
            for name, below in command.commands.items()
            for k, v in _declared(below, f"{path} {name}").items()
        }
    rows = []
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            kind = "flag" if parameter.is_flag else "value"
            rows.append((parameter.opts[0], kind, parameter.help or ""))
        else:
            name = (parameter.metavar or str(parameter.name).upper()).removesuffix("...")
            rows.append((name + ("..." if parameter.nargs == -1 else ""), "value", ""))
        if isinstance(parameter.type, click.Choice):
            rows[-1] = (rows[-1][0], " ".join(["choice", *parameter.type.choices]), rows[-1][2])
    return {path: rows}


def _table(row: verbs.Row) -> tuple[str, str, str]:
    kind = row[1] if row[1] == "flag" or row[1].startswith("choice ") else "value"
    return row[0], kind, row[2]


@pytest.mark.requirement("RK-COMP-015")
@pytest.mark.parametrize("word", [word for word in BUILT if word not in ("run", "help")])
def test_the_table_of_verbs_says_what_click_was_told(word: str) -> None:
    command = admin._Words().get_command(click.Context(click.Command("rukh")), word)
    assert command is not None
    expected = _declared(command, word)
    assert {verb: rows for verb, rows in verbs.VERBS.items() if verb.split(" ")[0] == word} != {}
    assert expected == {
        verb: [_table(row) for row in rows]
        for verb, rows in verbs.VERBS.items()
        if verb.split(" ")[0] == word
    }
    if isinstance(command, click.Group):
        shorts = {name: below.get_short_help_str(200) for name, below in command.commands.items()}
        assert shorts == verbs.GROUPS[word]


@pytest.mark.requirement("RK-COMP-020")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed_for_each_shell_and_for_no_other(shell: str, tmp_path: Path) -> None:
    done, other = (
        subprocess.run(
            [PROGRAM, "completion", name],
            capture_output=True,
            env={**os.environ, "RUKH_HOME": str(tmp_path / "none")},
            timeout=PATIENCE,
            check=False,
        )
        for name in (shell, "tcsh")
    )
    assert (0, b"", script(shell, "rukh", [PROGRAM])) == (done.returncode, done.stderr, done.stdout)
    assert (64, b"") == (other.returncode, other.stdout)
    assert not (tmp_path / "none").exists()
