"""Earlier runs of the same training, except other attempts at the same task."""

from __future__ import annotations

import os

from gpualert_common.history.past_run import PastRun, compute_run_fingerprint, compute_task_digest
from gpualert_common.history.runs import MOST_PER_FINGERPRINT, History
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.structs import Struct

NEWEST = 20
"""Number of successful runs: older ones may no longer be typical."""


class EarlierRuns(Struct, frozen=True):
    """The newest successful runs of a training before one run, newest first, and the problem that
    prevented reading them."""

    runs: tuple[PastRun, ...] = ()
    problem: str = ""


def find_earlier_runs(record_path: str, launch_record: LaunchRecord) -> EarlierRuns:
    """Return the earlier runs of the training of this record.  Never raises.

    Takes some milliseconds, and at most :data:`~.database.DEADLINE_S` if others hold the file.
    """
    fingerprint = compute_run_fingerprint(launch_record)
    if fingerprint is None:
        return EarlierRuns()
    history = History.open(os.path.dirname(os.path.dirname(record_path)))
    found = history.find_runs(
        fingerprint, before=os.path.basename(record_path), most=MOST_PER_FINGERPRINT
    )
    own = compute_task_digest(launch_record)
    well = [run for run in found if run.is_healthy and (own is None or run.task != own)]
    return EarlierRuns(tuple(well[:NEWEST]), history.problem)
