"""Opening of files and folders without following a link on the way.

The checks apply to the open descriptor, so a path that is replaced in between cannot evade them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from gpualert_common.record.files import find_refusal

_COMMON = os.O_CLOEXEC | os.O_NOFOLLOW
_FILE = _COMMON | os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK
"""O_NONBLOCK: opening a named pipe would wait for its writer."""
_LIST = _COMMON | os.O_RDONLY | os.O_DIRECTORY
_TRAVERSE = _COMMON | os.O_PATH | os.O_DIRECTORY
"""Like a path, needs no permission to list the folder."""


_TRIES = 5


class RefusedError(Exception):
    """The path is not a file that may be read; the text is the reason."""


def resolve_links(path: str) -> str:
    """Return the absolute path with its links resolved as far as possible.  Never raises."""
    for _ in range(_TRIES):
        try:
            return os.path.realpath(path)
        except OSError:
            continue  # a link was replaced meanwhile; try again
    return os.path.abspath(path)  # links that remain are never opened


def open_folder(path: str, *, is_listed: bool = False) -> int:
    """Return a descriptor of the folder at an absolute path without links.

    With ``is_listed`` it can also be listed.  Raises OSError.
    """
    return open_below([part for part in path.split("/") if part], _open_root(), is_listed=is_listed)


def open_below(parts: Sequence[str], start: int, *, is_listed: bool = False) -> int:
    """Open a folder as :func:`open_folder` does, from the descriptor ``start``, which is closed."""
    try:
        for part in parts:
            if part in ("", ".", ".."):
                raise OSError(errno.EINVAL, f"not the name of a folder: {part!r}")
            deeper = os.open(part, _TRAVERSE, dir_fd=start)
            os.close(start)
            start = deeper
        return os.open(".", _LIST if is_listed else _TRAVERSE, dir_fd=start)
    finally:
        os.close(start)


def _open_root() -> int:
    return os.open("/", _TRAVERSE)


def open_path(path: str) -> int:
    """Return a read descriptor of a regular file of this user, by its absolute path without links.

    Raises OSError, and RefusedError for other kinds of files and for files of other users.
    """
    folder, name = os.path.split(path)
    below = open_folder(folder)
    try:
        why = find_refusal(os.stat(name, dir_fd=below, follow_symlinks=False))
        if why:
            raise RefusedError(why)  # opening a device can already have an effect
        fd = os.open(name, _FILE, dir_fd=below)
    finally:
        os.close(below)
    why = find_refusal(os.fstat(fd))
    if why:
        os.close(fd)
        raise RefusedError(why)
    return fd
