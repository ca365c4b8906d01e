"""Lines with fewer points: each point that is left keeps the extremes of those it stands for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from gpualert_common.charts.timeline import ChartLine, LineKind
from gpualert_common.structs import Struct, replace

MOST_POINTS = 300
"""Points of a line: one for each three pixels of a wide picture."""
MOST_VALUE = 1e100
"""A larger number is no measurement, and is treated as infinite."""
SLACK_S = 5.0
_LEAST_GAP_S = 60.0
_GAP_FACTOR = 6.0
"""A pause this many times as long as those next to it is a gap, not a slower rate of samples."""


class Window(Struct, frozen=True):
    """The time that is shown, in seconds since the epoch.

    The last sample and the last line of the index may be a bit later than the end.
    """

    began_at: float
    ended_at: float

    def holds(self, at: float) -> bool:
        """Return whether a time is shown, at an end if it is at most :data:`SLACK_S` outside."""
        return self.began_at - SLACK_S <= at <= self.ended_at + SLACK_S

    def clamp(self, at: float) -> float:
        """Return the time that is shown and nearest to *at*."""
        return min(max(at, self.began_at), self.ended_at)


Sample = tuple[float, float, float, float]
"""A time, and the value there with its lower and its upper extreme."""


def make_line(
    name: str,
    samples: Iterable[Sample],
    window: Window,
    *,
    kind: LineKind = LineKind.VALUE,
    has_gaps: bool = True,
) -> ChartLine | None:
    """Return a line of the finite samples in the window, with gaps where they pause; None for none.

    *samples* are in ascending order of time.
    """
    kept: list[Sample] = []
    for one in samples:
        is_later = not kept or one[0] >= kept[-1][0]
        if is_later and all(map(is_drawable, one)) and window.holds(one[0]):
            kept.append((window.clamp(one[0]), *one[1:]))
    if not kept:
        return None
    rows = list(_add_gaps(kept) if has_gaps else kept)
    at, value, low, high = zip(*rows, strict=True)
    return ChartLine(name, at, value, low, high, kind)


def thin_line(line: ChartLine, most: int = MOST_POINTS) -> ChartLine:
    """Return a line of at most *most* points, with its first and last one.

    A point between them is the mean of its neighbours, with their extremes.
    """
    most = max(most, 4)
    times = _thin_times(line.not_finite_at, most)
    if len(line.at) <= most:
        return replace(line, not_finite_at=times)
    first, last = line.at[0], line.at[-1]
    low, high = line.low or line.value, line.high or line.value
    width = (last - first) / (most - 2) or 1.0
    buckets: dict[int, list[int]] = {}
    for index in range(1, len(line.at) - 1):
        place = min(int((line.at[index] - first) / width), most - 3)
        buckets.setdefault(place, []).append(index)
    rows = [(first, line.value[0], low[0], high[0])]
    for indices in buckets.values():
        known = [index for index in indices if line.value[index] is not None]
        of = known or indices
        rows.append(
            (
                sum(line.at[index] for index in of) / len(of),
                find_mean(line.value[index] for index in known),
                min((one for index in known if (one := low[index]) is not None), default=None),
                max((one for index in known if (one := high[index]) is not None), default=None),
            )
        )
    rows.append((last, line.value[-1], low[-1], high[-1]))
    at, value, lows, highs = zip(*rows, strict=True)
    return replace(line, at=at, value=value, low=lows, high=highs, not_finite_at=times)


def is_drawable(value: float) -> bool:
    """Return whether a number is finite, and an axis for it has numbers, too."""
    return abs(value) <= MOST_VALUE  # False for NaN


def find_mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are known; None if there is none."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _thin_times(times: Sequence[float], most: int) -> tuple[float, ...]:
    if len(times) <= most:
        return tuple(times)
    last = len(times) - 1
    return tuple(times[round(index * last / (most - 1))] for index in range(most))


def _add_gaps(
    samples: Sequence[Sample],
) -> Iterator[tuple[float, float | None, float | None, float | None]]:
    """Yield the samples, and a sample without value in each gap between them."""
    pauses = [after[0] - before[0] for before, after in pairwise(samples)]
    for index, one in enumerate(samples):
        yield one
        if index >= len(pauses):
            continue
        around = [*pauses[max(0, index - 1) : index], *pauses[index + 1 : index + 2]]
        usual_s = max(around, default=pauses[index])
        if pauses[index] > max(_LEAST_GAP_S, _GAP_FACTOR * usual_s):
            yield one[0] + pauses[index] / 2, None, None, None
