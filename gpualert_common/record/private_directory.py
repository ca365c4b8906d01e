"""Directories that no other user can change, and the check of the way to them.

A file of another user must not decide anything.  So each file of GPUAlert is in a directory that
belongs to this user and that no other user can write to, and no other user can redirect the path
to it: every link on the path and the parent directory belong to this user or to root.

A mount can widen what was private: Kubernetes' ``fsGroup`` gives a group write access to every file
of a volume.  So a directory of this user loses the write access of a group when it is opened.
"""

from __future__ import annotations

import errno
import os
import stat

from gpualert_common.record.files import make_directory
from gpualert_common.trusted_files import is_open_to_others, may_be_root

RUNS = "runs"
"""Folder of the records; only a private place of this user has one of this user."""
_MOST_LINKS = 40
"""As many as the kernel follows."""
_OWN_FOLDER = "user-{uid}"
"""Folder of one user in a state directory to which several users can write."""


def resolve_state_dir(path: str) -> str:
    """Return the real path of the directory for this user's files in state directory ``path``.

    It is ``path`` itself where it does not exist yet, where only this user can write to it, or
    where it has records of this user and could be made private again; else a folder ``user-UID`` in
    it.  Raises OSError as :func:`resolve_directory` does.
    """
    real = resolve_directory(path)
    status = _examine(real)
    if status is None or not find_other_writers(status) or _make_private_again(real, status):
        return real
    return os.path.join(real, _OWN_FOLDER.format(uid=os.geteuid()))


def resolve_directory(path: str) -> str:
    """Return the real path of a directory of this user or of root, which may not exist yet.

    Raises PermissionError with the reason if another user could redirect the path or replace the
    directory, and OSError if it cannot be examined.
    """
    if not path.startswith("/"):  # of a working directory that was deleted
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    real = _resolve_links(path)
    status = _examine(real)
    if status is not None:
        _refuse_other_owner(real, status, is_parent=False)
    parent = os.path.dirname(real)
    while (status := _examine(parent)) is None:
        parent = os.path.dirname(parent)
    _refuse_other_owner(parent, status)
    return real


def find_other_writers(status: os.stat_result) -> str:
    """Return why another user can change a directory or file; empty if only this user can."""
    if status.st_uid != os.geteuid():
        return f"belongs to user {status.st_uid}, not to you ({os.geteuid()})"
    if is_open_to_others(status):
        return f"is writable by others (mode {stat.S_IMODE(status.st_mode):04o})"
    return ""


def open_private(path: str, *, dir_fd: int | None = None) -> int:
    """Return a descriptor of a directory that only this user can change.

    A group loses its write access to a directory of this user.  Raises OSError: PermissionError
    with the reason if another user could change it, and also for a link.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        fd = os.open(path, flags, dir_fd=dir_fd)
    except NotADirectoryError:
        raise NotADirectoryError(errno.ENOTDIR, f"{path} is not a directory", path) from None
    problem = find_other_writers(keep_out_group(fd))
    if problem:
        os.close(fd)
        raise _refusal(path, f"{path} {problem}")
    return fd


def keep_out_group(fd: int) -> os.stat_result:
    """Return the status of a directory, after a group has lost its write access to one of ours.

    One that all users can write to keeps its mode, as does one whose filesystem refuses the change.
    """
    status = os.fstat(fd)
    is_own = status.st_uid == os.geteuid()
    if is_own and is_open_to_others(status) and not status.st_mode & stat.S_IWOTH:
        try:
            os.fchmod(fd, stat.S_IMODE(status.st_mode) & ~stat.S_IWGRP)
        except OSError:
            return status
    return os.fstat(fd)


def _make_private_again(place: str, status: os.stat_result) -> bool:
    """True if a place of this user has records of this user, and only this user can change it now.

    A directory that several users share has none of its own, and stays as it is.
    """
    runs = _examine(os.path.join(place, RUNS)) if status.st_uid == os.geteuid() else None
    if runs is None or not stat.S_ISDIR(runs.st_mode) or runs.st_uid != os.geteuid():
        return False
    try:
        os.close(open_private(place))
    except PermissionError:
        return False
    return True


def open_folder(place: str, *names: str, create: bool = False) -> int:
    """Return a descriptor of the folder ``names`` in ``place``; only this user can change each.

    With ``create`` missing folders and missing parents of ``place`` are made.  Raises OSError.
    """
    try:
        fd = open_private(place)
    except FileNotFoundError:
        if not create:
            raise
        make_directory(place)
        fd = open_private(place)
    for name in names:
        try:
            below = _open_below(fd, name, create=create)
        finally:
            os.close(fd)
        fd = below
    return fd


def make_folder(place: str, *names: str) -> str:
    """Return the path of the folder ``names`` in ``place``, as :func:`open_folder` makes it."""
    os.close(open_folder(place, *names, create=True))
    return os.path.join(place, *names)


def _open_below(dir_fd: int, name: str, *, create: bool) -> int:
    if create:
        try:
            os.mkdir(name, 0o700, dir_fd=dir_fd)
        except FileExistsError:
            pass
    return open_private(name, dir_fd=dir_fd)


def _resolve_links(path: str) -> str:
    """Return ``path`` without links.  Raises PermissionError for a link of another user."""
    todo = path.split("/")[::-1]
    real = "/"
    links = 0
    while todo:
        name = todo.pop()
        below = os.path.dirname(real) if name == ".." else os.path.join(real, name)
        if name in ("", ".", "..") or not _is_link(below):
            real = below if name not in ("", ".") else real
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = os.readlink(below)
        real = "/" if target.startswith("/") else real
        todo += target.split("/")[::-1]
    return real


def _is_link(path: str) -> bool:
    status = _examine(path)
    if status is None or not stat.S_ISLNK(status.st_mode):
        return False
    if not _is_owner_trusted(path, status):
        raise _refusal(path, f"the link {path} belongs to user {status.st_uid}")
    return True


def _is_owner_trusted(path: str, status: os.stat_result) -> bool:
    """True for a file of this user or of root.

    Where root and all other users have one id, a file is root's if not all users can put one there.
    """
    if status.st_uid in (0, os.geteuid()):
        return True
    above = os.lstat(os.path.dirname(path)).st_mode
    return may_be_root(status.st_uid) and not above & stat.S_IWOTH


def _examine(path: str) -> os.stat_result | None:
    """Return the status of a file or link; None if there is none.  Raises OSError."""
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _refuse_other_owner(path: str, status: os.stat_result, *, is_parent: bool = True) -> None:
    """Raise if a user other than this one and root could replace what is in this directory."""
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    what = f"its parent {path}" if is_parent else "it"
    mode = status.st_mode
    if not _is_owner_trusted(path, status):
        raise _refusal(path, f"{what} belongs to user {status.st_uid}, not to you or root")
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise _refusal(path, f"{what} is writable by all users, without the sticky bit")


def _refusal(path: str, reason: str) -> PermissionError:
    return PermissionError(errno.EPERM, reason, path)
