"""The user of a process, and the access of that user to files."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from typing import NamedTuple

from gpualert_common.processes.procfs import read
from gpualert_common.structs import Struct

_ACCESS_LIST = "system.posix_acl_access"
_VERSION_BYTES = 4
_ENTRY = struct.Struct("<HHI")
_OWNER, _USER, _OWNING_GROUP, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
"""Tags of entries (``include/uapi/linux/posix_acl.h``)."""


class ProcessUser(Struct, frozen=True):
    """The user and the groups by which the kernel checks the access of a process to files."""

    uid: int
    groups: tuple[int, ...]

    def may_read(self, fd: int) -> bool:
        """Return True if the permissions of a file let this user read it."""
        return self._is_allowed(fd, os.R_OK)

    def may_search(self, fd: int) -> bool:
        """Return True if the permissions of a folder let this user open files in it."""
        return self._is_allowed(fd, os.X_OK)

    def _is_allowed(self, fd: int, access: int) -> bool:
        """Return whether a file grants an access, as the kernel decides it.

        That is acl(5), except that Linux looks at no list whose mask grants nothing
        (``acl_permission_check`` in ``fs/namei.c``).
        """
        if self.uid == 0:
            return True
        status = os.fstat(fd)
        entries = list(_read_entries(fd)) if status.st_mode & stat.S_IRWXG else []
        entries = entries or _list_mode_entries(status)
        masks = [one.access for one in entries if one.tag == _MASK]
        mask = masks[0] if masks else os.R_OK | os.W_OK | os.X_OK
        if self.uid == status.st_uid:
            return any(one.access & access for one in entries if one.tag == _OWNER)
        named = [one for one in entries if one.tag == _USER and one.of == self.uid]
        if not named:
            named = [one for one in entries if self._is_member(one, status.st_gid)]
        if named:
            return any(one.access & mask & access for one in named)
        return any(one.access & access for one in entries if one.tag == _OTHER)

    def _is_member(self, entry: _Entry, owning_group: int) -> bool:
        """Return True for an entry about a group in which this user is."""
        if entry.tag == _OWNING_GROUP:
            return owning_group in self.groups
        return entry.tag == _GROUP and entry.of in self.groups


class _Entry(NamedTuple):
    """One entry of an access list; ``of`` is the number of its user or group."""

    tag: int
    access: int
    of: int


def _read_entries(fd: int) -> Iterator[_Entry]:
    """Yield the access list of a file; nothing for one that has only its mode."""
    try:
        data = os.getxattr(f"/proc/self/fd/{fd}", _ACCESS_LIST)
    except OSError:
        return
    whole = (len(data) - _VERSION_BYTES) // _ENTRY.size * _ENTRY.size
    for values in _ENTRY.iter_unpack(data[_VERSION_BYTES : _VERSION_BYTES + whole]):
        yield _Entry(*values)


def _list_mode_entries(status: os.stat_result) -> list[_Entry]:
    """Return the entries that the mode of a file stands for."""
    tags = (_OWNER, 6), (_OWNING_GROUP, 3), (_OTHER, 0)
    return [_Entry(tag, status.st_mode >> shift & 7, 0) for tag, shift in tags]


def read_user(pid: int) -> ProcessUser:
    """Return the effective user and all groups of a process; nobody where they cannot be seen."""
    uid, groups = -1, []
    for line in read(f"/proc/{pid}/status").splitlines():
        name, _, rest = line.partition(b":")
        numbers = [int(word) for word in rest.split() if word.isdigit()]
        if name == b"Uid" and len(numbers) == 4:
            uid = numbers[1]
        elif name == b"Gid" and len(numbers) == 4:
            groups.append(numbers[1])
        elif name == b"Groups":
            groups += numbers
    return ProcessUser(uid, tuple(groups))
