"""The waits of the ranks of a node for their peers, counted over parts of the last half hour.

Parts tell a rank that is slow in every step from one that is alone at work for a time, as the first
rank is in an evaluation.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Mapping

from gpualert_common.telemetry.series import Series, Telemetry

WINDOW_S = 1800.0
PARTS = 5
"""An odd number: more than half of them show the usual state."""
_SAMPLES, _WAITS = "stack_samples_total", "peer_waits_total"


def count_stack_samples(telemetry: Telemetry, now: float) -> tuple[int, ...]:
    """Return the number of readings in each part; () where the stacks were not read."""
    counts = (_count(telemetry, name, _SAMPLES, now) for name in _list_ranks(telemetry))
    return max(counts, key=sum, default=())


def count_rank_waits(telemetry: Telemetry, now: float) -> Mapping[str, tuple[int, ...]]:
    """Return the waits in each part by the name of a rank, without ranks that a reading lacks."""
    samples = count_stack_samples(telemetry, now)
    return {
        name: _count(telemetry, name, _WAITS, now)
        for name in _list_ranks(telemetry)
        if samples and _count(telemetry, name, _SAMPLES, now) == samples
    }


def _list_ranks(telemetry: Telemetry) -> list[str]:
    names = (*telemetry.list_entities("rank"), *telemetry.list_entities("local_rank"))
    return [name for name in names if telemetry.series(name, _SAMPLES)]


def _count(telemetry: Telemetry, entity: str, name: str, now: float) -> tuple[int, ...]:
    """Return the growth of a counter in each part of the time up to ``now``."""
    series = telemetry.series(entity, name)
    if not series:
        return ()
    begin = max(series.at[0], now - WINDOW_S)
    edges = [begin + part * (now - begin) / PARTS for part in range(PARTS + 1)]
    values = [_find_value(series, edge) for edge in edges]
    return tuple(max(0, int(after - before)) for before, after in itertools.pairwise(values))


def _find_value(series: Series, at: float) -> float:
    """Return the last value of a counter up to a time; the first one before it."""
    return series.value[max(0, bisect_right(series.at, at) - 1)]
