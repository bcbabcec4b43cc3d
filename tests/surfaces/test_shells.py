"""Completion in the shells themselves: a key is pressed, the line is run, and the command tells what it was given."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.homes import PATIENCE, PROGRAM, InstalledHome
from tests.support.shelves import ODD, shelf_home
from tests.support.terminals import Terminal

TAB = b"\t"
READY = "ready>"
# Started without anybody's settings, each with a prompt that nothing else shows.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(rukh completion bash)"; PS1=rea; PS1+="dy>"'),
    "zsh": (
        ["zsh", "-f", "-i"],
        "autoload -Uz compinit; compinit -u -D; unsetopt beep prompt_sp; "
        'eval "$(rukh completion zsh)"; PROMPT=rea; PROMPT+="dy>"',
    ),
    "fish": (
        ["fish", "--no-config", "-i"],
        "rukh completion fish | source; function fish_prompt; echo -n rea''dy'>'; end",
    ),
}
# offered word: what is typed of it
TYPED = {
    "plain": "pl",
    "two words": "two",
    "it's": "it",
    'say "x"': "sa",
    "a\\b": "a",
    "c:d=e": "c",
    "$HOME": "\\$H",
    "*": "\\*",
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> InstalledHome:
    return shelf_home(tmp_path_factory.mktemp("shelf"))


def environment(home: InstalledHome, place: Path) -> dict[str, str]:
    """Of a shell that finds the program by its name and has no settings."""
    return {
        "PATH": f"{Path(PROGRAM).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(place),
        "RUKH_HOME": home.path,
        "TERM": "dumb",
        "LANG": "C.UTF-8",
    }


@pytest.fixture(params=list(SHELLS))
def shell(shelf: InstalledHome, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    argv, begin = SHELLS[request.param]
    with Terminal(argv, environment(shelf, tmp_path), columns=200) as terminal:
        terminal.type(begin.encode() + b"\n")
        terminal.until(READY.encode())
        yield terminal


@pytest.mark.requirement("RK-COMP-021", "RK-COMP-020")
@pytest.mark.parametrize("word", TYPED)
def test_what_a_key_inserts_is_the_offered_word(shell: Terminal, word: str) -> None:
    shell.type(f"rukh p top --odd {TYPED[word]}".encode() + TAB + b"\n")
    shown = shell.until(b'"place": "top"').decode()
    expected = word.replace("\\", "\\\\").replace('"', '\\"')
    assert f'"odd": "{expected}"' in shown


@pytest.mark.requirement("RK-COMP-020", "RK-COMP-010")
def test_a_path_is_completed_word_by_word(shell: Terminal) -> None:
    shell.type(b"rukh she" + TAB + b"al" + TAB + b"\n")
    shell.until(b"\nall")


BASH = """\
eval "$(rukh completion bash)"
COMP_LINE=$1 COMP_POINT=${#1}
_rukh_completion rukh "" "" 2>/dev/null
for reply in "${COMPREPLY[@]}"; do eval "$1$reply --json"; done
"""


@pytest.mark.requirement("RK-COMP-021", "RK-COMP-007")
def test_every_word_that_bash_is_given_is_read_back_as_itself(shelf: InstalledHome, tmp_path: Path) -> None:
    """Those behind the `=` of a long option: what bash would insert is run, and the command says what it got."""
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", BASH, "bash", "rukh p top --odd="],
        env=environment(shelf, tmp_path),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    given = [line for line in done.stdout.decode().splitlines() if line]
    assert len(ODD) == len(given), done.stderr
    for word in ODD:
        assert any(_said(word) in line for line in given), word


def _said(word: str) -> str:
    """How the answer, itself a JSON string, shows the word."""
    inner = "".join(
        f"\\u{ord(c):04x}" if ord(c) > 126 else c for c in word.replace("\\", "\\\\").replace('"', '\\"')
    )
    return f'"odd": "{inner}"'.replace("\\", "\\\\").replace('"', '\\"')


@pytest.mark.requirement("RK-COMP-020", "RK-COMP-021")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_program_in_a_place_with_odd_characters_is_started(
    shelf: InstalledHome, tmp_path: Path, shell: str
) -> None:
    place = tmp_path / "a b'c$(false)"
    place.mkdir()
    program = place / "rukh"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(PROGRAM)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    text = subprocess.run(
        [PROGRAM, "completion", shell], env=environment(shelf, tmp_path), capture_output=True, check=True
    ).stdout.decode()
    from rukh.cli.admin.completing import script

    assert script(shell, "rukh", [PROGRAM]).decode() == text
    moved = tmp_path / "script"
    moved.write_bytes(script(shell, "rukh", [os.fspath(program)]))
    syntax = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}[shell]
    done = subprocess.run([*syntax, os.fspath(moved)], capture_output=True, timeout=PATIENCE, check=False)
    assert (0, b"") == (done.returncode, done.stderr)
    if shell == "fish":
        asked = f"source {shlex.quote(os.fspath(moved))}; complete -C 'rukh shelf pu'"
        answer = subprocess.run(
            ["fish", "--no-config", "-c", asked],
            env=environment(shelf, tmp_path),
            capture_output=True,
            check=True,
        )
        assert b"put\tDoes put\n" == answer.stdout
