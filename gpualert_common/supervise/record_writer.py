"""Writes to the record of a live run; a write that fails costs that write and nothing else."""

from __future__ import annotations

import errno
import time

from gpualert_common.record import EXIT, INDEX, LOG_CUT, SPEC
from gpualert_common.supervise.log_finalization import finalize_logs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpualert_common.launch.log_file import LogFile
    from gpualert_common.record import Record

_INDEX_LEAST_S = 1.0
_INDEX_SHARE = 1 / 1000
"""Entries of the index are at least this part of the run's age apart: some 9,000 in 30 days."""


class RecordWriter:
    """The files of one record that change while the run goes on and when it ends.

    ``is_disk_full`` is True when the disk of the log was full, ``dropped_bytes`` how much of the
    log was dropped because of that; ``is_log_cut`` when the process that copies to it died.
    """

    def __init__(self, record: Record, launch_record: dict[str, Any], logs: list[LogFile]) -> None:
        self._record = record
        self._launch_record = launch_record
        self._logs = logs
        self._index_due = 0.0
        self._index_sizes: list[int] = []
        self.is_disk_full = False
        self.dropped_bytes = 0
        self.is_log_cut = False

    @property
    def age_s(self) -> float:
        """Age of the run in seconds."""
        return float(time.time() - self._launch_record["created_at"])

    def append_event(self, event: str, at: float | None = None, **fields: Any) -> None:
        """Append an event, unless the disk is full or gone; a stop with the state of the logs."""
        if event == "stopping":
            fields["log_bytes"] = {log.name: log.size for log in self._logs}
            fields["printed_at"] = max(log.printed_at for log in self._logs)
        self.is_log_cut = self.is_log_cut or event == LOG_CUT
        try:
            self._record.append_event(event, at, **fields)
        except OSError:
            pass  # exit.json is tried all the same

    def store(self, name: str, value: dict[str, Any], *, sync: bool = False) -> None:
        """Write one of the last files of the record, which is created anew if it was removed."""
        try:
            try:
                is_full = self._record.store(name, value, sync=sync)
            except FileNotFoundError:
                self._record.restore(self._launch_record)
                self.append_event("record_removed")
                is_full = self._record.store(name, value, sync=sync)
        except OSError as error:
            is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            self.append_event("not_recorded", file=name, problem=error.strerror)
        if is_full:
            self._note_full_disk()

    def store_exit(self, fields: dict[str, Any]) -> None:
        """Write ``exit.json``, synced, and restore the launch record if it was removed."""
        self.store(EXIT, fields, sync=True)
        if not self._record.has(SPEC):  # removed, and what we wrote meanwhile made a new directory
            self.store(SPEC, self._launch_record)
            self.append_event("record_removed")

    # -- logs ------------------------------------------------------------------------------

    def check_logs(self) -> None:
        """Note changes of the log files that are not the child's, and index their growth."""
        for log in self._logs:
            change = log.detect_tampering()
            if change is not None:
                self.append_event(**change)
            if log.is_disk_full:
                self._note_full_disk()
        self._add_to_index()

    def _note_full_disk(self) -> None:
        if not self.is_disk_full:
            self.is_disk_full = True
            sizes = {log.name: log.size for log in self._logs}
            self.append_event("log_disk_full", sizes_bytes=sizes)

    def _add_to_index(self) -> None:
        age_s = self.age_s
        sizes = [log.size for log in self._logs]
        if age_s < self._index_due or sizes == self._index_sizes:
            return
        self._index_due = age_s + max(_INDEX_LEAST_S, age_s * _INDEX_SHARE)
        self._index_sizes = sizes
        try:
            self._record.append(INDEX, f"{age_s:.3f} " + " ".join(map(str, sizes)))
        except OSError:
            pass  # the index only helps to find a place by time

    def finalize_logs(self) -> None:
        """Copy removed logs back into the record, and count the bytes that were dropped."""
        for event, fields in finalize_logs(self._logs, self._record):
            self.dropped_bytes += fields["size_bytes"] if event == "log_dropped" else 0
            self.append_event(event, **fields)

    def release_log_reserves(self, *, has_survivors: bool) -> None:
        """Give back the space reserved for the logs, if no process may still write to them."""
        if self._launch_record["reserved_bytes"] and not has_survivors:
            for log in self._logs:
                log.release_reserve()
