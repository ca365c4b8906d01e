"""Access to the folders of a job directory: their rights, their owners, and no links.

Folders have mode 0700 and files 0600, whatever the umask.  In a directory of a group (only its
group can write to it, and it passes its group on, as with mode 2770) they have 2770 and 0660.  A
file counts only if the owner of the job's folder, root, or in a directory of a group one of its
members wrote it; a job's folder of another user is an error.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpualert_common.errors import StoreError

PRIVATE_FILE, SHARED_FILE = 0o600, 0o660
_PRIVATE_FOLDER, _SHARED_FOLDER = 0o700, 0o2770
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

OwnerTest = Callable[[os.stat_result], bool]


@contextmanager
def open_folder(
    place: str, names: list[str], *, make: bool = False
) -> Iterator[tuple[int, OwnerTest]]:
    """Yield the descriptor of a folder in the job directory, and the test of its files' owners.

    With ``make`` it is made at need, and files of this user have to count there.  Raises OSError,
    and StoreError for a folder of another user.
    """
    if make:
        _make_folder(place, _PRIVATE_FOLDER)
    fd = os.open(place, _FLAGS)
    try:
        of_group = is_shared(os.fstat(fd))
        owners: set[int] = set()

        def is_trusted(status: os.stat_result) -> bool:
            return of_group or not owners or status.st_uid in owners

        for name in names:
            inner = _enter(fd, name, make, of_group)
            os.close(fd)
            fd = inner
            status = os.fstat(fd)
            is_ours = not make or of_group or bool(owners) or _writes_as(fd, status.st_uid)
            if not is_trusted(status) or not is_ours:
                raise StoreError(
                    f"{place}: {name} belongs to user {status.st_uid}, whose jobs are not yours; "
                    "name another place, or another job"
                )
            owners = owners or {0, status.st_uid}
        yield fd, is_trusted
    finally:
        os.close(fd)


def is_shared(status: os.stat_result) -> bool:
    """True for a folder of a group: it alone can write to it, and it passes its group on."""
    wanted = stat.S_ISGID | stat.S_IWGRP
    return status.st_mode & (wanted | stat.S_IWOTH) == wanted


def name_hidden() -> str:
    """Return a name for an unfinished file, which no list shows and no other process has."""
    return f".{os.getpid()}-{os.urandom(8).hex()}.tmp"


def _enter(fd: int, name: str, make: bool, of_group: bool) -> int:
    """Return the descriptor of a folder in a folder, which is made at need."""
    is_new = make and _make_folder(name, _SHARED_FOLDER if of_group else _PRIVATE_FOLDER, fd)
    try:
        inner = os.open(name, _FLAGS | os.O_NOFOLLOW, dir_fd=fd)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotADirectoryError(errno.ENOTDIR, "a folder in it is a link") from None
        raise
    if is_new and of_group:
        os.fchmod(inner, _SHARED_FOLDER)  # the umask may have taken the group's rights away
    return inner


def _make_folder(name: str, mode: int, fd: int | None = None) -> bool:
    """Return True for a folder that was made, False for one that exists."""
    try:
        os.mkdir(name, mode, dir_fd=fd)
    except FileExistsError:
        return False
    return True


def _writes_as(fd: int, uid: int) -> bool:
    """True for the owner of a folder and for root; a server may show users under other numbers."""
    if os.geteuid() in (0, uid):
        return True
    name = name_hidden()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(name, flags, PRIVATE_FILE, dir_fd=fd)
    try:
        return os.fstat(file).st_uid == uid
    finally:
        os.close(file)
        os.unlink(name, dir_fd=fd)
