"""The condition of a run as it is now, also of one that goes on without its supervisor."""

from __future__ import annotations

from gpualert_common import recover
from gpualert_common.errors import RecordError
from gpualert_common.listing.condition import Condition
from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.record import Record
from gpualert_common.structs import replace


def find_unsupervised(run: RunSummary) -> RunSummary:
    """Return a run without a supervisor with its condition: its processes may live."""
    if run.condition is not Condition.LOST:
        return run
    try:
        record = Record.open(run.path)
        is_alive = not recover.is_remote(record) and recover.has_processes(record)
        record.close()
    except RecordError:
        return run  # it was removed meanwhile
    return replace(run, condition=Condition.UNSUPERVISED) if is_alive else run
