"""The processes of a run that a person wants to look into: live, and visible from here."""

from __future__ import annotations

from gpualert_common import recover
from gpualert_common.errors import UsageError
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.record import Record
from gpualert_common.record.leaders import sample_tree
from gpualert_common.report.wording import describe_place


def find_live_tree(record: Record, what: str) -> SampledTree:
    """Return the processes of a run in progress.

    Raises UsageError for a run that is not visible from here, so that *what* cannot be taken, that
    has ended, or is not launched yet.
    """
    if recover.is_remote(record):
        spec = record.spec
        place = describe_place(recover.locate(spec), spec.host)
        raise UsageError(f"{record.run_id} runs on {place}; take its {what} there")
    if not recover.is_in_progress(record):
        raise UsageError(f"{record.run_id} has ended; it has no processes any more")
    if record.leader_pid is None:
        raise UsageError(f"{record.run_id} is being launched; try again")
    return sample_tree(record)
