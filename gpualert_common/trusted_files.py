"""Files that configure gpualert: never waited for, and not obeyed if another user wrote them."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

SAFE_DIRECTORY_VARIABLE = "GPUALERT_SAFE_DIRECTORY"
"""Names directories, separated by colons, whose files are trusted whoever owns them."""


def read_regular_file(path: str, most_bytes: int) -> bytes:
    """Return the content of a file that the user named, whoever owns it.

    Raises OSError, also for a larger file, and for a pipe or a device, which may never end.
    """
    with _open_regular(path) as file:
        return _read(file, most_bytes)


def read_trusted_file(path: str, most_bytes: int) -> bytes:
    """Return the content of a file that was found where the user is, and did not name.

    Raises OSError as :func:`read_regular_file` does, and if another user than root can change it.
    """
    with _open_regular(path) as file:
        why = _find_distrust(path, os.fstat(file.fileno()))
        if why:
            raise PermissionError(
                errno.EPERM,
                f"not trusted: {why}; if you trust it, set {SAFE_DIRECTORY_VARIABLE} to its "
                "directory",
            )
        return _read(file, most_bytes)


def _open_regular(path: str) -> BinaryIO:
    _require_regular(os.stat(path))  # opening a device can already have an effect
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _require_regular(os.fstat(fd))
        return open(fd, "rb")
    except OSError:
        os.close(fd)
        raise


def _require_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")


def _read(file: BinaryIO, most_bytes: int) -> bytes:
    data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {most_bytes >> 10} KiB")
    return data


def _find_distrust(path: str, status: os.stat_result) -> str:
    """Return the reason not to obey an open file; "" for one of the user's or of root.

    A link is followed, since settings are often kept elsewhere; it needs the same owners.  Nobody
    replaces a file on a read-only mount.
    """
    place, target = os.path.abspath(path), os.path.realpath(path)
    folders = list(dict.fromkeys(map(os.path.dirname, (place, target))))
    if any(_is_within(folder, safe) for folder in folders for safe in _safe_directories()):
        return ""
    folders = [folder for folder in folders if not _is_read_only(folder)]
    for uid in (os.lstat(path).st_uid, status.st_uid):
        is_root = uid == 0 or (not folders and may_be_root(uid))
        if not is_root and uid != os.geteuid():
            return f"it belongs to user {uid}, not to you"
    if is_open_to_others(status):
        return f"others can change it (its mode is {stat.S_IMODE(status.st_mode):04o})"
    for folder in folders:
        mode = os.stat(folder).st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"others can replace it (the mode of {folder} is {stat.S_IMODE(mode):04o})"
    return ""


def _is_read_only(folder: str) -> bool:
    """True on a read-only mount, such as one of Kubernetes' ConfigMaps, whose mode is 0777."""
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _safe_directories() -> list[str]:
    named = os.environ.get(SAFE_DIRECTORY_VARIABLE, "").split(os.pathsep)
    return [os.path.realpath(folder) for folder in named if os.path.isabs(folder)]


def _is_within(folder: str, safe: str) -> bool:
    return os.path.join(os.path.realpath(folder), "").startswith(os.path.join(safe, ""))


def may_be_root(uid: int) -> bool:
    """True if the id is the one of root, and of other users, in a user namespace without root."""
    try:
        with open("/proc/self/uid_map", "rb") as file:
            ranges = [tuple(map(int, line.split())) for line in file]
        with open("/proc/sys/kernel/overflowuid", "rb") as file:
            return uid == int(file.read()) and all(outside > 0 for _inside, outside, _n in ranges)
    except (OSError, ValueError):
        return False


def is_open_to_others(status: os.stat_result) -> bool:
    """True if another user can write to the file."""
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_private_group(status)


def _is_private_group(status: os.stat_result) -> bool:
    """True for the group that has only the owner: with it, files are writable by their group.

    Its name is the owner's, as ``useradd`` makes it and ``pam_umask`` recognizes it.
    """
    import grp
    import pwd

    try:
        owner, group = pwd.getpwuid(status.st_uid), grp.getgrgid(status.st_gid)
    except (KeyError, OSError):
        return False
    is_first = owner.pw_gid == group.gr_gid and owner.pw_name == group.gr_name
    return status.st_uid != 0 and is_first and set(group.gr_mem) <= {owner.pw_name}
