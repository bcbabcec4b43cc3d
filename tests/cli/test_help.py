"""Base help: what each page says, that it fits, that it starts nothing, and the refusal of an unknown path."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukh.cli.help import command_help, group_help, root_help, unknown_command
from rukh.cli.text import columns, printable, quote, wrap

ROOT = Path(__file__).resolve().parents[2]


def parameter(identity: str, form: str, names: str, kind: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A compiled parameter; `names` is one text of names."""
    declared = {
        "id": identity,
        "form": form,
        "names": names.split(),
        "required": False,
        "summary": "",
        "type": kind,
    }
    return declared | more


def record(**more: Any) -> dict[str, Any]:
    """A compiled command, as far as help reads it."""
    compiled: dict[str, Any] = {
        "path": ["notes", "add"],
        "aliases": [["n", "a"]],
        "summary": "Add a note",
        "description": "Writes one note and answers with its number.",
        "examples": [{"argv": ["notes", "add", "Fresh milk", "--tag", "shop"], "summary": "With a tag"}],
        "parameters": [
            parameter(
                "title", "positional", "", {"kind": "string", "minLength": 1, "maxLength": 200}, required=True
            ),
            parameter(
                "files", "positional", "", {"kind": "list", "items": {"kind": "number"}, "maxItems": 3}
            ),
            parameter(
                "tags", "option", "--tag -t", {"kind": "list", "items": {"kind": "string"}, "maxItems": 16}
            ),
            parameter(
                "priority", "option", "--priority", {"kind": "integer", "minimum": 0, "maximum": 9}, default=3
            ),
            parameter("amount", "option", "--amount", {"kind": "decimal", "minimum": "0"}),
            parameter("colour", "option", "--colour", {"kind": "choice", "values": ["red", "blue"]}),
            parameter(
                "mood", "option", "-m", {"kind": "choice", "values": ["delighted", "content", "melancholy"]}
            ),
            parameter(
                "pinned", "flag", "--pinned -p", {"kind": "boolean"}, default=False, summary="Keep it on top"
            ),
        ],
        "mapping": {"kind": "managed", "entry": "acme_notes:add"},
        "result": {"kind": "text"},
    }
    return compiled | more


PAGE = """\
Usage: rukh notes add [OPTIONS] TITLE [FILES ...]

Add a note

Writes one note and answers with its number.

Arguments:
  TITLE      [1 to 200 characters; required]
  FILES ...  [NUMBER; at most 3 items]

Options:
  -t, --tag TEXT ...         [at most 16 items]
      --priority INTEGER     [0 to 9; default 3]
      --amount DECIMAL       [at least 0]
      --colour red|blue
  -m CHOICE                  [one of delighted, content, melancholy]
  -p, --pinned, --no-pinned  Keep it on top [default false]

Options of every command:
  -h, --help          Show this help
      --json          Print the result as one JSON document
      --envelope      Print the whole outcome as one JSON document
      --read ID=FILE  Fill a string parameter from a file

Aliases:
  rukh n a

Examples:
  rukh notes add 'Fresh milk' --tag shop
      With a tag
"""

ROUTES = [
    (("notes",), "group", "", ""),
    (("notes", "add"), "command", "acme.notes/add", "Add a note"),
    (("notes", "list"), "command", "acme.notes/list", "List notes"),
    (("n",), "group", "", "Notes, in short"),
    (("n", "a"), "alias", "acme.notes/add", "Add a note"),
    (("ask",), "command", "acme.ask/ask", "Ask a question"),
    (("query",), "alias", "acme.ask/ask", "Ask a question"),
]
CORE = [("install", "Install a package"), ("list", "List what is installed")]

ROOT_PAGE = """\
Usage: rukh [OPTIONS] COMMAND ...

Commands:
  ask  Ask a question

Groups:
  n      Notes, in short
  notes  add, list

Aliases:
  query  same as ask

Core commands:
  install  Install a package
  list     List what is installed

Options:
      --home DIR  The home to work in
  -h, --help      Show this help
      --version   Show the version
"""

GROUP_PAGE = """\
Usage: rukh notes COMMAND ...

Commands:
  add   Add a note
  list  List notes
"""


@pytest.mark.requirement("RK-CLI-051")
def test_a_command_page_says_all_that_is_declared() -> None:
    assert PAGE == command_help("rukh", record(), 80)


