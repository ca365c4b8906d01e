"""Declaration of a metric: its name, its meaning, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
