"""From readings and exit status to one cause: root over cascade, fatal over handled.

The order of the questions: did the end decide by itself; did anything in the log end the run; if
several did, which was first; if none did, what does the status mean.
"""

from __future__ import annotations

import re
import signal
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpualert_common.causes import (
    BEHIND,
    COMMUNICATION,
    GENERIC,
    LASTING,
    SCHEDULED,
    SIGNALLED,
)
from gpualert_common.classify.candidates import (
    Candidate,
    Ground,
    Tier,
    candidates,
    is_afterwards,
    is_last_word,
    last_resort,
    near_failure,
    surviving,
)
from gpualert_common.classify.consequences import gone_before, without_consequences
from gpualert_common.classify.details import derive, typed
from gpualert_common.classify.exception_names import is_report
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.observations import Observation
from gpualert_common.classify.resuming import resumes
from gpualert_common.classify.rules import RuleSet
from gpualert_common.classify.status import Status, read_status, signal_name
from gpualert_common.classify.traceback_model import Context, Traceback
from gpualert_common.model import Disposition, ExitFacts, Role

_SCHEDULED = {
    "time_limit": Disposition.TIMEOUT,
    "preempted": Disposition.PREEMPTED,
    "cancelled": Disposition.CANCELLED,
}
_NATIVE_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
_STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_OF_PYTHON = re.compile(r"(?:Killed|fault|Aborted).*\b(?:python|torchrun|accelerate|deepspeed)")
"""A shell's word on the end of a training, as against that of a helper beside it."""
_STEP_DONE = re.compile(
    rb"(?i)\b(?:global_?)?(?:step|iter|iteration|epoch|batch|update)\b[ :=#\[(]{0,3}\d{1,12}"
    rb"[^\r\n]{0,200}?\d\.\d|['\"]epoch['\"]: ['\"]?\d"
)
_LASTING_SEEN = 3
"""A state told this often up to the end is no hiccup."""

_GROUND_CONFIDENCE = {
    Ground.CONFIRMATION: 0.95,
    Ground.MESSAGE: 0.96,
    Ground.TYPE: 0.93,
    Ground.PLACE: 0.87,
    Ground.LINE: 0.95,
    Ground.GUESS: 0.8,
}
"""How often a cause on such grounds was right in logs that no rule was tuned to."""
_TIER_CONFIDENCE = {Tier.COMMUNICATION: 0.9, Tier.CASCADE: 0.7}
_GENERIC_TYPE_CONFIDENCE = 0.6
"""An exception of which no rule knows more than its type: a cause with a better name is likely."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The cause and the grounds for it, before it is put into words.

    ``evidence`` is the observations behind the cause, earliest first; ``traceback`` the exception
    that carried it.  ``secondary`` are (cause, because), ``ruled_out`` (family, because).
    ``trained`` is True when the log shows progress before the end; ``carried`` is the exception
    by which the program reported the cause, also where other lines name it.  ``resuming`` is True
    for a checkpoint that was loaded in order to go on with a training.
    """

    cause: str
    disposition: Disposition
    confidence: float
    status: Status
    evidence: tuple[Observation, ...] = ()
    traceback: Traceback | None = None
    rank: int | None = None
    details: dict[str, Any] = field(default_factory=dict)
    secondary: tuple[tuple[str, str], ...] = ()
    ruled_out: tuple[tuple[str, str], ...] = ()
    trained: bool = False
    carried: Traceback | None = None
    resuming: bool = False


def resolve(
    readings: Sequence[LogReading], facts: ExitFacts, rules: RuleSet, *, running: bool = False
) -> Resolution:
    """The root cause that *readings* and *facts* support, ``none`` when nothing failed.

    Never raises for what a log says.  With *running* the run has not ended and nothing is
    called its cause yet.
    """
    status = read_status(facts, rules, _child_code(readings), running=running)
    everything = [one for reading in readings for one in candidates(reading, rules)]
    possible = _possible(everything, readings, status)
    reported = _reported_first(readings)
    chosen = _choose(possible, status, reported.get("failed_rank"))
    if _unexplained(status) and (chosen is None or _says_nothing(chosen)):
        chosen = last_resort(readings, rules) or chosen
    if chosen is not None:
        resolution = _from_log(_with_exception(chosen, possible), readings, status)
        resolution = replace(resolution, carried=_carried(chosen, possible))
    else:
        resolution = _from_status(status, facts)
    resolution = replace(resolution, details={**reported, **resolution.details})
    return _completed(resolution, everything, possible, readings)


def _child_code(readings: Iterable[LogReading]) -> int | None:
    """The status of the worker that failed first, as a launcher reported it.

    Workers ended by SIGTERM were stopped by the launcher, because of the one that failed.
    """
    for reading in readings:
        for one in reading.observations:
            code = typed(one.details).get("child_exitcode")
            if isinstance(code, int) and code not in (0, -signal.SIGTERM):
                return code
    return None


def _unexplained(status: Status) -> bool:
    """True for a run that failed, or may have, of which the status says no more than that."""
    ended = status.disposition in (Disposition.FAILED, Disposition.UNKNOWN)
    return ended and status.signal is None and status.cause in (None, "runtime_error", "config")


