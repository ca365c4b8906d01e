"""The rank that the others lost: it ended first, closed its connections, or did not take part.

The ends of the ranks on this machine, with their times and exit statuses, show which one was first.
A rank that reported a lost peer was only the first to notice, and one that aborted reported why.
Exit status 1, SIGTERM and a hidden status may also be the end of a rank that lost a peer elsewhere:
they count only if all ranks of the job are here, and each report names its rank.  Of ranks that
ended at once, the lost one is the only one with another end.  Else it is the only rank without a
report.  Both count only if all ranks of the job are here; of a job on several machines, the verdict
names those that reported, so that the verdict of the job can tell the one that did not.

If a signal ended the lost rank, that is the cause, whatever the others reported.  If its status was
0, it left while the others still waited for it: an error of the program.  So it is if only the
launcher stopped it, and the others report closed connections; if they report timeouts, it was slow
or hung, and the verdict names it.  If it failed with another status, or if its status is not known,
the verdict names it, too.

This counts only where the log knows nothing better than lost peers, a kill, a crash or a hang:
ranks may end one after the other.  Ranks of an earlier launch in the same run do not count, nor
does one without which the training went on.  Where the processes were not sampled, a lost peer is
nobody's fault.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence

from gpualert_common.causes import CAUSES_OF_SIGNALS
from gpualert_common.classify.details import Scalar
from gpualert_common.classify.observations import Observation
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence, claim_of_event
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.model import Claim
from gpualert_common.processes.rank_names import format_numbers, name_ranks
from gpualert_common.signal_names import signal_name
from gpualert_common.stacks.reasons import HangReason
from gpualert_common.structs import Struct, replace
from gpualert_common.telemetry.series import TelemetryEvent

FAMILY = "C2"
_CAUSE = "collective"
_KILLED = frozenset(("killed_unknown", "oom_killer", "host_oom", "segfault"))
"""Causes that a signal to one rank may have: it confirms them, and names the rank."""
_HUNG = frozenset(("time_limit", "idle_hang"))


_LEFT = frozenset(("left", "closed"))
"""Kinds of ends without an error."""
_OF_LOST_PEER = (None, 1, -signal.SIGTERM)
"""Codes that a rank may have because it lost a peer, or was stopped with the others."""
_TIMEOUTS = frozenset(
    (
        "watchdog_timeout", "dump_signal", "watchdog_stuck", "gloo_timeout", "nccl_store_key",
        "monitored_barrier", "horovod_stall",
    )
)  # fmt: skip
"""Patterns of reports that a peer did not come in time."""
_LOST_PEERS = frozenset(("peer_closed", "peer_gone", "jax_peer"))
"""Patterns of reports that a peer is gone."""
_OF_LAUNCHER = "taken_down"
"""Pattern of a line that also a launcher prints, which is no rank."""
_ADVANCED_STEPS = 2
"""A step may still be printed after the end of a rank; two cannot be made without it."""


class _LostRank(Struct, frozen=True):
    """A rank that the others lost; ``kind`` of its end is "left" for status 0, "closed", "awaited"
    in vain, "killed", "failed" or "unknown".

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
        yield from _doubt(evidence)
        yield from _list_reporting(evidence)
        return
    is_missed = evidence.hang is not None and evidence.hang.reason is HangReason.MISSING_RANK
    is_unexplained = resolution.traceback is None and _CAUSE in dict(resolution.secondary)
    found = _make_finding(evidence, lost)
    if cause == _CAUSE or is_unexplained or (cause in _HUNG and is_missed):
        yield found
    elif cause in _KILLED and lost.kind == "killed":
        yield replace(found, family="A2", weight=Weight.SUPPORTS, cause=cause)


def _doubt(evidence: Evidence) -> Iterator[Finding]:
    """Yield that a lost peer may have ended in any way, if no source saw the ends."""
    is_unseen = evidence.telemetry.sources and not evidence.is_available("processes")
    reports = {one.pattern.name for one in evidence.resolution.evidence}
    if evidence.resolution.cause == _CAUSE and is_unseen and not reports.isdisjoint(_LOST_PEERS):
        yield Finding(
            FAMILY,
            Weight.DOUBTS,
            "a peer was lost, and no source saw how the ranks ended",
            cause=_CAUSE,
            confidence=0.7,
            cannot_decide=("how the peer ended: the processes were not sampled",),
        )


def _list_reporting(evidence: Evidence) -> Iterator[Finding]:
    """Yield which ranks here reported a lost peer, where other ranks are on other machines.

    Nothing where a report may be that of a rank which seems to have none.
    """
    if evidence.resolution.cause != _CAUSE:
        return
    _, ranks = _list_ends(evidence)
    reporting = {one.rank for one in _list_reports(evidence)}
    reported = ranks if reporting and len(ranks) == 1 else ranks & reporting
    is_unclear = None in reporting or any(reading.is_sampled for reading in evidence.readings)
    sizes = [event.fields.get("world_size") for event in evidence.events("rank_process")]
    is_part = any(isinstance(size, int) and size > len(ranks) for size in sizes)
    if not is_part or not reported or (is_unclear and reported != ranks):
        return
    yield Finding(
        FAMILY,
        Weight.SUPPORTS,
        f"{name_ranks(sorted(reported))} reported a lost peer",
        cause=_CAUSE,
        details={"reporting_ranks": format_numbers(reported)},
    )


