"""Administration: the owner's and the publisher's words, over click. Never on the path of a call.

One module a subject, one function a verb, all of one shape: options in, one call into the core, one document out. The
document is shown readably, or as it is under `--json`. A verb's module is loaded when its word is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import click

from rukh.cli.admin.shown import Shown
from rukh.cli.browse import terminal_width
from rukh.cli.context import Context
from rukh.cli.output import STDOUT, write_out
from rukh.cli.paint import bold, painted
from rukh.cli.sheet import Sheet
from rukh.cli.verbs import GROUPS
from rukh.cli.words import BUILT
from rukh.values.errors import RukhError

_MODULES = {
    "check": "checking",
    "new": "scaffold",
    "test": "trial",
    "keygen": "authoring",
    "pack": "authoring",
    "sign": "authoring",
    "catalog": "authoring",
    "trust": "trusting",
    "source": "trusting",
    "install": "packages",
    "update": "packages",
    "remove": "packages",
    "list": "packages",
    "info": "information",
    "profile": "profile",
    "mcp": "endpoints",
    "task": "endpoints",
    "recover": "upkeep",
    "gc": "upkeep",
    "doctor": "doctor",
    "completion": "completing",
    "help": "helping",
}


# No text is cut to a width before it is laid out.
_UNCUT = 10_000
_CLICKS_HELP, _HELP = "Show this message and exit.", "Show this help"


class _Pages(click.HelpFormatter):
    """click's pages laid out as those of installed commands: same sheet, same headings."""

    def __init__(self, **_: Any) -> None:
        super().__init__(0, width=_UNCUT)
        self._sheet = Sheet(terminal_width(STDOUT), painted(bold, STDOUT))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self.write(self._sheet.usage(f"{prog} {args}") + "\n")

    def write_text(self, text: str) -> None:
        self.write("\n\n".join(self._sheet.paragraph(part) for part in _paragraphs(text)) + "\n")

    def write_heading(self, heading: str) -> None:
        self.write(f"{self._sheet.title(heading)}\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        self.write("\n".join(self._sheet.rows([_row(*row) for row in rows])) + "\n")


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split("\n\n")]


def _row(label: str, says: str) -> tuple[str, str]:
    """A row as the other pages write it: no full stop, choices without brackets, room for a short name."""
    if not label.startswith("-"):
        return label, says.removesuffix(".")
    label = label.replace("[", "").replace("]", "")
    says = _HELP if says == _CLICKS_HELP else says.removesuffix(".").replace(".  [", " [")
    return (f"    {label}" if label.startswith("--") else label), says


class _Context(click.Context):
    formatter_class = _Pages


def _dressed(command: click.Command) -> click.Command:
    """The command, and all below it, with these pages."""
    command.context_class = _Context
    if isinstance(command, click.Group):
        command.subcommand_metavar = "COMMAND ..."
        for below in command.commands.values():
            _dressed(below)
    return command


class _Words(click.Group):
    """The root's words, each loaded from its module when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        found: click.Command = getattr(import_module(f"{__name__}.{_MODULES[cmd_name]}"), f"{cmd_name}_verb")
        return _dressed(found)


def administer(context: Context, words: list[str], before: int = 0) -> int:
    """Run one administrative command line, with the `before` words in front of it; the exit status.

    Raises RKL025 for a word that is only reserved yet, RKL018 for one that its group does not have, and RKL028 for
    words that do not fit.
    """
    if words[0] not in BUILT:
        raise RukhError(
            "RKL025",
            f"{words[0]} is reserved, and this version does not have it yet",
            place=words[0],
            mend=f"see {context.name} --help",
        )
    _require_verb(context, words)
    root = _Words(name=context.name, context_settings={"help_option_names": ["-h", "--help"]})
    try:
        answer: Any = root.main(args=words, prog_name=context.name, standalone_mode=False, obj=context)
    except click.ClickException as error:
        from rukh.cli.admin.usage import refusal

        raise refusal(error, context.name, words, before) from error
    except click.Abort:
        raise KeyboardInterrupt from None
    if not isinstance(answer, Shown):
        return int(answer or 0)  # click's own exits, such as --help
    write_out(answer.rendered())
    return answer.status


def _require_verb(context: Context, words: list[str]) -> None:
    """Refuse a word behind a group of the core that is none of its verbs, as one of an extension is. RK-CLI-092"""
    group, wrong = words[0], words[1] if len(words) > 1 else "-"
    if wrong.startswith("-") or group not in GROUPS or wrong in GROUPS[group]:
        return
    from rukh.cli.help import unknown_command

    verbs = [((group, verb), "command", "", says) for verb, says in GROUPS[group].items()]
    raise unknown_command(context.name, [group, wrong], verbs, [])
