"""Copy of a job's output files to this process's own output, while they grow."""

from __future__ import annotations

import os
import stat

from gpualert_common.slurm.users import may_copy

_CHUNK_BYTES = 256 << 10
_MOST_BYTES_OF_TURN = 16 << 20
_LONGEST_LINE_BYTES = 1 << 20
"""Of an array, longer lines are copied in pieces."""
ANOTHER_OWNER = "it does not belong to the user of the job"
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class OutputCopy:
    """The copy of one file to a descriptor: bytes as they are, in bounded memory.

    The file may appear late.  It is opened anew for each look, since NFS shows the growth of a file
    to a process that opens it.  A file that was truncated or replaced, as by a requeued job, is
    copied from its start; one that :func:`may_copy` forbids for a job of the user ``uid`` never.
    With ``by_lines`` only whole lines are copied, so that several files can share one descriptor.
    """

    def __init__(self, path: str, target: int, uid: int | None, *, by_lines: bool = False) -> None:
        self._path = path
        self._uid = uid
        self._target = target
        self._by_lines = by_lines
        self._offset = 0
        self._file = (0, 0)
        self.is_found = False
        """True once the file was there."""
        self.problem = ""
        """The reason for which it cannot be read; empty for none, and while it is absent."""

    def copy(self, *, is_last: bool = False) -> int:
        """Copy the new bytes, at most so many in one turn; return their number.

        ``is_last`` also copies a line without an end.  Raises OSError if the target fails.
        """
        try:
            fd = os.open(self._path, _FLAGS)
        except FileNotFoundError:
            return 0
        except OSError as error:
            self.problem = error.strerror or str(error)
            return 0
        try:
            return self._copy(fd, is_last=is_last)
        finally:
            os.close(fd)

    def _copy(self, fd: int, *, is_last: bool) -> int:
        status = os.fstat(fd)
        self.is_found = True
        if not stat.S_ISREG(status.st_mode):
            self.problem = "" if self._path == os.devnull else "it is not a regular file"
            return 0
        if not may_copy(status.st_uid, self._uid):
            self.problem = ANOTHER_OWNER
            return 0
        self.problem = ""
        file = (status.st_dev, status.st_ino)
        if status.st_size < self._offset or (self._offset and file != self._file):
            self._offset = 0
        self._file = file
        copied = 0
        while copied < _MOST_BYTES_OF_TURN:
            try:
                data = os.pread(fd, _CHUNK_BYTES, self._offset)
            except OSError as error:
                self.problem = error.strerror or str(error)
                break
            data = self._cut(fd, data) if self._by_lines and not is_last else data
            if not data:
                break
            while data:
                written = os.write(self._target, data)
                self._offset += written
                copied += written
                data = data[written:]
        return copied

    def _cut(self, fd: int, data: bytes) -> bytes:
        """Return the whole lines of *data*; all of it within a line that is too long."""
        end = data.rfind(b"\n") + 1
        if end or len(data) < _CHUNK_BYTES:
            return data[:end]
        longer = os.pread(fd, _LONGEST_LINE_BYTES, self._offset)
        end = longer.rfind(b"\n") + 1
        return longer[:end] if end or len(longer) < _LONGEST_LINE_BYTES else longer
