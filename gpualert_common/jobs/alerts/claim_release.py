"""Released claims: their owner gave them up, and another node may take them."""

from __future__ import annotations

from gpualert_common.jobs.alerts.alert_additions import has_failed
from gpualert_common.jobs.digests.digest import Digest
from gpualert_common.jobs.job_directory import AlertClaim, ClaimRelease
from gpualert_common.jobs.job_report import JobReport, NodeState
from gpualert_common.jobs.renewal.clocks import correct_time
from gpualert_common.structs import replace

MOST_REFUSALS = 5
"""Nodes that try to send an alert that the channels refuse."""
_MOST_WAITED_FOR = 20
_SLACK_S = 10.0
"""Error of the times at which runs of different nodes ended."""


def reason_to_leave(
    own: Digest, claim: AlertClaim, release: ClaimRelease, visible_at: float
) -> str:
    """Return the reason for which a run leaves a released claim; empty if it takes it.

    The others may see the end of the run from ``visible_at`` on, by the clock of its node.
    """
    is_own = own.run_id == claim.run_id
    is_new = not is_own and correct_time(own, visible_at) > claim.merged_at - _SLACK_S
    match release:
        case ClaimRelease.SAME_ATTEMPT:
            takes, because = True, ""
        case ClaimRelease.JOB_RUNS:
            is_named = own.run_id in claim.waits_for or (is_new and not claim.waits_for)
            takes = has_failed(own) or is_named
            because = "the job goes on; the last run of it sends the alert"
        case ClaimRelease.UNCHANGED:
            takes = is_new
            because = "it does not change the cause that the alert of the job named"
        case ClaimRelease.REFUSED:
            takes = not is_own and claim.refusals < MOST_REFUSALS
            because = f"the alert of the job was refused on {claim.refusals} nodes"
    return "" if takes else because


def release_refused(claim: AlertClaim) -> AlertClaim:
    """Return the claim of a node whose channels refused the alert."""
    return replace(claim, release=ClaimRelease.REFUSED, refusals=claim.refusals + 1)


def release_merged(
    claim: AlertClaim, release: ClaimRelease, report: JobReport, merged_at: float
) -> AlertClaim:
    """Return the claim of a node that gives it up by the report of that time."""
    running = [one.run_id for one in report.nodes if one.state is not NodeState.ENDED]
    waits_for = tuple(one for one in running if one is not None)
    if len(waits_for) > _MOST_WAITED_FOR:
        waits_for = ()
    return replace(claim, release=release, merged_at=merged_at, waits_for=waits_for)


def name_cause(claim: AlertClaim, report: JobReport, merged_at: float) -> AlertClaim:
    """Return the claim with the cause that its alert names."""
    verdict = report.verdict
    rank = verdict.details.get("rank")
    failed = [one.failed_at for one in report.nodes if one.failed_at is not None]
    return replace(
        claim,
        cause=verdict.cause,
        host=verdict.host,
        rank=rank if isinstance(rank, int) else None,
        root_at=min(failed, default=None),
        merged_at=merged_at,
    )
