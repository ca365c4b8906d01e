"""Many lines of one number as a band: the range of all, their median, and those far from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpualert_common.charts.line_thinning import MOST_POINTS, Window, thin_line
from gpualert_common.charts.timeline import MOST_LINES, ChartLine, LineKind
from gpualert_common.median import median
from gpualert_common.structs import Struct

MOST_OUTLIERS = 3
_FAR_FACTOR = 4.0
_FAR_SHARE = 0.05
"""A line is an outlier if it is several times as far from the median as the others are, and by more
than this share of the whole range."""


class _Bucket(Struct, frozen=True):
    """The values of all lines in one interval of time; ``means`` by the number of the line."""

    at: float
    means: dict[int, float]
    low: float
    high: float


def merge_lines(lines: Sequence[ChartLine], what: str, window: Window) -> tuple[ChartLine, ...]:
    """Return the lines, or a band and at most :data:`MOST_OUTLIERS` lines if there are many.

    *what* names the lines in plural, such as "GPUs".
    """
    if len(lines) <= MOST_LINES:
        return tuple(thin_line(line) for line in lines)
    buckets = list(_collect_buckets(lines, window))
    if not buckets:
        return ()
    band = ChartLine(
        f"median of {len(lines)} {what}",
        tuple(one.at for one in buckets),
        tuple(median(one.means.values()) for one in buckets),
        tuple(one.low for one in buckets),
        tuple(one.high for one in buckets),
        LineKind.MEDIAN,
    )
    return (band, *(thin_line(lines[index]) for index in _find_outliers(buckets, len(lines))))


def _collect_buckets(lines: Sequence[ChartLine], window: Window) -> Iterator[_Bucket]:
    width = (window.ended_at - window.began_at) / MOST_POINTS or 1.0
    found: dict[int, dict[int, list[tuple[float, float, float, float]]]] = {}
    for number, line in enumerate(lines):
        low, high = line.low or line.value, line.high or line.value
        for at, value, least, most in zip(line.at, line.value, low, high, strict=True):
            if value is not None and least is not None and most is not None:
                place = min(int((at - window.began_at) / width), MOST_POINTS - 1)
                found.setdefault(place, {}).setdefault(number, []).append((at, value, least, most))
    for _place, rows in sorted(found.items()):
        every = [row for some in rows.values() for row in some]
        yield _Bucket(
            sum(row[0] for row in every) / len(every),
            {number: sum(row[1] for row in some) / len(some) for number, some in rows.items()},
            min(row[2] for row in every),
            max(row[3] for row in every),
        )


def _find_outliers(buckets: Sequence[_Bucket], count: int) -> list[int]:
    """Return the numbers of the lines that are far from the others, the farthest first."""
    sums, times = [0.0] * count, [0] * count
    for one in buckets:
        middle = median(one.means.values())
        for number, value in one.means.items():
            sums[number] += abs(value - middle)
            times[number] += 1
    far = [total / many if many else 0.0 for total, many in zip(sums, times, strict=True)]
    whole = max(one.high for one in buckets) - min(one.low for one in buckets)
    least = max(_FAR_FACTOR * median(far), _FAR_SHARE * whole)
    found = [number for number in range(count) if far[number] > least]
    return sorted(found, key=lambda number: -far[number])[:MOST_OUTLIERS]
