"""Baseline of a command: the usual values of its successful runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gpualert_common.history.past_run import PastRun
from gpualert_common.median import median
from gpualert_common.structs import Struct

MINIMUM_RUNS = 3
"""A single run moves the median of fewer."""
_UNUSUAL = 3 * 1.4826


class Spread(Struct, frozen=True):
    """The median of ``count`` values, and ``mad``, their median absolute deviation.

    For a normal distribution the standard deviation is 1.4826 times ``mad``.
    """

    median: float
    mad: float
    count: int

    @property
    def low(self) -> float:
        """The lower bound of usual values: three standard deviations below the median."""
        return self.median - _UNUSUAL * self.mad

    @property
    def high(self) -> float:
        """The upper bound of usual values: three standard deviations above the median."""
        return self.median + _UNUSUAL * self.mad


class Baseline(Struct, frozen=True):
    """The usual values; None where fewer than :data:`MINIMUM_RUNS` of ``runs`` have the value.

    ``throughput`` is in ``throughput_unit``, that of the newest run.  A resumed run is excluded
    from ``steps`` and ``duration_s``, because it did only a part of the work.
    """

    runs: int
    step_time_s: Spread | None = None
    throughput: Spread | None = None
    throughput_unit: str | None = None
    steps: Spread | None = None
    duration_s: Spread | None = None
    gpu_percent: Spread | None = None
    saves_per_step: Spread | None = None


def compute_baseline(runs: Iterable[PastRun], least: int = MINIMUM_RUNS) -> Baseline | None:
    """Return the baseline of the successful runs; None if they are fewer than ``least``.

    ``runs`` are of one command, newest first, as :meth:`.History.find_runs` returns them.
    """
    healthy = [run for run in runs if run.is_healthy]
    if len(healthy) < least:
        return None
    whole = [run for run in healthy if not run.resumed]
    measured = [run for run in healthy if run.throughput is not None]
    unit = measured[0].throughput_unit if measured else None
    alike = [run for run in measured if run.throughput_unit == unit]
    return Baseline(
        runs=len(healthy),
        step_time_s=_spread(healthy, lambda run: run.step_time_s),
        throughput=_spread(alike, lambda run: run.throughput),
        throughput_unit=unit,
        steps=_spread(whole, lambda run: run.steps),
        duration_s=_spread(whole, lambda run: run.duration_s),
        gpu_percent=_spread(healthy, lambda run: run.gpu_percent),
        saves_per_step=_spread(healthy, lambda run: run.saves_per_step),
    )


def _spread(runs: Sequence[PastRun], of: Callable[[PastRun], float | None]) -> Spread | None:
    values = [value for run in runs if (value := of(run)) is not None]
    if len(values) < MINIMUM_RUNS:
        return None
    middle = median(values)
    return Spread(middle, median([abs(value - middle) for value in values]), len(values))
