"""Opens what lies below a directory, and nothing else: no link is followed on the way.

Whatever changes between a look and the opening, the descriptor is what was checked.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence

_COMMON = os.O_CLOEXEC | os.O_NOFOLLOW
_FILE = _COMMON | os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK
"""O_NONBLOCK: to open a named pipe would wait for its writer."""
_LISTED = _COMMON | os.O_RDONLY | os.O_DIRECTORY
_PASSED = _COMMON | os.O_PATH | os.O_DIRECTORY
"""Needs no permission to list the folder, as a path needs none."""


_TRIES = 5


class RefusedError(Exception):
    """Something is there that is none of ours to read; the text says what."""


def resolve(path: str) -> str:
    """The absolute path without links, as far as they could be read; raises nothing."""
    for _ in range(_TRIES):
        try:
            return os.path.realpath(path)
        except OSError:
            continue  # a link was replaced between two looks
    return os.path.abspath(path)  # nothing is opened through what is left of them


def open_folder(path: str, *, listed: bool = False) -> int:
    """A descriptor of the folder at an absolute path without links, to open what is in it.

    With ``listed`` its names can be read, too.  Raises OSError.
    """
    return open_below([part for part in path.split("/") if part], _root(), listed=listed)


def open_below(parts: Sequence[str], start: int, *, listed: bool = False) -> int:
    """As :func:`open_folder`, part by part from folder ``start``, which is closed."""
    try:
        for part in parts:
            if part in ("", ".", ".."):
                raise OSError(errno.EINVAL, f"not the name of a folder: {part!r}")
            deeper = os.open(part, _PASSED, dir_fd=start)
            os.close(start)
            start = deeper
        return os.open(".", _LISTED if listed else _PASSED, dir_fd=start)
    finally:
        os.close(start)


def _root() -> int:
    return os.open("/", _PASSED)


def open_path(path: str) -> int:
    """A descriptor that reads a regular file of ours, by its absolute path without links.

    Raises OSError, and RefusedError for anything but a regular file, and for other users' files.
    """
    folder, name = os.path.split(path)
    below = open_folder(folder)
    try:
        why = refusal(os.stat(name, dir_fd=below, follow_symlinks=False))
        if why:
            raise RefusedError(why)  # not even opened: that alone may act on a device
        fd = os.open(name, _FILE, dir_fd=below)
    finally:
        os.close(below)
    why = refusal(os.fstat(fd))
    if why:
        os.close(fd)
        raise RefusedError(why)
    return fd


def refusal(status: os.stat_result) -> str:
    """Why what has this status is not read; empty for a regular file of ours."""
    if not stat.S_ISREG(status.st_mode):
        return f"{_WORDS.get(stat.S_IFMT(status.st_mode), 'something else')}, not a file"
    if status.st_uid != os.geteuid():
        return f"it belongs to user {status.st_uid}"
    return ""


_WORDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
