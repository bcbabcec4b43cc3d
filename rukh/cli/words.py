"""The core's own words at the root: what each does, and which this version has. RK-ADM-001

Every word of the registry's list is reserved, built or not, so that an extension installed today does not shadow one
that comes tomorrow.
"""

from __future__ import annotations

BUILT = {
    "check": "Check extensions, and name every fault with its place and its mend",
    "new": "Write a working extension to begin with",
    "test": "Run the cases of an extension in a throw-away home",
    "keygen": "Make a publisher's key pair",
    "pack": "Pack an extension into one release artifact",
    "sign": "Sign a release artifact",
    "catalog": "Write the catalog of a directory of releases",
    "trust": "Trust a publisher's key for a package, or revoke it",
    "source": "Name the directories to install from",
    "install": "Install a package: verify, stage, publish",
    "update": "Update a package to a newer release",
    "remove": "Remove a package from the profile",
    "list": "List what is installed, with each command's identity",
    "info": "Say what is known of one package",
    "profile": "Show the profile and its history, apply an owner's file, roll back",
    "run": "Run a command by its identity, with inputs as JSON",
    "mcp": "Serve an endpoint to an agent, or show what it would see",
    "task": "Issue a task for an endpoint",
    "recover": "Settle what dead processes left under way",
    "gc": "Give back revisions and releases that nothing needs",
    "doctor": "Look for what is wrong with the home, and mend it",
    "completion": "Print the completion script for bash, zsh or fish",
    "help": "Help for a command, a group or a word",
}
