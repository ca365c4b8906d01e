"""When a line was written: by its own stamp, or by when it arrived."""

from __future__ import annotations

import calendar
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from gpualert_common.progress.model import Point, Progress
from gpualert_common.regex import compile_bytes

_STAMP = compile_bytes(
    rb"(20\d\d)[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    rb" ?(?:(Z|UTC)|([+-]\d\d):?(\d\d)\b)?"
)
_HEAD_BYTES = 160
_ZONE_STEP_S = 900
"""Zones differ by multiples of a quarter of an hour."""


def stamp_of(line: bytes) -> float | None:
    """Seconds since the epoch that a date and time in front say; UTC where no zone is named."""
    found = _STAMP.search(line[:_HEAD_BYTES])
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second <= 60):
        return None
    at = calendar.timegm((year, month, day, hour, minute, second))
    fraction = found[7]
    zone_s = 0
    if found[9]:
        zone_s = int(found[9]) * 3600 + (-60 if found[9][:1] == b"-" else 60) * int(found[10])
    return at - zone_s + (float(b"0." + fraction) if fraction else 0.0)


def timed(progress: Progress, arrivals: Sequence[tuple[float, int]]) -> Progress:
    """*progress* of one log with times from *arrivals*: when (seconds since the epoch) the log had
    how many bytes, ascending.

    A stamp on a line is finer than what is known of its arrival, so it stays, but in the zone that
    the arrivals show; a point without one is given the time at which it had surely arrived.
    """
    sizes = [size for _, size in arrivals]

    def arrived(point: Point) -> float | None:
        index = bisect_right(sizes, point.offset)
        return arrivals[index][0] if index < len(arrivals) else None

    every = (*progress.points, *progress.evals)
    apart = [
        when - point.at
        for point in every
        if point.at is not None and (when := arrived(point)) is not None
    ]
    shift_s = round(median(apart) / _ZONE_STEP_S) * _ZONE_STEP_S if apart else 0

    def at(points: Iterable[Point]) -> tuple[Point, ...]:
        return tuple(
            replace(point, at=arrived(point) if point.at is None else point.at + shift_s)
            for point in points
        )

    return replace(progress, points=at(progress.points), evals=at(progress.evals))


def stepped(progress: Progress, arrivals: Sequence[tuple[float, int]]) -> tuple[int, float] | None:
    """How many steps the last stretch of *progress* made from its first line to its last, and in
    how many seconds; None where that is not known.  *arrivals* are as for :func:`timed`, of the log
    that its points are of.
    """
    points = progress.points
    told = [one for one in points if one.segment == points[-1].segment and one.step is not None]
    if len(told) < 2:
        return None
    first, last = timed(replace(progress, points=(told[0], told[-1]), evals=()), arrivals).points
    if first.step is None or last.step is None or first.at is None or last.at is None:
        return None
    steps, seconds = last.step - first.step, last.at - first.at
    return (steps, seconds) if steps > 0 and seconds > 0 else None


def read_index(data: bytes, started_at: float, column: int) -> list[tuple[float, int]]:
    """The arrivals that a record's ``output.idx`` tells of the log in *column* (from 0).

    Lines that are damaged are passed over.
    """
    found: list[tuple[float, int]] = []
    for line in data.split(b"\n"):
        try:
            age_s, *sizes = line.split()
            entry = (started_at + float(age_s), int(sizes[column]))
        except (ValueError, IndexError):
            continue
        if not found or entry[1] > found[-1][1]:
            found.append(entry)
    return found
