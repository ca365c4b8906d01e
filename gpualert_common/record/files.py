"""Operations on directories, bytes and locks that the record uses."""

from __future__ import annotations

import errno
import fcntl
import os
import stat


def make_directory(path: str) -> None:
    """Make ``path`` and its missing parents, for the owner only.  Raises OSError."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except FileNotFoundError:
        if os.path.dirname(path) in (path, ""):
            raise
        make_directory(os.path.dirname(path))
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            pass  # another run created it at the same time


def refuse_strangers(place: str, *, chosen: bool) -> None:
    """Raise PermissionError if another user could tamper with files in ``place``.

    A directory of another user is accepted only if the user chose it, and only its owner can write
    to it.
    """
    if os.lstat(place).st_uid in (0, os.geteuid()):
        return
    if (
        not chosen
        or os.path.islink(place)
        or os.stat(place).st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        raise PermissionError(errno.EPERM, "belongs to another user, who could tamper with the log")


def open_directory(path: str) -> int:
    """Return a descriptor of the directory at ``path``; a link is an error."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes, in as many calls as needed.  Raises OSError."""
    view = memoryview(data)
    while view:
        written = os.write(fd, view)
        if written == 0:
            raise OSError(errno.EIO, "write returned 0")
        view = view[written:]


def remove_all(dir_fd: int) -> None:
    """Remove the content of the directory of this descriptor.  Raises OSError."""
    for name in os.listdir(dir_fd):
        try:
            os.unlink(name, dir_fd=dir_fd)
        except IsADirectoryError:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
            below = os.open(name, flags, dir_fd=dir_fd)
            try:
                remove_all(below)
            finally:
                os.close(below)
            os.rmdir(name, dir_fd=dir_fd)


def try_lock(fd: int) -> bool:
    """Lock the open file ``fd``; False if another process holds the lock.

    Raises OSError if the filesystem supports no lock.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_held_by_others(fd: int) -> bool:
    """True if another process holds the lock on the open file ``fd``, which is closed."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
