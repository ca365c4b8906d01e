"""D1 and D2: what kept a run that ended well from being fast.

A debugging variable that makes every kernel wait is exact.  Settings that take a way between ranks
out of use, and that no earlier run of the command had, are the cause where it was slower than
those; else they are told as what they are.  A GPU that hardly worked while the run held its memory
is under-used; a milder case is told where the run was slower than earlier ones and its GPUs worked
less than in those.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.compared import Slower, cost, new_settings, slower
from gpualert_common.diagnose.evidence import Evidence, number, seen
from gpualert_common.diagnose.finding import Finding, Weight

_NONE = frozenset(("none",))
_TRUE = ("1", "true", "yes", "on")
_SLOW_WAYS = ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE")
_SLOW_CHOICES = {"NCCL_NET=Socket", "NCCL_P2P_LEVEL=LOC", "NCCL_P2P_LEVEL=0", "NCCL_NVLS_ENABLE=0"}


def judge(evidence: Evidence) -> Iterator[Finding]:
    """What of the settings or of the load of its GPUs speaks for a slow run."""
    if not evidence.completed or not evidence.gpus:
        return
    given = evidence.facts_of("environment").get("variables", {})
    slow = slower(evidence)
    slow = slow if slow is not None and slow.alike else None
    yield from _launch_blocking(evidence, given, slow)
    yield from _slow_ways(evidence, given, slow)
    yield from _under_use(evidence, slow)


def _launch_blocking(
    evidence: Evidence, given: Mapping[str, str], slow: Slower | None
) -> Iterator[Finding]:
    blocking = given.get("CUDA_LAUNCH_BLOCKING", "")
    if blocking.lower() in _TRUE:
        setting = f"CUDA_LAUNCH_BLOCKING={blocking}"
        yield Finding(
            "D2",
            Weight.DECIDES,
            f"{setting} was set",
            cause="launch_blocking",
            confidence=0.97,
            over=_NONE,
            claims=(seen(f"{setting} was set for the run", "environment"), *cost(evidence, slow)),
            details={"setting": setting},
        )


def _slow_ways(
    evidence: Evidence, given: Mapping[str, str], slow: Slower | None
) -> Iterator[Finding]:
    ways = [
        f"{name}={value}"
        for name, value in sorted(given.items())
        if (name in _SLOW_WAYS and value.lower() in _TRUE) or f"{name}={value}" in _SLOW_CHOICES
    ]
    world = given.get("WORLD_SIZE", "")
    several = len(evidence.gpus) > 1 or (world.isdecimal() and world.lstrip("0") not in ("", "1"))
    if not ways or not several:
        return
    said = f"{', '.join(ways)} takes a way between the GPUs out of use"
    new = set(new_settings(evidence)) & set(ways)
    if slow is None or not new:
        yield Finding("D2", Weight.WARNS, said, kind="slow_interconnect")
        return
    setting = ", ".join(sorted(new))
    yield Finding(
        "D2",
        Weight.DECIDES,
        f"{setting} was not set for the earlier runs, and {slow.said}",
        cause="slow_interconnect",
        confidence=0.85,
        over=_NONE,
        claims=(
            seen(f"{setting} was set, and for no earlier run", "environment"),
            *cost(evidence, slow),
        ),
        details={"setting": setting, "times_slower": round(slow.ratio, 1)},
    )


def _under_use(evidence: Evidence, slow: Slower | None) -> Iterator[Finding]:
    loads = {gpu: evidence.load_of(gpu) for gpu in evidence.gpus}
    known = {gpu: load for gpu, load in loads.items() if load is not None}
    if len(known) < len(loads):
        return
    busiest = max(known, key=lambda gpu: known[gpu])
    percent = known[busiest]
    usual = None if slow is None else slow.usual.gpu_percent
    starved = percent < thresholds.STARVED_GPU_PERCENT
    less = usual is not None and percent < min(usual.low, thresholds.LOAD_OF_BEFORE * usual.median)
    if not starved and not less:
        yield Finding("D1", Weight.RULED_OUT, f"GPU {number(busiest)} worked {percent:.0f} %")
        return
    said = f"no GPU of the run worked more than {percent:.0f} % of the time"
    details: dict[str, Scalar] = {"gpu_percent": round(percent)}
    if usual is not None and less:
        said += f"; in earlier runs {usual.median:.0f} %"
        details["usual_gpu_percent"] = round(usual.median)
    waits_for = _waits_for(evidence)
    if waits_for:
        details["waits_for"] = waits_for
    yield Finding(
        "D1",
        Weight.DECIDES,
        said,
        cause="under_utilization",
        confidence=0.8,
        over=_NONE,
        claims=(seen(said, "nvml"), *cost(evidence, slow)),
        details=details,
    )


def _waits_for(evidence: Evidence) -> str:
    """ "storage" or "cpu" where it is clear what the GPUs waited for, else ""."""
    stalled = evidence.series("host", "io_full_percent")
    if stalled and sum(stalled.value) / len(stalled.value) >= thresholds.WAITING_PERCENT:
        return "storage"
    cpu = evidence.series("host:tree", "cpu_seconds_total")
    if len(cpu.at) > 1 and cpu.rise / (cpu.at[-1] - cpu.at[0]) >= thresholds.BUSY_CORES:
        return "cpu"
    return ""
