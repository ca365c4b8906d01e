"""Listener for the events of all GPUs: Xids, ECC errors, and those of newer drivers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from ctypes import addressof
from typing import Any

from gpualert_common.structs import Struct
from gpualert_common.telemetry.nvml.gpu import Gpu
from gpualert_common.telemetry.source import SourceEvent

_XID = 0x8
_ECC_CORRECTED = 0x1

_EVENT_TYPES = {
    _XID: ("xid", "Xid {data} on GPU {gpu}"),
    _ECC_CORRECTED: ("ecc_corrected", "corrected ECC error on GPU {gpu}"),
    0x2: ("ecc_uncorrected", "uncorrected ECC error on GPU {gpu}"),
    0x200: ("ecc_corrected_storm", "storm of corrected ECC errors on GPU {gpu}"),
    0x400: ("memory_retired", "memory of GPU {gpu} was retired"),
    0x800: ("memory_retirement_failed", "memory of GPU {gpu} could not be retired"),
    0x1000: ("poison", "poisoned data on GPU {gpu}, not fatal"),
    0x2000: ("poison_fatal", "poisoned data on GPU {gpu}, fatal"),
    0x4000: ("gpu_unavailable", "GPU {gpu} is unavailable"),
    0x8000: ("recovery_action", "the driver's recommendation for GPU {gpu} changed"),
}
"""Kind and text of each nvmlEventType."""

_WAIT_MS = 500
_PAUSE_AFTER_ERROR_S = 1.0
_PAUSE_AFTER_CORRECTED_S = 0.05
"""Corrected errors may come by the thousand; a short pause loses none of them."""

_NO_INSTANCE = 0xFFFFFFFF


class _Key(Struct, frozen=True):
    kind: int
    device: int
    data: int
    gpu_instance: int
    compute_instance: int


class EventListener:
    """A thread that waits for the events of GPUs until it is stopped.

    Equal events between two samples become one event with a count, so an event storm does not fill
    the disk.
    """

    def __init__(self, nvml: Any, gpus: list[Gpu]) -> None:
        self._nvml = nvml
        self._gpus = {addressof(gpu.device.contents): gpu for gpu in gpus}
        self._lock = threading.Lock()
        self._pending: dict[_Key, tuple[float, int]] = {}
        self._stopped = threading.Event()
        self._set: Any = None
        self.missing: dict[int, str] = {}
        """Reason for each GPU without events, by its index."""
        self.kinds = self._register()
        """Kinds of events that each GPU supports, by its index."""
        self._thread = threading.Thread(target=self._wait, name="nvml events", daemon=True)
        self._thread.start()

    def take_events(self) -> Iterator[SourceEvent]:
        """Yield the events since the last call."""
        with self._lock:
            pending, self._pending = self._pending, {}
        for key, (at, count) in pending.items():
            yield self._make_event(key, at, count)

    def stop(self, deadline: float) -> bool:
        """Stop the thread; False if it still runs at ``deadline``, a time of ``time.monotonic``."""
        self._stopped.set()
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._thread.is_alive():
            return False
        self._free()
        return True

    def _register(self) -> dict[int, list[str]]:
        """Create the event set and register all GPUs; return the kinds of events of each."""
        kinds = {}
        try:
            self._set = self._nvml.nvmlEventSetCreate()
            for gpu in self._gpus.values():
                if types := self._register_gpu(gpu):
                    kinds[gpu.index] = [
                        name for kind, (name, _) in _EVENT_TYPES.items() if kind & types
                    ]
        except self._nvml.NVMLError as error:
            self.missing = {gpu.index: str(error) for gpu in self._gpus.values()}
        if not kinds:
            self._free()
        return kinds

    def _register_gpu(self, gpu: Gpu) -> int:
        """Register the GPU's events with the set; return their types, 0 if there are none."""
        if gpu.is_lost:
            return 0
        try:
            supported = self._nvml.nvmlDeviceGetSupportedEventTypes(gpu.device)
            if types := sum(kind for kind in _EVENT_TYPES if kind & supported):
                self._nvml.nvmlDeviceRegisterEvents(gpu.device, types, self._set)
        except self._nvml.NVMLError as error:
            self.missing[gpu.index] = str(error)
            return 0
        return types

    def _free(self) -> None:
        old, self._set = self._set, None
        try:
            if old is not None:
                self._nvml.nvmlEventSetFree(old)
        except self._nvml.NVMLError:
            pass  # the driver frees it

    def _wait(self) -> None:
        while self.kinds and not self._stopped.is_set():
            if self._set is None:
                self._stopped.wait(_PAUSE_AFTER_ERROR_S)
                self._register()
                continue
            try:
                data = self._nvml.nvmlEventSetWait_v2(self._set, _WAIT_MS)
            except self._nvml.NVMLError_Timeout:
                continue
            except self._nvml.NVMLError:
                # One lost GPU makes every wait fail at once: register the other GPUs again.
                self._free()
                continue
            key = _Key(
                data.eventType,
                addressof(data.device.contents) if data.device else 0,
                data.eventData if data.eventType == _XID else 0,
                data.gpuInstanceId,
                data.computeInstanceId,
            )
            with self._lock:
                at, count = self._pending.get(key, (time.time(), 0))
                self._pending[key] = at, count + 1
            if key.kind == _ECC_CORRECTED:
                self._stopped.wait(_PAUSE_AFTER_CORRECTED_S)

    def _make_event(self, key: _Key, at: float, count: int) -> SourceEvent:
        gpu = self._gpus.get(key.device)
        what, text = _EVENT_TYPES.get(key.kind, (f"nvml_event_{key.kind:#x}", "event on GPU {gpu}"))
        fields: dict[str, int | str] = {"count": count}
        if key.kind == _XID:
            fields["xid"] = key.data
        if gpu is not None:
            fields |= {"gpu": gpu.index, "uuid": gpu.uuid}
        if key.gpu_instance != _NO_INSTANCE:
            fields |= {"gpu_instance": key.gpu_instance, "compute_instance": key.compute_instance}
        number = "unknown" if gpu is None else str(gpu.index)
        return SourceEvent(
            what, f"gpu:{number}", text.format(data=key.data, gpu=number), fields, at
        )
