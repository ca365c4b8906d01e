"""Resolution of a run's end to one cause, from log readings and exit status.

:mod:`gpualert_common.classify.selection` has the rules that choose among the candidates; this
module prepares their input and completes their result.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence

from gpualert_common.causes import (
    ANNOUNCED_CAUSES,
    EXPLAINED_IN_WORDS,
    GENERIC_CAUSES,
    NO_CAUSES,
    SIGNAL_CAUSES,
)
from gpualert_common.classify.candidates import (
    Candidate,
    Tier,
    find_candidates,
)
from gpualert_common.classify.chain_root import Basis
from gpualert_common.classify.confidence import (
    find_confidence,
    find_evidence_kind,
    read_cause_of_status,
)
from gpualert_common.classify.details import Scalar, derive, parse_details
from gpualert_common.classify.exit_status import ExitStatus, read_status
from gpualert_common.classify.explanation import Explanation
from gpualert_common.classify.filters import SelectionContext
from gpualert_common.classify.handled.hidden_failures import is_unanswered
from gpualert_common.classify.handled.work_lines import shows_work
from gpualert_common.classify.last_resort import (
    find_before_lost_peer,
    find_in_words,
    find_last_resort,
)
from gpualert_common.classify.log_position import has_trained, is_silent
from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.observations import Observation
from gpualert_common.classify.platforms import PLATFORM_CAUSES, find_platform
from gpualert_common.classify.preferences import LAST_RESORT
from gpualert_common.classify.resume_lines import is_resuming
from gpualert_common.classify.rules import RuleSet
from gpualert_common.classify.selection import Selection, select
from gpualert_common.classify.selection_report import explain, reason_against
from gpualert_common.classify.stopped_log import select_before_stop
from gpualert_common.classify.tracebacks.exception_names import is_report
from gpualert_common.classify.tracebacks.traceback import Context, Traceback
from gpualert_common.model import Disposition, EvidenceKind, ExitFacts, Role
from gpualert_common.signal_names import signal_name
from gpualert_common.structs import Struct, field, replace

_SCHEDULED = {
    "time_limit": Disposition.TIMEOUT,
    "preempted": Disposition.PREEMPTED,
    "cancelled": Disposition.CANCELLED,
}

_MISTAKES = frozenset({"NameError", "SyntaxError", "IndentationError", "TabError"})
"""Exceptions of mistakes in a program that nothing outside it explains."""


class Resolution(Struct, frozen=True):
    """The cause, and the evidence for it.

    ``evidence`` holds the observations behind the cause, earliest first; ``traceback`` the
    exception that carried it.  ``secondary`` are pairs (cause, because), ``ruled_out`` pairs
    (family, because).  ``has_trained`` is True when the log shows progress before the end.
    ``carrier`` is the exception by which the program reported the cause, also where other lines
    name it.
    ``is_resuming`` is True for a checkpoint that was loaded in order to resume a training.
    """

    cause: str
    disposition: Disposition
    confidence: float
    status: ExitStatus
    explanation: Explanation
    evidence: tuple[Observation, ...] = ()
    traceback: Traceback | None = None
    rank: int | None = None
    details: dict[str, Scalar] = field(default_factory=dict)
    secondary: tuple[tuple[str, str], ...] = ()
    ruled_out: tuple[tuple[str, str], ...] = ()
    has_trained: bool = False
    carrier: Traceback | None = None
    is_resuming: bool = False


def resolve(
    readings: Sequence[LogReading], facts: ExitFacts, rules: RuleSet, *, running: bool = False
) -> Resolution:
    """Return the root cause that *readings* and *facts* support, ``none`` for no failure.

    Never raises because of a log's content.  With *running* the run has not ended, and nothing is
    its cause yet.
    """
    worker_code = _worker_code(readings)
    status = read_status(facts, rules, worker_code, running=running)
    candidates = [one for reading in readings for one in find_candidates(reading, rules)]
    launcher = _launcher_details(readings)
    failed_rank = launcher.get("failed_rank")
    selection = select(candidates, SelectionContext(readings, status, failed_rank, worker_code))
    if status.is_stop_certain:
        stopped = select_before_stop(readings, facts.log_bytes_at_stop, status, rules)
        candidates, selection = stopped or (candidates, selection)
    _consider_closing_lines(selection, candidates, status, readings, rules)
    chosen = selection.chosen
    carrier = None
    evidence: tuple[Observation, ...] = ()
    if chosen is None:
        silent = bool(readings) and all(map(is_silent, readings))
        cause, confidence = read_cause_of_status(status, facts, silent=silent)
        kind = EvidenceKind.SUCCESS if cause in NO_CAUSES else EvidenceKind.STATUS
        details: dict[str, Scalar] = {}
        if status.signal is not None:
            details["signal_name"] = signal_name(status.signal)
    else:
        carrier = _find_carrier(chosen, selection.possible)
        chosen = _with_exception(chosen, selection.possible)
        evidence = _evidence_for(chosen, readings)
        kind = find_evidence_kind(chosen, evidence, status)
        cause, confidence = chosen.cause, find_confidence(chosen, kind, status)
        details = _details_of(chosen)
    return Resolution(
        cause=cause,
        disposition=_disposition_of(chosen, status),
        confidence=confidence,
        status=status,
        explanation=explain(cause, candidates, selection, status, kind),
        evidence=evidence,
        traceback=None if chosen is None else chosen.traceback,
        rank=None if chosen is None else chosen.rank,
        details={**launcher, **details},
        secondary=_secondary_causes(cause, candidates, selection),
        ruled_out=_ruled_out_families(status, readings),
        has_trained=any(map(has_trained, readings)),
        carrier=carrier,
        is_resuming=cause == "checkpoint" and carrier is not None and is_resuming(carrier),
    )


# -- input of the rules ----------------------------------------------------------------------


def _worker_code(readings: Iterable[LogReading]) -> int | None:
    """Return the status of the worker that failed first, as a launcher reported it.

    The launcher itself stopped the workers that SIGTERM ended, because of the one that failed.
    """
    for reading in readings:
        for one in reading.observations:
            code = parse_details(one.details).get("child_exitcode")
            if isinstance(code, int) and code not in (0, -signal.SIGTERM):
                return code
    return None


def _launcher_details(readings: Iterable[LogReading]) -> dict[str, Scalar]:
    """Return rank and host that failed first, as the launcher reports; it names them last."""
    found: dict[str, str] = {}
    for reading in readings:
        for one in reading.observations:
            if one.role is Role.REPORT:
                found.update({k: v for k, v in one.details.items() if k.startswith("failed_")})
    return parse_details(found)


def _consider_closing_lines(
    selection: Selection,
    candidates: Sequence[Candidate],
    status: ExitStatus,
    readings: Sequence[LogReading],
    rules: RuleSet,
) -> None:
    """Choose by the closing lines where status and candidates say only how the run ended."""
    found = None
    if status.disposition is Disposition.COMPLETED:
        found = None if candidates else _find_hidden_failure(readings, rules)
    elif not status.is_final:
        found = _find_in_closing_lines(selection, status, readings, rules)
    if found is not None:
        selection.replace_chosen(LAST_RESORT, found)


def _find_in_closing_lines(
    selection: Selection, status: ExitStatus, readings: Sequence[LogReading], rules: RuleSet
) -> Candidate | None:
    chosen = selection.chosen
    says_nothing = chosen is None or chosen.tier is Tier.CASCADE
    seen = status.cause if chosen is None else chosen.cause
    is_named = chosen is not None and seen in GENERIC_CAUSES and _says_more_than_type(chosen)
    reports = [one for one in selection.possible if one.tier >= Tier.COMMUNICATION]
    found = None
    if says_nothing and status.signal is None and status.cause in (None, "runtime_error"):
        found = find_last_resort(readings, rules, reports)
    elif seen == "collective" and status.signal is None:
        found = find_before_lost_peer(readings, rules, reports)
    if found is None and seen in EXPLAINED_IN_WORDS and not is_named:
        found = find_in_words(readings, rules, EXPLAINED_IN_WORDS[seen], chosen)
    return found


def _find_hidden_failure(readings: Sequence[LogReading], rules: RuleSet) -> Candidate | None:
    """Return the failure that the closing lines name, of a good exit status without any work."""
    if all(map(is_silent, readings)) or any(map(shows_work, readings)):
        return None
    found = find_last_resort(readings, rules, ())
    logs = {reading.file: reading for reading in readings}
    return found if found is not None and is_unanswered(found, logs[found.file]) else None


def _says_more_than_type(chosen: Candidate) -> bool:
    """Return whether more than the type of an exception is known, or the type is enough."""
    name = None if chosen.head is None else chosen.head.name
    return chosen.basis > Basis.TYPE or name in _MISTAKES


# -- the cause from the log ------------------------------------------------------------------


def _with_exception(chosen: Candidate, possible: Sequence[Candidate]) -> Candidate:
    """Return *chosen* with the exception of the same cause, for a line without one."""
    if chosen.traceback is not None:
        return chosen
    for other in possible:
        if other.traceback is not None and other.cause == chosen.cause:
            observations = (*chosen.observations, *other.observations)
            basis = max(chosen.basis, other.basis)
            return replace(other, observations=observations, tier=chosen.tier, basis=basis)
    return chosen


def _find_carrier(chosen: Candidate, possible: Sequence[Candidate]) -> Traceback | None:
    """Return the exception by which the program reported the cause, whatever it says itself."""
    found = chosen.traceback
    if found is None and chosen.cause not in ANNOUNCED_CAUSES | SIGNAL_CAUSES | {"oom_killer"}:
        raised = [one for one in possible if one.traceback is not None]
        raised = [one for one in raised if one.tier is not Tier.CASCADE or one.is_cut_off]
        found = min(raised, key=lambda one: one.tier).traceback if raised else None
    if found is None or is_report(found.type) or found.context is Context.NATIVE:
        return None
    return found


def _details_of(chosen: Candidate) -> dict[str, Scalar]:
    captured: dict[str, str] = {}
    for one in reversed(chosen.observations):
        captured.update(one.details)
    details = parse_details(captured)
    exception = chosen.traceback
    if exception is not None:
        details |= {"exception": exception.name, "message": exception.message}
        frame = exception.place_in_program
        if frame is not None:
            details |= {"file": frame.file, "line": frame.line, "function": frame.function}
    if chosen.cause in PLATFORM_CAUSES:
        texts = [one.excerpt for one in chosen.observations]
        texts += [] if exception is None else [exception.message, exception.type]
        platform = find_platform("\n".join(texts))
        details |= {} if platform is None else {"platform": platform}
    return derive(chosen.cause, details)


def _evidence_for(chosen: Candidate, readings: Sequence[LogReading]) -> tuple[Observation, ...]:
    """Return the observations of *chosen*, and the last two others of the same cause."""
    again = [
        one
        for reading in readings
        for one in reading.observations
        if one.cause == chosen.cause
        and one.role in (Role.ROOT, Role.CONFIRMATION)
        and one not in chosen.observations
    ]
    return (*chosen.observations, *again[-2:])


def _disposition_of(chosen: Candidate | None, status: ExitStatus) -> Disposition:
    is_fixed = status.disposition in (Disposition.COMPLETED, Disposition.NOT_STARTED)
    if chosen is None or is_fixed:
        return status.disposition
    failed_itself = status.is_recorded and not status.is_final  # its log counts
    return _SCHEDULED.get(chosen.cause, Disposition.FAILED if failed_itself else status.disposition)


# -- the rest of the evidence ----------------------------------------------------------------


def _secondary_causes(
    cause: str, candidates: Sequence[Candidate], selection: Selection
) -> tuple[tuple[str, str], ...]:
    """Return each other cause that the log names, with the reason why it is not the root."""
    found: dict[str, str] = {}
    rejections = selection.find_rejections()
    for one in candidates:
        if one.cause != cause and one.cause not in found:
            place = f"{one.file} line {one.place.line}"
            found[one.cause] = f"{place}: {reason_against(one, selection, rejections).because}"
    return tuple(found.items())


def _ruled_out_families(
    status: ExitStatus, readings: Sequence[LogReading]
) -> tuple[tuple[str, str], ...]:
    """Return the families that the evidence excludes; silence of a source excludes nothing."""
    by_itself = status.disposition in (Disposition.FAILED, Disposition.COMPLETED)
    workers = any(
        one.cause in SIGNAL_CAUSES for reading in readings for one in reading.observations
    )
    if by_itself and status.signal is None and not workers:
        return (("A2", f"{status.claim}, not by a signal"),)
    return ()
