"""Confidence in a cause, and the kind of evidence that it rests on."""

from __future__ import annotations

from collections.abc import Sequence

from gpualert_common.causes import ANNOUNCED_CAUSES, GENERIC_CAUSES, SIGNAL_CAUSES
from gpualert_common.classify.candidates import Candidate, Tier
from gpualert_common.classify.chain_root import Basis
from gpualert_common.classify.exit_status import ExitStatus
from gpualert_common.classify.observations import Observation
from gpualert_common.model import Disposition, EvidenceKind, ExitFacts

_BASIS_CONFIDENCE = {
    Basis.CONFIRMATION: 0.95,
    Basis.MESSAGE: 0.96,
    Basis.TYPE: 0.93,
    Basis.PLACE: 0.87,
    Basis.WORDING: 0.87,
    Basis.LINE: 0.95,
    Basis.CLOSING_LINE: 0.8,
    Basis.LAST_WORDS: 0.7,
    Basis.TOPIC: 0.6,
}
"""Share of causes on such a basis that were right in logs that no rule was tuned to."""

_TIER_CONFIDENCE = {Tier.COMMUNICATION: 0.9, Tier.CASCADE: 0.7}
_GENERIC_TYPE_CONFIDENCE = 0.7
"""For an exception of which rules know only the type: a more specific cause is possible."""

_DESPITE_SUCCESS = 0.95
"""Factor for a cause that the exit status 0 contradicts."""

_SIGNAL_LINE_CONFIDENCE = 0.8
"""For a line that names the signal of a process, but that nothing else confirms: it may be that of
a helper process."""

_RECORDED_CONFIDENCE = 0.98
"""Of a stop that a scheduler has in its records; what led to it may be missing in the log."""
_CODE_CONFIDENCE = {127: 0.8, 126: 0.6, 124: 0.8}
"""For an exit status that has a meaning by convention, and a log that does not mention it.

POSIX reserves 127 and 126 for shells: a command that does not exist, and one that cannot be
executed because of its permissions or its format.  124 is that of GNU timeout.  Any program
may end with the same number.
"""

_NO_REASON_CONFIDENCE = 0.2
"""For a failure of whose words no rule knows any: the cause is likely a better one."""

_SILENT_CONFIDENCE = 0.5
"""For a failure without a word about it, which is a cause of its own: a silent exit."""

_WORKER_CONFIDENCE = 0.5
"""For a worker that failed without a message: its launcher says at least that it failed by itself.
"""

_OTHER_CODE_CONFIDENCE = 0.7
"""For a status of a user's own rule."""


def find_confidence(chosen: Candidate, kind: EvidenceKind, status: ExitStatus) -> float:
    """Return the confidence in the cause of *chosen*, found by evidence of *kind*."""
    limits = [_BASIS_CONFIDENCE[chosen.basis], _TIER_CONFIDENCE.get(chosen.tier, 1.0)]
    if chosen.cause in GENERIC_CAUSES and chosen.basis <= Basis.TYPE:
        limits.append(_GENERIC_TYPE_CONFIDENCE)
    if kind is EvidenceKind.LINE and chosen.cause in SIGNAL_CAUSES:
        limits.append(_SIGNAL_LINE_CONFIDENCE)
    factor = _DESPITE_SUCCESS if status.disposition is Disposition.COMPLETED else 1.0
    return round(min(limits) * factor, 2)


def find_evidence_kind(
    chosen: Candidate, evidence: Sequence[Observation], status: ExitStatus
) -> EvidenceKind:
    """Return the kind of *evidence* for *chosen*.  A line that other ranks repeat is still one."""
    is_explained = status.signal is not None and chosen.cause in ANNOUNCED_CAUSES | {"oom_killer"}
    lines = {one.place.line for one in evidence}
    patterns = {one.pattern.id for one in evidence}
    agrees = chosen.cause == status.cause and chosen.cause not in GENERIC_CAUSES
    if agrees or is_explained or min(len(lines), len(patterns)) > 1:
        return EvidenceKind.SOURCES
    return EvidenceKind.LINE if chosen.traceback is None else EvidenceKind.EXCEPTION


def read_cause_of_status(
    status: ExitStatus, facts: ExitFacts, *, silent: bool
) -> tuple[str, float]:
    """Return the cause that the exit status names by itself, with its confidence.

    *silent*: the logs end without a word about a failure.
    """
    if status.disposition is Disposition.COMPLETED:
        return "none", 0.9
    if status.disposition is Disposition.RUNNING:
        return "none", 0.0
    if status.disposition is Disposition.UNKNOWN:
        return "unknown", 0.0
    seen_by_child = facts.log_disk_full and not facts.is_log_dropped
    if seen_by_child and status.cause in (None, "killed_unknown"):
        return "disk_full", 0.6
    if status.cause is None:
        return "runtime_error", _SILENT_CONFIDENCE if silent else _NO_REASON_CONFIDENCE
    if status.disposition is Disposition.NOT_STARTED:
        return status.cause, 0.98
    if status.is_recorded:
        return status.cause, _RECORDED_CONFIDENCE
    if status.is_stop_certain:
        return status.cause, 1.0
    if status.signal is None:
        if facts.code in _CODE_CONFIDENCE:
            return status.cause, _CODE_CONFIDENCE[facts.code]
        is_generic = status.cause in GENERIC_CAUSES
        return status.cause, _WORKER_CONFIDENCE if is_generic else _OTHER_CODE_CONFIDENCE
    if status.is_inferred:
        return status.cause, 0.7
    return status.cause, 0.88 if status.origin is None else 0.9  # we know who sent the signal
