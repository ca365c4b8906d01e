"""Runs in the history, and queries for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from gpualert_common.history import pending
from gpualert_common.history.database import (
    BusyError,
    DamagedError,
    Database,
    HistoryUnavailableError,
    is_not_writable,
    transaction,
)
from gpualert_common.history.past_run import COLUMNS, PastRun

if TYPE_CHECKING:
    from sqlite3 import Connection

NAME = "history.sqlite3"
SCHEMA = 1
MOST_PER_FINGERPRINT = 50
"""Runs of one fingerprint: more than any caller needs."""
MOST = 20_000
"""Runs in all: a year with fifty a day, in some 6 MB."""

_APPLICATION = int.from_bytes(b"gpua", "big")
_TABLES = (
    f"CREATE TABLE runs ({COLUMNS[0]} TEXT PRIMARY KEY, {', '.join(COLUMNS[1:])}) WITHOUT ROWID",
    "CREATE INDEX runs_by_fingerprint ON runs (fingerprint, run_id)",
)
_STORE = f"INSERT OR REPLACE INTO runs VALUES ({', '.join('?' * len(COLUMNS))})"
_REMOVE = "DELETE FROM runs WHERE run_id = ?"
_TRIM_ONE = """DELETE FROM runs WHERE run_id IN
    (SELECT run_id FROM runs WHERE fingerprint = ? ORDER BY run_id DESC LIMIT -1 OFFSET ?)"""
_TRIM_ALL = """DELETE FROM runs WHERE run_id IN
    (SELECT run_id FROM runs ORDER BY run_id DESC LIMIT -1 OFFSET ?)"""
_ALL = f"SELECT {', '.join(COLUMNS)} FROM runs"
_OLDEST_FIRST = f"{_ALL} ORDER BY run_id"
_BEFORE = f"{_ALL} WHERE fingerprint = ? AND run_id < ? ORDER BY run_id DESC LIMIT ?"
_SUCCESSOR = "!"
"""Appended to a run id: the next id in sort order."""
_LAST = "~"
"""Sorts after every run id."""

Found = TypeVar("Found")


class History:
    """The history in one state directory.  No method raises or waits long for other processes.

    ``problem`` describes the failure of the last call, or the damaged file that it renamed; it is
    empty after success.  A disk that does not answer blocks the call.  Each thread needs its own
    instance.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self.problem = ""
        self._file = Database(place, NAME, application=_APPLICATION, schema=SCHEMA, tables=_TABLES)

    @classmethod
    def open(cls, place: str) -> History:
        """Return the history in ``place``, the directory that holds ``runs/``.  Opens no file."""
        return cls(place)

    @property
    def exists(self) -> bool:
        """False if no run was ever added, or the file was lost."""
        return self._file.exists

    @property
    def is_new(self) -> bool:
        """True if the last call created the file: :func:`.rebuild` then adds earlier runs."""
        return self._file.is_new

    def add(self, *runs: PastRun) -> str:
        """Add these runs, each in place of its earlier row; return ``problem``.

        If other processes hold the file, the runs are queued for the next call that can import
        them.
        """
        try:
            self._use(lambda connection: _store(connection, runs))
        except BusyError as error:
            self.problem = self._queue(runs, error)
        except HistoryUnavailableError as error:
            self.problem = f"{error}; not added"
        return self.problem

    def remove(self, *run_ids: str) -> str:
        """Remove the rows of these runs; return ``problem``."""
        self._read(lambda connection: _remove(connection, run_ids), None)
        return self.problem

    def import_pending(self) -> str:
        """Import the queued runs, as every call does that opens the file; return ``problem``."""
        self._read(lambda _connection: None, None)
        return self.problem

    def find_runs(self, fingerprint: str, before: str = "", most: int = 20) -> list[PastRun]:
        """Return the runs of a fingerprint, newest first; only those before the run ``before``."""
        given = (fingerprint, before or _LAST, most)
        return self._read(lambda connection: list(_select(connection, _BEFORE, given)), [])

    def read_all(self) -> dict[str, PastRun]:
        """Return all runs by their ids, oldest first."""
        return self._read(
            lambda connection: {run.run_id: run for run in _select(connection, _OLDEST_FIRST)}, {}
        )

    def _read(self, work: Callable[[Connection], Found], otherwise: Found) -> Found:
        self.problem = ""
        try:
            if self.exists or pending.has_pending(self.place):
                return self._use(work)
        except HistoryUnavailableError as error:
            self.problem = str(error)
        return otherwise

    def _use(self, work: Callable[[Connection], Found]) -> Found:
        self.problem = ""

        def use(connection: Connection) -> Found:
            self._import_pending(connection)
            return work(connection)

        found = self._file.use(use)
        self.problem = "; ".join(filter(None, (self._file.repair, self.problem)))
        return found

    def _import_pending(self, connection: Connection) -> None:
        from sqlite3 import OperationalError

        found = pending.read_pending(self.place)
        if not found:
            return
        try:
            _store(connection, [run for run in found.values() if run is not None])
        except OperationalError as error:
            if not is_not_writable(error):
                raise
            self.problem = f"{self._file.path}: {error}; {len(found)} runs wait to be added"
            return
        pending.remove_pending(self.place, found)

    def _queue(self, runs: Sequence[PastRun], why: BusyError) -> str:
        try:
            for run in runs:
                pending.queue_run(self.place, run)
        except OSError as error:
            return f"{why}; not added: {error.strerror or error}"
        return ""


def _store(connection: Connection, runs: Iterable[PastRun]) -> None:
    rows = [tuple(getattr(run, name) for name in COLUMNS) for run in runs]
    with transaction(connection):
        connection.executemany(_STORE, rows)
        for run in runs:  # a damaged page may accept a row without storing it
            given = (run.fingerprint, f"{run.run_id}{_SUCCESSOR}", 1)
            newest = connection.execute(_BEFORE, given).fetchone()
            if newest is None or newest[0] != run.run_id:
                raise DamagedError("a written row is missing")
        for fingerprint in {run.fingerprint for run in runs}:
            connection.execute(_TRIM_ONE, (fingerprint, MOST_PER_FINGERPRINT))
        connection.execute(_TRIM_ALL, (MOST,))


def _remove(connection: Connection, run_ids: Sequence[str]) -> None:
    with transaction(connection):
        connection.executemany(_REMOVE, [(run_id,) for run_id in run_ids])


def _select(connection: Connection, query: str, given: Sequence[object] = ()) -> Iterator[PastRun]:
    for row in connection.execute(query, given):
        try:
            yield PastRun.from_fields(dict(zip(COLUMNS, row, strict=True)))
        except ValueError:
            continue  # not written by gpualert
