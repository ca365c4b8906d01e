"""Log of a live run, read through a descriptor that stays valid when the file is moved."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NEARLY_FULL_BYTES = 64 << 10


class LogFile:
    """One log of a live run.  ``name`` is its name in the record, ``path`` where it was created."""

    __slots__ = ("_fate", "_identity", "_largest", "fd", "name", "path", "rescued_path")

    def __init__(self, name: str, path: str, fd: int) -> None:
        self.name = name
        self.path = path
        self.fd = fd
        status = os.fstat(fd)
        self._identity = (status.st_dev, status.st_ino)
        self._largest = 0
        self._fate = ""
        self.rescued_path: str | None = None

    def __del__(self) -> None:
        if hasattr(self, "fd"):  # else an exception of the caller's cut __init__ short
            os.close(self.fd)

    @property
    def size(self) -> int:
        """Current size in bytes."""
        return os.fstat(self.fd).st_size

    @property
    def printed_at(self) -> float:
        """Time of the last output, in seconds since the epoch; 0 while it is empty."""
        status = os.fstat(self.fd)
        return status.st_mtime if status.st_size else 0.0

    def read(self, offset: int, limit: int) -> bytes:
        """Return up to ``limit`` bytes from ``offset``."""
        return os.pread(self.fd, limit, offset)

    def detect_tampering(self) -> dict[str, Any] | None:
        """Return the event for a removed, moved, replaced or truncated log, None for no change.

        Each change is reported once.
        """
        status = os.fstat(self.fd)
        shrunk = status.st_size < self._largest
        self._largest = status.st_size
        if shrunk:
            return {"event": "log_truncated", "log": self.name}
        fate = self._name_fate(status)
        if fate == self._fate:
            return None
        self._fate = fate
        if not fate:
            return None
        return {"event": f"log_{fate}", "log": self.name, "path": self.current_path}

    def _name_fate(self, status: os.stat_result) -> str:
        if status.st_nlink == 0:
            return "removed"
        try:
            named = os.stat(self.path, follow_symlinks=False)
        except OSError:
            return "moved"
        return "" if (named.st_dev, named.st_ino) == self._identity else "replaced"

    @property
    def is_removed(self) -> bool:
        """True when the log has no name left, so that its bytes go with the last descriptor."""
        return os.fstat(self.fd).st_nlink == 0

    @property
    def current_path(self) -> str:
        """Path of the log now, as far as the kernel knows it, or of its copy in the record."""
        if self.rescued_path is not None:
            return self.rescued_path
        try:
            return os.readlink(f"/proc/self/fd/{self.fd}")
        except OSError:
            return self.path

    @property
    def is_disk_full(self) -> bool:
        """True when neither the reserve nor the disk has room for more log."""
        space = os.fstatvfs(self.fd)
        free = (space.f_bfree if os.geteuid() == 0 else space.f_bavail) * space.f_frsize
        status = os.fstat(self.fd)
        reserve = status.st_blocks * 512 - status.st_size
        return free < _NEARLY_FULL_BYTES and reserve < space.f_frsize

    def release_reserve(self) -> None:
        """Free reserved space that was not used.  Only when no process writes any more."""
        try:
            os.truncate(f"/proc/self/fd/{self.fd}", self.size)
        except OSError:
            pass

    def copy_to(self, fd: int) -> int:
        """Copy the whole log to another descriptor; return the number of bytes."""
        offset = 0
        while data := self.read(offset, 1 << 20):
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            offset += len(data)
        return offset
