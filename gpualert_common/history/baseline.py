"""What is usual for a command, by the runs of it that went well."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gpualert_common.history.past_run import PastRun

MINIMUM_RUNS = 3
"""The median of fewer is moved by any one of them."""
_UNUSUAL = 3 * 1.4826


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of ``count`` values, and ``mad``, the median of their distances from it.

    Of values that are normally distributed 1.4826 times the latter is the standard deviation.
    """

    median: float
    mad: float
    count: int

    @property
    def low(self) -> float:
        """What lies below it is unusual: three standard deviations from the median."""
        return self.median - _UNUSUAL * self.mad

    @property
    def high(self) -> float:
        """What lies above it is unusual."""
        return self.median + _UNUSUAL * self.mad


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is usual; None where fewer than :data:`MINIMUM_RUNS` of ``runs`` tell.

    ``throughput`` is in ``throughput_unit``, that of the newest run.  A run that was
    resumed says nothing of ``steps`` and ``duration_s``: it did a part of the work.
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
    """What is usual among the runs that completed well; None when they are fewer than ``least``.

    ``runs`` are of one command, newest first, as :meth:`.History.of` gives them.
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
    middle = _median(values)
    return Spread(middle, _median([abs(value - middle) for value in values]), len(values))


def _median(values: Sequence[float]) -> float:
    """As :func:`statistics.median`, whose import takes longer than everything here."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
