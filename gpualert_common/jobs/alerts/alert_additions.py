"""Additions to the alert about a job: a run that ends later and changes the cause that it named."""

from __future__ import annotations

from gpualert_common.jobs.digests.digest import Digest
from gpualert_common.jobs.job_directory import AlertClaim
from gpualert_common.jobs.renewal.clocks import correct_time

WEAK_CAUSES = frozenset(
    {
        "cancelled",
        "collective",
        "idle_hang",
        "killed_unknown",
        "network",
        "node_failure",
        "none",
        "preempted",
        "rendezvous",
        "time_limit",
        "unknown",
    }
)
"""Causes that a run also reports when it lost another node, or was stopped because of it."""
_MARGIN_S = 2.0
"""Difference of two roots in time that says which one was first."""


def has_failed(own: Digest) -> bool:
    """True unless the verdict of the run found no failure."""
    return own.verdict is None or own.verdict.cause != "none"


def is_own_cause(own: Digest) -> bool:
    """True if the run failed by itself, and not because another node did."""
    return own.verdict is not None and own.verdict.cause not in WEAK_CAUSES


def may_change_cause(own: Digest, sent: AlertClaim) -> bool:
    """True if a run may change the cause that an alert has named; the merged job then decides."""
    if own.run_id == sent.run_id or own.verdict is None:
        return False
    if sent.cause == "none":
        return has_failed(own)
    if not is_own_cause(own) or (own.verdict.cause, own.host) == (sent.cause, sent.host):
        return False
    if sent.cause is None or sent.cause in WEAK_CAUSES:
        return True
    if own.verdict.cause == sent.cause and sent.host is None:
        return False
    root_at = find_root_time(own)
    if root_at is None or sent.root_at is None:
        return False
    return root_at < sent.root_at - _MARGIN_S - own.clock.error_s


def find_root_time(own: Digest) -> float | None:
    """Return the corrected time of the root cause of a run; None if it is not known."""
    cause = None if own.verdict is None else own.verdict.cause
    times = [
        one.at
        for one in own.observations
        if one.at is not None and one.cause == cause and not one.is_cascade
    ]
    return correct_time(own, min(times)) if times else None
