"""Progress of a recorded run, from its logs and the times at which they grew."""

from __future__ import annotations

import os

from gpualert_common.errors import RecordError
from gpualert_common.progress import (
    Progress,
    ProgressReader,
    add_times,
    merge_progress,
    read_index,
)
from gpualert_common.record import INDEX, Record

_MOST_INDEX_BYTES = 64 << 20
"""Limit for reading: the index of a run of thirty days has 50 MB."""
MOST_ARRIVALS = 50_000
"""Entries of the index that are used: of thirty days, one for each 52 seconds.  All 2.6 million of
them take a gigabyte of memory."""
_HEAD_BYTES = 64 << 10
"""Begin of a log, where a training reports its number of steps."""
_CHUNK_BYTES = 1 << 20


def read_arrivals(
    record: Record, column: int, *, most_bytes: int = _MOST_INDEX_BYTES
) -> list[tuple[float, int]]:
    """Return times (seconds since the epoch) and sizes of the log in *column* (from 0).

    Empty where the record has no index, as that of a short run or of an early release.  Of a longer
    index than ``most_bytes`` only the end is read, and of a long one some :data:`MOST_ARRIVALS`
    entries are returned, at equal distances, and the last one.
    """
    try:
        with open(record.open_log(INDEX), "rb") as file:
            begin = max(0, os.fstat(file.fileno()).st_size - most_bytes)
            file.seek(begin)
            if begin:
                file.readline()  # the rest of a line
            index = file.read(most_bytes)
    except OSError:
        return []
    return read_index(_thin_index(index), record.spec.created_at, column)


def _thin_index(index: bytes) -> bytes:
    """Return the index, of a long one whole lines at equal distances."""
    if index.count(b"\n") <= MOST_ARRIVALS:
        return index
    lines = []
    for at in range(0, len(index), len(index) // MOST_ARRIVALS):
        begin = index.rfind(b"\n", 0, at) + 1
        lines.append(index[begin : index.find(b"\n", begin)])
    whole = index[: index.rfind(b"\n")]
    return b"\n".join([*lines, whole[whole.rfind(b"\n") + 1 :]])


def read_progress(record: Record, *, most_bytes: int | None = None) -> Progress:
    """Return the progress by all logs of a run.

    Of a log larger than ``most_bytes`` only the begin and so many bytes of its end are read, and of
    the index only so many bytes of its end.  A log that cannot be read is left out.
    """
    parts = [_read_log(record, column, name, most_bytes) for column, name in enumerate(record.logs)]
    return merge_progress([part for part in parts if part is not None] or [Progress(files=())])


def _read_log(record: Record, column: int, name: str, most_bytes: int | None) -> Progress | None:
    reader = ProgressReader(name)
    try:
        fd = record.open_log(name)
    except OSError:
        return None
    try:
        size = os.fstat(fd).st_size
        begin = 0
        if most_bytes is not None and size > most_bytes:
            begin = size - most_bytes
            reader.feed(os.pread(fd, min(begin, _HEAD_BYTES), 0), 0)
        while begin < size and (data := os.pread(fd, min(_CHUNK_BYTES, size - begin), begin)):
            reader.feed(data, begin)
            begin += len(data)
    except OSError:
        return None
    finally:
        os.close(fd)
    progress = reader.finish()
    arrivals = read_arrivals(record, column, most_bytes=most_bytes or _MOST_INDEX_BYTES)
    ended_at = _find_end(record)
    if ended_at is not None:  # the index lacks the last second
        arrivals.append((ended_at, progress.read_bytes + progress.unread_bytes))
    return add_times(progress, arrivals)


def _find_end(record: Record) -> float | None:
    """Return the time at which a run ended; None if that is not known, or damaged."""
    try:
        ending = record.ending
    except RecordError:
        return None
    return None if ending is None else ending.ended_at
