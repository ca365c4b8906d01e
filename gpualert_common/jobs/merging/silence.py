"""Silence: runs whose digests are overdue.

The interval of renewal is part of each digest: seconds in a small job, two minutes in a large one.
"""

from __future__ import annotations

from gpualert_common.jobs.merging.node_run import NodeRun

SILENT_INTERVALS = 3.0
"""One renewal may fail with the store, and one may be late on a busy machine; three do not."""
LOST_INTERVALS = 1.5
"""Renewals that are enough where other nodes report that they lost a peer."""
_SLACK_S = 15.0
"""Time of a slow request to the store with its retries."""
_DEFAULT_INTERVAL_S = 60.0
"""Interval of a digest that names none."""
_LEAST_INTERVAL_S = 2.0


def silent_from(run: NodeRun, intervals: float = SILENT_INTERVALS) -> float:
    """Return the time from which a run without an end counts as silent."""
    interval_s = max(run.interval_s or _DEFAULT_INTERVAL_S, _LEAST_INTERVAL_S)
    return run.heard_at + intervals * interval_s + _SLACK_S


def is_silent(run: NodeRun, now: float, intervals: float = SILENT_INTERVALS) -> bool:
    """Return whether the digest of a run without an end is overdue."""
    return not run.is_ended and now > silent_from(run, intervals)


def find_end(run: NodeRun) -> float:
    """Return the end of a run; for one without, the time from which it counts as silent."""
    return (run.ended_at or run.at) if run.is_ended else silent_from(run)