def _says_nothing(chosen: Candidate) -> bool:
    return chosen.tier is Tier.CASCADE and chosen.cause in GENERIC


def _with_exception(chosen: Candidate, possible: list[Candidate]) -> Candidate:
    """*chosen* with the exception that says the same, if it is a line without one."""
    if chosen.traceback is not None:
        return chosen
    for other in possible:
        if other.traceback is not None and other.cause == chosen.cause:
            seen = (*chosen.observations, *other.observations)
            ground = max(chosen.ground, other.ground)
            return replace(other, observations=seen, tier=chosen.tier, ground=ground)
    return chosen


def _carried(chosen: Candidate, possible: list[Candidate]) -> Traceback | None:
    """The exception by which the program reported the cause, whatever it says itself."""
    found = chosen.traceback
    if found is None and chosen.cause not in SCHEDULED | SIGNALLED | {"oom_killer"}:
        raised = [one for one in possible if one.traceback is not None]
        raised = [one for one in raised if one.tier is not Tier.CASCADE or _is_cut_off(one)]
        found = min(raised, key=lambda one: one.tier).traceback if raised else None
    if found is None or is_report(found.type) or found.context is Context.NATIVE:
        return None
    return found


def _reported_first(readings: Iterable[LogReading]) -> dict[str, Any]:
    """Rank and host that failed first, as the launcher saw it; it names that one last."""
    found: dict[str, str] = {}
    for reading in readings:
        for one in reading.observations:
            if one.role is Role.REPORT:
                found.update({k: v for k, v in one.details.items() if k.startswith("failed_")})
    return typed(found)


def _possible(
    everything: list[Candidate], readings: Sequence[LogReading], status: Status
) -> list[Candidate]:
    """Those of *everything* that can have ended the run."""
    if status.disposition is Disposition.RUNNING:
        return []
    near = near_failure(surviving(everything))
    if status.disposition is Disposition.UNKNOWN:
        return [one for one in near if not any(is_afterwards(one, each) for each in readings)]
    if status.disposition is not Disposition.COMPLETED:
        return near
    return near if _broke_off(near, readings) else []


def _broke_off(alive: list[Candidate], readings: Sequence[LogReading]) -> bool:
    """True when a log ends in a failure although the exit status is 0.

    The failure of the first command of a pipe, a script that carries on after a kill, values that
    are NaN to the end.  With several logs the end of one says nothing: the others may go on.
    """
    lasting = [one for one in alive if one.cause in LASTING]
    if _lasts(lasting) or any(one.tier is Tier.CONFIRMED and one.last_word for one in lasting):
        return True
    if sum(reading.size > 0 for reading in readings) > 1:
        return False
    for reading in readings:
        reports = [one for one in reading.observations if "child_exitcode" in one.details]
        if any(is_last_word(reading, one.place) for one in reports):
            return True
    return any(
        (one.last_word and (_is_whole(one) or one.cause in SIGNALLED))
        or (one.cause in SIGNALLED and _OF_PYTHON.search(one.observations[0].excerpt))
        for one in alive
    )


def _lasts(lasting: list[Candidate]) -> bool:
    """True for a state that one process told of again and again; ranks may say the same once."""
    streams = Counter(one.observations[0].stream for one in lasting)
    different = {one.observations[0].excerpt for one in lasting}
    often = len(lasting) >= _LASTING_SEEN and len(different) > 1
    return often or max(streams.values(), default=0) >= _LASTING_SEEN


def _is_whole(one: Candidate) -> bool:
    """True for an exception with its traceback; a bare line may be anybody's text."""
    return one.head is not None and one.head.context is not Context.BARE


def _choose(possible: list[Candidate], status: Status, failed_rank: int | None) -> Candidate | None:
    """The candidate to name, None when the status alone decides."""
    if status.decides:
        # Only the scheduler's own words say better what a stop or a limit was about; that it was
        # cancelled says no more than the status, however the program words it.
        possible = [
            one
            for one in possible
            if one.cause in _SCHEDULED
            and (one.cause != "cancelled" or one.tier is Tier.CONFIRMED)
            and one.traceback is None
            and status.signal is not None
        ]
    else:
        possible = without_consequences(possible, stopped=status.signal in _STOPPING)
    best = min(possible, key=_order, default=None)
    if best is not None:
        behind = [one for one in possible if one.cause == BEHIND.get(best.cause)]
        best = behind[0] if behind else best
    if best is not None and best.tier is Tier.COMMUNICATION:
        if status.signal in _NATIVE_CRASHES:
            return None  # whom the others missed
        best = gone_before(best, possible)
    if best is not None and best.cause == "cancelled" and status.cause == "time_limit":
        return None  # the log tells of the signal, the status of the reason
    if best is None or best.tier < Tier.STATUS or status.cause is None:
        return best
    # A signal says more than what followed it; that a peer was lost, more than the plain status
    # of the rank that says so.
    lost = best.cause in COMMUNICATION and status.signal is None
    return best if lost and best.rank in (None, failed_rank) else None


