"""The runs before one: of the same training, and not its own attempts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpualert_common.history.past_run import PastRun, compute_run_fingerprint, compute_task_digest
from gpualert_common.history.runs import MOST_PER_FINGERPRINT, History

NEWEST = 20
"""So many runs that went well: what was usual a year ago may not be any more."""


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    """The newest runs of a training before one that went well, newest first, and what kept us from
    reading them.
    """

    runs: tuple[PastRun, ...] = ()
    problem: str = ""


def find_earlier_runs(record_path: str, launch_record: Mapping[str, Any]) -> EarlierRuns:
    """What ran before the run of this record and launch record.  Never raises; some milliseconds,
    at most :data:`~.database.DEADLINE_S` where others have the file.
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
