"""Hang at the end of a run, or work without output.

It hung if it printed nothing for longer than its longest step, and neither its processes nor its
GPUs worked.  Then a time limit only stopped it, and is not the cause.  If a person stopped the run,
or it is in progress, the verdict reports the hang as a warning.  If GPUs are busy while nothing is
printed, ranks may wait for each other: only the logs of several ranks together show that.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence, claim_of_event
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.phenomena.hangs._activity import (
    cores_used,
    gpu_percent,
    is_working,
)
from gpualert_common.model import Claim

FAMILY = "C3"
_CAUSE = "idle_hang"
_STOPPED = frozenset(("time_limit", "cancelled", "preempted", "killed_unknown"))
"""Causes of a run that a person or a limit stopped because it no longer made progress."""


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield whether the run hung at its end, if the evidence shows it."""
    if not evidence.ended_at:
        return  # a log alone has no times
    last_output_at = evidence.observations.last_output_at
    silence_s = evidence.ended_at - last_output_at
    if silence_s < thresholds.SILENCE_S:
        is_limit = evidence.resolution.cause == "time_limit"
        is_long = evidence.duration_s >= thresholds.SILENCE_S  # else it had no time to hang
        if is_limit or (is_long and not evidence.is_running):
            because = f"it had printed something {silence_s:.0f} s before its end"
            yield Finding(FAMILY, Weight.RULED_OUT, because)
        return
    if not evidence.is_running and evidence.resolution.cause not in _STOPPED:
        return
    cores = cores_used(evidence, last_output_at)
    gpu_load = gpu_percent(evidence, last_output_at)
    if cores is None:
        return
    silent = f"nothing was printed for the last {silence_s:.0f} s"
    if is_working(cores, gpu_load):
        work = f"its processes used {cores:.2f} cores"
        if gpu_load:
            work = f"its GPUs worked {gpu_load:.0f} %"
        yield Finding(FAMILY, Weight.RULED_OUT, f"{silent}, but {work} of that time")
        return
    yield _hang(evidence, silence_s, silent, cores, gpu_load)


def _hang(
    evidence: Evidence, silence_s: float, silent: str, cores: float, gpu_load: float | None
) -> Finding:
    claims = [
        Claim(silent, "log"),
        Claim(f"its processes used {cores:.2f} cores in that time", "processes"),
    ]
    if gpu_load is not None:
        claims.append(Claim(f"its GPUs worked {gpu_load:.1f} % of that time", "nvml"))
    stacks = evidence.events("process_blocked", "process_idle")
    claims += [claim_of_event(one) for one in stacks[-1:]]
    is_limit = evidence.resolution.cause == "time_limit"
    is_unseen = gpu_load is None and not evidence.is_available("nvml")
    unknown = "whether a GPU worked: no source could read its load"
    return Finding(
        FAMILY,
        Weight.DECIDES if is_limit else Weight.WARNS,
        f"{silent} and nothing of it was at work",
        cause=_CAUSE if is_limit else "",
        confidence=0.7 if is_unseen else 0.9 if gpu_load is not None else 0.8,
        cannot_decide=(unknown,) if is_unseen else (),
        over=frozenset(("time_limit",)),
        kind="stood_still",
        claims=tuple(claims),
        details={"silent_s": round(silence_s)},
    )
