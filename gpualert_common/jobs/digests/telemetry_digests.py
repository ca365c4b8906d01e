"""The resources of a node in its digest."""

from __future__ import annotations

import math

from gpualert_common.jobs.digests.digest import TelemetryDigest
from gpualert_common.jobs.digests.rank_digests import RECENT_S
from gpualert_common.jobs.digests.wait_digests import count_stack_samples
from gpualert_common.telemetry.series import Telemetry

_WORKING_PERCENT = 50.0
"""Load from which on a low clock of a GPU costs time."""


def collect_telemetry(telemetry: Telemetry, now: float) -> TelemetryDigest | None:
    """Return the resources that the run used in the last minutes."""
    gpus = [name for name in telemetry.list_entities("gpu") if "/" not in name]
    loads = _measure(telemetry, gpus, "utilization_percent", now)
    tree = telemetry.series("host:tree", "cpu_seconds_total").since(now - RECENT_S)
    spent_s = tree.at[-1] - tree.at[0] if len(tree.at) > 1 else 0.0
    host = _measure(telemetry, ["host:tree"], "rss_bytes", now)
    if not gpus and not host:
        return None
    return TelemetryDigest(
        gpus=len(gpus),
        gpu_percent=sum(loads) / len(loads) if loads else None,
        gpu_bytes=sum(_measure(telemetry, gpus, "memory_used_bytes", now)) or None,
        gpu_total_bytes=sum(_measure(telemetry, gpus, "memory_total_bytes", now)) or None,
        clock_ratio=min(
            filter(None, (_measure_clock(telemetry, gpu, now) for gpu in gpus)), default=None
        ),
        host_bytes=host[0] if host else None,
        cpu_cores=round(tree.rise / spent_s, 3) if spent_s > 0 else None,
        stack_samples=count_stack_samples(telemetry, now),
    )


def _measure(telemetry: Telemetry, entities: list[str], name: str, now: float) -> list[float]:
    """Return the mean of a number in the last minutes, of each entity that has it."""
    found = (telemetry.series(entity, name).since(now - RECENT_S).value for entity in entities)
    means = [sum(values) / len(values) for values in found if values]
    return [float(f"{mean:.6g}") for mean in means if math.isfinite(mean)]


def _measure_clock(telemetry: Telemetry, gpu: str, now: float) -> float | None:
    """Return the mean clock of a GPU while it worked, relative to its maximum."""
    since = now - RECENT_S
    load = telemetry.series(gpu, "utilization_percent").since(since)
    working = {
        at for at, value in zip(load.at, load.value, strict=True) if value >= _WORKING_PERCENT
    }
    highest = telemetry.series(gpu, "sm_clock_max_mhz").last
    clock = telemetry.series(gpu, "sm_clock_mhz").since(since)
    found = [value for at, value in zip(clock.at, clock.value, strict=True) if at in working]
    return round(sum(found) / len(found) / highest, 3) if found and highest > 0 else None
