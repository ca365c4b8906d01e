"""Program that takes a dump of the stacks of a run into its record.

Its arguments are the path of the record, the reason for people, and "pause" if the processes may be
paused (:mod:`gpualert_common.processes.program`).  It exits with 1 if it failed; the run is not
affected.
"""

from __future__ import annotations

import os

from gpualert_common.record import Record
from gpualert_common.record.leaders import sample_tree
from gpualert_common.stacks.collection import DumpOptions, take_dump
from gpualert_common.stacks.storage import store_dump

PAUSE = "pause"


def main(record_path: str, reason: str, mode: str) -> None:
    """Take one dump; exits, never returns."""
    try:
        record = Record.open(record_path)
        dump = take_dump(sample_tree(record), DumpOptions(reason, is_pausing=mode == PAUSE))
        if dump.processes:
            store_dump(record, dump)
    except Exception:  # noqa: BLE001 - the boundary: no process waits for more than its end
        os._exit(1)
    os._exit(0)
