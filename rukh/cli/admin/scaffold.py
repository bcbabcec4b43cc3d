"""The verb `new`: a working extension in one of three languages, from the templates of the distribution.

The templates lie under `sdk/templates`; what an extension of that language needs of Rukh at run time is copied beside
its code, so that a release holds all that it needs. A placeholder is `{{name}}`, and each must be one of the names
below. Nothing is written where something lies already, and nothing is left of what could not be written wholly.
RK-AUTHOR-040 to RK-AUTHOR-043 RK-AUTHOR-065
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

import click

from rukh.cli.admin.shown import Shown, json_option
from rukh.cli.context import Context
from rukh.cli.text import printable, quote
from rukh.contract.grammar import PACKAGE, WORD
from rukh.values.errors import RukhError
from rukh.values.registry import RESERVED_WORDS

_SDK = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "sdk")
_PLACEHOLDER = re.compile(r"\{\{([a-z]+)\}\}")
_FILE, _PROGRAM = 0o644, 0o755
_LONGEST_WORD = 32

# (template or file below `sdk`, name in the extension, mode): what every extension has, then what a language adds.
_COMMON = (
    ("templates/common/rukh-extension.json.tmpl", "rukh-extension.json", _FILE),
    ("templates/common/rukh-cases.json.tmpl", "rukh-cases.json", _FILE),
    ("templates/common/README.md.tmpl", "README.md", _FILE),
    ("templates/common/gitignore.tmpl", ".gitignore", _FILE),
)
_FILES = {
    "python": (("templates/python/extension.py.tmpl", "{{module}}.py", _FILE),),
    "node": (
        ("templates/node/main.mjs.tmpl", "main.mjs", _FILE),
        ("node/rukh_sdk.mjs", "rukh_sdk.mjs", _FILE),
    ),
    "sh": (
        ("templates/sh/greet.tmpl", "bin/greet", _FILE),
        ("sh/rukh_sh.py", "lib/rukh-sh", _PROGRAM),
        ("sh/rukh.sh", "lib/rukh.sh", _FILE),
    ),
}
_RUNTIMES: dict[str, dict[str, Any]] = {
    "python": {"kind": "python", "requires": ">=3.11"},
    "node": {"kind": "node", "requires": ">=18"},
    "sh": {"kind": "native"},
}
_ENTRIES: dict[str, Any] = {
    "python": "{module}:greet",
    "node": ["main.mjs"],
    "sh": ["lib/rukh-sh", "bin/greet"],
}
_SAID = {
    "python": ("`{module}.py` | the code",),
    "node": ("`main.mjs` | the code", "`rukh_sdk.mjs` | the module that it imports, of Rukh's distribution"),
    "sh": (
        "`bin/greet` | the code, one script a command",
        "`lib/` | what starts the scripts and what they source, of Rukh's distribution",
    ),
}


@click.command("new")
@click.argument("package")
@click.option("--lang", required=True, type=click.Choice(list(_FILES)), help="The language of its code.")
@click.option(
    "--out", "directory", required=True, metavar="DIR", help="Where it is written; empty, or not there yet."
)
@json_option
@click.pass_obj
def new_verb(context: Context, package: str, lang: str, directory: str, as_json: bool) -> Shown:
    """Write a working extension PACKAGE, with cases that test it, into DIR."""
    if not PACKAGE.matches(package):
        raise RukhError(
            "RKX018",
            f"{package!r} is no package name",
            place=package,
            mend=f"write {PACKAGE.says}: acme.notes",
        )
    _check_empty(directory)
    files = _contents(package, lang, context.name)
    _write_all(directory, files)
    document = {
        "package": package,
        "language": lang,
        "directory": directory,
        "files": [row[0] for row in files],
    }
    shown = printable(quote(directory))
    text = f"{printable(directory)} holds {package}; next: {context.name} test {shown}\n"
    return Shown(document, json=as_json, text=text)


def _check_empty(directory: str) -> None:
    if not directory:
        raise RukhError("RKX019", "the directory has no name", place="--out", mend="write . for this one")
    try:
        found = sorted(os.listdir(directory))
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unwritable(directory, error) from error
    if found:
        message = f"it holds {found[0]}" + (f" and {len(found) - 1} more" if found[1:] else "")
        raise RukhError("RKX017", message, place=directory, mend="name an empty directory, or a new one")


def _contents(package: str, lang: str, app: str) -> list[tuple[str, bytes, int]]:
    """Name, bytes and mode of each file."""
    values = _values(package, lang, app)
    files = []
    for source, name, mode in (*_COMMON, *_FILES[lang]):
        with open(os.path.join(_SDK, source), "rb") as file:
            data = file.read()
        if source.endswith(".tmpl"):
            data = _filled(data.decode(), values).encode()
        files.append((_filled(name, values), data, mode))
    return files


def _filled(template: str, values: dict[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: values[found.group(1)], template)


def _values(package: str, lang: str, app: str) -> dict[str, str]:
    module = package.replace(".", "_").replace("-", "_")
    entry = _ENTRIES[lang]
    return {
        "app": app,
        "package": package,
        "module": module,
        "word": _word(package),
        "title": package.rpartition(".")[2].replace("-", " ").strip().capitalize(),
        "runtime": json.dumps(_RUNTIMES[lang]),
        "entry": json.dumps(entry.format(module=module) if isinstance(entry, str) else entry),
        "files": "\n".join(f"| {row.format(module=module)} |" for row in _SAID[lang]),
    }


def _word(package: str) -> str:
    """The root word of its commands: the last label, else, where that is too long or the core's, the whole name."""
    last = package.rpartition(".")[2]
    if WORD.matches(last) and last not in RESERVED_WORDS:
        return last
    return package.replace(".", "-")[:_LONGEST_WORD].rstrip("-")


def _write_all(directory: str, files: list[tuple[str, bytes, int]]) -> None:
    """Write every file, or leave nothing of them. RK-AUTHOR-065"""
    made: list[str] = []
    path = directory
    try:
        for name, data, mode in files:
            path = os.path.join(directory, name)
            _make_directory(os.path.dirname(path), made)
            with open(path, "xb") as file:
                made.append(path)
                file.write(data)
            os.chmod(path, mode)
    except OSError as error:
        _take_back(made)
        raise _unwritable(error.filename or path, error) from error
    except BaseException:  # an interrupt: the person wants none of it
        _take_back(made)
        raise


def _make_directory(path: str, made: list[str]) -> None:
    """The directory and those above it, the new ones noted in `made`."""
    if path and not os.path.isdir(path):
        _make_directory(os.path.dirname(path), made)
        if not os.path.isdir(path):  # "new/." is there once "new" is
            os.mkdir(path)
            made.append(path)


def _take_back(made: list[str]) -> None:
    for path in reversed(made):
        try:
            os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
        except OSError:
            pass  # somebody else has put something into it, or the disk does not even let go


def _unwritable(path: str, error: OSError) -> RukhError:
    return RukhError(
        "RKX019", f"it cannot be written: {error.strerror}", place=path, mend="name another directory"
    )
