"""Times of steps, by the times at which their lines were printed."""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.progress.model import Progress
from gpualert_common.progress.timestamps import add_times, measure_steps


def measure_silent_steps(
    progress: Progress | None, arrivals: Sequence[tuple[float, int]]
) -> tuple[int, float] | None:
    """Return steps and seconds by the clock, of a training that reports no times."""
    if progress is None or not arrivals:
        return None
    if any(point.step_s or point.throughput for point in progress.points):
        return None
    return measure_steps(progress, arrivals)


def date_steps(
    progress: Progress | None, arrivals: Sequence[tuple[float, int]], started_at: float
) -> tuple[tuple[float, int], ...]:
    """Return the steps of the last segment, each with a time before which it was not printed.

    The index has an entry for each thousandth of a run, so a line may be much older than its entry.
    """
    if progress is None or not arrivals:
        return ()
    last = progress.points[-1]
    since = [started_at, *(at for at, _size in arrivals[:-1])]
    earliest = [(at, size) for at, (_at, size) in zip(since, arrivals, strict=True)]
    dated = add_times(progress, earliest).points
    return tuple(
        (point.at, point.step)
        for point in dated
        if point.at is not None
        and point.step is not None
        and (point.file, point.segment) == (last.file, last.segment)
    )
