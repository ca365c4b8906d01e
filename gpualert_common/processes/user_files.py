"""Files that the user of a process may read, for a reader who may read more, such as root.

The permissions of the open file count, so a path that is replaced in between cannot evade them.
"""

from __future__ import annotations

import os
import stat

from gpualert_common.processes.process_user import ProcessUser

_PIN = os.O_PATH | os.O_CLOEXEC
"""Has no effect on a pipe or a device."""
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISBLK, "a disk"),
)
_TERMINALS = ("/dev/pts/", "/dev/tty", "/dev/console")
_MOST_LINKS = 40
"""As in the kernel."""
_MOST_PATH_BYTES = 4096


class UnreadableFileError(Exception):
    """A file cannot be read; the text is the reason."""


def open_regular(path: str, user: ProcessUser) -> int:
    """Return a descriptor that reads the regular file at a path of ours, if the user may read it.

    The folders above it are not checked.  Raises UnreadableFileError.
    """
    try:
        pinned = os.open(path, _PIN)
        try:
            return _open_pinned(pinned, user)
        finally:
            os.close(pinned)
    except OSError as error:
        raise UnreadableFileError(f"not readable: {error.strerror}") from None


def open_in_root(pid: int, path: str, user: ProcessUser) -> int:
    """Return a descriptor that reads a regular file of the file system of a process.

    Its user must be able to read it there.  Links lead where they lead for the process: the kernel
    would take an absolute one for a file of ours.  Raises UnreadableFileError.
    """
    if len(os.fsencode(path)) > _MOST_PATH_BYTES:
        raise UnreadableFileError("not readable: its path is too long")
    opened: list[int] = []
    try:
        opened.append(os.open(f"/proc/{pid}/root", _PIN | os.O_DIRECTORY))
        _follow(path, opened, user)
        return _open_pinned(opened[-1], user)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UnreadableFileError(f"not readable: {why}") from None
    finally:
        for fd in opened:
            os.close(fd)


def _follow(path: str, opened: list[int], user: ProcessUser) -> None:
    """Open each part of a path below the root, the first of *opened*; the last one is its end."""
    links = 0
    pending = path.split("/")[::-1]
    while pending:
        part = pending.pop()
        if part in ("", "."):
            continue
        if part == "..":
            _close_last(opened, 1)
            continue
        if not user.may_search(opened[-1]):
            raise UnreadableFileError("in a folder that the user of the process may not enter")
        opened.append(os.open(part, _PIN | os.O_NOFOLLOW, dir_fd=opened[-1]))
        if not stat.S_ISLNK(os.fstat(opened[-1]).st_mode):
            continue
        links += 1
        if links > _MOST_LINKS:
            raise UnreadableFileError("not readable: too many links")
        target = os.readlink("", dir_fd=opened[-1])
        _close_last(opened, len(opened) if target.startswith("/") else 1)
        pending += target.split("/")[::-1]


def _close_last(opened: list[int], number: int) -> None:
    """Close the last descriptors, and keep the root."""
    for fd in opened[max(1, len(opened) - number) :]:
        os.close(fd)
        opened.remove(fd)


def _open_pinned(pinned: int, user: ProcessUser) -> int:
    status = os.fstat(pinned)
    path = f"/proc/self/fd/{pinned}"
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFileError(_describe_kind(status, os.readlink(path)))
    if not user.may_read(pinned):
        raise UnreadableFileError("a file that the user of the process may not read")
    return os.open(path, _READ)


def _describe_kind(status: os.stat_result, path: str) -> str:
    for is_kind, name in _KINDS:
        if is_kind(status.st_mode):
            return name
    if path == os.devnull:
        return os.devnull
    return "a terminal" if path.startswith(_TERMINALS) else "a device"
