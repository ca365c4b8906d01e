"""A straggler: one GPU of the run that is slower than its peers for most of the time.

All GPUs of a synchronous training do the same work, so their clocks are similar, relative to their
maxima.  A GPU whose clock is far below the median of its peers, for most of the time in which all
of them work, delays all others.  Its load does not show that, since the GPUs that wait for it are
busy waiting.  An idle GPU also has a low clock, but is not a straggler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence, parse_index
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.median import median
from gpualert_common.model import Claim

FAMILY = "D3"


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the slowest GPU of the run, if it is far behind the others."""
    highest = {gpu: evidence.series(gpu, "sm_clock_max_mhz").peak for gpu in evidence.gpus}
    of_all = all(highest.values())
    clocks = {gpu: _clocks(evidence, gpu, highest[gpu] if of_all else 1.0) for gpu in highest}
    clocks = {
        gpu: by_sample
        for gpu, by_sample in clocks.items()
        if len(by_sample) >= thresholds.LEAST_CLOCKS
    }
    if len(clocks) < thresholds.LEAST_GPUS:
        return
    behind = {gpu: _behind(gpu, clocks) for gpu in clocks}
    slowest = min(behind, key=lambda gpu: median(behind[gpu]) if behind[gpu] else 1.0)
    ratios = behind[slowest]
    if len(ratios) < thresholds.LEAST_CLOCKS:
        return
    far = [ratio for ratio in ratios if ratio < thresholds.STRAGGLER_RATIO]
    if len(far) < thresholds.STRAGGLER_SHARE * len(ratios):
        yield Finding(FAMILY, Weight.RULED_OUT, "the clocks of its GPUs are similar")
        return
    percent = round(100 * median(far))
    because = f"GPU {parse_index(slowest)} ran at {percent} % of its peers' clock"
    yield Finding(
        FAMILY,
        Weight.DECIDES if evidence.is_completed else Weight.WARNS,
        because,
        cause="straggler" if evidence.is_completed else "",
        confidence=0.8,
        over=frozenset(("none",)),
        kind="straggler",
        claims=(Claim(because, "nvml"),),
        details={"gpu": int(parse_index(slowest)), "percent": percent},
    )


def _clocks(evidence: Evidence, gpu: str, highest: float) -> dict[float, float]:
    """Return the clock relative to its maximum, by the time of the sample, while the GPU worked."""
    clock = evidence.series(gpu, "sm_clock_mhz")
    load = evidence.series(gpu, "utilization_percent")
    busy = dict(zip(load.at, load.value, strict=True))
    return {
        at: mhz / highest
        for at, mhz in zip(clock.at, clock.value, strict=True)
        if busy.get(at, 100.0) >= thresholds.STARVED_GPU_PERCENT
    }


def _behind(gpu: str, clocks: Mapping[str, Mapping[float, float]]) -> list[float]:
    """Return the clock relative to the median of the peers, for samples at which enough worked."""
    ratios = []
    for at, own in clocks[gpu].items():
        peers = [
            by_sample[at] for other, by_sample in clocks.items() if other != gpu and at in by_sample
        ]
        if len(peers) >= thresholds.LEAST_GPUS - 1 and (usual := median(peers)) > 0:
            ratios.append(own / usual)
    return ratios