def _make_finding(evidence: Evidence, lost: _LostRank) -> Finding:
    """Return the finding of a rank that the others lost."""
    details: dict[str, Scalar] = {"failed_rank": lost.rank, "rank_end": lost.kind}
    claims = [Claim(lost.text, "processes", rank=lost.rank)]
    kill = _find_memory_kill(evidence, lost)
    number = -lost.code if lost.kind == "killed" and lost.code is not None else 0
    cause = CAUSES_OF_SIGNALS.get(number, _CAUSE)
    confidence = 0.8 if cause == _CAUSE else 0.96
    if kill is not None:
        claims.append(claim_of_event(kill))
        cause, confidence = "oom_killer", 0.98
    if lost.kind == "failed":
        details["rank_code"] = lost.code
    if number:
        details["signal_name"] = signal_name(number)
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
    reports = _list_reports(evidence)
    sizes = {event.fields.get("world_size") for event in evidence.events("rank_process")}
    is_whole_job = len(ranks) in sizes
    found = _find_first(ends, reports, _end_of(evidence), is_whole_job=is_whole_job)
    if found is None and is_whole_job:
        found = _find_silent(ends, ranks, reports)
    has_advanced = evidence.count_steps_since(ends[0].at) >= _ADVANCED_STEPS
    if found is None or found.code == -signal.SIGABRT or has_advanced:
        return None
    return found


def _find_first(
    ends: Sequence[TelemetryEvent],
    reports: Sequence[Observation],
    end_at: float,
    *,
    is_whole_job: bool,
) -> _LostRank | None:
    """Return the rank that ended first; of several at once, the only one that ended by itself."""
    reporting = {one.rank for one in reports}
    first = ends[0]
    later = [event.at for event in ends if event.at - first.at >= thresholds.LEAST_LEAD_S]
    at_once = ends[: len(ends) - len(later)]
    own = [event for event in at_once if _code_of(event) not in _OF_LOST_PEER]
    lead_s = min(later, default=end_at) - first.at
    if len(at_once) == 1 and lead_s >= thresholds.LEAST_LEAD_S:
        is_clear = bool(own) or (is_whole_job and None not in reporting)
        lost = _make_lost_rank(first, f"{lead_s:.1f} s before the next rank")
    else:
        is_clear = len(own) == 1 and is_whole_job and not _has_timeout(reports)
        more = "and the ranks that ended at the same time had lost a peer, or were stopped"
        lost = _make_lost_rank((own or ends)[0], more)
    return lost if is_clear and lost.rank not in reporting else None


def _find_silent(
    ends: Sequence[TelemetryEvent], ranks: set[int], reports: Sequence[Observation]
) -> _LostRank | None:
    """Return the only rank that did not report a lost peer."""
    reporting = {one.rank for one in reports}
    silent = [event for event in ends if _rank_of(event) not in reporting]
    if len(silent) != 1 or len(reporting & ranks) != len(ranks) - 1:
        return None
    lost = _make_lost_rank(silent[0], "and is the only rank that did not report a lost peer")
    if lost.code in _OF_LOST_PEER and None in reporting:
        return None  # one of the reports may be its own
    is_later = silent[0].at - ends[0].at >= thresholds.LEAST_LEAD_S
    if lost.code != -signal.SIGTERM and not (lost.code == -signal.SIGKILL and is_later):
        return lost
    return replace(lost, kind="awaited" if _has_timeout(reports) else "closed")


def _list_ends(evidence: Evidence) -> tuple[list[TelemetryEvent], set[int]]:
    """Return the ends of the newest processes of the ranks, in their order, and all ranks.

    Those that had ended before another one began belong to an earlier launch.
    """
    newest = {
        event.of: event for event in evidence.events("rank_process") if event.of.startswith("rank:")
    }
    began_at = max((event.at for event in newest.values()), default=0.0)
    ends = [
        event
        for event in evidence.events("rank_ended")
        if event.of in newest and newest[event.of].fields.get("pid") == event.fields.get("pid")
    ]
    ranks = newest.keys() - {event.of for event in ends if event.at < began_at}
    ends = [event for event in ends if event.of in ranks and event.at <= _end_of(evidence)]
    return sorted(ends, key=lambda event: event.at), {int(of.partition(":")[2]) for of in ranks}


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


def _list_reports(evidence: Evidence) -> list[Observation]:
    """Return the lines of the log in which ranks report that communication failed."""
    return [
        one
        for reading in evidence.readings
        for one in reading.observations
        if one.cause == _CAUSE and (one.rank is not None or one.pattern.name != _OF_LAUNCHER)
    ]


def _has_timeout(reports: Sequence[Observation]) -> bool:
    return any(one.pattern.name in _TIMEOUTS for one in reports)


def _find_memory_kill(evidence: Evidence, lost: _LostRank) -> TelemetryEvent | None:
    """Return the kernel's kill of the process, if it was killed for memory."""
    if lost.pid is None or lost.code not in (None, -signal.SIGKILL):
        return None
    kills = [one for one in evidence.events("oom_kill") if one.fields.get("pid") == lost.pid]
    return kills[-1] if kills else None
