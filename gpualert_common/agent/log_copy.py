"""Copy of a growing file into the log of a record, of bounded size.

The log of the record is what all commands read.  A copy begins with the end of what the file has
already.  An event names the place in the file from which on the bytes of the log come, for each
jump: so a watch that is started again continues its copy.
"""

from __future__ import annotations

import os
from contextlib import suppress

from gpualert_common.agent.output_files import OutputFile
from gpualert_common.errors import RecordError
from gpualert_common.quantities import is_number
from gpualert_common.record import Record
from gpualert_common.record.files import write_all

POSITION = "output_position"
"""Event: from byte ``log_byte`` on, the log has the bytes of the file from ``file_byte`` on."""
EARLIER_BYTES = 8 << 20
"""Of the output before the watch: enough for the start of a training, and its last hours."""
MOST_BYTES = 256 << 20
"""Of one log.  A training that prints more has its last bytes copied when it has ended."""
LAST_BYTES = 8 << 20
_TURN_BYTES = 4 << 20
_MOST_JUMPS = 100
"""A program that truncates its log all the time fills no record with events."""
_CHUNK_BYTES = 256 << 10


class LogCopy:
    """Copy of one file to the descriptor ``target``, which appends to its log.

    Before the end the log grows to *most_bytes*, or a little more.  ``problem`` is why the last
    turn copied less than there was; "" for none.
    """

    def __init__(
        self, record: Record, file: OutputFile, target: int, most_bytes: int = MOST_BYTES
    ) -> None:
        self._record = record
        self._file = file
        self._target = target
        self._most_bytes = most_bytes
        self._ahead = 0
        self._jumps = 0
        self._has_begun = False
        self.problem = ""

    def copy(self, *, is_last: bool = False) -> None:
        """Copy new bytes, a bounded number in one turn; at the end, the last ones of a long log."""
        try:
            status = os.fstat(self._file.fd)
            self._begin(status.st_size)
            if status.st_size < self._offset:
                self._jump(0)  # it was truncated, and is written anew
            if is_last and status.st_size - self._offset > LAST_BYTES:
                self._jump(_find_line(self._file.fd, status.st_size - LAST_BYTES))
            if self._copy_new(is_last=is_last):
                times = (status.st_atime_ns, status.st_mtime_ns)
                os.utime(self._target, ns=times)  # the time of the output, not of the copy
            self.problem = ""
        except OSError as error:
            self.problem = error.strerror or str(error)

    def close(self) -> None:
        """Close both files."""
        os.close(self._file.fd)
        os.close(self._target)

    @property
    def _log_size(self) -> int:
        return os.fstat(self._target).st_size

    @property
    def _offset(self) -> int:
        """The byte of the file that is copied next."""
        return self._log_size + self._ahead

    def _copy_new(self, *, is_last: bool) -> bool:
        """Copy what is due in one turn; return whether there was anything."""
        copied = 0
        most_bytes = LAST_BYTES if is_last else _TURN_BYTES
        while copied < most_bytes and (is_last or self._log_size < self._most_bytes):
            data = os.pread(self._file.fd, _CHUNK_BYTES, self._offset)
            if not data:
                break
            write_all(self._target, data)
            copied += len(data)
        return copied > 0

    def _begin(self, size: int) -> None:
        if not self._has_begun and not self._resume():
            self._jump(_find_line(self._file.fd, max(0, size - EARLIER_BYTES)))
        self._has_begun = True

    def _resume(self) -> bool:
        """Continue where an earlier watch of this record ended; False if there was none."""
        try:
            events = [one.fields for one in self._record.events() if one.name == POSITION]
        except (OSError, RecordError):
            return False
        jumps = [fields for fields in events if fields.get("log") == self._file.log]
        if not jumps:
            return False
        self._jumps = len(jumps)
        file_byte, log_byte = jumps[-1].get("file_byte"), jumps[-1].get("log_byte")
        if not (is_number(file_byte) and is_number(log_byte)):
            return False
        self._ahead = file_byte - log_byte
        return self._offset >= 0

    def _jump(self, file_byte: int) -> None:
        """Continue at this byte of the file, and note that in the record."""
        self._ahead = file_byte - self._log_size
        self._jumps += 1
        if self._jumps > _MOST_JUMPS:
            return
        with suppress(OSError):  # a full disk: a watch that is started again copies bytes twice
            self._record.append_event(
                POSITION,
                log=self._file.log,
                path=self._file.path,
                log_byte=self._log_size,
                file_byte=file_byte,
            )


def _find_line(fd: int, offset: int) -> int:
    """Return the start of the first line behind *offset*; *offset* itself if that is far away."""
    if not offset:
        return 0
    head, newline, _ = os.pread(fd, _CHUNK_BYTES, offset).partition(b"\n")
    return offset + len(head) + 1 if newline else offset
