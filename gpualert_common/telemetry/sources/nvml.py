"""GPUs, sampled with NVIDIA's management library (NVML), which is part of the driver.

**Reads** for every visible GPU: memory, utilization, activity of the streaming multiprocessors
(Hopper and later), clocks and the reasons for low clocks, temperature, power, counters of ECC
errors, of remapped rows or retired pages, of NVLink and PCIe errors, the duration of each kind of
throttling, the driver's own recommendation (``recovery_action``), the memory of each compute
process, and that of each MIG device.  Receives Xids and ECC errors as they occur.  Reports a GPU
that is lost, requires a reset, or does not answer.

**Needs** the driver and access to its devices, and no further privilege; in a container, the driver
capability ``utility``.  Values that a driver or a GPU does not provide, or restricts to root, are
omitted; the facts list them under ``lacks``.  A GPU in MIG mode has no utilization of its own.

**Costs**, with 8 GPUs, 3 ms of a core for each sample, plus the time that the driver takes.  One
thread waits for events and one for each GPU; they mostly sleep.  The driver keeps the GPUs awake
while the source is open, as the training does.

**Cannot show** GPUs that are not visible here; the owner of memory in a container with its own
process numbers (NVML reports those of the host, or none); the reason why a kernel waits: a kernel
that spins on a lost peer has ``utilization_percent`` 100, because any kernel counts.  A counter
above zero may be from before the run; only its growth is evidence.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from queue import SimpleQueue
from typing import Any

from gpualert_common.structs import Struct
from gpualert_common.telemetry.nvml.background_call import BackgroundCall
from gpualert_common.telemetry.nvml.events import EventListener
from gpualert_common.telemetry.nvml.gpu import Gpu
from gpualert_common.telemetry.nvml.library import (
    load_binding,
    make_unavailable_error,
    open_library,
)
from gpualert_common.telemetry.nvml.metric_reader import GPU_IS_LOST, read_fact
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
)

_OPEN_TIMEOUT_S = 60.0
"""Without persistence mode the driver wakes 8 GPUs in turn, each in seconds."""

_ANSWER_TIMEOUT_S = 2.0
"""A GPU answers in milliseconds; after this time its thread waits alone."""

_CLOSE_TIMEOUT_S = 2.0


class _GpuWorker(Struct):
    gpu: Gpu
    reader: BackgroundCall[list[Sample]]
    is_late: bool = False
    """True while the GPU has not answered the request of an earlier sample."""


class Nvml(Source):
    """All GPUs of this machine, through the binding nvidia-ml-py.

    Numbers, of "gpu:INDEX": ``memory_used_bytes``, ``memory_free_bytes``, ``memory_total_bytes``,
    ``memory_reserved_bytes``; ``utilization_percent``, ``memory_utilization_percent`` (share of the
    time in which any kernel ran, or memory was used); ``sm_activity_percent``,
    ``sm_occupancy_percent``, ``tensor_activity_percent`` and ``dram_activity_percent`` (means since
    the last sample); ``sm_clock_mhz``, ``memory_clock_mhz`` and both with ``_max`` before the unit;
    ``clock_event_reasons_mask``, and, as 0 or 1, those of its bits that no healthy GPU has:
    ``hw_slowdown``, ``hw_thermal_slowdown``, ``hw_power_brake_slowdown``, ``sw_thermal_slowdown``;
    ``throttled_KIND_ns_total`` for power, thermal, sw_thermal, hw_thermal and hw_power_brake;
    ``temperature_celsius``, ``memory_temperature_celsius``, ``power_watts``, ``power_limit_watts``;
    ``ecc_corrected_total`` and ``ecc_uncorrected_total`` (since the driver was loaded);
    ``remapped_rows_`` and ``retired_pages_`` with ``corrected_total``, ``uncorrected_total``,
    ``pending``, for rows also ``failed``; ``nvlink_`` with ``crc_errors_total``, ``replays_total``,
    ``recoveries_total``, ``failed_recoveries_total``, ``receive_errors_total``; ``pcie_`` with
    ``replays_total``, ``nonfatal_errors_total``, ``fatal_errors_total``; ``recovery_action`` (0
    none, 1 reset the GPU, 2 reboot, further ones in nvml.h); ``compute_processes``.  Of
    "gpu:INDEX/pid:PID" ``memory_used_bytes``; of "gpu:INDEX/mig:NUMBER" memory and activity.

    Events: ``xid`` and the other events of NVML (the facts list them under ``events``); equal
    events between two samples are one event with a ``count``; ``gpu_lost`` and ``reset_required``
    once for each GPU, ``read_failed`` once for each value of it; ``not_answering`` when a call
    hangs, with the requested value in ``asking``, and ``answers_again``.  All have ``gpu`` and
    ``uuid``.
    """

    decides = (
        "GPU hardware, by Xids, ECC errors, remapped rows and lost GPUs; throttled GPUs, by the "
        "duration of low clocks; supports GPU memory, stalled collectives, hangs, unused GPUs, "
        "stragglers and healthy runs, by memory and utilization of each GPU"
    )

    def __init__(self, run: ObservedRun | None) -> None:  # noqa: ARG002 - samples every GPU
        self._nvml = load_binding()
        self._reports: SimpleQueue[SourceEvent] = SimpleQueue()
        self._gpus: list[Gpu] = []
        self._facts: dict[str, Any] = {}
        self._listener: EventListener | None = None
        opening = BackgroundCall(self._open, "nvml opening")
        opening.request()
        try:
            opening.wait(time.monotonic() + _OPEN_TIMEOUT_S)
        except TimeoutError:
            raise SourceUnavailableError(
                f"NVML did not answer within {_OPEN_TIMEOUT_S:g} s",
                "the driver hangs: see the kernel log; a reboot may be needed",
            ) from None
        finally:
            opening.stop()
        self._workers = [
            _GpuWorker(gpu, BackgroundCall(gpu.read, f"nvml {gpu.of}")) for gpu in self._gpus
        ]

    @property
    def facts(self) -> Mapping[str, Any]:
        """Versions, and under ``gpus`` each GPU, in the order of the PCI bus.

        This is CUDA's order with CUDA_DEVICE_ORDER=PCI_BUS_ID, and also without it if all GPUs are
        alike.
        """
        return self._facts

    def sample(self) -> Iterator[Sample | SourceEvent]:
        """Yield samples of the GPUs that answer within 2 s, then events since the last sample."""
        requested = [worker for worker in self._workers if self._request_samples(worker)]
        deadline = time.monotonic() + _ANSWER_TIMEOUT_S
        for worker in requested:
            try:
                yield from worker.reader.wait(deadline)
            except TimeoutError:
                worker.is_late = True
                text = f"does not answer; requested value: {worker.gpu.current_metric}"
                self._report("not_answering", worker.gpu, text)
        while not self._reports.empty():
            yield self._reports.get()
        if self._listener is not None:
            yield from self._listener.take_events()

    def close(self) -> None:
        """Close NVML, unless a call hangs: then its memory must not be freed."""
        deadline = time.monotonic() + _CLOSE_TIMEOUT_S
        is_quiet = self._listener is None or self._listener.stop(deadline)
        for worker in self._workers:
            is_quiet = is_quiet and worker.reader.requested_at is None
            worker.reader.stop()
        self._workers = []
        if is_quiet:
            closing = BackgroundCall(self._shut_down, "nvml closing")
            closing.request()
            closing.stop()
            try:
                closing.wait(deadline)
            except (TimeoutError, self._nvml.NVMLError):
                pass

    def _open(self) -> None:
        count = open_library(self._nvml)
        refused: dict[int, Any] = {}
        for index in range(count):
            try:
                device = self._nvml.nvmlDeviceGetHandleByIndex(index)
            except self._nvml.NVMLError as error:
                refused[index] = error
                continue
            self._gpus.append(Gpu(self._nvml, index, device, self._reports.put))
        if not self._gpus:
            self._nvml.nvmlShutdown()
            raise make_unavailable_error(refused[0])
        for index, refusal in refused.items():
            self._reports.put(_make_refusal_event(index, refusal))
        for gpu in self._gpus:
            gpu.read()  # finds missing values and starts the interval measurements
        self._listener = EventListener(self._nvml, self._gpus)
        self._facts = self._collect_facts(refused)

    def _shut_down(self) -> None:
        for gpu in self._gpus:
            gpu.close()
        self._nvml.nvmlShutdown()

    def _request_samples(self, worker: _GpuWorker) -> bool:
        """Request samples; return False if the last request is unanswered."""
        if worker.is_late:
            try:
                worker.reader.wait(0)  # outdated
            except TimeoutError:
                return False
            worker.is_late = False
            self._report("answers_again", worker.gpu, "answers again")
        worker.reader.request()
        return True

    def _report(self, what: str, gpu: Gpu, text: str) -> None:
        fields = {"gpu": gpu.index, "uuid": gpu.uuid, "asking": gpu.current_metric}
        self._reports.put(SourceEvent(what, gpu.of, f"GPU {gpu.index} {text}", fields))

    def _collect_facts(self, refused: Mapping[int, Any]) -> dict[str, Any]:
        gpus = [self._collect_gpu_facts(gpu) for gpu in self._gpus]
        gpus.sort(key=lambda facts: facts["pci_bus_id"] or "")
        gpus += [{"index": index, "error": str(error)} for index, error in refused.items()]
        return {
            "driver": read_fact(self._nvml, "nvmlSystemGetDriverVersion"),
            "cuda_driver": _format_cuda_version(
                read_fact(self._nvml, "nvmlSystemGetCudaDriverVersion_v2")
            ),
            "nvml": read_fact(self._nvml, "nvmlSystemGetNVMLVersion"),
            "gpus": gpus,
        }

    def _collect_gpu_facts(self, gpu: Gpu) -> dict[str, Any]:
        assert self._listener is not None
        facts = gpu.facts
        if gpu.index in self._listener.missing:
            facts["lacks"]["events"] = self._listener.missing[gpu.index]
        return {**facts, "events": self._listener.kinds.get(gpu.index, [])}


def _format_cuda_version(number: int | None) -> str | None:
    return None if number is None else f"{number // 1000}.{number % 1000 // 10}"


def _make_refusal_event(index: int, error: Any) -> SourceEvent:
    """Return the event for a GPU that NVML counts but returns no handle for."""
    what = "gpu_lost" if error.value == GPU_IS_LOST else "read_failed"
    fields = {"gpu": index, "uuid": "", "value": "handle", "error": str(error)}
    return SourceEvent(what, f"gpu:{index}", f"GPU {index} cannot be opened: {error}", fields)


SOURCE: type[Source] = Nvml
