"""Hang at the end of a run, or work without output.

It hung if it printed nothing for longer than its longest step, and neither its processes nor its
GPUs worked.  Then a time limit only stopped it, and is not the cause.  If a person stopped the run,
or it is in progress, the verdict reports the hang as a warning.

The stacks of its processes, taken in that time, name the reason: the rank that the others wait
for, and on what it waits itself.  If two dumps show the same, and that process used no processor in
between or computed at one place, it counts as a hang also where processors and GPUs are busy, since
ranks that wait keep them busy.  A process that was elsewhere in an earlier dump does not hang.
Where the ranks wait for each other, or for one that is gone, the cause is the collective operation;
where they wait for others to join, it is the rendezvous.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence, claim_of_event
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.diagnose.phenomena.hangs._activity import (
    cores_used,
    gpu_percent,
    is_working,
)
from gpualert_common.model import Claim
from gpualert_common.stacks.reasons import HangExplanation, HangReason

FAMILY = "C3"
_CAUSE = "idle_hang"
_COLLECTIVE = "collective"
_STOPPED = frozenset(("time_limit", "cancelled", "preempted", "killed_unknown", "idle_hang"))
"""Causes of a run that a person or a limit stopped because it no longer made progress."""
_HUNG = frozenset(("time_limit", _CAUSE))
_LIMITS = _HUNG | {_COLLECTIVE}
"""Causes of a run that a limit, or the watchdog of its framework, ended."""
_AMONG_RANKS = {
    HangReason.PEERS: ("C2", _COLLECTIVE),
    HangReason.MISMATCH: ("C2", _COLLECTIVE),
    HangReason.MISSING_RANK: ("C2", _COLLECTIVE),
    HangReason.RENDEZVOUS: ("C1", "rendezvous"),
}
"""Family and cause of the reasons that no process of this machine explains alone."""
_NO_HANG = frozenset((HangReason.COMPUTATION, HangReason.UNKNOWN))
"""Reasons that say nothing against the work of processors and GPUs."""
_NEED_IDLENESS = frozenset((HangReason.PEERS, HangReason.RENDEZVOUS))
"""Reasons that a run at work shows, too: its ranks are often all in one operation."""
_LASTING = frozenset((HangReason.STOPPED, HangReason.DEBUGGER))
"""Reasons that do not pass by themselves."""


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield whether the run hung at its end, if the evidence shows it."""
    if not evidence.ended_at:
        return  # a log alone has no times
    silence_s, cause = evidence.silence_s, evidence.resolution.cause
    hang = evidence.hang
    if silence_s < thresholds.SILENCE_S and evidence.facts.limit != "hang":
        is_long = evidence.duration_s >= thresholds.SILENCE_S  # else it had no time to hang
        if cause == "time_limit" or (is_long and not evidence.is_running):
            because = f"it had printed something {silence_s:.0f} s before its end"
            yield Finding(FAMILY, Weight.RULED_OUT, because)
        return
    may_explain = cause in _STOPPED or (cause == _COLLECTIVE and hang is not None)
    if not evidence.is_running and not may_explain:
        return
    silent = f"nothing was printed for the last {silence_s:.0f} s"
    if hang is not None and hang.is_moving:
        moves = f"{hang.text}, and it was elsewhere in the dump before"
        yield Finding(FAMILY, Weight.RULED_OUT, f"{silent}, but it was at work: {moves}")
        return
    last_output_at = evidence.observations.last_output_at
    cores = cores_used(evidence, last_output_at)
    gpu_load = gpu_percent(evidence, last_output_at)
    if hang is not None and _is_certain(hang, silence_s):
        yield _explain(evidence, hang, silent, confidence=0.95)
    elif cores is None:
        if hang is not None and evidence.facts.limit == "hang" and hang.is_confirmed:
            yield _explain_unsampled(evidence, hang, silent, gpu_load)
    elif is_working(cores, gpu_load):
        work = f"its processes used {cores:.2f} cores"
        if gpu_load:
            work = f"its GPUs worked {gpu_load:.0f} %"
        place = "" if hang is None else f"; {hang.text}"
        yield Finding(FAMILY, Weight.RULED_OUT, f"{silent}, but {work} of that time{place}")
    elif hang is not None and hang.reason not in _NO_HANG:
        idle = Claim(f"its processes used {cores:.2f} cores in that time", "processes")
        yield _explain(evidence, hang, silent, idle, confidence=0.92)
    else:
        yield _hang(evidence, silent, cores, gpu_load)