def _order(one: Candidate) -> tuple[int, bool, int]:
    """The most telling first, then the earlier; an exception of which no name is left, last."""
    return one.tier, _is_cut_off(one), one.place.offset


def _is_cut_off(one: Candidate) -> bool:
    return one.traceback is not None and one.traceback.context is Context.CUT_OFF


def _from_log(chosen: Candidate, readings: Sequence[LogReading], status: Status) -> Resolution:
    captured: dict[str, str] = {}
    for one in reversed(chosen.observations):
        captured.update(one.details)
    details = typed(captured)
    if chosen.traceback is not None:
        details.update(_exception_details(chosen.traceback))
    confidence = _GROUND_CONFIDENCE[chosen.ground]
    confidence = min(confidence, _TIER_CONFIDENCE.get(chosen.tier, 1.0))
    if chosen.cause in GENERIC and chosen.ground <= Ground.TYPE:
        confidence = min(confidence, _GENERIC_TYPE_CONFIDENCE)
    if status.disposition is Disposition.COMPLETED:
        confidence *= 0.95  # the status speaks against it
    again = [
        one
        for reading in readings
        for one in reading.observations
        if one.cause == chosen.cause
        and one.role in (Role.ROOT, Role.CONFIRMATION)
        and one not in chosen.observations
    ]
    return Resolution(
        cause=chosen.cause,
        disposition=_disposition(chosen.cause, status),
        confidence=round(confidence, 2),
        status=status,
        evidence=(*chosen.observations, *again[-2:]),
        traceback=chosen.traceback,
        rank=chosen.rank,
        details=derive(chosen.cause, details),
    )


def _exception_details(found: Traceback) -> dict[str, Any]:
    details: dict[str, Any] = {"exception": found.name, "message": found.message}
    frame = found.place_in_program
    if frame is not None:
        details |= {"file": frame.file, "line": frame.line, "function": frame.function}
    return details


def _disposition(cause: str, status: Status) -> Disposition:
    if status.disposition in (Disposition.COMPLETED, Disposition.NOT_STARTED):
        return status.disposition
    return _SCHEDULED.get(cause, status.disposition)


def _from_status(status: Status, facts: ExitFacts) -> Resolution:
    cause, confidence = status.cause, 0.9
    if status.disposition in (Disposition.COMPLETED, Disposition.RUNNING, Disposition.UNKNOWN):
        cause, confidence = "none", 0.9 if status.disposition is Disposition.COMPLETED else 0.0
    elif cause is None or (cause == "killed_unknown" and facts.log_disk_full):
        cause = "disk_full" if facts.log_disk_full else "runtime_error"
        confidence = 0.6 if facts.log_disk_full else 0.3
    elif status.disposition is Disposition.NOT_STARTED:
        confidence = 0.98
    elif status.signal is None:
        confidence = 0.8  # of any program, or of the last one in a script
    elif status.probable:
        confidence = 0.7
    details: dict[str, Any] = {}
    if status.signal is not None:
        details["signal_name"] = signal_name(status.signal)
    return Resolution(cause, status.disposition, confidence, status, details=details)


def _completed(
    resolution: Resolution,
    everything: list[Candidate],
    possible: list[Candidate],
    readings: Sequence[LogReading],
) -> Resolution:
    """*resolution* with what else was seen, and why it is not the cause."""
    secondary: dict[str, str] = {}
    for one in everything:
        if one.cause == resolution.cause or one.cause in secondary:
            continue
        secondary[one.cause] = _because(one, possible, resolution)
    return replace(
        resolution,
        secondary=tuple(secondary.items()),
        ruled_out=_ruled_out(resolution, readings),
        trained=any(map(_trained, readings)),
        resuming=resolution.cause == "checkpoint"
        and resolution.carried is not None
        and resumes(resolution.carried),
    )


def _trained(reading: LogReading) -> bool:
    """True where a log told of a step with what came of it; bars also load, and settings count."""
    if reading.trained_from is None or reading.trained_from < reading.tail_offset:
        return reading.trained_from is not None
    return _STEP_DONE.search(reading.tail) is not None


def _because(one: Candidate, possible: list[Candidate], resolution: Resolution) -> str:
    where = f"{one.file} line {one.place.line}"
    if one.went_on:
        return f"{where}: training went on after it"
    if one not in possible:
        return f"{where}: handled, or far from the end"
    if resolution.status.decides:
        return f"{where}: seen in the log, but it is not what ended the run"
    if one.tier in (Tier.COMMUNICATION, Tier.CASCADE):
        return f"{where}: other ranks report this when one of them has failed"
    return f"{where}: less telling, or later than the cause"


def _ruled_out(
    resolution: Resolution, readings: Sequence[LogReading]
) -> tuple[tuple[str, str], ...]:
    """Families that the evidence excludes; silence of a source excludes nothing."""
    status = resolution.status
    by_itself = status.disposition in (Disposition.FAILED, Disposition.COMPLETED)
    workers = any(one.cause in SIGNALLED for reading in readings for one in reading.observations)
    if by_itself and status.signal is None and not workers:
        return (("A2", f"{status.said}, not by a signal"),)
    return ()
