"""Values of a GPU: the name of each, and its queries in all versions of NVML, newest first.

The numbers of fields are those of NVIDIA's header nvml.h.  They do not change between versions,
with one exception that is described below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gpualert_common.structs import Struct

ALL_LINKS = 0xFFFFFFFF
"""The scope of a field that is the sum over all NVLinks."""


class Field(Struct, frozen=True):
    """A value by its number; one call reads all fields of a GPU.

    Several scopes (NVLinks) are added up.  ``is_64_bit`` is for 64-bit counters only: a value of
    another type is a different field, to which this driver assigns the number.
    """

    id: int
    scopes: tuple[int, ...] = (0,)
    is_64_bit: bool = False


Call = Callable[[Any, Any], float | Mapping[str, float]]
"""Requests one value of a device, or several with their names.  Raises NVMLError."""

_SEVERE_REASONS = {
    0x08: "hw_slowdown",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
}
"""Reasons for low clocks that no healthy GPU has, by their bits.  Each is also a value of 0 or 1:
the mean of a mask over many samples is meaningless, that of a bit is a share of the time."""

Query = Field | Call
Queries = Mapping[str, tuple[Query, ...]]


def _read_memory(nvml: Any, device: Any) -> dict[str, float]:
    memory = nvml.nvmlDeviceGetMemoryInfo(device, nvml.nvmlMemory_v2)
    return {**_make_memory_values(memory), "memory_reserved_bytes": memory.reserved}


def _read_memory_v1(nvml: Any, device: Any) -> dict[str, float]:
    return _make_memory_values(nvml.nvmlDeviceGetMemoryInfo(device))


def _make_memory_values(memory: Any) -> dict[str, float]:
    return {
        "memory_used_bytes": memory.used,
        "memory_free_bytes": memory.free,
        "memory_total_bytes": memory.total,
    }


def _read_utilization(nvml: Any, device: Any) -> dict[str, float]:
    rates = nvml.nvmlDeviceGetUtilizationRates(device)
    return {"utilization_percent": rates.gpu, "memory_utilization_percent": rates.memory}


def _decode_clock_reasons(mask: int) -> dict[str, float]:
    found: dict[str, float] = {"clock_event_reasons_mask": mask}
    return found | {name: int(bool(mask & bit)) for bit, name in _SEVERE_REASONS.items()}


def _group_by_pid(processes: list[Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for process in processes:  # a process on two MIG devices appears twice
        used = math.nan if process.usedGpuMemory is None else process.usedGpuMemory
        found[str(process.pid)] = found.get(str(process.pid), 0) + used
    return found


def _query_ecc(kind: int) -> Call:
    return lambda nvml, device: nvml.nvmlDeviceGetTotalEccErrors(
        device, kind, nvml.NVML_VOLATILE_ECC
    )


def _query_remapped_rows(index: int) -> Call:
    return lambda nvml, device: nvml.nvmlDeviceGetRemappedRows(device)[index]


def _query_violation_ns(policy: int) -> Call:
    return lambda nvml, device: nvml.nvmlDeviceGetViolationStatus(device, policy).violationTime


MEMORY: Queries = {"memory": (_read_memory, _read_memory_v1)}

PROCESSES: Queries = {
    "processes": (
        lambda nvml, device: _group_by_pid(nvml.nvmlDeviceGetComputeRunningProcesses_v3(device)),
        lambda nvml, device: _group_by_pid(nvml.nvmlDeviceGetComputeRunningProcesses_v2(device)),
    )
}
"""Bytes by pid; NaN where NVML does not know them."""

_STATE: Queries = {
    "utilization": (_read_utilization,),
    "sm_clock_mhz": (lambda nvml, device: nvml.nvmlDeviceGetClockInfo(device, nvml.NVML_CLOCK_SM),),
    "sm_clock_max_mhz": (
        lambda nvml, device: nvml.nvmlDeviceGetMaxClockInfo(device, nvml.NVML_CLOCK_SM),
    ),
    "memory_clock_mhz": (
        lambda nvml, device: nvml.nvmlDeviceGetClockInfo(device, nvml.NVML_CLOCK_MEM),
    ),
    "memory_clock_max_mhz": (
        lambda nvml, device: nvml.nvmlDeviceGetMaxClockInfo(device, nvml.NVML_CLOCK_MEM),
    ),
    "clock_event_reasons": (
        lambda nvml, device: _decode_clock_reasons(
            nvml.nvmlDeviceGetCurrentClocksEventReasons(device)
        ),
        lambda nvml, device: _decode_clock_reasons(
            nvml.nvmlDeviceGetCurrentClocksThrottleReasons(device)
        ),
    ),
    "temperature_celsius": (
        lambda nvml, device: nvml.nvmlDeviceGetTemperatureV(device, nvml.NVML_TEMPERATURE_GPU),
        lambda nvml, device: nvml.nvmlDeviceGetTemperature(device, nvml.NVML_TEMPERATURE_GPU),
    ),
    "memory_temperature_celsius": (Field(82),),
    "power_watts": (lambda nvml, device: nvml.nvmlDeviceGetPowerUsage(device) / 1000,),
    "power_limit_watts": (
        lambda nvml, device: nvml.nvmlDeviceGetEnforcedPowerLimit(device) / 1000,
    ),
    "recovery_action": (Field(230),),
}

# The three slowdowns below came with driver 575 as 251 to 253, and moved with 580 to 269 to 271
# (NVML's change log); 580.65 has them at the old index yet (NVIDIA/k8s-test-infra, mocknvml).
# The numbers that they do not have belong to settings of power smoothing, which are no counters.
_THROTTLED: Queries = {
    "throttled_power_ns_total": (Field(74), _query_violation_ns(0)),
    "throttled_thermal_ns_total": (Field(75), _query_violation_ns(1)),
    "throttled_sw_thermal_ns_total": (Field(269, is_64_bit=True), Field(251, is_64_bit=True)),
    "throttled_hw_thermal_ns_total": (Field(270, is_64_bit=True), Field(252, is_64_bit=True)),
    "throttled_hw_power_brake_ns_total": (Field(271, is_64_bit=True), Field(253, is_64_bit=True)),
}

_FAULTS: Queries = {
    "ecc_corrected_total": (Field(3), _query_ecc(0)),
    "ecc_uncorrected_total": (Field(4), _query_ecc(1)),
    "remapped_rows_corrected_total": (Field(142), _query_remapped_rows(0)),
    "remapped_rows_uncorrected_total": (Field(143), _query_remapped_rows(1)),
    "remapped_rows_pending": (Field(144), _query_remapped_rows(2)),
    "remapped_rows_failed": (Field(145), _query_remapped_rows(3)),
    "retired_pages_corrected_total": (Field(29),),
    "retired_pages_uncorrected_total": (Field(30),),
    "retired_pages_pending": (Field(31),),
    "pcie_replays_total": (
        Field(94),
        lambda nvml, device: nvml.nvmlDeviceGetPcieReplayCounter(device),
    ),
    "pcie_nonfatal_errors_total": (Field(179),),
    "pcie_fatal_errors_total": (Field(180),),
}


def list_queries(links: int) -> Queries:
    """Return the queries of a GPU with that many NVLinks, except for its processes and activity."""
    each = tuple(range(links))
    # Sums up to NVLink 3, each link by itself on Hopper, other counters from NVLink 5 on.
    nvlink: Queries = {
        "nvlink_crc_errors_total": (Field(38), Field(163, each)),
        "nvlink_replays_total": (Field(52), Field(161, each)),
        "nvlink_recoveries_total": (Field(59), Field(162, each), Field(215, (ALL_LINKS,))),
        "nvlink_failed_recoveries_total": (Field(214, (ALL_LINKS,)),),
        "nvlink_receive_errors_total": (Field(208, (ALL_LINKS,)),),
    }
    return {**MEMORY, **_STATE, **_THROTTLED, **_FAULTS, **(nvlink if links else {})}
