"""Removal of old records that the agent made, which nobody asked for one by one."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from gpualert_common.errors import GPUAlertError
from gpualert_common.record import EXIT, Record
from gpualert_common.record.watch_history import MADE_BY_AGENT
from gpualert_common.record_locations import open_records
from gpualert_common.removal import measure_size, remove_record

MOST_RECORDS = 1000
"""Ended ones that are kept: weeks of a busy node.  Those of other runs never count."""
MOST_RECORDS_BYTES = 10 << 30
"""Of all of them: a thousand usual ones take a tenth of that."""


def remove_old_records(
    places: Iterable[str], most: int = MOST_RECORDS, most_bytes: int = MOST_RECORDS_BYTES
) -> None:
    """Remove the oldest ended records of the agent, except for the newest *most*.

    These take *most_bytes* on the disk at most.

    A record that ``gpualert prune`` would keep, as one with an alert that is not delivered, stays.
    """
    sizes = {one.path: measure_size(one) for one in open_records(places) if _is_removable(one)}
    kept = total = 0
    for path, size in reversed(sizes.items()):
        total += size
        if kept < most and total <= most_bytes:
            kept += 1
            continue
        with suppress(GPUAlertError, OSError):
            remove_record(Record.open(path))


def _is_removable(record: Record) -> bool:
    try:
        is_ended_watch = not record.spec.supervised and record.has(EXIT)
        return is_ended_watch and record.event(MADE_BY_AGENT) is not None
    except (GPUAlertError, OSError):
        return False
