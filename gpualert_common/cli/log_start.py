"""Place in a log from which on a command prints it."""

from __future__ import annotations

import os

from gpualert_common.record import Record
from gpualert_common.run_progress import read_arrivals

_CHUNK_BYTES = 64 << 10


def find_start(record: Record, log: str, fd: int, tail: int | None, since: float | None) -> int:
    """Return the offset of the first byte to print of a log, which is the begin of a line.

    ``tail`` is a number of lines from the end, as for ``tail -n``.  Lines from before ``since`` are
    left out, as far as the time index of the record says when the log grew.
    """
    starts = [0]
    if tail is not None:
        starts.append(_find_last_lines(fd, tail))
    if since is not None:
        starts.append(_find_time(record, log, fd, since))
    return max(starts)


def _find_time(record: Record, log: str, fd: int, since: float) -> int:
    """Return the begin of the line that was being written at a time."""
    size = os.fstat(fd).st_size
    ending = record.ending
    if ending is not None and ending.ended_at is not None and ending.ended_at < since:
        return size
    arrivals = read_arrivals(record, record.logs.index(log))
    offset = max((offset for at, offset in arrivals if at <= since), default=0)
    return _find_newline_before(fd, min(offset, size)) + 1


def _find_last_lines(fd: int, count: int) -> int:
    size = os.fstat(fd).st_size
    if not count:
        return size
    at = size - 1 if os.pread(fd, 1, max(0, size - 1)) == b"\n" else size
    for _line in range(count):
        at = _find_newline_before(fd, at)
        if at < 0:
            break
    return at + 1


def _find_newline_before(fd: int, offset: int) -> int:
    """Return the offset of the last line break before an offset; -1 if there is none."""
    while offset > 0:
        begin = max(0, offset - _CHUNK_BYTES)
        at = os.pread(fd, offset - begin, begin).rfind(b"\n")
        if at >= 0:
            return begin + at
        offset = begin
    return -1
