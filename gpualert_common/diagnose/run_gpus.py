"""The processes and the GPUs of a run, by its telemetry: NVML samples all GPUs of the machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpualert_common.diagnose import thresholds
from gpualert_common.telemetry.series import Telemetry


def list_pids(telemetry: Telemetry, leader: int | None) -> frozenset[int]:
    """Return the known processes of the run."""
    found = {leader} if leader is not None else set()
    for event in telemetry.find_events("processes_seen"):
        pids = event.fields.get("pids")
        for some in pids.values() if isinstance(pids, dict) else ():
            listed = some if isinstance(some, list) else ()
            found |= {pid for pid in listed if isinstance(pid, int)}
    return frozenset(found)


def list_gpus(telemetry: Telemetry, pids: frozenset[int]) -> tuple[str, ...]:
    """Return the GPUs on which these processes held memory.

    In most containers NVML shows no process.  Then these are all GPUs with memory in use,
    restricted to those that were visible to the run, where that is known.
    """
    entities = telemetry.list_entities("gpu")
    every = [of for of in entities if "/" not in of]
    holders = [of for of in entities if "/pid:" in of]
    if not holders:
        used = tuple(of for of in every if _is_used(telemetry, of))
        visible = find_visible_gpus(telemetry)
        return tuple(of for of in used if of in visible) or used
    own = {
        of.partition("/")[0]
        for of in holders
        if int(of.rpartition(":")[2]) in pids and _is_used(telemetry, of)
    }
    return tuple(of for of in every if of in own)


def find_visible_gpus(telemetry: Telemetry) -> frozenset[str]:
    """Return the GPUs that the run was given by index; none where that is not known."""
    given = read_environment(telemetry).get("CUDA_VISIBLE_DEVICES", "")
    return frozenset(f"gpu:{one.strip()}" for one in str(given).split(","))


def read_environment(telemetry: Telemetry) -> Mapping[str, Any]:
    """Return the recorded environment variables of the run."""
    variables: Mapping[str, Any] = read_facts(telemetry, "environment").get("variables", {})
    return variables


def read_facts(telemetry: Telemetry, source: str) -> Mapping[str, Any]:
    """Return the constant facts of a source; none for one that is not available."""
    found = telemetry.sources.get(source)
    return found.facts if found is not None and found.available else {}


def _is_used(telemetry: Telemetry, of: str) -> bool:
    return telemetry.series(of, "memory_used_bytes").peak >= thresholds.GPU_USED_MIB * 2**20
