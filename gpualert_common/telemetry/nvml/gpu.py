"""One GPU: its facts, its samples, and its faults."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from gpualert_common.telemetry.nvml.activity import Activity
from gpualert_common.telemetry.nvml.metric_reader import (
    RESET_REQUIRED,
    MetricReader,
    get_value,
    read_fact,
)
from gpualert_common.telemetry.nvml.metrics import MEMORY, PROCESSES, Queries, list_queries
from gpualert_common.telemetry.source import Sample, SourceEvent

_LINK_COUNT = 91
"""The field with the number of NVLinks."""


class Gpu:
    """A GPU for which NVML returned a handle.

    ``report`` receives its events, each once: gpu_lost, reset_required, and read_failed for a value
    that fails in any other way.
    """

    def __init__(
        self, nvml: Any, index: int, device: Any, report: Callable[[SourceEvent], None]
    ) -> None:
        self._nvml = nvml
        self._report = report
        self._reported: set[tuple[str, str]] = set()
        self._activities: list[Activity] = []
        self.index = index
        self.device = device
        self.is_lost = False
        """True once the GPU has reported that it is lost."""
        self.of = f"gpu:{index}"
        self.uuid = str(self._read_fact("nvmlDeviceGetUUID") or "")
        self._mig = dict(self._list_mig_devices())
        self._metrics = self._make_reader(
            device, self._add_activity(list_queries(self._read_link_count()))
        )
        self._processes = self._make_reader(device, PROCESSES)
        self._instances = {
            f"{self.of}/mig:{number}": self._make_reader(mig, self._add_activity(MEMORY))
            for number, mig in self._mig.items()
        }

    @property
    def current_metric(self) -> str:
        """The value requested last."""
        return self._active_reader.current_metric

    def read(self) -> list[Sample]:
        """Return the samples of the GPU, its MIG devices and its processes; none if the GPU is
        lost."""
        try:
            return list(self._read_samples())
        except self._nvml.NVMLError_GpuIsLost as error:
            self.is_lost = True
            self._report_once("gpu_lost", "", f"GPU {self.index} is lost", error)
        except Exception as error:  # noqa: BLE001 - a fault of one GPU does not affect the others
            self._report_failure(self.current_metric, error)
        return []

    @property
    def facts(self) -> dict[str, Any]:
        """The constant facts; None for each that NVML does not report."""
        capability = self._read_fact("nvmlDeviceGetCudaComputeCapability")
        pci = self._read_fact("nvmlDeviceGetPciInfo_v3")
        memory = self._read_fact("nvmlDeviceGetMemoryInfo")
        mig_mode = self._read_fact("nvmlDeviceGetMigMode")
        ecc_mode = self._read_fact("nvmlDeviceGetEccMode")
        return {
            "index": self.index,
            "uuid": self.uuid or None,
            "pci_bus_id": pci and pci.busId,
            "name": self._read_fact("nvmlDeviceGetName"),
            "architecture": self._read_architecture(),
            "compute_capability": capability and ".".join(map(str, capability)),
            "memory_total_bytes": memory and memory.total,
            "slowdown_celsius": self._read_fact("nvmlDeviceGetTemperatureThreshold", 1),
            "shutdown_celsius": self._read_fact("nvmlDeviceGetTemperatureThreshold", 0),
            "ecc": ecc_mode and bool(ecc_mode[0]),
            "mig": mig_mode and bool(mig_mode[0]),
            "mig_devices": [
                {"number": number, "uuid": read_fact(self._nvml, "nvmlDeviceGetUUID", mig)}
                for number, mig in self._mig.items()
            ],
            "lacks": {**self._metrics.missing, **self._processes.missing},
        }

    def close(self) -> None:
        """Free the resources that NVML holds for it."""
        for activity in self._activities:
            activity.close(self._nvml)

    def _read_samples(self) -> Iterator[Sample]:
        values = self._read_with(self._metrics)
        processes = self._read_with(self._processes)
        if not self._processes.missing:
            values["compute_processes"] = len(processes)
        yield Sample(self.of, values)
        for pid, used in processes.items():
            if not math.isnan(used):
                yield Sample(f"{self.of}/pid:{pid}", {"memory_used_bytes": used})
        for of, reader in self._instances.items():
            yield Sample(of, self._read_with(reader))

    def _read_with(self, reader: MetricReader) -> dict[str, float]:
        self._active_reader = reader
        return reader.read()

    # -- opening ---------------------------------------------------------------------------

    def _make_reader(self, device: Any, queries: Queries) -> MetricReader:
        self._active_reader = MetricReader(self._nvml, device, queries, self._report_failure)
        return self._active_reader

    def _add_activity(self, queries: Queries) -> Queries:
        activity = Activity()
        self._activities.append(activity)
        return {**queries, "activity": (activity,)}

    def _read_link_count(self) -> int:
        answers = self._read_fact("nvmlDeviceGetFieldValues", [_LINK_COUNT])
        return int(get_value(answers[0])) if answers and not answers[0].nvmlReturn else 0

    def _list_mig_devices(self) -> Iterator[tuple[int, Any]]:
        mode = self._read_fact("nvmlDeviceGetMigMode")
        if mode and mode[0]:
            for number in range(self._read_fact("nvmlDeviceGetMaxMigDeviceCount") or 0):
                if device := self._read_fact("nvmlDeviceGetMigDeviceHandleByIndex", number):
                    yield number, device

    def _read_fact(self, function: str, *arguments: Any) -> Any:
        return read_fact(self._nvml, function, self.device, *arguments)

    def _read_architecture(self) -> str | None:
        number = self._read_fact("nvmlDeviceGetArchitecture")
        names = {
            getattr(self._nvml, name): name.removeprefix("NVML_DEVICE_ARCH_").lower()
            for name in dir(self._nvml)
            if name.startswith("NVML_DEVICE_ARCH_")
        }
        return None if number is None else names.get(number, str(number))

    # -- faults ----------------------------------------------------------------------------

    def _report_failure(self, value: str, error: Exception) -> None:
        if getattr(error, "value", None) == RESET_REQUIRED:
            self._report_once("reset_required", "", f"GPU {self.index} requires a reset", error)
        else:
            text = f"GPU {self.index}: {value} cannot be read: {error}"
            self._report_once("read_failed", value, text, error)

    def _report_once(self, what: str, value: str, text: str, error: Exception) -> None:
        if (what, value) in self._reported:
            return
        self._reported.add((what, value))
        fields = {"gpu": self.index, "uuid": self.uuid, "error": str(error)}
        if value:
            fields["value"] = value
        self._report(SourceEvent(what, self.of, text, fields))
