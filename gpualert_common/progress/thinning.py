"""Thinning: a series of points in bounded memory that keeps the shape of the curve.

When it is full, it keeps the points with the lowest and the highest loss of each few neighbours, so
that extremes and spikes remain and the points stay evenly spread.  It also keeps the first and the
last point, and the points that are not finite: all up to :data:`NON_FINITE_POINTS`, then the first
and the latest.
"""

from __future__ import annotations

import math
from collections import deque

from gpualert_common.progress.model import Point

MOST_POINTS = 4096
NON_FINITE_POINTS = 1024
_FINITE_POINTS = MOST_POINTS - NON_FINITE_POINTS - 4  # a bucket of two, the first, the last


class PointSeries:
    """Points in the order of their addition, which alone decides which are kept."""

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
        """Return an independent copy."""
        other = PointSeries()
        other.__dict__.update(self.__dict__)
        other._kept = self._kept.copy()
        other._bucket = self._bucket.copy()
        other._first_odd = self._first_odd.copy()
        other._last_odd = self._last_odd.copy()
        return other

    def add(self, point: Point) -> None:
        """Add the next point."""
        self.count += 1
        if self._first is None:
            self._first = point
        self._last = point
        if not point.is_finite:
            self.non_finite += 1
            odd = self._first_odd
            (odd if len(odd) < NON_FINITE_POINTS // 2 else self._last_odd).append(point)
            return
        self._bucket = _keep_extremes([*self._bucket, point])
        self._bucket_count += 1
        if self._bucket_count == 2 * self._stride:
            self._kept += self._bucket
            self._bucket, self._bucket_count = [], 0
            if len(self._kept) > _FINITE_POINTS:
                self._halve()

    def points(self) -> tuple[Point, ...]:
        """Return the kept points in order: at most :data:`MOST_POINTS`."""
        kept = [*self._kept, *self._bucket, *self._first_odd, *self._last_odd]
        kept += [point for point in (self._first, self._last) if point is not None]
        by_place = {(point.file, point.offset, point.line): point for point in kept}
        return tuple(by_place[place] for place in sorted(by_place, key=lambda place: place[1]))

    def _halve(self) -> None:
        kept = self._kept
        self._kept = [
            one for i in range(0, len(kept), 4) for one in _keep_extremes(kept[i : i + 4])
        ]
        self._stride *= 2


def _keep_extremes(points: list[Point]) -> list[Point]:
    """Return the points with the lowest and the highest loss, in their order; at most two."""
    if len(points) <= 2:
        return points
    low = min(range(len(points)), key=lambda i: _get_loss(points[i], math.inf))
    high = max(range(len(points)), key=lambda i: _get_loss(points[i], -math.inf))
    if low == high:  # no loss, or all equal
        low, high = 0, len(points) - 1
    return [points[low], points[high]] if low < high else [points[high], points[low]]


def _get_loss(point: Point, default: float) -> float:
    return default if point.loss is None else point.loss
