"""Files that PyTorch has written: compressed into the record, and removed where they were."""

from __future__ import annotations

import errno
import os
import stat
import zlib
from collections.abc import Callable
from contextlib import suppress

from gpualert_common.record.files import OPEN_FLAGS, open_file, write_all
from gpualert_common.structs import Struct

_CHUNK_BYTES = 1 << 20
_LEVEL = 3
"""Twice as fast as the default, for files that are a sixth larger."""
_GZIP = 16 + zlib.MAX_WBITS
_TAIL_BYTES = 64
_TEMPORARY = ".tmp"
MOST_TRACE_BYTES = 4 << 30
"""Limit of one process: more than a minute of a training that is traced with its stacks."""
MOST_RAW_BYTES = 16 << 30
"""Limit of all processes together, before compression."""
LEAST_FREE_BYTES = 256 << 20
"""Free space of the disk that a trace leaves to the training."""
_QUIET_S = 10.0
"""A process that has not written for so long into a file that is discarded writes no more."""


class CompressedFile(Struct, frozen=True):
    """Result of a compression: the bytes before it, or the problem."""

    trace_bytes: int = 0
    problem: str = ""


def compress_trace(raw_fd: int, name: str, folder_fd: int, target: str) -> CompressedFile:
    """Compress file ``name`` into the folder as ``target``, and remove it.

    A file that ends early, since the disk was full, is not kept.
    """
    temporary = f".{target}{_TEMPORARY}"
    try:
        source = open_file(raw_fd, name)
    except OSError as error:
        return CompressedFile(problem=f"its trace cannot be read: {error.strerror}")
    try:
        size, is_whole = _compress(source, folder_fd, temporary)
        if not is_whole:
            os.unlink(temporary, dir_fd=folder_fd)
            return CompressedFile(size, "its trace ends early: was the disk full?")
        os.rename(temporary, target, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    except OSError as error:
        _remove(temporary, folder_fd)
        return CompressedFile(problem=f"its trace cannot be stored: {error.strerror}")
    finally:
        os.close(source)
        _remove(name, raw_fd)
    return CompressedFile(size)


def is_temporary(name: str) -> bool:
    """True for the name of a file that :func:`compress_trace` has not completed."""
    return name.startswith(".") and name.endswith(_TEMPORARY)


class DiscardedFiles:
    """Files that are removed, and whose space is freed as long as a process writes to them."""

    def __init__(self) -> None:
        self._fds: list[int] = []
        self._written_at = float("-inf")

    def add(self, dir_fd: int, name: str) -> None:
        """Remove a file."""
        try:
            self._fds.append(os.open(name, os.O_WRONLY | OPEN_FLAGS, dir_fd=dir_fd))
        except OSError:
            pass  # no regular file, or gone
        _remove(name, dir_fd)

    def free(self, now: float) -> bool:
        """Free the space that they have taken since the last call; True once they take no more."""
        for fd in self._fds:
            if not _has_space(fd):
                continue
            self._written_at = now
            with suppress(OSError):
                os.ftruncate(fd, 0)
        return now > self._written_at + _QUIET_S

    def close(self) -> None:
        """Close the files."""
        for fd in self._fds:
            os.close(fd)
        self._fds.clear()


def find_shortage(dir_fd: int, raw_bytes: int) -> str:
    """Return the reason to discard what PyTorch has written into the folder; "" for none."""
    if raw_bytes > MOST_RAW_BYTES:
        return f"the files of all processes are larger than {MOST_RAW_BYTES >> 30} GiB"
    status = os.fstatvfs(dir_fd)
    if status.f_bavail * status.f_frsize < LEAST_FREE_BYTES:
        return f"less than {LEAST_FREE_BYTES >> 20} MiB of the disk were free while it was written"
    return ""


def measure_free(path: str) -> int:
    """Return the bytes of a disk that a user can write.  Raises OSError."""
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize


def _has_space(fd: int) -> bool:
    """True for a file that takes space of the disk, as only a regular one does."""
    status = os.fstat(fd)
    return stat.S_ISREG(status.st_mode) and status.st_blocks > 0


def _compress(source: int, folder_fd: int, name: str) -> tuple[int, bool]:
    """Return the bytes that were read, and whether they end as a JSON object does."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN_FLAGS
    fd = os.open(name, flags, 0o600, dir_fd=folder_fd)
    try:
        compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        size, end = 0, b""
        for chunk in iter(_reader(source), b""):
            size += len(chunk)
            if size > MOST_TRACE_BYTES:
                raise OSError(errno.EFBIG, f"it is larger than {MOST_TRACE_BYTES >> 30} GiB")
            end = (end + chunk[-_TAIL_BYTES:])[-_TAIL_BYTES:]
            write_all(fd, compressor.compress(chunk))
        write_all(fd, compressor.flush())
    finally:
        os.close(fd)
    return size, end.rstrip().endswith(b"}")


def _reader(fd: int) -> Callable[[], bytes]:
    return lambda: os.read(fd, _CHUNK_BYTES)


def _remove(name: str, dir_fd: int) -> None:
    try:
        os.unlink(name, dir_fd=dir_fd)
    except OSError:
        pass  # it is gone, or removed with its folder
