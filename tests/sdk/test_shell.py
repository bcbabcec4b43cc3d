"""Commands as scripts of the shell, by the host's own path, and the program that runs them against played hosts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.children import Meeting, called, cancelled_once_there, execute, verdict
from tests.support.languages import DECLARED, EXECUTE, HELLO, LARGEST, SDK, TEXT, played, shell_script

AWKWARD = [
    "",
    " ",
    "a b",
    "*",
    "$(touch ran)",
    "`touch ran`",
    "'\"\\",
    "-n",
    "--",
    "é𝄞\u2028",
    "end\n\n",
    "\n",
]


@pytest.mark.requirement("RK-AUTHOR-021")
@pytest.mark.parametrize("value", AWKWARD, ids=repr)
def test_a_text_reaches_the_script_and_comes_back_byte_for_byte(tmp_path: Path, value: str) -> None:
    body = 'rukh_get title title; rukh_result text:string="$title"; ls'
    report = called(shell_script(tmp_path, body), request=execute({"title": value}), declared=DECLARED)

    assert {"kind": "structured", "data": {"text": value}} == report.command_result
    assert b"" == report.diagnostics["stdout"][0]  # nothing was made by what stands in it


@pytest.mark.requirement("RK-AUTHOR-021")
def test_the_items_of_a_list_reach_the_script_one_by_one(tmp_path: Path) -> None:
    body = """
take() { rukh_field list+:string="$1"; }
rukh_result integer:integer="$(rukh_count tags)"
rukh_item last tags 8
rukh_each take tags
rukh_field text:string="$last"
"""
    tags = AWKWARD[:8]
    report = called(shell_script(tmp_path, body), request=execute({"tags": tags}), declared=DECLARED)

    assert {"integer": 8, "text": tags[7], "list": tags} == (report.command_result or {})["data"]


# name: (value of the input, what the script reads)
SCALARS: dict[str, tuple[Any, str]] = {
    "the largest integer": (LARGEST, str(LARGEST)),
    "a negative integer": (-7, "-7"),
    "a fraction": (-0.5, "-0.5"),
    "a large number": (1e20, "1e+20"),
    "true": (True, "true"),
    "false": (False, "false"),
}


@pytest.mark.requirement("RK-AUTHOR-021")
@pytest.mark.parametrize("name", SCALARS)
def test_a_scalar_is_read_as_its_token(tmp_path: Path, name: str) -> None:
    value, expected = SCALARS[name]
    body = 'rukh_get value value; rukh_result text:string="$value"'
    report = called(shell_script(tmp_path, body), request=execute({"value": value}), declared=DECLARED)

    assert {"text": expected} == (report.command_result or {})["data"]


@pytest.mark.requirement("RK-AUTHOR-021")
def test_what_is_absent_is_told_from_what_is_empty_and_what_was_supplied_from_a_default(
    tmp_path: Path,
) -> None:
    body = """
