"""A series of points in bounded memory that still shows its shape.

Full, it keeps of each few neighbours the one with the lowest and the one with the highest loss, so
that neither the extremes nor a spike of one step is lost, and the points left stay evenly spread.
The first and the last point are kept, and those that are not finite: all of them up to
:data:`NON_FINITE_POINTS`, then the first and the latest.
"""

from __future__ import annotations

import math
from collections import deque

from gpualert_common.progress.model import Point

MOST_POINTS = 4096
NON_FINITE_POINTS = 1024
_FINITE_POINTS = MOST_POINTS - NON_FINITE_POINTS - 4  # a bucket of two, the first, the last


class PointSeries:
    """Points in the order in which they are added; which are kept depends on nothing else."""

    def __init__(self) -> None:
        self.count = 0
        self.non_finite = 0
        self._first: Point | None = None
        self._last: Point | None = None
        self._kept: list[Point] = []
        self._bucket: list[Point] = []
        self._bucket_count = 0
        self._stride = 1
        self._first_odd: list[Point] = []
        self._last_odd: deque[Point] = deque(maxlen=NON_FINITE_POINTS // 2)

    def copy(self) -> PointSeries:
        """One that goes on apart from this."""
        other = PointSeries()
        other.__dict__.update(self.__dict__)
        other._kept = self._kept.copy()
        other._bucket = self._bucket.copy()
        other._first_odd = self._first_odd.copy()
        other._last_odd = self._last_odd.copy()
        return other

    def add(self, point: Point) -> None:
        """Take the next point."""
        self.count += 1
        if self._first is None:
            self._first = point
        self._last = point
        if not point.finite:
            self.non_finite += 1
            odd = self._first_odd
            (odd if len(odd) < NON_FINITE_POINTS // 2 else self._last_odd).append(point)
            return
        self._bucket = _extremes([*self._bucket, point])
        self._bucket_count += 1
        if self._bucket_count == 2 * self._stride:
            self._kept += self._bucket
            self._bucket, self._bucket_count = [], 0
            if len(self._kept) > _FINITE_POINTS:
                self._halve()

    def points(self) -> tuple[Point, ...]:
        """Those that are kept, in order: at most :data:`MOST_POINTS`."""
        kept = [*self._kept, *self._bucket, *self._first_odd, *self._last_odd]
        kept += [point for point in (self._first, self._last) if point is not None]
        by_place = {(point.file, point.offset, point.line): point for point in kept}
        return tuple(by_place[place] for place in sorted(by_place, key=lambda place: place[1]))

    def _halve(self) -> None:
        kept = self._kept
        self._kept = [one for i in range(0, len(kept), 4) for one in _extremes(kept[i : i + 4])]
        self._stride *= 2


def _extremes(points: list[Point]) -> list[Point]:
    """The points of the lowest and the highest loss, in their order; at most two."""
    if len(points) <= 2:
        return points
    low = min(range(len(points)), key=lambda i: _height(points[i], math.inf))
    high = max(range(len(points)), key=lambda i: _height(points[i], -math.inf))
    if low == high:  # none has a loss, or all the same
        low, high = 0, len(points) - 1
    return [points[low], points[high]] if low < high else [points[high], points[low]]


def _height(point: Point, without: float) -> float:
    return without if point.loss is None else point.loss
