"""The reason why a successful run was slow.

A debugging variable that makes the program wait for every kernel is a certain cause.  Settings that
disable a path between ranks are the cause if no earlier run of the command had them and the run was
slower than those; otherwise they are a warning.  A GPU that hardly worked while the run held its
memory is under-used; so is a GPU that worked less than in earlier runs, if those were faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence, parse_index
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.regression import Comparison, Slowdown
from gpualert_common.model import Claim

_NONE = frozenset(("none",))
_TRUE = ("1", "true", "yes", "on")
_PATHS = ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE")
_SLOW_PATHS = {"NCCL_NET=Socket", "NCCL_P2P_LEVEL=LOC", "NCCL_P2P_LEVEL=0", "NCCL_NVLS_ENABLE=0"}


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the settings, or the load of the GPUs, that make a run slow."""
    if not evidence.is_completed or not evidence.gpus:
        return
    given = evidence.environment
    comparison = Comparison(evidence)
    slow = comparison.slowdown
    slow = slow if slow is not None and slow.is_comparable else None
    yield from _launch_blocking(given, comparison, slow)
    yield from _disabled_paths(evidence, given, comparison, slow)
    yield from _under_use(evidence, comparison, slow)


def _launch_blocking(
    given: Mapping[str, str], comparison: Comparison, slow: Slowdown | None
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
            claims=(
                Claim(f"{setting} was set for the run", "environment"),
                *comparison.claims_about(slow),
            ),
            details={"setting": setting},
        )


def _disabled_paths(
    evidence: Evidence, given: Mapping[str, str], comparison: Comparison, slow: Slowdown | None
) -> Iterator[Finding]:
    paths = [
        f"{name}={value}"
        for name, value in sorted(given.items())
        if (name in _PATHS and value.lower() in _TRUE) or f"{name}={value}" in _SLOW_PATHS
    ]
    world = given.get("WORLD_SIZE", "")
    several = len(evidence.gpus) > 1 or (world.isdecimal() and world.lstrip("0") not in ("", "1"))
    if not paths or not several:
        return
    text = f"{', '.join(paths)} disables a path between the GPUs"
    new = set(comparison.new_settings) & set(paths)
    if slow is None or not new:
        yield Finding("D2", Weight.WARNS, text, kind="slow_interconnect")
        return
    setting = ", ".join(sorted(new))
    yield Finding(
        "D2",
        Weight.DECIDES,
        f"{setting} was not set for the earlier runs, and {slow.text}",
        cause="slow_interconnect",
        confidence=0.85,
        over=_NONE,
        claims=(
            Claim(f"{setting} was set, but for no earlier run", "environment"),
            *comparison.claims_about(slow),
        ),
        details={"setting": setting, "times_slower": round(slow.ratio, 1)},
    )


def _under_use(
    evidence: Evidence, comparison: Comparison, slow: Slowdown | None
) -> Iterator[Finding]:
    loads = {gpu: evidence.gpu_load(gpu) for gpu in evidence.gpus}
    known = {gpu: load for gpu, load in loads.items() if load is not None}
    if len(known) < len(loads):
        return
    busiest = max(known, key=lambda gpu: known[gpu])
    percent = known[busiest]
    usual = None if slow is None else slow.usual.gpu_percent
    starved = percent < thresholds.STARVED_GPU_PERCENT
    less = usual is not None and percent < min(usual.low, thresholds.LOAD_OF_BEFORE * usual.median)
    if not starved and not less:
        yield Finding("D1", Weight.RULED_OUT, f"GPU {parse_index(busiest)} worked {percent:.0f} %")
        return
    text = f"no GPU of the run worked more than {percent:.0f} % of the time"
    details: dict[str, Scalar] = {"gpu_percent": round(percent)}
    if usual is not None and less:
        text += f"; in earlier runs {usual.median:.0f} %"
        details["usual_gpu_percent"] = round(usual.median)
    waits_for = _waits_for(evidence)
    if waits_for:
        details["waits_for"] = waits_for
    yield Finding(
        "D1",
        Weight.DECIDES,
        text,
        cause="under_utilization",
        confidence=0.8,
        over=_NONE,
        claims=(Claim(text, "nvml"), *comparison.claims_about(slow)),
        details=details,
    )


def _waits_for(evidence: Evidence) -> str:
    """Return the reason of the GPUs' wait: "storage" or "cpu"; "" if it is not clear."""
    stalled = evidence.series("host", "io_full_percent")
    if stalled and sum(stalled.value) / len(stalled.value) >= thresholds.WAITING_PERCENT:
        return "storage"
    cpu = evidence.series("host:tree", "cpu_seconds_total")
    if len(cpu.at) > 1 and cpu.rise / (cpu.at[-1] - cpu.at[0]) >= thresholds.BUSY_CORES:
        return "cpu"
    return ""