said() { "$@" && echo yes || echo no; }
said rukh_has empty; said rukh_has missing; said rukh_has list
said rukh_supplied empty; said rukh_supplied missing; said rukh_supplied preset
kept=before; rukh_get kept missing; echo "$? [$kept]"
rukh_count missing; rukh_count list
rukh_result
"""
    request = {
        "command": "add",
        "inputs": {"empty": "", "list": [], "preset": 1},
        "supplied": ["empty", "list"],
    }
    report = called(shell_script(tmp_path, body), request=request, declared=DECLARED)

    words = b"yes no yes yes no no 1 [] 0 0"
    assert words == b" ".join(report.diagnostics["stdout"][0].split())


@pytest.mark.requirement("RK-AUTHOR-021")
@pytest.mark.parametrize("name", ["", "1a", "a b", "a;touch ran", "a=b", "a-b"])
def test_a_name_that_is_no_variable_is_refused_before_anything_is_set(tmp_path: Path, name: str) -> None:
    body = f"rukh_get '{name}' title; echo on"
    report = called(shell_script(tmp_path, body), request=execute({"title": "x"}), declared=DECLARED)

    assert (("command_failed", "command"), 1) == (verdict(report), report.exit_status)
    assert b"is no name of a variable" in report.diagnostics["stderr"][0]
    assert b"" == report.diagnostics["stdout"][0]


# name: (body, declared, the command result)
RESULTS: dict[str, tuple[str, dict[str, Any] | None, Any]] = {
    "text": ("rukh_result_text milk", TEXT, {"kind": "text", "text": "milk"}),
    "empty text": ("rukh_result_text ''", TEXT, {"kind": "text", "text": ""}),
    "text of a pipe": ("printf 'a\\nb\\n' | rukh_result_text", TEXT, {"kind": "text", "text": "a\nb\n"}),
    "no result": ("echo done", None, None),
    "an empty object": ("rukh_result", DECLARED, {}),
    "every type": (
        "rukh_result text:string=x number:number=1e3 integer:integer=-3 flag:boolean=true list+:string=a list+:string=",
        DECLARED,
        {"text": "x", "number": 1000, "integer": -3, "flag": True, "list": ["a", ""]},
    ),
    "an empty list": ("rukh_result list:list", DECLARED, {"list": []}),
    "a list that was begun": ("rukh_result list:list list+:string=a", DECLARED, {"list": ["a"]}),
    "a decimal": ("rukh_result text:decimal=1.20", DECLARED, {"text": "1.20"}),
    "an equals sign and a colon": ("rukh_result text:string=a:b=c", DECLARED, {"text": "a:b=c"}),
    "the largest integer": (f"rukh_result integer:integer={LARGEST}", DECLARED, {"integer": LARGEST}),
    "a large number": ("rukh_result number:number=100000000000000000000", DECLARED, {"number": 1e20}),
    "JSON of a pipe": ('echo \' {"text":\n "\\u00e9"} \' | rukh_result_json', DECLARED, {"text": "é"}),
    "JSON of a file": ("echo '{}' >made; rukh_result_json made", DECLARED, {}),
    "the last of two": ("rukh_result_json </dev/null; rukh_result_text x; rukh_result", DECLARED, {}),
    "the last of two texts": ("rukh_result; rukh_result_text x", TEXT, {"kind": "text", "text": "x"}),
    "the last of two objects": (
        "rukh_result text:string=a; rukh_result number:number=1",
        DECLARED,
        {"number": 1},
    ),
    "from a subshell": ("(cd / && rukh_result text:string=x)", DECLARED, {"text": "x"}),
}


@pytest.mark.requirement("RK-AUTHOR-022", "RK-AUTHOR-023")
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_what_the_script_hands_over(tmp_path: Path, name: str) -> None:
    body, declared, expected = RESULTS[name]
    report = called(shell_script(tmp_path, body), declared=declared)

    wrapped = {"kind": "structured", "data": expected} if declared is DECLARED else expected
    assert (("succeeded", ""), wrapped, 0) == (verdict(report), report.command_result, report.exit_status)


# name: (body, a piece of what stderr says)
WRONG = {
    "a leading zero": ("rukh_result integer:integer=01", "'01' is no integer"),
    "a fraction": ("rukh_result integer:integer=1.5", "'1.5' is no integer"),
    "an empty integer": ("rukh_result integer:integer=", "'' is no integer"),
    "an integer beyond": ("rukh_result integer:integer=9007199254740993", "lies beyond 2^53-1"),
    "an integer just beyond": ("rukh_result integer:integer=9007199254740992", "is no integer"),
    "an integer that is code": ("rukh_result integer:integer='1+1'", "'1+1' is no integer"),
    "no number": ("rukh_result number:number=.5", "'.5' is no number"),
    "NaN": ("rukh_result number:number=NaN", "'NaN' is no number"),
    "a number too large": ("rukh_result number:number=1e999", "too large"),
    "a number too small": ("rukh_result number:number=1e-999", "too small"),
    "a word that is no boolean": ("rukh_result flag:boolean=yes", "'yes' is no boolean"),
    "no decimal": ("rukh_result text:decimal=1e3", "'1e3' is no decimal"),
    "an unknown type": ("rukh_result text:text=x", "'text' is none of string, boolean"),
    "no type": ("rukh_result text=x", "'text=x' is not NAME:TYPE=VALUE"),
    "a name twice": ("rukh_result text:string=a text:string=b", "text is given twice"),
    "an item of what is no list": ("rukh_result text:string=a text+:string=b", "text is given twice"),
    "bytes": ("rukh_result text:string=\"$(printf '\\377')\"", "can't decode byte 0xff"),
    "bytes as text": ("printf '\\377' | rukh_result_text", "can't decode byte 0xff"),
    "NUL as text": ("printf 'a\\0b' | rukh_result_text", "NUL stands in a text"),
    "JSON with a member twice": ('echo \'{"a":1,"a":1}\' | rukh_result_json', "a member is named twice"),
    "JSON with more behind it": ("echo '{} {}' | rukh_result_json", "Extra data"),
    "JSON that closes the frame": ('echo \'{}},"exitCode":0,"x":{\' | rukh_result_json', "Extra data"),
    "JSON with NaN": ("echo '{\"number\":NaN}' | rukh_result_json", "NaN is no JSON"),
    "JSON with a rounded integer": (
        "echo '{\"integer\":9007199254740993}' | rukh_result_json",
        "lies beyond",
    ),
    "JSON without end": ("printf '[%.0s' $(seq 100000) | rukh_result_json", "nested too deep"),
    "no JSON": ("rukh_result_json /dev/null", "the result is not as it is said to be"),
    "more than a frame": ("yes | head -c 300000 | rukh_result_text", "larger than a frame"),
}


@pytest.mark.requirement("RK-AUTHOR-022")
@pytest.mark.parametrize("name", WRONG)
def test_a_result_that_is_not_what_it_is_said_to_be_is_a_failure(tmp_path: Path, name: str) -> None:
    body, said = WRONG[name]
    report = called(shell_script(tmp_path, body), declared=DECLARED)

    assert (("command_failed", "command"), 1) == (verdict(report), report.exit_status)
    assert said in report.diagnostics["stderr"][0].decode()
    assert said in (report.reason or {})["message"]
    assert report.command_result is None


@pytest.mark.requirement("RK-AUTHOR-022")
def test_half_a_character_in_a_result_of_json_is_a_failure(tmp_path: Path) -> None:
    body = 'echo \'{"text":"\\ud800"}\' | rukh_result_json'
    report = called(shell_script(tmp_path, body), declared=DECLARED)

    assert (("command_failed", "command"), 1) == (verdict(report), report.exit_status)
    assert b"Traceback" not in report.diagnostics["stderr"][0]


@pytest.mark.requirement("RK-AUTHOR-022")
def test_what_is_printed_is_no_result(tmp_path: Path) -> None:
    report = called(shell_script(tmp_path, 'echo \'{"text":"x"}\''), declared=DECLARED)

    assert ("execution_failed", "result_missing") == verdict(report)


# name: (body, verdict, exit status, message)
ENDS: dict[str, tuple[str, str, int, str]] = {
    "a failure": ("rukh_fail 'no milk'; echo on", "command", 1, "no milk"),
    "a failure with a status": ("rukh_fail 'no milk' 63", "command", 63, "no milk"),
    "a failure with another status": ("rukh_fail 'no milk' 64", "command", 1, "no milk"),
    "a failure of two lines": ("rukh_fail 'no\nmilk' 9", "command", 9, "no\nmilk"),
    "a failure in a subshell": ("(rukh_fail 'no milk' 4); rukh_result", "command", 4, "no milk"),
    "exit 1": ("exit 1", "command", 1, "exit status 1"),
    "exit 63": ("exit 63", "command", 63, "exit status 63"),
    "exit 64": ("exit 64", "command", 1, "exit status 64"),
    "exit 255": ("exit 255", "command", 1, "exit status 255"),
    "a command that is not there": ("set -e; nowhere; rukh_result", "command", 1, "exit status 127"),
    "a command that a signal ended": (
        "set -e; sh -c 'kill -9 $$'; rukh_result",
        "command",
        1,
        "exit status 137",
    ),
    "another program": ("exec false", "command", 1, "exit status 1"),
    "SIGKILL": ("kill -9 $$", "exited_early", -9, "the child made no report"),
    "SIGTERM": ("kill -TERM $$", "exited_early", -15, "the child made no report"),
    "SIGPIPE": ("kill -PIPE $$", "exited_early", -13, "the child made no report"),
}


@pytest.mark.requirement("RK-AUTHOR-023")
@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_the_script_decides(tmp_path: Path, name: str) -> None:
    body, code, status, message = ENDS[name]
    report = called(shell_script(tmp_path, body), declared=DECLARED)

    assert (code, status) == (verdict(report)[1], report.exit_status)
    assert (report.reason or {})["message"].startswith(message)
    assert b"" == report.diagnostics["stdout"][0]


@pytest.mark.requirement("RK-AUTHOR-023")
def test_a_failure_may_carry_the_declared_result(tmp_path: Path) -> None:
    report = called(
        shell_script(tmp_path, "rukh_result number:number=2; rukh_fail partly 4"), declared=DECLARED
    )

    assert (("command_failed", "command"), 4) == (verdict(report), report.exit_status)
    assert {"kind": "structured", "data": {"number": 2}} == report.command_result


@pytest.mark.requirement("RK-AUTHOR-023")
def test_a_broken_pipe_inside_the_script_ends_what_writes_and_not_the_script(tmp_path: Path) -> None:
    body = "yes | head -n 1; rukh_result"
    report = called(shell_script(tmp_path, body), declared=DECLARED)

    assert (("succeeded", ""), b"y\n", b"") == (
        verdict(report),
        report.diagnostics["stdout"][0],
        report.diagnostics["stderr"][0],
    )


@pytest.mark.requirement("RK-AUTHOR-020")
def test_neither_the_script_nor_what_it_starts_has_the_channel_or_the_token(tmp_path: Path) -> None:
    look = "for d in 3 4 5 6 7 8 9; do readlink /proc/self/fd/$d || echo none; done"
    report = called(shell_script(tmp_path, f"{look}\n/bin/sh -c '{look}'\nrukh_result"), declared=DECLARED)

    kinds = [line.partition(b":")[0] for line in report.diagnostics["stdout"][0].split()]
    own = [b"none" if kind.startswith(b"/") else kind for kind in kinds]  # the script's own file
    assert ([b"pipe"] + [b"none"] * 6) * 2 == own


@pytest.mark.requirement("RK-AUTHOR-024")
def test_progress_is_passed_on_with_exact_numbers(tmp_path: Path) -> None:
    body = """
