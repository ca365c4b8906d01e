"""Times of lines of a log: by the growth of the log, and more exactly by a time on the line."""

from __future__ import annotations

import os
from contextlib import suppress

from gpualert_common.errors import RecordError
from gpualert_common.progress.timestamps import parse_timestamp
from gpualert_common.record import INDEX, Record

_MOST_LINE_BYTES = 200
_ZONE_STEP_S = 900.0
"""Time zones differ by multiples of a quarter of an hour."""
_MOST_DELAY_S = 30.0
"""A line is printed some seconds after its time at most; another time on it is not its own."""


class LogTimes:
    """The times at which the logs of a run grew.  It reads some twenty lines of the index for each
    time, so that the length of the run does not matter."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._started_at = record.spec.created_at
        self._columns = {name: column for column, name in enumerate(record.logs)}
        self._ended_at: float | None = None
        with suppress(RecordError):  # a damaged one counts as missing
            ending = record.ending
            self._ended_at = None if ending is None else ending.ended_at

    def find_time(self, log: str, offset: int, line: str = "") -> float | None:
        """Return when the *line* at that byte of a log was printed; None if it is not known.

        It is exact to a second, or to a thousandth of the age of the run.  A time on the line is
        more exact, and so is the time of the last output, if the line is a part of that.
        """
        column = self._columns.get(log)
        if column is None:
            return None
        earliest, latest = self._search(column, offset)
        if self._ended_at is not None:  # the index lacks the last second, or is written after it
            latest = self._ended_at if latest is None else min(latest, self._ended_at)
        if latest is None:
            return None
        stamp = parse_timestamp(line.encode("utf-8", "replace"))
        if stamp is not None:
            stamp += round((latest - stamp) / _ZONE_STEP_S) * _ZONE_STEP_S
            if earliest - _MOST_DELAY_S <= stamp <= latest + _MOST_DELAY_S:
                return stamp
        status = self._record.log_status(log)
        if status is not None and earliest < status.st_mtime < latest:
            return status.st_mtime
        return latest

    def _search(self, column: int, offset: int) -> tuple[float, float | None]:
        """Return the last time at which the log did not yet have more than *offset* bytes, and the
        first one at which it had."""
        try:
            fd = self._record.open_log(INDEX)
        except OSError:
            return self._started_at, None
        age_s, found_s = 0.0, None
        try:
            low, high = 0, os.fstat(fd).st_size
            while low < high:
                middle = (low + high) // 2
                end, entry = _read_line(fd, middle, column)
                if entry is not None and entry[1] <= offset:
                    low, age_s = end, max(age_s, entry[0])
                else:
                    found_s = found_s if entry is None else entry[0]
                    high = middle
        except OSError:
            return self._started_at, None
        finally:
            os.close(fd)
        latest = None if found_s is None else self._started_at + found_s
        return self._started_at + age_s, latest


def _read_line(fd: int, at: int, column: int) -> tuple[int, tuple[float, int] | None]:
    """Return the end of the first line from byte *at* on, and the age and the size in it."""
    begin = max(0, at - 1)
    data = os.pread(fd, 2 * _MOST_LINE_BYTES, begin)
    if at:
        data, begin = data.partition(b"\n")[2], begin + data.find(b"\n") + 1
    line, end, _rest = data.partition(b"\n")
    if not end:
        return begin, None
    try:
        age_s, *sizes = line.split()
        return begin + len(line) + 1, (float(age_s), int(sizes[column]))
    except (ValueError, IndexError):
        return begin + len(line) + 1, None
