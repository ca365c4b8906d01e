"""Declaration of a metric: its name, its meaning, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Generic, TypeVar

from gpualert_common.structs import Struct

Source = TypeVar("Source")
Sample = tuple[Sequence[str], float]
"""The values of the labels, and the number."""


class MetricKind(StrEnum):
    """Kind of a metric, as Prometheus names it."""

    GAUGE = "gauge"
    COUNTER = "counter"


class Metric(Struct, Generic[Source], frozen=True):
    """One metric; ``read`` returns its samples from a run, or from the reading of all runs.

    The samples have the values of ``labels``, in their order.
    """

    name: str
    help: str
    labels: tuple[str, ...]
    read: Callable[[Source], Iterable[Sample]]
    kind: MetricKind = MetricKind.GAUGE


def make_number(name: str, text: str, read: Callable[[Source], float | None]) -> Metric[Source]:
    """Return the metric of one number, without a sample where it is not known."""

    def list_samples(source: Source) -> Iterator[Sample]:
        value = read(source)
        if value is not None:
            yield (), value

    return Metric(name, text, (), list_samples)
