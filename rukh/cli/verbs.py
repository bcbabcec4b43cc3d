"""The core's verbs as completion sees them: each with its arguments and options, and what a value of one is.

A row is (name, what its value is, summary). A name without a hyphen is an argument, in order; one that ends in `...`
takes all that is left. What a value is: `flag` takes none; `choice A B` is one of these; `file`, `directory`,
`identity`, `package`, `endpoint`, `revision`, `rule` and `schema` can be looked up; `text` is the caller's own. A verb
of two words belongs to a group. The administration declares the same to click, and a test holds the two equal; this
table exists because a key press cannot wait for click. RK-COMP-015
"""

from __future__ import annotations

Row = tuple[str, str, str]

_JSON = ("--json", "flag", "Print one JSON document.")
_PRERELEASE = ("--allow-prerelease", "flag", "Let a pre-release be chosen.")
_DOWNGRADE = ("--allow-downgrade", "flag", "Let it go below the highest version seen.")

VERBS: dict[str, tuple[Row, ...]] = {
    "check": (
        ("PATH...", "file", ""),
        ("--format", "choice text json sarif", "How the findings are shown."),
        _JSON,
        ("--strict", "flag", "Exit 1 after a warning too."),
        ("--descriptor-only", "flag", "Look at no file beside a document."),
        ("--rules", "flag", "List every rule that a check can report."),
        ("--explain", "rule", "Explain one rule, of a check or of anything else."),
        ("--schema", "schema", "Print a JSON Schema for editors, such as descriptor-2."),
    ),
    "new": (
        ("PACKAGE", "text", ""),
        ("--lang", "choice python node sh", "The language of its code."),
        ("--out", "directory", "Where it is written; empty, or not there yet."),
        _JSON,
    ),
    "test": (
        ("DIR", "directory", ""),
        ("--filter", "text", "Only the cases with TEXT in their name."),
        ("--deadline", "text", "What a case may take that says no seconds, 60s by default."),
        _JSON,
    ),
    "keygen": (("--out", "directory", "Where the two files are written."), _JSON),
    "pack": (("DIR", "directory", ""), ("--out", "file", "The artifact to write."), _JSON),
    "sign": (("FILE", "file", ""), ("--key", "file", "The publisher's private key."), _JSON),
    "catalog": (("DIR", "directory", ""), _JSON),
    "trust add": (("PACKAGE", "text", ""), ("--key", "file", "The publisher's public key."), _JSON),
    "trust list": (("PACKAGE", "package", ""), _JSON),
    "trust revoke": (("PACKAGE", "package", ""), ("KEY-ID", "text", ""), _JSON),
    "source add": (("NAME", "text", ""), ("DIR", "directory", ""), _JSON),
    "source list": (_JSON,),
    "source remove": (("NAME", "text", ""), _JSON),
    "install": (
        ("PACKAGE", "text", ""),
        ("--mount", "text", "Words in front of the package's paths."),
        _PRERELEASE,
        _DOWNGRADE,
        _JSON,
    ),
    "update": (
        ("PACKAGE", "package", ""),
        _PRERELEASE,
        _DOWNGRADE,
        ("--accept", "text", "Consent to this very change."),
        _JSON,
    ),
    "remove": (("PACKAGE", "package", ""), _JSON),
    "list": (_JSON,),
    "info": (("PACKAGE", "package", ""), _JSON),
    "profile show": (("--toml", "flag", "As an owner's file, ready to be edited and applied."), _JSON),
    "profile apply": (("FILE", "file", ""), _JSON),
    "profile history": (_JSON,),
    "profile diff": (("ONE", "revision", ""), ("OTHER", "revision", ""), _JSON),
    "profile rollback": (("REVISION", "revision", ""), _JSON),
    "mcp serve": (("--endpoint", "endpoint", "The endpoint to serve."),),
    "mcp tools": (
        ("--endpoint", "endpoint", "The endpoint to look through."),
        ("--explain", "identity", "Why this command is a tool of it, or is not."),
        _JSON,
    ),
    "mcp config": (
        ("--endpoint", "endpoint", "The endpoint to be entered."),
        ("--json", "flag", "The entry is JSON in any case."),
    ),
    "task issue": (("--endpoint", "endpoint", "The endpoint that works under the task."), _JSON),
    "recover": (_JSON,),
    "gc": (("--dry-run", "flag", "Say what would go, and change nothing."), _JSON),
    "doctor": (("--fix", "flag", "Mend what needs no decision of yours."), _JSON),
    "completion": (("SHELL", "choice bash zsh fish", ""),),
}

# The words behind a group, each with what it does.
GROUPS: dict[str, dict[str, str]] = {
    "trust": {
        "add": "Trust the key PUB for releases of PACKAGE, and of no other package.",
        "list": "List the keys that are or were trusted, for PACKAGE or for all.",
        "revoke": "Take the trust in a key for PACKAGE back, for good; what it signed is not called any more.",
    },
    "source": {
        "add": "Name the directory DIR, which holds a catalog.json, as a source.",
        "list": "List the sources, in the order in which they are asked.",
        "remove": "Take the source NAME off the list; what was installed from it stays.",
    },
    "profile": {
        "show": "Show the active profile and its revision.",
        "apply": "Publish the owner's FILE as the new profile; installed packages stay.",
        "history": "List the kept revisions, the newest first.",
        "diff": "Show where the revisions ONE and OTHER differ.",
        "rollback": "Publish anew what the kept REVISION held, as a revision of its own.",
    },
    "mcp": {
        "serve": "Serve an endpoint on standard input and output, until the client goes away.",
        "tools": "Print what an agent would see at an endpoint.",
        "config": "Print the entry to paste into a client's configuration.",
    },
    "task": {
        "issue": "Issue a task for an endpoint, with the budget of its preset; an older task of it ends."
    },
}


def record_of(verb: str) -> dict[str, object]:
    """The verb in the form of a command's record, for the reading of its words."""
    return {
        "mapping": {"kind": "managed"},
        "result": None,
        "parameters": [_parameter(row) for row in VERBS[verb]],
    }


def _parameter(row: Row) -> dict[str, object]:
    name, value, summary = row
    kind, *values = value.split(" ")
    declared: dict[str, object] = {"kind": "list" if name.endswith("...") else kind, "values": values}
    if name.endswith("..."):
        declared["items"] = {"kind": kind}
    form = "positional" if not name.startswith("-") else "flag" if kind == "flag" else "option"
    return {
        "id": name,
        "form": form,
        "summary": summary,
        "type": declared,
        "names": [name] if form != "positional" else [],
    }
