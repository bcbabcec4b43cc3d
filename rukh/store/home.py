"""The home: one directory of one user, 0700, on a local file system of a Linux machine.

    db/        the one database            releases/  unpacked releases, read-only, by tree digest
    staging/   releases on their way in    run/       private working directories of calls
    cache/     byte code, by tree digest   keys/      the owner's own keys
    locks/     the writers' turnstile

Which home: an option, else `<APP>_HOME`, else the user data directory. RK-STORE-001 … RK-STORE-005
"""

from __future__ import annotations

import os
import stat
import sys

from rukh.values.errors import RukhError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DIRECTORIES = ("db", "releases", "staging", "run", "cache", "keys", "locks")
_PRIVATE = 0o700
# Mount types whose locks other machines share: WAL and flock promise nothing there.
_NETWORK_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "fuse.s3fs"}
)


class Home:
    """An opened home; `path` is absolute."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def at(self, *parts: str) -> str:
        """An absolute path below the home."""
        return os.path.join(self.path, *parts)


def default_home(app: str, environ: Mapping[str, str]) -> str:
    """`<APP>_HOME` if set, else `$XDG_DATA_HOME/<app>`, else `~/.local/share/<app>`."""
    named = environ.get(f"{app.upper().replace('-', '_')}_HOME")
    if named:
        return os.path.abspath(named)
    data = environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(os.path.abspath(data), app)


def exists(path: str) -> bool:
    """Whether a home was ever made at `path`."""
    return os.path.exists(os.path.join(path, "db", "rukh.sqlite3"))


def open_home(path: str, *, create: bool) -> Home:
    """The home at `path`; raises RKS001 (system), RKS002 (owner or mode), RKS003 (file system), RKS008 (none there)."""
    if sys.platform != "linux":
        raise RukhError("RKS001", f"{sys.platform} is not supported", mend="run it on Linux")
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise RukhError(
            "RKS002", "the path of the home is not UTF-8", place=path, mend="name another --home"
        ) from error
    if create:
        _make(path)
    if os.path.isdir(path):
        _check(path)
    if not create and not exists(path):
        raise RukhError(
            "RKS008",
            "there is no home here yet",
            place=path,
            mend="install an extension, or name another --home",
        )
    return Home(path)


def _make(path: str) -> None:
    """Make what is missing of a home; a directory that is there already must be fit for one first."""
    if os.path.lexists(path):
        _check(path)
    if _file_system(_existing(path)) in _NETWORK_TYPES:
        raise RukhError(
            "RKS003", "network file systems are refused", place=path, mend="name a local directory"
        )
    try:
        os.makedirs(path, mode=_PRIVATE, exist_ok=True)
        for name in DIRECTORIES:
            os.makedirs(os.path.join(path, name), mode=_PRIVATE, exist_ok=True)
    except OSError as error:
        raise RukhError(
            "RKS002",
            f"the home cannot be made: {error.strerror}",
            place=path,
            mend="name a directory that you own",
        ) from error


def _existing(path: str) -> str:
    """The nearest directory at or above `path` that is there."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path


def _check(path: str) -> None:
    try:
        found = os.stat(path)
    except OSError as error:
        raise RukhError(
            "RKS002",
            f"the home cannot be entered: {error.strerror}",
            place=path,
            mend="name a directory that you own",
        ) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise RukhError(
            "RKS002",
            "the home is not a directory of this user",
            place=path,
            mend="name a directory that you own",
        )
    if stat.S_IMODE(found.st_mode) & 0o077:
        mend = (
            f"chmod 700 {path}"
            if exists(path)
            else "name a directory that is yours alone, or one that is not there yet"
        )
        raise RukhError("RKS002", "others may enter the home", place=path, mend=mend)


def _file_system(path: str) -> str:
    """The type of the mount that holds `path`, as the kernel names it; "" where it does not say."""
    device = os.stat(path).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                fields = line.split(" ")
                if fields[2] == wanted:
                    return fields[fields.index("-") + 1]
    except OSError:
        return ""
    return ""
