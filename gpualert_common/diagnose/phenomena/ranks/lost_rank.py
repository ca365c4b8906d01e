"""The rank that the others lost: it ended before them, or closed its connections without an error.

The ends of the ranks on this machine, with their times and exit statuses, show which one was first.
A rank that reported a lost peer was only the first to notice, and one that aborted reported why.
Then it is the only rank without such a report, if all ranks of the job are here.  If a signal ended
the lost rank, that is the cause, whatever the others reported.  If its status was 0, or if only the
launcher stopped it, it left while the others still waited for it: an error of the program.  If it
failed with another status, or if its status is not known, the verdict names the rank.

This counts only where the log knows nothing better than lost peers, a kill, a crash or a hang:
ranks may end one after the other.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence, claim_of_event
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.model import Claim
from gpualert_common.signal_names import signal_name
from gpualert_common.stacks.reasons import HangReason
from gpualert_common.structs import Struct, replace
from gpualert_common.telemetry.series import TelemetryEvent

FAMILY = "C2"
_CAUSE = "collective"
_KILLED = frozenset(("killed_unknown", "oom_killer", "host_oom", "segfault"))
"""Causes that a signal to one rank may have: it confirms them, and names the rank."""
_HUNG = frozenset(("time_limit", "idle_hang"))
_BY_SIGNAL: dict[int, str] = {
    signal.SIGKILL: "killed_unknown",
    signal.SIGSEGV: "segfault",
    signal.SIGBUS: "segfault",
    signal.SIGILL: "segfault",
    signal.SIGFPE: "segfault",
}
"""Causes that the signal alone names.  SIGABRT follows a message, and SIGTERM comes from others."""


_LEFT = frozenset(("left", "closed"))
"""Kinds of ends without an error."""


class _LostRank(Struct, frozen=True):
    """A rank that the others lost; ``kind`` of its end is "left" for status 0, "closed", "killed",
    "failed" or "unknown".

    ``code`` is its exit status, -n for signal n, None if not known.
    """

    rank: int
    pid: int | None
    code: int | None
    kind: str
    text: str


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the rank that the others lost, if they depended on it."""
    resolution = evidence.resolution
    cause = resolution.cause
    lost = _find_lost_rank(evidence) if evidence.has_failed else None
    if lost is None:
        return
    is_missed = evidence.hang is not None and evidence.hang.reason is HangReason.MISSING_RANK
    is_unexplained = resolution.traceback is None and _CAUSE in dict(resolution.secondary)
    found = _make_finding(evidence, lost)
    if cause == _CAUSE or is_unexplained or (cause in _HUNG and is_missed):
        yield found
    elif cause in _KILLED and lost.kind == "killed":
        yield replace(found, family="A2", weight=Weight.SUPPORTS, cause=cause)


def _make_finding(evidence: Evidence, lost: _LostRank) -> Finding:
    """Return the finding of a rank that the others lost."""
    details: dict[str, Scalar] = {"failed_rank": lost.rank, "rank_end": lost.kind}
    claims = [Claim(lost.text, "processes", rank=lost.rank)]
    kill = _find_memory_kill(evidence, lost)
    cause = _CAUSE if lost.code is None else _BY_SIGNAL.get(-lost.code, _CAUSE)
    confidence = 0.8 if cause == _CAUSE else 0.96
    if kill is not None:
        claims.append(claim_of_event(kill))
        cause, confidence = "oom_killer", 0.98
    if lost.kind == "failed":
        details["rank_code"] = lost.code
    if lost.kind == "killed" and lost.code is not None:
        details["signal_name"] = signal_name(-lost.code)
    decides = cause != _CAUSE or lost.kind in _LEFT
    if not decides:
        cause = evidence.resolution.cause
    return Finding(
        FAMILY if cause == _CAUSE else "A2",
        Weight.DECIDES if decides else Weight.SUPPORTS,
        lost.text,
        cause=cause,
        confidence=confidence,
        over=_HUNG | {_CAUSE, evidence.resolution.cause},
        claims=tuple(claims),
        corrections=details,
    )


def _find_lost_rank(evidence: Evidence) -> _LostRank | None:
    """Return the rank that the others lost; None if that is not clear."""
    ends, ranks = _list_ends(evidence)
    if not ends or len(ranks) < 2:
        return None
    first, *later = ends
    next_at = later[0].at if later else _end_of(evidence)
    reporting = _find_reporting_ranks(evidence)
    lost = _make_lost_rank(first, f"{next_at - first.at:.1f} s before the next rank")
    if next_at - first.at >= thresholds.LEAST_LEAD_S and lost.rank not in reporting:
        return None if lost.code == -signal.SIGABRT else lost
    sizes = {event.fields.get("world_size") for event in evidence.events("rank_process")}
    silent = [event for event in ends if _rank_of(event) not in reporting]
    if len(silent) != 1 or len(reporting & ranks) != len(ranks) - 1 or len(ranks) not in sizes:
        return None
    lost = _make_lost_rank(silent[0], "and is the only rank that did not report a lost peer")
    return replace(lost, kind="closed") if lost.code == -signal.SIGTERM else lost


def _list_ends(evidence: Evidence) -> tuple[list[TelemetryEvent], set[int]]:
    """Return the ends of the newest processes of the ranks, in their order, and all ranks."""
    newest = {
        event.of: event.fields.get("pid")
        for event in evidence.events("rank_process")
        if event.of.startswith("rank:")
    }
    ends = [
        event
        for event in evidence.events("rank_ended")
        if event.at <= _end_of(evidence) and newest.get(event.of) == event.fields.get("pid")
    ]
    return sorted(ends, key=lambda event: event.at), {int(of.partition(":")[2]) for of in newest}


def _end_of(evidence: Evidence) -> float:
    """Return the time from which on ends of ranks belong to the end of the run."""
    return evidence.observations.stopped_at or evidence.ended_at


def _make_lost_rank(event: TelemetryEvent, more: str) -> _LostRank:
    code, pid = _code_of(event), event.fields.get("pid")
    kind = "unknown" if code is None else "killed" if code < 0 else "failed" if code else "left"
    known_pid = pid if isinstance(pid, int) else None
    return _LostRank(_rank_of(event), known_pid, code, kind, f"{event.text}, {more}")


def _rank_of(event: TelemetryEvent) -> int:
    return int(event.of.partition(":")[2])


def _code_of(event: TelemetryEvent) -> int | None:
    code = event.fields.get("code")
    return code if isinstance(code, int) else None


def _find_reporting_ranks(evidence: Evidence) -> set[int]:
    """Return the ranks that reported in the log that communication failed."""
    return {
        one.rank
        for reading in evidence.readings
        for one in reading.observations
        if one.cause == _CAUSE and one.rank is not None
    }


def _find_memory_kill(evidence: Evidence, lost: _LostRank) -> TelemetryEvent | None:
    """Return the kernel's kill of the process, if it was killed for memory."""
    if lost.pid is None or lost.code not in (None, -signal.SIGKILL):
        return None
    kills = [one for one in evidence.events("oom_kill") if one.fields.get("pid") == lost.pid]
    return kills[-1] if kills else None
