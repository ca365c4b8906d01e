"""Activity of the streaming multiprocessors between two samples, from NVML's GPM."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

_METRICS = {
    2: "sm_activity_percent",
    3: "sm_occupancy_percent",
    5: "tensor_activity_percent",
    10: "dram_activity_percent",
}

_MINIMUM_INTERVAL_S = 0.5
"""The counters advance every 100 ms (NVIDIA/DCGM#310); within one step they show nothing."""


class Activity:
    """A query (see :mod:`.metrics`) for mean activities since its last call.

    The first call returns nothing.  Hopper and later support it; other GPUs do not.
    """

    def __init__(self) -> None:
        self._samples: list[Any] = []
        self._query: Any = None
        self._sampled_at: float | None = None

    def __call__(self, nvml: Any, device: Any) -> Mapping[str, float]:
        """Return the means in percent.  Raises NVMLError."""
        if self._query is None:
            self._open(nvml, device)
        now = time.monotonic()
        if self._sampled_at is not None and now - self._sampled_at < _MINIMUM_INTERVAL_S:
            return {}
        earlier, later = self._samples
        nvml.nvmlGpmSampleGet(device, later)
        values = {} if self._sampled_at is None else self._compute_means(nvml, earlier, later)
        self._samples = [later, earlier]
        self._sampled_at = now
        return values

    def close(self, nvml: Any) -> None:
        """Free the samples."""
        for sample in self._samples:
            nvml.nvmlGpmSampleFree(sample)
        self._samples = []

    def _open(self, nvml: Any, device: Any) -> None:
        if not nvml.nvmlGpmQueryDeviceSupport(device).isSupportedDevice:
            raise nvml.NVMLError(nvml.NVML_ERROR_NOT_SUPPORTED)
        self._samples = [nvml.nvmlGpmSampleAlloc(), nvml.nvmlGpmSampleAlloc()]
        self._query = nvml.c_nvmlGpmMetricsGet_t()
        self._query.version = nvml.NVML_GPM_METRICS_GET_VERSION
        self._query.numMetrics = len(_METRICS)
        for index, metric in enumerate(_METRICS):
            self._query.metrics[index].metricId = metric

    def _compute_means(self, nvml: Any, earlier: Any, later: Any) -> dict[str, float]:
        self._query.sample1, self._query.sample2 = earlier, later
        nvml.nvmlGpmMetricsGet(self._query)
        metrics = self._query.metrics
        return {
            name: metrics[index].value
            for index, name in enumerate(_METRICS.values())
            if not metrics[index].nvmlReturn and math.isfinite(metrics[index].value)
        }
