"""GPUs, by NVIDIA's management library (NVML), which comes with the driver.

**Reads** of every GPU that is visible here: memory, utilization, activity of the streaming
multiprocessors (Hopper and later), clocks and why they are held down, temperature, power, counters
of ECC errors, of remapped rows or retired pages, of NVLink and PCIe errors, how long each kind of
throttling lasted, the driver's own recommendation (``recovery_action``), the memory of each process
that computes, and that of each MIG device.  Hears of Xids and ECC errors as they happen.  Says when
a GPU is lost, wants a reset, or does not answer.

**Needs** the driver and access to its devices, and no further privilege; in a container, the driver
capability ``utility``.  What a driver or a GPU does not have, or keeps for root, is left out; the
facts name it under ``lacks``.  A GPU in MIG mode has no utilization of its own.

**Costs**, with 8 GPUs, 3 ms of a core for a look, and what the driver itself takes; a thread that
waits for events, and one for each GPU, which mostly sleep.  The driver keeps the GPUs awake
while it is open, as the training does.

**Does not see** GPUs that are not visible here; whose memory it is in a container with process
numbers of its own (NVML tells the host's, or none); what a kernel waits for: one that spins on a
lost peer reads ``utilization_percent`` 100, since that counts any kernel.  A counter above zero was
so before the run; only its rise means something.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from gpualert_common.telemetry.nvml.background_call import BackgroundCall
from gpualert_common.telemetry.nvml.events import Events
from gpualert_common.telemetry.nvml.gpu import Gpu
from gpualert_common.telemetry.nvml.library import binding, open_library, unavailable
from gpualert_common.telemetry.nvml.metric_reader import GPU_IS_LOST, fact
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
)

_OPEN_S = 60.0
"""Without persistence mode the driver wakes 8 GPUs one after the other, seconds for each."""

_ANSWER_S = 2.0
"""A GPU answers in milliseconds; one that takes longer than this is waited for by its thread."""

_CLOSE_S = 2.0


@dataclass(slots=True)
class _Watched:
    gpu: Gpu
    reader: BackgroundCall[list[Sample]] = field(init=False)
    is_late: bool = False
    """It owes an answer since an earlier look."""

    def __post_init__(self) -> None:
        self.reader = BackgroundCall(self.gpu.read, f"nvml {self.gpu.of}")


class Nvml(Source):
    """All GPUs of this machine, through the binding nvidia-ml-py.

    Numbers, of "gpu:INDEX": ``memory_used_bytes``, ``memory_free_bytes``, ``memory_total_bytes``,
    ``memory_reserved_bytes``; ``utilization_percent``, ``memory_utilization_percent`` (the time in
    which any kernel ran, or memory was used); ``sm_activity_percent``, ``sm_occupancy_percent``,
    ``tensor_activity_percent`` and ``dram_activity_percent`` (means since the last look);
    ``sm_clock_mhz``, ``memory_clock_mhz`` and both with ``_max`` before the unit;
    ``clock_event_reasons_mask``, and as 0 or 1 those of its bits that no healthy GPU has:
    ``hw_slowdown``, ``hw_thermal_slowdown``, ``hw_power_brake_slowdown``, ``sw_thermal_slowdown``;
    ``throttled_KIND_ns_total`` for power, thermal, sw_thermal, hw_thermal and hw_power_brake;
    ``temperature_celsius``, ``memory_temperature_celsius``, ``power_watts``, ``power_limit_watts``;
    ``ecc_corrected_total`` and ``ecc_uncorrected_total`` (since the driver was loaded);
    ``remapped_rows_`` and ``retired_pages_`` with ``corrected_total``, ``uncorrected_total``,
    ``pending``, of rows also ``failed``; ``nvlink_`` with ``crc_errors_total``, ``replays_total``,
    ``recoveries_total``, ``failed_recoveries_total``, ``receive_errors_total``; ``pcie_`` with
    ``replays_total``, ``nonfatal_errors_total``, ``fatal_errors_total``; ``recovery_action`` (0
    none, 1 reset the GPU, 2 reboot, further ones in nvml.h); ``compute_processes``.  Of
    "gpu:INDEX/pid:PID" ``memory_used_bytes``; of "gpu:INDEX/mig:NUMBER" memory and activity.

    Events: ``xid`` and others that NVML tells (the facts list them under ``events``), equal ones
    between two looks as one with a ``count``; ``gpu_lost`` and ``reset_required`` once for a GPU,
    ``read_failed`` once for each value of it; ``not_answering`` when a call hangs, with what was
    ``asking``, and ``answers_again``.  All have ``gpu`` and ``uuid``.
    """

    decides = (
        "B2 (Xids, ECC errors, remapped rows, lost GPUs), B3 (how long clocks were held down); "
        "supports B1, C2, C3, D1, D3 and G1 (memory, and how busy each GPU is)"
    )

    def __init__(self, subject: ObservedRun | None) -> None:  # noqa: ARG002 - every GPU is looked at
        self._nvml = binding()
        self._noticed: SimpleQueue[SourceEvent] = SimpleQueue()
        self._gpus: list[Gpu] = []
        self._facts: dict[str, Any] = {}
        self._events: Events | None = None
        opening = BackgroundCall(self._open, "nvml opening")
        opening.ask()
        try:
            opening.wait(time.monotonic() + _OPEN_S)
        except TimeoutError:
            raise SourceUnavailableError(
                f"NVML did not answer within {_OPEN_S:g} s",
                "the driver hangs: see the kernel log; a reboot may be needed",
            ) from None
        finally:
            opening.end()
        self._watched = [_Watched(gpu) for gpu in self._gpus]

    @property
    def facts(self) -> Mapping[str, Any]:
        """Versions, and under ``gpus`` each GPU, in the order of the PCI bus.

        That is CUDA's order with CUDA_DEVICE_ORDER=PCI_BUS_ID, and without it where all are alike.
        """
        return self._facts

    def sample(self) -> Iterator[Sample | SourceEvent]:
        """Samples of the GPUs that answer within 2 s, then what happened since the last look."""
        awaited = [watched for watched in self._watched if self._asks(watched)]
        deadline = time.monotonic() + _ANSWER_S
        for watched in awaited:
            try:
                yield from watched.reader.wait(deadline)
            except TimeoutError:
                watched.is_late = True
                text = f"does not answer; asked for {watched.gpu.asking}"
                self._notice("not_answering", watched.gpu, text)
        while not self._noticed.empty():
            yield self._noticed.get()
        if self._events is not None:
            yield from self._events.told()

    def close(self) -> None:
        """Close NVML, unless a call still hangs: then its memory is not ours to free."""
        deadline = time.monotonic() + _CLOSE_S
        quiet = self._events is None or self._events.end(deadline)
        for watched in self._watched:
            quiet = quiet and watched.reader.asked_at is None
            watched.reader.end()
        self._watched = []
        if quiet:
            closing = BackgroundCall(self._shut_down, "nvml closing")
            closing.ask()
            closing.end()
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
            self._gpus.append(Gpu(self._nvml, index, device, self._noticed.put))
        if not self._gpus:
            self._nvml.nvmlShutdown()
            raise unavailable(refused[0])
        for index, refusal in refused.items():
            self._noticed.put(_refused(index, refusal))
        for gpu in self._gpus:
            gpu.read()  # finds what it lacks, and begins what is measured between two looks
        self._events = Events(self._nvml, self._gpus)
        self._facts = self._all_facts(refused)

    def _shut_down(self) -> None:
        for gpu in self._gpus:
            gpu.close()
        self._nvml.nvmlShutdown()

    def _asks(self, watched: _Watched) -> bool:
        """Asks for samples; False where the last ones are still owed."""
        if watched.is_late:
            try:
                watched.reader.wait(0)  # from long ago, and of no use any more
            except TimeoutError:
                return False
            watched.is_late = False
            self._notice("answers_again", watched.gpu, "answers again")
        watched.reader.ask()
        return True

    def _notice(self, what: str, gpu: Gpu, text: str) -> None:
        fields = {"gpu": gpu.index, "uuid": gpu.uuid, "asking": gpu.asking}
        self._noticed.put(SourceEvent(what, gpu.of, f"GPU {gpu.index} {text}", fields))

    def _all_facts(self, refused: Mapping[int, Any]) -> dict[str, Any]:
        gpus = [self._facts_of(gpu) for gpu in self._gpus]
        gpus.sort(key=lambda facts: facts["pci_bus_id"] or "")
        gpus += [{"index": index, "error": str(error)} for index, error in refused.items()]
        return {
            "driver": fact(self._nvml, "nvmlSystemGetDriverVersion"),
            "cuda_driver": _cuda_version(fact(self._nvml, "nvmlSystemGetCudaDriverVersion_v2")),
            "nvml": fact(self._nvml, "nvmlSystemGetNVMLVersion"),
            "gpus": gpus,
        }

    def _facts_of(self, gpu: Gpu) -> dict[str, Any]:
        assert self._events is not None
        facts = gpu.facts
        if gpu.index in self._events.lacks:
            facts["lacks"]["events"] = self._events.lacks[gpu.index]
        return {**facts, "events": self._events.kinds.get(gpu.index, [])}


def _cuda_version(number: int | None) -> str | None:
    return None if number is None else f"{number // 1000}.{number % 1000 // 10}"


def _refused(index: int, error: Any) -> SourceEvent:
    """A GPU that NVML counts and gives no handle of."""
    what = "gpu_lost" if error.value == GPU_IS_LOST else "read_failed"
    fields = {"gpu": index, "uuid": "", "value": "handle", "error": str(error)}
    return SourceEvent(what, f"gpu:{index}", f"GPU {index} cannot be opened: {error}", fields)


SOURCE: type[Source] = Nvml
