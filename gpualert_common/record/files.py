"""Directories, bytes and locks: what the room asks of the operating system."""

from __future__ import annotations

import errno
import fcntl
import os
import stat


def make_directory(path: str) -> None:
    """Make ``path`` and what is missing above it for the owner alone.  Raises OSError."""
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
            pass  # another run was quicker


def refuse_strangers(place: str, *, chosen: bool) -> None:
    """Nobody else may be able to put something in our way where we are about to write.

    Somebody else's directory is used only where the user chose it and only its owner can write it.
    """
    if os.lstat(place).st_uid in (0, os.geteuid()):
        return
    if (
        not chosen
        or os.path.islink(place)
        or os.stat(place).st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        raise PermissionError(errno.EPERM, "belongs to somebody else who could tamper with the log")


def open_directory(path: str) -> int:
    """A descriptor of the directory at ``path``, never of what a link points to."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)


def write_all(fd: int, data: bytes) -> None:
    """Write every byte, however many calls that takes.  Raises OSError."""
    view = memoryview(data)
    while view:
        written = os.write(fd, view)
        if written == 0:
            raise OSError(errno.EIO, "write returned 0")
        view = view[written:]


def remove_all(dir_fd: int) -> None:
    """Remove everything below the directory of this descriptor.  Raises OSError."""
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
    """Hold the lock on what ``fd`` was opened for; False while somebody else does.

    Raises OSError where there can be no lock.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_held_by_others(fd: int) -> bool:
    """True while somebody holds the lock on what ``fd`` was opened for.  Closes it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
