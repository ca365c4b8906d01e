"""Operations on directories, bytes and locks that the record uses."""

from __future__ import annotations

import errno
import fcntl
import os
import stat

from gpualert_common.errors import DamagedFileError, RecordError


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


def refuse_foreign_directory(place: str, *, chosen: bool) -> None:
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


def read_file(
    dir_fd: int, name: str, where: str, offset: int = 0, most_bytes: int | None = None
) -> bytes | None:
    """Return the content of file ``name`` from byte ``offset`` on; None if there is no file.

    ``where`` names it in errors.  Raises DamagedFileError for what is no file, RecordError if it is
    larger than ``most_bytes`` or cannot be read.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(name, flags, dir_fd=dir_fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _read_error(error, where) from None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise DamagedFileError(f"{where}: not a file")
        if most_bytes is not None and status.st_size > most_bytes:
            raise RecordError(
                f"{where}: {status.st_size} bytes are more than the limit of {most_bytes}"
            )
        chunks = []
        while chunk := os.pread(fd, 1 << 20, offset):
            chunks.append(chunk)
            offset += len(chunk)
        return b"".join(chunks)
    except OSError as error:
        raise _read_error(error, where) from None
    finally:
        os.close(fd)


def _read_error(error: OSError, where: str) -> Exception:
    """Return the exception to raise for an error of reading."""
    if error.errno is None:
        return error  # a time-out of the engine, raised while we read
    kind = DamagedFileError if error.errno == errno.ELOOP else RecordError  # we write no links
    return kind(f"{where}: {error.strerror}")


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
