"""The working directory of a call: private and empty when its child starts, and nothing of the child left when it ends.

Where a host serves many calls, a directory that a child left as it was is given to a later call: to make one and to
take it away again costs more than all else that is written for the call. Until then it has the name of the call that
left it.
"""

from __future__ import annotations

import os
import stat

_PRIVATE = 0o700
_MADE = stat.S_IFDIR | _PRIVATE
# What any user may hang onto a directory of theirs: more rights for others, and whatever they like.
_ATTRIBUTES = ("system.", "user.")


class WorkDirs:
    """The working directories of one host's calls; from many threads at once. With `keep` they are used again.

    There are never more than calls that were under way at the same time. RK-EXEC-037
    """

    def __init__(self, *, keep: bool = False) -> None:
        self._keep = keep
        self._kept: list[str] = []

    def make(self, path: str) -> None:
        """Have an empty private directory at `path`; see `make_work_dir` for one that cannot be had."""
        if not self._take(path):
            make_work_dir(path)

    def remove(self, path: str, *, left: bool) -> None:
        """Take the directory away with all that is in it. `left`: something of its call may still be running."""
        if self._keep and not left and is_as_made(path):
            self._kept.append(path)
        else:
            remove_work_dir(path)

    def close(self) -> None:
        """Take away what is kept, and keep no more."""
        self._keep = False
        while self._kept:
            remove_work_dir(self._kept.pop())

    def _take(self, path: str) -> bool:
        """Give a kept directory the name `path`. What lies in a home can be reached by any program of its user."""
        try:
            kept = self._kept.pop()
        except IndexError:
            return False
        try:
            if is_as_made(kept):
                os.rename(kept, path)
                return True
        except OSError:
            pass  # it is made anew, and whether that works the start tells
        remove_work_dir(kept)
        return False


def is_as_made(path: str) -> bool:
    """Whether a directory is empty, and as `make_work_dir` makes it: no other mode, owner or attribute."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        found = os.fstat(descriptor)
        return (
            (found.st_mode, found.st_uid) == (_MADE, os.geteuid())
            and not os.listdir(descriptor)
            and not any(name.startswith(_ATTRIBUTES) for name in os.listxattr(descriptor))
        )
    except OSError:
        return False
    finally:
        os.close(descriptor)


def make_work_dir(path: str) -> None:
    """Make the private working directory of a call.

    One that cannot be made is not reported here: the start then fails at the step `directory`, as an attempt that
    failed, and the call has its outcome. RK-EXEC-022
    """
    try:
        os.mkdir(path, _PRIVATE)
    except OSError:
        pass


def remove_work_dir(path: str) -> bool:
    """Remove it with all that the child left in it, and follow no link; false when something could not be removed.

    A child may also have put something else in its place, such as a link: then that goes, and nothing behind it.
    """
    try:
        os.rmdir(path)
    except NotADirectoryError:
        return _unlinked(path)
    except OSError:
        return _remove_tree(path)
    return True


def _unlinked(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def _remove_tree(path: str) -> bool:
    """Bottom up, without recursion: a child may nest deeper than the interpreter's stack."""
    pending = [path]
    while pending:
        directory = pending[-1]
        try:
            inside = _empty_but_directories(directory)
            if not inside:
                os.rmdir(directory)
                pending.pop()
            pending += inside
        except FileNotFoundError:
            pending.pop()
        except OSError:
            return False
    return True


def _empty_but_directories(directory: str) -> list[str]:
    """Unlink what is no directory; gives the directories. One that its maker closed is opened again first.

    Raises OSError for a link: whoever still runs may put one in the place of a directory at any moment.
    """
    if not stat.S_ISLNK(os.lstat(directory).st_mode) and not os.access(
        directory, os.R_OK | os.W_OK | os.X_OK
    ):
        os.chmod(directory, _PRIVATE)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    inside = []
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    inside.append(os.path.join(directory, entry.name))
                else:
                    os.unlink(entry.name, dir_fd=descriptor)
    finally:
        os.close(descriptor)
    return inside
