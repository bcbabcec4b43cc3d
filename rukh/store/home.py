"""The home: one directory of one user, 0700, on a local file system of a Linux machine.

    db/        the one database            releases/  unpacked releases, read-only, by tree digest
    staging/   releases on their way in    run/       private working directories of calls
    cache/     byte code, by tree digest   keys/      the owner's own keys
    locks/     the writers' turnstile

Which home: an option, else `<APP>_HOME`, else the user data directory. RK-STORE-001 … RK-STORE-006

A database that names nothing, in a home that holds something, is a database that was lost: what it knew cannot be told
from what nobody needs, so nothing is opened, made or removed there. RK-STORE-019
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
# What only an installation puts there. `cache/` may hold more than that.
_HOLDS = "releases"
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

    def names(self, part: str) -> list[str]:
        """What lies in one of its directories, in order; raises RKU015 where that cannot be listed."""
        try:
            return sorted(os.listdir(self.at(part)))
        except OSError as error:
            raise unlisted(error, part) from error


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
    """The home at `path`, with the directories that it lacks made anew, as a copy may lose the empty ones. RK-STORE-006

    Raises RKS001 (system), RKS002 (owner or mode), RKS003 (file system), RKS006 (its database is lost), RKS008 (none
    there).
    """
    if create:
        _check_system(path)
        _make(path)
        return Home(path)
    home = look_at(path)
    for name in DIRECTORIES:
        if not os.path.isdir(home.at(name)):
            _make_part(home.at(name))
    return home


def look_at(path: str) -> Home:
    """The same where it is only looked at: nothing is made. Raises RKS001, RKS002, RKS006, RKS008."""
    _check_system(path)
    if os.path.lexists(path):
        _check(path)
    home = Home(path)
    there = _has_database(home)
    check_records(home)
    if not there:
        raise RukhError(
            "RKS008",
            "there is no home here yet",
            place=path,
            mend="install an extension, or name another --home",
        )
    return home


def check_records(home: Home) -> None:
    """Raises RKS006 where the database is empty or missing and the home holds what it knew of. RK-STORE-019

    Whoever makes a home writes its records before anything else, so that they are looked at last.
    """
    database = home.at("db", "rukh.sqlite3")
    if not _size(database) and (_size(f"{database}-wal") or holds(home)) and not _size(database):
        raise lost_records(home)


def holds(home: Home) -> bool:
    """Whether something was ever installed here, for all that can be seen."""
    try:
        return bool(os.listdir(home.at(_HOLDS)))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def lost_records(home: Home) -> RukhError:
    """The refusal of a home whose database is as good as new, and which is not."""
    return RukhError(
        "RKS006",
        "the database is empty or missing, and the home holds releases that it knew of",
        place=home.at("db", "rukh.sqlite3"),
        mend="restore db/ from a copy, or move the whole home away and begin anew",
    )


def unlisted(error: OSError, place: str) -> RukhError:
    """The refusal of a part of the home that cannot be looked at."""
    return RukhError(
        "RKU015",
        f"it cannot be looked at: {error.strerror}",
        place=place,
        mend="make it a directory that you may read, write and enter, mode 700",
    )


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _has_database(home: Home) -> bool:
    """Raises RKS002 where the directory of the database cannot be entered."""
    try:
        os.stat(home.at("db", "rukh.sqlite3"))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError as error:
        raise RukhError(
            "RKS002",
            f"the database cannot be reached: {error.strerror}",
            place=home.at("db"),
            mend=f"chmod 700 {home.at('db')}",
        ) from error
    except OSError:
        return True  # whoever opens it says what is wrong
    return True


def _make_part(path: str) -> None:
    try:
        os.makedirs(path, _PRIVATE, exist_ok=True)
    except OSError as error:
        raise RukhError(
            "RKS002",
            f"a directory of the home is missing and cannot be made: {error.strerror}",
            place=path,
            mend="move away what lies there, or look at the permissions of the home",
        ) from error


def _check_system(path: str) -> None:
    """The system, and the path as such."""
    if sys.platform != "linux":
        raise RukhError("RKS001", f"{sys.platform} is not supported", mend="run it on Linux")
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise RukhError(
            "RKS002", "the path of the home is not UTF-8", place=path, mend="name another --home"
        ) from error


def _make(path: str) -> None:
    """Make what is missing of a home; a directory that is there already must be fit for one first."""
    if os.path.lexists(path):
        _check(path)
        check_records(Home(path))
    if on_network(_existing(path)):
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


def on_network(path: str) -> bool:
    """Whether `path` lies on a file system that other machines share. RK-STORE-003"""
    return _file_system(path) in _NETWORK_TYPES


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
