"""Times of lines: from timestamps on them, or from their arrival."""

from __future__ import annotations

import calendar
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from gpualert_common.median import median
from gpualert_common.progress.model import Point, Progress
from gpualert_common.regex import compile_bytes
from gpualert_common.structs import replace

_STAMP = compile_bytes(
    rb"(20\d\d)[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    rb" ?(?:(Z|UTC)|([+-]\d\d):?(\d\d)\b)?"
)
_HEAD_BYTES = 160
_ZONE_STEP_S = 900
"""Time zones differ by multiples of a quarter of an hour."""


def parse_timestamp(line: bytes) -> float | None:
    """Return the time at the start of a line in seconds since 1970; UTC unless it names a zone."""
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


def add_times(progress: Progress, arrivals: Sequence[tuple[float, int]]) -> Progress:
    """Return *progress* of one log with times for all points.

    *arrivals* are pairs of a time (seconds since 1970) and the size of the log at that time,
    ascending.  A timestamp on a line is more exact and is kept, shifted to the time zone that the
    arrivals show.  A point without a timestamp gets the time of its arrival.
    """
    sizes = [size for _, size in arrivals]

    def find_arrival(point: Point) -> float | None:
        index = bisect_right(sizes, point.offset)
        return arrivals[index][0] if index < len(arrivals) else None

    every = (*progress.points, *progress.evals)
    differences = [
        when - point.at
        for point in every
        if point.at is not None and (when := find_arrival(point)) is not None
    ]
    shift_s = round(median(differences) / _ZONE_STEP_S) * _ZONE_STEP_S if differences else 0

    def add_to(points: Iterable[Point]) -> tuple[Point, ...]:
        return tuple(
            replace(point, at=find_arrival(point) if point.at is None else point.at + shift_s)
            for point in points
        )

    return replace(progress, points=add_to(progress.points), evals=add_to(progress.evals))


def measure_steps(
    progress: Progress, arrivals: Sequence[tuple[float, int]]
) -> tuple[int, float] | None:
    """Return the steps and the seconds from the first to the last line of the last segment.

    None if they are not known.  *arrivals* are as for :func:`add_times`, for the log of the points.
    """
    points = progress.points
    with_steps = [
        one for one in points if one.segment == points[-1].segment and one.step is not None
    ]
    if len(with_steps) < 2:
        return None
    first, last = add_times(
        replace(progress, points=(with_steps[0], with_steps[-1]), evals=()), arrivals
    ).points
    if first.step is None or last.step is None or first.at is None or last.at is None:
        return None
    steps, seconds = last.step - first.step, last.at - first.at
    return (steps, seconds) if steps > 0 and seconds > 0 else None


def list_moments(points: Iterable[Point]) -> list[tuple[float, float]]:
    """Return time and position of the last point of each arrival of output.

    The points before it arrived at the same time, so that a pace between them is not known.
    """
    moments: list[tuple[float, float]] = []
    for point in points:
        if point.at is None or point.position is None:
            continue
        if moments and moments[-1][0] == point.at:
            moments.pop()
        moments.append((point.at, float(point.position)))
    return moments


def read_index(data: bytes, started_at: float, column: int) -> list[tuple[float, int]]:
    """Return the arrivals in a record's ``output.idx`` for the log in *column* (from 0).

    Damaged lines are skipped.
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
