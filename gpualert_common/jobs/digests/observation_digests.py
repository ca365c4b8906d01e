"""The observations of a node in its digest, with their times: of its verdict, its ranks, its
warnings."""

from __future__ import annotations

from collections.abc import Iterator

from gpualert_common.causes import CAUSES_OF_SIGNALS
from gpualert_common.diagnose.verdict_claims import ROLE_WORDS
from gpualert_common.diagnose.warning_state import WarningState
from gpualert_common.errors import RecordError
from gpualert_common.jobs.digests.digest import DigestObservation
from gpualert_common.jobs.digests.log_times import LogTimes
from gpualert_common.jobs.digests.rank_digests import find_rank
from gpualert_common.model import Claim, Role, Verdict
from gpualert_common.quantities import is_number
from gpualert_common.record import Record
from gpualert_common.spec import EARLY
from gpualert_common.structs import replace
from gpualert_common.telemetry.series import Telemetry

MOST_OBSERVATIONS = 12
_STATUS = "exit_status"


def collect_observations(
    record: Record, verdict: Verdict | None, telemetry: Telemetry, node: int | None
) -> tuple[DigestObservation, ...]:
    """Return the first observations in the order of their times, and the root cause."""
    found = list(_list_of_verdict(record, verdict, telemetry)) if verdict is not None else []
    root = found[0] if found else None
    found += _list_rank_ends(telemetry, node)
    found += _list_warnings(record)
    ordered = sorted(found, key=lambda one: (one.at is None, one.at or 0.0))
    kept = ordered[:MOST_OBSERVATIONS]
    if root is not None and root not in kept:
        kept[-1] = root
    return tuple(kept)


def _list_of_verdict(
    record: Record, verdict: Verdict, telemetry: Telemetry
) -> Iterator[DigestObservation]:
    """Yield what the verdict shows, the evidence for its cause first."""
    if verdict.is_healthy:
        return
    times = LogTimes(record)
    events = {(event.source, event.text): event.at for event in telemetry.events}
    claims = [claim for claim in verdict.shows if claim.source != _STATUS]
    for claim in sorted(claims, key=_is_consequence):
        at = events.get((claim.source, claim.claim))
        if claim.where is not None:
            at = times.find_time(claim.where.file, claim.where.offset, claim.excerpt or "")
        yield DigestObservation(
            cause=verdict.cause,
            text=claim.excerpt or claim.claim,
            at=at,
            rank=claim.rank if is_number(claim.rank) and claim.rank >= 0 else None,
            source=claim.source,
            is_cascade=_is_consequence(claim),
        )


def _is_consequence(claim: Claim) -> bool:
    """Return whether a claim is about what followed, or what a launcher reports of it."""
    return claim.claim.startswith((ROLE_WORDS[Role.CASCADE], ROLE_WORDS[Role.REPORT]))


def _list_rank_ends(telemetry: Telemetry, node: int | None) -> Iterator[DigestObservation]:
    """Yield the ends of ranks with an error, that of a rank stopped by SIGTERM as a cascade."""
    identities = {
        event.fields.get("pid"): event.fields for event in telemetry.find_events("rank_process")
    }
    for event in telemetry.find_events("rank_ended"):
        code = event.fields.get("code")
        if not is_number(code) or code == 0:
            continue
        rank = find_rank(event.of, identities.get(event.fields.get("pid"), {}), node)
        if rank is not None:
            cause = CAUSES_OF_SIGNALS.get(-code, "")
            observation = DigestObservation(cause, event.text, event.at, rank, "processes")
            yield replace(observation, is_cascade=code == -15)


def _list_warnings(record: Record) -> Iterator[DigestObservation]:
    try:
        active = WarningState(record.events()).list_active()
    except (OSError, RecordError):
        return
    for kind, since, summary in active:
        yield DigestObservation(f"{EARLY}{kind}", summary, since, source="warning")
