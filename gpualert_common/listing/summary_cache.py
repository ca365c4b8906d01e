"""Cache of the summaries of ended runs, in a file of the state directory.

A row is valid as long as the files that it is made of do not change, so the file may be removed at
any time.  Nobody waits for it: where it is locked or cannot be written, the records are read.
"""

from __future__ import annotations

import json
import os
import zlib
from typing import TYPE_CHECKING

from gpualert_common.codec import decode, encode
from gpualert_common.errors import RecordError
from gpualert_common.history.database import (
    BusyError,
    Database,
    HistoryUnavailableError,
    transaction,
)
from gpualert_common.listing.run_summary import RunSummary, summarize_checked
from gpualert_common.record import EXIT, SPEC, VERDICT
from gpualert_common.record.files import find_refusal
from gpualert_common.record.private_directory import find_other_writers

if TYPE_CHECKING:
    from sqlite3 import Connection

NAME = "listing.sqlite3"
LEAST_NEW = 50
"""Fewer records are read again faster than they are stored."""

_SCHEMA = 1
_APPLICATION = int.from_bytes(b"gpul", "big")
_TABLES = ("CREATE TABLE summaries (run_id TEXT PRIMARY KEY, stamp TEXT, summary TEXT)",)
_FORMAT = zlib.crc32(repr(RunSummary.__annotations__).encode())
_SOURCES = (SPEC, EXIT, VERDICT)


class SummaryCache:
    """The cache in one state directory; its rows are read when it is opened.

    It may be kept: a summary that it returned once is not decoded again.  Not thread-safe.
    ``problem`` describes a cache that cannot be used, such as a file of another user.
    """

    def __init__(self, place: str) -> None:
        self._file = Database(place, NAME, application=_APPLICATION, schema=_SCHEMA, tables=_TABLES)
        self._rows: dict[str, tuple[str, str | RunSummary]] = {}
        self._new: list[tuple[str, str, str]] = []
        self.problem = ""
        if self._file.exists:
            try:
                self._rows = self._file.use(_read)
            except BusyError:
                pass  # the records are read
            except HistoryUnavailableError as error:
                self.problem = str(error)

    def _find(self, path: str, stamp: str) -> RunSummary | None:
        """Return the summary of the record at a path with this stamp; None without a valid one."""
        name = os.path.basename(path)
        row = self._rows.get(name)
        if row is None or row[0] != stamp:
            return None
        if isinstance(row[1], RunSummary):
            return row[1]
        try:
            fields = {**json.loads(row[1]), "path": path}
            run = decode(RunSummary, fields, self._file.path)
        except (ValueError, TypeError, RecordError):
            return None
        self._rows[name] = stamp, run
        return run

    def summarize(self, path: str) -> RunSummary | None:
        """Return the summary of a record, from the cache or else read, and add it then.

        Only the summary of a run that has ended and has its verdict is added; others may change.
        Of a record that changed meanwhile none is.  None for a record of another user.
        """
        stamp = _make_stamp(path)
        run = self._find(path, stamp)
        if run is not None:
            return run
        run = summarize_checked(path)
        if run is not None and run.error is None and stamp and stamp == _make_stamp(path):
            self._new.append((run.run_id, stamp, json.dumps(encode(run))))
            self._rows[run.run_id] = stamp, run
        return run

    def store(self) -> None:
        """Store the added summaries, if that saves time; remove those of missing records."""
        if len(self._new) < LEAST_NEW:
            return
        gone = [(name,) for name in self._rows if not os.path.lexists(self._join(name))]
        new, self._new = self._new, []
        try:
            self._file.use(lambda connection: _write(connection, new, gone))
        except HistoryUnavailableError:
            pass  # the records are read again

    def _join(self, name: str) -> str:
        return os.path.join(os.path.dirname(self._file.path), "runs", name)


def _make_stamp(path: str) -> str:
    """Return a text that changes with the files of a summary.

    It is empty for a run without a verdict, and for a record that another user can change.
    """
    try:
        if find_other_writers(os.stat(path, follow_symlinks=False)):
            return ""
        parts = [_FORMAT]
        for name in _SOURCES:
            status = os.stat(f"{path}/{name}", follow_symlinks=False)
            if find_refusal(status):
                return ""
            parts += [status.st_ctime_ns, status.st_ino, status.st_size]
    except OSError:
        return ""
    return repr(parts)


def _read(connection: Connection) -> dict[str, tuple[str, str | RunSummary]]:
    rows = connection.execute("SELECT run_id, stamp, summary FROM summaries")
    return {run_id: (stamp, summary) for run_id, stamp, summary in rows}


def _write(
    connection: Connection, rows: list[tuple[str, str, str]], gone: list[tuple[str]]
) -> None:
    with transaction(connection):
        connection.executemany("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?)", rows)
        connection.executemany("DELETE FROM summaries WHERE run_id = ?", gone)
