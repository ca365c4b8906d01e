"""Removal of old records of watched processes, which nobody asked for one by one."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from gpualert_common.errors import GPUAlertError
from gpualert_common.record import EXIT, Record
from gpualert_common.record_locations import open_records
from gpualert_common.removal import remove_record

MOST_RECORDS = 1000
"""Ended ones that are kept: weeks of a busy node.  Those of supervised runs never count."""


def remove_old_records(places: Iterable[str], most: int = MOST_RECORDS) -> None:
    """Remove the oldest ended records of watched processes, except for the newest *most*.

    A record that ``gpualert prune`` would keep, as one with an alert that is not delivered, stays.
    """
    paths = [record.path for record in open_records(places) if _is_of_ended_watch(record)]
    for path in paths[: max(0, len(paths) - most)]:
        with suppress(GPUAlertError, OSError):
            remove_record(Record.open(path))


def _is_of_ended_watch(record: Record) -> bool:
    try:
        return not record.spec.supervised and record.has(EXIT)
    except GPUAlertError:
        return False
