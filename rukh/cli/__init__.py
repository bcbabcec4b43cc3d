"""CLI: the grammar of argument words, help from declarations, and how results and refusals are shown.

Rules of the room:

- Words become typed inputs here and nowhere else, and only once; the semantic validator of `contract` judges
  them afterwards, as it judges the inputs of every other surface.
- Standard output carries the result alone; refusals, failures and progress go to standard error.
- No text of a publisher, of a caller or of a child reaches a terminal with control characters in it.
- What stands on the path of an installed command's call imports neither click nor anything that click needs;
  administration does, and is loaded only when one of its words is called.

The names below are the room's public ones; each is loaded from its module on first use.
"""

from __future__ import annotations

from rukh.values.front import front

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.cli.argv import decode_argv
    from rukh.cli.help import command_help, group_help, root_help, unknown_command
    from rukh.cli.lexer import CoreOptions, Lexed, lex
    from rukh.cli.present import (
        error_json,
        error_text,
        exit_code,
        failure_json,
        failure_text,
        json_document,
        result_json,
        result_text,
    )
    from rukh.cli.reading import Globals, split_core
    from rukh.cli.saying import argv_for
    from rukh.cli.text import columns, pad, printable, quote, wrap

__all__ = [
    "CoreOptions",
    "Globals",
    "Lexed",
    "argv_for",
    "columns",
    "command_help",
    "decode_argv",
    "error_json",
    "error_text",
    "exit_code",
    "failure_json",
    "failure_text",
    "group_help",
    "json_document",
    "lex",
    "pad",
    "printable",
    "quote",
    "result_json",
    "result_text",
    "root_help",
    "split_core",
    "unknown_command",
    "wrap",
]

_HOMES = {
    "argv": "decode_argv",
    "help": "command_help group_help root_help unknown_command",
    "lexer": "CoreOptions Lexed lex",
    "present": (
        "error_json error_text exit_code failure_json failure_text json_document result_json result_text"
    ),
    "reading": "Globals split_core",
    "saying": "argv_for",
    "text": "columns pad printable quote wrap",
}

__getattr__ = front(__name__, _HOMES)
