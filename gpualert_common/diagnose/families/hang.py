"""C3 and F3: did the run stand still, or was it at work when it ended?

It stood still when it had printed nothing for longer than its steps ever took, its processes used
no processor and its GPUs did nothing.  Then a time limit is only what ended it; without one the
verdict says so of a run that somebody stopped, and of one that still goes on.  Where GPUs stay busy
while nothing is printed, ranks may wait for each other: that takes several ranks to decide.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence, claim, seen
from gpualert_common.diagnose.finding import Finding, Weight

FAMILY = "C3"
_CAUSE = "idle_hang"
_STOPPED = frozenset(("time_limit", "cancelled", "preempted", "killed_unknown"))
"""How a run ends that somebody lost patience with."""


def judge(evidence: Evidence) -> Iterator[Finding]:
    """Whether the run stood still at its end, where that can be told."""
    if not evidence.goes_on and evidence.resolution.cause not in _STOPPED:
        return
    if not evidence.ended_at:
        return  # of a log alone nobody knows when it was written
    silence_s = evidence.ended_at - evidence.observed.last_output_at
    if silence_s < thresholds.SILENCE_S:
        if evidence.resolution.cause == "time_limit":
            said = f"it had printed something {silence_s:.0f} s before its end"
            yield Finding(FAMILY, Weight.RULED_OUT, said)
        return
    begins_at = evidence.observed.last_output_at
    cores = cores_used(evidence, begins_at)
    busy = gpu_percent(evidence, begins_at)
    if cores is None:
        return
    silent = f"nothing was printed for the last {silence_s:.0f} s"
    if cores >= thresholds.IDLE_CPU or (busy or 0.0) >= thresholds.IDLE_GPU_PERCENT:
        at_work = (
            f"its GPUs worked {busy:.0f} %" if busy else f"its processes used {cores:.2f} cores"
        )
        yield Finding(FAMILY, Weight.RULED_OUT, f"{silent}, but {at_work} of that time")
        return
    used = seen(f"its processes used {cores:.2f} cores meanwhile", "processes")
    claims = [seen(silent, "log"), used]
    if busy is not None:
        claims.append(seen(f"its GPUs worked {busy:.1f} % of that time", "nvml"))
    claims += [claim(one) for one in evidence.happened("process_blocked", "process_idle")[-1:]]
    limited = evidence.resolution.cause == "time_limit"
    unseen = busy is None and not evidence.can_see("nvml")
    yield Finding(
        FAMILY,
        Weight.DECIDES if limited else Weight.WARNS,
        f"{silent} and nothing of it was at work",
        cause=_CAUSE if limited else "",
        confidence=0.7 if unseen else 0.9 if busy is not None else 0.8,
        cannot_decide=("whether a GPU was at work: none could be seen",) if unseen else (),
        over=frozenset(("time_limit",)),
        kind="stood_still",
        claims=tuple(claims),
        details={"silent_s": round(silence_s)},
    )


def cores_used(evidence: Evidence, since: float) -> float | None:
    """How many cores the run used from then on; None where nobody looked for long enough."""
    cpu = evidence.series("host:tree", "cpu_seconds_total").since(since)
    if len(cpu.at) < 2 or (passed_s := cpu.at[-1] - cpu.at[0]) < thresholds.SILENCE_S / 2:
        return None
    return cpu.rise / passed_s


def gpu_percent(evidence: Evidence, since: float) -> float | None:
    """How much the busiest GPU of the run worked from then on; None where none was seen."""
    found = [evidence.series(gpu, "utilization_percent").since(since) for gpu in evidence.gpus]
    means = [sum(one.value) / len(one.value) for one in found if one]
    return max(means, default=None)