rukh_progress 1 3 "half	a
line"
rukh_progress 2.5
rukh_progress 3 '' 'no total'
rukh_progress x 1 'no number'
rukh_progress 1 x
rukh_result
"""
    done = played(shell_script(tmp_path, body), [HELLO, EXECUTE])

    assert [
        {"type": "progress", "progress": 1, "total": 3, "message": "half a line"},
        {"type": "progress", "progress": 2.5},
        {"type": "progress", "progress": 3, "message": "no total"},
    ] == done.frames[1:-1]
    assert 2 == done.stderr.count(b"is no number")


@pytest.mark.requirement("RK-AUTHOR-024")
def test_a_script_that_looks_for_the_cancellation_ends_well(tmp_path: Path) -> None:
    meeting = Meeting(tmp_path / "fifo")
    body = f"""
trap '' TERM
rukh_cancelled || echo 'not yet'
echo here >'{meeting.path}'
until rukh_cancelled; do :; done
echo stopped
rukh_result
"""
    launch = shell_script(tmp_path, body)
    report = cancelled_once_there(launch, meeting, DECLARED)

    assert (("cancelled", "owner"), 0) == (verdict(report), report.exit_status)
    assert b"not yet\nstopped\n" == report.diagnostics["stdout"][0]


@pytest.mark.requirement("RK-AUTHOR-024")
def test_a_cancellation_that_comes_with_the_request_is_not_lost(tmp_path: Path) -> None:
    body = "until rukh_cancelled; do :; done; rukh_result_text seen"
    done = played(shell_script(tmp_path, body), [HELLO, EXECUTE, b'{"type":"cancel","cause":"owner"}'])

    assert {"kind": "text", "text": "seen"} == done.frames[-1]["commandResult"]


@pytest.mark.requirement("RK-AUTHOR-024")
def test_the_script_never_starts_in_a_session_that_is_cancelled_before_the_request(tmp_path: Path) -> None:
    done = played(shell_script(tmp_path, "echo ran"), [HELLO, b'{"type":"cancel","cause":"caller"}'])

    assert (0, b"", b"") == (done.status, done.stdout, done.stderr)
    assert [{"type": "confirm", "session": "s", "token": "t", "sdk": "rukh-sdk-sh/1"}] == done.frames


@pytest.mark.requirement("RK-AUTHOR-024")
def test_a_description_is_answered_without_running_the_script(tmp_path: Path) -> None:
    done = played(
        shell_script(tmp_path, "echo ran"), [HELLO, b'{"type":"describe","command":"add","path":[]}']
    )

    assert (1, b"", "command_failed") == (done.status, done.stdout, done.frames[-1]["status"])


# name: (lines of the host, what is said of them)
BROKEN: dict[str, tuple[list[bytes], str]] = {
    "another protocol": ([b'{"type":"hello","protocol":"rukh.channel/2","session":"s"}'], "the host speaks"),
    "no greeting": ([EXECUTE], "execute stands where hello belongs"),
    "two greetings": ([HELLO, HELLO], "hello stands where execute or describe or cancel belongs"),
    "a member more": ([HELLO, EXECUTE[:-1] + b',"outcome":"succeeded"}'], "not as the protocol has it"),
    "a member less": ([HELLO, EXECUTE.replace(b',"supplied":[]', b"")], "not as the protocol has it"),
    "a member twice": ([HELLO, EXECUTE.replace(b"{}", b'{"a":1,"a":1}')], "a member is named twice"),
    "a path as an id": ([HELLO, EXECUTE.replace(b"{}", b'{"../x":1}')], "is no id of a parameter"),
    "no object": ([HELLO, b"[]"], "not as the protocol has it"),
    "a type that is a list": ([HELLO, b'{"type":[]}'], "not as the protocol has it"),
    "too large": ([HELLO, EXECUTE.replace(b"{}", b'{"a":"' + b"x" * 262_144 + b'"}')], "too large"),
    "no more": ([HELLO], "the host has gone"),
}  # fmt: skip


@pytest.mark.requirement("RK-AUTHOR-020")
@pytest.mark.parametrize("name", BROKEN)
def test_a_host_that_breaks_the_protocol_gets_no_report(tmp_path: Path, name: str) -> None:
    lines, said = BROKEN[name]
    done = played(shell_script(tmp_path, "echo ran"), lines, ended=True)

    assert (1, b"") == (done.status, done.stdout)
    assert said in done.stderr.decode()
    assert [] == [frame for frame in done.frames if frame["type"] == "completion"]


@pytest.mark.requirement("RK-AUTHOR-025")
def test_the_program_imports_the_standard_library_alone_and_the_shell_file_is_posix() -> None:
    source = (SDK / "sh" / "rukh_sh.py").read_text(encoding="utf-8")
    imported = set(re.findall(r"^\s*(?:import|from) (\w+)", source, re.MULTILINE))
    shell = SDK / "sh" / "rukh.sh"

    assert set() == imported - set(sys.stdlib_module_names)
    assert source.startswith("#!/usr/bin/env -S python3 -I -S\n")
    assert 0 == subprocess.run(["sh", "-n", str(shell)], check=False).returncode
    assert [] == re.findall(
        r"\[\[|\blocal\b|\bfunction\b|<<<|\bdeclare\b", re.sub(r"#.*", "", shell.read_text())
    )


@pytest.mark.requirement("RK-AUTHOR-025")
def test_without_a_host_or_without_the_program_the_reason_is_said(tmp_path: Path) -> None:
    shell_script(tmp_path, "echo ran")
    release = tmp_path / "release"
    environment = {"PATH": os.environ["PATH"]}
    quiet: dict[str, Any] = {
        "capture_output": True,
        "stdin": subprocess.DEVNULL,
        "env": environment,
    }
    alone = subprocess.run([str(release / "lib" / "rukh-sh"), "bin/add"], check=False, **quiet)
    by_hand = subprocess.run(["sh", str(release / "bin" / "add")], check=False, **quiet)

    assert (1, b"", True) == (alone.returncode, alone.stdout, b"is started by a host" in alone.stderr)
    assert (1, b"", True) == (by_hand.returncode, by_hand.stdout, b"started by lib/rukh-sh" in by_hand.stderr)