@pytest.mark.requirement("RK-CLI-051")
def test_a_command_page_names_only_core_options_that_the_command_accepts() -> None:
    host = parameter("host", "option", "-h", {"kind": "string"})
    page = command_help("rukh", record(parameters=[host], result=None), 80)

    assert "  -h TEXT\n" in page
    assert "      --help          Show this help\n" in page
    assert "--json" not in page


@pytest.mark.requirement("RK-CLI-051")
def test_a_passthrough_page_leaves_every_word_to_the_program() -> None:
    page = command_help("rukh", record(parameters=[], mapping={"kind": "passthrough"}, result=None), 80)

    assert page.startswith("Usage: rukh notes add [ARGUMENT ...]\n")
    assert "--envelope" not in page


@pytest.mark.requirement("RK-CLI-052")
def test_the_root_page_lists_what_is_installed_and_the_words_of_the_core() -> None:
    assert ROOT_PAGE == root_help("rukh", ROUTES, CORE, 80)


@pytest.mark.requirement("RK-CLI-052")
def test_a_group_page_lists_what_stands_directly_below_it() -> None:
    assert GROUP_PAGE == group_help("rukh", ("notes",), ROUTES, 80)
    assert "Aliases:\n  a  Add a note\n" in group_help("rukh", ("n",), ROUTES, 80)


@pytest.mark.requirement("RK-CLI-052")
def test_the_page_of_an_empty_home_still_shows_the_core() -> None:
    page = root_help("rukh", [], CORE, 80)

    assert "Core commands:\n  install  Install a package\n" in page
    assert "Groups:" not in page


SUMMARY = "漢字" * 40 + " and e\u0301tude " * 20


@pytest.mark.requirement("RK-CLI-053")
@pytest.mark.parametrize("width", [40, 57, 80, 200])
def test_every_line_fits_the_width_in_columns(width: int) -> None:
    pages = [
        command_help("rukh", record(summary=SUMMARY, description=SUMMARY), width),
        group_help("rukh", ("notes",), [(("notes", "add"), "command", "a/b", SUMMARY)], width),
        root_help("rukh", [(("add",), "command", "a/b", SUMMARY)], [("x", SUMMARY)], width),
    ]

    assert [] == [line for page in pages for line in page.split("\n") if columns(line) > width]


@pytest.mark.requirement("RK-CLI-053")
def test_columns_count_wide_characters_twice_and_combining_ones_not() -> None:
    assert (4, 4, 1, 2) == (columns("milk"), columns("漢字"), columns("e\u0301"), columns("🥛"))


@pytest.mark.requirement("RK-CLI-053")
@given(st.text(st.characters(codec="utf-8")), st.integers(20, 60))
def test_wrapping_loses_nothing_but_spaces(text: str, width: int) -> None:
    lines = wrap(printable(text, multiline=True), width)

    assert "".join(printable(text, multiline=True).split()) == "".join("".join(lines).split())
    assert all(columns(line) <= width for line in lines)


# name: (text, on one line, in a text of several lines)
PRINTABLE = {
    "plain": ("Milk", "Milk", "Milk"),
    "other scripts": ("漢字 e\u0301 🥛 \u00a0", "漢字 e\u0301 🥛 \u00a0", "漢字 e\u0301 🥛 \u00a0"),
    "escape sequence": ("\x1b[2J", "\\x1b[2J", "\\x1b[2J"),
    "C1 control": ("\x9b2J", "\\x9b2J", "\\x9b2J"),
    "delete and NUL": ("\x7f\0", "\\x7f\\x00", "\\x7f\\x00"),
    "carriage return": ("a\rb", "a\\rb", "a\\rb"),
    "newline and tab": ("a\n\tb", "a\\n\\tb", "a\n\tb"),
    "line separator": ("a\u2028b", "a\\u2028b", "a\u2028b"),
    "direction of writing": ("a\u202eb\u2066", "a\\u202eb\\u2066", "a\\u202eb\\u2066"),
    "without width": ("a\u200bb\ufeff\u200e", "a\\u200bb\\ufeff\\u200e", "a\\u200bb\\ufeff\\u200e"),
    "joiners of scripts": ("\u0915\u094d\u200d", "\u0915\u094d\u200d", "\u0915\u094d\u200d"),
    "lone surrogate": ("\udc9b", "\\udc9b", "\\udc9b"),
}


