"""Metrics of a reading in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as AnyFamily

from gpualert_common.exporter.machine_metrics import MACHINE_METRICS
from gpualert_common.exporter.metric import MetricKind
from gpualert_common.exporter.reading import Reading
from gpualert_common.exporter.run_metrics import RUN_METRICS
from gpualert_common.redact import Redactor
from gpualert_common.report.text_sanitizer import TextSanitizer

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_LABEL_CHARS = 120
_FAMILIES = {MetricKind.GAUGE: GaugeMetricFamily, MetricKind.COUNTER: CounterMetricFamily}


def format_reading(reading: Reading, *, has_process: bool) -> bytes:
    """Return a page of metrics.

    With ``has_process`` it has the metrics of this process that all exporters have; in a file they
    would be confused with those of node_exporter.
    """
    registry = CollectorRegistry()
    registry.register(_Families(reading))
    if has_process:
        ProcessCollector(registry=registry)
    return generate_latest(registry)


class _Families:
    """Collector of one reading, as prometheus_client wants it."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def describe(self) -> Iterable[AnyFamily]:
        """Return no names: the registry has no other collector that has some of them."""
        return ()

    def collect(self) -> Iterator[AnyFamily]:
        """Yield the metrics with their samples."""
        reading = self._reading
        for metric in MACHINE_METRICS:
            family = _FAMILIES[metric.kind](
                metric.name, metric.help, labels=("user", *metric.labels)
            )
            for values, number in metric.read(reading):
                _add(family, (reading.user, *values), number)
            yield family
        for run_metric in RUN_METRICS:
            labels = ("run_id", *run_metric.labels)
            family = GaugeMetricFamily(run_metric.name, run_metric.help, labels=labels)
            for run in reading.runs:
                for values, number in run_metric.read(run):
                    _add(family, (run.summary.run_id, *values), number)
            yield family


def _add(
    family: CounterMetricFamily | GaugeMetricFamily, labels: Iterable[str], number: float
) -> None:
    """Add a sample; without one for a number that no float can hold."""
    try:
        value = float(number)
    except OverflowError:
        return
    family.add_metric([_make_label(label) for label in labels], value)


@lru_cache(maxsize=4096)
def _make_label(text: str) -> str:
    """Return a label with its secrets masked: metrics leave the machine."""
    return TextSanitizer(_redactor()).line(text, MOST_LABEL_CHARS)


@lru_cache(maxsize=1)
def _redactor() -> Redactor:
    return Redactor()
