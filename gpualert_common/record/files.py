"""Operations on directories, bytes and locks that the record uses."""

from __future__ import annotations

import errno
import fcntl
import os
import stat

from gpualert_common.errors import DamagedFileError, RecordError

OPEN_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
"""For every file of a record: opening a named pipe or a device in its place does not wait."""


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


def open_file(dir_fd: int, name: str) -> int:
    """Return a descriptor that reads file ``name``.

    Raises OSError, also for what is not a regular file of this user; never waits for a named pipe.
    """
    fd = os.open(name, os.O_RDONLY | OPEN_FLAGS, dir_fd=dir_fd)
    refusal = find_refusal(os.fstat(fd))
    if refusal:
        os.close(fd)
        raise OSError(errno.EINVAL, refusal)
    return fd


def find_refusal(status: os.stat_result) -> str:
    """Return the reason not to read a file of this status; empty for a regular file of ours."""
    if not stat.S_ISREG(status.st_mode):
        return f"{_DESCRIPTIONS.get(stat.S_IFMT(status.st_mode), 'something else')}, not a file"
    if status.st_uid != os.geteuid():
        return f"it belongs to user {status.st_uid}"
    return ""


_DESCRIPTIONS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read_file(dir_fd: int, name: str, where: str, most_bytes: int) -> bytes | None:
    """Return the content of file ``name``; None if there is no file.

    ``where`` names it in errors.  Raises DamagedFileError for what is no file, RecordError if it is
    larger than ``most_bytes`` or cannot be read.
    """
    data = read_part(dir_fd, name, where, 0, most_bytes + 1)
    if data is not None and len(data) > most_bytes:
        raise RecordError(f"{where}: it has more bytes than the limit of {most_bytes}")
    return data


def read_part(dir_fd: int, name: str, where: str, offset: int, most_bytes: int) -> bytes | None:
    """Return at most ``most_bytes`` of file ``name`` from byte ``offset`` on; None without a file.

    ``where`` names it in errors.  Raises DamagedFileError for what is no file, RecordError if it
    cannot be read.
    """
    try:
        fd = open_file(dir_fd, name)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _read_error(error, where) from None
    try:
        chunks = []
        while most_bytes and (chunk := os.pread(fd, min(most_bytes, 1 << 20), offset)):
            chunks.append(chunk)
            offset += len(chunk)
            most_bytes -= len(chunk)
        return b"".join(chunks)
    except OSError as error:
        raise _read_error(error, where) from None
    finally:
        os.close(fd)


def _read_error(error: OSError, where: str) -> Exception:
    """Return the exception to raise for an error of reading."""
    if error.errno is None:
        return error  # a time-out of the engine, raised while we read
    is_no_file = error.errno in (errno.ELOOP, errno.EINVAL, errno.ENXIO)  # we write files only
    kind = DamagedFileError if is_no_file else RecordError
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


def open_lock(path: str, *, dir_fd: int | None = None) -> int:
    """Return a descriptor of a lock file, created if it is missing.

    Raises OSError, also for a link and for a file of another user.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | OPEN_FLAGS, 0o600, dir_fd=dir_fd)
    problem = find_refusal(os.fstat(fd))
    if problem:
        os.close(fd)
        raise PermissionError(errno.EPERM, problem, path)
    return fd


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
