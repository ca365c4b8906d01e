"""Stacks of a run on request of a person: taken now, and stored while there is room."""

from __future__ import annotations

from contextlib import suppress

from gpualert_common.errors import UsageError
from gpualert_common.live_tree import find_live_tree
from gpualert_common.record import Record
from gpualert_common.spec import ON_REQUEST
from gpualert_common.stacks.collection import DumpOptions, take_dump
from gpualert_common.stacks.dump import Dump
from gpualert_common.stacks.storage import MOST_REQUESTED, store_dump


def take_stacks(record: Record, *, is_pausing: bool = False, with_native: bool = False) -> Dump:
    """Return the stacks of a run in progress, and add them to its record.

    Raises UsageError for a run that is not visible from here, has ended, or has no processes.
    """
    tree = find_live_tree(record, "stacks")
    how = DumpOptions(ON_REQUEST, is_pausing=is_pausing, with_native=with_native)
    dump = take_dump(tree, how)
    if not dump.processes:
        raise UsageError(f"{record.run_id}: none of its processes can be seen from here")
    with suppress(OSError):  # a full disk; they are shown anyway
        store_dump(record, dump, MOST_REQUESTED)
    return dump