@pytest.mark.requirement("RK-CLI-070", "RK-CLI-096")
@pytest.mark.parametrize("name", PRINTABLE)
def test_characters_that_a_terminal_obeys_are_shown_as_escapes(name: str) -> None:
    text, line, lines = PRINTABLE[name]

    assert line == printable(text)
    assert lines == printable(text, multiline=True)


def controls(text: str) -> list[str]:
    """The control characters of a text, without newlines."""
    return [
        character
        for character in text
        if character != "\n" and (character < " " or "\x7f" <= character <= "\x9f")
    ]


@pytest.mark.requirement("RK-CLI-070")
@given(st.text())
def test_no_control_character_of_a_publisher_reaches_a_page(text: str) -> None:
    kind = {"kind": "choice", "values": [text, text + "x"]}
    hostile = record(
        summary=text,
        description=text,
        examples=[{"argv": ["notes", text], "summary": text}],
        parameters=[parameter("colour", "option", "--colour", kind, summary=text, default=text)],
    )
    routes = [(("notes", "add"), "command", "acme.notes/add", text)]

    assert [] == controls(command_help("rukh", hostile, 80))
    assert [] == controls(group_help("rukh", ("notes",), routes, 80))
    assert [] == controls(root_help("rukh", routes, [("x", text)], 80))


# name: (word, how a shell must see it)
QUOTED = {
    "plain": ("--tag=a,b", "--tag=a,b"),
    "empty": ("", "''"),
    "space": ("Fresh milk", "'Fresh milk'"),
    "quote": ("it's", "'it'\"'\"'s'"),
    "substitution": ("$(x)", "'$(x)'"),
    "not ASCII": ("漢", "'漢'"),
}


@pytest.mark.requirement("RK-CLI-051")
@pytest.mark.parametrize("name", QUOTED)
def test_words_of_an_example_are_quoted_for_a_shell(name: str) -> None:
    word, quoted = QUOTED[name]

    assert quoted == quote(word)


# name: (words, place, mend)
UNKNOWN = {
    "a group": (["nots", "add"], "nots", "did you mean rukh notes?"),
    "a command in a group": (["notes", "ad", "Milk"], "notes ad", "did you mean rukh notes add?"),
    "a command at the root": (["aks"], "aks", "did you mean rukh ask?"),
    "an alias": (["qeury"], "qeury", "did you mean rukh query?"),
    "a word of the core": (["instal"], "instal", "did you mean rukh install?"),
    "unlike any": (["zzzzzz"], "zzzzzz", "see rukh --help"),
    "unlike any in a group": (["notes", "zzzzzz"], "notes zzzzzz", "see rukh notes --help"),
    "no core word in a group": (["notes", "instal"], "notes instal", "see rukh notes --help"),
    "no word in a group": (["notes"], "notes", "see rukh notes --help"),
}


@pytest.mark.requirement("RK-CLI-054")
@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_path_names_the_nearest_command(name: str) -> None:
    words, place, mend = UNKNOWN[name]
    error = unknown_command("rukh", words, ROUTES, [word for word, _ in CORE])

    assert ("RKL018", 65, place, mend) == (error.rule, error.exit_code, error.place, error.mend)


# Reports every event of the interpreter that opens, starts or connects something, but for its own imports.
AUDITED = """
import sys
sys.path.insert(0, sys.argv[1])
from rukh.cli import help as pages
record, routes = eval(sys.argv[2])
pages.command_help("rukh", record, 60)
seen = []
sys.addaudithook(lambda event, details: seen.append(event))
pages.command_help("rukh", record, 60)
pages.group_help("rukh", ("notes",), routes, 60)
pages.root_help("rukh", routes, [], 60)
found = [event for event in seen if event.split(".")[0] in ("open", "os", "subprocess", "socket", "pty", "import")]
print(found)
"""


@pytest.mark.requirement("RK-CLI-050")
def test_help_opens_starts_and_asks_nothing() -> None:
    argument = repr((record(), ROUTES))
    run = subprocess.run(
        [sys.executable, "-I", "-c", AUDITED, str(ROOT), argument], capture_output=True, text=True, check=True
    )

    assert "[]\n" == run.stdout