def _is_certain(hang: HangExplanation, silence_s: float) -> bool:
    """Return whether the stacks show a hang, also of a run that keeps processors and GPUs busy.

    One dump also shows waits that pass, and ranks that communicate a lot are often all in one
    operation.  An evaluation, too, may compute at one line for minutes.
    """
    if hang.reason is HangReason.LOOP and silence_s < thresholds.LONG_SILENCE_S:
        return False
    is_shown_at_work = hang.reason in _NO_HANG | _NEED_IDLENESS
    return hang.reason in _LASTING or (hang.is_confirmed and not is_shown_at_work)


def _explain_unsampled(
    evidence: Evidence, hang: HangExplanation, silent: str, gpu_load: float | None
) -> Finding:
    """Return the finding of a run that was ended as hung before samples show whether it worked."""
    if hang.reason in _NO_HANG:
        return _hang(evidence, silent, None, gpu_load)
    return _explain(evidence, hang, silent, confidence=0.9)


def _explain(
    evidence: Evidence, hang: HangExplanation, silent: str, *more: Claim, confidence: float
) -> Finding:
    """Return the finding of a hang whose reason the stacks show."""
    family, cause = _AMONG_RANKS.get(hang.reason, (FAMILY, _CAUSE))
    is_limit = evidence.resolution.cause in _LIMITS
    details: dict[str, Scalar] = {
        "silent_s": round(evidence.silence_s),
        "hang": hang.text,
        "hang_reason": str(hang.reason),
    }
    if hang.place:
        details["hang_place"] = hang.place
    if hang.rank is not None:
        details["hang_rank"] = hang.rank
    return Finding(
        family,
        Weight.DECIDES if is_limit else Weight.WARNS,
        f"{silent}: {hang.text}",
        cause=cause if is_limit else "",
        confidence=confidence,
        over=_LIMITS,
        kind="stood_still",
        claims=(Claim(silent, "log"), Claim(hang.text, "stacks", rank=hang.rank), *more),
        details=details,
    )


def _hang(evidence: Evidence, silent: str, cores: float | None, gpu_load: float | None) -> Finding:
    """Return the finding of a hang without a known reason."""
    claims = [Claim(silent, "log")]
    if cores is not None:
        claims.append(Claim(f"its processes used {cores:.2f} cores in that time", "processes"))
    if gpu_load is not None:
        claims.append(Claim(f"its GPUs worked {gpu_load:.1f} % of that time", "nvml"))
    if evidence.hang is not None:
        claims.append(Claim(evidence.hang.text, "stacks"))
    waits = evidence.events("process_blocked", "process_idle")
    claims += [claim_of_event(one) for one in waits[-1:]]
    is_limit = evidence.resolution.cause in _HUNG
    is_unseen = gpu_load is None and not evidence.is_available("nvml")
    unknown = ["whether a GPU worked: no source could read its load"] if is_unseen else []
    unknown += [
        f"where its processes stand: {dump.problem} ({dump.remedy})"
        for dump in evidence.observations.stacks[-1:]
        if dump.problem
    ]
    return Finding(
        FAMILY,
        Weight.DECIDES if is_limit else Weight.WARNS,
        f"{silent} and nothing of it was at work",
        cause=_CAUSE if is_limit else "",
        confidence=0.7 if is_unseen else 0.9 if gpu_load is not None else 0.8,
        cannot_decide=tuple(unknown),
        over=_HUNG,
        kind="stood_still",
        claims=tuple(claims),
        details={"silent_s": round(evidence.silence_s)},
    )
