"""Times of lines of a log: by the growth of the log, and more exactly by a time on the line."""

from __future__ import annotations

import os

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
        ending = record.ending
        self._ended_at = None if ending is None else ending.ended_at

    def find_time(self, log: str, offset: int, line: str = "") -> float | None:
        """Return when the *line* at that byte of a log was printed; None if it is not known.

        It is exact to a second, or to a thousandth of the age of the run, or as the time on the
        line is.
        """
        column = self._columns.get(log)
        if column is None:
            return None
        arrived_at = self._search(column, offset)
        if arrived_at is None:
            arrived_at = self._ended_at  # the index lacks the last second
        if arrived_at is None:
            return None
        stamp = parse_timestamp(line.encode("utf-8", "replace"))
        if stamp is not None:
            stamp += round((arrived_at - stamp) / _ZONE_STEP_S) * _ZONE_STEP_S
            if self._started_at - 1 <= stamp and abs(arrived_at - stamp) <= _MOST_DELAY_S:
                return stamp
        return arrived_at

    def _search(self, column: int, offset: int) -> float | None:
        """Return the first time at which the log had more than *offset* bytes."""
        try:
            fd = self._record.open_log(INDEX)
        except OSError:
            return None
        try:
            low, high = 0, os.fstat(fd).st_size
            found = None
            while low < high:
                middle = (low + high) // 2
                begin, entry = _read_line(fd, middle, column)
                if entry is None or entry[1] > offset:
                    found = entry or found
                    high = middle
                else:
                    low = begin
        except OSError:
            return None
        finally:
            os.close(fd)
        return None if found is None else self._started_at + found[0]


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
