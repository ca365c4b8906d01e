"""One GPU: what it is, what it does, and what goes wrong with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from gpualert_common.telemetry.nvml.activity import Activity
from gpualert_common.telemetry.nvml.metric_reader import (
    RESET_REQUIRED,
    MetricReader,
    fact,
    value_of,
)
from gpualert_common.telemetry.nvml.metrics import MEMORY, PROCESSES, Ways, ways
from gpualert_common.telemetry.source import Sample, SourceEvent

_LINK_COUNT = 91
"""The field with the number of NVLinks."""


class Gpu:
    """A GPU that NVML has given us a handle of.

    ``tell`` takes its events, each once: gpu_lost, reset_required, and read_failed for a value that
    fails with anything else.
    """

    def __init__(
        self, nvml: Any, index: int, device: Any, tell: Callable[[SourceEvent], None]
    ) -> None:
        self._nvml = nvml
        self._tell = tell
        self._told: set[tuple[str, str]] = set()
        self._activities: list[Activity] = []
        self.index = index
        self.device = device
        self.is_lost = False
        """It has told that it is lost."""
        self.of = f"gpu:{index}"
        self.uuid = str(self._fact("nvmlDeviceGetUUID") or "")
        self._mig = dict(self._mig_devices())
        self._own = self._reader(device, self._with_activity(ways(self._link_count())))
        self._processes = self._reader(device, PROCESSES)
        self._instances = {
            f"{self.of}/mig:{number}": self._reader(mig, self._with_activity(MEMORY))
            for number, mig in self._mig.items()
        }

    @property
    def asking(self) -> str:
        """The value that was asked for last."""
        return self._asking.asking

    def read(self) -> list[Sample]:
        """Samples of it, its MIG devices and the processes on it; none when it is lost."""
        try:
            return list(self._samples())
        except self._nvml.NVMLError_GpuIsLost as error:
            self.is_lost = True
            self._report_once("gpu_lost", "", f"GPU {self.index} is lost", error)
        except Exception as error:  # noqa: BLE001 - one GPU keeps no other from being read
            self._failed(self.asking, error)
        return []

    @property
    def facts(self) -> dict[str, Any]:
        """What does not change; what NVML does not tell is None."""
        capability = self._fact("nvmlDeviceGetCudaComputeCapability")
        pci = self._fact("nvmlDeviceGetPciInfo_v3")
        memory = self._fact("nvmlDeviceGetMemoryInfo")
        mig_mode = self._fact("nvmlDeviceGetMigMode")
        ecc_mode = self._fact("nvmlDeviceGetEccMode")
        return {
            "index": self.index,
            "uuid": self.uuid or None,
            "pci_bus_id": pci and pci.busId,
            "name": self._fact("nvmlDeviceGetName"),
            "architecture": self._architecture(),
            "compute_capability": capability and ".".join(map(str, capability)),
            "memory_total_bytes": memory and memory.total,
            "slowdown_celsius": self._fact("nvmlDeviceGetTemperatureThreshold", 1),
            "shutdown_celsius": self._fact("nvmlDeviceGetTemperatureThreshold", 0),
            "ecc": ecc_mode and bool(ecc_mode[0]),
            "mig": mig_mode and bool(mig_mode[0]),
            "mig_devices": [
                {"number": number, "uuid": fact(self._nvml, "nvmlDeviceGetUUID", mig)}
                for number, mig in self._mig.items()
            ],
            "lacks": {**self._own.lacks, **self._processes.lacks},
        }

    def close(self) -> None:
        """Free what NVML keeps for it."""
        for activity in self._activities:
            activity.close(self._nvml)

    def _samples(self) -> Iterator[Sample]:
        values = self._read(self._own)
        processes = self._read(self._processes)
        if not self._processes.lacks:
            values["compute_processes"] = len(processes)
        yield Sample(self.of, values)
        for pid, used in processes.items():
            if not math.isnan(used):
                yield Sample(f"{self.of}/pid:{pid}", {"memory_used_bytes": used})
        for of, reader in self._instances.items():
            yield Sample(of, self._read(reader))

    def _read(self, reader: MetricReader) -> dict[str, float]:
        self._asking = reader
        return reader.read()

    # -- opening it ------------------------------------------------------------------------

    def _reader(self, device: Any, known: Ways) -> MetricReader:
        self._asking = MetricReader(self._nvml, device, known, self._failed)
        return self._asking

    def _with_activity(self, known: Ways) -> Ways:
        activity = Activity()
        self._activities.append(activity)
        return {**known, "activity": (activity,)}

    def _link_count(self) -> int:
        answers = self._fact("nvmlDeviceGetFieldValues", [_LINK_COUNT])
        return int(value_of(answers[0])) if answers and not answers[0].nvmlReturn else 0

    def _mig_devices(self) -> Iterator[tuple[int, Any]]:
        mode = self._fact("nvmlDeviceGetMigMode")
        if mode and mode[0]:
            for number in range(self._fact("nvmlDeviceGetMaxMigDeviceCount") or 0):
                if device := self._fact("nvmlDeviceGetMigDeviceHandleByIndex", number):
                    yield number, device

    def _fact(self, function: str, *arguments: Any) -> Any:
        return fact(self._nvml, function, self.device, *arguments)

    def _architecture(self) -> str | None:
        number = self._fact("nvmlDeviceGetArchitecture")
        names = {
            getattr(self._nvml, name): name.removeprefix("NVML_DEVICE_ARCH_").lower()
            for name in dir(self._nvml)
            if name.startswith("NVML_DEVICE_ARCH_")
        }
        return None if number is None else names.get(number, str(number))

    # -- what goes wrong -------------------------------------------------------------------

    def _failed(self, value: str, error: Exception) -> None:
        if getattr(error, "value", None) == RESET_REQUIRED:
            self._report_once("reset_required", "", f"GPU {self.index} wants a reset", error)
        else:
            text = f"GPU {self.index}: {value} cannot be read: {error}"
            self._report_once("read_failed", value, text, error)

    def _report_once(self, what: str, value: str, text: str, error: Exception) -> None:
        if (what, value) in self._told:
            return
        self._told.add((what, value))
        fields = {"gpu": self.index, "uuid": self.uuid, "error": str(error)}
        if value:
            fields["value"] = value
        self._tell(SourceEvent(what, self.of, text, fields))
