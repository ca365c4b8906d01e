"""Metrics of all runs together."""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common._version import __version__
from gpualert_common.exporter.metric import Metric, MetricKind, Sample, make_number
from gpualert_common.exporter.reading import Reading
from gpualert_common.exporter.totals import Total
from gpualert_common.listing.condition import LIVE, Condition

_ENDED = ("condition", "cause", "attribution")
_ENDED_CONDITIONS = [str(one) for one in Condition if one not in (*LIVE, Condition.LOST)]


def _total(name: str, text: str, labels: tuple[str, ...], total: Total) -> Metric[Reading]:
    """Return the counter of a number that is added up over all ended runs."""

    def list_samples(reading: Reading) -> Iterator[Sample]:
        for (found, values), value in sorted((reading.totals or {}).items()):
            if found is total:
                yield values, value

    return Metric(f"gpualert_{name}_total", text, labels, list_samples, MetricKind.COUNTER)


def _total_by_condition(name: str, total: Total) -> Metric[Reading]:
    """Return the counter of a total by condition alone, with 0 for those without a run.

    A series that begins with its first run is not counted by PromQL's ``increase``.
    """

    def list_samples(reading: Reading) -> Iterator[Sample]:
        if reading.totals is None:
            return
        sums = dict.fromkeys(_ENDED_CONDITIONS, 0.0)
        for (found, (condition, *_)), value in reading.totals.items():
            if found is total:
                sums[condition] = sums.get(condition, 0.0) + value
        for condition, value in sums.items():
            yield (condition,), value

    return Metric(
        f"gpualert_{name}_by_condition_total",
        f"gpualert_{name}_total without the other labels. Each condition begins with 0, so that "
        "increase() counts its first run, too.",
        ("condition",),
        list_samples,
        MetricKind.COUNTER,
    )


def _read_failures(reading: Reading) -> Iterator[Sample]:
    yield (), reading.failures


def _read_version(_reading: Reading) -> Iterator[Sample]:
    yield (__version__,), 1.0


def _read_conditions(reading: Reading) -> Iterator[Sample]:
    for condition, count in reading.conditions.items():
        yield (condition,), count


def _read_alerts(reading: Reading) -> Iterator[Sample]:
    for state, count in reading.alerts.items():
        yield (state,), count


MACHINE_METRICS: tuple[Metric[Reading], ...] = (
    Metric(
        "gpualert_runs",
        "Number of records by the condition of their runs; falls when records are removed.",
        ("condition",),
        _read_conditions,
    ),
    _total(
        "ended_runs",
        "Runs that ended, by condition and verdict. A run counts when its verdict is complete.",
        _ENDED,
        Total.RUNS,
    ),
    _total(
        "gpu_seconds",
        "GPU-seconds of the runs that ended: duration times number of GPUs.",
        _ENDED,
        Total.GPU_SECONDS,
    ),
    _total(
        "wasted_gpu_seconds",
        "Part of gpualert_gpu_seconds_total without a lasting result: of a run that failed, all of "
        "it, or what followed its last checkpoint.",
        _ENDED,
        Total.WASTED_GPU_SECONDS,
    ),
    _total_by_condition("ended_runs", Total.RUNS),
    _total_by_condition("gpu_seconds", Total.GPU_SECONDS),
    _total_by_condition("wasted_gpu_seconds", Total.WASTED_GPU_SECONDS),
    _total(
        "warnings",
        "Runs that ended with a warning of this kind, whether it was withdrawn or not.",
        ("kind",),
        Total.WARNINGS,
    ),
    Metric(
        "gpualert_unsent_alerts",
        "Alerts that were not sent, by state: pending, held (it is not known yet whether another "
        "attempt follows), or failed.",
        ("state",),
        _read_alerts,
    ),
    make_number(
        "gpualert_oldest_pending_alert_timestamp_seconds",
        "Time at which the oldest pending alert was queued; absent without one.",
        lambda reading: reading.oldest_pending_at,
    ),
    Metric(
        "gpualert_build_info",
        "Version of gpualert. Always 1.",
        ("version",),
        _read_version,
    ),
    make_number(
        "gpualert_exporter_unreadable_records",
        "Records that are left out: damaged, or open to changes by another user.",
        lambda reading: reading.unreadable,
    ),
    make_number(
        "gpualert_exporter_runs_without_series",
        "Runs that are counted, but have no time series of their own, since there are too many.",
        lambda reading: reading.left_out,
    ),
    make_number(
        "gpualert_exporter_read_duration_seconds",
        "Time that the last reading of all runs took.",
        lambda reading: reading.duration_s,
    ),
    make_number(
        "gpualert_exporter_last_read_timestamp_seconds",
        "Time of the last reading; it stays where a disk does not answer.",
        lambda reading: reading.at,
    ),
    make_number(
        "gpualert_exporter_has_durable_totals",
        "1 if the totals survive a restart of the exporter, 0 if their file cannot be written.",
        lambda reading: reading.is_durable,
    ),
    Metric(
        "gpualert_exporter_failed_readings_total",
        "Readings of all runs that failed since the exporter started; it then serves the last one.",
        (),
        _read_failures,
        MetricKind.COUNTER,
    ),
)
