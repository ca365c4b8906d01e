"""Stacks of a run on request of a person: taken now, and stored while there is room."""

from __future__ import annotations

from contextlib import suppress

from gpualert_common import recover
from gpualert_common.errors import UsageError
from gpualert_common.processes.marker import run_marker
from gpualert_common.record import Record
from gpualert_common.report.wording import describe_place
from gpualert_common.spec import ON_REQUEST
from gpualert_common.stacks.collection import DumpOptions, take_dump
from gpualert_common.stacks.dump import Dump
from gpualert_common.stacks.storage import MOST_REQUESTED, store_dump


def take_stacks(record: Record, *, is_pausing: bool = False, with_native: bool = False) -> Dump:
    """Return the stacks of a run in progress, and add them to its record.

    Raises UsageError for a run that is not visible from here, has ended, or has no processes.
    """
    if recover.is_remote(record):
        spec = record.spec
        place = describe_place(recover.locate(spec), spec.host)
        raise UsageError(f"{record.run_id} runs on {place}; take its stacks there")
    if not recover.is_in_progress(record):
        raise UsageError(f"{record.run_id} has ended; it has no processes any more")
    leader = record.leader_pid
    if leader is None:
        raise UsageError(f"{record.run_id} is being launched; try again")
    how = DumpOptions(ON_REQUEST, is_pausing=is_pausing, with_native=with_native)
    dump = take_dump(leader, run_marker(record.run_id), how)
    if not dump.processes:
        raise UsageError(f"{record.run_id}: none of its processes can be seen from here")
    with suppress(OSError):  # a full disk; they are shown anyway
        store_dump(record, dump, MOST_REQUESTED)
    return dump
